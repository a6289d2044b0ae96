"""Times to an event: reading them, the Nelson-Aalen hazard, Kaplan-Meier curves, and relative risks.

A survival tree is a Poisson tree (LeBlanc and Crowley, Biometrics 1992). The exposure of a row is the
cumulative hazard of all rows over the time that it was observed, which is the number of events expected for
it; the target is its event divided by its exposure. A leaf predicts the relative risk, observed by expected
events, and the survival function exp(-risk * cumulative hazard).
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, LongArray, freeze, round_last_digits
from holdfast._check import check_choice, check_number
from holdfast._choices import HAZARDS
from holdfast._text import RowLabels, first_rows, number_text, plural, pluralize, quoted
from holdfast.data.columns import read_column
from holdfast.data.frame import as_vector, make_frame
from holdfast.data.schema import TASK_OUTCOMES, Hazard, Target
from holdfast.errors import DataError, DataWarning, ParameterError

EVENT_NAMES = ("event", "status", "died", "dead", "death", "observed", "cens")
ENTRY_NAMES = ("entry", "start", "enter")
MOST_CODES = 20  # values of a column that may tell the event
FEWEST = 10  # rows with and without the event, which a column may tell by chance otherwise
SAME = 0.9999  # correlation of a column that is the time in other units
BOUNDS = ("lower", "upper", "left", "right")  # columns of interval censoring begin so
MOST_TIMES = 500  # of a stored hazard; of more event times, these are spread evenly
AT_RISK = 0.1  # fraction of the rows that are observed up to the default horizon
PER_YEAR = {"day": 365.25, "week": 52.0, "month": 12.0, "year": 1.0}
AT_ONCE = 256  # risks whose survival functions are computed together
N_STEPS = 200  # up to the horizon, of a hazard that rises evenly
LEAST_RISK, MOST_RISK = 1e-4, 1e4  # bounds of relative risks that are made from fractions


class SurvivalTimes(NamedTuple):
    """Times and events of the rows of a table."""

    time: FloatArray  # of the event, or of the end of observation
    event: BoolArray
    entry: FloatArray | None  # from which on a row is observed; None: 0
    exposure: FloatArray  # events expected by the hazard of all rows

    def subset(self, rows: NDArray[Any] | slice) -> "SurvivalTimes":
        """Select rows."""
        entry = None if self.entry is None else self.entry[rows]
        return SurvivalTimes(self.time[rows], self.event[rows], entry, self.exposure[rows])

    @property
    def keys(self) -> list[FloatArray]:
        """Numbers that distinguish rows of different outcomes."""
        return [self.time, self.event.astype(np.float64), *([] if self.entry is None else [self.entry])]


# -- reading -------------------------------------------------------------------------------------------------


def read_survival(y: Any, n_rows: int | None = None, rows: RowLabels | None = None) -> NDArray[Any]:
    """Read times to an event.

    Parameters
    ----------
    y : structured array, data frame, mapping, array or tuple
        Of scikit-survival's form: an array or a frame whose fields are the event (true or false) and the
        time, and perhaps the time of entry, found by type and name. Or (time, event) or (time, event, entry),
        as a tuple of columns or an array of two or three columns.
    n_rows : int, optional
        The number of rows that there must be.
    rows : RowLabels, optional
        Names of the rows, for messages.

    Returns
    -------
    structured array
        The event, the time and, if it was given, the entry, under the names that they had.

    Examples
    --------
    >>> read_survival(([5.0, 8.0], [True, False])).tolist()
    [(True, 5.0), (False, 8.0)]
    """
    columns = _name_columns(y)
    names = list(columns)
    if "censor" in names[1].lower() and not isinstance(y, np.ndarray):
        warnings.warn(
            f"y[{names[1]!r}] is read as the event, True where it was observed: if it is True where a row is "
            "censored, give y=(time, event) with its opposite.",
            DataWarning,
            stacklevel=2,
        )
    time, event, *entry = (_read_column(columns[name], name, name == names[1], rows) for name in names)
    lengths = {len(line) for line in (time, event, *entry)}
    if len(lengths) > 1 or (n_rows is not None and lengths != {n_rows}):
        found = ", ".join(
            f"{len(line)} of {name!r}" for name, line in zip(names, (time, event, *entry), strict=True)
        )
        wanted = "" if n_rows is None else f", and X has {n_rows} rows"
        raise DataError(f"The columns of y have different numbers of rows: {found}{wanted}.")
    _check_times(time, event, entry[0] if entry else None, names, rows)
    kinds = [(names[1], np.bool_), *((name, np.float64) for name in (names[0], *names[2:]))]
    read = np.empty(len(time), kinds)
    for (name, _), line in zip(kinds, (event, time, *entry), strict=True):
        read[name] = line
    return read


def is_survival(y: Any) -> bool:
    """Return True if y can only be times to an event: an array with fields, a frame or a tuple of columns.

    >>> is_survival(([5.0, 8.0], [True, False])), is_survival([5.0, 8.0])
    (True, False)
    """
    if isinstance(y, tuple):
        return len(y) in (2, 3) and all(hasattr(line, "__len__") and not isinstance(line, str) for line in y)
    if isinstance(y, np.ndarray):
        return y.dtype.names is not None
    columns = y if isinstance(y, Mapping) else getattr(y, "columns", ())
    return len(columns) in (2, 3)


def _name_columns(y: Any) -> dict[str, Any]:
    """Find time, event and perhaps entry, in this order, with their names."""
    usual = ("time", "event", "entry")
    if isinstance(y, np.ndarray) and y.dtype.names is not None:
        return _sort_columns({name: y[name] for name in y.dtype.names})
    if isinstance(y, Mapping):
        return _sort_columns({str(name): line for name, line in y.items()})
    if isinstance(y, tuple | list) and len(y) in (2, 3) and not _is_list_of_rows(y):
        names = [str(getattr(line, "name", None) or usual[place]) for place, line in enumerate(y)]
        return dict(zip(names if len(set(names)) == len(names) else usual, y, strict=False))
    rows = np.array(y) if isinstance(y, tuple | list) else y
    if rows is None or isinstance(rows, str) or getattr(rows, "ndim", 2) < 2:
        raise DataError(_describe_y("it is one column" if np.ndim(rows) else f"it is {rows!r}"))
    frame = make_frame(rows)
    columns = dict(zip(frame.names, frame.columns, strict=True))
    if frame.matrix is None:
        return _sort_columns(columns)
    if len(columns) not in (2, 3):
        raise DataError(_describe_y(f"it has {len(columns)} columns"))
    return dict(zip(usual, columns.values(), strict=False))


def _is_list_of_rows(y: Any) -> bool:
    """Tell rows of two or three numbers from columns; a tuple holds columns."""
    return any(np.isscalar(each) for each in y) or (
        isinstance(y, list) and all(isinstance(each, tuple) for each in y)
    )


def _sort_columns(columns: dict[str, Any]) -> dict[str, Any]:
    """Tell time, event and entry apart by type, then by name, then by 0 and 1."""
    if len(columns) not in (2, 3):
        raise DataError(_describe_y(f"it has {len(columns)} columns, {quoted(tuple(columns))}"))
    if sum(name.lower().startswith(BOUNDS) for name in columns) == 2:
        raise DataError(_describe_y(f"its columns {quoted(tuple(columns))} look like bounds of the time"))
    entries = [name for name in columns if name.lower() in ENTRY_NAMES] if len(columns) == 3 else []
    entries = entries or (_find_entry(columns) if len(columns) == 3 else [])
    rest = [name for name in columns if name not in entries[:1]]
    for is_event in (_is_boolean, lambda name, line: name.lower() in EVENT_NAMES, _is_zero_or_one):
        events = [name for name in rest if is_event(name, columns[name])]
        if len(events) == 1 and len(rest) == 2:
            time = next(name for name in rest if name != events[0])
            return {name: columns[name] for name in (time, events[0], *entries[:1])}
    raise DataError(_describe_y(f"of its columns {quoted(tuple(columns))} it is not clear which is which"))


def _find_entry(columns: dict[str, Any]) -> list[str]:
    """Find the time of entry by the values: the one of two times that is the earlier in every row."""
    times = [name for name in columns if not _is_boolean(name, columns[name])]
    if len(times) != 2:
        return []
    first, second = (np.asarray(columns[name]) for name in times)
    if (first < second).all():
        return times[:1]
    return times[1:] if (second < first).all() else []


def _describe_y(problem: str) -> str:
    return (
        f"y must hold a time and an event for every row, and {problem}: give y=(time, event), or y=(time, "
        "event, entry), with event True where the event was observed and False where the row is censored. "
        "Censoring between two times (interval censoring) is not supported."
    )


def _is_boolean(name: str, line: Any) -> bool:
    return str(getattr(line, "dtype", "")).lower() in ("bool", "boolean")


def _is_zero_or_one(name: str, line: Any) -> bool:
    return set(line.tolist() if hasattr(line, "tolist") else line) <= {0, 1}


def _read_column(raw: Any, name: str, is_event: bool, rows: RowLabels | None) -> NDArray[Any]:
    line = as_vector(raw, f"y[{name!r}]")
    what = f"the {'event' if is_event else 'time'} {name!r}"
    if isinstance(line, np.ndarray) and line.dtype.kind == "m":
        line = line / np.timedelta64(1, "D")
    elif not isinstance(line, np.ndarray) and str(line.dtype).startswith("Duration"):
        line = line.to_numpy().astype("timedelta64[ns]") / np.timedelta64(1, "D")
    rows = RowLabels.of(line) or rows
    column = read_column(line, what, "numbers", rows)
    if column.kind != "numeric":
        way_out = f"give {name} == {column.labels[-1]!r}, say" if is_event else "give numbers"
        raise DataError(f"{what} holds the text {quoted(column.labels, 3)}: {way_out}.")
    if (missing := np.isnan(column.values)).any():
        raise DataError(
            f"{what} has {pluralize(int(missing.sum()), 'missing value')}, {first_rows(missing, rows)}: drop "
            "these rows, or fill them in. Of a row that is censored, the time is the end of its observation."
        )
    if not is_event:
        return column.values
    found = np.unique(column.values)
    if not set(found.tolist()) <= {0.0, 1.0}:
        raise DataError(
            f"{what} must be True or 1 where the event was observed, False or 0 where the row is censored, "
            f"and it holds {quoted([number_text(value) for value in found[:4]])}. For one of several codes "
            f"give {name} == 2, say; competing risks are not supported: a row with another event is censored."
        )
    return np.asarray(column.values == 1.0, np.bool_)


def _check_times(
    time: FloatArray,
    event: BoolArray,
    entry: FloatArray | None,
    names: Sequence[str],
    rows: RowLabels | None,
) -> None:
    if (negative := time < 0).any():
        raise DataError(
            f"the time {names[0]!r} has {pluralize(int(negative.sum()), 'negative value')}, "
            f"{first_rows(negative, rows)}: a time is counted from the start of each row, such as the "
            "diagnosis."
        )
    if entry is not None and (late := (entry < 0) | (entry >= time)).any():
        raise DataError(
            f"the entry {names[2]!r} must be at least 0 and before the time {names[0]!r}, and {late.sum()} "
            f"rows are not so, {first_rows(late, rows)}: drop rows that were never observed."
        )
    if not event.any():
        raise DataError(f"There is no event: {names[1]!r} is 0, that is censored, in all {len(event)} rows.")


def split_survival(y: NDArray[Any]) -> tuple[FloatArray, BoolArray, FloatArray | None]:
    """Return time, event and entry of what `read_survival` returns."""
    event, time, *entry = y.dtype.names or ()
    return y[time], y[event], y[entry[0]] if entry else None


# -- the hazard of all rows ----------------------------------------------------------------------------------


class EventTable(NamedTuple):
    """Rows at risk and events at ascending times."""

    time: FloatArray
    at_risk: FloatArray
    events: FloatArray


def count_events(
    time: FloatArray,
    event: BoolArray,
    entry: FloatArray | None = None,
    weight: FloatArray | None = None,
    times: FloatArray | None = None,
) -> EventTable:
    """Count rows at risk and events, by weight, at each time of an event, or at the given times.

    A row is at risk after its entry, up to its own time and at it.

    >>> count_events(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    EventTable(time=array([1., 3.]), at_risk=array([3., 1.]), events=array([1., 1.]))
    """
    weight = np.ones(len(time)) if weight is None else weight
    counted = np.flatnonzero(weight > 0)
    keys = [weight[counted], event[counted], time[counted]]
    order = counted[np.lexsort(keys if entry is None else [keys[0], keys[1], entry[counted], keys[2]])]
    time, event, weight = time[order], event[order], weight[order]  # sums do not depend on the rows' order
    times = np.unique(time[event]) if times is None else times
    at_risk = _sum_above(time, weight, times, "left")
    if entry is not None:
        entry = np.where(entry > 0, entry, -1.0)[order]  # those who enter at 0 are at risk at 0, too
        by_entry = np.argsort(entry, kind="stable")
        at_risk = at_risk - _sum_above(entry[by_entry], weight[by_entry], times, "left")
    sums = np.append(0.0, np.cumsum(np.where(event, weight, 0.0)))
    ends = np.searchsorted(time, times, "right"), np.searchsorted(time, times, "left")
    return EventTable(times, at_risk, sums[ends[0]] - sums[ends[1]])


def _sum_above(ordered: FloatArray, weight: FloatArray, times: FloatArray, side: Any) -> FloatArray:
    """Sum the weights of rows whose sorted number is at least each time."""
    sums = np.append(np.cumsum(weight[::-1])[::-1], 0.0)
    return np.asarray(sums[np.searchsorted(ordered, times, side)], np.float64)


def estimate_hazard(
    y: NDArray[Any],
    weight: FloatArray | None = None,
    *,
    method: str = "nelson-aalen",
    horizon: float | None = None,
    unit: str | None = None,
) -> tuple[Hazard, FloatArray]:
    """Estimate the cumulative hazard of all rows, and the exposure of each.

    Parameters
    ----------
    y : structured array
        As `read_survival` returns it.
    weight : array, optional
        The weight of each row.
    method : {"nelson-aalen", "piecewise"}
        A step at each time of an event, or an exponential distribution between any two of them, as rpart has
        it.
    horizon : float, optional
        Time up to which survival is compared. Default: until when a tenth of the rows is observed, rounded
        down to whole years, or to two digits.
    unit : str, optional
        Unit of the times, such as "days".

    Returns
    -------
    hazard, exposure : Hazard, array

    Examples
    --------
    >>> hazard, exposure = estimate_hazard(read_survival(([1.0, 2.0], [True, True])))
    >>> hazard.cumulative, exposure
    ((0.5, 1.5), array([0.5, 1.5]))
    """
    time, event, entry = split_survival(y)
    names = y.dtype.names
    counts = count_events(time, event, entry, weight)
    if method == "piecewise":
        times, cumulative = _estimate_piecewise(time, event, entry, weight, counts.time)
    else:
        times, cumulative = counts.time, np.cumsum(counts.events / counts.at_risk)
    whole = _make_hazard(times, cumulative, 1.0, names, method == "piecewise")
    exposure = expected_events(whole, time, entry)
    end = choose_horizon(time, weight, unit) if horizon is None else float(horizon)
    if len(times) > MOST_TIMES:
        kept = np.linspace(0, len(times) - 1, MOST_TIMES).round().astype(np.int64)
        after = int(np.searchsorted(times, end, "right"))  # survival to the horizon is exact
        kept = np.union1d(kept, np.clip([after - 1, after], 0, len(times) - 1))
        times, cumulative = times[kept], cumulative[kept]
    return _make_hazard(times, cumulative, end, names, method == "piecewise", unit), exposure


def _make_hazard(
    times: FloatArray,
    cumulative: FloatArray,
    horizon: float,
    names: Any,
    is_linear: bool,
    unit: str | None = None,
) -> Hazard:
    return Hazard(
        times=tuple(times.tolist()),
        cumulative=tuple(cumulative.tolist()),
        horizon=horizon,
        time=names[1],
        entry=names[2] if len(names) > 2 else None,
        is_linear=is_linear,
        unit=unit,
    )


def _estimate_piecewise(
    time: FloatArray,
    event: BoolArray,
    entry: FloatArray | None,
    weight: FloatArray | None,
    event_times: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Divide events by observed time, between two times of events; the last interval ends with the data."""
    weight = np.ones(len(time)) if weight is None else weight
    ends = np.append(event_times[:-1], time[weight > 0].max())
    starts = np.append(0.0, ends[:-1])
    observed = _sum_within(time, weight, starts, ends)
    if entry is not None:
        observed -= _sum_within(entry, weight, starts, ends)
    order = np.lexsort((weight, event, time))
    place = np.minimum(np.searchsorted(ends, time[order]), len(ends) - 1)
    events = np.bincount(place, (weight * event)[order], len(ends))
    rate = np.divide(events, observed, out=np.zeros(len(ends)), where=observed > 0)
    return ends, np.cumsum(rate * (ends - starts))


def _sum_within(time: FloatArray, weight: FloatArray, starts: FloatArray, ends: FloatArray) -> FloatArray:
    """Sum over rows, by weight, the time from 0 to their own that lies within each interval."""
    order = np.lexsort((weight, time))  # sums do not depend on the rows' order
    time, weight = time[order], weight[order]
    place = np.minimum(np.searchsorted(ends, time), len(ends) - 1)
    parts = np.bincount(place, weight * (time - starts[place]), len(ends))
    return np.asarray(parts + _sum_above(time, weight, ends, "right") * (ends - starts), np.float64)


def choose_horizon(time: FloatArray, weight: FloatArray | None = None, unit: str | None = None) -> float:
    """Choose a round time up to which a tenth of the rows is observed: whole years if the unit is known.

    >>> choose_horizon(np.arange(1.0, 1001.0)), choose_horizon(np.arange(1.0, 1001.0), unit="days")
    (900.0, 730.0)
    """
    weight = np.ones(len(time)) if weight is None else weight
    order = np.lexsort((weight, time))  # sums do not depend on the rows' order
    left = np.cumsum(weight[order][::-1])[::-1]
    last = float(time[order][left >= AT_RISK * left[0] * (1 - 1e-9)][-1])
    if last <= 0:
        return 1.0
    year = PER_YEAR.get((unit or "").strip().lower().removesuffix("s"), np.inf)
    if last >= year:
        return float(np.floor(np.floor(last / year) * year))
    step = 10.0 ** (np.floor(np.log10(last)) - 1)
    return float(f"{np.floor(last / step * (1 + 1e-12)) * step:.2g}")


def make_risk_target(
    y: NDArray[Any],
    weight: FloatArray | None,
    known: Hazard | None = None,
    method: str = "nelson-aalen",
    horizon: float | None = None,
    unit: str | None = None,
) -> tuple[FloatArray, Target, SurvivalTimes]:
    """Make the target of a survival tree: the event of each row divided by its exposure.

    The exposure is that of the `known` hazard, where there is one.
    """
    check_choice("hazard", method, HAZARDS)
    check_number("horizon", horizon, is_open="low", none_ok=True)
    if unit is not None and not (isinstance(unit, str) and unit.strip()):
        raise ParameterError(f"time_unit={unit!r} must be a word such as 'days', or None.")
    time, event, entry = split_survival(y)
    if weight is not None and not event[weight > 0].any():
        raise DataError("y has no event among the rows of positive weight.")
    if known is None:
        hazard, exposure = estimate_hazard(y, weight, method=method, horizon=horizon, unit=unit)
        _warn_of_horizon(hazard, time)
    else:
        if known.entry is not None and entry is None:
            warnings.warn(
                f"The model was trained with times of entry, {known.entry!r}, and y has none: its rows count "
                "as observed from 0 on. Else give y=(time, event, entry).",
                DataWarning,
                stacklevel=3,
            )
        hazard = extend_hazard(known, y, weight)
        exposure = expected_events(hazard, time, entry)
        # An event at a time of no hazard counts as at the next known time.
        place = np.minimum(np.searchsorted(hazard.times, time), len(hazard.times) - 1)
        later = expected_events(hazard, np.array(hazard.times)[place], entry)
        exposure = np.where(event & (exposure <= 0), later, exposure)
        hazard = known
    # A row that is censored before the first event tells nothing.
    rate = np.divide(event, exposure, out=np.zeros(len(event)), where=exposure > 0)
    target = Target((y.dtype.names or ("event",))[0], low=0.0, high=1.0, hazard=hazard)
    return rate, target, SurvivalTimes(time, event, entry, exposure)


def describe_misfit(own: Target, other: Target) -> str | None:
    """Describe why rows with another target do not fit that of a tree; None if they do, classes apart."""
    if own.task != other.task:
        return f"The rows have {TASK_OUTCOMES[other.task]}, and the tree predicts {TASK_OUTCOMES[own.task]}."
    hazards = [
        None if each is None else (each.times, each.cumulative, each.is_linear)
        for each in (own.hazard, other.hazard)
    ]
    if hazards[0] != hazards[1]:
        return "The events expected for the rows are by another hazard than that of the tree."
    return None


def _warn_of_horizon(hazard: Hazard, time: FloatArray) -> None:
    """Warn if all rows survive the horizon, or if none is observed up to it."""
    horizon, first, last = (number_text(each) for each in (hazard.horizon, hazard.times[0], time.max()))
    problem = ""
    if hazard.horizon > time.max():
        problem = f"is after the last time, {last}: nothing is known of survival to it. Give an earlier one."
    elif hazard.times[0] >= hazard.horizon and not hazard.is_linear:
        problem = f"is not after the first event, at {first}: all rows survive it. Give a later one."
    if problem:
        warnings.warn(f"The horizon {horizon} {problem}", DataWarning, stacklevel=4)


def find_leaks(names: Sequence[str], columns: Sequence[FloatArray], times: SurvivalTimes) -> list[str]:
    """Find columns that tell the event of every row, by their few values or gaps, or that are the time.

    >>> time, event = np.arange(1.0, 51.0), np.arange(50) % 2 == 0
    >>> columns = [np.arange(50.0) % 7, np.where(event, time, np.nan)]
    >>> find_leaks(["age", "died_on"], columns, SurvivalTimes(time, event, None, np.ones(50)))
    ['died_on']
    """
    leaks: list[str] = []
    n_events = int(times.event.sum())
    if not FEWEST <= n_events <= len(times.event) - FEWEST:
        return leaks
    for name, values in zip(names, columns, strict=True):
        is_known = ~np.isnan(values)
        if np.array_equal(is_known, times.event) or np.array_equal(is_known, ~times.event):
            leaks.append(name)
            continue
        found = np.unique(values[:1000])  # most columns have many values within the first rows
        found = np.unique(values) if len(found) <= MOST_CODES else found
        if len(found) <= MOST_CODES:
            parts = [times.event[np.isnan(values) if np.isnan(each) else values == each] for each in found]
            leaks += [name] if all(part.all() or not part.any() for part in parts) else []
        elif is_known.all():
            with np.errstate(all="ignore"):  # times that are all equal, and numbers beyond bounds
                leaks += [name] if abs(np.corrcoef(values, times.time)[0, 1]) > SAME else []
    return leaks


def extend_hazard(known: Hazard, y: NDArray[Any], weight: FloatArray | None) -> Hazard:
    """Continue a hazard by that of other rows beyond its last time."""
    later = count_events(*split_survival(y), weight)
    is_later = later.time > known.times[-1]
    if not is_later.any():
        return known
    more = known.cumulative[-1] + np.cumsum((later.events / later.at_risk)[is_later])
    return replace(
        known,
        times=(*known.times, *later.time[is_later].tolist()),
        cumulative=(*known.cumulative, *more.tolist()),
    )


# -- times as text -------------------------------------------------------------------------------------------


def name_survival(hazard: Hazard) -> str:
    """Name survival to the horizon.

    >>> [name_survival(Hazard((), (), 730.0, unit=unit)) for unit in ("days", "months", "cycles", None)]
    ['2-year survival', '730-month survival', 'survival to 730 cycles', 'survival to 730']
    """
    number, noun = _measure_time(hazard.horizon, hazard.unit)
    return f"{number}-{noun} survival" if noun in PER_YEAR else f"survival to {f'{number} {noun}'.strip()}"


def join_value(name: str, value: str) -> str:
    """Join a name and its value, so that the time in the name is no part of the value.

    >>> join_value("5-year survival", "83 %"), join_value("survival to 2,500", "83 %"), join_value("", "7")
    ('5-year survival 83 %', 'survival to 2,500: 83 %', '7')
    """
    return f"{name}{':' if name.startswith('survival to') else ''} {value}".strip()


def time_text(time: float, unit: str | None = None, *, in_years: bool = True) -> str:
    """Format a time with its unit, or in years where that is a whole number and wanted.

    >>> time_text(2500.0, "days"), time_text(365.0, "days"), time_text(18.5, "months"), time_text(2500.0)
    ('2,500 days', '1 year', '18.5 months', '2,500')
    """
    number, noun = _measure_time(time, unit, in_years)
    return f"{number} {plural(noun) if noun in PER_YEAR and number != '1' else noun}".strip()


def count_years(time: float, unit: str | None) -> int:
    """Count the years of a time; 0 if they are not whole, or the unit is unknown.

    >>> count_years(1825.0, "days"), count_years(18.0, "months")
    (5, 0)
    """
    year = PER_YEAR.get((unit or "").strip().lower().removesuffix("s"))
    if year is None:
        return 0
    years, is_days = round(time / year), year == PER_YEAR["day"]
    is_whole = abs(time - years * year) <= (0.75 if is_days else 0.0) or (is_days and time == 365 * years)
    return max(years, 0) if is_whole else 0


def _measure_time(time: float, unit: str | None, in_years: bool = True) -> tuple[str, str]:
    """Return a time as text, and its unit: in the singular if it is a day, a week, a month or a year."""
    noun = (unit or "").strip()
    known = noun.lower().removesuffix("s")
    if known in PER_YEAR:
        noun = known
        if in_years and (years := count_years(time, unit)):
            time, noun = years, "year"
    return f"{time:,.0f}" if time == round(time) else number_text(time, 4), noun


# -- hazards, risks and survival -----------------------------------------------------------------------------


def cumulative_hazard(hazard: Hazard, times: Any) -> FloatArray:
    """Return the cumulative hazard of all rows up to each time.

    >>> cumulative_hazard(Hazard((1.0, 2.0), (0.5, 1.5), 2.0), [0.5, 1.0, 5.0])
    array([0. , 0.5, 1.5])
    """
    times = np.asarray(times, np.float64)
    own, sums = np.array((0.0, *hazard.times)), np.array((0.0, *hazard.cumulative))
    if hazard.is_linear:
        return np.asarray(np.interp(times, own, sums), np.float64)
    return np.asarray(sums[np.searchsorted(own[1:], times, "right")], np.float64)


def expected_events(hazard: Hazard, time: FloatArray, entry: FloatArray | None) -> FloatArray:
    """Return the events expected for each row, the hazard over the time that it was observed."""
    passed = cumulative_hazard(hazard, time)
    return passed if entry is None else passed - cumulative_hazard(hazard, entry)


def survival_function(hazard: Hazard, risk: FloatArray, times: Any) -> FloatArray:
    """Return the probability to survive each time at each relative risk, (risks, times).

    >>> survival_function(Hazard((1.0,), (0.5,), 2.0), np.array([0.0, 2.0]), [1.0]).round(3).ravel()
    array([1.   , 0.368])
    """
    return np.exp(-np.multiply.outer(risk, cumulative_hazard(hazard, times)))


def survive_horizon(hazard: Hazard, risk: float) -> float:
    """Return the probability to survive the horizon at a relative risk.

    >>> round(survive_horizon(Hazard((1.0,), (0.5,), 2.0), 2.0), 3)
    0.368
    """
    return float(survival_function(hazard, np.array([risk]), [hazard.horizon])[0, 0])


def lost_fraction(hazard: Hazard, risk: Any) -> FloatArray:
    """Return the fraction of the time up to the horizon that is lost to the event, from 0 to 1.

    It is 1 minus the restricted mean survival time by the horizon. The mean difference of two survival
    functions up to the horizon is the difference of these fractions.

    >>> lost_fraction(Hazard((1.0,), (0.5,), 2.0), np.array([0.0, 2.0])).round(3)
    array([0.   , 0.316])
    """
    widths, sums = _steps(hazard)
    risks = np.asarray(risk, np.float64)
    lost = np.empty(risks.size)
    for begin in range(0, risks.size, AT_ONCE):
        part = risks.ravel()[begin : begin + AT_ONCE]
        kept = np.multiply.outer(-part, sums)
        np.exp(kept, out=kept)
        kept *= widths
        lost[begin : begin + AT_ONCE] = 1.0 - kept.sum(axis=1)
    return round_last_digits(lost.reshape(risks.shape))


def risk_at_fraction(hazard: Hazard, fraction: Any) -> FloatArray:
    """Return the relative risk at which this fraction of the time is lost, the inverse of `lost_fraction`.

    >>> hazard = Hazard((1.0,), (0.5,), 2.0)
    >>> risk_at_fraction(hazard, lost_fraction(hazard, np.array([0.7]))).round(9)
    array([0.7])
    """
    widths, sums = _steps(hazard)
    fraction = np.asarray(fraction, np.float64)
    if not (widths * sums).any():  # no event up to the horizon: any risk loses nothing
        return np.ones(fraction.shape)
    low = np.full(fraction.shape, np.log(LEAST_RISK))
    high = np.full(fraction.shape, np.log(MOST_RISK))
    logs = np.zeros(fraction.shape)
    for _ in range(60):  # Newton's steps, bisection where they leave the bounds
        kept = np.exp(-np.multiply.outer(np.exp(logs), sums))
        excess = 1.0 - (kept * widths).sum(axis=-1) - fraction
        high, low = np.where(excess > 0, logs, high), np.where(excess > 0, low, logs)
        slope = np.exp(logs) * (kept * (widths * sums)).sum(axis=-1)
        step = np.divide(excess, slope, out=np.full(fraction.shape, np.inf), where=slope > 0)
        tried = logs - step
        tried = np.where((tried >= low) & (tried <= high), tried, (low + high) / 2)
        is_near, logs = np.abs(tried - logs).max(initial=0.0) < 1e-9, tried
        if is_near:  # one more step of Newton's would change the last digits
            break
    return round_last_digits(np.exp(logs))


def median_times(hazard: Hazard, risk: FloatArray) -> FloatArray:
    """Return the median survival time at each relative risk; infinite where more than half survive.

    >>> median_times(Hazard((1.0, 2.0), (0.5, 1.5), 2.0), np.array([2.0, 0.5, 0.1]))
    array([ 1.,  2., inf])
    """
    needed = np.log(2.0) / np.maximum(risk, np.finfo(np.float64).tiny)
    sums, times = np.array(hazard.cumulative), np.array(hazard.times)
    place = np.searchsorted(sums, needed * (1 - 1e-12))
    medians = np.append(times, np.inf)[place]
    if hazard.is_linear:
        inside = place < len(times)
        medians[inside] = np.interp(needed[inside], np.append(0.0, sums), np.append(0.0, times))
    return np.asarray(medians, np.float64)


@lru_cache(maxsize=16)
def _steps(hazard: Hazard) -> tuple[FloatArray, FloatArray]:
    """Return the widths of the steps up to the horizon, as fractions of it, and the hazard on each."""
    own = np.array(hazard.times)
    ends = np.append(own[own < hazard.horizon], hazard.horizon)
    if hazard.is_linear:  # a step has the hazard of its middle
        ends = np.union1d(ends, hazard.horizon * np.arange(1, N_STEPS + 1) / N_STEPS)
    starts = np.append(0.0, ends[:-1])
    where = (starts + ends) / 2 if hazard.is_linear else starts
    return freeze((ends - starts) / hazard.horizon), freeze(cumulative_hazard(hazard, where))


# -- Kaplan-Meier curves -------------------------------------------------------------------------------------

CLOSE = 1e-9  # probabilities that are so close are equal
NORMAL_95 = 1.959963984540054


class SurvivalCurve(NamedTuple):
    """A Kaplan-Meier estimate at ascending times, with confidence bands."""

    time: FloatArray
    survival: FloatArray
    low: FloatArray
    high: FloatArray
    at_risk: FloatArray
    events: FloatArray


def kaplan_meier(counts: EventTable, level: float = 0.95) -> SurvivalCurve:
    """Estimate survival by Kaplan and Meier, with log-log confidence bands.

    >>> curve = kaplan_meier(count_events(np.array([1.0, 2.0, 3.0]), np.array([True, False, True])))
    >>> curve.survival.round(3)
    array([0.667, 0.   ])
    """
    events, at_risk = counts.events, counts.at_risk
    hazard = np.divide(events, at_risk, out=np.zeros(len(events)), where=at_risk > 0)
    hazard[hazard > 1 - CLOSE] = 1.0  # the last row, where sums of weights are rounded
    survival = np.asarray(np.cumprod(1.0 - hazard), np.float64)
    rest = at_risk * (at_risk - events)
    variance = np.cumsum(np.divide(events, rest, out=np.zeros(len(events)), where=rest > 0))
    inside = (survival > 0) & (survival < 1)
    logs = np.log(np.where(inside, survival, 0.5))
    # The band is 0 to 1 long before its exponential overflows.
    reach = np.minimum(_normal_quantile(level) * np.sqrt(variance) / np.abs(logs), 700.0)
    low = np.where(inside, np.exp(logs * np.exp(reach)), survival)
    high = np.where(inside, np.exp(logs * np.exp(-reach)), survival)
    return SurvivalCurve(counts.time, survival, low, high, at_risk, events)


def _normal_quantile(level: float) -> float:
    if level == 0.95:
        return NORMAL_95
    from statistics import NormalDist

    return NormalDist().inv_cdf((1.0 + level) / 2)


def read_curve(curve: SurvivalCurve, time: float) -> tuple[float, float, float]:
    """Return survival and its band at one time; 1 before the first event."""
    place = int(np.searchsorted(curve.time, time, "right")) - 1
    if place < 0:
        return 1.0, 1.0, 1.0
    return float(curve.survival[place]), float(curve.low[place]), float(curve.high[place])


def find_median(curve: SurvivalCurve) -> float | None:
    """Return the first time at which at most half survive; None if more do."""
    places = np.flatnonzero(curve.survival <= 0.5 + CLOSE)
    return float(curve.time[places[0]]) if len(places) else None


def median_follow_up(survival: SurvivalTimes, weight: FloatArray | None = None) -> float | None:
    """Estimate the median time to the end of observation, by Kaplan-Meier with events as censored.

    >>> time, event = np.array([1.0, 2.0, 3.0]), np.array([True, False, False])
    >>> median_follow_up(SurvivalTimes(time, event, None, time))
    2.0
    """
    counts = count_events(survival.time, ~survival.event, survival.entry, weight)
    return find_median(kaplan_meier(counts))


def pool_times(counts: EventTable, most: int) -> EventTable:
    """Join neighbouring times where there are more than `most`; survival at those kept is unchanged."""
    if len(counts.time) <= most:
        return counts
    kept: LongArray = np.unique(np.linspace(0, len(counts.time) - 1, most).round().astype(np.int64))
    survival = kaplan_meier(counts).survival[kept]
    before = np.append(1.0, survival[:-1])
    starts = np.append(0, kept[:-1] + 1)
    events = np.add.reduceat(counts.events, starts)
    fraction = 1.0 - np.divide(survival, before, out=np.zeros(len(kept)), where=before > 0)
    at_risk = np.divide(events, fraction, out=counts.at_risk[kept].copy(), where=fraction > 0)
    return EventTable(counts.time[kept], at_risk, events)
