"""Leaf values drawn towards the nodes above."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import GrowthRules, ParameterError, Table, grow
from holdfast.growth.shrinkage import STRENGTHS, choose_strength, shrink_tree, shrink_values


def noisy(n_rows: int, seed: int = 0, fraction: float = 0.3) -> Table:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    y = (X[:, 0] > 0) ^ (rng.random(n_rows) < fraction)
    return Table.from_arrays(X, np.where(y, "yes", "no"))


def by_hand(tree, node, strength):
    """The sum over the path, as the paper writes it."""
    path = [node]
    while path[-1]:
        path.append(int(tree.parent[path[-1]]))
    path.reverse()
    value = tree.value[0].copy()
    for above, below in pairwise(path):
        value += (tree.value[below] - tree.value[above]) / (1 + strength / tree.count[above])
    return value


@given(strength=st.sampled_from([0.0, *STRENGTHS]), seed=st.integers(0, 20))
def test_every_node_is_the_sum_over_its_path(strength: float, seed: int) -> None:
    tree = grow(noisy(40, seed), GrowthRules(max_depth=4))
    values = shrink_tree(tree, strength).value
    assert values == pytest.approx(np.array([by_hand(tree, node, strength) for node in range(tree.n_nodes)]))


def test_no_strength_changes_nothing_and_an_endless_one_leaves_the_root() -> None:
    tree = grow(noisy(60))
    assert shrink_tree(tree, 0).value == pytest.approx(tree.value)
    assert shrink_tree(tree, 1e12).value == pytest.approx(np.tile(tree.value[0], (tree.n_nodes, 1)), abs=1e-6)


def test_no_leaf_says_0_or_1() -> None:
    tree = grow(noisy(60))
    assert tree.value.min() == 0.0
    for values in shrink_values(tree, STRENGTHS):
        assert values.min() > 0
        assert values.max() < 1


def test_pure_noise_is_shrunk_more_than_what_can_be_told() -> None:
    def strength(fraction: float) -> float:
        table = noisy(300, fraction=fraction)
        return choose_strength(table, lambda rows, groups: grow(rows), cv=5).chosen

    assert strength(0.5) > strength(0.02)


def test_a_strength_below_0_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"strength=-1 is out of range"):
        shrink_tree(grow(noisy(20)), -1)
