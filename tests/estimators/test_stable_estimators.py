"""The stable estimators as their users meet them: data of every kind, choices, marks, tools and mistakes."""

import pickle
import re
import warnings
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import sklearn
from patients import DAYS, NUMBERS, PATIENTS, STAY
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from holdfast.data.table import Table
from holdfast.distance.distance import tree_distance
from holdfast.errors import DataError, DataWarning, HoldfastError, ParameterError
from holdfast.estimators.base import build_estimator
from holdfast.estimators.stable import StableTreeClassifier, StableTreeRegressor
from holdfast.exports.sklearn import to_sklearn
from holdfast.io.model_file import load, save
from holdfast.stable.selection import SelectionRule
from holdfast.stable.settings import StabilitySettings
from holdfast.stable.train import train
from holdfast.tree.tree import Tree

SEEN = PATIENTS.fillna({"bmi": 26.0})
YEAR = np.arange(60) // 12 + 2015
WHO = np.arange(60) // 2


def classifier(**parameters: Any) -> StableTreeClassifier:
    return build_estimator(
        StableTreeClassifier, **{"method": "bootstrap", "n_estimators": 8, "max_depth": 3, **parameters}
    )


def regressor(**parameters: Any) -> StableTreeRegressor:
    return build_estimator(
        StableTreeRegressor, **{"method": "bootstrap", "n_estimators": 8, "max_depth": 3, **parameters}
    )


@cache
def fitted() -> StableTreeClassifier:
    """For tests that only look at it."""
    return classifier(n_estimators=30).fit(PATIENTS, STAY)


def tree_bits(tree: Tree) -> tuple[bytes, ...]:
    names = ("feature", "threshold", "left", "right", "in_set", "value", "weight")
    return tuple(getattr(tree, name).tobytes() for name in names)


def bits(model: Any) -> tuple[Any, ...]:
    trees = [model.tree_, *model.reference_trees_, *model.candidate_trees_]
    return ([tree_bits(tree) for tree in trees], model.frontier_.columns(), model.choice_)


# -- fit and predict --------------------------------------------------------------------------------------


def test_a_classifier_predicts_the_classes_of_the_chosen_tree():
    model = fitted()
    shares = model.predict_proba(PATIENTS)
    leaves = model.apply(PATIENTS)
    assert model.classes_.tolist() == ["long", "short"]
    assert np.array_equal(shares, model.tree_.value[leaves])
    assert shares.sum(axis=1) == pytest.approx(np.ones(60))
    assert (model.predict(PATIENTS) == model.classes_[shares.argmax(axis=1)]).all()
    assert np.exp(model.predict_log_proba(PATIENTS)) == pytest.approx(shares)
    assert model.score(PATIENTS, STAY) == (model.predict(PATIENTS) == STAY).mean() > 0.7


def test_a_regressor_predicts_the_means_of_its_leaves():
    model = regressor().fit(PATIENTS, DAYS)
    leaves = model.apply(PATIENTS)
    for leaf in np.unique(leaves):
        # Leaf values come from all rows, so they are plain means.
        assert model.predict(PATIENTS)[leaves == leaf] == pytest.approx(DAYS[leaves == leaf].mean())
    assert model.score(PATIENTS, DAYS) > 0.3


def test_leaf_values_come_from_all_rows_unless_that_is_switched_off():
    model = fitted()
    leaves = model.apply(PATIENTS)
    for leaf in np.unique(leaves):
        assert model.tree_.value[leaf, 0] == pytest.approx((STAY == "long")[leaves == leaf].mean())
    assert model.tree_.weight[0] == 60
    grown = classifier(refit_leaves=False).fit(PATIENTS, STAY)
    assert grown.tree_.weight[0] < 60
    assert grown.tree_ is grown.candidate_trees_[grown.choice_.candidate]


def test_what_fit_leaves_behind_fits_together():
    model = fitted()
    assert len(model.reference_trees_) == len(model.candidate_trees_) == len(model.frontier_) == 30
    assert model.frontier_.efficient[model.choice_.candidate]
    distances = [
        tree_distance(model.tree_, tree, depth=3, label_weight=6.0).total for tree in model.reference_trees_
    ]
    assert model.instability_ == pytest.approx(np.mean(distances))
    assert (model.n_features_in_, model.n_classes_, model.n_outputs_) == (3, 2, 1)
    assert model.feature_names_in_.tolist() == ["age", "ward", "bmi"]
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert (model.get_depth(), model.get_n_leaves()) == (model.tree_.depth, model.tree_.n_leaves)
    assert model.rules() == model.tree_.rules()
    assert model.schema_ is model.tree_.schema
    assert "candidate" in str(model.choice_).lower()


