from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_tables import between, patients, risk, split_in_two
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

from holdfast.adapters import as_tree, forest_trees
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import DataError, SchemaMismatch
from holdfast.estimators.base import build_estimator
from holdfast.estimators.stable import StableTreeClassifier
from holdfast.tree.check import check_tree

pystreed = pytest.importorskip("pystreed")

IRIS, SPECIES = load_iris(return_X_y=True)
CELLS, MALIGNANT = load_breast_cancer(return_X_y=True)
PATIENTS, PROGRESSION = load_diabetes(return_X_y=True)
FRAME = patients(gaps=0.0).drop(columns="code").assign(ward=lambda frame: frame["ward"].astype(object))
HALVES = split_in_two(risk(patients(gaps=0.0)), (0, 1))

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning:pystreed")


def agree(tree: Any, model: Any, rows: Any) -> None:
    """Same classes, and the same probabilities or numbers, on every row."""
    check_tree(tree)
    assert tree.predict(rows).tolist() == pytest.approx(model.predict(rows).tolist(), rel=1e-12)
    if hasattr(model, "predict_proba"):
        assert tree.predict_proba(rows) == pytest.approx(model.predict_proba(rows), abs=1e-12)
    assert (tree.depth, tree.n_leaves) == (model.get_depth(), model.get_n_leaves())


# -- predictions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["quantile", "uniform", "tree"])
@pytest.mark.parametrize(("X", "y"), [(IRIS, SPECIES), (CELLS[:, :8], MALIGNANT)])
def test_thresholds_stand_on_the_columns_that_pystreed_cut(
    X: np.ndarray, y: np.ndarray, strategy: str
) -> None:
    model = pystreed.STreeDClassifier(max_depth=2, continuous_binarize_strategy=strategy).fit(X, y)
    agree(as_tree(model), model, between(X))
    tree = as_tree(model, Table.from_arrays(X, y).schema)
    agree(tree, model, between(X))
    assert tree.count[0] == len(X)
    assert tree.value[0] == pytest.approx(np.bincount(y) / len(y))


def test_columns_of_zeros_and_ones_are_asked_as_they_are() -> None:
    X = (CELLS[:, :12] > np.median(CELLS[:, :12], axis=0)).astype(int)
    model = pystreed.STreeDClassifier(max_depth=3).fit(X, MALIGNANT)
    tree = as_tree(model)
    agree(tree, model, X)
    assert set(tree.threshold[tree.feature >= 0]) == {0.5}
    assert tree.schema.features[0] == Feature("x0", "numeric", 0.0, 1.0)
    agree(as_tree(model, Table.from_arrays(X, MALIGNANT).schema), model, X)


@pytest.mark.filterwarnings("ignore:categories that the model has not seen")
@pytest.mark.parametrize("n_categories", [2, 3, 10])
@pytest.mark.parametrize("limit", [None, 9])
def test_categories_numbers_and_flags_of_a_frame_are_asked_by_name(
    n_categories: int, limit: int | None
) -> None:
    model = pystreed.STreeDClassifier(max_depth=3, n_categories=n_categories, max_num_binary_features=limit)
    model.fit(FRAME, HALVES)
    agree(as_tree(model), model, FRAME)
    tree = as_tree(model, Table.from_arrays(FRAME, HALVES).schema)
    agree(tree, model, FRAME)


def test_a_set_of_categories_is_one_question() -> None:
    frame = pd.DataFrame({"ward": FRAME["ward"]})
    y = frame["ward"].isin(["ICU", "west"]).to_numpy().astype(int)
    model = pystreed.STreeDClassifier(max_depth=3, n_categories=10).fit(frame, y)
    tree = as_tree(model)
    agree(tree, model, frame)
    assert tree.schema.features[0].categories == ("ICU", "café", "north", "south", "west")


@pytest.mark.parametrize("task", ["cost-complex-regression", "regression"])
def test_a_regressor_predicts_as_before(task: str) -> None:
    model = pystreed.STreeDRegressor(task, max_depth=2).fit(PATIENTS, PROGRESSION)
    agree(as_tree(model), model, between(PATIENTS))
    tree = as_tree(model, Table.from_arrays(PATIENTS, PROGRESSION).schema)
    agree(tree, model, between(PATIENTS))
    assert tree.value[0, 0] == pytest.approx(PROGRESSION.mean())


def test_the_impurity_is_that_of_the_training_rows() -> None:
    tree = as_tree(pystreed.STreeDClassifier(max_depth=1).fit(IRIS, SPECIES))
    assert tree.criterion == "gini"
    assert tree.impurity[0] == pytest.approx(2 / 3)


