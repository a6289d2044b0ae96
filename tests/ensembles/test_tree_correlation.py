"""How alike trees are: against numpy's covariances of their predictions, and the variance of the mean."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from holdfast._arrays import FloatArray
from holdfast.data.table import Table
from holdfast.ensembles.bagging import Bagging, grow_bagging
from holdfast.ensembles.boosting import BoostingSettings, boost
from holdfast.ensembles.out_of_bag import out_of_bag
from holdfast.ensembles.tree_correlation import tree_correlation
from holdfast.errors import DataError, ParameterError
from holdfast.estimators.forest import BaggingClassifier, BaggingRegressor, ForestRegressor
from holdfast.growth.rules import CART

KINDS = ("number", "two classes", "three classes")
RULES = {"number": CART.replace(criterion="squared_error", max_depth=4)}


def noisy(kind: str, n_rows: int = 80, weighted: bool = False) -> Table:
    generator = np.random.default_rng(KINDS.index(kind))
    X = generator.normal(size=(n_rows, 3))
    height = X[:, 0] + generator.normal(size=n_rows)
    weight = generator.uniform(0.5, 2.0, n_rows) if weighted else None
    if kind == "number":
        return Table.from_arrays(X, height, weight, task="regression")
    labels = np.array(["a", "b", "c"])[np.digitize(height, [0.0] if kind == "two classes" else [-0.5, 0.5])]
    return Table.from_arrays(X, labels, weight)


def grown(
    kind: str, n_estimators: int = 12, votes: bool = False, weighted: bool = False
) -> tuple[Table, Bagging]:
    table = noisy(kind, weighted=weighted)
    rules = RULES.get(kind, CART.replace(max_depth=4))
    return table, grow_bagging(table, rules, n_estimators, votes=votes)


def said_by_each(bagging: Bagging, table: Table) -> FloatArray:
    """What each tree says of each row by itself, (trees, rows, outputs)."""
    ensemble = bagging.ensemble
    return np.array(
        [ensemble.replace(trees=(t,), weights=[1.0], outputs=[0]).values(table) for t in ensemble]
    )


def truth_of(table: Table) -> FloatArray:
    n_classes = len(table.schema.target.classes)
    return np.eye(n_classes)[table.target] if n_classes else np.asarray(table.target)[:, None]


def labels_of(table: Table) -> Any:
    classes = table.schema.target.classes
    return [classes[code] for code in table.target] if classes else table.target


@pytest.mark.parametrize("votes", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_of_predictions_it_is_the_mean_covariance_over_the_mean_variance(kind: str, votes: bool) -> None:
    if kind == "number" and votes:
        return
    table, bagging = grown(kind, votes=votes)
    said = said_by_each(bagging, table)
    # numpy's matrix of covariances for each output, added up
    covariance = sum(np.cov(said[:, :, k], ddof=0) for k in range(said.shape[2]))
    found = tree_correlation(bagging.ensemble, table)
    between = covariance[~np.eye(12, dtype=bool)].mean()
    assert found.variance == pytest.approx(np.trace(covariance) / 12)
    assert found.correlation == pytest.approx(between / (np.trace(covariance) / 12))
    assert found.variance_of_mean() == pytest.approx(bagging.ensemble.values(table).var(axis=0).sum())


@pytest.mark.parametrize("kind", KINDS)
def test_of_errors_the_formula_gives_the_squared_error_of_the_ensemble(kind: str) -> None:
    table, bagging = grown(kind)
    found = tree_correlation(bagging.ensemble, table, labels_of(table))
    errors = said_by_each(bagging, table) - truth_of(table)
    assert found.variance == pytest.approx((errors**2).sum(axis=2).mean())
    of_mean = ((bagging.ensemble.values(table) - truth_of(table)) ** 2).sum(axis=1).mean()
    r, s2 = found.correlation, found.variance
    assert r * s2 + (1 - r) * s2 / 12 == pytest.approx(of_mean)
    assert found.variance_of_mean() == pytest.approx(of_mean)
    assert found.variance_of_mean(10**9) == pytest.approx(r * s2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_out_of_the_bag_only_trees_that_do_not_know_a_row_count(kind: str, weighted: bool) -> None:
    table, bagging = grown(kind, weighted=weighted)
    errors = said_by_each(bagging, table) - truth_of(table)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    squares, products = [], []
    for index in range(12):
        squares += [
            (weight[row], errors[index, row] @ errors[index, row]) for row in bagging.bags.left_out(index)
        ]
    for one, other in combinations(range(12), 2):
        both = set(bagging.bags.left_out(one)) & set(bagging.bags.left_out(other))
        products += [(weight[row], errors[one, row] @ errors[other, row]) for row in both]
    found = out_of_bag(bagging, table).correlation
    means = [
        np.average([value for _, value in line], weights=[w for w, _ in line]) for line in (squares, products)
    ]
    assert (found.variance, found.covariance) == pytest.approx(tuple(means))
    assert (found.of, found.n_estimators) == ("errors", 12)


def test_equal_trees_are_perfectly_alike() -> None:
    table, bagging = grown("number")
    same = bagging.ensemble.replace(trees=bagging.ensemble.trees[:1] * 12)
    assert tree_correlation(same, table).correlation == pytest.approx(1.0)
    assert tree_correlation(same, table).variance_of_mean() == pytest.approx(
        tree_correlation(same, table).variance
    )


def test_drawing_features_makes_trees_less_alike() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 6))
    y = X @ [3.0, 1.0, 1.0, 1.0, 1.0, 1.0] + generator.normal(size=400)
    options: dict[str, Any] = {
        "n_estimators": 60,
        "oob_score": True,
        "random_state": 0,
        "min_samples_leaf": 5,
    }
    bagging, forest = BaggingRegressor(**options).fit(X, y), ForestRegressor(**options).fit(X, y)
    assert forest.tree_correlation_.correlation < bagging.tree_correlation_.correlation
    assert (
        forest.tree_correlation_.variance > bagging.tree_correlation_.variance
    )  # the price of a single tree


def test_the_estimator_measures_on_given_rows_and_forgets_an_earlier_fit() -> None:
    table = noisy("two classes")
    X, y = table.rows(range(3)), labels_of(table)
    model = BaggingClassifier(30, oob_score=True, max_depth=3, random_state=0).fit(X, y)
    found = model.tree_correlation(X, y)
    by_hand = ((model.predict_proba(X) - truth_of(table)) ** 2).sum(axis=1).mean()
    assert found.variance_of_mean() == pytest.approx(by_hand)
    assert model.tree_correlation_.of == "errors"
    assert not hasattr(model.set_params(oob_score=False).fit(X, y), "tree_correlation_")


def test_a_single_tree_has_no_pair() -> None:
    table, bagging = grown("number", n_estimators=1)
    found = tree_correlation(bagging.ensemble, table)
    assert np.isnan(found.correlation)
    assert found.variance_of_mean() == found.variance > 0


def test_trees_that_add_up_and_values_that_do_not_fit_are_named() -> None:
    table, bagging = grown("two classes")
    with pytest.raises(ParameterError, match="link='logistic'"):
        tree_correlation(boost(table, BoostingSettings("log_loss", 3)).ensemble, table)
    with pytest.raises(DataError, match="80 rows: give one value per row"):
        tree_correlation(bagging.ensemble, table, ["a"] * 3)
    with pytest.raises(DataError, match="'z', which is not one of the classes"):
        tree_correlation(bagging.ensemble, table, ["z"] * 80)
