"""A tree carried through stages, as its users meet it."""

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from holdfast import StableTreeClassifier, StableTreeRegressor, load, save, tree_distance
from holdfast.errors import DataError, ParameterError
from holdfast.tree.check import check_tree
from holdfast.tree.tree import Tree
from reference.staged_rows import QUICK, split, years


def classifier(**parameters: Any) -> StableTreeClassifier:
    return StableTreeClassifier(**{**QUICK, **parameters})


@cache
def carried(strategy: str = "update", **options: Any) -> StableTreeClassifier:
    """For tests that only look at it."""
    data = years()
    return classifier().fit_stages(*split(data), stage=data["year"], strategy=strategy, **options)


def bits(tree: Tree) -> tuple[bytes, ...]:
    names = ("feature", "threshold", "left", "right", "missing_left", "in_set", "value", "weight", "count")
    return tuple(getattr(tree, name).tobytes() for name in names)


def all_bits(model: Any) -> list[tuple[bytes, ...]]:
    return [bits(stage.tree) for part in (model.stages_.stages, model.stages_.then) for stage in part]


HOWS = ("update", "shortest-path")


# -- what comes back --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", HOWS)
def test_there_is_a_valid_tree_for_every_stage_and_the_model_has_the_last(how: str) -> None:
    model = carried(how)
    sequence = model.stages_
    assert sequence.labels == ("2001", "2002", "2003", "2004")
    assert model.tree_ is sequence.trees[-1]
    assert len({id(tree.schema) for tree in sequence.trees}) == 1
    for tree in sequence.trees:
        check_tree(tree)
    X, _ = split(years())
    assert np.array_equal(model.predict_proba(X), model.tree_.value[model.tree_.apply(X)])
    assert [stage.n_rows for stage in sequence.stages] == [120] * 4
    assert [stage.n_training_rows for stage in sequence.stages] == [120, 240, 360, 480]


@pytest.mark.parametrize("how", HOWS)
def test_the_trees_of_all_stages_keep_a_direction_that_the_rows_contradict(how: str) -> None:
    data = years()
    X, y = split(data)
    model = classifier(monotonic_cst={"x": -1}).fit_stages(X, y, stage=data["year"], strategy=how)
    for tree in model.stages_.trees:
        low, high = (tree.value[tree.apply(X.assign(x=value)), 1] for value in (-2.0, 2.0))
        assert (low >= high).all()


@pytest.mark.parametrize("how", HOWS)
def test_distances_churn_and_forward_scores_are_those_of_the_trees(how: str) -> None:
    sequence, data = carried(how).stages_, years()
    weight = sequence.distance_settings.label_weight
    for old, new in pairwise(sequence.stages):
        assert new.distance == pytest.approx(tree_distance(old.tree, new.tree, label_weight=weight).total)
        X, _ = split(data[data["year"] == int(new.label)])
        before, after = (tree.value[tree.apply(X)] for tree in (old.tree, new.tree))
        assert new.churn == pytest.approx(np.abs(before - after)[:, 1].mean())
    for then, after in pairwise(sequence.then):
        X, y = split(data[data["year"] == int(after.label)])
        said = then.tree.value[then.tree.apply(X)][:, 1]
        assert then.forward_score == pytest.approx(roc_auc_score(y == "yes", said))
    assert np.isnan(sequence.then[-1].forward_score)
    assert sequence.total_distance == pytest.approx(sum(stage.distance for stage in sequence.stages[1:]))


def test_updates_are_those_that_calls_of_update_would_make() -> None:
    data = years()
    parts = [split(data[data["year"] == year]) for year in (2001, 2002, 2003, 2004)]
    model = classifier().fit(*parts[0])
    trees = [model.tree_]
    for X, y in parts[1:]:
        trees.append(model.update(X, y, validation=None).tree_)
    staged = carried("update", memory="stage")
    assert [bits(tree) for tree in staged.stages_.trees] == [bits(tree) for tree in trees]
    assert staged.n_rows_effective_ == model.n_rows_effective_


def test_one_stage_is_an_ordinary_fit() -> None:
    data = years(1)
    X, y = split(data)
    plain = classifier(validation=1 / 3).fit(X, y)
    for how in HOWS:
        model = classifier(validation=1 / 3).fit_stages(X, y, stage=data["year"], strategy=how)
        assert bits(model.tree_) == bits(plain.tree_)
        assert model.choice_ == plain.choice_
        assert model.stages_.kinds == ("first",)
        assert model.stages_.summary.startswith("One stage, 2001")


