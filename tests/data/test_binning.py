"""Columns as small integers: ranks and bins as they are defined, for every kind of column."""

import numpy as np
import pytest

from holdfast.data.binning import code_columns
from holdfast.data.schema import Feature
from holdfast.data.table import Table
from holdfast.kernels.growth.histogram import MOST_BINS, Coded
from reference.coding import bins_of, ranks_of

RANDOM = np.random.default_rng(0)
COLUMNS = {
    "many values": RANDOM.normal(size=900),
    "whole numbers": RANDOM.integers(0, 300, 900).astype(float),
    "whole numbers with gaps": np.where(RANDOM.random(900) < 0.3, np.nan, RANDOM.integers(-70, 70, 900)),
    "whole numbers far from zero": 2.0**53 - RANDOM.integers(1, 600, 900),
    "whole numbers far apart": RANDOM.integers(0, 9, 900) * 1e15,
    "whole numbers beyond 2**53": 2.0**54 + 4.0 * RANDOM.integers(0, 300, 900),
    "halves": RANDOM.integers(0, 300, 900) / 2,
    "whole numbers and a tiny one": np.where(np.arange(900) == 5, 1e-300, RANDOM.integers(-40, 40, 900)),
    "values that pile up": RANDOM.exponential(size=900).round(2),
    "one value": np.full(900, 3.0),
    "none": np.full(900, np.nan),
    "signed zeros and infinities": RANDOM.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], 900),
    "missing": np.where(RANDOM.random(900) < 0.3, np.nan, RANDOM.normal(size=900)),
    "most values in a few rows": np.where(RANDOM.random(900) < 0.6, 0.0, RANDOM.normal(size=900)),
}
REPEATS = {
    "every row once": None,
    "rows twice": RANDOM.integers(1, 3, 900),
    "rows without weight": RANDOM.integers(0, 3, 900),
    "the highest without weight": (np.arange(900) < 700).astype(np.int64),
}


def codes_of(coded: Coded, feature: int) -> list[int]:
    return (coded.codes[feature // 4] >> 8 * (feature % 4) & 255).tolist()


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())
@pytest.mark.parametrize("repeats", REPEATS.values(), ids=REPEATS.keys())
def test_ranks_and_bins_are_what_their_definition_says(column, repeats):
    coded = code_columns([Feature("x")], [column], repeats)
    ranks = ranks_of(column)
    assert coded.ranks[0].tolist() == ranks
    times = None if repeats is None else repeats.tolist()
    assert codes_of(coded, 0) == bins_of(ranks, MOST_BINS, times)


def test_values_without_weight_at_the_end_get_no_bin_of_their_own():
    """Dropping four bits of a 241st code would make it the code of missing values."""
    coded = code_columns([Feature("x")], [np.arange(900.0)], REPEATS["the highest without weight"])
    assert coded.n_codes[0] == MOST_BINS
    assert coded.top_rank[0, MOST_BINS - 1] == 899


@pytest.mark.parametrize("repeats", REPEATS.values(), ids=REPEATS.keys())
def test_the_highest_rank_of_a_bin_is_that_of_its_rows(repeats):
    coded = code_columns([Feature("x")], [COLUMNS["values that pile up"]], repeats)
    ranks, codes = coded.ranks[0], np.array(codes_of(coded, 0))
    tops = [int(ranks[codes == code].max()) for code in range(coded.n_codes[0])]
    assert coded.top_rank[0, : coded.n_codes[0]].tolist() == tops


def test_categories_keep_their_positions_and_wide_ones_have_no_codes():
    ward = np.array([2.0, np.nan, 0.0])
    names = tuple(str(number) for number in range(MOST_BINS + 1))
    features = [
        Feature("ward", "nominal", categories=("A", "B", "C")),
        Feature("zip", "nominal", categories=names),
    ]
    coded = code_columns(features, [ward, np.array([240.0, 7.0, np.nan])])
    assert coded.ranks.tolist() == [[2, -1, 0], [240, 7, -1]]
    assert (codes_of(coded, 0), codes_of(coded, 1)) == ([2, 255, 0], [0, 0, 0])
    assert coded.is_wide.tolist() == [0, 1, 0, 0]


def test_threads_change_nothing():
    columns = [RANDOM.normal(size=20_000).round(digits) for digits in (1, 2, 3, 4, 9)]
    features = [Feature(f"x{number}") for number in range(5)]
    alone, side_by_side = (code_columns(features, columns, n_jobs=n_jobs) for n_jobs in (1, 2))
    for one, other in zip(alone, side_by_side, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_table_is_coded_once():
    table = Table.from_arrays([[20.0], [30.0], [50.0]], ["no", "yes", "yes"])
    assert table.code(n_jobs=2) is table.coded is table.code()
