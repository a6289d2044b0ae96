"""Consensus trees against the same figures computed in other ways."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from holdfast import StableTreeClassifier, StableTreeRegressor, Table, mean_distance
from holdfast.errors import ParameterError
from holdfast.estimators.base import build_estimator
from holdfast.stable.consensus.teacher import PARTS, TeacherData, teacher_predictions
from holdfast.stable.settings import StabilityRules, StabilitySettings

ROWS = 160


def patients(seed: int = 0, n_rows: int = ROWS) -> tuple[pd.DataFrame, pd.Series]:
    """Numbers, categories and gaps, and a class that depends on them."""
    chance = np.random.default_rng(seed)
    age = chance.integers(20, 90, n_rows).astype(float)
    pressure = chance.normal(130, 20, n_rows).round(1)
    ward = chance.choice(["north", "south", "east"], n_rows)
    risk = 0.06 * (age - 55) + 0.03 * (pressure - 130) + (ward == "north")
    pressure[chance.random(n_rows) < 0.1] = np.nan
    died = chance.random(n_rows) < 1 / (1 + np.exp(-risk))
    X = pd.DataFrame({"age": age, "pressure": pressure, "ward": ward})
    return X, pd.Series(np.where(died, "died", "lived"), name="outcome")


def fast(**parameters: Any) -> StableTreeClassifier:
    """A consensus tree that is quickly made."""
    quick = {"teacher": "linear", "n_estimators": 12, "max_leaf_nodes": 5, "validation": None}
    return build_estimator(StableTreeClassifier, **{**quick, **parameters})


def test_the_tree_keeps_to_its_leaves_and_its_tolerance_and_is_the_nearest_of_those_found():
    X, y = patients()
    model = fast().fit(X, y)
    frontier = model.frontier_
    assert model.get_n_leaves() <= 5
    assert frontier.teacher_loss[model.choice_.candidate] <= 0.06 + 1e-9
    largest = frontier.max_leaf_nodes == 5
    assert (np.diff(frontier.instability[largest]) <= 1e-9).all()  # more tolerance, never farther away
    nearest = frontier.instability[largest & (frontier.teacher_loss <= 0.06 + 1e-9)].min()
    assert model.instability_ == nearest


def test_instability_is_the_mean_distance_to_the_references():
    X, y = patients()
    model = fast().fit(X, y)
    settings = model.trained_.distance_settings
    found = mean_distance(
        [model.tree_], model.reference_trees_, label_weight=settings.label_weight, depth=settings.depth
    )
    assert model.instability_ == pytest.approx(found[0], abs=1e-12)


def test_leaf_values_of_the_teacher_are_the_means_of_its_predictions():
    X, y = patients()
    model = fast(leaf_values="teacher").fit(X, y)
    table = Table.from_arrays(X, y)
    predicted = teacher_predictions(TeacherData(table, None, None), "linear")
    leaf = model.tree_.apply(X)
    for node in np.unique(leaf):
        assert model.tree_.value[node] == pytest.approx(predicted[leaf == node].mean(axis=0), abs=1e-4)
        assert model.tree_.count[node] == (leaf == node).sum()


def test_leaf_values_can_be_those_of_the_labels():
    X, y = patients()
    model = fast(leaf_values="labels").fit(X, y)
    leaf = model.tree_.apply(X)
    for node in np.unique(leaf):
        fraction = (y[leaf == node] == "died").mean()
        assert model.tree_.value[node, 0] == pytest.approx(fraction)


def test_the_order_of_rows_and_columns_changes_no_bit():
    X, y = patients()
    order = np.random.default_rng(1).permutation(len(X))
    model, other = fast().fit(X, y), fast().fit(X.iloc[order][["ward", "pressure", "age"]], y.iloc[order])
    assert model.rules() == other.rules()
    assert (model.predict_proba(X) == other.predict_proba(X[["ward", "pressure", "age"]])).all()


def test_the_number_of_jobs_changes_no_bit():
    X, y = patients()
    assert (fast(n_jobs=2).fit(X, y).predict_proba(X) == fast().fit(X, y).predict_proba(X)).all()


@pytest.mark.parametrize("part", sorted(PARTS))
def test_every_part_of_the_teacher_predicts_probabilities(part: str):
    X, y = patients(n_rows=60)
    predicted = teacher_predictions(TeacherData(Table.from_arrays(X, y), None, None), part)
    assert predicted.shape == (60, 2)
    assert predicted.sum(axis=1) == pytest.approx(np.ones(60))
    assert predicted[y == "died", 0].mean() > predicted[y == "lived", 0].mean()


@pytest.mark.parametrize("part", sorted(PARTS))
def test_every_part_predicts_numbers_as_fractions_of_their_range(part: str):
    X, _ = patients(n_rows=60)
    table = Table.from_arrays(X, X["age"] * 2 + 1.5)
    predicted = teacher_predictions(TeacherData.of(table, np.ones(60), None, StabilitySettings()), part)
    assert predicted.shape == (60, 1)
    assert np.corrcoef(predicted[:, 0], X["age"])[0, 1] > 0.9


def test_the_blend_is_the_weighted_mean_of_its_parts():
    X, y = patients(n_rows=60)
    data = TeacherData(Table.from_arrays(X, y), None, None)
    shares = {"forest": 1, "extra-trees": 1, "boosting": 1, "linear": 2, "kernel": 2}
    mean = sum(share * teacher_predictions(data, part) for part, share in shares.items()) / 7
    assert teacher_predictions(data, "blend") == pytest.approx(mean)


def test_an_estimator_can_be_the_teacher():
    X, y = patients()
    numbers = X[["age"]]
    model = fast(teacher=LogisticRegression(), max_leaf_nodes=3, leaf_values="teacher").fit(numbers, y)
    z = ((numbers - numbers.mean()) / numbers.std(ddof=0)).clip(-3, 3).to_numpy()
    predicted = LogisticRegression().fit(z, y).predict_proba(z)[:, 0]
    leaf = model.tree_.apply(numbers)
    for node in np.unique(leaf):
        assert model.tree_.value[node, 0] == pytest.approx(predicted[leaf == node].mean(), abs=1e-4)


@pytest.mark.filterwarnings("ignore:the target has one class")
def test_three_classes_numbers_and_one_class():
    X, _ = patients()
    three = pd.Series(np.where(X["age"] < 40, "young", np.where(X["age"] < 60, "middle", "old")))
    assert fast().fit(X, three).score(X, three) > 0.85
    numbers = StableTreeRegressor(teacher="linear", n_estimators=12, max_leaf_nodes=5, validation=None)
    assert numbers.fit(X, X["age"] * 2.0).score(X, X["age"] * 2.0) > 0.8
    assert fast().fit(X, np.full(len(X), "lived")).predict(X[:2]).tolist() == ["lived", "lived"]


def test_groups_are_drawn_whole_and_weights_are_rows():
    X, y = patients()
    doubled = fast().fit(pd.concat([X, X]), pd.concat([y, y]))
    weighted = fast().fit(X, y, sample_weight=np.full(len(X), 2.0))
    assert doubled.rules() == weighted.rules()
    patient = np.arange(len(X)) // 2
    assert fast(validation=0.3).fit(X, y, groups=patient).get_n_leaves() > 1


def test_the_fewest_rows_of_a_leaf_are_kept_to():
    X, y = patients()
    model = fast(min_samples_leaf=20).fit(X, y)
    assert model.tree_.count.min() >= 20


def test_one_stage_is_no_stage():
    X, y = patients()
    quick = fast(validation=0.3)
    assert quick.fit(X, y, stage=np.ones(len(X))).rules() == fast(validation=0.3).fit(X, y).rules()


def test_a_tolerance_of_the_score_chooses_by_the_score():
    X, y = patients()
    model = fast(tolerance=1.0, tolerance_unit="standard-error").fit(X, y)
    combinations = model.trained_.candidates.combinations
    assert {each["tolerance"] for each in combinations} == {0.0, 0.06, 0.12}  # none may lose everything
    assert "one standard error" in model.choice_.reason


def test_the_split_support_is_that_of_the_references():
    X, y = patients()
    model = fast().fit(X, y)
    root = model.split_support()[0]
    features = [
        tree.schema.features[tree.feature[0]].name for tree in model.reference_trees_ if tree.n_leaves > 1
    ]
    assert root.candidates is None
    assert root.references == pytest.approx(features.count(root.feature) / len(model.reference_trees_))


def test_scores_are_of_trees_that_have_not_seen_the_rows():
    """Where the class is chance, no score is far from a half, and one on the rows learnt from is."""
    X, y = patients()
    shuffled = y.sample(frac=1, random_state=0).to_numpy()
    honest = fast(validation=0.5, teacher="forest").fit(X, shuffled).frontier_.score
    assert (abs(honest - 0.5) < 0.2).all()
    assert (fast(teacher="forest").fit(X, shuffled).frontier_.score > 0.6).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"teacher": "oracle"}, "teacher='oracle' is unknown"),
        ({"teacher": []}, "has no model"),
        ({"teacher": 3}, "teacher has a int"),
        ({"matching": "cover"}, "matching='cover'"),
        ({"leaf_values": "both"}, "leaf_values='both'"),
        ({"grid": {"max_depth": [3]}}, "grows its own students"),
        ({"tolerance": -0.1}, "tolerance=-0.1"),
        ({"validation": 1.5}, "validation=1.5"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(parameters: dict[str, Any], message: str):
    X, y = patients(n_rows=40)
    with pytest.raises(ParameterError, match=message):
        fast(**parameters).fit(X, y)


def test_a_teachers_tolerance_is_for_consensus_trees_alone():
    X, y = patients(n_rows=60)
    model = StableTreeClassifier(
        method="bootstrap", n_estimators=4, stability_rules=StabilityRules(tolerance_unit="teacher")
    )
    with pytest.raises(ParameterError, match="is for method='consensus'"):
        model.fit(X, y)
