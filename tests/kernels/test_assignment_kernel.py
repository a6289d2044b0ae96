"""The assignment kernel against scipy and against the conditions that prove an assignment cheapest."""

import numpy as np
import pytest
from numpy.random import Generator
from scipy.optimize import linear_sum_assignment

from holdfast._arrays import ByteArray, LongArray
from holdfast.kernels.distance.assignment import PAD, Prices, assign, nth_smallest, padded_width, reduce_costs
from holdfast.kernels.jit import kernel

pytestmark = pytest.mark.kernel


@kernel
def solve(cost: LongArray, m: int, prices: Prices, stop: ByteArray, out: LongArray) -> None:
    out[0] = reduce_costs(cost, m, prices)
    out[1] = assign(cost, m, prices, stop)


@kernel
def select(numbers: LongArray, n: int, scratch: LongArray) -> int:
    return nth_smallest(numbers, n, scratch, len(numbers))


def solved(cost: LongArray) -> tuple[int, int, Prices]:
    """A bound, the total of the cheapest assignment, and the prices that prove it."""
    n, m = cost.shape
    wide = np.full((n, (m + 15) // 16 * 16), PAD)
    wide[:, :m] = cost
    prices = Prices(*(np.full(wide.shape[1], -7) for _ in Prices._fields))
    prices.v[:m] = cost.min(axis=0)
    out = np.zeros(2, np.int64)
    solve(wide, np.int64(m), prices, np.zeros(1, np.uint8), out)
    return int(out[0]), int(out[1]), prices


def random_costs(rng: Generator, n: int, m: int) -> LongArray:
    """Costs from a few values, with many ties, or from billions; some rows or columns much dearer."""
    highest = int(rng.choice([2, 5, 100, 2**44]))
    cost = rng.integers(-highest, highest, (n, m))
    return cost + rng.integers(0, 2, n)[:, None] * highest * 3 - rng.integers(0, 2, m) * highest * 3


SHAPES = [(1, 1), (1, 9), (2, 2), (3, 20), (7, 7), (7, 8), (12, 16), (12, 17), (16, 16), (20, 33)]


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_the_total_is_that_of_scipy(n: int, m: int) -> None:
    rng = np.random.default_rng([n, m])
    for _ in range(40):
        cost = random_costs(rng, n, m)
        bound, total, prices = solved(cost)
        rows, columns = linear_sum_assignment(cost)
        assert total == cost[rows, columns].sum()
        assert bound <= total
        assert len(set(prices.column[:n].tolist())) == n
        assert cost[np.arange(n), prices.column[:n]].sum() == total


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_the_prices_prove_that_nothing_is_cheaper(n: int, m: int) -> None:
    rng = np.random.default_rng([m, n, 1])
    for _ in range(40):
        cost = random_costs(rng, n, m)
        _, _, prices = solved(cost)
        reduced = cost - prices.u[:n, None] - prices.v[:m]
        assert reduced.min() >= 0
        assert (reduced[np.arange(n), prices.column[:n]] == 0).all()
        unowned = np.setdiff1d(np.arange(m), prices.column[:n])
        assert (prices.v[unowned] == prices.v[:m].max()).all()


def test_equal_costs_everywhere_are_no_trap() -> None:
    for n, m in SHAPES:
        bound, total, _ = solved(np.full((n, m), 5, np.int64))
        assert bound == total == 5 * n


def test_the_nth_smallest_is_the_nth_in_order() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 10, 31):
        numbers = rng.integers(0, 12, size)
        scratch = np.empty(size, np.int64)
        found = [select(numbers, np.int64(n), scratch) for n in range(size)]
        assert found == np.sort(numbers).tolist()


def test_widths_are_multiples_of_sixteen() -> None:
    width = getattr(padded_width, "py_func", padded_width)
    assert [width(m) for m in (1, 16, 17, 4000)] == [16, 16, 32, 4000]
