from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from made_tables import between, patients, risk, schema_of, split_in_two
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_linnerud
from sklearn.exceptions import NotFittedError

from holdfast.adapters import as_tree, base_score, forest_trees
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import DataError, SchemaMismatch
from holdfast.estimators.base import build_estimator
from holdfast.estimators.stable import StableTreeClassifier
from holdfast.tree.check import check_tree
from reference.gaps import with_gaps
from reference.precision import SINGLES, around

xgboost = pytest.importorskip("xgboost", minversion="3.2")

CELLS, MALIGNANT = load_breast_cancer(return_X_y=True)
CELL_FRAME = load_breast_cancer(as_frame=True).data
PATIENTS, PROGRESSION = load_diabetes(return_X_y=True)
FRAME = patients(bar="bar")
RISK = risk(FRAME)
HALVES = split_in_two(RISK, (0, 1))
ONE = {"n_estimators": 1, "n_jobs": 1}


def agree(tree: Any, model: Any, rows: Any) -> None:
    """Same classes, and the same probabilities or numbers, on every row."""
    check_tree(tree)
    if hasattr(model, "predict_proba"):
        assert tree.predict(rows).tolist() == model.predict(rows).tolist()
        assert tree.predict_proba(rows) == pytest.approx(model.predict_proba(rows), abs=1e-6)
    else:
        assert tree.predict(rows) == pytest.approx(model.predict(rows), rel=1e-6, abs=1e-6)


# -- predictions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "method"),
    [
        (CELLS, "hist"),
        (with_gaps(CELLS), "exact"),
        (np.round(CELLS, 1), "approx"),
        (CELLS.astype(np.float32), "hist"),
    ],
)
def test_a_classifier_of_one_tree_predicts_as_before(X: np.ndarray, method: str) -> None:
    model = xgboost.XGBClassifier(**ONE, tree_method=method).fit(X, MALIGNANT)
    rows = np.concatenate([between(X), with_gaps(X)])
    agree(as_tree(model), model, rows)
    agree(as_tree(model, Table.from_arrays(CELLS, MALIGNANT).schema), model, rows)
    assert as_tree(model).schema.target.classes == (0, 1)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"max_depth": 1},
        {"tree_method": "exact", "gamma": 50000.0},  # nodes that were pruned stay in the model
        {"base_score": 3.5, "learning_rate": 1.0},
        {"objective": "reg:absoluteerror"},
        {"objective": "reg:quantileerror", "quantile_alpha": 0.8},
        {"objective": "count:poisson"},
        {"objective": "reg:gamma"},
        {"objective": "reg:tweedie"},
        {"objective": "reg:pseudohubererror"},
        {"min_child_weight": 1e9},  # a single leaf
    ],
)
def test_a_regressor_of_one_tree_predicts_as_before(parameters: dict[str, Any]) -> None:
    model = xgboost.XGBRegressor(**ONE, **parameters).fit(PATIENTS, PROGRESSION)
    agree(as_tree(model), model, np.concatenate([between(PATIENTS), with_gaps(PATIENTS)]))


def test_a_regressor_of_probabilities_predicts_numbers() -> None:
    for objective in ("reg:logistic", "binary:logistic"):
        model = xgboost.XGBRegressor(**ONE, objective=objective).fit(CELLS, MALIGNANT)
        agree(as_tree(model), model, CELLS)


@pytest.mark.parametrize("one_hot_up_to", [1, 100])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_gaps_and_categories_go_where_xgboost_sends_them(gaps: float, one_hot_up_to: int) -> None:
    frame = patients(gaps=gaps, bar="bar")
    rows = pd.concat([frame, patients(gaps=0.5, seed=1, bar="bar")])
    y = split_in_two(risk(frame), (0, 1))
    parameters = {**ONE, "enable_categorical": True, "max_cat_to_onehot": one_hot_up_to}
    model = xgboost.XGBRegressor(**parameters).fit(frame, risk(frame))
    assert len(as_tree(model).in_set)  # it does split categories
    agree(as_tree(model), model, rows)
    model = xgboost.XGBClassifier(**parameters).fit(frame, y)
    agree(as_tree(model), model, rows)
    for seen in (frame, patients(2000, bar="bar")):
        agree(as_tree(model, schema_of(seen, split_in_two(risk(seen), (0, 1)))), model, rows)


def test_categories_that_xgboost_cut_to_pieces_are_found_in_the_schema() -> None:
    frame = patients()
    model = xgboost.XGBRegressor(**ONE, enable_categorical=True).fit(frame, RISK)
    agree(as_tree(model, schema_of(frame, RISK)), model, frame)
    polars = pl.from_pandas(frame[["ward", "age"]])  # from which XGBoost takes whole labels
    other = xgboost.XGBRegressor(**ONE, enable_categorical=True).fit(polars, RISK)
    agree(as_tree(other, Table.from_arrays(polars, RISK).schema), other, polars)
    with pytest.raises(SchemaMismatch, match=r"categories of column 'ward' that are not ASCII"):
        as_tree(model)
    with pytest.raises(SchemaMismatch, match=r"categories of column 'ward' that are not ASCII"):
        as_tree(model, schema_of(FRAME, RISK))


