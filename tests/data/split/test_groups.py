"""Groups are read by value, and none is missing."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from holdfast.data.split.groups import read_groups
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
    assert read_groups(groups, 3).tolist() == [1, 0, 1]


def test_a_missing_group_raises_an_error():
    with pytest.raises(DataError, match="groups has 1 missing values, first at row 2"):
        read_groups(["a", "b", None], 3)