@pytest.mark.parametrize("how", HOWS)
def test_no_order_of_rows_or_columns_and_no_number_of_threads_changes_a_bit(how: str) -> None:
    data = years().sample(frac=1, random_state=1)
    X, y = split(data)
    model = classifier(n_jobs=2).fit_stages(X, y, stage=data["year"], strategy=how)
    assert all_bits(model) == all_bits(carried(how))
    model = classifier().fit_stages(X[["kind", "z", "x"]], y, stage=data["year"], strategy=how)
    expected = carried(how).stages_
    for own, other in zip(model.stages_.trees, expected.trees, strict=True):
        assert str(own) == str(other)
        assert np.array_equal(own.value, other.value)


def test_the_trees_of_a_stage_know_nothing_of_later_rows() -> None:
    data = years()
    X, y = split(data)
    changed = y.where(data["year"] < 2004, y.sample(frac=1, random_state=0).to_numpy())
    for how in HOWS:
        one, other = carried(how), classifier().fit_stages(X, changed, stage=data["year"], strategy=how)
        for before, after in zip(one.stages_.then[:3], other.stages_.then[:3], strict=True):
            assert bits(before.tree) == bits(after.tree)


# -- the shortest path ------------------------------------------------------------------------------------


def total_length(stages: Any, weight: float) -> float:
    moved = sum(stage.distance for stage in stages[1:])
    return sum(stage.loss for stage in stages) + weight * moved


def test_the_path_is_never_longer_than_what_is_decided_step_by_step() -> None:
    for weight in (0.0, 0.01, 0.1, 1.0):
        found = carried("shortest-path", movement_weight=weight).stages_
        assert total_length(found.stages, weight) <= total_length(found.then, weight) + 1e-9


def test_the_dearer_movement_the_less_of_it_and_in_hindsight_no_sequence_is_longer() -> None:
    weights = (0.0, 0.01, 0.1, 1.0)
    found = [carried("shortest-path", movement_weight=weight).stages_ for weight in weights]
    moved = [sequence.total_distance for sequence in found]
    assert moved == sorted(moved, reverse=True)
    known = [carried("shortest-path", movement_weight=weight, hindsight=True).stages_ for weight in weights]
    for weight, honest, free in zip(weights, found, known, strict=True):
        assert total_length(free.stages, weight) <= total_length(honest.stages, weight) + 1e-9
        assert [bits(stage.tree) for stage in free.then] == [bits(stage.tree) for stage in honest.then]


def test_the_point_of_the_curve_that_is_taken_is_the_sequence() -> None:
    sequence = carried("shortest-path").stages_
    point = next(each for each in sequence.curve if each.movement_weight == 0.02)
    assert point.movement == pytest.approx(sequence.total_distance)
    assert point.loss == pytest.approx(sum(stage.loss for stage in sequence.stages))
    assert carried("update").stages_.curve == ()


def test_a_tolerance_bounds_the_loss_of_every_stage() -> None:
    sequence = carried("shortest-path", movement_weight=1.0, tolerance=0.03).stages_
    assert max(stage.loss for stage in sequence.stages) <= 0.03 + 1e-9
    free = carried("shortest-path", movement_weight=1.0).stages_
    assert free.total_distance <= sequence.total_distance


# -- options ----------------------------------------------------------------------------------------------


def test_trees_that_are_trained_anew_are_those_of_an_ordinary_fit() -> None:
    data = years()
    sequence = carried("update", compare=True).stages_
    for stage in sequence.retrained:
        so_far = data[data["year"] <= int(stage.label)]
        assert bits(stage.tree) == bits(classifier().fit(*split(so_far)).tree_)
    assert {"retrained_distance", "retrained_churn"} <= {*sequence.columns()}


def test_half_lives_weigh_old_rows_down_and_weights_count() -> None:
    data = years(2)
    X, y = split(data)
    weight = np.where(data["year"] == 2001, 0.5, 1.0)
    model = classifier().fit_stages(X, y, stage=data["year"], half_life=1, compare=True)
    anew = classifier().fit(X, y, weight)
    last = model.stages_.retrained[-1].tree
    assert tree_distance(last, anew.tree_).total == 0
    assert last.value == pytest.approx(anew.tree_.value)


def test_rows_without_weight_and_their_stages_are_left_out() -> None:
    data = years(3)
    weight = (data["year"] != 2002).astype(float)
    model = classifier().fit_stages(*split(data), weight, stage=data["year"])
    assert model.stages_.labels == ("2001", "2003")


