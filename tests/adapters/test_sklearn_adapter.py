from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_linnerud
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from holdfast.adapters import as_tree, forest_trees
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import BrokenTreeError, DataError, SchemaMismatch
from holdfast.tree.check import check_tree
from holdfast.tree.tree import KNOWN
from reference.gaps import with_gaps
from reference.precision import SINGLES, around, stump

IRIS, SPECIES = load_iris(return_X_y=True)
CELLS, MALIGNANT = load_breast_cancer(return_X_y=True)
PATIENTS, PROGRESSION = load_diabetes(return_X_y=True)
NAMED = np.array(["setosa", "versicolor", "virginica"])[SPECIES]


# -- from scikit-learn --------------------------------------------------------------------------------

MODELS = [
    (DecisionTreeClassifier(random_state=0), IRIS, NAMED),
    (DecisionTreeClassifier(max_leaf_nodes=12, random_state=0), CELLS, MALIGNANT),
    (DecisionTreeClassifier(criterion="entropy", max_depth=4, random_state=0), with_gaps(CELLS), MALIGNANT),
    (DecisionTreeClassifier(class_weight="balanced", ccp_alpha=0.01, random_state=0), CELLS, MALIGNANT == 1),
    (ExtraTreeClassifier(random_state=0), CELLS, MALIGNANT),
    (ExtraTreeClassifier(max_leaf_nodes=9, random_state=0), IRIS, SPECIES),
    (DecisionTreeRegressor(max_leaf_nodes=40, random_state=0), with_gaps(PATIENTS), PROGRESSION),
    (DecisionTreeRegressor(criterion="poisson", max_depth=5, random_state=0), PATIENTS, PROGRESSION),
    (DecisionTreeRegressor(criterion="absolute_error", max_depth=5, random_state=0), PATIENTS, PROGRESSION),
    (ExtraTreeRegressor(random_state=0), PATIENTS, PROGRESSION),
    (DecisionTreeClassifier(), IRIS[:1], NAMED[:1]),
    (DecisionTreeRegressor(), np.zeros((3, 2)), [1.0, 2.0, 3.0]),
]


@pytest.mark.parametrize(("unfitted", "X", "y"), MODELS, ids=[str(model) for model, _, _ in MODELS])
def test_a_tree_of_scikit_learn_predicts_as_before(unfitted: Any, X: np.ndarray, y: Any) -> None:
    model = clone(unfitted).fit(X, y)
    tree = as_tree(model)
    check_tree(tree)
    rows = np.concatenate([X, (X[1:] + X[:-1]) / 2])  # between the rows, too
    if model.criterion != "absolute_error":  # which takes no missing values before scikit-learn 1.9
        rows = np.concatenate([rows, with_gaps(X)])
    assert tree.predict(rows).tolist() == model.predict(rows).tolist()
    if hasattr(model, "classes_"):
        assert np.array_equal(tree.predict_proba(rows), model.predict_proba(rows))
        assert tree.schema.target.classes == tuple(model.classes_.tolist())
    assert (tree.depth, tree.n_leaves) == (model.get_depth(), model.get_n_leaves())
    assert tree.importances == pytest.approx(model.feature_importances_)
    assert tree.criterion == model.criterion
    assert tree.count[0] == len(X)


def test_weights_and_impurities_are_taken_over() -> None:
    weight = np.random.default_rng(0).random(len(IRIS))
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(IRIS, NAMED, weight)
    tree = as_tree(model)  # depth first: the nodes stand in the same order in both
    assert tree.weight.tolist() == model.tree_.weighted_n_node_samples.tolist()
    assert tree.count.tolist() == model.tree_.n_node_samples.tolist()
    assert tree.impurity == pytest.approx(model.tree_.impurity)
    assert tree.impurity.min() >= 0  # which rounding in scikit-learn does not promise


