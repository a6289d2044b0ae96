import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, export_text

from holdfast import ForestClassifier, TreeClassifier, check_export
from holdfast.adapters import as_tree
from holdfast.data.schema import Feature
from holdfast.data.table import Table
from holdfast.errors import DataWarning, ExportError
from holdfast.exports.sklearn import to_sklearn
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.tree.check import check_tree
from holdfast.tree.tree import KNOWN, LEAF
from reference.gaps import with_gaps
from reference.precision import SINGLES, around, stump

IRIS, SPECIES = load_iris(return_X_y=True)
CELLS, MALIGNANT = load_breast_cancer(return_X_y=True)
PATIENTS, PROGRESSION = load_diabetes(return_X_y=True)
NAMED = np.array(["setosa", "versicolor", "virginica"])[SPECIES]


@pytest.mark.parametrize(
    ("X", "y", "rules"),
    [
        (IRIS, NAMED, GrowthRules()),
        (CELLS, MALIGNANT, GrowthRules("entropy", max_leaf_nodes=12)),
        (with_gaps(CELLS), MALIGNANT == 1, GrowthRules(max_depth=6)),
        (with_gaps(PATIENTS), PROGRESSION, GrowthRules("squared_error")),
        (PATIENTS, PROGRESSION, GrowthRules("poisson", max_depth=4)),
        (IRIS, NAMED, GrowthRules("gain_ratio", max_depth=2)),
    ],
)
def test_a_grown_tree_predicts_the_same_as_a_model_of_scikit_learn(
    X: np.ndarray, y: np.ndarray, rules: GrowthRules
) -> None:
    tree = grow(Table.from_arrays(X, y), rules)
    model = to_sklearn(tree)
    rows = np.concatenate([X, with_gaps(X)])
    assert model.apply(rows).tolist() == tree.apply(rows).tolist()
    assert model.predict(rows).tolist() == tree.predict(rows).tolist()
    if hasattr(model, "classes_"):
        last_bit = np.finfo(np.float64).eps  # which our class of a tie has more
        assert model.predict_proba(rows) == pytest.approx(tree.predict_proba(rows), rel=0, abs=last_bit)
        assert model.score(X, y) > 0.9
    assert (model.get_depth(), model.get_n_leaves()) == (tree.depth, tree.n_leaves)
    assert model.feature_importances_ == pytest.approx(tree.importances)


def test_the_model_is_a_genuine_one() -> None:
    frame = pd.DataFrame({"age": [20.0, 30.0, 50.0, 60.0], "fare": [7.0, 9.0, 8.0, 7.0]})
    tree = grow(Table.from_arrays(frame, ["no", "no", "yes", "yes"]))
    model = to_sklearn(tree)
    assert type(model) is DecisionTreeClassifier
    assert model.classes_.tolist() == ["no", "yes"]
    assert (model.n_classes_, model.n_features_in_, model.n_outputs_, model.max_features_) == (2, 2, 1, 2)
    assert model.feature_names_in_.tolist() == ["age", "fare"]
    assert model.get_params() == DecisionTreeClassifier().get_params()
    assert export_text(model, feature_names=["age", "fare"]).splitlines()[0] == "|--- age <= 40.00"
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(frame).tolist() == ["no", "no", "yes", "yes"]
    refitted = clone(model).fit(frame, ["yes", "no", "yes", "no"])
    assert refitted.score(frame, ["yes", "no", "yes", "no"]) == 1.0
    assert model.decision_path(frame).toarray().tolist() == tree.decision_path(frame).toarray().tolist()


def test_the_model_says_by_which_criterion_its_impurities_are_measured() -> None:
    table = Table.from_arrays(IRIS, NAMED)
    assert to_sklearn(grow(table, GrowthRules("entropy", max_depth=2))).criterion == "entropy"
    assert to_sklearn(grow(table, GrowthRules("gain_ratio", max_depth=2))).criterion == "gini"


def test_columns_without_names_stay_without_names() -> None:
    model = to_sklearn(grow(Table.from_arrays(IRIS, NAMED)))
    assert not hasattr(model, "feature_names_in_")


def test_a_lone_leaf_is_a_model() -> None:
    with pytest.warns(DataWarning, match="one class"):
        table = Table.from_arrays([[1.0], [2.0]], ["a", "a"])
    assert to_sklearn(grow(table)).predict([[3.0]]).tolist() == ["a"]


def test_labels_of_several_types_stay_what_they_are() -> None:
    tree = grow(Table.from_arrays([[1.0], [2.0]], np.array([1, "one"], object)))
    assert to_sklearn(tree).predict([[1.0], [2.0]]).tolist() == [1, "one"]


# -- single precision -------------------------------------------------------------------------------------


