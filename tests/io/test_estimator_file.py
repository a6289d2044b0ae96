"""An estimator comes back from its file as it was saved."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from holdfast import (
    C45,
    BoostingClassifier,
    DensityTree,
    ForestClassifier,
    ForestRegressor,
    StableTreeClassifier,
    TreeClassifier,
    TreeRegressor,
    load,
    load_model,
    load_trees,
    save,
)
from holdfast.errors import ModelFileError, ModelFileWarning
from holdfast.io.document import decode_array
from holdfast.io.estimator import ESTIMATORS
from holdfast.io.model_file import model_from_json, model_to_json
from reference.every_estimator import CLASSIFIERS, REGRESSORS, bytes_of

DICE = np.random.default_rng(0)
PATIENTS = pd.DataFrame(
    {
        "age": DICE.normal(50, 10, 120).round(1),
        "ward": pd.Categorical(DICE.choice(["east", "north", "west"], 120)),
        "lactate": np.where(DICE.random(120) < 0.1, np.nan, DICE.normal(2, 1, 120)),
    }
)
STAY = np.where(PATIENTS["age"] + 5 * (PATIENTS["ward"] == "west") > 52, "long", "short")
DAYS = (PATIENTS["age"] / 10 + DICE.random(120)).to_numpy()


def again(model: Any) -> Any:
    """The model after a journey through its file."""
    return model_from_json(model_to_json(model))


# -- every estimator --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "y"),
    [*((make, STAY) for make in CLASSIFIERS.values()), *((make, DAYS) for make in REGRESSORS.values())],
    ids=[*CLASSIFIERS, *(f"{name}, numbers" for name in REGRESSORS)],
)
def test_every_estimator_comes_back_as_it_was(make: Callable[[], Any], y: Any) -> None:
    model = make().fit(PATIENTS, y)
    data = model_to_json(model)
    loaded = model_from_json(data)
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert loaded.feature_names_in_.tolist() == ["age", "ward", "lactate"]
    assert (loaded.n_features_in_, loaded.n_outputs_) == (3, 1)
    assert bytes_of(loaded) == bytes_of(model)
    for method in ("predict", "apply", "predict_proba", "decision_function", "score_samples"):
        if hasattr(model, method):
            assert np.array_equal(getattr(loaded, method)(PATIENTS), getattr(model, method)(PATIENTS))
    assert loaded.score(PATIENTS, y) == model.score(PATIENTS, y)
    if hasattr(model, "rules"):
        assert loaded.rules() == model.rules()
    if hasattr(model, "classes_"):
        assert loaded.classes_.tolist() == model.classes_.tolist()
        assert (loaded.classes_.dtype, loaded.n_classes_) == (model.classes_.dtype, model.n_classes_)
    assert np.array_equal(loaded.feature_importances_, model.feature_importances_)
    assert model_to_json(loaded) == data


def test_there_is_no_other_estimator() -> None:
    import holdfast

    public = [getattr(holdfast, name) for name in holdfast.__all__]
    assert {kind for kind in public if hasattr(kind, "fit")} == set(ESTIMATORS.values())


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1], np.int8),
        np.array([3, 2**40]),
        np.array([-1.0, 1.0], np.float32),
        np.array([False, True]),
        np.array(["a", "bcd"]),
        np.array(["a", "bcd"], object),
        np.array([1, "one"], object),
    ],
    ids=lambda labels: f"{labels.dtype} {str(labels[1])[:8]}",
)
def test_classes_come_back_in_their_own_type(labels: np.ndarray) -> None:
    model = TreeClassifier().fit(PATIENTS[["age"]], labels[(STAY == "long").astype(int)])
    predicted = again(model).predict(PATIENTS[["age"]])
    assert predicted.tolist() == model.predict(PATIENTS[["age"]]).tolist()
    assert [type(label) for label in predicted[:9]] == [
        type(label) for label in model.predict(PATIENTS[["age"]])[:9]
    ]


def test_long_classes_share_no_width() -> None:
    """numpy would give each label the room of the longest."""
    model = TreeClassifier().fit(PATIENTS[["age"]], np.where(STAY == "long", "a", "b" * 5000))
    loaded = again(model)
    assert loaded.classes_.dtype == object
    assert loaded.predict(PATIENTS[["age"]]).tolist() == model.predict(PATIENTS[["age"]]).tolist()


def test_an_estimator_without_names_has_none_after_it() -> None:
    model = again(TreeRegressor().fit(PATIENTS[["age"]].to_numpy(), DAYS))
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "classes_")


def test_a_loaded_estimator_can_be_fitted_anew() -> None:
    model = again(StableTreeClassifier(method="bootstrap", n_estimators=3, max_depth=3).fit(PATIENTS, STAY))
    model.fit(PATIENTS[["age"]], STAY)
    assert model.choose("best-score").n_features_in_ == 1
    assert len(model.candidate_trees_) == 3


# -- parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"class_weight": {"long": 2, "short": 0.5}},
        {"class_weight": {"long": np.float64(2.0)}, "max_depth": np.int64(3)},
        {"growth_rules": C45},
        {"growth_rules": C45.replace(class_weight={"long": 3.0}, max_features="sqrt")},
        {"custom_features": ["age ** 2 > 2500", "ward == 'west' and age > 60"]},
        {"categorical_features": [False, True, False], "max_features": 1.0},
        {"scoring": "neg_brier_score", "ccp_alpha": "cv", "random_state": 2**32 - 1},
    ],
    ids=str,
)
def test_plain_parameters_are_kept(parameters: dict[str, Any]) -> None:
    model = TreeClassifier(**parameters).fit(PATIENTS, STAY)
    assert again(model).get_params() == model.get_params()


def test_a_grid_is_kept() -> None:
    model = StableTreeClassifier(
        method="bootstrap", n_estimators=4, grid={"max_depth": [2, 3], "criterion": ["gini", "entropy"]}
    )
    assert again(model.fit(PATIENTS, STAY)).grid == model.grid


def accuracy(model: Any, X: Any, y: Any) -> float:
    return float(np.mean(model.predict(X) == y))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scoring", accuracy),
        ("random_state", np.random.RandomState(0)),
        ("min_impurity_decrease", float("inf")),
        ("class_weight", {("a", None): 1.0}),
        ("growth_rules", {"max_depth": 3}),
        ("cv", 2**70),
    ],
    ids=["scoring", "random_state", "min_impurity_decrease", "class_weight", "growth_rules", "cv"],
)
def test_a_parameter_that_json_cannot_hold_is_left_out_with_a_warning(name: str, value: Any) -> None:
    model = TreeClassifier().fit(PATIENTS, STAY).set_params(**{name: value})
    with pytest.warns(ModelFileWarning, match=f"does not hold the parameters '{name}' of the TreeClassifier"):
        data = model_to_json(model)
    assert json.loads(data)["estimator"]["left_out"] == [name]
    assert model_from_json(data).get_params() == TreeClassifier().get_params()


# -- what fit left behind ---------------------------------------------------------------------------------


def test_the_choice_and_the_frontier_of_a_stable_tree_are_kept() -> None:
    model = StableTreeClassifier(method="bootstrap", n_estimators=6, max_depth=3).fit(PATIENTS, STAY)
    loaded = again(model)
    assert loaded.choice_ == model.choice_
    assert loaded.instability_ == model.instability_
    assert repr(loaded.frontier_) == repr(model.frontier_)
    assert loaded.frontier_.columns() == model.frontier_.columns()
    assert loaded.frontier_.n_leaves.dtype == model.frontier_.n_leaves.dtype
    assert loaded.frontier_.metric == model.frontier_.metric


@pytest.mark.parametrize("leaf_values", ["teacher", "labels"])
def test_a_consensus_tree_is_kept_with_what_it_lost_of_the_teacher(leaf_values: str) -> None:
    model = StableTreeClassifier(
        n_estimators=6, max_leaf_nodes=4, teacher="linear", leaf_values=leaf_values, tolerance=0.03
    ).fit(PATIENTS, STAY)
    loaded = again(model)
    assert loaded.get_params() == model.get_params()
    assert (loaded.choice_, repr(loaded.frontier_)) == (model.choice_, repr(model.frontier_))
    assert loaded.frontier_.teacher_loss.tolist() == model.frontier_.teacher_loss.tolist()
    assert np.array_equal(loaded.predict_proba(PATIENTS), model.predict_proba(PATIENTS))


@pytest.mark.parametrize("teacher", [LogisticRegression(), ["forest", LogisticRegression()]], ids=str)
def test_a_teacher_that_others_wrote_is_left_out_with_a_warning(teacher: Any) -> None:
    model = StableTreeClassifier(method="bootstrap", n_estimators=3).fit(PATIENTS, STAY)
    model.set_params(teacher=teacher)
    with pytest.warns(ModelFileWarning, match="does not hold the parameters 'teacher' of the StableTree"):
        data = model_to_json(model)
    assert "teacher" in json.loads(data)["estimator"]["left_out"]
    assert model_from_json(data).teacher == "blend"


def test_weights_of_a_teacher_that_others_wrote_are_left_out_with_it() -> None:
    teacher = {"linear": 0.5, LogisticRegression(): 0.5}
    model = StableTreeClassifier(n_estimators=3, max_leaf_nodes=4, teacher=teacher, validation=None)
    with pytest.warns(ModelFileWarning, match="does not hold the parameters 'teacher' of the StableTree"):
        data = model_to_json(model.fit(PATIENTS, STAY))
    loaded = model_from_json(data)
    assert set(json.loads(data)["estimator"]["left_out"]) >= {"teacher", "teacher_weights_"}
    assert not hasattr(loaded, "teacher_weights_")
    assert np.array_equal(loaded.predict_proba(PATIENTS), model.predict_proba(PATIENTS))


def test_a_list_of_teachers_by_name_is_kept() -> None:
    model = StableTreeClassifier(method="bootstrap", n_estimators=3, teacher=["forest", "linear"])
    assert again(model.fit(PATIENTS, STAY)).teacher == ["forest", "linear"]


def test_the_frontier_of_a_scorer_that_others_wrote_keeps_its_name() -> None:
    model = StableTreeClassifier(method="bootstrap", n_estimators=3, max_depth=3, scoring=accuracy).fit(
        PATIENTS, STAY
    )
    with pytest.warns(ModelFileWarning, match="scoring"):
        loaded = again(model)
    assert repr(loaded.frontier_) == repr(model.frontier_)
    assert loaded.frontier_.metric.title == model.frontier_.metric.title


@pytest.mark.parametrize(
    ("ask", "lost"),
    [
        (lambda model: model.choose("knee"), "trained_"),
        (lambda model: model.split_support(), "reference_trees_"),
        (lambda model: model.feature_use(), "reference_trees_"),
        (lambda model: model.candidate_trees_, "candidate_trees_"),
    ],
    ids=["choose", "split_support", "feature_use", "candidate_trees_"],
)
def test_what_the_file_does_not_hold_is_said_by_name(ask: Callable[[Any], Any], lost: str) -> None:
    model = StableTreeClassifier(method="bootstrap", n_estimators=3, max_depth=3).fit(PATIENTS, STAY)
    loaded = model_from_json(model_to_json(model, references=False))
    with pytest.raises(NotFittedError, match=rf"StableTreeClassifier was loaded .* does not hold {lost}"):
        ask(loaded)
    assert not hasattr(loaded, lost)
    with pytest.raises(AttributeError, match="'StableTreeClassifier' object has no attribute 'nonsense_'"):
        _ = loaded.nonsense_


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_the_clusters_of_a_density_tree_are_kept(covariance: str) -> None:
    X = pd.concat([PATIENTS, PATIENTS.assign(age=PATIENTS["age"] + 100)], ignore_index=True)
    model = DensityTree(covariance=covariance).fit(X)
    loaded = again(model)
    assert loaded.n_clusters_ == model.n_clusters_ > 1
    assert loaded.evidence_ == model.evidence_
    for mine, theirs in zip(loaded.clusters_, model.clusters_, strict=True):
        assert (mine.fraction, mine.mean, mine.frequency) == (theirs.fraction, theirs.mean, theirs.frequency)
        assert np.array_equal(mine.covariance, theirs.covariance)
    assert np.array_equal(loaded.score_samples(X), model.score_samples(X))
    with pytest.raises(NotFittedError, match="does not hold labels_"):
        _ = loaded.labels_


@pytest.mark.parametrize(("kind", "y"), [(ForestClassifier, STAY), (ForestRegressor, DAYS)])
def test_what_is_known_of_a_forest_is_kept(kind: Any, y: Any) -> None:
    options = {"oob_score": True, "permutation_importance": True, "max_features": "oob", "random_state": 0}
    model = kind(20, **options).fit(PATIENTS, y)
    loaded = again(model)
    assert repr(loaded.importances_) == repr(model.importances_)
    assert loaded.importances_.columns() == model.importances_.columns()
    assert (loaded.oob_score_, loaded.max_features_) == (model.oob_score_, model.max_features_)
    assert np.array_equal(loaded.oob_curve_.scores, model.oob_curve_.scores, equal_nan=True)
    assert loaded.max_features_table_.columns() == model.max_features_table_.columns()
    rows = "oob_decision_function_" if y is STAY else "oob_prediction_"
    with pytest.raises(NotFittedError, match=f"does not hold {rows}"):
        getattr(loaded, rows)


@pytest.mark.parametrize(("name", "y"), [("ccp_alpha", STAY), ("max_depth", DAYS)])
def test_the_table_of_sizes_is_kept(name: str, y: Any) -> None:
    model = (TreeClassifier if y is STAY else TreeRegressor)(**{name: "cv-1se"}).fit(PATIENTS, y)
    loaded = again(model)
    assert getattr(loaded, f"{name}_") == getattr(model, f"{name}_")
    assert repr(loaded.size_table_) == repr(model.size_table_)
    assert loaded.size_table_.columns() == model.size_table_.columns()


def test_the_losses_of_boosting_are_kept() -> None:
    model = BoostingClassifier(n_estimators=5, subsample=0.5, early_stopping=True).fit(PATIENTS, STAY)
    loaded = again(model)
    assert loaded.n_estimators_ == model.n_estimators_
    for name in ("train_loss_", "validation_loss_", "oob_improvement_"):
        assert np.array_equal(getattr(loaded, name), getattr(model, name), equal_nan=True)


# -- files ------------------------------------------------------------------------------------------------


def test_the_tree_or_ensemble_in_the_file_is_there_without_the_estimator(tmp_path: Path) -> None:
    model = TreeClassifier(max_depth=2).fit(PATIENTS, STAY)
    save(model, tmp_path / "tree.json")
    assert model_to_json(load_model(tmp_path / "tree.json")) == model_to_json(model.tree_)
    assert [model_to_json(tree) for tree in load_trees(tmp_path / "tree.json")] == [
        model_to_json(model.tree_)
    ]
    forest = ForestClassifier(3, random_state=0).fit(PATIENTS, STAY)
    save(forest, tmp_path / "forest.json")
    assert len(load_model(tmp_path / "forest.json")) == len(load_trees(tmp_path / "forest.json")) == 3


def test_a_tree_alone_comes_back_as_a_tree(tmp_path: Path) -> None:
    tree = TreeClassifier(max_depth=2).fit(PATIENTS, STAY).tree_
    save(tree, tmp_path / "tree.json")
    assert "estimator" not in json.loads((tmp_path / "tree.json").read_text())
    assert model_to_json(load(tmp_path / "tree.json")) == model_to_json(tree)


def test_a_tree_alone_is_loaded_without_scikit_learn(tmp_path: Path) -> None:
    save(TreeClassifier(max_depth=2).fit(PATIENTS, STAY).tree_, tmp_path / "tree.json")
    load_it = f"import holdfast, sys; holdfast.load({str(tmp_path / 'tree.json')!r})"
    source = f"{load_it}; sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", source], check=True)


def test_every_parameter_stands_on_a_line_of_its_own() -> None:
    lines = model_to_json(TreeClassifier(max_depth=2).fit(PATIENTS, STAY)).decode().splitlines()
    assert '    "name": "TreeClassifier",' in lines
    assert '      "max_depth": 2,' in lines


# -- what is refused --------------------------------------------------------------------------------------


def edited(model: Any, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The file of the model after a change of its part on the estimator."""
    content = json.loads(model_to_json(model))
    change(content["estimator"])
    return json.dumps(content).encode()