def test_a_class_that_is_rarer_in_its_leaf_is_still_predicted_and_noted() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (300, 3)), (rng.random(300) < 0.1).astype(int)
    model = pystreed.STreeDClassifier("balanced-accuracy", max_depth=2).fit(X, y)
    tree = as_tree(model)
    assert tree.predict(X).tolist() == model.predict(X).tolist()
    assert tree.predict(X).any()
    assert "rarer class" in tree.notes[0]


def test_a_tie_goes_to_the_class_that_the_model_predicts() -> None:
    X, y = np.array([[0], [0], [1], [1]]), np.array([0, 1, 0, 1])
    for depth in (0, 1):
        model = pystreed.STreeDClassifier(max_depth=depth).fit(X, y)
        agree(as_tree(model), model, X)
        model = pystreed.STreeDClassifier(max_depth=depth).fit(X, 1 - y)
        agree(as_tree(model), model, X)


# -- classes of any type ----------------------------------------------------------------------------------

LABELS = {"text": ["no", "yes"], "flags": [False, True], "integers": [3, 7], "mixed": [1, "one"]}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_numbered_classes_come_back_as_they_were_given(labels: list[Any]) -> None:
    model = pystreed.STreeDClassifier(max_depth=2).fit(CELLS[:, :8], MALIGNANT)
    tree = as_tree(model, classes=labels)
    assert tree.predict(CELLS[:, :8]).tolist() == [labels[number] for number in model.predict(CELLS[:, :8])]
    y = np.array(labels, object)[MALIGNANT]
    on_schema = as_tree(model, Table.from_arrays(CELLS[:, :8], y).schema, classes=labels)
    assert on_schema.predict(CELLS[:, :8]).tolist() == tree.predict(CELLS[:, :8]).tolist()


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_a_learner_of_pystreed_learns_classes_of_any_type(labels: list[Any]) -> None:
    y = np.array(labels, None if isinstance(labels[1], type(labels[0])) else object)[MALIGNANT]
    learner = pystreed.STreeDClassifier(max_depth=2)
    options: dict[str, Any] = {"method": "bootstrap", "n_estimators": 2, "grid": {}, "refit_leaves": False}
    model = build_estimator(StableTreeClassifier, learner=learner, **options).fit(CELLS[:, :4], y)
    numbered = build_estimator(StableTreeClassifier, learner=learner, **options).fit(CELLS[:, :4], MALIGNANT)
    expected = [labels[number] for number in numbered.predict(CELLS[:, :4])]
    assert model.predict(CELLS[:, :4]).tolist() == expected
    assert model.classes_.tolist() == labels


def test_a_class_that_pystreed_would_change_is_refused() -> None:
    model = pystreed.STreeDClassifier(max_depth=1).fit(CELLS[:, :2], MALIGNANT + 0.5)
    with pytest.raises(
        DataError, match=r"fitted to the class 0.5, and predicts integers only.*classes=classes"
    ):
        as_tree(model)


def test_more_classes_than_names_are_refused() -> None:
    model = pystreed.STreeDClassifier(max_depth=1).fit(IRIS, SPECIES)
    with pytest.raises(SchemaMismatch, match="has the class 2, and classes name those from 0 to 1: 'a', 'b'"):
        as_tree(model, classes=["a", "b"])


# -- what is refused ----------------------------------------------------------------------------------------


def test_an_unfitted_model_is_refused() -> None:
    with pytest.raises(NotFittedError):
        as_tree(pystreed.STreeDClassifier())


def test_leaves_without_a_class_or_a_number_are_refused() -> None:
    with pytest.raises(DataError, match=r"STreeDPiecewiseLinearRegressor .* hold no class and no number"):
        as_tree(pystreed.STreeDPiecewiseLinearRegressor())


def test_one_tree_is_no_forest() -> None:
    with pytest.raises(TypeError, match="forest_trees cannot read a STreeDClassifier"):
        forest_trees(pystreed.STreeDClassifier())


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            Schema((Feature("bmi"),)),
            r"uses the columns 'age'.* and the columns of the schema are 'bmi'",
        ),
        (Schema((Feature("age"),)), r"predicts classes, and the target 'y' of the schema holds numbers"),
        (
            Schema((Feature("age"),), Target(classes=("f", "m"))),
            r"predicts the classes 0, 1, and .* 'f', 'm'",
        ),
    ],
)
def test_a_schema_that_cannot_hold_the_model_is_refused(schema: Schema, message: str) -> None:
    model = pystreed.STreeDClassifier(max_depth=1).fit(FRAME[["age"]], HALVES)
    with pytest.raises(SchemaMismatch, match=message):
        as_tree(model, schema)