def test_the_estimator_is_the_pipeline():
    model = classifier(random_state=5, tolerance=0.0).fit(PATIENTS, STAY)
    seed = int(np.random.RandomState(5).randint(2**32, dtype=np.uint32))
    table = Table.from_arrays(PATIENTS, STAY)
    trained = train(
        table, StabilitySettings(method="bootstrap", rules=model._rules(), n_estimators=8, seed=seed)
    )
    assert model.frontier_.columns() == trained.frontier.columns()


@pytest.mark.parametrize(
    "form",
    [
        lambda frame: frame,
        lambda frame: pl.DataFrame({name: frame[name].tolist() for name in frame}),
        lambda frame: pl.DataFrame({name: frame[name].tolist() for name in frame}).lazy(),
        lambda frame: pa.table({name: frame[name].tolist() for name in frame}),
        lambda frame: frame.to_numpy(object),
        lambda frame: frame.to_numpy(object).tolist(),
    ],
    ids=["pandas", "polars", "lazy polars", "pyarrow", "objects", "lists"],
)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "with a row without weight"])
def test_every_form_of_data_gives_the_same_tree(form: Any, weighted: bool):
    weight = np.arange(60) % 4 if weighted else None
    # By name they come in the order in which they stand, as columns without names do.
    seen = SEEN.set_axis(["age", "bed", "bmi"], axis=1)
    expected = classifier().fit(seen, STAY, sample_weight=weight)
    model = classifier().fit(form(seen), STAY.tolist(), sample_weight=weight)
    assert bits(model) == bits(expected)
    assert (model.predict(form(seen)) == expected.predict(seen)).all()


def test_labels_keep_their_type():
    for y in ((STAY == "long").to_numpy(), (STAY == "long").astype(np.int8) + 3, STAY.astype("category")):
        model = classifier(n_estimators=3).fit(PATIENTS, y)
        predicted = model.predict(PATIENTS)
        assert set(predicted.tolist()) <= set(np.asarray(y).tolist())
        assert model.classes_.tolist() == sorted(set(np.asarray(y).tolist()))


def test_columns_of_a_frame_are_found_by_name():
    turned = PATIENTS[["bmi", "age", "ward"]]
    assert (fitted().predict(turned) == fitted().predict(PATIENTS)).all()
    with pytest.raises(DataError, match="bmi"):
        fitted().predict(PATIENTS[["age", "ward"]])


def test_missing_only_at_prediction_and_unseen_categories_go_a_known_way():
    model = classifier(n_estimators=20).fit(SEEN, STAY)
    gaps = SEEN.assign(age=np.nan, bmi=np.nan)
    assert set(model.predict(gaps)) <= {"long", "short"}
    strange = SEEN.assign(ward="Z")
    if "ward" in model.rules():
        with pytest.warns(DataWarning, match="Z"):
            model.predict(strange)
    with pytest.raises(DataError, match="age"):
        classifier(handle_missing="error").fit(SEEN, STAY).predict(gaps)
    with pytest.raises(DataError, match=r"ward|Z"):
        classifier(handle_unknown="error").fit(SEEN[["ward"]], STAY).predict(strange[["ward"]])


# -- the choice -------------------------------------------------------------------------------------------


def test_choosing_moves_along_the_frontier_without_growing():
    model = clone(fitted()).fit(PATIENTS, STAY)
    trees, frontier = model.candidate_trees_, model.frontier_
    score, instability = frontier.score, frontier.instability
    assert model.choose("best-score") is model
    assert score[model.choice_.candidate] == score.max()
    assert model.choose("most-stable").instability_ == instability.min()
    assert model.candidate_trees_ is trees
    for rule in ("best-score", "most-stable", "knee", "within-tolerance"):
        model.choose(rule)
        assert model.tree_ is trees[model.choice_.candidate]
        assert model.get_n_leaves() == frontier.n_leaves[model.choice_.candidate]
        assert model.predict(PATIENTS).tolist() == model.tree_.predict(PATIENTS).tolist()


def test_a_choice_is_what_a_fit_with_these_parameters_would_choose():
    model = classifier().fit(PATIENTS, STAY)
    for rule in (
        {"selection_rule": "within-tolerance", "tolerance": 0.2, "tolerance_unit": "relative"},
        {"selection_rule": "weighted", "instability_weight": 0.01},
    ):
        assert classifier(**rule).fit(PATIENTS, STAY).choice_ == model.choose(**rule).choice_


@pytest.mark.parametrize("method", ["consensus", "bootstrap"])
def test_choices_leave_nothing_behind(method: str):
    model = classifier(method=method).fit(PATIENTS, STAY)
    before, state, parameters = bits(model), set(vars(model)), model.get_params()
    choice, last = model.choice_, len(model.frontier_) - 1
    for moved in (
        model.choose(candidate=last),
        model.choose("most-stable"),
        model.choose(tolerance=0.5, tolerance_unit="absolute"),
        model.choose(instability_weight=0.3),
    ):
        assert moved.get_params() == parameters
        assert moved.frontier_.chosen == moved.choice_.candidate
    model.choose()
    assert (bits(model), set(vars(model)), model.choice_) == (before, state, choice)


