"""Numbers of leaves of consensus trees."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from holdfast import (
    ParameterError,
    SizeChoice,
    StableTreeClassifier,
    StableTreeRegressor,
    load,
    mean_distance,
    save,
)
from holdfast.io.model_file import model_from_json, model_to_json
from holdfast.stable.settings import StabilityRules

QUICK = {"teacher": "linear", "n_estimators": 6, "validation": None}


def classifier(**parameters: Any) -> StableTreeClassifier:
    """A consensus tree that is quickly made."""
    return StableTreeClassifier(**{**QUICK, **parameters})


@pytest.fixture(scope="module")
def tumours() -> tuple[pd.DataFrame, pd.Series]:
    X, y = load_breast_cancer(as_frame=True, return_X_y=True)
    return X.iloc[:200, :5], y.iloc[:200].map({0: "malignant", 1: "benign"})


@pytest.fixture(scope="module")
def model(tumours: tuple[pd.DataFrame, pd.Series]) -> StableTreeClassifier:
    return classifier().fit(*tumours)


# -- smaller trees on the frontier ------------------------------------------------------------------------


def test_the_frontier_has_every_size_and_the_most_leaves_with_every_tolerance(model: StableTreeClassifier):
    frontier, asked = model.frontier_, model.trained_.candidates.combinations
    assert frontier.sizes == [4, 8, 12]
    assert [each["max_leaf_nodes"] for each in asked] == [12, 12, 12, 8, 4]
    assert frontier.max_leaf_nodes.tolist() == [each["max_leaf_nodes"] for each in asked]
    assert (frontier.n_leaves <= frontier.max_leaf_nodes).all()
    assert (frontier.student_loss <= np.array([each["tolerance"] for each in asked]) + 1e-9).all()


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("kind", ["classes", "three classes", "numbers"])
def test_a_smaller_tree_is_the_one_that_a_fit_of_its_size_gives(kind: str, size: int):
    data = {"classes": load_breast_cancer, "three classes": load_wine, "numbers": load_diabetes}
    X, y = data[kind](as_frame=True, return_X_y=True)
    X, y = X.iloc[::3, :4], y.iloc[::3]
    estimator = StableTreeRegressor if kind == "numbers" else StableTreeClassifier
    whole, own = (estimator(**QUICK, max_leaf_nodes=most).fit(X, y) for most in (None, size))
    whole.choose(max_leaf_nodes=size)
    assert whole.rules() == own.rules()
    assert whole.instability_ == pytest.approx(own.instability_)
    assert [tree.n_leaves for tree in whole.reference_trees_] == [
        tree.n_leaves for tree in own.reference_trees_
    ]
    assert clone(whole).max_leaf_nodes is None


def test_instability_is_the_mean_distance_to_students_of_the_same_size(model: StableTreeClassifier):
    settings = model.trained_.distance_settings
    for size in (4, 8, 12):
        model.choose(max_leaf_nodes=size)
        assert max(tree.n_leaves for tree in model.reference_trees_) <= size
        found = mean_distance(
            [model.tree_], model.reference_trees_, label_weight=settings.label_weight, depth=settings.depth
        )
        assert model.instability_ == pytest.approx(found[0], abs=1e-12)
        asked = [
            tree.schema.features[tree.feature[0]].name for tree in model.reference_trees_ if tree.n_leaves > 1
        ]
        root = model.split_support()[0]
        assert root.references == pytest.approx(asked.count(root.feature) / len(model.reference_trees_))


def test_smaller_trees_lose_more_of_what_the_largest_student_has_learnt(model: StableTreeClassifier):
    frontier = model.frontier_
    largest = frontier.max_leaf_nodes == 12
    assert (frontier.teacher_loss[largest] == frontier.student_loss[largest]).all()
    assert (frontier.teacher_loss[~largest] >= frontier.student_loss[~largest]).all()
    losses = [frontier.teacher_loss[frontier.max_leaf_nodes == size][0] for size in (4, 8, 12)]
    assert losses == sorted(losses, reverse=True)


def test_rules_of_the_score_walk_all_sizes_up_to_the_limit(tumours: tuple[pd.DataFrame, pd.Series]):
    model = classifier().fit(*tumours)
    frontier = model.frontier_
    assert model.choose("most-stable").instability_ == frontier.instability.min()
    assert model.choose("best-score").frontier_.score[model.choice_.candidate] == frontier.score.max()
    model.choose("best-score", max_leaf_nodes=4)
    allowed = frontier.max_leaf_nodes == 4
    assert frontier.max_leaf_nodes[model.choice_.candidate] == 4
    assert frontier.score[model.choice_.candidate] == frontier.score[allowed].max()


def test_where_no_student_has_grown_beyond_a_size_its_trees_are_the_same(
    tumours: tuple[pd.DataFrame, pd.Series],
):
    model = classifier(max_depth=2).fit(*tumours)
    frontier = model.frontier_
    chosen = frontier.max_leaf_nodes < 12
    chosen[model.choice_.candidate] = True
    assert len(set(frontier.instability[chosen].tolist())) == 1
    before = model.rules()
    assert model.choose(max_leaf_nodes=4).rules() == before


@pytest.mark.parametrize(
    ("most", "sizes"), [(3, [3]), (4, [4]), (6, [4, 6]), (8, [4, 8]), (14, [4, 8, 12, 14])]
)
def test_sizes_are_those_below_the_most_leaves(
    most: int, sizes: list[int], tumours: tuple[pd.DataFrame, pd.Series]
):
    X, y = tumours
    assert classifier(max_leaf_nodes=most).fit(X.iloc[:, :2], y).frontier_.sizes == sizes


def test_a_size_that_is_not_on_the_frontier_is_refused_with_those_that_are(model: StableTreeClassifier):
    before = model.tree_
    with pytest.raises(ParameterError, match="trees of at most 4, 8, 12 leaves: choose one"):
        model.choose(max_leaf_nodes=6)
    with pytest.raises(ParameterError, match="max_leaf_nodes='eight' must be an integer"):
        model.choose(max_leaf_nodes="eight")
    assert model.tree_ is before


def test_other_methods_have_no_sizes_to_choose_from(tumours: tuple[pd.DataFrame, pd.Series]):
    other = StableTreeClassifier(method="bootstrap", n_estimators=6, max_depth=3, max_leaf_nodes=5).fit(
        *tumours
    )
    assert other.frontier_.sizes == []
    with pytest.raises(ParameterError, match="fit again with max_leaf_nodes=4"):
        other.choose(max_leaf_nodes=4)


SHARED = Path(__file__).parents[2].parent / "shared" / "data"


def tables() -> dict[str, Any]:
    """Tables of scikit-learn, and the shared ones where they are at hand."""
    known = {"cancer": load_breast_cancer, "wine": load_wine, "diabetes": load_diabetes}
    found = {name: lambda each=each: each(as_frame=True, return_X_y=True) for name, each in known.items()}
    for name in ("heart_cleveland", "hepatitis", "breast_cancer_ljubljana", "pima_diabetes"):
        if (file := SHARED / f"{name}.csv").exists():
            found[name] = lambda file=file: (
                (frame := pd.read_csv(file)).iloc[:, :-1],
                frame.iloc[:, -1],
            )
    return found


@pytest.mark.parametrize("name", tables())
def test_no_row_of_its_size_beats_the_chosen_tree(name: str):
    X, y = tables()[name]()
    estimator = StableTreeRegressor if name == "diabetes" else StableTreeClassifier
    model = estimator(teacher="linear", n_estimators=10).fit(X, y)
    rows = model.frontier_.to_frame("pandas")
    own = rows.iloc[model.choice_.candidate]
    as_good = (rows.instability <= own.instability) & (rows.score >= own.score)
    as_good &= (rows.teacher_loss <= max(own.teacher_loss, 0.06)) & (
        rows.max_leaf_nodes == own.max_leaf_nodes
    )
    assert not (as_good & ((rows.instability < own.instability) | (rows.score > own.score))).any()


# -- by folds ---------------------------------------------------------------------------------------------


def patients(n_rows: int = 240) -> tuple[pd.DataFrame, dict[str, pd.Series]]:
    """Four wards and two numbers; a class, three classes and a number, which fifteen leaves explain."""
    chance = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "ward": chance.choice(["a", "b", "c", "d"], n_rows),
            "age": chance.integers(0, 4, n_rows).astype(float),
            "dose": chance.normal(size=n_rows).round(2),
        }
    )
    stay = (
        X["age"] * (X["ward"] == "a") + 2.0 * X["dose"] * (X["ward"] == "b") + chance.normal(size=n_rows) / 4
    )
    return X, {
        "classes": pd.Series(np.where(stay > 0.5, "long", "short")),
        "three classes": pd.Series(np.select([stay < 0, stay < 1], ["short", "usual"], "long")),
        "numbers": stay,
    }


@pytest.mark.parametrize("kind", ["classes", "three classes", "numbers"])
def test_held_out_rows_choose_a_size_for_every_kind_of_target(kind: str):
    X, targets = patients()
    estimator = StableTreeRegressor if kind == "numbers" else StableTreeClassifier
    weight, patient = np.where(X["age"] > 1, 2.0, 1.0), np.arange(len(X)) // 2
    model = estimator(**{**QUICK, "validation": "auto"}, max_leaf_nodes="auto")
    model.fit(X, targets[kind], weight, groups=patient)
    assert isinstance(model.size_choice_, SizeChoice)
    assert model.max_leaf_nodes_ == model.size_choice_.max_leaf_nodes
    assert model.max_leaf_nodes_ in (12, 24, 48)
    given = clone(model).set_params(max_leaf_nodes=model.max_leaf_nodes_)
    assert given.fit(X, targets[kind], weight, groups=patient).rules() == model.rules()


def steps(n_steps: int) -> tuple[pd.DataFrame, pd.Series]:
    chance = np.random.default_rng(1)
    X = pd.DataFrame({"x": chance.random(2000)})
    return X, np.floor(X["x"] * n_steps) * 7 % 5 + chance.normal(size=2000) / 20


def test_more_leaves_and_any_depth_are_taken_where_they_clearly_explain_more():
    X, y = steps(24)
    parameters = {**QUICK, "teacher": "forest", "validation": "auto", "min_samples_leaf": 5}
    model = StableTreeRegressor(
        **parameters, max_leaf_nodes="auto", stability_rules=StabilityRules(thresholds="exact")
    ).fit(X, y)
    assert model.max_leaf_nodes_ == 24
    assert "24 leaves instead of 12: R² on held-out rows" in model.choice_.reason
    assert model.frontier_.sizes == [4, 8, 12, 24]
    assert clone(model).set_params(max_depth=3).fit(X, y).get_depth() == 3


def test_other_parts_count_where_they_predict_held_out_rows_clearly_better():
    X, y = steps(4)  # 0, 2, 4, 1
    model = StableTreeRegressor(max_leaf_nodes=4, n_estimators=5).fit(X, y)
    weights = model.teacher_weights_
    assert weights["boosting"] + weights["forest"] > 0.7  # the usual weights: 2 / 7
    assert not hasattr(clone(model).set_params(teacher="forest").fit(X, y), "teacher_weights_")
    loaded = model_from_json(model_to_json(model))
    assert loaded.teacher_weights_ == weights


def test_neither_the_order_of_rows_and_columns_nor_the_jobs_nor_the_seed_change_the_choice(
    tumours: tuple[pd.DataFrame, pd.Series],
):
    X, y = tumours
    order = np.random.default_rng(1).permutation(len(X))
    model = classifier(max_leaf_nodes="auto", validation="auto").fit(X, y)
    other = classifier(max_leaf_nodes="auto", validation="auto", n_jobs=2, random_state=7).fit(
        X.iloc[order, ::-1], y.iloc[order]
    )
    assert model.size_choice_.explained.tolist() == pytest.approx(other.size_choice_.explained.tolist())
    assert model.size_choice_.difference_error == pytest.approx(other.size_choice_.difference_error)
    assert model.rules() == other.rules()


def test_a_fit_of_a_given_size_forgets_the_choice_of_the_one_before(tumours: tuple[pd.DataFrame, pd.Series]):
    model = classifier(max_leaf_nodes="auto", validation="auto").fit(*tumours)
    model.set_params(max_leaf_nodes=4).fit(*tumours)
    assert not hasattr(model, "size_choice_")
    assert not hasattr(model, "max_leaf_nodes_")


def test_the_file_keeps_the_choice(tumours: tuple[pd.DataFrame, pd.Series], tmp_path: Path):
    model = classifier(max_leaf_nodes="auto", validation="auto").fit(*tumours)
    save(model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.max_leaf_nodes == "auto"
    assert loaded.max_leaf_nodes_ == model.max_leaf_nodes_
    assert str(loaded.size_choice_) == str(model.size_choice_)
    assert loaded.frontier_.max_leaf_nodes.tolist() == model.frontier_.max_leaf_nodes.tolist()
    assert loaded.frontier_.student_loss.tolist() == model.frontier_.student_loss.tolist()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"max_leaf_nodes": "cv"},
            "max_leaf_nodes='cv' is unknown: give an integer, None, or 'auto'",
        ),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes=1 is out of range"),
    ],
)
def test_what_is_no_size_is_refused(
    parameters: dict[str, Any], message: str, tumours: tuple[pd.DataFrame, pd.Series]
):
    with pytest.raises(ParameterError, match=message):
        classifier(**{"validation": "auto", **parameters}).fit(*tumours)


def test_replications_measure_a_smaller_tree_by_students_of_its_size(tumours: tuple[pd.DataFrame, pd.Series]):
    model = classifier(selection_rule="most-stable", validation="auto", max_leaf_nodes=6)
    found = model.replicate(*tumours, n_replications=1)
    instabilities = {result.model: result.instability for result in found.results}
    fresh = [value for name, value in instabilities.items() if value is not None]
    assert min(fresh) == instabilities[found.results[1].model]
