"""Sets of near-optimal trees: every tree of a set predicts as its library does."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_tables import between
from sklearn.datasets import load_breast_cancer, load_iris

from holdfast.adapters import as_tree, forest_trees
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import DataError, SchemaMismatch
from holdfast.tree.check import check_tree

arborenum = pytest.importorskip("arborenum")

IRIS, SPECIES = load_iris(return_X_y=True)
CELLS, MALIGNANT = load_breast_cancer(return_X_y=True)


def fitted(X: Any, y: Any, **options: Any) -> Any:
    settings = {"depth_budget": 2, "lambda_reg": 0.02, "rashomon_mult": 0.05, "lookahead_k": 1}
    return arborenum.ArborEnum().fit(X, y, **{**settings, "proxy_mode": "continuous", **options})


def agree(trees: list[Any], model: Any, rows: Any) -> None:
    """As many trees as the set has, and the same class from both for every row."""
    assert len(trees) == model.count_trees()
    for number, tree in enumerate(trees):
        check_tree(tree)
        assert tree.predict(rows).tolist() == model.get_predictions(number, rows).tolist()
        assert tree.n_leaves == model.get_tree_num_leaves(number)


# -- predictions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("X", "y"), [(IRIS, SPECIES), (CELLS[:, :4], MALIGNANT)])
def test_all_trees_of_a_set_predict_as_before(X: np.ndarray, y: np.ndarray) -> None:
    model = fitted(X, y)
    assert model.count_trees() > 1
    agree(forest_trees(model), model, between(X))
    agree(forest_trees(model, Table.from_arrays(X, y).schema), model, between(X))


@pytest.mark.filterwarnings("ignore:no question can be asked")
def test_columns_of_few_values_stand_before_the_others_and_are_read_by_name() -> None:
    X = pd.DataFrame(CELLS[:, :4], columns=["radius", "texture", "perimeter", "area"])
    X["is large"] = (X["area"] > 700).astype(float)
    X["same"] = 1.0  # of which nothing can be asked
    X["grade"] = np.round(X["texture"] / 10)
    model = fitted(X, MALIGNANT, binary_unique_threshold=7)
    assert {spec["original_feature"] for spec in model.binary_feature_specs_} == {4, 6}
    schema = Table.from_arrays(X, MALIGNANT).schema
    trees = forest_trees(model, schema)
    agree(trees, model, X)
    assert trees[0].schema is schema
    turned = X[X.columns[::-1]]
    assert trees[0].predict(turned).tolist() == trees[0].predict(X).tolist()


def test_the_best_tree_comes_first() -> None:
    model = fitted(CELLS[:, :4], MALIGNANT)
    n_rows, cost = len(MALIGNANT), model.gamma_
    objectives = [
        int((tree.predict(CELLS[:, :4]) != MALIGNANT).sum()) + cost * tree.n_leaves
        for tree in forest_trees(model)
    ]
    assert objectives == sorted(objectives)
    assert objectives[0] == model.get_min_objective()
    assert objectives[0] / n_rows == pytest.approx(model.get_tree_objective(0)[1])


def test_a_leaf_says_its_class_and_counts_nothing() -> None:
    tree = forest_trees(fitted(IRIS, SPECIES))[0]
    assert set(tree.value[tree.feature == -1].ravel()) == {0.0, 1.0}
    assert tree.count.tolist() == [0.0] * tree.n_nodes
    assert "keeps no rows" in tree.notes[0]


def test_a_set_of_one_tree_is_a_tree_and_its_classes_can_be_named() -> None:
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]] * 20), np.array([0, 0, 1, 1] * 20)
    model = fitted(X, y, depth_budget=1, rashomon_mult=0.0)
    assert as_tree(model).predict(X).tolist() == y.tolist()
    named = as_tree(model, classes=["no", "yes"])
    assert named.predict([[2.4], [2.6]]).tolist() == ["no", "yes"]
    assert named.threshold[0] == 2.5


def test_a_root_alone_is_a_tree() -> None:
    X, y = np.array([[0.0], [1.0]] * 20), np.array([0, 0] * 20)
    tree = as_tree(fitted(X, y))
    assert tree.n_leaves == 1
    assert tree.predict(X).tolist() == y.tolist()


# -- what is refused ----------------------------------------------------------------------------------------


def test_a_set_of_many_trees_is_no_tree() -> None:
    with pytest.raises(TypeError, match=r"holds \d+ trees, and as_tree reads one. forest_trees\(model"):
        as_tree(fitted(IRIS, SPECIES))


def test_a_model_without_columns_is_refused() -> None:
    with pytest.raises(DataError, match=r"does not know its columns: call fit\(X, y, ...\) first"):
        forest_trees(arborenum.ArborEnum())
    binary = arborenum.ArborEnum().fit_binarized(np.ones((150, 2)), SPECIES, depth_budget=1)
    with pytest.raises(DataError, match="After fit_binarized"):
        forest_trees(binary)


def test_a_set_that_is_too_large_or_empty_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(IRIS, SPECIES)
    monkeypatch.setattr(model, "count_trees", lambda: 10**9)
    with pytest.raises(DataError, match="holds 1000000000 trees, and at most 100000 are read"):
        forest_trees(model)
    monkeypatch.setattr(model, "count_trees", lambda: 0)
    with pytest.raises(DataError, match="holds no trees"):
        as_tree(model)


def test_a_leaf_that_defers_is_refused() -> None:
    model = fitted(IRIS, SPECIES, use_deferral=True, bb_pred=SPECIES, eta_defer=0.0)
    with pytest.raises(DataError, match="defer to another model"):
        forest_trees(model)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (Schema((Feature("bmi"),)), r"has 4 columns without names, and the schema has 1: 'bmi'"),
        (
            Schema(tuple(map(Feature, "abcd")), Target(classes=("f", "m"))),
            r"predicts the classes 0, 1, 2, and .* 'f', 'm'",
        ),
    ],
)
def test_a_schema_that_cannot_hold_the_set_is_refused(schema: Schema, message: str) -> None:
    with pytest.raises(SchemaMismatch, match=message):
        forest_trees(fitted(IRIS, SPECIES), schema)