def test_a_candidate_is_taken_by_its_number_and_kept_in_the_file(tmp_path: Path):
    model = classifier().fit(PATIENTS, STAY).choose(candidate=7)
    assert model.tree_ is model.candidate_trees_[7]
    assert model.instability_ == model.frontier_.instability[7]
    assert " 7 *" in repr(model.frontier_)
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert (again.choice_, again.frontier_.chosen) == (model.choice_, 7)
    assert repr(again.frontier_) == repr(model.frontier_)
    with pytest.raises(ParameterError, match="leave out 'instability_weight'"):
        model.choose(candidate=3, instability_weight=0.1)


def test_a_choice_that_cannot_be_made_changes_nothing():
    model = classifier().fit(PATIENTS, STAY)
    before, parameters = bits(model), model.get_params()
    for selection_rule in (
        {"selection_rule": "best"},
        {"selection_rule": "weighted"},
        {"tolerance": -1.0},
        {"tolerance_unit": "%"},
    ):
        with pytest.raises(ParameterError, match=next(iter(selection_rule))):
            model.choose(**selection_rule)
    assert (bits(model), model.get_params()) == (before, parameters)


def test_nothing_can_be_asked_of_a_model_that_is_not_fitted():
    for ask in ("choose", "split_support", "feature_use", "rules", "get_depth"):
        with pytest.raises(NotFittedError):
            getattr(classifier(), ask)()
    with pytest.raises(NotFittedError):
        classifier().predict(PATIENTS)


def test_split_support_and_the_use_of_features_speak_of_the_collections():
    model = fitted()
    found = model.split_support()
    assert len(found) == model.get_n_leaves() - 1
    roots = [tree.feature[0] for tree in model.reference_trees_]
    assert found[0].references == pytest.approx(np.mean(np.array(roots) == model.tree_.feature[0]))
    uses = model.feature_use()
    assert {use.name for use in uses} == {"age", "ward", "bmi"}
    trees = [*model.reference_trees_, *model.candidate_trees_]
    age = next(use for use in uses if use.name == "age")
    assert age.anywhere == pytest.approx(np.mean([0 in tree.feature for tree in trees]))


# -- stages, groups, early data ---------------------------------------------------------------------------


def test_early_data_apart_are_a_first_stage():
    early, late = PATIENTS[:25], PATIENTS[25:]
    apart = classifier().fit(late, STAY[25:], X_early=early, y_early=STAY[:25])
    staged = classifier().fit(PATIENTS, STAY, stage=np.arange(60) >= 25)
    assert bits(apart) == bits(staged)
    frames = [pl.DataFrame({name: part[name].tolist() for name in part}) for part in (SEEN[25:], SEEN[:25])]
    labels = [pl.Series("stay", STAY[25:].tolist()), pl.Series("stay", STAY[:25].tolist())]
    of_polars = classifier().fit(frames[0], labels[0], X_early=frames[1], y_early=labels[1])
    assert bits(of_polars) == bits(classifier().fit(SEEN, STAY, stage=np.arange(60) >= 25))
    of_arrays = regressor().fit(
        NUMBERS[25:], DAYS[25:].tolist(), X_early=NUMBERS[:25], y_early=DAYS[:25].tolist()
    )
    assert bits(of_arrays) == bits(regressor().fit(NUMBERS, DAYS, stage=np.arange(60) >= 25))


def test_early_data_apart_leave_the_target_its_name():
    model = classifier().fit(
        PATIENTS[25:], STAY[25:].rename("stay"), X_early=PATIENTS[:25], y_early=STAY[:25]
    )
    assert model.schema_.target.name == STAY.name


@pytest.mark.parametrize("kind", ["pandas", "lists"])
def test_a_holdout_of_one_s_own_is_what_candidates_are_scored_on(kind: str):
    rows, labels = (
        (PATIENTS, STAY) if kind == "pandas" else (PATIENTS.to_numpy(object).tolist(), STAY.tolist())
    )
    holdout = {"X_holdout": rows[40:], "y_holdout": labels[40:]}
    model = classifier(method="paper", scoring="accuracy").fit(rows[:40], labels[:40], **holdout)
    held_out, truth = PATIENTS[40:], STAY[40:].to_numpy()
    for tree, score in zip(model.candidate_trees_, model.frontier_.score, strict=True):
        said = tree.predict(held_out if kind == "pandas" else held_out.to_numpy(object))
        assert score == pytest.approx((np.asarray(said) == truth).mean())
    drawn = [
        [float(tree.weight[0]) for tree in trees]
        for trees in (model.candidate_trees_, model.reference_trees_)
    ]
    for sizes, n_rows in zip(drawn, (40, 20), strict=True):  # Poisson numbers
        assert np.mean(sizes) == pytest.approx(n_rows, abs=4 * np.sqrt(n_rows / len(sizes)))


