"""Weights of a teacher's parts, by rows that the parts were not fitted to."""

import numpy as np
import pytest

from holdfast.stable.consensus.teacher import HeldOutPredictions, choose_part_weights

USUAL = np.array([0.25, 0.25, 0.5])


def made(quality: list[float], n_rows: int = 400) -> HeldOutPredictions:
    """Parts whose predictions have errors of these standard deviations."""
    chance = np.random.default_rng(0)
    truth = chance.random((n_rows, 1))
    return HeldOutPredictions([truth + chance.normal(0, s, truth.shape) for s in quality], truth, None)


def error_of(rows: HeldOutPredictions, weights: np.ndarray) -> float:
    mean = sum(w * each for w, each in zip(weights, rows.predictions, strict=True))
    return float(((mean - rows.truth) ** 2).sum())


def test_the_weights_minimise_the_error_drawn_to_the_usual_ones():
    """Against a fine grid of all weights of sum 1."""
    rows = made([0.1, 0.2, 0.6])
    found = choose_part_weights([rows], USUAL)
    before = error_of(rows, USUAL)
    grid = [np.array([a, b, 100 - a - b]) / 100 for a in range(101) for b in range(101 - a)]
    best = min(grid, key=lambda w: error_of(rows, w) / before + 0.1 * ((w - USUAL) ** 2).sum())
    assert found == pytest.approx(best, abs=0.011)


def test_the_usual_weights_stay_unless_the_error_falls_by_a_tenth():
    assert choose_part_weights([made([0.2, 0.2, 0.15])], USUAL) is USUAL
    assert choose_part_weights([made([0.0, 0.0, 0.0])], USUAL) is USUAL  # nothing is left to gain
    assert choose_part_weights([made([1e-9, 1e-9, 1e-9])], USUAL) is USUAL


def test_a_row_of_weight_two_counts_as_two_rows():
    rows = made([0.1, 0.2, 0.6], 50)
    twice = HeldOutPredictions(
        [np.tile(p, (2, 1)) for p in rows.predictions], np.tile(rows.truth, (2, 1)), None
    )
    weighted = rows._replace(weight=np.full(50, 2.0))
    assert choose_part_weights([twice], USUAL).tolist() == choose_part_weights([weighted], USUAL).tolist()
    assert choose_part_weights([rows, rows], USUAL).tolist() == choose_part_weights([twice], USUAL).tolist()
