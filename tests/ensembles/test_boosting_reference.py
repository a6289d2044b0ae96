"""Gradient boosting, tree by tree, against a slow twin that tries every split, and against scikit-learn."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from holdfast._arrays import FloatArray
from holdfast.data.row_keys import row_keys, select_lowest
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.ensembles.boosting import Boosting, BoostingSettings, boost
from holdfast.tree.tree import LEAF, Tree
from reference.boosting import Boosted, Node, boosted
from reference.boosting_losses import Setting
from reference.disagreement import going_left

SITES = ("a", "b", "c", "d")
GRADES = ("low", "middle", "high")
FEATURES = (
    Feature("x"),
    Feature("z"),
    Feature("site", "nominal", categories=SITES),
    Feature("grade", "ordered", high=2.0, categories=GRADES),
)
LOSSES = ("squared_error", "absolute_error", "huber", "quantile", "poisson", "log_loss", "exponential")
KINDS = (*((loss, 2) for loss in LOSSES), ("log_loss", 3))
WEIGHTS = ("none", "whole", "fractional")
SEED = 2  # of tables where no two sets of categories are equally good


def made_table(loss: str, n_classes: int, weights: str, n_rows: int = 44) -> Table:
    """Numbers, a column with gaps, categories with gaps and an order; a target that follows them."""
    generator = np.random.default_rng([SEED, LOSSES.index(loss), n_classes, WEIGHTS.index(weights)])
    x, z = generator.normal(size=(2, n_rows)).round(2)
    site, grade = (generator.integers(0, n, n_rows).astype(float) for n in (4, 3))
    height = x + np.sin(2 * z) + np.array([0.0, 1.2, -0.7, 0.4])[site.astype(int)] + 0.3 * grade
    height += generator.normal(size=n_rows) / 2
    z[generator.random(n_rows) < 0.2] = np.nan
    site[generator.random(n_rows) < 0.1] = np.nan
    columns = (x, z, site, grade)
    weight = {
        "none": None,
        "whole": generator.integers(0, 4, n_rows).astype(float),
        "fractional": generator.uniform(0.2, 3.0, n_rows),
    }[weights]
    if loss in ("log_loss", "exponential"):
        place = height + 0.1 * generator.normal(size=n_rows)
        codes = np.digitize(place, np.quantile(place, [0.4, 0.75][: n_classes - 1])).astype(np.int32)
        return Table(Schema(FEATURES, Target("y", ("u", "v", "w")[:n_classes])), columns, codes, weight)
    y = generator.poisson(np.exp(height / 2)).astype(float) if loss == "poisson" else height
    return Table(Schema(FEATURES, Target("y", low=y.min(), high=y.max())), columns, y, weight)


@cache
def reference_run(loss: str, n_classes: int, weights: str, **options: Any) -> Boosted:
    return boosted(made_table(loss, n_classes, weights), Setting(loss, **options))


def library_run(table: Table, loss: Any, splits: Any, **options: Any) -> Boosting:
    return boost(table, BoostingSettings(loss, splits=splits, **{"min_samples_leaf": 1, **options}))


def differences(node: Node, tree: Tree, at: int, table: Table, place: str = "root") -> list[str]:
    """Where the tree of the library is not that of the reference, in words."""
    if node.split is None or node.left is None or node.right is None:
        if tree.feature[at] != LEAF:
            return [f"{place} should be a leaf"]
        found, wanted = float(tree.value[at, 0]), node.value
        is_equal = math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-10)
        return [] if is_equal else [f"{place} has the value {found}, not {wanted}"]
    split = node.split
    if tree.feature[at] != split.feature:
        return [f"{place} asks for feature {tree.feature[at]}, not {split.feature}, gain {split.gain}"]
    if not split.categories and tree.threshold[at] != split.threshold:
        return [f"{place} has the threshold {tree.threshold[at]}, not {split.threshold}"]
    yes = going_left(tree, at, table)
    left = {row for row in node.rows if yes[row]}
    if left != set(split.left):
        return [f"{place} sends {sorted(left ^ set(split.left))} to the other side"]
    return [
        *differences(node.left, tree, int(tree.left[at]), table, f"{place}/left"),
        *differences(node.right, tree, int(tree.right[at]), table, f"{place}/right"),
    ]


def assert_same_run(run: Boosting, reference: Boosted, table: Table, learning_rate: float) -> None:
    ensemble, n_outputs = run.ensemble, len(reference.start)
    assert ensemble.start == pytest.approx(reference.start, rel=1e-9, abs=1e-12)
    assert ensemble.outputs.tolist() == list(range(n_outputs)) * len(reference.trees)
    assert (ensemble.weights == learning_rate).all()
    for number, trees in enumerate(reference.trees):
        for output, node in enumerate(trees):
            found = differences(node, ensemble[number * n_outputs + output], 0, table)
            assert not found, f"round {number}, output {output}: {found}"
    counted = np.ones(table.n_rows, bool) if table.weight is None else table.weight > 0
    scores = ensemble.scores(table)[counted]
    assert scores == pytest.approx(reference.scores[counted], rel=1e-9, abs=1e-9)


# -- the slow twin --------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits", ["exact", "binned"])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(("loss", "n_classes"), KINDS)
def test_every_tree_is_that_of_the_slow_twin(loss: str, n_classes: int, weights: str, splits: str) -> None:
    options = {"n_estimators": 5, "learning_rate": 0.3}
    reference = reference_run(loss, n_classes, weights, **options)
    table = made_table(loss, n_classes, weights)
    run = library_run(table, loss, splits, **options)
    assert_same_run(run, reference, table, 0.3)


@pytest.mark.parametrize("splits", ["exact", "binned"])
@pytest.mark.parametrize(
    "options",
    [
        {"second_order": False},
        {"start": "zero"},
        {"min_samples_leaf": 5},
        {"max_depth": 1},
        {"max_depth": None, "max_leaf_nodes": 6},
        {"max_depth": 2, "max_leaf_nodes": 4, "second_order": False, "min_samples_leaf": 3},
    ],
    ids=lambda options: " ".join(options),
)
@pytest.mark.parametrize(
    ("loss", "n_classes"),
    [("squared_error", 2), ("quantile", 2), ("poisson", 2), ("log_loss", 2), ("log_loss", 3)],
)
def test_every_rule_has_the_effect_of_the_slow_twin(
    loss: str, n_classes: int, options: dict[str, Any], splits: str
) -> None:
    options = {"n_estimators": 3, "learning_rate": 0.5, "alpha": 0.3, **options}
    reference = reference_run(loss, n_classes, "fractional", **options)
    table = made_table(loss, n_classes, "fractional")
    run = library_run(table, loss, splits, **options)
    assert_same_run(run, reference, table, 0.5)


@pytest.mark.parametrize("l2", [0.5, 20.0])
@pytest.mark.parametrize(("loss", "n_classes"), [("squared_error", 2), ("poisson", 2), ("log_loss", 3)])
def test_regularised_gains_and_values_are_those_of_the_slow_twin(
    loss: str, n_classes: int, l2: float
) -> None:
    options = {"n_estimators": 3, "learning_rate": 0.5, "l2_regularization": l2}
    reference = reference_run(loss, n_classes, "fractional", **options)
    table = made_table(loss, n_classes, "fractional")
    run = library_run(table, loss, "binned", **options)
    assert_same_run(run, reference, table, 0.5)


def test_regularised_sets_are_the_best_of_all_sets() -> None:
    # G^2 / (H + l2) is convex in G and H, so the best set is a prefix in the order of G / H: here c, a, b.
    # By G / (H + l2) it would be a, c, b, whose best prefix gains 0.17 where {c} gains 1.48:
    # 8^2 / (8 + 2) + 10^2 / (3 + 2) - 18^2 / (11 + 2).
    codes = np.repeat([0.0, 1.0, 2.0], [1, 2, 8])
    y = np.repeat([2.0, 4.0, 1.0], [1, 2, 8])
    site = Feature("site", "nominal", categories=("a", "b", "c"))
    table = Table(Schema((site,), Target("y", low=1.0, high=4.0)), (codes,), y)
    options = {"n_estimators": 1, "max_depth": 1, "start": "zero", "l2_regularization": 2.0}
    run = library_run(table, "squared_error", "binned", **options)
    assert run.ensemble[0].left_categories(0).tolist() == [True, True, False]
    assert run.ensemble[0].value[1:, 0] == pytest.approx([10 / 5, 8 / 10])


@pytest.mark.parametrize(("loss", "n_classes"), KINDS)
def test_the_training_loss_is_the_mean_after_each_round(loss: str, n_classes: int) -> None:
    options = {"n_estimators": 5, "learning_rate": 0.3}
    reference = reference_run(loss, n_classes, "fractional", **options)
    run = library_run(made_table(loss, n_classes, "fractional"), loss, "exact", **options)
    # Whatever a loss leaves out does not depend on the scores: its fall from round to round is the same.
    assert np.diff(run.train_loss) == pytest.approx(np.diff(reference.train_loss), rel=1e-7, abs=1e-10)


@pytest.mark.parametrize("splits", ["exact", "binned"])
@pytest.mark.parametrize(("loss", "n_classes"), KINDS)
def test_a_whole_weight_is_as_many_rows(loss: str, n_classes: int, splits: str) -> None:
    weighted = made_table(loss, n_classes, "whole")
    assert weighted.weight is not None
    rows = np.repeat(np.arange(weighted.n_rows), weighted.weight.astype(int))
    plain = Table(weighted.schema, weighted.columns, weighted.target)
    options = {"n_estimators": 4, "min_samples_leaf": 4}
    first = library_run(weighted, loss, splits, **options).ensemble
    second = library_run(plain.subset(rows), loss, splits, **options).ensemble
    for one, other in zip(first, second, strict=True):
        assert one.feature.tolist() == other.feature.tolist()
        assert one.threshold == pytest.approx(other.threshold, nan_ok=True)
        assert one.in_set.tolist() == other.in_set.tolist()
        assert one.count.tolist() == other.count.tolist()
        assert one.value == pytest.approx(other.value, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("splits", ["exact", "binned"])
@pytest.mark.parametrize(("loss", "n_classes"), KINDS)
def test_the_order_of_the_rows_does_not_matter(loss: str, n_classes: int, splits: str) -> None:
    table = made_table(loss, n_classes, "fractional")
    mixed = table.subset(np.random.default_rng(0).permutation(table.n_rows))
    first, second = (library_run(each, loss, splits, n_estimators=4).ensemble for each in (table, mixed))
    for one, other in zip(first, second, strict=True):
        assert one.feature.tolist() == other.feature.tolist()
        assert one.threshold == pytest.approx(other.threshold, nan_ok=True)
        assert one.value == pytest.approx(other.value, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("splits", ["exact", "binned"])
@pytest.mark.parametrize("loss", ["squared_error", "huber", "quantile"])
def test_a_round_on_drawn_rows_is_that_of_the_slow_twin(loss: Any, splits: str) -> None:
    X, y, _ = sample(40)
    table = Table.from_arrays(X, y)
    drawn = [select_lowest(row_keys(table), (7, 52, n), 24) for n in range(4)]
    row_sets = [tuple(np.flatnonzero(flags).tolist()) for flags in drawn]
    reference = boosted(table, Setting(loss, n_estimators=4), row_sets)
    rules = BoostingSettings(loss, n_estimators=4, min_samples_leaf=1, subsample=0.6, splits=splits)
    assert_same_run(boost(table, rules, seed=7), reference, table, 0.1)


# -- scikit-learn ---------------------------------------------------------------------------------------


def sample(n_rows: int = 120) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows without gaps, a number to predict, and weights without a pattern, so that few splits are tied."""
    generator = np.random.default_rng(1)
    X = generator.normal(size=(n_rows, 3))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * generator.normal(size=n_rows)
    return X, y, generator.uniform(0.2, 2.0, n_rows)