@given(SINGLES, SINGLES, st.lists(st.floats(-1e38, 1e38), max_size=5))
@example(16777218.0, 16777220.0, [])  # neighbours in float32, and the one above is even
@example(16777220.0, 16777222.0, [])  # the one below is
@example(-1.0, 1.0, [])
@example(1.0, 3.4e38, [])
def test_every_number_goes_where_scikit_learn_sends_it(below: float, above: float, more: list[float]) -> None:
    below, above = min(below, above), max(below, above)
    assume(np.float32(below) + np.float32(1e-6) < np.float32(above))  # scikit-learn sees no nearer ones
    model = DecisionTreeClassifier().fit([[below], [above]], [0, 1])
    tree = as_tree(model)
    assume(tree.n_nodes == 3)
    points = around(below, above, model.tree_.threshold[0], tree.threshold[0], *more)
    assert tree.predict(points).tolist() == model.predict(points).tolist()


def test_missing_values_go_to_the_side_the_model_learned() -> None:
    X, y = [[1.0], [2.0], [3.0], [np.nan]], ["a", "a", "b", "a"]
    model = DecisionTreeClassifier().fit(X, y)
    assert as_tree(model).predict([[np.nan], [3.0]]).tolist() == ["a", "b"]
    model = DecisionTreeClassifier().fit(X, ["a", "a", "b", "b"])
    assert as_tree(model).predict([[np.nan], [2.0]]).tolist() == ["b", "a"]


def test_a_split_of_the_known_from_the_missing_is_the_question_whether_the_value_is_known() -> None:
    model = DecisionTreeClassifier().fit([[1.0], [2.0], [np.nan]], ["a", "a", "b"])
    tree = as_tree(model)
    assert tree.threshold[0] == KNOWN
    assert tree.predict([[1e300], [np.nan]]).tolist() == ["a", "b"]


# -- its schema -----------------------------------------------------------------------------------------


def test_without_a_schema_a_feature_reaches_from_its_lowest_to_its_highest_threshold() -> None:
    frame = pd.DataFrame({"age": [20.0, 30, 40, 50], "fare": [7.0, 7, 7, 7]})
    schema = as_tree(DecisionTreeRegressor().fit(frame, [1.0, 2.0, 4.0, 8.0])).schema
    assert schema.names == ("age", "fare")
    assert (schema.features[0].low, schema.features[0].high) == pytest.approx((25.0, 45.0))
    assert (schema.features[1].low, schema.features[1].high) == (0.0, 0.0)
    assert schema.target == Target(low=1.0, high=8.0)


def test_columns_without_names_are_called_as_in_a_table() -> None:
    assert as_tree(DecisionTreeClassifier().fit(IRIS, NAMED)).schema.names == ("x0", "x1", "x2", "x3")


def test_on_a_schema_columns_are_found_by_name_and_classes_by_value() -> None:
    frame = pd.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    known = NAMED != "setosa"
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame[known][["d", "c"]], NAMED[known])
    table = Table.from_arrays(frame, NAMED)
    tree = as_tree(model, schema=table.schema)
    assert tree.schema is table.schema
    assert tree.predict(frame[known]).tolist() == model.predict(frame[known][["d", "c"]]).tolist()
    assert not tree.predict_proba(frame)[:, 0].any()


def test_on_a_schema_columns_without_names_are_found_by_position() -> None:
    frame = pd.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(IRIS, NAMED)
    tree = as_tree(model, Table.from_arrays(frame, NAMED).schema)
    assert tree.schema.names == ("a", "b", "c", "d")
    assert tree.predict(frame[["d", "b", "c", "a"]]).tolist() == model.predict(IRIS).tolist()


def test_thresholds_on_the_positions_of_ordered_categories_stand_half_way() -> None:
    slope = Feature("slope", "ordered", 0.0, 3.0, ("down", "flat", "up", "steep"))
    schema = Schema((slope,), Target("y", classes=("no", "yes")))
    model = DecisionTreeClassifier().fit([[0], [1], [3]], ["no", "no", "yes"])
    tree = as_tree(model, schema)
    assert tree.threshold[0] == 2.5
    assert tree.predict([["up"], ["steep"]]).tolist() == ["no", "yes"]


