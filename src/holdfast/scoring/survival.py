"""Scores of predicted relative risks for times to an event, each with the influence of every row."""

import numpy as np

from holdfast._arrays import FloatArray, round_last_digits
from holdfast.scoring.formulas import LEAST, Estimate, ScoredRows, weighted_mean

PAIRS_AT_A_TIME = 2**22


def concordance(risks: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute Harrell's concordance: of two rows, the one with the earlier event has the higher risk.

    A pair is comparable if the shorter time is that of an event; ties of risk count half. Of two equal times
    with one event, the row with the event came first. Rows that enter late are compared with those that were
    under observation. Without comparable pairs it is 0.5.
    """
    assert rows.survival is not None
    time, event, entry, _ = rows.survival
    risk, weight = round_last_digits(risks[:, 0]), rows.weight
    n_rows = len(time)
    won, pairs = np.zeros(n_rows), np.zeros(n_rows)
    first = np.flatnonzero(event)
    block = max(1, PAIRS_AT_A_TIME // n_rows)
    for begin in range(0, len(first), block):
        own = first[begin : begin + block]
        later = (time > time[own, None]) | ((time == time[own, None]) & ~event)
        if entry is not None:
            later &= entry < time[own, None]
        higher = (risk[own, None] > risk) + 0.5 * (risk[own, None] == risk)
        mass = later * weight[own, None] * weight
        gained = mass * higher
        won[own] += gained.sum(axis=1)
        pairs[own] += mass.sum(axis=1)
        won += gained.sum(axis=0)
        pairs += mass.sum(axis=0)
    total = pairs.sum() / 2
    if total == 0:
        return Estimate(0.5, np.zeros(n_rows))
    value = float(won.sum() / 2 / total)
    influence = (won - value * pairs) / weight * (weight.sum() / total)
    return Estimate(value, influence)


def deviance(risks: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute the mean Poisson deviance of the events, given those expected at the predicted risk."""
    assert rows.survival is not None
    event = rows.survival.event.astype(np.float64)
    expected = rows.survival.exposure * np.maximum(risks[:, 0], LEAST)
    ratio = np.log(np.where(event > 0, event / np.where(event > 0, expected, 1.0), 1.0))
    return weighted_mean(-2.0 * np.maximum(event * ratio - (event - expected), 0.0), rows)
