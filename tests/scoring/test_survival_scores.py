"""Scores of relative risks for times to an event."""

import numpy as np
import pytest

from holdfast import ParameterError, Table
from holdfast.scoring.calibration import calibration, observed_expected, overall_shift
from holdfast.scoring.metric import TrueValues, describe_few_to_learn, describe_too_few, make_metric

NAMES = ("concordance", "uno", "auc", "brier", "deviance")


def some_rows(n_rows=60, seed=0, *, late=False, weight=None):
    """Times with ties, and risks with ties that foretell a little."""
    random = np.random.default_rng(seed)
    risk = random.integers(1, 6, n_rows) / 3
    time = np.ceil(random.exponential(8 / risk))
    y = (time, random.random(n_rows) < 0.6, *([np.floor(time * random.random(n_rows))] if late else []))
    return risk[:, None], Table.from_arrays(np.arange(float(n_rows))[:, None], y, weight, task="survival")


def score(name, risk, table):
    rows = TrueValues.of(table)
    return make_metric(name, table.schema.target).score(risk, rows)


def pairs_by_hand(risk, time, event, entry):
    won, pairs = 0.0, 0.0
    for i in np.flatnonzero(event):
        for j in range(len(time)):
            later = time[j] > time[i] or (time[j] == time[i] and not event[j])
            if later and entry[j] < time[i]:
                pairs += 1
                won += (risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j])
    return won / pairs


@pytest.mark.parametrize("late", [False, True])
def test_concordance_counts_the_pairs_under_observation(late):
    risk, table = some_rows(late=late)
    time, event, entry, _ = table.survival
    expected = pairs_by_hand(risk[:, 0], time, event, np.zeros(60) if entry is None else entry)
    assert score("concordance", risk, table).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_weight_is_a_number_of_copies_and_zero_leaves_a_row_out(name):
    times = np.random.default_rng(1).integers(0, 4, 60)
    risk, weighted = some_rows(weight=times)
    _, table = some_rows()
    copies = Table.from_arrays(
        table.columns[0].repeat(times)[:, None],
        (table.survival.time.repeat(times), table.survival.event.repeat(times)),
        task="survival",
    )
    found, expected = score(name, risk, weighted), score(name, risk.repeat(times, axis=0), copies)
    assert found.value == pytest.approx(expected.value, abs=1e-12)


@pytest.mark.parametrize("name", ["concordance", "deviance"])
@pytest.mark.parametrize("late", [False, True])
def test_influences_are_those_of_a_small_change_of_each_weight(name, late):
    risk, table = some_rows(20, late=late)
    rows = TrueValues.of(table).rows
    formula = make_metric(name, table.schema.target).formula
    found = formula(risk, rows)
    for row in range(20):
        more = np.ones(20)
        more[row] += 1e-6
        moved = formula(risk, type(rows)(rows.values, more, rows.unit, rows.survival, rows.hazard))
        assert (moved.value - found.value) * 20e6 == pytest.approx(found.influence[row], abs=1e-4)


def test_errors_cover_the_scatter_of_the_scores_of_other_samples():
    draws = [some_rows(300, seed) for seed in range(60)]
    for name in NAMES:
        found = [score(name, *each) for each in draws]
        ratio = np.mean([each.error for each in found]) / np.std([each.value for each in found])
        assert 0.7 < ratio < 1.5, name


def test_calibration_compares_the_events_by_the_horizon():
    risk, table = some_rows(400)
    truth = TrueValues.of(table)
    line = calibration(risk, truth)
    assert overall_shift(risk, truth) == pytest.approx(line.observed - line.expected)
    assert line.slope == pytest.approx(1, abs=3 * line.slope_error)


def test_observed_over_expected_counts_events_over_the_whole_time():
    risk, table = some_rows(400)
    truth, times = TrueValues.of(table), table.survival
    found = observed_expected(risk, truth)
    by_hand = times.event.sum() / (risk[:, 0] * times.exposure).sum()
    assert found.ratio == calibration(risk, truth).ratio == pytest.approx(by_hand)
    assert found.low < found.ratio < found.high
    assert observed_expected(risk / 3, truth).ratio == pytest.approx(3 * by_hand)


def test_rows_that_are_all_censored_have_defined_scores_without_chance():
    risk, table = some_rows()
    rows = TrueValues.of(table).subset(~table.survival.event)
    values = {
        name: make_metric(name, table.schema.target).score(risk[~table.survival.event], rows)
        for name in NAMES
    }
    assert [values[name] for name in ("concordance", "uno", "auc")] == [(0.5, 0.0)] * 3
    assert all(np.isfinite(each).all() for each in values.values())
    assert observed_expected(risk[~table.survival.event], rows).observed == 0


def test_scores_by_the_chance_of_censoring_refuse_late_entries():
    _, table = some_rows(late=True)
    with pytest.raises(ParameterError, match="enter late"):
        make_metric("brier", table.schema.target)


def test_one_row_and_one_event_are_enough():
    risk, table = some_rows(1, 0)
    assert table.survival.event.all()
    for name in NAMES:
        assert np.isfinite(score(name, risk, table)).all()


def test_few_events_are_named_where_a_score_says_little():
    _, table = some_rows()
    rows = TrueValues.of(table)
    assert describe_too_few(rows) == ""
    died = table.survival.event
    few = rows.subset(~died | (np.cumsum(died) <= 2))
    assert describe_too_few(few) == f"{len(few.values)} rows, 2 events"
    assert f"{len(few.values)} rows with 2 events" in describe_few_to_learn(few.target, few.values)
