"""How many reference trees agree with a decision, and what they would have predicted."""

from math import ceil
from typing import Any

import numpy as np
import pandas as pd
import pytest

from holdfast import (
    ChangePolicy,
    Feature,
    Schema,
    StableSurvivalTree,
    StableTreeClassifier,
    StableTreeRegressor,
    Table,
    Target,
    Tree,
    explain_row,
    load,
    save,
)
from holdfast.errors import ModelError, ParameterError
from holdfast.explain import firmness as firmness_module
from holdfast.explain.firmness import ReferenceTrees, compare_firmness
from holdfast.stable.consensus.distil import set_posterior_values
from holdfast.tree.monotone import set_losses

AGES = Schema((Feature("age", low=0, high=100),), Target("lived", classes=("no", "yes"), positive="yes"))


def stump(threshold: float, left: float, right: float, missing_left: bool = False) -> Tree:
    """A split at an age, with the probabilities of "yes" on its two sides."""
    leaves = ({"value": [1 - p, p], "count": 10} for p in (left, right))
    split = {"feature": "age", "threshold": threshold, "left": 1, "right": 2, "missing_left": missing_left}
    return Tree.from_nodes(AGES, [split, *leaves])


def test_the_share_is_that_of_trees_with_the_same_decision() -> None:
    references = ReferenceTrees.of([stump(40, 0.9, 0.2), stump(50, 0.7, 0.1), stump(60, 0.4, 0.3, True)])
    found = references.firmness(stump(50, 0.8, 0.25), pd.DataFrame({"age": [30.0, 45.0, 70.0, np.nan]}))
    # Decided "yes", "yes", "no", "no"; the third tree never decides "yes".
    assert found.share == pytest.approx([2 / 3, 1 / 3, 1.0, 1.0])
    assert found.estimate == pytest.approx([0.8, 0.8, 0.25, 0.25])
    assert found.low == pytest.approx([0.4, 0.2, 0.1, 0.1])
    assert found.high == pytest.approx([0.9, 0.7, 0.3, 0.4])
    assert found.spread == pytest.approx([0.5, 0.5, 0.2, 0.3])
    assert found.is_firm(0.6).tolist() == [True, False, True, True]
    assert found.sentences(1)[0] == "1 of 3 trees trained on resampled data agrees: the answer is not firm."
    assert found.to_frame()["firmness"].tolist() == found.share.tolist()


def test_reference_trees_decide_by_the_threshold_of_the_tree() -> None:
    references = ReferenceTrees.of([stump(40, 0.9, 0.2), stump(50, 0.7, 0.05)])
    cautious = set_losses(stump(50, 0.8, 0.15), np.array([[0.0, 1.0], [9.0, 0.0]]))  # "yes" from 0.1 on
    assert references.firmness(cautious, [[45.0], [70.0]]).share == pytest.approx([1.0, 0.5])
    assert references.firmness(stump(50, 0.8, 0.15), [[45.0], [70.0]]).share == pytest.approx([0.5, 1.0])


# -- fitted models ---------------------------------------------------------------------------------------


def patients(n: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 12, n).round(1),
            "ward": pd.Categorical(rng.choice(["east", "north", "west"], n)),
            "lactate": np.where(rng.random(n) < 0.15, np.nan, rng.normal(2, 1, n).round(2)),
        }
    )
    return frame, frame["age"] / 10 + 2 * (frame["ward"] == "west") + rng.normal(size=n)


