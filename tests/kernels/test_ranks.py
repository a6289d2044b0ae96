"""The ranks of a column against those of numpy, for numbers that a radix sort could stumble over."""

import numpy as np
import pytest

from holdfast.data.binning import write_dense_ranks

N = 5_000
RANDOM = np.random.default_rng(0)
TINY, GREATEST = 5e-324, np.finfo(np.float64).max

COLUMNS = {
    "all bits vary": RANDOM.integers(0, 2**64, N, np.uint64).view(np.float64),
    "normal": RANDOM.normal(size=N),
    "few integers": RANDOM.integers(-3, 4, N) * 1.0,
    "two decimals": RANDOM.normal(size=N).round(2),
    "one value": np.full(N, 0.1),
    "gaps": np.where(RANDOM.random(N) < 0.4, np.nan, RANDOM.normal(size=N)),
    "neighbours": 1.0 + RANDOM.integers(0, 40, N) * 2.0**-52,
    # One range of bits is left for the rows, so these are the same but for bits that a word has no room for.
    "neighbours and an outlier": np.append(-1e300, 1.0 + RANDOM.integers(0, 40, N) * 2.0**-52),
    "close and an outlier": np.append(-1e300, 1.0 + RANDOM.random(N) * 2.0**-22),
    "extremes": RANDOM.choice([0.0, -0.0, TINY, -TINY, GREATEST, -GREATEST, np.inf, -np.inf, np.nan], N),
    "in order": np.arange(N) / 7,
    "in the opposite order": -np.arange(N) / 7,
    "one row": np.array([3.0]),
    "one gap": np.array([np.nan]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_ranks_are_places_among_the_different_values(name):
    column = COLUMNS[name]
    ranks = np.empty(len(column), np.int32)
    rows_below = write_dense_ranks(column, ranks)
    known = ~np.isnan(column)
    values, places, counts = np.unique(column[known], return_inverse=True, return_counts=True)
    assert (ranks[~known] == -1).all()
    assert ranks[known].tolist() == places.tolist()
    assert rows_below.tolist() == ([0, *np.cumsum(counts)] if len(values) else [0, 0])


def test_the_column_stays_as_it_is():
    column = RANDOM.normal(size=(300, 2))[:, 1]
    before = column.copy()
    write_dense_ranks(column, np.empty(300, np.int32))
    assert (column == before).all()