def test_early_data_and_a_holdout_stand_before_and_after_the_others():
    weight = np.arange(60) % 3 + 1.0
    parts = {
        "X_early": PATIENTS[:20],
        "y_early": STAY[:20],
        "X_holdout": PATIENTS[45:],
        "y_holdout": STAY[45:],
    }
    model = classifier(method="paper").fit(PATIENTS[20:45], STAY[20:45], weight, groups=WHO, **parts)
    flags, stage = np.arange(60) >= 45, (np.arange(60) >= 20).astype(int)
    table = Table.from_arrays(PATIENTS, STAY, weight)
    settings = model._settings()
    trained = train(table, settings, stage=stage, groups=WHO, holdout=flags)
    assert model.frontier_.columns() == trained.frontier.columns()


def test_every_setting_is_a_parameter_by_its_name():
    values = {
        "method": "paper",
        "n_estimators": 3,
        "early_fraction": 0.4,
        "validation": 0.2,
        "scoring": "accuracy",
        "matching": "cover",
        "label_weight": 2.5,
        "teacher": "forest",
        "leaf_values": "labels",
        "tolerance": 0.5,
        "outcome": "distribution",
        "refit_leaves": False,
        "thresholds": "exact",
        "shrink_scores": False,
        "grid": {"max_depth": [2]},
        "learner": DecisionTreeClassifier(),
        "n_jobs": 2,
        "verbose": True,
    }
    settings = build_estimator(StableTreeClassifier, **values, random_state=7)._settings()
    assert {name: getattr(settings, name) for name in values} == values
    named = {each.name for each in fields(StabilitySettings)}
    assert named == {*values, "rules", "seed", "is_size_open", "is_depth_open", "shrinkage"}


@pytest.mark.parametrize("kind", [StableTreeClassifier, StableTreeRegressor])
def test_the_defaults_of_the_parameters_are_those_of_the_settings(kind: Any):
    parameters = {**kind()._stability_rules(), **kind().get_params(deep=False)}
    for declared in (*fields(StabilitySettings), *fields(SelectionRule)):
        made = ("rules", "seed", "is_size_open", "is_depth_open", "shrinkage", "candidate", "max_leaf_nodes")
        if declared.name not in made:
            assert parameters[declared.name] == declared.default


def test_weights_and_groups_run_over_the_early_rows_first():
    weight = np.arange(60) % 3
    marks = {"sample_weight": weight, "groups": WHO}
    apart = classifier().fit(PATIENTS[25:], STAY[25:], X_early=PATIENTS[:25], y_early=STAY[:25], **marks)
    staged = classifier().fit(PATIENTS, STAY, stage=np.arange(60) >= 25, **marks)
    assert bits(apart) == bits(staged)


def test_stages_may_be_years_dates_or_words():
    dates = np.array([f"{year}-06-30" for year in YEAR], "datetime64[D]")
    words = np.array(["first", "second", "third", "fourth", "fifth"])
    order = pd.Categorical(words[YEAR - 2015], words, ordered=True)
    expected = bits(classifier().fit(PATIENTS, STAY, stage=YEAR))
    for stage in (dates, pd.Series(dates), pl.Series(dates.astype(object).tolist()), pd.Series(order)):
        assert bits(classifier().fit(PATIENTS, STAY, stage=stage)) == expected


def test_groups_are_drawn_by_their_names_in_whatever_type_they_come():
    names = [f"patient {number:02d}" for number in WHO]
    one, other = (classifier().fit(PATIENTS, STAY, groups=groups) for groups in (WHO, names))
    for alike in (WHO.tolist(), pd.Series(WHO), WHO.astype(float), WHO.astype(np.uint8)):
        assert bits(one) == bits(classifier().fit(PATIENTS, STAY, groups=alike))
    for alike in (np.array(names), pd.Series(names), pd.Categorical(names)):
        assert bits(other) == bits(classifier().fit(PATIENTS, STAY, groups=alike))
    assert bits(one) != bits(other)
    assert bits(one) != bits(classifier().fit(PATIENTS, STAY))


