"""Groups are read by value, and none is missing."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from holdfast.data.folds import read_groups
from holdfast.errors import DataError


@pytest.mark.parametrize(
    "groups",
    [
        np.array([2**53 + 1, 2**53, 2**53 + 1]),
        np.array([2**64 - 1, 2**64 - 2, 2**64 - 1], np.uint64),
        [2**70 + 1, 2**70, 2**70 + 1],
        pd.Series([2**60 + 1, 2**60, 2**60 + 1], dtype="Int64"),
        pl.Series([2**60 + 1, 2**60, 2**60 + 1]),
        ["p2", "p1", "p2"],
        [1.5, -2.0, 1.5],
        pd.Series(pd.Categorical(["b", "a", "b"])),
    ],
    ids=lambda groups: type(groups).__module__.split(".")[0],
)
def test_long_numbers_and_texts_of_groups_do_not_run_together(groups: Any):
    first, second, third = read_groups(groups, 3)
    assert first == third != second


def test_the_key_of_a_group_is_that_of_its_label_alone():
    for labels in (["p2", "p1", "p3", "p2"], [7, 5, 9, 7], [1.5, 0.5, 2.5, 1.5]):
        whole = read_groups(labels, 4)
        assert whole[[0, 2]].tolist() == read_groups([labels[0], labels[2]], 2).tolist()
    numbers = np.array([7, -5, 2**62])
    for alike in (
        numbers.tolist(),
        pd.Series(numbers),
        pl.Series(numbers),
        pd.Series(numbers, dtype="Int64"),
    ):
        assert read_groups(alike, 3).tolist() == read_groups(numbers, 3).tolist()


def test_a_missing_group_raises_an_error():
    with pytest.raises(DataError, match="groups has 1 missing values, first at row 2"):
        read_groups(["a", "b", None], 3)