def test_a_value_equal_to_the_threshold_goes_left() -> None:
    tenths = np.arange(-50, 50) / 10
    for threshold in tenths:  # few of them are float32 numbers, and half of those that are not round up
        tree = stump(threshold)
        assert to_sklearn(tree).predict(tenths[:, None]).tolist() == tree.predict(tenths[:, None]).tolist()


@given(SINGLES, st.integers(1, 3))
@example(16777218.0, 1)
@example(16777220.0, 1)
@example(-0.0, 1)
def test_values_of_single_precision_never_change_sides(below: float, steps: int) -> None:
    above = np.float32(below)
    for _ in range(steps):
        above = np.nextafter(above, np.float32(np.inf))
    tree = stump(below / 2 + float(above) / 2)
    pair = np.array([[below], [above]])
    assert to_sklearn(tree).apply(pair).tolist() == [1, 2] == tree.apply(pair).tolist()


@given(st.floats(-(2.0**100), 2.0**100), st.lists(st.floats(-(2.0**100), 2.0**100), max_size=5))
def test_only_values_that_float32_cannot_tell_from_the_threshold_can_change_sides(
    threshold: float, more: list[float]
) -> None:
    tree, points = stump(threshold), around(threshold, *more)
    apart = to_sklearn(tree).apply(points) != tree.apply(points)
    assert (points[apart].astype(np.float32) == np.float32(threshold)).all()


@given(SINGLES)
def test_a_model_comes_back_unchanged_from_its_trip(threshold: float) -> None:
    model = to_sklearn(stump(threshold))
    again = to_sklearn(as_tree(model))
    assert again.tree_.threshold.tolist() == model.tree_.threshold.tolist()


def test_every_known_value_goes_left_at_the_question_whether_it_is_known() -> None:
    model = to_sklearn(stump(KNOWN))
    assert model.predict([[3.4e38], [-3.4e38], [np.nan]]).tolist() == ["no", "no", "yes"]
    assert as_tree(model).threshold[0] == KNOWN


def test_ordered_categories_are_read_as_their_positions() -> None:
    slope = Feature("x0", "ordered", 0.0, 2.0, ("down", "flat", "up"))
    assert to_sklearn(stump(1.5, slope)).predict([[0], [1], [2]]).tolist() == ["no", "no", "yes"]


# -- what scikit-learn cannot hold ------------------------------------------------------------------------


def test_a_split_on_categories_is_refused_by_name() -> None:
    tree = grow(Table.from_arrays([["f"], ["m"]], ["no", "yes"]))
    with pytest.raises(ExportError, match=r"node 0 splits the categories of column 'x0'. .*one-hot.*save"):
        to_sklearn(tree)


def test_a_split_on_a_question_is_refused_by_name() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 1.0, 2.0], "b": [2.0, 1.0, 2.0, 1.0]})
    tree = grow(Table.from_arrays(frame, ["no", "yes", "no", "yes"], custom_features=["a < b"]))
    moved = tree.replace(
        feature=np.where(tree.feature == LEAF, LEAF, 2).astype(np.int32),
        threshold=np.full(tree.n_nodes, np.nan),
        set_start=np.where(tree.feature == LEAF, -1, 0),
        in_set=np.array([False, True]),
    )
    check_tree(moved)
    with pytest.raises(
        ExportError, match=r"node 0 splits on the custom feature 'a < b'. Add it as a column.*save"
    ):
        to_sklearn(moved)


def test_columns_of_categories_that_the_tree_does_not_ask_about_do_no_harm() -> None:
    frame = pd.DataFrame({"sex": ["f", "m", "f", "m"], "age": [20.0, 30.0, 50.0, 60.0]})
    tree = grow(Table.from_arrays(frame, ["no", "no", "yes", "yes"]))
    assert to_sklearn(tree).predict(pd.DataFrame({"sex": [0, 1], "age": [20, 60]})).tolist() == ["no", "yes"]


@pytest.mark.parametrize(("threshold", "shown"), [(1e300, r"1e\+300"), (-1e39, r"-1e\+39")])
def test_a_threshold_beyond_the_range_of_float32_is_refused(threshold: float, shown: str) -> None:
    with pytest.raises(ExportError, match=rf"column 'x0' with {shown}, beyond the range of float32"):
        to_sklearn(stump(threshold))


def test_a_tree_equals_the_one_of_scikit_learn_at_every_threshold_of_float32() -> None:
    X = with_gaps(IRIS)
    for model in (TreeClassifier(max_depth=4), ForestClassifier(3, random_state=0)):
        check = check_export(model.fit(X, SPECIES), "sklearn", X)
        assert check.is_equal, str(check)
        assert (check.n_rows, check.n_edges > 20) == (150, True)
