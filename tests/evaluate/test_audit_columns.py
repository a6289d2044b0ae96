"""Columns in another order, with noise, and with other last digits: in every kind of data."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from holdfast.data.frame import make_frame
from holdfast.evaluate.changes import (
    add_column,
    add_noise_column,
    find_last_digit,
    jitter_last_digits,
    keep_columns,
    permute_columns,
    reorder_columns,
    replace_columns,
)
from holdfast.evaluate.fit import EvaluationData

AGES, LABS, WARDS = [41, 30, 63], [5.25, 1.5, 2.0], ["A", "B", "A"]
FRAME = pd.DataFrame({"age": AGES, "lab": LABS, "ward": WARDS}, index=[7, 8, 9])
KINDS = {
    "pandas": FRAME,
    "numbered": FRAME.set_axis([0, 1, 2], axis="columns"),
    "polars": pl.from_pandas(FRAME),
    "arrow": pa.Table.from_pandas(FRAME, preserve_index=False),
    "array": FRAME.to_numpy(object),
    "own": make_frame(FRAME),
}


def columns_of(X: Any) -> list[list[Any]]:
    return [list(np.asarray(column).tolist()) for column in make_frame(X).columns]


def rows(X: Any = FRAME) -> EvaluationData:
    y = ["no", "yes", "no"]
    return EvaluationData.read(X, y, None, None)


@pytest.mark.parametrize("X", KINDS.values(), ids=list(KINDS))
def test_columns_are_reordered_added_and_replaced_in_the_type_of_the_data(X: Any) -> None:
    assert columns_of(reorder_columns(X, [2, 0, 1])) == [WARDS, AGES, LABS]
    noise = np.array([0.5, 0.25, 0.125])
    wide = add_column(X, "noise", noise)
    assert type(wide) is type(X)
    assert columns_of(wide) == [AGES, LABS, WARDS, noise.tolist()]
    other = replace_columns(X, {0: noise})
    assert type(other) is type(X)
    assert columns_of(other) == [noise.tolist(), LABS, WARDS]
    assert columns_of(X) == [AGES, LABS, WARDS]  # as it was


def test_the_schema_follows_the_columns() -> None:
    found = rows()
    schema = found.table.schema
    assert keep_columns(found, schema).schema is schema
    other = permute_columns((3,), found, schema)
    assert list(other.X.columns) == list(other.schema.names)
    assert sorted(other.schema.names) == ["age", "lab", "ward"]
    noisy = add_noise_column((0,), found, schema)
    assert list(noisy.X.columns) == list(noisy.schema.names) == ["age", "lab", "ward", "noise"]


def test_a_column_of_noise_has_a_name_of_its_own() -> None:
    found = rows(FRAME.rename(columns={"lab": "noise"}))
    assert add_noise_column((0,), found, found.table.schema).schema.names[-1] == "noise_"


@pytest.mark.parametrize(
    ("values", "unit"),
    [([1.0, 2.0], 1.0), ([10.0, 20.0], 1.0), ([0.1, 0.25], 0.01), ([1 / 3], 1e-15), ([1e300], 1e-15)],
)
def test_the_last_digit_is_that_of_the_longest_number(values: list[float], unit: float) -> None:
    assert find_last_digit(np.array([*values, np.nan])) == unit


def test_numbers_move_by_at_most_half_of_their_last_digit_and_only_to_learn_from() -> None:
    chance = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": chance.integers(20, 90, 50),
            "lab": chance.normal(5, 2, 50).round(2),
            "sex": chance.integers(0, 2, 50),
            "ward": chance.choice(["A", "B"], 50),
        }
    )
    y = chance.choice(["no", "yes"], 50)
    found = EvaluationData.read(X, y, None, None)
    moved = jitter_last_digits((5,), found, found.table.schema)
    for name, unit in {"age": 1.0, "lab": 0.01}.items():
        shift = np.abs(moved.X[name].to_numpy() - found.X[name].to_numpy())
        assert 0.3 * unit < shift.max() <= 0.5001 * unit
    for name in ("sex", "ward"):
        assert moved.X[name].tolist() == found.X[name].tolist()
    assert moved.X_test is found.X
