import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_tables import between, patients, risk, schema_of, split_in_two
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

from holdfast.adapters import as_tree, base_score, forest_trees
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import DataError, SchemaMismatch
from holdfast.tree.check import check_tree
from reference.gaps import with_gaps

lightgbm = pytest.importorskip("lightgbm")

CELLS, MALIGNANT = load_breast_cancer(return_X_y=True)
CELL_FRAME = load_breast_cancer(as_frame=True).data  # its names have spaces
PATIENTS, PROGRESSION = load_diabetes(return_X_y=True)
FRAME = patients()
RISK = risk(FRAME)
ONE = {
    "n_estimators": 1,
    "min_child_samples": 3,
    "min_data_per_group": 3,
    "cat_smooth": 1,
    "verbose": -1,
    "n_jobs": 1,
}

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


def agree(tree: Any, model: Any, rows: Any) -> None:
    """Same classes, and the same probabilities or numbers, on every row."""
    check_tree(tree)
    if hasattr(model, "predict_proba"):
        assert tree.predict(rows).tolist() == model.predict(rows).tolist()
        assert tree.predict_proba(rows) == pytest.approx(model.predict_proba(rows), abs=1e-12)
        assert tree.schema.target.classes == tuple(model.classes_.tolist())
    else:
        assert tree.predict(rows) == pytest.approx(model.predict(rows), rel=1e-12, abs=1e-12)


# -- predictions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (CELLS, MALIGNANT),
        (with_gaps(CELLS), np.array(["benign", "malignant"])[MALIGNANT]),
        (np.round(CELLS, 1), MALIGNANT),
        (CELLS.astype(np.float32), MALIGNANT),
    ],
)
def test_a_classifier_of_one_tree_predicts_as_before(X: np.ndarray, y: np.ndarray) -> None:
    model = lightgbm.LGBMClassifier(**ONE).fit(X, y)
    rows = np.concatenate([between(X), with_gaps(X)])
    agree(as_tree(model), model, rows)
    agree(as_tree(model, Table.from_arrays(CELLS, y).schema), model, rows)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"num_leaves": 2},
        {"max_depth": 3, "learning_rate": 1.0},
        {"objective": "l1"},
        {"objective": "quantile", "alpha": 0.8},
        {"objective": "huber"},
        {"objective": "poisson"},
        {"objective": "tweedie"},
        {"reg_sqrt": True},
        {"boosting_type": "rf", "bagging_fraction": 0.5, "bagging_freq": 1},
        {"min_child_samples": 1000},  # a single leaf
    ],
)
def test_a_regressor_of_one_tree_predicts_as_before(parameters: dict[str, Any]) -> None:
    model = lightgbm.LGBMRegressor(**{**ONE, **parameters}).fit(PATIENTS, PROGRESSION)
    agree(as_tree(model), model, np.concatenate([between(PATIENTS), with_gaps(PATIENTS)]))


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_gaps_and_categories_go_where_lightgbm_sends_them(gaps: float) -> None:
    frame = patients(gaps=gaps)
    rows = pd.concat([frame, patients(gaps=0.5, seed=1)])
    y = split_in_two(risk(frame))
    for model in (
        lightgbm.LGBMClassifier(**ONE).fit(frame, y),
        lightgbm.LGBMRegressor(**ONE).fit(frame, risk(frame)),
    ):
        tree = as_tree(model)
        assert len(tree.in_set)  # it does split categories
        agree(tree, model, rows)
    model = lightgbm.LGBMClassifier(**ONE).fit(frame, y)
    for seen in (frame, patients(2000)):
        tree = as_tree(model, schema_of(seen, split_in_two(risk(seen))))
        assert tree.feature.max() == 5  # flags are a set on this schema
        agree(tree, model, rows)


def test_a_flag_that_lightgbm_compares_with_a_number_is_a_set_on_a_schema_of_flags() -> None:
    frame = FRAME[["smoker", "visits"]]
    y = split_in_two(frame["smoker"] * 2.0 + frame["visits"] / 10)
    model = lightgbm.LGBMClassifier(**ONE).fit(frame, y)
    tree = as_tree(model, Table.from_arrays(frame, y).schema)
    assert tree.schema.features[0].categories == (False, True)
    assert len(tree.in_set) > 0
    agree(tree, model, frame)


def test_numbered_categories_of_an_array_are_categories() -> None:
    X = np.column_stack([FRAME["visits"] + 2, FRAME["age"].fillna(0), FRAME["code"].astype(float).fillna(7)])
    model = lightgbm.LGBMRegressor(**ONE).fit(X, RISK, categorical_feature=[0, 2])
    tree = as_tree(model)
    assert [feature.kind for feature in tree.schema.features] == ["nominal", "numeric", "nominal"]
    agree(tree, model, X)
    table = Table.from_arrays(X, RISK, categorical_features=[0, 2])
    agree(as_tree(model, table.schema), model, X)
    with pytest.raises(
        SchemaMismatch, match=r"splits column 'x[02]' into sets .* numeric. .*categorical_features"
    ):
        as_tree(model, Table.from_arrays(X, RISK).schema)