@pytest.mark.parametrize("model", [classifier(), regressor()], ids=["classifier", "regressor"])
def test_a_row_without_weight_is_no_row_and_a_weight_is_as_many_rows(model: Any):
    y = STAY if isinstance(model, StableTreeClassifier) else DAYS
    weight = np.arange(60) % 4
    rows = np.repeat(np.arange(60), weight)
    weighted = clone(model).fit(PATIENTS, y, sample_weight=weight, stage=YEAR, groups=WHO)
    repeated = clone(model).fit(PATIENTS.iloc[rows], y.iloc[rows], stage=YEAR[rows], groups=WHO[rows])
    assert bits(weighted) == bits(repeated)
    assert weighted.schema_ == repeated.schema_


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(60)
    one = classifier().fit(PATIENTS, STAY, stage=YEAR, groups=WHO)
    other = classifier().fit(PATIENTS.iloc[order], STAY.iloc[order], stage=YEAR[order], groups=WHO[order])
    assert bits(one) == bits(other)


# -- bad marks and early data -----------------------------------------------------------------------------

EARLY = {"X_early": PATIENTS[:20], "y_early": STAY[:20]}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "X_early without y_early": ({"X_early": PATIENTS}, "X_early and y_early go together"),
    "y_early without X_early": ({"y_early": STAY}, "X_early and y_early go together"),
    "both X_early and a stage": ({**EARLY, "stage": YEAR}, "stage and X_early both say"),
    "X_early without names": (
        {"X_early": PATIENTS[:20].to_numpy(object), "y_early": STAY[:20]},
        "must have the same columns",
    ),
    "empty X_early": ({"X_early": PATIENTS[:0], "y_early": STAY[:0]}, "0 sample"),
    "short y_early": ({"X_early": PATIENTS[:20], "y_early": STAY[:19]}, r"\b[17]9\b"),
    "X_early lacks a column": ({"X_early": PATIENTS[:20][["age", "ward"]], "y_early": STAY[:20]}, "bmi"),
    "X_early has one more column": (
        {"X_early": PATIENTS[:20].assign(height=1.0), "y_early": STAY[:20]},
        "height",
    ),
    "X_holdout without y_holdout": ({"X_holdout": PATIENTS}, "X_holdout and y_holdout go together"),
    "a holdout without its method": ({"X_holdout": PATIENTS, "y_holdout": STAY}, "X_holdout is for method"),
    "weights of X alone": ({**EARLY, "sample_weight": np.ones(60)}, "sample_weight has 60 values.*80 rows"),
    "short stage": ({"stage": YEAR[:59]}, "stage has 59 values.*60 rows"),
    "long groups": ({"groups": np.arange(61)}, "groups has 61 values.*60 rows"),
    "one stage": ({"stage": np.full(60, 2020)}, "stage has one value"),
    "missing stage": ({"stage": np.where(YEAR == 2015, np.nan, YEAR)}, "stage has 12 missing values"),
    "missing group": ({"groups": [None, *WHO[1:]]}, "groups has 1 missing values"),
    "a stage of two columns": ({"stage": np.ones((60, 2))}, "stage should be a 1d array"),
    "a name for a stage": ({"stage": "year"}, "stage is 'year': give one value for each row"),
    "negative weights": ({"sample_weight": -np.ones(60)}, "sample_weight has 60 negative"),
    "no weight": ({"sample_weight": np.zeros(60)}, "sample_weight is zero for every row"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_marks_and_early_data_are_refused_in_words(name: str):
    arguments, message = BAD[name]
    with pytest.raises(HoldfastError, match=message):
        classifier(n_estimators=2).fit(PATIENTS, STAY, **arguments)


def test_rows_of_x0_must_have_their_own_targets():
    # 20 + 60 rows and 60 + 20 targets: the sums agree, and every row would have another's target.
    with pytest.raises(DataError, match="20"):
        classifier(n_estimators=2).fit(PATIENTS, STAY[:20], X_early=PATIENTS[:20], y_early=STAY)


def test_arrays_of_other_widths_are_refused_in_words():
    with pytest.raises(DataError, match="column"):
        classifier(n_estimators=2).fit(NUMBERS, STAY.tolist(), X_early=NUMBERS[:, :1], y_early=STAY.tolist())


def test_whole_and_broken_numbers_of_polars_are_one_column():
    early = pl.DataFrame({"age": list(range(20, 40)), "bmi": [25.5] * 20})
    late = pl.DataFrame({"age": [number + 0.5 for number in range(20, 40)], "bmi": [24.5] * 20})
    y = pl.Series([0, 1] * 10)
    model = classifier(n_estimators=2).fit(late, y, X_early=early, y_early=y)
    assert model.schema_.features[0].high == 39.5


def test_bad_data_is_refused_as_everywhere():
    for X, y, message in (
        (PATIENTS[:0], STAY[:0], "0 sample"),
        (PATIENTS, STAY[:50], "60 in X and 50 in y"),
        (PATIENTS, DAYS + 0.5, "Unknown label type: continuous"),
        (NUMBERS[:, 0], STAY, "Expected 2D array"),
        (np.where(np.isnan(NUMBERS), np.inf, NUMBERS), STAY, "infinity"),
        (PATIENTS, STAY.where(PATIENTS["age"] > 30), "missing label"),
        (PATIENTS, None, "requires y"),
    ):
        with pytest.raises(DataError, match=message):
            classifier(n_estimators=2).fit(X, y)
    with pytest.raises(TypeError, match="toarray"):
        classifier(n_estimators=2).fit(scipy.sparse.csr_array(np.nan_to_num(NUMBERS)), STAY)
    with pytest.raises(TypeError, match=r"admitted.*date"):
        classifier(n_estimators=2).fit(PATIENTS.assign(admitted=pd.Timestamp("2020-01-01")), STAY)


# -- parameters -------------------------------------------------------------------------------------------

PARAMETERS: dict[str, Any] = {
    "method": "best",
    "max_depth": 0,
    "n_estimators": 0,
    "grid": [3],
    "learner": "tree",
    "criterion": "gin",
    "min_weight_fraction_leaf": 0.7,
    "min_impurity_decrease": -1.0,
    "max_features": 0,
    "class_weight": "even",
    "early_fraction": 1.0,
    "validation": 1,
    "scoring": "aux",
    "selection_rule": "best",
    "tolerance": -0.1,
    "tolerance_unit": "percent",
    "matching": "best",
    "label_weight": -1.0,
    "outcome": "value",
    "handle_unknown": "guess",
    "handle_missing": "guess",
    "n_jobs": 0,
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_out_of_range_is_refused_by_name(name: str):
    with pytest.raises((ParameterError, TypeError), match=name):
        classifier(**{"n_estimators": 2, name: PARAMETERS[name]}).fit(PATIENTS, STAY)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"max_depth": 3}, "max_depth"),
        ({"max_depth": []}, "max_depth"),
        ({"max_depth": [0]}, "max_depth=0"),
        ({"depth": [3]}, "'depth'"),
        ({"class_weight": ["even"]}, "class_weight='even'"),
    ],
)
def test_a_grid_out_of_range_is_refused_by_name(grid: Any, message: str):
    with pytest.raises(ParameterError, match=message):
        classifier(grid=grid).fit(PATIENTS, STAY)


