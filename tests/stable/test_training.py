"""The pipeline against a slow and obvious twin, and what must not matter to it."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, make_scorer, r2_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from holdfast._random import Branch, derive_seed
from holdfast.data.resampling import Units
from holdfast.data.row_keys import group_copies
from holdfast.data.row_order import canonicalize_rows
from holdfast.data.table import Table
from holdfast.distance.distance import tree_distance
from holdfast.errors import DataWarning, ParameterError
from holdfast.growth.collections import list_combinations, make_learner
from holdfast.growth.grow import grow
from holdfast.growth.leaf_values import refit_leaf_values
from holdfast.growth.rules import GrowthRules
from holdfast.stable.candidates import (
    TreeCollection,
    estimate_reliability,
    grow_collection,
    remove_division_effects,
)
from holdfast.stable.rows import RowMetadata, split_rows
from holdfast.stable.settings import StabilitySettings
from holdfast.stable.train import StableTrees, train, train_on_split
from holdfast.tree.tree import Tree
from reference.resampling import draw_counts

RULES = GrowthRules(max_depth=3)
SQUARES = GrowthRules("squared_error", max_depth=3)
GRID = {"max_depth": [2, 3], "min_samples_leaf": [2, 6]}
SMALL = StabilitySettings(method="bootstrap", rules=RULES, grid=GRID, n_estimators=9, shrink_scores=False)

random = np.random.default_rng(11)
X = random.normal(size=(80, 3)).round(2)
WARD = random.choice(["icu", "er", "gp"], 80)
BINARY = np.where(X[:, 0] + 0.7 * random.normal(size=80) > 0, "ill", "well")
THREE = np.where(X[:, 1] > 0.6, "c", np.where(X[:, 0] > 0, "a", "b"))
NUMBERS = (3 * X[:, 0] + random.normal(size=80)).round(3)
GROUPS = np.sort(random.integers(0, 25, 80))
STAGE = np.arange(80) // 20


def mixed_frame() -> pd.DataFrame:
    frame = pd.DataFrame({"x": X[:, 0], "ward": WARD, "z": X[:, 2]})
    frame.loc[::9, "x"] = np.nan
    frame.loc[3::11, "ward"] = None
    return frame


def tree_bits(tree: Tree) -> tuple[bytes, ...]:
    names = ("feature", "threshold", "left", "right", "missing_left", "in_set", "value", "weight", "impurity")
    return tuple(getattr(tree, name).tobytes() for name in names)


def all_bits(trained: StableTrees) -> tuple[Any, ...]:
    """Everything that came out, to the bit."""
    trees = [*trained.references.trees, *trained.candidates.trees]
    return ([tree_bits(tree) for tree in trees], trained.frontier.columns())


# -- the twin ---------------------------------------------------------------------------------------------


def slow_tree(
    table: Table, rows: np.ndarray, place: int, branch: int, settings: StabilitySettings, groups: Any
) -> Tree:
    """Tree number `place`: a table of repeated rows, grown by the next combination."""
    depths, leaves = GRID["max_depth"], GRID["min_samples_leaf"]
    repeats = np.ones(table.n_rows) if table.weight is None else table.weight
    counts = draw_counts(
        (repeats * rows).astype(np.int32), Units.of(table, groups), (settings.seed, branch, place)
    )
    depth, leaf = [(depth, leaf) for depth in depths for leaf in leaves][place % 4]
    bare = Table(table.schema, table.columns, table.target)
    sample = bare.subset(np.repeat(np.arange(table.n_rows), counts))
    return grow(sample, replace(settings.rules, max_depth=depth, min_samples_leaf=leaf))


def slow_distance(candidate: Tree, references: Sequence[Tree]) -> float:
    totals = [tree_distance(candidate, tree, label_weight=6.0, depth=3).total for tree in references]
    return sum(totals) / len(totals)


def slow_score(tree: Tree, table: Table) -> float:
    predicted = np.array([tree.value[leaf] for leaf in tree.apply(table)])
    weight = table.weight
    if not table.schema.target.is_classes:
        return float(r2_score(table.target, predicted[:, 0], sample_weight=weight))
    if predicted.shape[1] == 2:
        return float(roc_auc_score(table.target, predicted[:, 1], sample_weight=weight))
    each = [
        roc_auc_score(table.target == label, predicted[:, label], sample_weight=weight)
        for label in range(predicted.shape[1])
    ]
    return float(np.mean(each))


def assert_alike(trees: Sequence[Tree], expected: Sequence[Tree]) -> None:
    """The same to the bit; means of numbers to a billionth, as sums are rounded on the scale of the table."""
    for one, other in zip(trees, expected, strict=True):
        if one.schema.target.is_classes:
            assert tree_bits(one) == tree_bits(other)
        assert tree_bits(one)[:6] == tree_bits(other)[:6]
        assert one.value == pytest.approx(other.value, rel=1e-9, abs=1e-9)


CASES: dict[str, dict[str, Any]] = {
    "two classes": {"data": (X, BINARY)},
    "three classes": {"data": (X, THREE)},
    "numbers": {"data": (X, NUMBERS)},
    "categories and gaps": {"data": (mixed_frame(), BINARY)},
    "weights": {"data": (X, BINARY, np.arange(80) % 3 + 1)},
    "groups": {"data": (X, BINARY), "groups": GROUPS},
    "stages": {"data": (X, BINARY), "stage": STAGE},
    "stages and groups": {"data": (X, NUMBERS), "stage": STAGE, "groups": GROUPS},
    "repeated rows": {"data": (np.round(X), BINARY)},
}


@pytest.mark.parametrize("validation", [0.4, 3])
@pytest.mark.parametrize("name", CASES)
def test_the_pipeline_is_what_plain_loops_would_do(name: str, validation: Any):
    case = CASES[name]
    table = Table.from_arrays(*case["data"])
    rules = RULES if table.schema.target.is_classes else SQUARES
    settings = replace(SMALL, rules=rules, validation=validation, seed=4)
    marks = {mark: case[mark] for mark in ("stage", "groups") if mark in case}
    trained = train(table, settings, **marks)

    table, settled, units = canonicalize_rows(table, list(marks.values()))
    roles = {"groups": group_copies(table, units), **dict(zip(marks, settled, strict=True))}
    groups = roles["groups"]
    division = split_rows(
        table, StabilitySettings(method="bootstrap", validation=validation, seed=4), RowMetadata(**roles)
    )
    references, candidates, scores = [], [], []
    for place in range(9):
        way = (place % 4 + place // 4) % len(division.validation)
        held_out = division.validation[way]
        early = ~held_out & division.early
        references.append(slow_tree(table, early, place, Branch.REFERENCE_TREES, settings, groups))
        candidates.append(slow_tree(table, ~held_out, place, Branch.CANDIDATE_TREES, settings, groups))
        # As honest as the tree that is delivered: leaf values from all rows but those that score it.
        fair = refit_leaf_values(candidates[-1], table.subset(~held_out), rules)
        scores.append(slow_score(fair, table.subset(held_out)))
        assert trained.candidates.division[place] == way

    candidates = [refit_leaf_values(tree, table, rules) for tree in candidates]
    assert_alike(trained.references.trees, references)
    assert_alike(trained.candidates.trees, candidates)
    instability = [slow_distance(candidate, references) for candidate in candidates]
    assert trained.frontier.instability == pytest.approx(np.array(instability))
    assert trained.frontier.measured_score == pytest.approx(np.array(scores))
    if validation == 3:
        place = np.arange(9)
        adjusted = remove_division_effects(np.array(scores), place % 4, (place % 4 + place // 4) % 9)
        scores = np.clip(adjusted, min(scores), max(scores))
    assert trained.frontier.score == pytest.approx(np.array(scores))


# -- leaks -----------------------------------------------------------------------------------------------


def with_other_targets(table: Table, rows: np.ndarray) -> Table:
    """The targets of these rows turned round, on the same schema."""
    target = table.target.copy()
    target[rows] = target.max() - target[rows] if not table.schema.target.is_classes else target[rows] == 0
    return Table(table.schema, table.columns, target, table.weight)


# Not "balanced": the fractions of the classes are those of all rows.
@pytest.mark.parametrize("class_weight", [None, {"ill": 3.0}], ids=str)
def test_targets_of_validation_rows_change_no_bit_of_a_candidate(class_weight: Any):
    table = Table.from_arrays(X, BINARY)
    division = split_rows(table, StabilitySettings(method="bootstrap", validation=4, seed=1))
    rules = GrowthRules(class_weight=class_weight)
    settings = replace(SMALL, rules=rules, n_estimators=24, refit_leaves=False)
    plain = train_on_split(table, division, settings)
    for way in (0, 5):
        turned = train_on_split(with_other_targets(table, division.validation[way]), division, settings)
        for place in np.flatnonzero(plain.candidates.division == way):
            assert tree_bits(plain.candidates.trees[place]) == tree_bits(turned.candidates.trees[place])
            assert tree_bits(plain.references.trees[place]) == tree_bits(turned.references.trees[place])
            one, other = plain.frontier.measured_score[place], turned.frontier.measured_score[place]
            assert one != other


def test_refitted_leaf_values_change_no_split():
    table = Table.from_arrays(X, BINARY)
    division = split_rows(table, StabilitySettings(method="bootstrap", validation=0.4, seed=1))
    plain = train_on_split(table, division, SMALL)
    turned = train_on_split(with_other_targets(table, division.validation[0]), division, SMALL)
    for one, other in zip(plain.candidates.trees, turned.candidates.trees, strict=True):
        assert one.threshold.tobytes() == other.threshold.tobytes()
        assert one.feature.tolist() == other.feature.tolist()
        assert one.value.tolist() != other.value.tolist()


def test_late_rows_change_no_bit_of_a_reference_tree():
    table = Table.from_arrays(X, BINARY)
    division = split_rows(
        table, StabilitySettings(method="bootstrap", validation=0.3, seed=2), RowMetadata(STAGE)
    )
    plain = train_on_split(table, division, SMALL)
    turned = train_on_split(with_other_targets(table, ~division.early), division, SMALL)
    assert list(map(tree_bits, plain.references.trees)) == list(map(tree_bits, turned.references.trees))
    assert list(map(tree_bits, plain.candidates.trees)) != list(map(tree_bits, turned.candidates.trees))


def root_weights(grown: TreeCollection) -> list[float]:
    return [float(tree.weight[0]) for tree in grown.trees]


def drawn_sizes(table: Table, rows: np.ndarray, branch: int, n_trees: int) -> list[float]:
    """How many rows the sample of each tree holds, of the rows that it may see."""
    samples = [
        draw_counts(rows.astype(np.int32), Units.of(table), (SMALL.seed, branch, place))
        for place in range(n_trees)
    ]
    return [float(counts.sum()) for counts in samples]


def test_trees_weigh_the_rows_of_their_division():
    table = Table.from_arrays(X, BINARY)
    division = split_rows(table, StabilitySettings(method="bootstrap", validation=0.25, seed=2))
    grown = train_on_split(table, division, replace(SMALL, refit_leaves=False))
    trained = train_on_split(table, division, SMALL)
    assert root_weights(grown.candidates) == drawn_sizes(
        table, division.training[0], Branch.CANDIDATE_TREES, len(grown.candidates)
    )
    assert root_weights(trained.references) == drawn_sizes(
        table, division.early_training[0], Branch.REFERENCE_TREES, len(trained.references)
    )
    assert {float(tree.weight[0]) for tree in trained.candidates.trees} == {80.0}


# -- what must not matter ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["categories and gaps", "stages and groups", "repeated rows"])
def test_the_order_of_the_rows_changes_no_bit(name: str):
    data, order = CASES[name]["data"], np.random.default_rng(5).permutation(80)
    marks = {mark: CASES[name][mark] for mark in ("stage", "groups") if mark in CASES[name]}
    turned = [part.iloc[order] if isinstance(part, pd.DataFrame) else part[order] for part in data]
    settings = replace(SMALL, rules=SQUARES) if data[1] is NUMBERS else SMALL
    one = train(Table.from_arrays(*data), settings, **marks)
    other = train(Table.from_arrays(*turned), settings, **{name: mark[order] for name, mark in marks.items()})
    assert all_bits(one) == all_bits(other)


def test_the_order_of_repeated_rows_with_broken_weights_changes_no_bit():
    few, weight = np.round(X), np.random.default_rng(0).random(80)
    order = np.random.default_rng(1).permutation(80)
    one = train(Table.from_arrays(few, BINARY, weight), SMALL)
    other = train(Table.from_arrays(few[order], BINARY[order], weight[order]), SMALL)
    assert all_bits(one) == all_bits(other)


@pytest.mark.parametrize("marked", [False, True], ids=["plain", "stages and groups"])
def test_a_weight_is_as_many_rows_to_the_bit(marked: bool):
    times = np.arange(80) % 3 + 1
    rows = np.repeat(np.arange(80), times)
    marks = {"stage": STAGE, "groups": GROUPS} if marked else {}
    weighted = train(Table.from_arrays(X, BINARY, times), SMALL, **marks)
    repeated = train(
        Table.from_arrays(X[rows], BINARY[rows]), SMALL, **{name: mark[rows] for name, mark in marks.items()}
    )
    assert all_bits(weighted) == all_bits(repeated)


def test_the_number_of_jobs_changes_no_bit():
    table = Table.from_arrays(mixed_frame(), THREE)
    settings = replace(SMALL, n_estimators=45, rules=GrowthRules(max_features=2))
    assert all_bits(train(table, settings)) == all_bits(train(table, replace(settings, n_jobs=2)))


@pytest.mark.slow
def test_processes_change_no_bit():
    try:
        joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(abs)(number) for number in (1, 2))
    except OSError as error:
        pytest.skip(f"no processes can be started here: {error}")
    table = Table.from_arrays(mixed_frame(), BINARY)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        apart = train(table, SMALL, groups=GROUPS)
    assert all_bits(train(table, SMALL, groups=GROUPS)) == all_bits(apart)


# -- few different rows -----------------------------------------------------------------------------------


def tabulated(n_rows: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """One binary column: 80 % of the rows with a 1 are ill, of the others 20 %."""
    x = np.arange(n_rows) % 2
    return x[:, np.newaxis].astype(float), (np.arange(n_rows) // 2 % 5 < np.where(x, 4, 1)).astype(int)


@pytest.mark.parametrize("validation", ["auto", 0.3])
def test_scores_are_right_where_few_rows_are_different(validation: Any):
    # Four rows in five have the class of their kind: any candidate with a split scores 0.8.
    trained = train(
        Table.from_arrays(*tabulated()),
        StabilitySettings(method="bootstrap", n_estimators=15, scoring="accuracy", validation=validation),
    )
    assert trained.frontier.score == pytest.approx(np.full(15, 0.8), abs=0.05)


def test_scores_of_tables_of_counts_are_honest():
    # 2,000 rows of three binary columns: a tree with the true probabilities has an AUC of about 0.82.
    draw = np.random.default_rng(0)
    flags = draw.integers(0, 2, (2000, 3)).astype(float)
    share = 0.1 + 0.5 * flags[:, 0] + 0.3 * flags[:, 1]
    ill = (draw.random(2000) < share).astype(int)
    trained = train(Table.from_arrays(flags, ill), StabilitySettings(method="bootstrap", n_estimators=30))
    assert np.median(trained.frontier.score) == pytest.approx(roc_auc_score(ill, share), abs=0.03)


def test_early_stages_hold_their_share_of_rows_even_if_the_rows_are_alike():
    # 60 rows of the first stage are one row in effect; they are still 60 of 80, more than half of them.
    rows = np.concatenate([np.zeros((60, 1)), np.arange(20.0)[:, np.newaxis] + 1])
    y = np.concatenate([np.arange(60) % 2, np.arange(20) % 2])
    stage = np.concatenate([np.zeros(60, int), np.ones(10, int), np.full(10, 2)])
    trained = train(Table.from_arrays(rows, y), replace(SMALL, validation=0.3), stage=stage)
    # All rows of the first stage are equal: no reference tree has a split.
    assert {tree.n_leaves for tree in trained.references.trees} == {1}


# -- scores -----------------------------------------------------------------------------------------------


@given(st.integers(1, 6), st.integers(1, 6), st.randoms(use_true_random=False))
def test_the_effect_of_a_division_is_removed(n_combinations: int, n_divisions: int, draw: Any):
    place = np.arange(n_combinations * n_divisions)
    combination, division = place % n_combinations, place // n_combinations
    merit = np.array([draw.random() for _ in range(n_combinations)])
    ease = np.array([draw.random() for _ in range(n_divisions)])
    adjusted = remove_division_effects(merit[combination] + ease[division], combination, division)
    assert adjusted == pytest.approx(merit[combination] + ease.mean())


@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_without_division_effects_the_mean_and_the_order_inside_a_division_stay(n_estimators: int, draw: Any):
    score = np.array([draw.random() for _ in range(n_estimators)])
    combination = np.array([draw.randrange(4) for _ in range(n_estimators)])
    division = np.array([draw.randrange(3) for _ in range(n_estimators)])
    adjusted = remove_division_effects(score, combination, division)
    assert adjusted.mean() == pytest.approx(score.mean())
    for way in range(3):
        inside = division == way
        if inside.any():
            assert np.ptp((adjusted - score)[inside]) < 1e-12


# -- scores that are chance -------------------------------------------------------------------------------


def slow_reliability(whole: Any, one: Any, other: Any, kind: Any) -> float:
    """What two halves agree on, over what there is: sums over pairs of deviations from the mean of a kind."""
    agreed = variance = 0.0
    for value in set(kind.tolist()):
        inside = kind == value
        a, b, both = (scores[inside] - scores[inside].mean() for scores in (one, other, whole))
        agreed += sum(a * b)
        variance += sum(both * both)
    return min(max(agreed / variance, 0.0), 1.0)


@pytest.mark.parametrize("n_estimators", [4, 9, 30, 100])
def test_reliability_is_what_two_halves_agree_on(n_estimators: int):
    one, other = np.random.default_rng(n_estimators).normal(0.8, 0.1, (2, n_estimators))
    kind = np.arange(n_estimators) % 3
    whole = (one + other) / 2
    one_way = np.zeros(n_estimators, np.int64)

    def found(first: np.ndarray, second: np.ndarray) -> float:
        return estimate_reliability(whole, np.column_stack([first, second]), kind, one_way)

    assert found(one, other) == pytest.approx(slow_reliability(whole, one, other, kind))
    # Halves of independent rows that agree in all: nothing is chance.
    assert found(whole, whole) == pytest.approx(1.0)
    assert found(whole, -whole) == 0.0


def test_reliability_rests_on_the_candidates_whose_rows_could_be_halved():
    halves = np.array([[0.8, 0.8], [0.6, 0.6], [np.nan, np.nan], [0.7, np.nan]])
    kind = one_way = np.zeros(4, np.int64)
    assert estimate_reliability(np.array([0.8, 0.6, 0.1, 0.9]), halves, kind, one_way) == pytest.approx(1.0)
    assert estimate_reliability(np.array([0.8, 0.6]), np.full((2, 2), np.nan), kind[:2], one_way[:2]) == 1.0


@pytest.mark.parametrize("n_combinations", [1, 4, 5, 14])
@pytest.mark.parametrize("n_ways", [1, 3, 15])
def test_every_combination_meets_every_division(n_combinations: int, n_ways: int):
    table = Table.from_arrays(X, BINARY)
    grid = {"max_depth": [1], "min_impurity_decrease": [number / 100 for number in range(n_combinations)]}
    learner = make_learner(table, RULES, list_combinations(grid))
    rows = [np.ones(80, bool)] * n_ways
    grown = grow_collection(learner, rows, n_combinations * n_ways, units=Units.of(table))
    met = {*zip(grown.combination.tolist(), grown.division.tolist(), strict=True)}
    assert len(met) == n_combinations * n_ways


def test_the_error_of_a_guess_rests_on_all_folds_and_that_of_a_measured_score_on_one():
    table = Table.from_arrays(X, BINARY)
    plain = train(table, replace(SMALL, n_estimators=40, validation=3)).frontier
    assert plain.score_error.tolist() == plain.measured_error.tolist()
    shrunk = train(table, replace(SMALL, n_estimators=40, validation=3, shrink_scores=True))
    frontier, share = shrunk.frontier, shrunk.reliability
    for number in range(4):
        inside = frontier.combination == number
        of_mean = (frontier.measured_error[inside] ** 2).mean() / 3
        adjusted = remove_division_effects(frontier.measured_score, frontier.combination, frontier.division)
        spread = np.mean(
            [
                (adjusted[i] - adjusted[frontier.combination == frontier.combination[i]].mean()) ** 2
                for i in range(40)
            ]
        )
        assert frontier.score_error[inside] == pytest.approx(np.sqrt(of_mean + share * (1 - share) * spread))


def test_shrunken_scores_keep_their_combination_and_come_nearer_to_its_mean():
    table = Table.from_arrays(X, BINARY)
    free, shrunk = (
        train(table, replace(SMALL, n_estimators=40, shrink_scores=flag)) for flag in (False, True)
    )
    assert 0.0 <= shrunk.reliability <= 1.0
    frontier, measured = shrunk.frontier, shrunk.frontier.measured_score
    value = remove_division_effects(measured, frontier.combination, frontier.division)
    for number in range(4):
        inside = frontier.combination == number
        mean = value[inside].mean()
        guess = mean + shrunk.reliability * (value[inside] - mean)
        assert frontier.score[inside] == pytest.approx(
            np.clip(guess, measured.min(), measured.max()), abs=1e-9
        )
    assert shrunk.frontier.instability.tolist() == free.frontier.instability.tolist()
    assert shrunk.frontier.measured_score.tolist() == free.frontier.measured_score.tolist()


def test_what_is_all_chance_leaves_no_difference_not_even_of_rounding():
    # A target that is noise: among trees of one combination nothing but their distance may decide.
    for seed in range(20):
        noise = np.random.default_rng(seed).integers(0, 2, 80)
        trained = train(
            Table.from_arrays(X, noise), replace(SMALL, n_estimators=40, seed=seed, shrink_scores=True)
        )
        if trained.reliability == 0.0:
            break
    else:
        pytest.fail("no seed gave noise without any reliability")
    for number in range(4):
        assert len(set(trained.frontier.score[trained.frontier.combination == number].tolist())) == 1


def test_cross_fitted_scores_stay_inside_their_range():
    # Scores on hard and easy rows are adjusted, and an accuracy is a fraction all the same.
    for seed in range(2):
        noise = np.random.default_rng(seed).integers(0, 2, 24)
        for scoring in ("accuracy", "auc"):
            chosen = StabilitySettings(method="bootstrap", n_estimators=30, scoring=scoring, seed=seed)
            score = train(Table.from_arrays(X[:24], noise), chosen).frontier.score
            assert score.min() >= 0.0
            assert score.max() <= 1.0


def test_any_scorer_of_scikit_learn_will_do():
    table = Table.from_arrays(X, BINARY)
    settings = replace(SMALL, validation=0.4)
    ours = train(table, replace(settings, scoring="accuracy"))
    theirs = train(table, replace(settings, scoring=make_scorer(accuracy_score)))
    assert theirs.frontier.score == pytest.approx(ours.frontier.score)
    assert theirs.frontier.instability.tolist() == ours.frontier.instability.tolist()
    assert train(table, replace(settings, scoring="f1_macro")).metric.title == "f1 macro"


@pytest.mark.parametrize("scale", [1e-300, 1e160, 1e300])
@pytest.mark.parametrize("scoring", ["r2", "squared_error", "absolute_error"])
def test_the_size_of_the_target_is_no_obstacle(scale: float, scoring: str):
    table = Table.from_arrays(X, NUMBERS * scale)
    trained = train(table, replace(SMALL, rules=SQUARES, scoring=scoring))
    assert np.isfinite(trained.frontier.score).all()


def test_a_single_event_is_enough_for_poisson():
    # Whenever its row is held out, no training row has an event: there is nothing to split, but no mistake.
    events = np.zeros(80)
    events[17] = 1.0
    rules = GrowthRules("poisson", max_depth=3)
    trained = train(
        Table.from_arrays(X, events, task="regression"), replace(SMALL, rules=rules, scoring="poisson")
    )
    assert np.isfinite(trained.frontier.score).all()


# -- grids, learners and terms ----------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, 1 / 80, 0.001, 1000.5])
def test_the_grid_depends_on_the_rows_and_not_on_the_scale_of_their_weights(weight: float | None):
    given_weight = None if weight is None else np.full(80, weight)
    trained = train(
        Table.from_arrays(X, BINARY, given_weight),
        StabilitySettings(method="bootstrap", n_estimators=3, validation=0.25),
    )
    sizes = {combination["min_samples_leaf"] for combination in trained.candidates.combinations}
    assert sizes == {3, 5, 10}  # half of 60 rows are early: 2 * 10 of them can be split


def test_a_combination_that_weighs_classes_weighs_them_in_the_leaves_too():
    rare = (X[:, 0] > 1.0).astype(int)
    in_grid = replace(SMALL, grid={"max_depth": [2], "class_weight": ["balanced"]})
    in_rules = replace(SMALL, grid={"max_depth": [2]}, rules=GrowthRules(class_weight="balanced"))
    table = Table.from_arrays(X, rare)
    one, other = train(table, in_grid), train(table, in_rules)
    assert [tree.value.tolist() for tree in one.candidates.trees] == [
        tree.value.tolist() for tree in other.candidates.trees
    ]


def test_a_tree_keeps_the_criterion_of_its_combination():
    trained = train(Table.from_arrays(X, BINARY), replace(SMALL, grid={"criterion": ["entropy"]}))
    assert {tree.criterion for tree in trained.candidates.trees} == {"entropy"}


def test_a_learner_of_another_library_goes_the_same_way():
    settings = replace(SMALL, learner=DecisionTreeClassifier(), grid={"max_depth": [2]}, validation=0.4)
    table = Table.from_arrays(X, BINARY)
    trained = train(table, replace(settings, refit_leaves=False))
    settled = canonicalize_rows(table).table
    matrix, labels = np.column_stack(settled.columns), np.array(["ill", "well"])[settled.target]
    training = split_rows(settled, StabilitySettings(method="bootstrap", validation=0.4)).training[0]
    for place, tree in enumerate(trained.candidates.trees):
        counts = draw_counts(training.astype(np.int32), Units.of(settled), (0, Branch.CANDIDATE_TREES, place))
        rows = np.repeat(np.arange(80), counts)
        seed = derive_seed(0, Branch.CANDIDATE_TREES, place, 0)
        model = DecisionTreeClassifier(max_depth=2, random_state=seed % 2**31).fit(matrix[rows], labels[rows])
        assert tree.predict(matrix).tolist() == model.predict(matrix).tolist()


def test_the_depth_of_the_terms_is_the_deepest_the_grid_allows():
    table = Table.from_arrays(X, BINARY)
    assert train(table, replace(SMALL, grid={"max_depth": [1, 7]})).distance_settings.depth == 7
    free = train(table, replace(SMALL, grid={"max_depth": [None]}, rules=GrowthRules()))
    deepest = max(tree.depth for tree in [*free.references.trees, *free.candidates.trees])
    assert free.distance_settings.depth == deepest
    assert train(table, replace(SMALL, label_weight=1.5)).distance_settings.label_weight == 1.5


# -- small and odd tables ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
@pytest.mark.parametrize("n_rows", [1, 2, 3, 5])
@pytest.mark.parametrize("validation", ["auto", 0.5])
def test_a_few_rows_are_enough(n_rows: int, validation: Any):
    for y in (BINARY, NUMBERS):
        rules = RULES if y is BINARY else SQUARES
        trained = train(
            Table.from_arrays(X[:n_rows], y[:n_rows]),
            StabilitySettings(method="bootstrap", rules=rules, n_estimators=4, validation=validation),
        )
        assert len(trained.frontier) == 4
        assert trained.frontier.efficient.any()


def test_a_row_without_weight_is_no_row():
    ignored = np.concatenate([np.ones(80), np.zeros(10)])
    far = np.concatenate([X, X[:10] + 0.005])
    labels = np.concatenate([BINARY, BINARY[:10][::-1]])
    table = Table.from_arrays(far, labels, ignored)
    plain = Table(table.schema, tuple(column[:80] for column in table.columns), table.target[:80])
    assert all_bits(train(table, SMALL)) == all_bits(train(plain, SMALL))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0 is out of range"),
        ({"n_estimators": 2.0}, "n_estimators=2.0 is out of range"),
        ({"n_estimators": True}, "n_estimators=True is out of range"),
        ({"grid": [3, 4]}, r"grid=\[3, 4\] is no grid"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(setting: dict[str, Any], message: str):
    with pytest.raises(ParameterError, match=message):
        StabilitySettings(**setting)


@pytest.mark.parametrize(
    "setting",
    [{"matching": "best"}, {"label_weight": -1.0}, {"outcome": "value"}, {"scoring": "r2"}],
    ids=str,
)
def test_bad_terms_are_refused_before_any_tree_is_grown(setting: dict[str, Any]):
    def never(*_: Any, **__: Any) -> Any:
        pytest.fail("a tree was grown")

    (name,) = setting
    with pytest.raises(ParameterError, match=name):
        train(Table.from_arrays(X, BINARY), StabilitySettings(learner=never, **setting))


def test_parts_of_one_class_are_named_where_an_auc_is_asked_for():
    table = Table.from_arrays(X, np.where(np.arange(80) < 3, "rare", "common"))
    with pytest.warns(DataWarning, match="of 30 parts held out all rows have one class"):
        train(table, replace(SMALL, validation=10))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(table, replace(SMALL, validation=10, scoring="accuracy"))