def test_an_ordered_column_is_split_between_its_categories() -> None:
    grades = pd.Categorical(["low", "mid", "high"], ["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame(
        {"ward": FRAME["ward"], "grade": grades[np.arange(len(FRAME)) % 3], "age": FRAME["age"]}
    )
    y = RISK + 3.0 * (frame["grade"].cat.codes > 0)
    model = lightgbm.LGBMRegressor(**ONE).fit(frame, y)
    table = Table.from_arrays(frame, y)
    tree = as_tree(model, table.schema)
    assert set(tree.threshold[tree.feature == 1]) <= {0.5, 1.5}
    agree(tree, model, frame)
    with pytest.raises(
        SchemaMismatch, match=r"2 categorical columns, and splits 1 .* 'ward'. .*give the schema"
    ):
        as_tree(model)
    features = (
        *table.schema.features[:1],
        Feature("grade", "ordered", 0, 2, ("high", "low", "mid")),
        Feature("age"),
    )
    with pytest.raises(
        SchemaMismatch, match=r"orders the categories of column 'grade' as 'low', 'mid', 'high', "
    ):
        as_tree(model, Schema(features))


def test_spaces_that_lightgbm_made_underscores_are_found_again_in_the_schema() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lightgbm.LGBMClassifier(**ONE).fit(CELL_FRAME, MALIGNANT)
    agree(as_tree(model, Table.from_arrays(CELL_FRAME, MALIGNANT).schema), model, CELL_FRAME)
    assert "mean_radius" in as_tree(model).schema.names


@pytest.mark.parametrize("objective", ["binary", "regression", "cross_entropy"])
def test_a_booster_is_read_like_a_model_and_numbers_its_classes(objective: str) -> None:
    parameters = {"objective": objective, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(with_gaps(CELLS), MALIGNANT), 1)
    for each in (booster, lightgbm.Booster(model_str=booster.model_to_string())):
        tree = as_tree(each)
        assert tree.schema.target.classes == ((0, 1) if objective == "binary" else ())
        predicted = tree.predict_proba(CELLS)[:, 1] if objective == "binary" else tree.predict(CELLS)
        assert predicted == pytest.approx(each.predict(CELLS), abs=1e-12)


def test_the_categories_of_a_frame_survive_in_a_saved_booster() -> None:
    booster = lightgbm.LGBMRegressor(**ONE).fit(FRAME, RISK).booster_
    loaded = lightgbm.Booster(model_str=booster.model_to_string())
    assert as_tree(loaded).predict(FRAME) == pytest.approx(booster.predict(FRAME), abs=1e-12)


def test_only_the_rounds_up_to_the_best_one_count() -> None:
    X, y = CELLS[::2], np.random.default_rng(0).integers(0, 2, len(CELLS[::2]))
    stopping = lightgbm.early_stopping(2, verbose=False)
    model = lightgbm.LGBMClassifier(**{**ONE, "n_estimators": 30, "learning_rate": 3.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # eval_set has another name in newer versions
        model.fit(X, y, eval_set=[(CELLS[1::2], 1 - y[: len(CELLS[1::2])])], callbacks=[stopping])
    assert len(forest_trees(model)) == model.best_iteration_
    assert sum(tree.predict(X) for tree in forest_trees(model)) == pytest.approx(
        model.predict(X, raw_score=True)
    )


# -- what is known of the nodes ----------------------------------------------------------------------------


def test_ranges_counts_and_importances_are_those_of_lightgbm() -> None:
    frame = FRAME[["age", "visits"]]
    model = lightgbm.LGBMRegressor(**ONE, num_leaves=9).fit(frame, RISK)
    tree = as_tree(model)
    assert tree.schema.features[0] == Feature("age", "numeric", frame["age"].min(), frame["age"].max())
    assert tree.count[0] == tree.weight[0] == len(frame)
    assert sorted(tree.count[tree.feature == -1]) == sorted(
        np.bincount(tree.apply(frame))[tree.feature == -1]
    )
    assert tree.value[0, 0] == pytest.approx(tree.predict(frame).mean())
    gain = model.booster_.feature_importance("gain")
    assert tree.importances == pytest.approx(gain / gain.sum())


def test_a_missing_value_where_none_was_in_training_is_read_as_zero() -> None:
    X = np.linspace(-1, 1, 100)[:, None]
    for cut in (-0.5, 0.5):
        model = lightgbm.LGBMRegressor(**ONE, num_leaves=2).fit(X, (X[:, 0] > cut).astype(float))
        assert as_tree(model).predict([[np.nan]]) == pytest.approx(model.predict([[np.nan]]))


def test_zero_as_missing_is_read_where_a_threshold_can_say_it() -> None:
    X = np.linspace(-1, 1, 101)[:, None]
    X[30:60] = 0.0
    same_side = (X[:, 0] > 0.5).astype(float)
    model = lightgbm.LGBMRegressor(**ONE, num_leaves=2, zero_as_missing=True).fit(X, same_side)
    agree(as_tree(model), model, np.concatenate([X, [[np.nan]]]))
    apart = np.where(X[:, 0] == 0, 1.0, same_side)
    model = lightgbm.LGBMRegressor(**ONE, num_leaves=2, zero_as_missing=True).fit(X, apart)
    with pytest.raises(
        DataError, match=r"sends 0 in column 'x0' right as a missing value.*zero_as_missing=False"
    ):
        as_tree(model)


# -- many trees --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("boosting", ["gbdt", "dart", "goss", "rf"])
def test_the_raw_scores_of_all_trees_add_up_to_the_raw_prediction(boosting: str) -> None:
    y = split_in_two(RISK)
    bags = {"bagging_fraction": 0.5, "bagging_freq": 1} if boosting == "rf" else {}
    model = lightgbm.LGBMClassifier(**{**ONE, "n_estimators": 7, "boosting_type": boosting, **bags}).fit(
        FRAME, y
    )
    raw = model.predict(FRAME, raw_score=True)
    for trees in (forest_trees(model), forest_trees(model, schema_of(FRAME, y))):
        assert len(trees) == 7
        assert base_score(model)[0] + sum(tree.predict(FRAME) for tree in trees) == pytest.approx(
            raw, abs=1e-12
        )
        assert trees[0].schema.target.name == "raw score"
        assert not trees[0].schema.target.is_classes


def test_of_several_classes_each_round_has_a_tree_for_each() -> None:
    X, species = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[species]
    model = lightgbm.LGBMClassifier(**{**ONE, "n_estimators": 2}).fit(X, y)
    trees = forest_trees(model)
    raw = base_score(model) + np.column_stack(
        [sum(tree.predict(X) for tree in trees[k::3]) for k in range(3)]
    )
    assert raw == pytest.approx(model.predict(X, raw_score=True), abs=1e-12)
    assert trees[4].notes == (
        "Tree 5 of 6: its values are raw scores for the class 'versicolor', which the model adds up.",
    )
    one_round = lightgbm.LGBMClassifier(**ONE).fit(X, y)
    with pytest.raises(
        TypeError, match=r"holds 3 trees, and as_tree reads one. forest_trees\(model, schema\)"
    ):
        as_tree(one_round)


# -- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [as_tree, forest_trees, base_score])
def test_an_unfitted_model_is_refused(read: Any) -> None:
    with pytest.raises(NotFittedError):
        read(lightgbm.LGBMClassifier())


def test_a_model_without_trees_or_without_a_second_class_is_refused() -> None:
    untrained = lightgbm.Booster({"verbose": -1}, lightgbm.Dataset(PATIENTS, PROGRESSION))
    with pytest.raises(DataError, match=r"Booster holds no tree: train it"):
        as_tree(untrained)
    model = lightgbm.LGBMClassifier(**ONE).fit(PATIENTS, ["yes"] * len(PATIENTS))
    with pytest.raises(
        DataError, match=r"scores for 2 classes and knows 'yes': fit it on rows of all classes"
    ):
        as_tree(model)


def test_linear_trees_and_foreign_objectives_are_refused() -> None:
    linear = lightgbm.LGBMRegressor(**{**ONE, "n_estimators": 2}, linear_tree=True).fit(PATIENTS, PROGRESSION)
    with pytest.raises(DataError, match=r"linear functions .* linear_tree=False"):
        forest_trees(linear)

    def squared(y: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return score - y, np.ones_like(y)

    own = lightgbm.LGBMRegressor(**ONE, objective=squared).fit(PATIENTS, PROGRESSION)
    with pytest.raises(DataError, match=r"objective 'custom', .*forest_trees"):
        as_tree(own)
    assert forest_trees(own)[0].predict(PATIENTS) == pytest.approx(own.predict(PATIENTS), abs=1e-12)


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
            r"predicts the classes 'no', 'yes', and .* 'f', 'm'",
        ),
        (
            Schema((Feature("age", "nominal", categories=("a", "b")),)),
            r"column 'age' with a number, .* nominal",
        ),
    ],
)
def test_a_schema_that_cannot_hold_the_model_is_refused(schema: Schema, message: str) -> None:
    model = lightgbm.LGBMClassifier(**ONE).fit(FRAME[["age"]], split_in_two(RISK))
    if "nominal" in message:
        schema = Schema(schema.features, Target(classes=("no", "yes")))
    with pytest.raises(SchemaMismatch, match=message):
        as_tree(model, schema)


def test_categories_that_the_schema_codes_otherwise_are_refused() -> None:
    model = lightgbm.LGBMRegressor(**ONE).fit(FRAME[["ward"]], RISK)
    schema = Schema((Feature("ward", "nominal", categories=(0, 1, 2)),))
    with pytest.raises(
        SchemaMismatch, match=r"has the categories 'ICU', .* of column 'ward', .* none of them: 0"
    ):
        as_tree(model, schema)