@pytest.mark.parametrize("splits", ["exact", "binned"])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile"])
def test_boosted_numbers_are_those_of_scikit_learn(loss: Any, splits: str) -> None:
    from sklearn.ensemble import GradientBoostingRegressor

    X, y, weight = sample()
    # From zero: at its own quantile a row has no gradient for us, and that of a row above it there. Leaves of
    # 8: with gradients of only two sizes, many small nodes could be split equally well.
    own = {"start": "zero", "min_samples_leaf": 8} if loss != "squared_error" else {}
    other = {"init": "zero", "min_samples_leaf": 8} if own else {}
    model = GradientBoostingRegressor(loss=loss, n_estimators=20, alpha=0.7, random_state=0, **other).fit(
        X, y, weight
    )
    table = Table.from_arrays(X, y, weight)
    run = library_run(table, loss, splits, n_estimators=20, alpha=0.7, second_order=False, **own)
    assert run.ensemble.predict(X) == pytest.approx(model.predict(X), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("splits", ["exact", "binned"])
@pytest.mark.parametrize(("loss", "n_classes"), [("log_loss", 2), ("exponential", 2), ("log_loss", 3)])
def test_boosted_classes_are_those_of_scikit_learn(loss: Any, n_classes: int, splits: str) -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    X, y, weight = sample()
    classes = np.digitize(y, [-0.5, 0.7][: n_classes - 1])
    # For more than two classes scikit-learn shortens every step by (K - 1) / K, after Friedman.
    rate = 0.1 if n_classes == 2 else 0.1 * n_classes / (n_classes - 1)
    model = GradientBoostingClassifier(loss=loss, n_estimators=10, learning_rate=rate, random_state=0).fit(
        X, classes, weight
    )
    table = Table.from_arrays(X, classes, weight, task="classification")
    run = library_run(table, loss, splits, n_estimators=10, second_order=False)
    assert run.ensemble.predict_proba(X) == pytest.approx(model.predict_proba(X), rel=1e-6)
