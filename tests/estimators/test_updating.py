"""Estimators whose tree is updated by new rows."""

import warnings
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from holdfast import (
    ChangePolicy,
    DataError,
    DataWarning,
    ParameterError,
    SchemaMismatch,
    StableTreeClassifier,
    StableTreeRegressor,
    load,
    save,
    tree_distance,
)
from holdfast.tree import edited_nodes
from holdfast.update.update import is_no_worse

FAST = {"teacher": "linear", "n_estimators": 10, "validation": None}


def frame(seed: int, n_rows: int = 200, shift: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    """What tells the outcome moves by the shift."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n_rows)).round(2)
    kind = np.array(["a", "b"])[rng.integers(0, 2, n_rows)]
    y = np.where(2 * (x > shift) + 0.8 * z + (kind == "b") + rng.normal(size=n_rows) > 1, "yes", "no")
    return pd.DataFrame({"x": x, "z": z, "kind": kind}), y


@pytest.fixture(scope="module")
def fitted() -> StableTreeClassifier:
    return StableTreeClassifier(**FAST).fit(*frame(0))


@pytest.fixture
def model(fitted: StableTreeClassifier) -> StableTreeClassifier:
    return copy(fitted)  # an update sets attributes of the model, and changes none of their values


def test_the_same_rows_again_change_nothing(model: StableTreeClassifier) -> None:
    before = model.tree_
    model.update(*frame(0))
    assert model.update_.steps[model.update_.taken].kind == "keep"
    assert model.tree_ is before


def test_new_leaf_values_alone_change_no_split(model: StableTreeClassifier) -> None:
    before = model.tree_
    model.update(*frame(0), strategy="refit")
    assert tree_distance(before, model.tree_).total == 0.0
    assert model.previous_tree_ is before


def test_rows_that_say_something_else_move_the_tree_as_the_path_says(model: StableTreeClassifier) -> None:
    X, y = frame(1, n_rows=600, shift=0.8)
    model.update(X, y, prior_rows=0)
    steps = model.update_.steps
    assert (steps[0].kind, steps[-1].kind) == ("keep", "fresh")
    assert steps[0].distance == 0.0
    distances = [step.distance for step in steps]
    assert distances == sorted(distances)
    losses = [step.loss for step in steps[1:]]
    assert losses == sorted(losses, reverse=True)
    taken = steps[model.update_.taken]
    assert taken.kind == "change"
    assert taken.loss <= 0.02 + 1e-9
    assert model.score(X, y) > np.mean(model.previous_tree_.predict(X) == y) + 0.03
    for step in steps:
        assert tree_distance(step.tree, model.update_.deployed, label_weight=10.0).total == pytest.approx(
            step.distance
        )


def test_the_scores_of_the_path_are_of_trees_that_have_not_seen_the_rows(model: StableTreeClassifier) -> None:
    X, y = frame(1, n_rows=300, shift=0.8)
    update = model.update(X, y, prior_rows=0).update_
    assert update.n_scored == pytest.approx(100, abs=3)
    keep = update.steps[0]
    assert (keep.difference, keep.error) == (0.0, 0.0)
    assert update.rows.held_out.n_rows == update.n_scored
    held_out = update.rows.held_out
    said = update.steps[-1].holdout_tree.predict_proba(held_out)[:, 1]
    from sklearn.metrics import roc_auc_score

    assert update.steps[-1].score == pytest.approx(roc_auc_score(held_out.target, said))


def test_a_deployed_tree_counts_for_the_rows_it_was_trained_on(model: StableTreeClassifier) -> None:
    few = frame(3, n_rows=30)
    assert model.update(*few, strategy="refit").update_.settings.prior_rows == 200
    # Leaves that fewer than five rows reach are kept: the rows there do not count.
    assert 200 < model.n_rows_effective_ == model.tree_.count[0] < 230
    again = StableTreeClassifier(**FAST).fit(*frame(0))
    for _ in range(3):  # rows that come again count once
        assert again.update(*frame(0), strategy="refit").update_.settings.prior_rows == pytest.approx(200 / 3)
        assert again.n_rows_effective_ == 200


def test_rows_that_are_merely_alike_are_not_the_same_rows() -> None:
    def few_categories(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({name: rng.choice(["a", "b"], 300) for name in "pqr"})
        return X, np.where(rng.random(300) < 0.2 + 0.5 * (X["p"] == "a"), "yes", "no")

    model = StableTreeClassifier(**FAST).fit(*few_categories(1))
    model.update(*few_categories(2), strategy="refit")
    assert model.update_.settings.prior_rows == 300
    assert model.n_rows_effective_ == 600


def test_a_row_of_weight_two_is_two_rows(model: StableTreeClassifier) -> None:
    X, y = frame(1)
    twice = np.repeat(np.arange(200), 2)
    one = copy(model).update(X, y, np.full(200, 2))
    other = copy(model).update(X.iloc[twice], y[twice])
    assert one.n_rows_effective_ == other.n_rows_effective_ == 600
    assert tree_distance(one.tree_, other.tree_).total == 0.0
    assert one.tree_.value == pytest.approx(other.tree_.value)


def test_rows_that_count_little_move_the_tree_little() -> None:
    old, new = frame(0, n_rows=600), frame(1, n_rows=30, shift=2.0)
    model = StableTreeClassifier(**FAST).fit(*old)
    weighed = copy(model).update(*new, X_old=old[0], y_old=old[1], half_life=0.02, strategy="refit")
    assert weighed.n_rows_effective_ < 700
    moved = np.abs(weighed.predict_proba(old[0]) - model.predict_proba(old[0])).mean()
    assert moved < 0.06
    zero = np.r_[np.zeros(5), np.ones(625)]
    copy(model).update(*new, zero, X_old=old[0], y_old=old[1], age=np.ones(630), half_life=1.0)


def test_keeping_the_tree_changes_nothing(model: StableTreeClassifier) -> None:
    before = dict(vars(model))
    X, y = frame(1, n_rows=600, shift=0.8)
    model.update(X, y, strategy="keep")
    assert all(vars(model)[name] is each for name, each in before.items())
    model.update(X, y, prior_rows=0).select_step(0)
    assert all(vars(model)[name] is each for name, each in before.items() if name != "update_")
    model.select_step(len(model.update_.steps) - 1)
    assert model.tree_ is model.update_.tree


def test_what_was_asked_for_of_leaves_and_sizes_holds_in_updates() -> None:
    least = StableTreeClassifier(**FAST, min_samples_leaf=40).fit(*frame(0, n_rows=400))
    least.update(*frame(1, n_rows=400, shift=0.8), prior_rows=0, tolerance=0.0)
    assert least.tree_.count[least.tree_.feature == -1].min() >= 40
    sized = StableTreeClassifier(**{**FAST, "validation": 1 / 3}, max_leaf_nodes="auto").fit(*frame(0))
    most = sized.max_leaf_nodes_
    sized.update(*frame(1, shift=0.8), prior_rows=0)
    assert sized.tree_.n_leaves <= most == sized.max_leaf_nodes_
    best = StableTreeClassifier(teacher="linear", n_estimators=10, selection_rule="best-score")
    best.fit(*frame(0)).update(*frame(1), strategy="retrain")
    fitted = StableTreeClassifier(teacher="linear", n_estimators=10, selection_rule="best-score").fit(
        *frame(1)
    )
    assert tree_distance(best.tree_, fitted.tree_.with_schema(best.tree_.schema)).total == 0.0


def test_columns_are_found_as_predict_finds_them(model: StableTreeClassifier) -> None:
    X, y = frame(1)
    numbers = X[["x", "z"]]
    plain = StableTreeClassifier(**FAST).fit(frame(0)[0][["x", "z"]], frame(0)[1])
    with pytest.warns(DataWarning, match="X does not have valid feature names"):
        plain.update(numbers.to_numpy(), y)


def test_scores_that_cannot_be_told_are_not_told(model: StableTreeClassifier) -> None:
    X, y = frame(1)
    same = y == "yes"
    model.update(X[same], y[same], policy=ChangePolicy(score_margin=0.0), force=True)
    assert np.isnan(model.update_.steps[0].score)
    assert "score_margin  at least +0.000  not judged" in str(model.update_)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (slice(0, 19), "at least 20 new rows, and there are 19"),
        ("yes", "All .* new rows have the class 'yes'"),
        ("few", "3 have another class than 'yes'.* at least 5"),
    ],
)
def test_too_few_new_rows_or_events_are_refused_unless_forced(
    model: StableTreeClassifier, rows: slice | str, message: str
) -> None:
    X, y = frame(1)
    if isinstance(rows, str):
        is_no = np.flatnonzero(y == "no")
        rows = np.sort(np.append(np.flatnonzero(y == "yes"), is_no[: 0 if rows == "yes" else 3]))
    before = model.tree_
    with pytest.raises(DataError, match=message):
        model.update(X.iloc[rows], y[rows])
    assert model.tree_ is before
    model.update(X.iloc[rows], y[rows], force=True)


def drifted(seed: int, n_rows: int, rate: float) -> tuple[pd.DataFrame, Any]:
    """Two regions of one risk ratio; the risk grows with the base rate."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.normal(size=n_rows), "z": rng.normal(size=n_rows)})
    return X, np.where(rng.random(n_rows) < rate * np.where(X["x"] > 0, 1.8, 0.2), "yes", "no")


def test_leaf_values_follow_a_clear_drift_of_the_base_rate_and_splits_do_not() -> None:
    model = StableTreeClassifier(**FAST).fit(*drifted(0, 3000, 0.05))
    before = model.tree_
    X, y = drifted(1, 1500, 0.2)
    model.update(X, y)
    later, y_later = drifted(2, 20000, 0.2)
    expected = model.predict_proba(later)[:, 1].mean()
    assert (y_later == "yes").mean() / expected == pytest.approx(1.0, abs=0.1)
    step = model.update_.steps[model.update_.taken]
    assert step.kind == "refit"
    assert np.array_equal(model.tree_.threshold, before.threshold, equal_nan=True)
    # Keeping the tree: observed over expected of the new rows, by hand.
    kept = model.update_.steps[0].observed_expected
    assert kept.ratio == pytest.approx(4.0, abs=1.0)
    assert not kept.low <= 1.0 <= kept.high
    # Rows like those of the fit leave the tree as it is.
    same = StableTreeClassifier(**FAST).fit(*drifted(0, 3000, 0.05)).update(*drifted(3, 1500, 0.05))
    assert np.array_equal(same.tree_.value, before.value)
    assert same.update_.taken == 0


def test_a_policy_holds_observed_over_expected_within_bounds() -> None:
    model = StableTreeClassifier(**FAST).fit(*drifted(0, 3000, 0.05))
    before = model.tree_
    policy = ChangePolicy(observed_expected=(0.8, 1.25))
    model.update(*drifted(1, 1500, 0.2), strategy="keep", policy=policy)
    assert not model.update_.verdict.passed
    model.update(*drifted(1, 1500, 0.2), policy=policy)
    assert model.update_.verdict.passed
    assert model.tree_ is not before


def test_the_sign_of_a_loss_is_the_same_everywhere() -> None:
    model = StableTreeClassifier(**FAST, scoring="log_loss").fit(*frame(0))
    model.update(*frame(1, n_rows=600, shift=0.8), prior_rows=0)
    step = model.update_.steps[model.update_.taken]
    assert step.difference > 0  # it is better, and so the log loss is less
    assert f"-{step.difference:.3f}" in str(model.update_).split("step  what changes")[0]
    assert "lower is better" in str(model.update_)


def test_references_that_ask_about_a_column_that_is_another_now_are_left_out() -> None:
    X, y = frame(0)
    later, y_later = frame(1)
    model = StableTreeClassifier(**FAST).fit(X.assign(w=np.random.default_rng(3).normal(size=200)), y)
    asked = {tree.schema.names[each] for tree in model.reference_trees_ for each in tree.feature if each >= 0}
    assert "w" in asked
    if "w" not in {model.tree_.schema.names[each] for each in model.tree_.feature if each >= 0}:
        model.update(later.assign(w="text"), y_later, allow_new_values=True)


@pytest.mark.parametrize("how", ["keep", "refit", "retrain", "candidate"])
def test_other_ways_do_what_they_say(model: StableTreeClassifier, how: str) -> None:
    before = model.tree_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model.update(*frame(1, shift=1.0), strategy=how)
    step = model.update_.steps[model.update_.taken]
    assert step.kind == how
    if how == "keep":
        assert np.array_equal(model.tree_.value, before.value)
    if how == "refit":
        assert np.array_equal(model.tree_.threshold, before.threshold, equal_nan=True)
        assert not np.array_equal(model.tree_.value, before.value)


def test_take_moves_along_the_path(model: StableTreeClassifier) -> None:
    X, y = frame(1, n_rows=600, shift=0.8)
    model.update(X, y, prior_rows=0)
    deployed = model.previous_tree_
    for number, step in enumerate(model.update_.steps):
        model.select_step(number)
        assert model.tree_ is (step.tree if number else deployed)
        assert model.update_.taken == number
    with pytest.raises(ParameterError, match=r"step=99 is out of range: the path has the steps 0 to"):
        model.select_step(99)


def test_frozen_nodes_stay(model: StableTreeClassifier) -> None:
    before = model.tree_
    model.update(*frame(1, n_rows=600, shift=1.5), prior_rows=0, frozen=[0])
    assert model.tree_.feature[0] == before.feature[0]
    assert model.tree_.threshold[0] == before.threshold[0]
    with pytest.raises(ParameterError, match="which is not a node of the deployed tree"):
        model.update(*frame(1), frozen=[999])


def test_what_was_edited_by_hand_stays_and_stays_on_record(model: StableTreeClassifier) -> None:
    leaf = int(np.flatnonzero(model.tree_.feature == -1)[0])
    threshold = float(model.tree_.threshold[0]) - 0.05
    by_hand = model.tree_.with_leaf_value(
        leaf, {model.classes_[1]: 0.123}, by="Ada", why="a guideline"
    ).with_threshold(0, threshold, by="Ada", why="easier to say")
    model.from_tree(by_hand)
    model.update(*frame(1, n_rows=600, shift=1.5), prior_rows=0, frozen="edited")
    assert (model.tree_.threshold[0], model.tree_.value[leaf, 1]) == (threshold, pytest.approx(0.123))
    assert [edit.why for edit in model.tree_.edits] == ["a guideline", "easier to say"]
    assert edited_nodes(model.tree_) == (0, leaf)


def test_thresholds_that_stay_are_not_rounded_again(model: StableTreeClassifier) -> None:
    odd = model.tree_.threshold + np.where(np.isnan(model.tree_.threshold), 0.0, 1e-7)
    model.from_tree(model.tree_.replace(threshold=odd))
    model.update(*frame(0), prior_rows=0, tolerance=1.0)
    assert np.array_equal(model.tree_.threshold, odd, equal_nan=True)


def test_new_categories_and_classes_are_taken_in_on_request_only(model: StableTreeClassifier) -> None:
    X, y = frame(1)
    X.loc[:9, "kind"] = "c"
    X.loc[10:19, "kind"] = None
    with pytest.warns(DataWarning, match=r"'kind': 'c' \(10 rows\).*allow_new_values=True"):
        model.update(X, y)
    assert model.tree_.schema.features[2].categories == ("a", "b")
    as_missing = StableTreeClassifier(**FAST).fit(*frame(0)).update(X.replace({"kind": {"c": None}}), y)
    assert np.array_equal(model.update_.steps[1].tree.value, as_missing.update_.steps[1].tree.value)
    y = y.astype(object)
    y[:40] = "maybe"
    with pytest.raises(
        SchemaMismatch, match=r"(?s)new classes.*'maybe'.*Give allow_new_values=True"
    ) as refused:
        model.update(X, y)
    assert "schema.widen" not in str(refused.value)
    with pytest.raises(SchemaMismatch, match=r"(?s)not in the schema.*'more'.*Or give allow_new_values=True"):
        model.update(X.assign(more=0.0), y)
    with pytest.raises(SchemaMismatch, match=r"columns missing") as refused:
        model.update(X.drop(columns="z"), y)
    assert "allow_new_values" not in str(refused.value)
    model.update(X.assign(more=1.0 * np.arange(len(X))), y, allow_new_values=True)
    assert model.tree_.schema.features[2].categories == ("a", "b", "c")
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert model.feature_names_in_.tolist() == ["x", "z", "kind", "more"]
    assert model.predict(X.assign(more=0.0)).shape == (200,)


def test_a_column_that_was_empty_before_may_become_text() -> None:
    X, y = frame(0)
    later, y_later = frame(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = StableTreeClassifier(**FAST).fit(X.assign(ward=np.nan), y)
    later["ward"] = np.array(["east", "west"])[np.arange(len(later)) % 2]
    model.update(later, y_later, allow_new_values=True)
    assert model.tree_.schema.features[3].categories == ("east", "west")


def test_old_rows_and_their_age_count(model: StableTreeClassifier) -> None:
    old, new = frame(0), frame(1, n_rows=200, shift=2.0)
    even = StableTreeClassifier(**FAST).fit(*old).update(*new, X_old=old[0], y_old=old[1], prior_rows=0)
    late = (
        StableTreeClassifier(**FAST)
        .fit(*old)
        .update(*new, X_old=old[0], y_old=old[1], half_life=0.1, prior_rows=0)
    )
    alone = StableTreeClassifier(**FAST).fit(*old).update(*new, prior_rows=0)
    X = new[0]
    near, far = (np.abs(each.predict_proba(X) - alone.predict_proba(X)).mean() for each in (late, even))
    assert near < far
    with pytest.raises(ParameterError, match="half_life needs to know how old rows are"):
        model.update(*new, half_life=1.0)


def test_a_policy_that_is_broken_leaves_the_tree_as_it_is(model: StableTreeClassifier) -> None:
    X, y = frame(1, n_rows=600, shift=0.8)
    before, policy = model.tree_, ChangePolicy(thresholds="never", new_splits="never", max_churn=0.0)
    model.update(X, y, prior_rows=0, policy=policy)
    assert model.tree_ is before
    assert not model.update_.is_taken
    assert not model.update_.verdict.passed
    assert "The policy forbids the update" in str(model.update_)
    assert hasattr(model, "frontier_")
    model.update(X, y, prior_rows=0, policy=policy, force=True)
    assert model.update_.is_forced
    assert model.tree_ is model.update_.tree
    model.select_step(0)  # keeping breaks no line
    assert model.update_.is_taken
    assert not model.update_.is_forced
    model.select_step(len(model.update_.steps) - 1)  # which the policy forbids
    assert model.tree_ is before


def test_a_step_taken_by_force_after_a_refusal_counts_the_rows(model: StableTreeClassifier) -> None:
    X, y = frame(1, n_rows=600, shift=0.8)
    model.update(X, y, prior_rows=0, policy=ChangePolicy(leaf_values="never", thresholds="never"))
    assert not model.update_.is_taken
    assert not hasattr(model, "n_rows_effective_")
    model.select_step(model.update_.taken, force=True)
    assert model.n_rows_effective_ == 600
    assert not hasattr(model, "frontier_")


def test_any_tree_can_be_adopted_and_updated() -> None:
    X, y = frame(0)
    theirs = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[["x", "z"]], y)
    model = StableTreeClassifier(**FAST).from_tree(theirs)
    assert model.predict(X[["x", "z"]]).tolist() == theirs.predict(X[["x", "z"]]).tolist()
    model.update(frame(1)[0][["x", "z"]], frame(1)[1])
    assert model.tree_.n_leaves >= 2
    with pytest.raises(ParameterError, match="take the other estimator"):
        StableTreeRegressor().from_tree(theirs)


def test_an_updated_model_can_be_saved_and_updated_again(model: StableTreeClassifier, tmp_path) -> None:
    model.update(*frame(1, shift=0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    X = frame(2)[0]
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.n_rows_effective_ == model.n_rows_effective_
    assert again.teacher_loss_ == model.teacher_loss_
    both = [each.update(*frame(2, shift=0.5)).tree_ for each in (again, model)]
    assert tree_distance(*both).total == 0.0
    with pytest.raises(AttributeError, match="frontier_"):
        _ = again.frontier_


def test_numbers_and_several_classes_are_updated_alike() -> None:
    X, y = frame(0)
    numbers = X["x"].to_numpy() * 2 + (X["kind"] == "b") * 3.0
    regressor = StableTreeRegressor(**FAST).fit(X, numbers)
    later, _ = frame(1)
    moved = (later["x"].to_numpy() - 1.0) * 2 + (later["kind"] == "b") * 3.0
    regressor.update(later, moved, prior_rows=0)
    assert regressor.score(later, moved) > 0.7
    three = np.where(X["z"] > 0.8, "maybe", y)
    classifier = StableTreeClassifier(**FAST).fit(X, three)
    classifier.update(later, np.where(later["z"] > 0.2, "maybe", frame(1)[1]), prior_rows=0)
    assert classifier.predict_proba(later).shape == (200, 3)


def test_rows_and_columns_in_another_order_give_the_same_bits() -> None:
    X, y = frame(1, n_rows=300, shift=0.8)
    order = np.random.default_rng(5).permutation(len(X))
    one = StableTreeClassifier(**FAST).fit(*frame(0)).update(X, y)
    other = StableTreeClassifier(**FAST).fit(*frame(0)).update(X.iloc[order], y[order])
    assert one.tree_.value.tobytes() == other.tree_.value.tobytes()
    assert [step.score for step in one.update_.steps] == [step.score for step in other.update_.steps]


def test_what_failed_leaves_no_trace(model: StableTreeClassifier) -> None:
    before = dict(vars(model))
    with pytest.raises(ParameterError, match="strategy='leap' is unknown"):
        model.update(*frame(1), strategy="leap")
    with pytest.raises(ParameterError, match="tolerance=-1"):
        model.update(*frame(1), tolerance=-1)
    assert vars(model) == before


def judged_steps(model: StableTreeClassifier, **refit: Any) -> Any:
    """An update to a fresh tree, with other held-out figures of the step that changes leaf values."""
    update = model.update(*frame(1, n_rows=300, shift=0.8), prior_rows=0).update_
    refitted = replace(update.steps[1], kind="refit", loss=0.0, **refit)
    return replace(update, steps=(update.steps[0], refitted, update.steps[-1]), taken=2)


def test_a_step_is_passed_over_where_its_likelihood_is_clearly_lower_and_the_words_say_so(
    model: StableTreeClassifier,
) -> None:
    slightly, clearly = ((-0.0105, 0.0057), (-0.0205, 0.0057))
    for likelihood, is_fine in ((slightly, True), (clearly, False)):
        update = judged_steps(model, difference=0.0, error=0.0, likelihood=likelihood)
        assert is_no_worse(update.steps[1], update.deployed) is is_fine
    words = " ".join(str(update).split())
    assert "as requested" not in words
    assert "Step 1 fits too, but its log likelihood on the rows held out is worse" in words
    assert "(-0.0205 ± 0.0057)" in words
    update = judged_steps(model, difference=-0.03, error=0.01, likelihood=(-0.02, 0.01))
    assert "its AUC on the rows held out is worse" in " ".join(str(update).split())


def test_a_step_that_was_named_is_said_to_be_asked_for(model: StableTreeClassifier) -> None:
    update = judged_steps(model, difference=0.0, error=0.0, likelihood=(0.0, 0.0))
    words = " ".join(str(update.select_step(len(update.steps) - 1)).split())
    assert "as requested" in words
    assert "Step 1 fits too, and is nearer" in words
    refit = model.update(*frame(0), strategy="refit").update_
    assert "No split changes as requested" not in str(refit)
    assert "every split stays" in str(refit)


def test_a_change_that_no_held_out_tree_makes_has_no_score_and_is_not_taken(
    model: StableTreeClassifier,
) -> None:
    from holdfast.update.path import UpdateOption
    from holdfast.update.update import _find_similar

    tree = model.tree_
    like = [UpdateOption("keep", tree, 0.1, 0.0), UpdateOption("refit", tree, 0.05, 0.0)]
    assert _find_similar(UpdateOption("change", tree, 0.01, 2.0), like) is None
    assert _find_similar(UpdateOption("fresh", tree, 0.0, 2.0), like) is None
    assert _find_similar(UpdateOption("refit", tree, 0.0, 2.0), like) is like[1]

    policy = ChangePolicy(score_margin=0.02, max_flips=0.5)
    update = model.update(*frame(1, n_rows=300, shift=0.8), prior_rows=0, policy=policy, force=True).update_
    unknown = {"holdout_tree": None, "score": np.nan, "difference": np.nan, "error": np.nan}
    step = replace(update.steps[-1], **unknown, likelihood=(np.nan, np.nan), observed_expected=None)
    assert not is_no_worse(step, update.deployed)
    update = replace(update, steps=(*update.steps[:-1], step)).select_step(len(update.steps) - 1)
    assert [line.name for line in update.verdict.not_judged] == ["score_margin"]
    words = " ".join(str(update).split())
    assert "without the rows held out, no tree of this kind was found." in words
    assert f"Step {update.taken} has no score: without the rows held out" in words
    assert "nan" not in words


def test_a_tree_that_fits_is_kept_or_gets_new_leaf_values(model: StableTreeClassifier) -> None:
    from holdfast.stable.consensus.train import distance_settings
    from holdfast.stable.settings import StabilitySettings
    from holdfast.update.path import UpdateContext, UpdateOption, UpdatePath, choose_step
    from holdfast.update.settings import UpdateSettings

    tree = model.tree_
    kinds = ("keep", "refit", "change", "fresh")
    points = [UpdateOption(kind, tree, 0.01 - place / 1000, place) for place, kind in enumerate(kinds)]
    settings = StabilitySettings()
    context = UpdateContext(settings, UpdateSettings(), distance_settings(settings, [tree]), (), 0.0)
    moved = UpdatePath(points, points, has_drift=True, n_behind=0.0)
    assert choose_step(moved, context, [True, True, True, True]) == 1
    assert choose_step(moved, context, [True, False, True, True]) == 0
    assert choose_step(moved._replace(has_drift=False), context, [True, True, True, True]) == 0
    unfit = moved._replace(options=[points[0]._replace(loss=0.5), *points[1:]])
    assert choose_step(unfit, context, [True, False, True, True]) == 2