def test_class_weights_speak_of_the_classes():
    with pytest.raises(ParameterError, match="typo"):
        classifier(class_weight={"typo": 2.0}).fit(PATIENTS, STAY)
    even = classifier(class_weight="balanced", n_estimators=20).fit(PATIENTS, STAY)
    assert even.tree_.value[0] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, np.int64(3)])
def test_the_same_seed_gives_the_same_bits(seed: Any):
    models = [classifier(random_state=seed).fit(PATIENTS, STAY) for _ in range(2)]
    assert bits(models[0]) == bits(models[1])


def test_generators_are_taken_as_seeds():
    for make in (np.random.RandomState, np.random.default_rng):
        one, same, later = make(3), make(3), make(3)
        first = bits(classifier(random_state=one).fit(PATIENTS, STAY))
        assert first == bits(classifier(random_state=same).fit(PATIENTS, STAY))
        classifier(random_state=later).fit(PATIENTS, STAY)
        assert first != bits(classifier(random_state=later).fit(PATIENTS, STAY))


def test_without_a_seed_every_fit_is_another():
    trees = [bits(classifier(random_state=None, max_depth=2).fit(PATIENTS, STAY)) for _ in range(2)]
    assert trees[0] != trees[1]


def test_jobs_do_not_matter():
    assert bits(classifier(n_jobs=2).fit(PATIENTS, STAY)) == bits(classifier().fit(PATIENTS, STAY))


def test_questions_and_categories_are_read_as_the_parameters_say():
    model = classifier(custom_features=["age > bmi * 2"], categorical_features=["ward"]).fit(PATIENTS, STAY)
    assert model.schema_.custom_features == ("age > bmi * 2",)
    assert model.feature_importances_.shape == (3,)


def test_learners_of_others_grow_the_trees():
    model = classifier(learner=DecisionTreeClassifier(max_leaf_nodes=3)).fit(NUMBERS[:, :1], STAY)
    assert max(tree.n_leaves for tree in model.candidate_trees_) <= 3
    with pytest.raises(ParameterError, match="ward"):
        classifier(learner=DecisionTreeClassifier()).fit(PATIENTS, STAY)


# -- progress ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("eager_progress")
def test_a_fit_is_silent_unless_progress_is_asked_for(capsys: pytest.CaptureFixture[str]):
    classifier().fit(PATIENTS, STAY)
    assert capsys.readouterr() == ("", "")
    classifier(verbose=True).fit(PATIENTS, STAY)
    shown = "".join(capsys.readouterr())
    for text in ("Reference trees", "Candidate trees", "Distances"):
        assert text in shown


