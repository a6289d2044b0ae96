"""What is drawn for a row follows from the row: fair, and the same whatever other rows there are."""

import struct
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from holdfast._random import stream_key
from holdfast.data.row_keys import (
    CLASS_STEP,
    STEP,
    draw_bits,
    draw_poisson_counts,
    draw_uniforms,
    group_copies,
    label_keys,
    mix_bits,
    permute_rows,
    row_hashes,
    row_keys,
    select_lowest,
    unit_keys,
)
from holdfast.data.table import Table
from holdfast.errors import DataWarning

MASK = 2**64 - 1


def mixed_by_hand(value: int) -> int:
    """The end of splitmix64, on Python's own integers."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def hash_by_hand(cells: list[Any]) -> int:
    """The hash of one row: its cells in the order of the names of the columns, a number to predict last."""
    found = 0
    for cell in cells:
        if isinstance(cell, str):
            bits = int.from_bytes(blake2b(cell.encode(), digest_size=8).digest(), "big")
        elif cell is None or cell != cell:
            bits = 0x7FF8000000000000
        else:
            bits = struct.unpack("<Q", struct.pack("<d", cell or 0.0))[0]
        found = (mixed_by_hand(found ^ bits) + int(STEP)) & MASK
    return found


def patients(n_rows: int = 300, seed: int = 0) -> pd.DataFrame:
    """Rows of numbers, categories and missing values, some of them alike."""
    chance = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "ward": chance.choice(["A", "B", "C"], n_rows),
            "age": chance.integers(20, 24, n_rows).astype(float),
            "outcome": chance.choice(["home", "died"], n_rows),
        }
    )
    frame.loc[chance.random(n_rows) < 0.1, "age"] = np.nan
    return frame


def table_of(frame: pd.DataFrame, **kwargs: Any) -> Table:
    return Table.from_frame(frame, target="outcome", **kwargs)


# -- hashes --------------------------------------------------------------------------------------------------


def test_mixing_is_the_end_of_splitmix64():
    values = np.array([0, 1, 2**63, MASK, 0x123456789ABCDEF], np.uint64)
    assert mix_bits(values).tolist() == [mixed_by_hand(int(value)) for value in values]
    # The published first outputs of splitmix64 from the state 0.
    states = (np.arange(1, 4, dtype=np.uint64)) * STEP
    assert mix_bits(states).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_a_row_is_hashed_by_its_cells_in_the_order_of_the_names():
    frame = patients(60)
    by_hand = [hash_by_hand([row.age, row.ward]) for row in frame.itertuples()]
    assert row_hashes(table_of(frame)).tolist() == by_hand


def test_numeric_targets_minus_zero_and_missing_values():
    X = np.array([[0.0, 1.5], [-0.0, 1.5], [np.nan, -2.0]])
    hashes = row_hashes(Table.from_arrays(X, [0.25, 0.25, 0.75]))
    assert hashes.tolist() == [
        hash_by_hand([0.0, 1.5, 0.5]),  # 0.25 is 0.5 times a power of two
        hash_by_hand([0.0, 1.5, 0.5]),
        hash_by_hand([None, -2.0, 0.75]),
    ]


def test_the_order_of_columns_and_rows_does_not_matter():
    frame = patients()
    keys = np.sort(row_keys(table_of(frame)))
    assert (row_hashes(table_of(frame[["outcome", "age", "ward"]])) == row_hashes(table_of(frame))).all()
    shuffled = frame.sample(frac=1.0, random_state=1)
    assert (np.sort(row_keys(table_of(shuffled))) == keys).all()


def test_a_category_counts_by_its_text_whatever_others_there_are():
    frame = patients()
    whole = row_hashes(table_of(frame))
    rest = (frame.ward != "A") & (frame.outcome == "died")
    with pytest.warns(DataWarning, match="one class"):
        part = row_hashes(table_of(frame[rest]))
    assert (part == whole[rest.to_numpy()]).all()


def test_custom_features_follow_from_the_columns_and_change_no_key():
    frame = patients()
    asked = table_of(frame, custom_features=["age > 21 and ward == 'B'"])
    assert (row_hashes(asked) == row_hashes(table_of(frame))).all()


def test_many_rows_are_hashed_as_a_few():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    table = Table.from_arrays(X, (X[:, 0] > 0).astype(int))
    some = np.arange(0, 20_000, 997)
    assert (row_hashes(table)[some] == row_hashes(table.subset(some))).all()
    assert len(np.unique(row_keys(table))) == 20_000


def test_a_table_may_have_the_identity_of_other_rows():
    teacher = Table.from_arrays([[1.0], [2.0], [3.0]], ["a", "b", "a"])
    student = Table.from_arrays([[1.0], [2.0], [3.0]], [0.2, 0.9, 0.4])
    student = Table(student.schema, student.columns, student.target, None, row_keys(teacher))
    assert (row_keys(student) == row_keys(teacher)).all()
    assert (row_keys(student.subset(np.array([2, 0]))) == row_keys(teacher)[[2, 0]]).all()


def test_the_names_of_the_classes_change_no_key():
    frame = patients()
    renamed = frame.assign(outcome=frame.outcome.map({"home": "a", "died": "b"}))
    assert (row_keys(table_of(renamed)) == row_keys(table_of(frame))).all()


# -- copies and groups ---------------------------------------------------------------------------------------


def test_copies_are_a_step_apart_and_a_weight_is_as_many_steps():
    rows, y = [[1.0], [5.0], [1.0], [1.0]], ["a", "b", "a", "a"]
    keys = row_keys(Table.from_arrays(rows, y))
    steps = np.arange(3, dtype=np.uint64) * STEP
    assert keys[[0, 2, 3]].tolist() == (keys[0] + steps).tolist()
    weighted = row_keys(Table.from_arrays(rows, y, [1, 1, 1, 2]))
    assert weighted.tolist() == keys.tolist()
    # The lightest comes first, in whatever order the rows stand.
    turned = row_keys(Table.from_arrays(rows, y, [2, 1, 1, 1]))
    assert turned[[2, 3, 0]].tolist() == keys[[0, 2, 3]].tolist()


def test_rows_that_differ_in_their_class_have_copies_of_their_own():
    rows, y = [[1.0], [1.0], [1.0], [1.0], [5.0], [6.0]], ["b", "a", "b", "a", "b", "b"]
    keys = row_keys(Table.from_arrays(rows, y))
    steps = np.arange(2, dtype=np.uint64) * STEP
    assert keys[[0, 2]].tolist() == (keys[0] + steps).tolist()  # of the most frequent class
    assert keys[[1, 3]].tolist() == (keys[0] + (CLASS_STEP + steps)).tolist()
    assert len(set(keys.tolist())) == 6
    # One of the class b less: those of the class a keep their keys, and of two alike the first goes.
    fewer = row_keys(Table.from_arrays(rows[1:], y[1:]))
    assert fewer.tolist() == keys[[1, 0, 3, 4, 5]].tolist()


def test_rows_without_weight_take_no_step():
    keys = row_keys(Table.from_arrays([[1.0], [1.0], [2.0]], ["a", "a", "b"], [0.0, 1.0, 1.0]))
    alone = row_keys(Table.from_arrays([[1.0], [2.0]], ["a", "b"]))
    assert keys[1] == alone[0]


def test_all_rows_alike_and_a_single_row():
    with pytest.warns(DataWarning, match="one"):
        alike = Table.from_arrays(np.ones((50, 2)), ["a"] * 50)
    assert len(np.unique(row_keys(alike))) == 50
    with pytest.warns(DataWarning, match="one class"):
        one = Table.from_arrays([[1.0]], ["a"])
    assert draw_poisson_counts(row_keys(one), (0, 1)).tolist() in ([1], [2], [3])


def test_copies_as_a_group_share_the_key_of_the_first():
    table = Table.from_arrays([[1.0], [1.0], [2.0]], ["a", "a", "b"])
    assert group_copies(table, None) is None
    groups = group_copies(table, np.array([0, 0, 1]))
    assert groups is not None
    keys = row_keys(table)
    assert unit_keys(table, groups).tolist() == keys[[0, 0, 2]].tolist()


def test_labels_are_hashed_one_by_one():
    assert label_keys(["a", "b", "c"])[[0, 2]].tolist() == label_keys(["a", "c"]).tolist()
    assert label_keys([3, 3.0, -1]).tolist() == [3, 3, MASK]
    assert len(set(label_keys([1, True, "1", 2**70, 0.5]).tolist())) == 5
    assert len(set(label_keys([str(number) for number in range(5_000)]).tolist())) == 5_000


# -- fair draws ----------------------------------------------------------------------------------------------

# Keys that are as bad as they come: numbers one after the other, steps of copies, and hashes of rows.
KEYS = {
    "numbers": np.arange(2_000, dtype=np.uint64),
    "copies": np.uint64(12345) + np.arange(2_000, dtype=np.uint64) * STEP,
    "rows": row_keys(Table.from_arrays(np.arange(2_000.0)[:, None], np.arange(2_000) % 2)),
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_random_numbers_are_even_and_independent(keys: np.ndarray):
    drawn = np.array([draw_uniforms(keys, (0, 50, sample)) for sample in range(60)])
    assert drawn.min() >= 0
    assert drawn.max() < 1
    counts = np.histogram(drawn, 50, (0, 1))[0]
    expected = drawn.size / 50
    assert ((counts - expected) ** 2 / expected).sum() < 49 + 5 * np.sqrt(2 * 49)
    between_samples = np.corrcoef(drawn)[np.triu_indices(60, 1)]
    assert np.abs(between_samples).max() < 5 / np.sqrt(2_000)
    between_neighbours = np.corrcoef(drawn[:, :-1].ravel(), drawn[:, 1:].ravel())[0, 1]
    assert abs(between_neighbours) < 4 / np.sqrt(drawn.size)


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("rate", [0.3, 1.0, 4.0])
def test_counts_are_where_the_random_number_stands_among_the_chances(keys: np.ndarray, rate: float):
    expected = stats.poisson.ppf(draw_uniforms(keys, (0, 1)), rate)
    assert draw_poisson_counts(keys, (0, 1), rate).tolist() == expected.tolist()


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("rate", [0.3, 1.0, 4.0])
def test_counts_are_those_of_a_poisson_distribution(keys: np.ndarray, rate: float):
    counts = np.array([draw_poisson_counts(keys, (3, sample), rate) for sample in range(60)])
    n = counts.size
    assert abs(counts.mean() - rate) < 4 * np.sqrt(rate / n)
    assert abs(counts.var() - rate) < 5 * np.sqrt((rate + 2 * rate**2) / n)
    assert abs((counts == 0).mean() - np.exp(-rate)) < 4 * np.sqrt(0.25 / n)
    # Each row is drawn as often as any other, over the samples.
    of_row = counts.sum(axis=0)
    assert abs(of_row.var() / (60 * rate) - 1) < 5 * np.sqrt(2 / 2_000)


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_every_row_is_among_the_lowest_as_often(keys: np.ndarray):
    taken = np.array([select_lowest(keys, (1, sample), 500) for sample in range(200)])
    assert (taken.sum(axis=1) == 500).all()
    of_row = taken.sum(axis=0)
    assert abs(of_row.var() / (200 * 0.25 * 0.75) - 1) < 5 * np.sqrt(2 / 2_000)


def test_bits_are_those_of_the_stream():
    key = 987654321
    by_hand = mixed_by_hand(key ^ stream_key(5, 6, 7))
    assert int(draw_bits(np.array([key], np.uint64), (5, 6, 7))[0]) == by_hand
    assert stream_key(5, 6, 7) != stream_key(5, 6) != stream_key(6, 6)


# -- rows that stay ------------------------------------------------------------------------------------------


def test_rows_that_stay_keep_their_draws():
    keys = KEYS["rows"]
    stay = np.random.default_rng(0).random(len(keys)) < 0.98
    assert (draw_poisson_counts(keys[stay], (0, 1)) == draw_poisson_counts(keys, (0, 1))[stay]).all()
    half, of_all = (
        select_lowest(keys[stay], (0, 1), int(stay.sum()) // 2),
        select_lowest(keys, (0, 1), 1_000)[stay],
    )
    assert np.count_nonzero(half != of_all) < 20
    # All at the border: those that changed have random numbers next to each other.
    drawn = draw_uniforms(keys[stay], (0, 1))[half != of_all]
    assert np.abs(drawn - 0.5).max(initial=0.0) < 0.05


def test_groups_are_drawn_whole():
    groups = np.repeat(label_keys([f"p{number}" for number in range(40)]), 5)
    counts, low = draw_poisson_counts(groups, (0, 1)), select_lowest(groups, (0, 1), 10)
    assert (counts.reshape(40, 5) == counts.reshape(40, 5)[:, :1]).all()
    assert low.sum() == 50
    assert (low.reshape(40, 5).sum(axis=1) % 5 == 0).all()


def test_a_permutation_is_one_circle_and_changes_where_rows_left_alone():
    keys = KEYS["rows"][:500]
    taken = permute_rows(keys, (0, 1))
    assert sorted(taken.tolist()) == list(range(500))
    assert (taken != np.arange(500)).all()
    stay = np.arange(500) % 50 != 7
    rows = np.flatnonzero(stay)
    assert np.count_nonzero(rows[permute_rows(keys[stay], (0, 1))] != taken[stay]) <= 10
    assert permute_rows(keys[:1], (0, 1)).tolist() == [0]
    # Another row is taken from as often as any other.
    drawn = np.array([permute_rows(keys[:5], (sample,)) for sample in range(4_000)])
    for row in range(5):
        counts = np.bincount(drawn[:, row], minlength=5)
        assert counts[row] == 0
        assert np.abs(np.delete(counts, row) - 1_000).max() < 5 * np.sqrt(750)


def test_where_nothing_would_be_drawn_one_is():
    keys = np.arange(3, dtype=np.uint64)
    for sample in range(100):
        counts = draw_poisson_counts(keys, (sample,), rate=0.01)
        assert counts.sum() >= 1
        if counts.sum() == 1:
            assert counts.argmax() == draw_uniforms(keys, (sample,)).argmax()
