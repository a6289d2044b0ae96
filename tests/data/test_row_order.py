"""Rows in one order: whatever order they came in, the ordered table is the same to the bit."""

from itertools import permutations
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.data.row_order import canonicalize_rows, find_fixed_order, sort_table
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


def bits(table: Table, metadata: Any = ()) -> tuple[bytes, ...]:
    """Everything in the table but the sign of zero."""
    weight = b"" if table.weight is None else table.weight.tobytes()
    lines = [*table.columns, table.target, *metadata]
    return (*((line + 0).tobytes() for line in lines), weight)


# -- by hand -------------------------------------------------------------------------------------------------


def padded(age: list[float], ward: list[float], y: list[int], weight: list[float] | None = None) -> Table:
    """The rows, and forty others that all differ, so that none of these is frequent."""
    others = [100.0 + number for number in range(40)]
    return table_of(
        [*age, *others],
        [*ward, *[0.0] * 40],
        [*y, *[number % 2 for number in range(40)]],
        None if weight is None else [*weight, *[1.0] * 40],
    )


def test_rows_are_sorted_by_the_columns_and_then_the_target():
    table = table_of([3.0, 1.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0], [0, 0, 1, 0])
    ordered, _, units = canonicalize_rows(table)
    assert ordered.columns[0].tolist() == [1.0, 1.0, 1.0, 3.0]
    assert ordered.columns[1].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert ordered.target.tolist() == [0, 1, 0, 0]
    assert ordered.weight is None
    assert units is None
    assert ordered.schema is table.schema


def test_copies_become_one_row_with_their_weights():
    ordered, _, units = canonicalize_rows(padded([2.0, 1.0, 2.0], [0.0] * 3, [1, 0, 1]))
    assert ordered.columns[0].tolist()[:2] == [1.0, 2.0]
    assert ordered.weight.tolist()[:2] == [1.0, 2.0]
    assert ordered.n_rows == 42
    assert units.tolist() == list(range(42))


def test_a_whole_weight_is_as_many_copies():
    weighted = canonicalize_rows(padded([2.0, 1.0], [0.0] * 2, [1, 0], [2.0, 1.0]))
    assert bits(weighted.table) == bits(
        canonicalize_rows(padded([2.0, 1.0, 2.0], [0.0] * 3, [1, 0, 1])).table
    )


def test_alike_rows_are_no_copies_where_others_with_the_same_features_have_another_target():
    ordered, _, units = canonicalize_rows(padded([2.0, 2.0, 2.0], [0.0] * 3, [1, 0, 1]))
    assert ordered.columns[0].tolist()[:3] == [2.0, 2.0, 2.0]
    assert ordered.target.tolist()[:3] == [1, 1, 0]  # the more frequent class first
    assert ordered.weight is None
    assert units is None


def test_a_row_that_makes_up_more_than_a_tenth_is_no_copy():
    ordered, _, units = canonicalize_rows(table_of([2.0] * 5 + [1.0], [0.0] * 6, [1] * 6))
    assert ordered.columns[0].tolist() == [1.0, *[2.0] * 5]
    assert ordered.weight is None
    assert units is None


def test_rows_without_weight_are_left_out():
    ordered = canonicalize_rows(padded([2.0, 1.0], [0.0] * 2, [1, 0], [0.0, 1.0])).table
    assert ordered.columns[0].tolist()[:2] == [1.0, 100.0]


def test_broken_weights_stay_and_copies_have_one_number():
    ordered, _, units = canonicalize_rows(padded([2.0, 1.0, 2.0], [0.0] * 3, [1, 0, 1], [2.5, 1.0, 0.5]))
    assert ordered.columns[0].tolist()[:3] == [1.0, 2.0, 2.0]
    assert ordered.weight.tolist()[:3] == [1.0, 0.5, 2.5]
    assert units.tolist()[:4] == [0, 1, 1, 2]


def test_whole_weights_too_large_to_be_written_out_stay_weights():
    ordered = canonicalize_rows(table_of([2.0, 1.0], [0.0, 0.0], [1, 0], [2_000_001.0, 1.0])).table
    assert ordered.n_rows == 2
    assert ordered.weight.tolist() == [1.0, 2_000_001.0]


def test_missing_values_are_alike_and_stand_last():
    ordered = canonicalize_rows(padded([NAN, 1.0, NAN, NAN], [0.0, 0.0, 0.0, NAN], [0, 0, 0, 0])).table
    assert ordered.columns[0].tolist()[0] == 1.0
    assert np.isnan(ordered.columns[0][-2:]).all()
    assert ordered.weight.tolist()[-2:] == [2.0, 1.0]


def test_both_zeros_are_one_value():
    ordered = canonicalize_rows(padded([0.0, -0.0, 0.0, -0.0], [1.0, 0.0, 0.0, 1.0], [0, 1, 1, 0])).table
    zeros = ordered.columns[0] == 0.0
    assert ordered.columns[1][zeros].tolist() == [0.0, 1.0]
    assert ordered.weight[zeros].tolist() == [2.0, 2.0]