def test_questions_of_the_schema_are_left_alone() -> None:
    frame = pd.DataFrame({"a": IRIS[:, 2], "b": IRIS[:, 3]})
    table = Table.from_arrays(frame, NAMED, custom_features=["a > 4 * b"])
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame.to_numpy(), NAMED)
    tree = as_tree(model, table.schema)
    assert tree.schema.custom_features == ("a > 4 * b",)
    assert tree.feature.max() < 2


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (Schema((Feature("age"),)), r"uses the columns 'fare', and .* of the schema are 'age'. Fit"),
        (
            Schema((Feature("fare", "nominal", categories=("a", "b")),), Target(classes=("no", "yes"))),
            r"column 'fare' with a number, .* nominal, with the categories 'a', 'b'. .*one-hot",
        ),
        (Schema((Feature("fare"),)), r"predicts classes, and the target 'y' of the schema holds numbers"),
        (
            Schema((Feature("fare"),), Target("sex", classes=("f", "yes"))),
            r"classes 'no', 'yes', and the target 'sex' .* classes 'f', 'yes'. .*widened.*forest_trees",
        ),
    ],
)
def test_a_schema_that_cannot_hold_the_model_is_refused(schema: Schema, message: str) -> None:
    frame = pd.DataFrame({"fare": [1.0, 2.0]})
    with pytest.raises(SchemaMismatch, match=message):
        as_tree(DecisionTreeClassifier().fit(frame, ["no", "yes"]), schema)