FRAME, RISK = patients(160)
TWO, THREE = np.where(RISK > 5.5, "yes", "no"), np.digitize(RISK, [5.0, 6.5])
FEW = {"n_estimators": 8, "teacher": "linear", "max_leaf_nodes": 6}
MODELS = {
    "two classes": lambda: StableTreeClassifier(**FEW).fit(FRAME, TWO),
    "three classes": lambda: StableTreeClassifier(**FEW).fit(FRAME, THREE),
    "numbers": lambda: StableTreeRegressor(**FEW).fit(FRAME, RISK),
    "weights": lambda: StableTreeClassifier(**FEW).fit(FRAME, TWO, np.linspace(0.2, 3, len(FRAME))),
    "groups": lambda: StableTreeClassifier(**FEW).fit(FRAME, TWO, groups=np.arange(len(FRAME)) // 3),
    "threshold": lambda: StableTreeClassifier(threshold=0.3, **FEW).fit(FRAME, TWO),
    "losses": lambda: StableTreeClassifier(loss_matrix=[[0, 1], [3, 0]], **FEW).fit(FRAME, TWO),
    "labels": lambda: StableTreeClassifier(leaf_values="labels", **FEW).fit(FRAME, TWO),
    "shrunk": lambda: StableTreeClassifier(leaf_values="shrunk", **FEW).fit(FRAME, TWO),
    "honest": lambda: StableTreeClassifier(leaf_values="honest", **FEW).fit(FRAME, TWO),
    "no splits": lambda: StableTreeClassifier(**FEW).fit(FRAME[["ward"]].assign(age=0.0), [0, 1] * 80),
    "bootstrap": lambda: StableTreeClassifier(method="bootstrap", n_estimators=6, max_depth=3).fit(
        FRAME, TWO
    ),
    "paper": lambda: StableTreeClassifier(method="paper", n_estimators=6, max_depth=3).fit(FRAME, TWO),
    "pruned": lambda: StableTreeRegressor(method="pruned", n_estimators=6, max_depth=3).fit(FRAME, RISK),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    return MODELS[request.param]()


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
def test_firmness_is_that_of_the_trees_one_by_one(model: Any) -> None:
    X = (
        patients(50, seed=1)[0][list(model.feature_names_in_)]
        if "lactate" in model.feature_names_in_
        else (FRAME[["ward"]].assign(age=0.0))
    )
    found = model.predict_firmness(X)
    losses = model.tree_.loss_matrix
    trees = [tree if losses is None else set_losses(tree, losses) for tree in model.references_.trees]
    decided = model.tree_.predict(X)
    values = np.array([tree.values(X) for tree in trees])
    if found.share is None:
        column = values[:, :, 0]
    else:
        assert found.share == pytest.approx(np.mean([tree.predict(X) == decided for tree in trees], axis=0))
        place = model.tree_.outcome[model.apply(X)]
        if model.n_classes_ == 2:
            place = np.full(len(X), model.tree_.schema.target.class_index(model.schema_.target.positive))
        column = values[:, np.arange(len(X)), place]
    ordered = np.sort(column, axis=0)
    assert found.low.tolist() == ordered[max(ceil(0.05 * len(trees)), 1) - 1].tolist()
    assert found.high.tolist() == ordered[ceil(0.95 * len(trees)) - 1].tolist()


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
def test_a_loaded_model_has_the_same_firmness_choices_and_support(model: Any, tmp_path: Any) -> None:
    save(model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    X = FRAME if "lactate" in model.feature_names_in_ else FRAME[["ward"]].assign(age=0.0)
    for rule in ("most-stable", "best-score", None):
        model.choose(rule)
        loaded.choose(rule)
        assert loaded.choice_ == model.choice_
        assert loaded.predict(X).tolist() == model.predict(X).tolist()
        assert loaded.predict_firmness(X).to_frame().equals(model.predict_firmness(X).to_frame())
        pairs = zip(loaded.split_support(), model.split_support(), strict=True)
        assert all(one.references == other.references for one, other in pairs)


def test_many_rows_go_through_the_kernel_and_few_through_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    model = MODELS["three classes"]()
    few = model.predict_firmness(FRAME)
    monkeypatch.setattr(firmness_module, "FEW_ROWS", 10)
    monkeypatch.setattr(firmness_module, "BLOCK", 64)
    many = model.predict_firmness(FRAME)
    assert many.columns().keys() == few.columns().keys()
    for name, column in many.columns().items():
        assert column.tolist() == few.columns()[name].tolist()


def test_leaf_values_of_references_come_from_their_own_samples() -> None:
    model = MODELS["two classes"]()
    table = Table.from_arrays(FRAME, TWO)
    ones = np.ones(len(FRAME), np.int32)
    on_all_rows = [
        set_posterior_values(tree, table, ones, ones.astype(float)).value for tree in model.reference_trees_
    ]
    spreads = [
        np.abs(tree.value - value).max()
        for tree, value in zip(model.references_.trees, on_all_rows, strict=True)
    ]
    assert min(spreads) > 0.005  # another sample, other values
    assert max(spreads) < 0.3


def test_the_order_of_rows_and_the_number_of_jobs_do_not_matter() -> None:
    order = np.random.default_rng(1).permutation(len(FRAME))
    one = StableTreeClassifier(**FEW).fit(FRAME, TWO).predict_firmness(FRAME)
    other = StableTreeClassifier(n_jobs=2, **FEW).fit(FRAME.iloc[order], TWO[order]).predict_firmness(FRAME)
    assert one.to_frame().equals(other.to_frame())


def test_firm_answers_change_less_often_than_others() -> None:
    frame, risk = patients(900, seed=3)
    y, tested = np.where(risk > 5.5, "yes", "no"), patients(2000, seed=4)[0]
    one, other = (
        StableTreeClassifier(n_estimators=30, teacher="linear").fit(frame[rows], y[rows])
        for rows in (slice(0, 450), slice(450, 900))
    )
    changed, firm = one.predict(tested) != other.predict(tested), one.predict_firmness(tested).is_firm()
    assert changed[firm].mean() < 0.25 * changed[~firm].mean()


def test_without_reference_trees_the_way_out_is_named(tmp_path: Any) -> None:
    model = MODELS["two classes"]()
    save(model, tmp_path / "small.json", references=False)
    with pytest.raises(ModelError, match="references=False"):
        load(tmp_path / "small.json").predict_firmness(FRAME)
    with pytest.raises(ModelError, match="no reference trees"):
        StableTreeClassifier().from_tree(model.tree_).predict_firmness(FRAME)
    with pytest.raises(ParameterError, match="The target is a number"):
        MODELS["numbers"]().predict_firmness(FRAME).is_firm()


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
@pytest.mark.parametrize("name", ["two classes", "three classes", "numbers", "labels", "losses"])
def test_an_updated_tree_has_reference_trees_of_its_own(name: str, tmp_path: Any) -> None:
    model = MODELS[name]()
    new, risk = patients(200, seed=7)
    shifted = risk + np.where(new["ward"] == "east", 3.0, 0.0)
    y = {"three classes": np.digitize(shifted, [5.0, 6.5]), "numbers": shifted}.get(
        name, np.where(shifted > 5.5, "yes", "no")
    )
    before = model.references_
    model.update(new, y, validation=None)
    model.select_step(len(model.update_.steps) - 1)
    assert model.references_ is not before
    assert len(model.references_) == 8
    found = model.predict_firmness(new)
    assert found.share is None or found.share.mean() > 0.6
    assert ((found.low <= found.estimate) & (found.estimate <= found.high)).mean() > 0.6
    save(model, tmp_path / "model.json")
    assert load(tmp_path / "model.json").predict_firmness(new).to_frame().equals(found.to_frame())
    model.select_step(0)  # the tree is kept, and so are its reference trees
    assert model.references_ is before


def test_an_update_is_judged_by_the_answers_that_were_firm() -> None:
    model = MODELS["two classes"]()
    new, risk = patients(200, seed=7)
    policy = ChangePolicy(max_flips_of_firm=0.5)
    verdict = model.update(new, np.where(risk > 5.5, "yes", "no"), policy=policy).update_.verdict
    (line,) = verdict.lines
    assert line.status == "passed"
    assert line.figure is not None


def test_an_explanation_tells_how_many_trees_agree_if_the_row_has_their_columns() -> None:
    model, row = MODELS["two classes"](), {"age": 49.0, "ward": "west", "lactate": 2.0}
    found = explain_row(model, row)
    firmness = model.predict_firmness(pd.DataFrame([row]))
    assert found.firmness.share.tolist() == firmness.share.tolist()
    assert found.to_dict()["firmness"]["low"] == firmness.low[0]
    assert firmness.sentences()[0] in str(found).replace("\n", " ")
    only_age = stump(50, 0.8, 0.25)
    references = ReferenceTrees.of([stump(40, 0.9, 0.2), stump(50, 0.7, 0.1)])
    assert explain_row(only_age, {"age": 45.0}, references=references).firmness.share.tolist() == [0.5]
    assert "1 of 2 trees trained on resampled data agrees: the answer is not firm." in str(
        explain_row(only_age, {"age": 45.0}, references=references)
    )
    wider = Schema((*AGES.features, Feature("dose", low=0, high=9)), AGES.target)
    by_dose = Tree.from_nodes(
        wider,
        [
            {"feature": "dose", "threshold": 4, "left": 1, "right": 2},
            *({"value": [p, 1 - p], "count": 5} for p in (0.2, 0.7)),
        ],
    )
    references = ReferenceTrees.of([by_dose])
    assert explain_row(only_age.with_schema(wider), {"age": 45.0}, references=references).firmness is None


def test_an_update_tells_whose_answers_are_no_longer_firm() -> None:
    model = MODELS["two classes"]()
    new, risk = patients(200, seed=7)
    before = model.predict_firmness(new)
    model.update(new, np.where(risk + (new["ward"] == "east") > 5.5, "yes", "no"), validation=None)
    model.select_step(0)
    assert model.update_.firmness is None  # the tree is kept
    model.select_step(len(model.update_.steps) - 1)
    lost = int((before.is_firm() & ~model.predict_firmness(new).is_firm()).sum())
    old, now = model.update_.firmness
    assert sorted(old.share.tolist()) == sorted(before.share.tolist())
    assert sorted(now.share.tolist()) == sorted(model.predict_firmness(new).share.tolist())
    assert f"{lost} of 200 rows" in compare_firmness(old, now).note
    assert compare_firmness(old, now).note in str(model.update_).replace("\n", " ")


# -- survival ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def survival_model() -> Any:
    rng, frame = np.random.default_rng(5), FRAME
    time = rng.exponential(np.exp(6.0 - RISK)) + 0.01
    censored = rng.exponential(3.0, len(time)) + 0.01
    y = list(zip((time <= censored).tolist(), np.minimum(time, censored).tolist(), strict=True))
    y = np.array(y, [("event", bool), ("time", float)])
    return StableSurvivalTree(n_estimators=10, teacher="linear", max_leaf_nodes=4).fit(frame, y)


def test_survival_has_the_interval_of_survival_to_the_horizon(survival_model: Any, tmp_path: Any) -> None:
    found, hazard = survival_model.predict_firmness(FRAME), survival_model.tree_.schema.target.hazard
    cumulative = max(
        each for at, each in zip(hazard.times, hazard.cumulative, strict=True) if at <= hazard.horizon
    )
    own = np.exp(-survival_model.tree_.values(FRAME)[:, 0] * cumulative)
    assert found.share is None
    assert found.estimate == pytest.approx(own, abs=1e-12)
    risks = [tree.values(FRAME)[:, 0] for tree in survival_model.references_.trees]
    others = np.sort(np.exp(-np.array(risks) * cumulative), axis=0)
    assert found.low == pytest.approx(others[0], abs=1e-12)  # 5 % of 10 trees
    assert found.high == pytest.approx(others[9], abs=1e-12)
    assert ((found.low <= own) & (own <= found.high)).mean() > 0.8
    assert f"put {found.title} at" in found.sentences()[0]
    save(survival_model, tmp_path / "model.json")
    assert load(tmp_path / "model.json").predict_firmness(FRAME).to_frame().equals(found.to_frame())


def test_risks_of_references_come_from_the_events_of_their_own_samples(survival_model: Any) -> None:
    pairs = zip(survival_model.references_.trees, survival_model.reference_trees_, strict=True)
    moved = np.array([np.abs(own.value - of_all_rows.value).max() for own, of_all_rows in pairs])
    assert moved.min() > 0.01
    assert moved.max() < 2.0


def test_the_tree_of_the_last_stage_has_reference_trees(tmp_path: Any) -> None:
    model = StableTreeClassifier(**FEW).fit_stages(FRAME, TWO, stage=np.arange(len(FRAME)) // 80, min_rows=20)
    found = model.predict_firmness(FRAME)
    assert found.n_trees == 8
    assert found.share.mean() > 0.6
    save(model, tmp_path / "model.json")
    assert load(tmp_path / "model.json").predict_firmness(FRAME).to_frame().equals(found.to_frame())
