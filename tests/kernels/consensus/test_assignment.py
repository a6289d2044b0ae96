"""The matching that starts from a similar one, against scipy."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from holdfast._arrays import FloatArray
from holdfast.kernels.consensus.costs import FREE, Matching, clear, complete
from holdfast.kernels.jit import kernel

pytestmark = pytest.mark.kernel


@kernel
def matched(cost: FloatArray, n: int, matching: Matching) -> float:
    clear(matching, n)
    return complete(cost, n, matching)


@kernel
def matched_again(cost: FloatArray, n: int, matching: Matching, row: int) -> float:
    matching.owner[matching.column[row]] = FREE
    matching.column[row] = FREE
    return complete(cost, n, matching)


def memory(n: int) -> Matching:
    column, owner, via = (np.full(n, -7, np.int64) for _ in range(3))
    u, v, distance = (np.full(n, -7.0) for _ in range(3))
    return Matching(u, v, column, owner, distance, via, np.zeros(n, np.bool_))


def cheapest(cost: FloatArray) -> float:
    return float(cost[linear_sum_assignment(cost)].sum())


@pytest.mark.parametrize("seed", range(20))
def test_the_matching_is_the_cheapest_and_its_prices_prove_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    cost = rng.integers(0, int(rng.choice([2, 9, 1000])), (n, n)) / 8.0
    matching = memory(n)
    assert matched(cost, np.int64(n), matching) == cheapest(cost)
    beyond = cost - matching.u[:, None] - matching.v
    assert (beyond >= 0).all()
    assert (beyond[np.arange(n), matching.column] == 0).all()
    assert (matching.owner[matching.column] == np.arange(n)).all()


@pytest.mark.parametrize("seed", range(20))
def test_a_matching_goes_on_from_that_of_a_similar_problem(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    cost = rng.integers(0, 9, (n, n)) / 8.0
    matching = memory(n)
    matched(cost, np.int64(n), matching)
    for _ in range(5):
        row = int(rng.integers(n))
        cost[row] = rng.integers(0, 9, n) / 8.0
        assert matched_again(cost, np.int64(n), matching, np.int64(row)) == cheapest(cost)
