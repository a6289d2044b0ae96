"""The figures that R's tree package gives of a tree."""

from math import isnan, log

import numpy as np
import pytest

from holdfast import GrowthRules, Table, grow

STUMP = GrowthRules(max_depth=1)


def test_residual_mean_deviance_and_misclassification_rate_of_a_stump() -> None:
    # Left: 3 a. Right: 1 a, 3 b.
    table = Table.from_arrays([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]], list("aaabbba"))
    found = grow(table, STUMP).summary()
    deviance = -2 * (3 * log(3 / 4) + log(1 / 4))
    assert found.deviance == pytest.approx(deviance)
    assert found.residual_mean_deviance == pytest.approx(deviance / (7 - 2))
    assert found.misclassification_rate == pytest.approx(1 / 7)
    assert found.features == ("x0",)
    assert str(found).splitlines() == [
        "Features used: x0",
        "Leaves: 2, depth: 1",
        "Residual mean deviance: 0.8997 = 4.499 / 5",
        "Misclassification rate: 0.1429 = 1 / 7",
    ]


def test_of_numbers_the_deviance_is_the_squared_error() -> None:
    table = Table.from_arrays([[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 7.0, 9.0], task="regression")
    found = grow(table, GrowthRules("squared_error", max_depth=1)).summary()
    assert found.deviance == pytest.approx(2 * 0.5**2 + 2 * 1.0**2)
    assert found.residual_mean_deviance == pytest.approx(2.5 / 2)
    assert found.n_errors is found.misclassification_rate is None
    assert "Misclassification" not in str(found)


def test_of_counts_it_is_the_poisson_deviance() -> None:
    y = [0.0, 2.0, 5.0, 7.0]
    found = grow(
        Table.from_arrays([[1.0], [2.0], [3.0], [4.0]], y, task="regression"),
        GrowthRules("poisson", max_depth=1),
    ).summary()
    means = [1.0, 1.0, 6.0, 6.0]
    deviance = 2 * sum(
        (one * log(one / mean) if one else 0.0) - one + mean for one, mean in zip(y, means, strict=True)
    )
    assert found.deviance == pytest.approx(deviance)


def test_a_tree_of_as_many_leaves_as_rows_has_no_mean_deviance() -> None:
    found = grow(Table.from_arrays([[1.0], [2.0]], ["a", "b"])).summary()
    assert isnan(found.residual_mean_deviance)
    assert "none, no more rows than leaves" in str(found)


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_the_scale_of_weights_does_not_matter(scale: float) -> None:
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(60, 2)), rng.integers(0, 2, 60), rng.uniform(0.5, 2.0, 60)
    found = grow(Table.from_arrays(X, y, scale * weight), STUMP).summary()
    assert found.n_rows == 60
    assert found.deviance == pytest.approx(grow(Table.from_arrays(X, y, weight), STUMP).summary().deviance)


def test_a_tree_without_weight_or_rows_has_a_summary() -> None:
    table = Table.from_arrays([[1.0], [2.0], [3.0], [4.0]], list("aabb"))
    tree = grow(table, STUMP)
    weightless = tree.replace(weight=np.zeros(tree.n_nodes))
    assert "Misclassification rate: 0 = 0 / 4, by weight" in str(weightless.summary())
    unseen = weightless.replace(count=np.zeros(tree.n_nodes))
    assert isnan(unseen.summary().misclassification_rate or 0.0)
    assert "Misclassification rate: none, the tree has no rows" in str(unseen.summary())
    assert "Residual mean deviance: none" in str(unseen.summary())
    assert unseen.mean_path_length == 0.0
    for text in (str(unseen), unseen.rules(), unseen.to_svg()):
        assert "nan" not in text