def test_a_schema_with_another_number_of_columns_is_refused_if_the_model_has_no_names() -> None:
    schema = Schema((Feature("age"), Feature("fare")), Target(classes=("no", "yes")))
    with pytest.raises(SchemaMismatch, match=r"1 columns without names, and the schema has 2: 'age', 'fare'"):
        as_tree(DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"]), schema)


# -- our own, forests and what is no tree -----------------------------------------------------------------


def test_a_tree_and_the_tree_of_a_holdfast_model_are_returned_as_they_are() -> None:
    tree = stump(50.0)
    assert as_tree(tree) is tree
    assert as_tree(SimpleNamespace(tree_=tree)) is tree
    wider = Schema((Feature("age"), Feature("x0")), Target("outcome", classes=("maybe", "no", "yes")))
    assert as_tree(tree, wider).schema is wider


def test_the_trees_of_a_forest_have_its_names_and_classes_and_one_schema() -> None:
    frame = pd.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    forest = RandomForestClassifier(6, random_state=0).fit(frame, NAMED)
    trees = forest_trees(forest)
    assert np.mean([tree.predict_proba(frame) for tree in trees], axis=0) == pytest.approx(
        forest.predict_proba(frame)
    )
    assert trees[0].schema.names == ("a", "b", "c", "d")
    assert trees[0].schema.target.classes == ("setosa", "versicolor", "virginica")
    assert all(tree.schema is trees[0].schema for tree in trees)
    for index, feature in enumerate(trees[0].schema.features):
        cuts = np.concatenate([tree.threshold[tree.feature == index] for tree in trees])
        assert (feature.low, feature.high) == (cuts.min(), cuts.max())


def test_the_trees_of_a_forest_are_measured_on_the_schema_of_a_table() -> None:
    table = Table.from_arrays(IRIS, NAMED)
    forest = RandomForestClassifier(3, random_state=0).fit(IRIS[50:], NAMED[50:])
    for tree, member in zip(forest_trees(forest, table.schema), forest.estimators_, strict=True):
        expected = forest.classes_[member.predict(IRIS).astype(int)]
        assert tree.predict(IRIS).tolist() == expected.tolist()


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_the_trees_of_a_forest_that_predicts_numbers_average_to_the_forest(kind: Any) -> None:
    forest = kind(4, max_depth=6, random_state=0).fit(PATIENTS, PROGRESSION)
    mean = np.mean([tree.predict(PATIENTS) for tree in forest_trees(forest)], axis=0)
    assert mean == pytest.approx(forest.predict(PATIENTS))


def test_a_member_of_a_forest_only_numbers_its_classes() -> None:
    forest = RandomForestClassifier(2, random_state=0).fit(IRIS, NAMED)
    assert as_tree(forest.estimators_[0]).schema.target.classes == (0, 1, 2)
    with pytest.raises(SchemaMismatch, match="forest_trees"):
        as_tree(forest.estimators_[0], Table.from_arrays(IRIS, NAMED).schema)


def test_a_member_of_a_boosted_model_is_a_tree_of_numbers() -> None:
    model = GradientBoostingRegressor(n_estimators=2).fit(PATIENTS, PROGRESSION)
    member = model.estimators_[1, 0]
    assert as_tree(member).predict(PATIENTS).tolist() == member.predict(PATIENTS).tolist()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RandomForestClassifier(), r"RandomForestClassifier holds many .*forest_trees"),
        (LogisticRegression(), r"cannot read a LogisticRegression. It reads a Tree; .*pipeline"),
        (DecisionTreeClassifier, r"got the class DecisionTreeClassifier itself"),
        (None, r"cannot read a NoneType. It reads a Tree; .* DecisionTreeClassifier"),
    ],
)
def test_what_holds_no_single_tree_is_refused_with_the_way_out(model: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        as_tree(model)


def test_forest_trees_reads_forests_only() -> None:
    model = BaggingClassifier(n_estimators=2).fit(IRIS, NAMED)
    with pytest.raises(TypeError, match=r"cannot read a BaggingClassifier. .* or ExtraTreesRegressor"):
        forest_trees(model)


@pytest.mark.parametrize("read", [as_tree, forest_trees])
def test_an_unfitted_model_is_not_fitted(read: Any) -> None:
    with pytest.raises(NotFittedError):
        read(DecisionTreeClassifier() if read is as_tree else RandomForestClassifier())


def test_several_targets_at_once_are_refused() -> None:
    X, Y = load_linnerud(return_X_y=True)
    with pytest.raises(DataError, match="3 targets at once"):
        as_tree(DecisionTreeRegressor().fit(X, Y))


def with_numbers(array: str, number: float) -> Any:
    """A fitted tree of scikit-learn with another number at its root."""
    model = DecisionTreeRegressor(max_depth=2).fit(np.arange(8.0)[:, None], np.arange(8.0))
    state = model.tree_.__getstate__()
    state["nodes"], state["values"] = state["nodes"].copy(), state["values"].copy()
    if array == "threshold":
        state["nodes"]["threshold"][0] = number
    else:
        state["values"][0] = number
    model.tree_.__setstate__(state)
    return model


@pytest.mark.parametrize(
    ("array", "number"),
    [("threshold", np.nan), ("threshold", -np.inf), ("value", np.nan), ("value", np.inf), ("value", -np.inf)],
)
def test_a_tree_with_numbers_that_are_none_is_refused(array: str, number: float) -> None:
    with pytest.raises(BrokenTreeError, match=rf"{array}|{number}"):
        as_tree(with_numbers(array, number))
    with pytest.raises(BrokenTreeError, match=rf"{array}|{number}"):
        as_tree(with_numbers(array, number), Schema((Feature("x0", high=7.0),), Target("y", high=7.0)))


def test_a_threshold_of_infinity_asks_whether_the_value_is_known() -> None:
    assert as_tree(with_numbers("threshold", np.inf)).threshold[0] == KNOWN


def test_a_tree_of_weights_with_an_infinite_sum_is_refused() -> None:
    X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    with np.errstate(all="ignore"):
        models = [
            model.fit(X, y, sample_weight=np.full(8, 1e308))
            for model in (DecisionTreeClassifier(), DecisionTreeRegressor())
        ]
    for model in models:
        with pytest.raises(BrokenTreeError, match=r"is \[?(nan|inf|-inf)"):
            as_tree(model)
