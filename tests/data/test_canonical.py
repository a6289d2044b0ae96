"""Rows in one order: whatever order they came in, the settled table is the same to the bit."""

from itertools import permutations
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.data.canonical import canonical
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from reference.tables import class_tables, number_tables, whole_weights

AGE_AND_WARD = Schema(
    (Feature("age", low=0.0, high=9.0), Feature("ward", "nominal", categories=("A", "B"))),
    Target("y", ("no", "yes")),
)
NAN = float("nan")


def table_of(age: list[float], ward: list[float], y: list[int], weight: list[float] | None = None) -> Table:
    columns = (np.array(age), np.array(ward))
    return Table(AGE_AND_WARD, columns, np.array(y, np.int32), None if weight is None else np.array(weight))


def bits(table: Table, marks: Any = ()) -> tuple[bytes, ...]:
    """Everything in the table but the sign of zero."""
    weight = b"" if table.weight is None else table.weight.tobytes()
    lines = [*table.columns, table.target, *marks]
    return (*((line + 0).tobytes() for line in lines), weight)


# -- by hand ----------------------------------------------------------------------------------------------


def test_rows_are_sorted_by_the_columns_and_then_the_target():
    table = table_of([3.0, 1.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0], [0, 0, 1, 0])
    settled, _ = canonical(table)
    assert settled.columns[0].tolist() == [1.0, 1.0, 1.0, 3.0]
    assert settled.columns[1].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert settled.target.tolist() == [0, 1, 0, 0]
    assert settled.weight is None
    assert settled.schema is table.schema


def test_a_row_stands_there_as_often_as_its_weight_says():
    settled, _ = canonical(table_of([2.0, 1.0, 2.0, 5.0], [0.0] * 4, [1, 1, 0, 1], [2.0, 1.0, 3.0, 0.0]))
    assert settled.columns[0].tolist() == [1.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    assert settled.target.tolist() == [1, 0, 0, 0, 1, 1]
    assert settled.weight is None


def test_broken_weights_stay_weights_and_alike_rows_are_sorted_by_them():
    settled, _ = canonical(table_of([2.0, 1.0, 2.0, 3.0], [0.0] * 4, [1] * 4, [2.5, 1.0, 0.5, 0.0]))
    assert settled.columns[0].tolist() == [1.0, 2.0, 2.0]
    assert settled.weight.tolist() == [1.0, 0.5, 2.5]


def test_whole_weights_too_large_to_be_written_out_stay_weights():
    settled, _ = canonical(table_of([2.0, 1.0], [0.0, 0.0], [1, 0], [2_000_000.0, 1.0]))
    assert settled.n_rows == 2
    assert settled.weight.tolist() == [1.0, 2_000_000.0]


def test_missing_values_stand_last():
    settled, _ = canonical(table_of([NAN, 1.0, NAN, NAN], [1.0, 0.0, 0.0, NAN], [0, 0, 0, 0]))
    assert settled.columns[0].tolist()[0] == 1.0
    assert np.isnan(settled.columns[0][1:]).all()
    assert settled.columns[1].tolist()[:3] == [0.0, 0.0, 1.0]


def test_zeros_of_either_sign_do_not_keep_other_columns_from_being_sorted():
    settled, _ = canonical(table_of([0.0, -0.0, 0.0, -0.0], [1.0, 0.0, 0.0, 1.0], [0, 1, 1, 0]))
    assert settled.columns[1].tolist() == [0.0, 0.0, 1.0, 1.0]


def test_marks_come_back_row_by_row():
    table = table_of([1.0, 1.0, 1.0, 0.0], [0.0] * 4, [0, 0, 0, 0], [1.0, 1.0, 1.0, 2.0])
    _, (stage, patient) = canonical(table, [np.array([1, 0, 1, 5]), np.array([7, 9, 6, 4])])
    assert stage.tolist() == [5, 5, 0, 1, 1]
    assert patient.tolist() == [4, 4, 9, 6, 7]


def test_one_row_stays_one_row():
    settled, marks = canonical(table_of([1.0], [0.0], [1]), [np.array([3])])
    assert (settled.n_rows, settled.weight, marks[0].tolist()) == (1, None, [3])


def test_the_table_that_was_given_is_left_as_it_was():
    table = table_of([2.0, 1.0], [0.0, 1.0], [0, 1], [3.0, 4.0])
    before = bits(table)
    canonical(table)
    assert bits(table) == before


# -- order ------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(class_tables(most_rows=25, of_a_row=whole_weights) | number_tables(most_rows=25), st.randoms())
def test_the_order_of_the_rows_does_not_matter(table: Table, random: Any):
    order = np.array(random.sample(range(table.n_rows), table.n_rows))
    mark = np.arange(table.n_rows) % 3
    settled, marks = canonical(table, [mark])
    again, marks_again = canonical(table.taken(order), [mark[order]])
    assert bits(settled, marks) == bits(again, marks_again)


def test_the_order_of_alike_rows_does_not_show_in_their_weights():
    settled = {
        bits(canonical(table_of([1.0] * 4, [0.0] * 4, [0] * 4, list(weight)))[0])
        for weight in permutations([0.1, 0.2, 0.3, 0.7])
    }
    assert len(settled) == 1


@settings(max_examples=40)
@given(class_tables(most_rows=15), st.lists(st.integers(1, 3), min_size=15, max_size=15))
def test_a_weight_is_as_many_rows(table: Table, times: list[int]):
    repeats = np.array(times[: table.n_rows])
    weighted = Table(table.schema, table.columns, table.target, repeats.astype(float))
    repeated = table.taken(np.repeat(np.arange(table.n_rows), repeats))
    assert bits(canonical(weighted)[0]) == bits(canonical(repeated)[0])


@settings(max_examples=40)
@given(class_tables(most_rows=25, of_a_row=whole_weights))
def test_no_weight_is_lost(table: Table):
    settled, _ = canonical(table)
    assert settled.weight is None
    assert settled.n_rows == (table.n_rows if table.weight is None else table.weight.sum())


@settings(max_examples=30)
@given(class_tables(most_rows=25, of_a_row=whole_weights))
def test_a_settled_table_is_settled(table: Table):
    settled, _ = canonical(table)
    assert bits(canonical(settled)[0]) == bits(settled)