TREE = TreeClassifier(max_depth=2).fit(PATIENTS, STAY)
FOREST = ForestClassifier(3, random_state=0).fit(PATIENTS, STAY)
SIZED = TreeClassifier(max_depth="cv").fit(PATIENTS, STAY)
STABLE = StableTreeClassifier(method="bootstrap", n_estimators=3, max_depth=3).fit(PATIENTS, STAY)
DENSITY = DensityTree(covariance="full").fit(PATIENTS)


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        (TREE, {"name": "os.system"}, r"its estimator is 'os.system', and there are: AdaBoostClassifier"),
        (TREE, {"name": "TreeRegressor", "parameters": {}}, r"is a TreeRegressor, and it has 2 classes"),
        (
            TREE,
            {"name": "ForestClassifier", "parameters": {}},
            r"is a ForestClassifier, and it holds one tree",
        ),
        (
            FOREST,
            {"name": "TreeClassifier", "parameters": {}},
            r"TreeClassifier, and it holds an ensemble",
        ),
        (FOREST, {"name": "AdaBoostClassifier", "parameters": {}}, r"its trees are not those of one"),
        (TREE, {"name": 3}, r"at estimator.name: Expected `str`, got `int`"),
        (TREE, {"parameters": {"__class__": "x"}}, r"its estimator has no parameter '__class__'"),
        (TREE, {"parameters": {"max_depth": {"a": 1}}}, r"Object contains unknown field `a`"),
        (
            TREE,
            {"parameters": {"loss_matrix": [[[1]]]}},
            r"at estimator.parameters\[...\]\[0\]\[0\]: Expected",
        ),
        (TREE, {"parameters": {"handle_unknown": "guess"}}, r"handle_unknown='guess' is unknown"),
        (TREE, {"parameters": {"n_jobs": 0}}, r"n_jobs=0 is out of range"),
        (FOREST, {"parameters": {"n_jobs": 10**9}}, r"n_jobs=1000000000 is beyond 4096"),
        (
            TREE,
            {"parameters": {"class_weight": {"keys": ["a", "a"], "values": [1, 2]}}},
            r"class_weight: each key must be there once",
        ),
        (
            TREE,
            {"parameters": {"growth_rules": {"keys": ["max_depth"], "values": [0]}}},
            r"growth_rules: max_depth=0 is out of range",
        ),
        (
            TREE,
            {"parameters": {"growth_rules": {"keys": ["shape"], "values": [0]}}},
            r"growth_rules: they are no GrowthRules",
        ),
        (TREE, {"label_type": "int64"}, r"classes cannot be of the type 'int64'"),
        (TREE, {"label_type": "O,O"}, r"'O,O' is no type of labels"),
        (TREE, {"label_type": ""}, r"is a TreeClassifier, and it has 2 classes"),
        (TREE, {"fitted": {"predict_": 1.0}}, r"unknown field `predict_`"),
        (TREE, {"fitted": {"ccp_alpha_": [1.0]}}, r"at estimator.fitted.ccp_alpha_: Expected `float`"),
        (TREE, {"fitted": {"oob_score_": 1.0}}, r"TreeClassifier, which has no attribute 'oob_score_'"),
        (TREE, {"fitted": {"oob_scores_": [True]}}, r"oob_scores_: its entries are of another kind"),
        (
            TREE,
            {"fitted": {"oob_curve_": {"n_estimators": [1], "scores": [0.5]}}},
            r"which has no attribute 'oob_curve_'",
        ),
        (
            TREE,
            {"fitted": {"choice_": {"candidate": 0, "selection_rule": "", "reason": ""}}},
            r"parts of it are those of another",
        ),
        (DENSITY, {"fitted": {}}, r"parts of it are those of another"),
        (TREE, {"fitted": 1}, r"at estimator.fitted: Expected `object`"),
        (TREE, {"trained": 1}, r"unknown field `trained`"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_an_unsound_estimator_is_refused(model: Any, change: dict[str, Any], message: str) -> None:
    data = edited(model, lambda part: part.update(change))
    with pytest.raises(ModelFileError, match=message):
        model_from_json(data, edited=True)


@pytest.mark.parametrize(
    ("model", "part", "change", "message"),
    [
        (STABLE, "choice_", {"candidate": 3}, r"its choice is candidate 3, and it has 3"),
        (STABLE, "choice_", {"candidate": -1}, r"at estimator.fitted.choice_.candidate"),
        (DENSITY, "density", {"fractions": [0.5]}, r"fractions do not sum to 1|fractions must be of"),
        (DENSITY, "density", {"scale": [1.0]}, r"scale must be of 2 numbers"),
        (DENSITY, "density", {"scale": [1.0, 0.0]}, r"must be above 0"),
        (DENSITY, "density", {"numeric": [2, 0]}, r"numeric must list features, each once and in order"),
        (DENSITY, "density", {"numeric": [0, 9]}, r"numeric must list features"),
        (DENSITY, "density", {"numeric": [0, 1]}, r"numeric lists features of the other kind"),
        (DENSITY, "density", {"covariance": [[1.0, 2.0, 2.0, 1.0]]}, r"eigenvalues above 0"),
        (DENSITY, "density", {"covariance": [[1.0, 0.5, 0.1, 1.0]]}, r"symmetric"),
        (DENSITY, "density", {"log_frequency": [[0.0, 0.0, 0.0]]}, r"frequencies do not sum to 1"),
        (DENSITY, "density", {"evidence": [[9, 1.0, 1.0, 1.0]]}, r"evidence is of nodes"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_an_unsound_part_is_refused(model: Any, part: str, change: dict[str, Any], message: str) -> None:
    data = edited(model, lambda estimator: estimator["fitted"][part].update(change))
    with pytest.raises(ModelFileError, match=message):
        model_from_json(data, edited=True)


@pytest.mark.parametrize(
    ("model", "column", "message"),
    [
        (STABLE, {"score": [0.5]}, "all columns must have as many entries"),
        (STABLE, {"score": [0.5, 0.5, None]}, "score: its entries are of another kind"),
        (STABLE, {"score": [[0.5], [0.5], [0.5]]}, "score: its entries are of another kind"),
        (STABLE, {"n_leaves": [3.0, 3.0, 3.0]}, "n_leaves: its entries are of another kind"),
        (STABLE, {"efficient": [1, 1, 1]}, "efficient: its entries are of another kind"),
        (STABLE, {"more": [1, 1, 1]}, "fitted.frontier_: Object contains unknown field `more`"),
        (SIZED, {"scores": []}, "as many entries"),
        (SIZED, {"scores": [0.5]}, "scores: its entries are of another kind"),
        (SIZED, {"scores": [[0.5], [0.5, 0.5]]}, "scores: its entries are of another kind"),
    ],
)
def test_an_unsound_table_is_refused(model: Any, column: dict[str, Any], message: str) -> None:
    name = "size_table_" if model is SIZED else "frontier_"
    data = edited(model, lambda part: part["fitted"][name].update(column))
    with pytest.raises(ModelFileError, match=message):
        model_from_json(data, edited=True)


def test_a_table_without_its_metric_or_with_another_parameter_is_refused() -> None:
    data = edited(SIZED, lambda part: part["fitted"]["size_table_"].pop("metric"))
    with pytest.raises(ModelFileError, match="size_table_: Object missing required field `metric`"):
        model_from_json(data, edited=True)
    data = edited(SIZED, lambda part: part["fitted"]["size_table_"].update(parameter="shape"))
    with pytest.raises(ModelFileError, match=r"size_table_.parameter: Invalid enum value 'shape'"):
        model_from_json(data, edited=True)


def test_a_parameter_that_stands_twice_is_refused() -> None:
    text = model_to_json(TREE).decode()
    text = text.replace('"max_depth": 2,', '"max_depth": 2, "max_depth": 3,')
    with pytest.raises(ModelFileError, match=r"it has the key 'max_depth' twice"):
        model_from_json(text.encode(), edited=True)


def test_an_edited_parameter_does_not_fit_the_checksum() -> None:
    data = edited(TREE, lambda part: part["parameters"].update(max_depth=3))
    with pytest.raises(ModelFileError, match="its checksum does not match"):
        model_from_json(data)
    assert model_from_json(data, edited=True).max_depth == 3


def test_more_entries_than_the_file_can_pay_for_are_refused() -> None:
    data = edited(TREE, lambda part: part["parameters"].update(custom_features=[0] * 12_000_000))
    with pytest.raises(ModelFileError, match="entries of an estimator, too many"):
        model_from_json(data, edited=True)


def test_an_array_is_read_whatever_form_its_annotation_has_in_this_version_of_numpy() -> None:
    kind = np.ndarray[Any, np.dtype[np.int64]]
    assert decode_array(kind, [[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
