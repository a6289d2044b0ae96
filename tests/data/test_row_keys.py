"""Keys of rows: what a row holds decides, not where it or its columns stand."""

import numpy as np
import pandas as pd

from holdfast import Table
from holdfast.data.canonical import telling_order
from holdfast.data.row_keys import content_order, row_keys


def frame(n_rows: int = 500) -> pd.DataFrame:
    """Rows of numbers, categories and gaps."""
    generator = np.random.default_rng(1)
    age = generator.integers(20, 90, n_rows).astype(float)
    age[::7] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "ward": generator.choice(["A", "B", "C"], n_rows),
            "dose": generator.normal(size=n_rows),
            "outcome": generator.choice(["home", "died"], n_rows),
        }
    )


def test_rows_keep_their_keys_in_any_order_of_rows_and_columns() -> None:
    rows = frame()
    order = np.random.default_rng(2).permutation(len(rows))
    keys = row_keys(Table.from_frame(rows, target="outcome"))
    moved = rows.iloc[order][["dose", "outcome", "age", "ward"]]
    assert np.array_equal(row_keys(Table.from_frame(moved, target="outcome")), keys[order])


def test_different_rows_have_different_keys_and_equal_ones_the_same() -> None:
    rows = frame()
    keys = row_keys(Table.from_frame(pd.concat([rows, rows]), target="outcome"))
    assert np.array_equal(keys[:500], keys[500:])
    assert len(np.unique(keys)) == len(rows.drop_duplicates())


def test_zero_has_one_key_and_so_has_what_is_missing() -> None:
    missing = np.array([0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    keys = row_keys(Table.from_arrays(np.array([0.0, -0.0, *missing])[:, None], ["a", "b", "a", "b"]))
    same_class = row_keys(
        Table.from_arrays(np.array([-0.0, 0.0, *missing[::-1]])[:, None], ["a", "b", "a", "b"])
    )
    assert np.array_equal(keys, same_class)
    assert len(np.unique(keys)) == 4


def test_bits_of_the_keys_are_fair() -> None:
    keys = row_keys(Table.from_arrays(np.arange(20_000.0)[:, None], np.arange(20_000) % 2))
    ones = [(keys >> np.uint64(bit) & np.uint64(1)).mean() for bit in range(64)]
    # 64 shares of 20,000 fair coins: 4.5 standard deviations.
    assert np.abs(np.array(ones) - 0.5).max() < 4.5 * 0.5 / np.sqrt(20_000)


def test_content_order_puts_the_same_rows_in_the_same_order() -> None:
    rows = frame()
    shuffled = rows.sample(frac=1.0, random_state=3)
    one, other = (Table.from_frame(each, target="outcome") for each in (rows, shuffled))
    a, b = one.taken(content_order(one)), other.taken(content_order(other))
    for left, right in zip(a.columns, b.columns, strict=True):
        assert np.array_equal(left, right, equal_nan=True)
    assert np.array_equal(a.target, b.target)


def test_columns_that_tell_more_of_the_target_come_first_and_noise_last() -> None:
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 400)
    columns = {
        "noise": generator.normal(size=400),
        "weak": y + 3 * generator.normal(size=400),
        "strong": y + 0.1 * generator.normal(size=400),
        "constant": np.ones(400),
    }
    for names in (list(columns), list(columns)[::-1]):
        table = Table.from_arrays(pd.DataFrame({name: columns[name] for name in names}), y)
        assert [names[index] for index in telling_order(table)] == ["strong", "weak", "noise", "constant"]
