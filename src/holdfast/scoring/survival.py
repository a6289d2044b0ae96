"""Scores of predictions of times to an event, each with the influence of every row.

Predictions are relative risks, (rows, 1). Those of the Brier score and the deviance can also be
probabilities to survive each time of `brier_times`. Scores that weight rows by the inverse of the probability
to be uncensored estimate it by Kaplan and Meier from the rows that are scored, and their standard errors take
it as known.
"""

from typing import NamedTuple

import numpy as np

from holdfast._arrays import FloatArray, LongArray, round_last_digits
from holdfast.data.schema import Hazard
from holdfast.data.survival import (
    SurvivalTimes,
    count_events,
    cumulative_hazard,
    kaplan_meier,
    survival_function,
)
from holdfast.scoring.formulas import LEAST, Estimate, ScoredRows, rank_cases, weighted_mean

N_TIMES = 100  # at which the Brier score is computed
ROWS_AT_A_TIME = 2**15  # of the losses at these times
LEAST_SURVIVAL = 1e-300  # before its logarithm is taken


def concordance(risks: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute Harrell's concordance: of two rows, the one with the earlier event has the higher risk.

    A pair is comparable if the shorter time is that of an event; ties of risk count half. Of two equal times
    with one event, the row with the event came first. Rows that enter late are compared with those that were
    under observation. Without comparable pairs it is 0.5.
    """
    times, _ = _times_and_hazard(rows)
    return _compare_pairs(risks, rows, np.where(times.event, rows.weight, 0.0))


def uno_concordance(risks: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute Uno's concordance: that of pairs whose earlier event lies before the horizon.

    An event has the inverse of the squared probability to be uncensored at its time as weight, so that the
    score does not depend on the censoring (Uno, Cai, Pencina, D'Agostino and Wei, 2011).
    """
    times, hazard = _times_and_hazard(rows)
    inverse = invert_censoring(times, rows.weight, times.time)
    is_case = times.event & (times.time < hazard.horizon)
    return _compare_pairs(risks, rows, np.where(is_case, rows.weight * inverse**2, 0.0))


def auc_at_horizon(risks: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute the probability that a row with an event up to the horizon has a higher risk than one without.

    Cases are weighted by the inverse probability to be uncensored at their time; rows that are censored
    before the horizon do not count. Ties are worth a half. Without cases, or without others, it is 0.5.
    """
    times, hazard = _times_and_hazard(rows)
    is_case, is_control = times.event & (times.time <= hazard.horizon), times.time > hazard.horizon
    inverse = invert_censoring(times, rows.weight, times.time)
    weight = np.where(is_case, rows.weight * inverse, np.where(is_control, rows.weight, 0.0))
    counted = weight > 0
    influence = np.zeros(len(weight))
    if not (counted & is_case).any() or not is_control.any():
        return Estimate(0.5, influence)
    found = rank_cases(risks[counted, 0], is_case[counted], weight[counted])
    scale = weight[counted] / rows.weight[counted] * (rows.weight.sum() / weight.sum())
    influence[counted] = found.influence * scale
    return Estimate(found.value, influence)


def integrated_brier(predicted: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute the Brier score of survival, averaged over the times of `brier_times`, negated.

    At each time, rows with an earlier event are weighted by the inverse probability to be uncensored at their
    own time, and rows under observation by that at this time (Graf, Schmoor, Sauerbrei and Schumacher, 1999).
    The average is by the trapezoidal rule.
    """
    times, hazard = _times_and_hazard(rows)
    grid, (time, event) = brier_times(hazard), times[:2]
    inner = grid < time.max()  # nobody is observed later
    inner[:2] = True
    step = np.where(inner, 1.0, 0.0)
    step[[0, inner.sum() - 1]] = 0.5
    step /= step.sum()
    at_own, at_grid = (invert_censoring(times, rows.weight, each) for each in (time, grid))
    at_own = np.where(event, at_own, 0.0)
    of_rows = np.empty(len(time))
    for begin in range(0, len(time), ROWS_AT_A_TIME):
        part = slice(begin, begin + ROWS_AT_A_TIME)
        survival = predicted[part]
        if predicted.shape[1] == 1:
            survival = survival_function(hazard, survival[:, 0], grid)
        past, present = np.square(survival) * at_own[part, None], np.square(1.0 - survival) * at_grid
        of_rows[part] = (np.where(time[part, None] <= grid, past, present) * step).sum(axis=1)
    return weighted_mean(-of_rows, rows)


def brier_times(hazard: Hazard) -> FloatArray:
    """Return the hundred evenly spaced times up to the horizon at which the Brier score is computed.

    >>> brier_times(Hazard((1.0,), (0.5,), horizon=200.0))[[0, 1, -1]]
    array([  2.,   4., 200.])
    """
    return hazard.horizon * np.arange(1, N_TIMES + 1) / N_TIMES


def deviance(predicted: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute the mean Poisson deviance of the events, given those expected at the predicted risk.

    The risk of probabilities to survive is that with which as many survive the horizon.
    """
    times, hazard = _times_and_hazard(rows)
    risks = predicted
    if predicted.shape[1] > 1:
        passed = max(float(cumulative_hazard(hazard, hazard.horizon)), LEAST)
        risks = -np.log(np.maximum(predicted[:, -1:], LEAST_SURVIVAL)) / passed
    event = times.event.astype(np.float64)
    expected = times.exposure * np.maximum(risks[:, 0], LEAST)
    ratio = np.log(np.where(event > 0, event / np.where(event > 0, expected, 1.0), 1.0))
    return weighted_mean(-2.0 * np.maximum(event * ratio - (event - expected), 0.0), rows)


def event_by_horizon(risks: FloatArray, rows: ScoredRows) -> tuple[FloatArray, FloatArray]:
    """Return the predicted probability of an event up to the horizon, and the pseudo-observation of each row.

    The mean of the pseudo-observations is one minus the Kaplan-Meier estimate at the horizon; that of a row
    adds its influence on the estimate (Andersen and Perme, 2010). They stand for observations that
    censoring hides.
    """
    times, hazard = _times_and_hazard(rows)
    weight, horizon = rows.weight, np.array([hazard.horizon])
    counts = count_events(times.time, times.event, times.entry, weight)
    before = counts.time <= hazard.horizon
    time, at_risk, events = (each[before] for each in counts)
    rest = at_risk - events
    survival = float(np.prod(1.0 - events / at_risk))
    own = np.divide(1.0, rest, out=np.zeros(len(time)), where=rest > 0)
    sums = np.append(0.0, np.cumsum(events / at_risk * own))
    last = np.searchsorted(time, times.time, "right")
    passed = (
        sums[last] if times.entry is None else sums[last] - sums[np.searchsorted(time, times.entry, "right")]
    )
    is_case = times.event & (times.time <= hazard.horizon)
    jumps = np.where(is_case, np.append(0.0, own)[last], 0.0)
    predicted = 1.0 - survival_function(hazard, risks[:, 0], horizon)[:, 0]
    return predicted, 1.0 - survival + survival * weight.sum() * (jumps - passed)


def invert_censoring(times: SurvivalTimes, weight: FloatArray, at: FloatArray) -> FloatArray:
    """Return the inverse of the probability to be uncensored at each time; 0 where that is 0.

    Of an event and a censored row at one time, the event came first.
    """
    censored = count_events(times.time, ~times.event, None, weight)
    events = count_events(times.time, times.event, None, weight, censored.time).events
    curve = kaplan_meier(censored._replace(at_risk=censored.at_risk - events))
    chance = np.append(1.0, curve.survival)[np.searchsorted(curve.time, at, "right")]
    return np.asarray(np.divide(1.0, chance, out=np.zeros(len(at)), where=chance > 0), np.float64)


def _times_and_hazard(rows: ScoredRows) -> tuple[SurvivalTimes, Hazard]:
    assert rows.survival is not None
    assert rows.hazard is not None
    return rows.survival, rows.hazard


# -- pairs ---------------------------------------------------------------------------------------------------


def _compare_pairs(risks: FloatArray, rows: ScoredRows, case: FloatArray) -> Estimate:
    """Compute the weighted fraction of pairs in which the row that had its event first has the higher risk.

    A pair counts by the product of the `case` weight of the first row and the weight of the second.
    """
    times, weight = rows.survival, rows.weight
    assert times is not None
    rank = np.unique(round_last_digits(risks[:, 0]), return_inverse=True)[1]
    # Order of the ends of observation: at one time, events come before censored rows.
    key = 2 * np.unique(times.time, return_inverse=True)[1] + ~times.event
    # A row is compared with those that end later, without those that have not yet entered.
    parts = [(1.0, key, key)]
    if times.entry is not None:
        stamps = np.unique(np.concatenate([times.time, times.entry]), return_inverse=True)[1]
        end, begin = stamps[: len(key)], stamps[len(key) :]
        parts.append((-1.0, end, begin + 1))
    won, pairs = np.zeros(len(key)), np.zeros(len(key))
    for sign, first, second in parts:
        later = _sum_pairs(rank, weight, -second, -first)
        earlier = _sum_pairs(-rank, case, first, second)
        won += sign * (case * later.lower + weight * earlier.lower)
        pairs += sign * (case * later.total + weight * earlier.total)
    total = pairs.sum() / 2
    if total <= 0:
        return Estimate(0.5, np.zeros(len(key)))
    value = min(max(float(won.sum() / 2 / total), 0.0), 1.0)
    return Estimate(value, (won - value * pairs) / weight * (weight.sum() / total))


class _PairSums(NamedTuple):
    """Sums over the rows that a row is compared with."""

    lower: FloatArray  # of those with a lower rank, and half of those with the same
    total: FloatArray


def _sum_pairs(rank: LongArray, weight: FloatArray, key: LongArray, limit: LongArray) -> _PairSums:
    """Sum the weights of the rows with a `key` below the `limit` of each row, by their ranks.

    It descends a wavelet matrix: for each binary digit of the ranks, rows are divided stably into those with
    0 and those with 1, and sums over any first rows of lower rank are differences of cumulative sums.
    """
    order = np.lexsort((weight, rank, key))
    end = np.searchsorted(key[order], limit, "left")
    weight, ranks = weight[order], (rank - rank.min())[order]
    own = rank - rank.min()
    total = np.append(0.0, np.cumsum(weight))[end]
    lower, start = np.zeros(len(end)), np.zeros(len(end), np.int64)
    for digit in reversed(range(int(own.max()).bit_length())):
        is_one = ranks >> digit & 1 == 1
        zeros = np.append(0, np.cumsum(~is_one))
        sums = np.append(0.0, np.cumsum(np.where(is_one, 0.0, weight)))
        goes_right = own >> digit & 1 == 1
        lower += np.where(goes_right, sums[end] - sums[start], 0.0)
        start, end = (
            np.where(goes_right, zeros[-1] + place - zeros[place], zeros[place]) for place in (start, end)
        )
        order = np.argsort(is_one, kind="stable")
        ranks, weight = ranks[order], weight[order]
    sums = np.append(0.0, np.cumsum(weight))
    return _PairSums(lower + (sums[end] - sums[start]) / 2, total)