def test_codes_that_the_user_made_need_a_schema() -> None:
    X = np.column_stack([FRAME["visits"] + 2, FRAME["age"], FRAME["ward"].cat.codes.replace(-1, np.nan)])
    parameters = {**ONE, "feature_types": ["q", "q", "c"], "enable_categorical": True, "max_cat_to_onehot": 1}
    model = xgboost.XGBRegressor(**parameters).fit(X, RISK)
    table = Table.from_arrays(X, RISK, categorical_features=[2])
    tree = as_tree(model, table.schema)
    assert len(tree.in_set)
    agree(tree, model, X)
    with pytest.raises(SchemaMismatch, match=r"codes of column 'x2', .* categorical_features=\['x2'\]"):
        as_tree(model)


@given(SINGLES, SINGLES, st.lists(st.floats(-1e38, 1e38), max_size=5))
def test_every_number_goes_where_xgboost_sends_it(below: float, above: float, more: list[float]) -> None:
    below, above = min(below, above), max(below, above)
    X = np.array([[below], [above]] * 4)
    model = xgboost.XGBRegressor(**ONE, tree_method="exact", min_child_weight=0, reg_lambda=0, max_depth=1)
    tree = as_tree(model.fit(X, [0.0, 1.0] * 4))
    assume(tree.n_nodes == 3)
    points = around(below, above, tree.threshold[0], *more)
    assume(np.isfinite(points.astype(np.float32)).all())
    assert tree.predict(points) == pytest.approx(model.predict(points))


def test_values_equal_to_the_threshold_go_right() -> None:
    X = np.array([[1.0], [2.0]] * 10)
    model = xgboost.XGBRegressor(**ONE, tree_method="approx").fit(X, X[:, 0])
    points = around(*np.array(model.get_booster().trees_to_dataframe()["Split"].dropna()))
    agree(as_tree(model), model, points)


@pytest.mark.parametrize("objective", ["binary:logistic", "reg:squarederror"])
def test_a_booster_is_read_like_a_model_and_numbers_its_classes(objective: str) -> None:
    data = xgboost.DMatrix(CELL_FRAME, MALIGNANT)
    booster = xgboost.train({"objective": objective, "nthread": 1}, data, 1)
    tree = as_tree(booster)
    assert tree.schema.names == tuple(CELL_FRAME.columns)
    is_binary = objective == "binary:logistic"
    assert tree.schema.target.classes == ((0, 1) if is_binary else ())
    predicted = tree.predict_proba(CELL_FRAME)[:, 1] if is_binary else tree.predict(CELL_FRAME)
    assert predicted == pytest.approx(booster.predict(data), abs=1e-6)


def test_columns_are_found_by_name_in_the_schema() -> None:
    model = xgboost.XGBClassifier(**ONE).fit(CELL_FRAME.iloc[:, ::-1], MALIGNANT)
    tree = as_tree(model, Table.from_arrays(CELL_FRAME, MALIGNANT).schema)
    assert tree.predict(CELL_FRAME).tolist() == model.predict(CELL_FRAME.iloc[:, ::-1]).tolist()


# -- what is known of the nodes ----------------------------------------------------------------------------


def test_weights_are_covers_and_importances_are_those_of_xgboost() -> None:
    model = xgboost.XGBRegressor(**ONE, importance_type="total_gain").fit(PATIENTS, PROGRESSION)
    tree = as_tree(model)
    assert tree.weight[0] == len(PATIENTS)
    assert tree.value[0, 0] == pytest.approx(tree.predict(PATIENTS).mean())
    assert tree.importances == pytest.approx(model.feature_importances_, abs=1e-6)
    assert not tree.notes
    tree = as_tree(xgboost.XGBClassifier(**ONE).fit(CELLS, MALIGNANT))
    assert "covers" in tree.notes[0]
    assert tree.weight[0] < len(CELLS)


# -- many trees --------------------------------------------------------------------------------------------


def test_the_base_and_the_raw_scores_of_all_trees_add_up_to_the_raw_prediction() -> None:
    parameters = {"n_estimators": 7, "enable_categorical": True}
    for model, y in (
        (xgboost.XGBClassifier(**parameters), HALVES),
        (xgboost.XGBRegressor(**parameters), RISK),
    ):
        raw = model.fit(FRAME, y).predict(FRAME, output_margin=True)
        for trees in (forest_trees(model), forest_trees(model, schema_of(FRAME, y))):
            assert len(trees) == 7
            total = base_score(model)[0] + sum(tree.predict(FRAME) for tree in trees)
            assert total == pytest.approx(raw, abs=1e-5)
            assert trees[0].schema.target.name == "raw score"