def test_small_stages_are_joined_with_the_next() -> None:
    data = years(3)
    data.loc[data.index[:100], "year"] = 2000  # 20 rows of 2001 are left
    model = classifier().fit_stages(*split(data), stage=data["year"])
    assert model.stages_.labels == ("2000", "2001 to 2002", "2003")
    assert [stage.n_rows for stage in model.stages_.stages] == [100, 140, 120]


def test_stages_are_dates_words_or_ordered_categories() -> None:
    data = years(2)
    X, y = split(data)
    words = np.where(data["year"] == 2001, "spring", "autumn")
    plain = classifier().fit_stages(X, y, stage=data["year"])
    for stage, order, labels in (
        (pd.Categorical(words, ["spring", "autumn"], ordered=True), None, ("spring", "autumn")),
        (words, ["spring", "summer", "autumn"], ("spring", "autumn")),
        (pd.to_datetime(data["year"].astype(str)), None, ("2001-01-01", "2002-01-01")),
    ):
        model = classifier().fit_stages(X, y, stage=pd.Series(stage), stage_order=order)
        assert model.stages_.labels == labels
        assert all_bits(model) == all_bits(plain)


def test_strict_groups_score_only_rows_of_groups_that_are_new() -> None:
    data = years(2)
    data["who"] += np.where(data["year"] == 2002, 20, 0)
    X, y = split(data)
    model = classifier().fit_stages(X, y, stage=data["year"], groups=data["who"], strict_groups=True)
    known = {*data["who"][data["year"] == 2001]}
    new = (data["year"] == 2002) & ~data["who"].isin(known)
    assert model.stages_.stages[0].n_forward == new.sum()
    said = model.stages_.trees[0].value[model.stages_.trees[0].apply(X[new])][:, 1]
    assert model.stages_.stages[0].forward_score == pytest.approx(roc_auc_score(y[new] == "yes", said))


@pytest.mark.parametrize("how", HOWS)
def test_numbers_and_many_classes_are_carried_too(how: str) -> None:
    data = years(3, task="numbers")
    model = StableTreeRegressor(**QUICK).fit_stages(*split(data), stage=data["year"], strategy=how)
    assert model.stages_.metric.name == "r2"
    assert model.stages_.then[0].forward_score > 0.3
    X, y = split(data)
    thirds = pd.cut(y, 3, labels=["low", "middle", "high"]).astype(str)
    thirds = thirds.where(data["year"] > 2001, "low")  # a first stage that has one class only
    many = classifier().fit_stages(X, thirds, stage=data["year"], strategy=how)
    assert many.classes_.tolist() == ["high", "low", "middle"]
    assert many.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)))


@pytest.mark.parametrize("method", ["bootstrap", "pruned"])
def test_the_first_tree_may_come_from_another_method(method: str) -> None:
    data = years(2)
    model = classifier(method=method, max_depth=3, max_leaf_nodes=None, validation=0.3)
    model.fit_stages(*split(data), stage=data["year"], strategy="shortest-path", compare=True)
    assert len(model.stages_) == 2


# -- afterwards -------------------------------------------------------------------------------------------


def test_a_model_goes_on_from_its_last_stage(tmp_path: Path) -> None:
    data = years()
    model = classifier().fit_stages(*split(data), stage=data["year"])
    assert model.n_rows_effective_ >= len(data) / 4  # of stages that keep the tree, no row counts
    with pytest.raises(NotFittedError, match="fitted by stages, and its tree has no frontier_"):
        _ = model.frontier_
    save(model, tmp_path / "model.json")
    assert bits(load(tmp_path / "model.json").tree_) == bits(model.tree_)
    model.update(*split(years(1, seed=5)), validation=None)
    assert not hasattr(model, "stages_")
    fitted = classifier().fit_stages(*split(data), stage=data["year"]).fit(*split(data))
    assert not hasattr(fitted, "stages_")


def test_what_cannot_be_done_is_said_before_any_work() -> None:
    data = years(2)
    X, y = split(data)
    with pytest.raises(ParameterError, match="strict_groups=True needs groups"):
        classifier().fit_stages(X, y, stage=data["year"], strict_groups=True)
    with pytest.raises(DataError, match="stage has 2002, which stage_order=2001 lacks"):
        classifier().fit_stages(X, y, stage=data["year"], stage_order=[2001])
    with pytest.raises(DataError, match="stage has 3 values, and the data has 240 rows"):
        classifier().fit_stages(X, y, stage=[1, 2, 3])
    with pytest.raises(DataError, match="not a name"):
        classifier().fit_stages(X, y, stage="year")