def test_a_fit_on_sound_data_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier().fit(PATIENTS, STAY, stage=YEAR, groups=WHO, sample_weight=np.arange(60) % 3)
        regressor().fit(NUMBERS, DAYS)


def test_a_target_in_a_column_gives_one_warning():
    with pytest.warns(sklearn.exceptions.DataConversionWarning) as found:
        classifier(n_estimators=2).fit(PATIENTS, STAY.to_frame())
    assert [each.category for each in found].count(sklearn.exceptions.DataConversionWarning) == 1


# -- tools ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "y"), [(classifier(), STAY), (regressor(), DAYS)], ids=["classifier", "regressor"]
)
def test_copies_and_searches_of_scikit_learn(model: Any, y: Any):
    model = clone(model).fit(PATIENTS, y)
    copied = pickle.loads(pickle.dumps(model))
    assert bits(copied) == bits(model)
    assert copied.choose("most-stable").instability_ == model.frontier_.instability.min()
    assert cross_val_score(model, PATIENTS, y, cv=3, error_score="raise").mean() > 0.2
    grid = {"selection_rule": ["best-score", "most-stable"], "max_depth": [1, 3]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(PATIENTS, y)
    assert search.best_estimator_.selection_rule == search.best_params_["selection_rule"]
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(NUMBERS, y)
    assert pipeline.score(NUMBERS, y) > 0.3


def test_marks_are_routed_by_scikit_learn():
    with sklearn.config_context(enable_metadata_routing=True):
        model = classifier().set_fit_request(sample_weight=True, groups=True, stage=True)
        model.set_score_request(sample_weight=True)
        marks = {"sample_weight": np.ones(60), "groups": WHO, "stage": np.arange(60) % 3}
        scores = cross_val_score(model, PATIENTS, STAY, cv=3, params=marks, error_score="raise")
    assert scores.mean() > 0.5


def test_the_tree_is_saved_and_loaded(tmp_path: Any):
    path = tmp_path / "model.json"
    save(fitted(), path)
    assert tree_bits(load(path).tree_) == tree_bits(fitted().tree_)
    assert (load(path).predict(PATIENTS) == fitted().predict(PATIENTS)).all()


def test_no_training_row_is_kept():
    # A number that only one row has, in a column that no tree asks about: the schema must not show it.
    random = np.random.default_rng(2)
    X = random.normal(size=(150, 2))
    y = (X[:, 0] > 0).astype(int)
    X[:, 1] = np.arange(150)
    X[75, 1] = secret = 75.12345678912345
    model = classifier(max_features=None, max_depth=1).fit(X, y)
    assert {int(tree.feature[0]) for tree in model.candidate_trees_} == {0}
    assert np.float64(secret).tobytes() not in pickle.dumps(model)


def test_the_size_of_a_model_does_not_grow_with_the_rows():
    random = np.random.default_rng(2)
    sizes = []
    for n_rows in (500, 4000):
        X = random.normal(size=(n_rows, 2))
        model = classifier(max_depth=2, grid={"max_depth": [2], "min_samples_leaf": [20]}, validation=0.3)
        sizes.append(len(pickle.dumps(model.fit(X, (X[:, 0] > 0) ^ (X[:, 1] > 0)))))
    assert sizes[1] < 1.2 * sizes[0]


def test_the_tree_of_scikit_learn_predicts_the_same():
    ages = PATIENTS[["age"]]
    model = classifier().fit(ages, STAY)
    assert (to_sklearn(model).predict(ages) == model.predict(ages)).all()


# -- small and odd data -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
@pytest.mark.parametrize("n_rows", range(1, 13))
def test_a_handful_of_rows_makes_a_tree(n_rows: int):
    for validation in ("auto", 0.3):
        for seed in range(2):
            options = {"n_estimators": 4, "validation": validation, "random_state": seed}
            rows = PATIENTS[:n_rows]
            model = classifier(**options).fit(rows, STAY[:n_rows])
            assert set(model.predict(PATIENTS)) <= set(STAY[:n_rows])
            assert len(model.classes_) == STAY[:n_rows].nunique()
            assert np.isfinite(regressor(**options).fit(rows, DAYS[:n_rows]).predict(PATIENTS)).all()


def test_one_row_is_one_leaf_with_a_warning():
    with pytest.warns(DataWarning, match="one class"):
        model = classifier(n_estimators=2).fit([[1.0]], ["ill"])
    assert (model.get_n_leaves(), model.predict([[5.0]]).tolist()) == (1, ["ill"])


def test_one_class_is_one_leaf_with_one_warning():
    with pytest.warns(DataWarning, match="one class") as found:
        model = classifier(n_estimators=3).fit(NUMBERS, np.full(60, 3))
    assert len(found) == 1
    assert model.predict_proba(NUMBERS).tolist() == [[1.0]] * 60
    assert model.choose("knee").get_n_leaves() == 1


def test_noise_is_one_leaf_with_a_warning_unless_a_size_is_asked_for():
    rng = np.random.default_rng(4)
    X, noise = rng.normal(size=(200, 3)), rng.random(200) < 0.5
    with pytest.warns(DataWarning, match="Not clearly better than predicting the base rate") as found:
        model = StableTreeClassifier(teacher="linear", n_estimators=5).fit(X, noise)
    assert model.get_n_leaves() == 1
    # One wording: the warning, the reason and the tree say what was tested, on how many rows.
    finding = str(found[0].message)[1:]
    assert re.search(r"on 200 held-out rows \(association with the target: -?\d\.\d standard", finding)
    assert f"n{finding}" in model.choice_.reason
    assert f"n{finding}" in str(model)
    model.choose(max_leaf_nodes=4)
    assert model.get_n_leaves() > 1
    assert "base rate" in str(model.rules())
    true = StableTreeClassifier(teacher="linear", n_estimators=5).fit(X, X[:, 0] > 0)
    assert true.get_n_leaves() > 1
    assert "base rate" not in str(true.rules())


def test_a_tree_that_nothing_was_held_out_for_says_so():
    rng = np.random.default_rng(4)
    X, noise = rng.normal(size=(200, 3)), rng.random(200) < 0.5
    model = StableTreeClassifier(teacher="linear", n_estimators=5, validation=None).fit(X, noise)
    assert model.get_n_leaves() > 1
    words = "No rows were held out to judge the tree by"
    assert words in " ".join(str(model.tree_).split())
    assert words in " ".join(str(model.rules()).split())


def test_a_constant_target_is_its_mean():
    model = regressor(n_estimators=3).fit(NUMBERS, np.full(60, 2.5))
    assert model.predict(NUMBERS).tolist() == [2.5] * 60
    assert model.instability_ == 0.0


def test_constant_and_empty_columns_are_never_asked_about():
    frame = PATIENTS.assign(always=1.0, never=np.nan)
    with pytest.warns(DataWarning, match="always"):
        model = classifier().fit(frame, STAY)
    assert not any({3, 4} & set(tree.feature.tolist()) for tree in model.candidate_trees_)
    with pytest.warns(DataWarning):
        alone = classifier(n_estimators=2).fit(np.ones((20, 1)), [0, 1] * 10)
    assert alone.get_n_leaves() == 1


def test_sixty_rows_of_three_classes():
    three = np.where(PATIENTS["age"] > 60, "old", np.where(PATIENTS["age"] > 40, "mid", "young"))
    for scoring in (None, "accuracy", "log_loss", "brier", "balanced_accuracy"):
        model = classifier(scoring=scoring, n_estimators=12).fit(PATIENTS, three)
        assert model.classes_.tolist() == ["mid", "old", "young"]
        assert model.score(PATIENTS, three) > 0.8


def test_a_class_of_a_single_row_is_kept():
    rare = STAY.copy()
    rare[0] = "unique"
    model = classifier().fit(PATIENTS, rare)
    assert model.classes_.tolist() == ["long", "short", "unique"]
    assert model.predict_proba(PATIENTS).shape == (60, 3)
    assert all(tree.value.shape[1] == 3 for tree in model.candidate_trees_)


def test_clashing_labels_of_equal_rows_end_in_one_leaf():
    model = classifier(n_estimators=4).fit(np.repeat([[0.0], [1.0]], 20, axis=0), [0, 1] * 20)
    assert model.predict_proba([[0.0]]).tolist() == [[0.5, 0.5]]


def test_a_tolerance_asks_for_its_rule_and_so_does_gamma():
    model = StableTreeClassifier(method="bootstrap", n_estimators=20, max_depth=3).fit(
        *load_breast_cancer(return_X_y=True)
    )
    assert model.choose(instability_weight=0.001).choice_.selection_rule == "weighted"
    assert model.choose(tolerance=0.05).choice_.selection_rule == "within-tolerance"
    assert model.choose("knee").choose(tolerance_unit="relative").choice_.selection_rule == "within-tolerance"


def test_what_a_notebook_shows_is_short():
    model = StableTreeClassifier(method="bootstrap", n_estimators=20, max_depth=3).fit(
        *load_breast_cancer(return_X_y=True)
    )
    assert repr(model.choice_).startswith(f"Candidate {model.choice_.candidate}. It is")
    assert "AUC" in repr(model.frontier_)
    assert repr(model.trained_).startswith("<StableTrees: 20 reference trees, 20 candidates, ")
    assert model.split_support()[0].split[:10] in repr(model.split_support())
    assert "importance" in repr(model.feature_use())