def test_of_several_classes_each_round_has_a_tree_for_each() -> None:
    X, species = load_iris(return_X_y=True)
    model = xgboost.XGBClassifier(**{**ONE, "n_estimators": 2}).fit(X, species)
    trees = forest_trees(model)
    total = base_score(model) + np.column_stack(
        [sum(tree.predict(X) for tree in trees[k::3]) for k in range(3)]
    )
    assert total == pytest.approx(model.predict(X, output_margin=True), abs=1e-5)
    assert "class 1," in trees[4].notes[0]
    with pytest.raises(
        TypeError, match=r"holds 3 trees, and as_tree reads one. forest_trees\(model, schema\)"
    ):
        as_tree(xgboost.XGBClassifier(**ONE).fit(X, species))


def test_only_the_rounds_up_to_the_best_one_count() -> None:
    y = np.random.default_rng(0).integers(0, 2, len(CELLS))
    model = xgboost.XGBClassifier(n_estimators=30, learning_rate=1.0, early_stopping_rounds=2, n_jobs=1)
    model.fit(CELLS, y, eval_set=[(CELLS, 1 - y)], verbose=False)
    trees = forest_trees(model)
    assert len(trees) == model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    assert len(forest_trees(model.get_booster())) == model.get_booster().num_boosted_rounds()
    agree(as_tree(model), model, CELLS)


def test_a_forest_of_xgboost_is_a_round_of_many_trees() -> None:
    model = xgboost.XGBRFRegressor(n_estimators=5, n_jobs=1).fit(PATIENTS, PROGRESSION)
    total = base_score(model)[0] + sum(tree.predict(PATIENTS) for tree in forest_trees(model))
    assert total == pytest.approx(model.predict(PATIENTS), rel=1e-5)


# -- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [as_tree, forest_trees, base_score])
def test_an_unfitted_model_is_refused(read: Any) -> None:
    with pytest.raises(NotFittedError):
        read(xgboost.XGBClassifier())


def test_a_model_without_trees_or_without_a_second_class_is_refused() -> None:
    untrained = xgboost.train({}, xgboost.DMatrix(PATIENTS, PROGRESSION), 0)
    for booster in (xgboost.Booster(), untrained):
        with pytest.raises(DataError, match=r"Booster holds no tree: train it"):
            as_tree(booster)
    model = xgboost.XGBClassifier(**ONE).fit(PATIENTS, np.zeros(len(PATIENTS)))
    with pytest.raises(DataError, match=r"scores for 2 classes and knows 0: fit it on rows of all classes"):
        as_tree(model)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"booster": "dart"}, r"booster='dart', which changes .* booster='gbtree'"),
        ({"booster": "gblinear"}, r"booster='gblinear', which has no trees"),
        ({"missing": -999.0}, r"takes -999.0 for missing, .* missing=np.nan"),
        ({"objective": "binary:hinge"}, r"objective 'binary:hinge', .*forest_trees"),
        ({"objective": "survival:cox"}, r"objective 'survival:cox', .*forest_trees"),
    ],
)
def test_models_that_no_tree_can_stand_for_are_refused(parameters: dict[str, Any], message: str) -> None:
    model = xgboost.XGBRegressor(**ONE, **parameters).fit(CELLS, MALIGNANT)
    with pytest.raises(DataError, match=message):
        as_tree(model)


def test_several_targets_at_once_are_refused() -> None:
    X, Y = load_linnerud(return_X_y=True)
    for strategy in ("one_output_per_tree", "multi_output_tree"):
        model = xgboost.XGBRegressor(**ONE, multi_strategy=strategy).fit(X, Y)
        with pytest.raises(DataError, match="3 targets at once"):
            forest_trees(model)


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
    model = xgboost.XGBClassifier(**ONE).fit(FRAME[["age"]], HALVES)
    with pytest.raises(SchemaMismatch, match=message):
        as_tree(model, schema)


def test_a_learner_of_xgboost_learns_classes_of_any_type() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    learner = xgboost.XGBClassifier(**ONE, learning_rate=1.0, max_depth=2)
    options: dict[str, Any] = {"method": "bootstrap", "n_estimators": 2, "grid": {}, "refit_leaves": False}
    named = build_estimator(StableTreeClassifier, learner=learner, **options).fit(
        X[:, :4], np.array(["no", "yes"])[y]
    )
    numbered = build_estimator(StableTreeClassifier, learner=learner, **options).fit(X[:, :4], y)
    assert named.predict(X[:, :4]).tolist() == [("no", "yes")[each] for each in numbered.predict(X[:, :4])]
