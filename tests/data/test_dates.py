"""Dates as numbers, against the calendar of the standard library."""

import datetime as dt
import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.dates import (
    DateColumn,
    find_date_source,
    is_ambiguous,
    parse_date_columns,
    parse_moment,
    possible_orders,
)
from holdfast.errors import ParameterError

DAYS = "seen (days since 2000-01-01)"


@given(st.datetimes(dt.datetime(1000, 1, 1)))
def test_every_way_to_write_a_day_is_read(moment: dt.datetime) -> None:
    day = dt.datetime(moment.year, moment.month, moment.day)
    parts = f"{day.year:04}", f"{day.month:02}", f"{day.day:02}"
    for mark in "-/.":
        assert parse_moment(mark.join(parts)) == day
        assert parse_moment(mark.join(reversed(parts))) == day
        assert parse_moment(mark.join((parts[1], parts[2], parts[0])), "mdy") == day
    assert parse_moment(moment.isoformat()) == moment


@given(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)))
def test_days_and_parts_are_those_of_pandas(moment: dt.datetime) -> None:
    stamp = pd.Timestamp(moment)
    days = DateColumn("seen").numbers([moment, None])[DAYS]
    assert days[0] == pytest.approx((stamp - pd.Timestamp("2000-01-01")) / pd.Timedelta(days=1))
    assert math.isnan(days[1])
    parts = DateColumn("seen", "parts").numbers([moment])
    assert {name: values.tolist() for name, values in parts.items()} == {
        "seen (year)": [stamp.year],
        "seen (month)": [stamp.month],
        "seen (weekday)": [stamp.day_of_week + 1],
    }


def test_a_zone_counts() -> None:
    noon = dt.datetime(2011, 1, 31, 12)
    for text in ("2011-01-31 12:00Z", "2011-01-31T13:00:00+01:00", "2011-01-31T06:30-0530"):
        assert parse_moment(text) == noon
    assert parse_moment(noon.replace(tzinfo=dt.timezone(dt.timedelta(hours=-1)))) == noon + dt.timedelta(
        hours=1
    )


@pytest.mark.parametrize(
    "text",
    ["", "today", "2011-02-30", "32.01.2011", "31.01.11", "2011-01", "2011-01-31 25:00", "1.5", "2011-01/31"],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert parse_moment(text, "dmy") is None
    assert parse_moment(text, "mdy") is None


def test_cells_tell_the_day_from_the_month_or_do_not() -> None:
    assert possible_orders(["03/04/2020", "31/01/2020"]) == ("dmy",)
    assert possible_orders(["03/04/2020", "01/31/2020"]) == ("mdy",)
    assert possible_orders(["03.04.2020"]) == ("dmy",)
    assert possible_orders(["31/01/2020", "01/31/2020"]) == ()
    assert is_ambiguous(["03/04/2020"])
    assert not is_ambiguous(["03/03/2020", "2020-01-31"])


def test_a_column_is_named_with_what_is_made_of_it() -> None:
    names = ["seen", "a:b", "left:parts"]
    assert parse_date_columns(
        ["seen", "seen:parts", "a:b:mdy", "left:parts", "left:parts:dmy:parts"], names
    ) == (
        DateColumn("seen"),
        DateColumn("seen", "parts"),
        DateColumn("a:b", "days", "mdy"),
        DateColumn("left:parts"),
        DateColumn("left:parts", "parts", "dmy"),
    )
    with pytest.raises(ParameterError, match="date='seen:weeks' ends in 'weeks'"):
        parse_date_columns(["seen:weeks"], names)


@pytest.mark.parametrize("form", ["days", "parts"])
def test_a_derived_name_tells_its_source(form: str) -> None:
    column = DateColumn("seen (first)", form)  # type: ignore[arg-type]
    assert [find_date_source(name) for name in column.derived] == [column] * len(column.derived)
    assert find_date_source("seen (first)") is None
