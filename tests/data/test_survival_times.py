"""Times to an event: every form of y, its errors, the hazard of all rows, and Kaplan-Meier curves."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from holdfast import DataWarning, Table
from holdfast.data.schema import Hazard
from holdfast.data.survival import (
    EventTable,
    choose_horizon,
    count_events,
    cumulative_hazard,
    estimate_hazard,
    find_median,
    kaplan_meier,
    lost_fraction,
    make_risk_target,
    read_survival,
    risk_at_fraction,
)
from holdfast.errors import DataError

TIME, EVENT = [5.0, 8.0, 3.0], [True, False, True]
PAIRS = list(zip(EVENT, TIME, strict=True))
DAYS = np.array([5, 8, 3], "timedelta64[D]")

FORMS = {
    "columns": (TIME, EVENT),
    "tuples of numbers": (tuple(TIME), (1, 0, 1)),
    "lists": [TIME, EVENT],
    "rows": list(zip(TIME, EVENT, strict=True)),
    "two columns": np.column_stack([TIME, EVENT]),
    "objects": np.array(list(zip(TIME, EVENT, strict=True)), object),
    "structured": np.array(PAIRS, [("cens", bool), ("futime", float)]),
    "pandas": pd.DataFrame({"cens": EVENT, "days": TIME}),
    "floats of pandas": pd.DataFrame({"event": np.array(EVENT, float), "days": TIME}),
    "nullable": (pd.Series(TIME, dtype="Float64"), pd.Series(EVENT, dtype="boolean")),
    "by 0 and 1": pd.DataFrame({"x": [1, 0, 1], "days": [5, 8, 3]}),
    "polars": pl.DataFrame({"days": TIME, "cens": EVENT}),
    "mapping": {"x": EVENT, "days": TIME},
    "durations": (pd.Series(DAYS, name="days"), EVENT),
    "durations of polars": pl.DataFrame({"days": DAYS.astype("timedelta64[ms]"), "cens": EVENT}),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_y_holds_the_same_times_and_events(form: str) -> None:
    read = read_survival(FORMS[form], 3)
    assert [tuple(row) for row in read.tolist()] == PAIRS
    if form in ("pandas", "polars"):
        assert read.dtype.names == ("cens", "days")


@pytest.mark.parametrize(
    "y",
    [
        (TIME, EVENT, [0, 1, 2]),
        np.column_stack([TIME, EVENT, [0, 1, 2]]),
        {"d": EVENT, "t": TIME, "start": [0, 1, 2]},
    ],
)
def test_entries_are_a_third_column(y: Any) -> None:
    assert read_survival(y).tolist() == [(True, 5.0, 0.0), (False, 8.0, 1.0), (True, 3.0, 2.0)]


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (([-1.0, 2.0, 3.0], EVENT), "'time' has 1 negative value, first at row 0"),
        (([5.0, np.nan, 3.0], EVENT), "'time' has 1 missing value, first at row 1"),
        (([5.0, np.inf, 3.0], EVENT), "'time' contains infinity"),
        ((TIME, [True, None, False]), "'event' has 1 missing value"),
        ((TIME, [False] * 3), "There is no event"),
        ((TIME, [0, 1, 2]), "For one of several codes give event == 2"),
        ((TIME, ["dead", "alive", "dead"]), "text 'alive', 'dead': give event == 'dead'"),
        ((TIME, ["yes", "no", "yes"]), "text 'no', 'yes': give event == 'yes'"),
        ((["5", "8", "x"], EVENT), "'time' holds the text"),
        ((TIME, EVENT[:2]), "different numbers of rows: 3 of 'time', 2 of 'event'"),
        ((TIME, EVENT, [5.0, 0.0, 0.0]), "'entry' must be at least 0 and before the time"),
        ({"lower": TIME, "upper": [6.0, 9.0, 4.0]}, "interval censoring"),
        ({"lower": TIME, "upper": [6.0, 9.0, 4.0], "event": EVENT}, "interval censoring"),
        ({"t": TIME, "d": ["yes", None, "no"]}, "it is not clear which is which"),
        (np.ones((3, 4)), "it has 4 columns"),
        (TIME, "it is one column"),
        (None, "it is None"),
    ],
)
def test_an_error_says_what_is_wrong_with_y(y: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_survival(y)


def test_a_column_of_censored_rows_is_doubted() -> None:
    with pytest.warns(DataWarning, match="if it is True where a row is censored"):
        read_survival({"days": TIME, "censored": EVENT})


@pytest.mark.parametrize(
    ("horizon", "says"), [(2.0, "not after the first event, at 5"), (9.0, "after the last")]
)
def test_a_horizon_before_the_first_event_or_after_the_last_time_is_doubted(
    horizon: float, says: str
) -> None:
    with pytest.warns(DataWarning, match=says):
        Table.from_arrays([[1], [2], [3]], (TIME, [True, False, False]), task="survival", horizon=horizon)


def test_a_fraction_of_which_nothing_can_be_lost_has_the_risk_of_all_rows() -> None:
    assert risk_at_fraction(Hazard((5.0,), (0.5,), 5.0), np.zeros(2)).tolist() == [1.0, 1.0]


def test_bands_do_not_overflow() -> None:
    curve = kaplan_meier(EventTable(np.array([1.0, 2.0]), np.array([1e9, 1.0]), np.array([1e-9, 1 - 1e-6])))
    assert ((curve.low >= 0) & (curve.low <= curve.survival) & (curve.high <= 1)).all()


def test_columns_that_tell_the_event_or_the_time_are_named() -> None:
    random = np.random.default_rng(0)
    time, event = random.exponential(size=60), random.random(60) < 0.5
    leaks = {
        "cause": np.where(event, "cancer", None),
        "ward": np.where(event, random.choice(["A", "B"], 60), "C"),
        "death_day": np.where(event, random.random(60), np.nan),
        "months": time / 30 + 1,
    }
    fair = {
        "age": random.random(60),
        "sex": random.choice(["f", "m"], 60),
        "lab": np.where(event, 1.0, np.nan),
    }
    fair["lab"][:3] = 2.0
    with pytest.warns(DataWarning, match="^'cause', 'ward', 'death_day', 'months' tells which rows"):
        Table.from_arrays(pd.DataFrame({**fair, **leaks}), (time, event), task="survival")


# -- hazards -------------------------------------------------------------------------------------------------


def test_a_row_is_at_risk_after_its_entry_up_to_its_own_time() -> None:
    counts = count_events(np.array([2.0, 4.0, 4.0]), np.ones(3, bool), np.array([0.0, 2.0, 1.0]))
    assert counts.at_risk.tolist() == [2.0, 2.0]
    for entry in (None, np.zeros(3)):
        assert count_events(np.arange(3.0), np.ones(3, bool), entry).at_risk.tolist() == [3.0, 2.0, 1.0]
    hazard, exposure = estimate_hazard(read_survival(([2.0, 4.0, 4.0], [1, 1, 1], [0.0, 2.0, 1.0])))
    assert hazard.cumulative == (0.5, 1.5)
    assert exposure.tolist() == [0.5, 1.0, 1.5]
    assert hazard.entry == "entry"


def test_the_piecewise_hazard_divides_events_by_time_observed() -> None:
    time, entry, weight = (
        np.array([2.0, 3.0, 5.0, 9.0]),
        np.array([0.0, 1.0, 0.0, 4.0]),
        np.array([1.0, 2, 1, 0]),
    )
    y = read_survival((time, [1, 0, 1, 1], entry))
    hazard, exposure = estimate_hazard(y, weight, method="piecewise")
    # Up to 2: one event in 2 + 2 * 1 + 2 units of time; then one in 2 * 1 + 3. The last row is none.
    assert hazard.times == (2.0, 5.0)
    assert hazard.cumulative == pytest.approx((2 / 6, 2 / 6 + 3 / 5))
    assert exposure[:3] == pytest.approx([2 / 6, 1 / 6 + 1 / 5, 2 / 6 + 3 / 5])


@pytest.mark.parametrize("method", ["nelson-aalen", "piecewise"])
def test_events_are_as_many_as_expected_and_the_order_of_rows_is_none(method: str) -> None:
    rng = np.random.default_rng(0)
    time, event, weight = rng.random(1000), rng.random(1000) < 0.7, rng.random(1000)
    entry, order = time / 2, rng.permutation(1000)
    hazard, exposure = estimate_hazard(read_survival((time, event, entry)), weight, method=method)
    assert weight @ exposure == pytest.approx(weight @ event)
    y = read_survival((time[order], event[order], entry[order]))
    assert estimate_hazard(y, weight[order], method=method)[0] == hazard


def test_a_hazard_of_many_times_is_stored_at_some_and_exact_at_the_horizon() -> None:
    time = np.random.default_rng(0).random(1000)
    hazard, _ = estimate_hazard(read_survival((time, time > 0)), horizon=0.31)
    assert len(hazard.times) in (500, 501, 502)
    expected = (1 / np.arange(1000, 0, -1))[: (time <= 0.31).sum()].sum()
    assert cumulative_hazard(hazard, [0.31]) == pytest.approx(expected)


@pytest.mark.parametrize(("last", "horizon"), [(0.7, 0.7), (1234.0, 1200.0), (99.0, 99.0), (0.0, 1.0)])
def test_the_horizon_is_a_round_time_that_a_tenth_of_the_rows_reaches(last: float, horizon: float) -> None:
    assert choose_horizon(np.array([0.0] * 9 + [last])) == horizon
    assert choose_horizon(np.array([0.0, last]), np.array([0.9, 0.1])) == horizon


def test_a_stored_hazard_jumps_or_rises() -> None:
    steps, line = (Hazard((2.0, 4.0), (1.0, 2.0), 3.0, is_linear=is_linear) for is_linear in (False, True))
    assert cumulative_hazard(steps, [1.0, 2.0, 3.0, 9.0]).tolist() == [0.0, 1.0, 1.0, 2.0]
    assert cumulative_hazard(line, [1.0, 2.0, 3.0, 9.0]).tolist() == [0.5, 1.0, 1.5, 2.0]
    # An exponential distribution of rate 2 * 0.5 loses 1 - (1 - exp(-3)) / 3 of the time up to 3.
    assert lost_fraction(line, 2.0) == pytest.approx(1 - (1 - np.exp(-3)) / 3, abs=1e-5)
    assert lost_fraction(steps, 2.0) == pytest.approx(1 - (2 + np.exp(-2)) / 3)
    assert risk_at_fraction(line, lost_fraction(line, 2.0)) == pytest.approx(2.0)


# -- Kaplan-Meier --------------------------------------------------------------------------------------------


def test_a_median_is_reached_when_half_survive_but_for_rounding() -> None:
    counts = count_events(np.arange(1.0, 11.0), np.ones(10, bool))
    assert find_median(kaplan_meier(counts)) == 5.0
    assert find_median(kaplan_meier(EventTable(np.array([1.0]), np.array([4.0]), np.array([1.0])))) is None


def test_nobody_survives_the_event_of_the_last_row_whatever_the_rounding_of_weights() -> None:
    curve = kaplan_meier(EventTable(np.array([1.0]), np.array([0.3333333333]), np.array([0.333333333333])))
    assert curve.survival.tolist() == [0.0]


def test_new_events_where_the_known_hazard_does_not_rise_count_as_at_its_next_time() -> None:
    known, _ = estimate_hazard(read_survival(([3.0, 6.0], [True, True])))
    y = read_survival(([1.0, 6.0, 5.0, 9.0], [True, True, False, True], [0.0, 4.0, 4.0, 7.0]))
    rate, _, times = make_risk_target(y, None, known)
    assert known.cumulative == (0.5, 1.5)
    # After the last known time the hazard goes on with that of the new rows: one event of one row.
    assert times.exposure.tolist() == [0.5, 1.0, 0.0, 1.0]
    assert rate.tolist() == [2.0, 1.0, 0.0, 1.0]


def test_rows_without_an_entry_are_doubted_by_a_model_with_entries() -> None:
    schema = Table.from_arrays([[1], [2], [3]], (TIME, EVENT, [0, 1, 2]), task="survival").schema
    with pytest.warns(DataWarning, match="trained with times of entry"):
        Table.from_arrays([[1], [2], [3]], (TIME, EVENT), schema=schema)