def test_metadata_keep_rows_apart_and_come_back_row_by_row():
    table = padded([1.0, 1.0, 1.0, 1.0], [0.0] * 4, [0, 0, 0, 0])
    stage, patient = (np.array([*mark, *[0] * 40]) for mark in ([1, 0, 1, 0], [7, 9, 7, 8]))
    ordered, (stage, patient), _ = canonicalize_rows(table, [stage, patient])
    assert (stage.tolist()[:3], patient.tolist()[:3]) == ([0, 0, 1], [8, 9, 7])
    assert ordered.weight.tolist()[:3] == [1.0, 1.0, 2.0]


def test_one_row_stays_one_row():
    ordered, metadata, units = canonicalize_rows(table_of([1.0], [0.0], [1]), [np.array([3])])
    assert (ordered.n_rows, ordered.weight, metadata[0].tolist(), units) == (1, None, [3], None)


def test_the_table_that_was_given_is_left_as_it_was():
    table = table_of([2.0, 1.0], [0.0, 1.0], [0, 1], [3.0, 4.0])
    before = bits(table)
    canonicalize_rows(table)
    assert bits(table) == before


# -- order ---------------------------------------------------------------------------------------------------


@given(class_tables(most_rows=25, of_a_row=whole_weights) | number_tables(most_rows=25), st.randoms())
def test_the_order_of_the_rows_does_not_matter(table: Table, random: Any):
    order = np.array(random.sample(range(table.n_rows), table.n_rows))
    mark = np.arange(table.n_rows) % 3
    ordered, metadata, _ = canonicalize_rows(table, [mark])
    again, metadata_again, _ = canonicalize_rows(table.subset(order), [mark[order]])
    assert bits(ordered, metadata) == bits(again, metadata_again)


def test_the_order_of_alike_rows_does_not_show_in_their_weights():
    ordered = {
        bits(canonicalize_rows(table_of([1.0] * 4, [0.0] * 4, [0] * 4, list(weight)))[0])
        for weight in permutations([0.1, 0.2, 0.3, 0.7])
    }
    assert len(ordered) == 1


@given(class_tables(most_rows=15), st.lists(st.integers(1, 3), min_size=15, max_size=15))
def test_a_weight_is_as_many_rows(table: Table, times: list[int]):
    repeats = np.array(times[: table.n_rows])
    weighted = Table(table.schema, table.columns, table.target, repeats.astype(float))
    repeated = table.subset(np.repeat(np.arange(table.n_rows), repeats))
    assert bits(canonicalize_rows(weighted)[0]) == bits(canonicalize_rows(repeated)[0])


@given(class_tables(most_rows=25, of_a_row=whole_weights))
def test_no_weight_is_lost(table: Table):
    ordered = canonicalize_rows(table).table
    total = table.n_rows if table.weight is None else table.weight.sum()
    assert (ordered.n_rows if ordered.weight is None else ordered.weight.sum()) == total


@given(class_tables(most_rows=25, of_a_row=whole_weights))
def test_a_settled_table_is_settled(table: Table):
    # Whether a share of exactly a tenth is above it depends on rounding.
    assume(round(table.n_rows if table.weight is None else table.weight.sum()) % 10)
    ordered = canonicalize_rows(table).table
    assert bits(canonicalize_rows(ordered).table) == bits(ordered)


# -- by ranks ------------------------------------------------------------------------------------------------


@given(st.one_of(class_tables(), number_tables()), st.integers(0, 3))
def test_rows_that_are_coded_have_the_same_order(table: Table, n_groups: int) -> None:
    groups = [np.arange(table.n_rows) % n_groups] if n_groups else []
    order = find_fixed_order(table, groups)
    ordered, by_ranks = sort_table(table, groups)
    assert by_ranks.tolist() == order.tolist()
    assert "coded" not in table.__dict__
    again = table.subset(order).coded
    for name, array in ordered.coded._asdict().items():
        assert array.tobytes() == getattr(again, name).tobytes()


@given(class_tables() | number_tables())
def test_the_codes_of_rows_come_along_as_if_they_were_made_anew(table: Table) -> None:
    plain = Table(table.schema, table.columns, table.target)
    anew = canonicalize_rows(plain).table.coded
    plain.code()
    for one, other in zip(canonicalize_rows(plain).table.coded, anew, strict=True):
        assert np.array_equal(one, other)


def test_keys_that_do_not_fit_in_a_word_are_sorted_one_after_the_other() -> None:
    generator = np.random.default_rng(0)
    columns = np.round(generator.normal(size=(3000, 9)))
    columns[:, 8] = generator.normal(size=3000)
    table = Table.from_arrays(columns, generator.normal(size=3000))
    assert sort_table(table)[1].tolist() == np.lexsort(columns.T[::-1]).tolist()
