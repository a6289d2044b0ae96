"""Sizes chosen by rows held out: which rows those are, what is scored on them, and which size is taken."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold

from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning, HoldfastError, ParameterError
from holdfast.growth.grow import grow
from holdfast.growth.pruning import PruningPath, depth_path, leaves_path, prune, pruning_path
from holdfast.growth.rules import CART, GrowthRules
from holdfast.growth.size_search import (
    SizeChoice,
    SizeSearch,
    SizeTable,
    choose_size,
    sizes_to_score,
    subtree_scores,
    values_between,
)
from holdfast.io.model_file import model_to_json
from holdfast.scoring.metric import TrueValues, make_metric
from holdfast.tree.tree import LEAF, Tree

SQUARES = GrowthRules("squared_error")
PATHS = {"ccp_alpha": pruning_path, "max_depth": depth_path, "max_leaf_nodes": leaves_path}


def classes(n_rows: int = 150, seed: int = 0, weight: Any = None, rare: float = 0.0) -> Table:
    """Two classes that follow the first column, with much noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    y = np.where(X[:, 0] + random.normal(size=n_rows) > rare, "ill", "well")
    return Table.from_arrays(X, y, weight)


def numbers(n_rows: int = 150, seed: int = 0, weight: Any = None) -> Table:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    return Table.from_arrays(X, X[:, 0] + random.normal(size=n_rows), weight, task="regression")


def sized(
    table: Table, growth: GrowthRules = CART, parameter: Any = "ccp_alpha", **evidence: Any
) -> SizeChoice:
    groups = evidence.pop("groups", None)
    if not table.schema.target.is_classes and growth is CART:
        growth = SQUARES
    return choose_size(table, growth, parameter, search=SizeSearch(**evidence), groups=groups)


def pairs_of(n_rows: int, n_folds: int = 3) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds by the number of the row: they do not have the classes in the same shares."""
    fold = np.arange(n_rows) % n_folds
    return [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(n_folds)]


def assert_same(one: SizeChoice, other: SizeChoice, tolerance: float = 0.0) -> None:
    """The same sizes, the same scores, the same choice."""
    assert one.sizes.scores == pytest.approx(other.sizes.scores, rel=tolerance, abs=tolerance)
    assert one.sizes.values == pytest.approx(other.sizes.values, rel=tolerance, abs=tolerance)
    assert one.sizes.n_leaves.tolist() == other.sizes.n_leaves.tolist()
    assert one.sizes.chosen == other.sizes.chosen
    assert one.tree.n_leaves == other.tree.n_leaves


# -- a fold is as if its rows were not there --------------------------------------------------------------

LIMITS = {
    "nothing": {},
    "balanced classes": {"class_weight": "balanced"},
    "a fraction of rows in a leaf": {"min_samples_leaf": 0.08},
    "a fraction of rows to split": {"min_samples_split": 0.3},
    "a fraction of the weight": {"min_weight_fraction_leaf": 0.07},
    "a gain": {"min_impurity_decrease": 0.01},
    "a depth and leaves": {"max_depth": 4, "max_leaf_nodes": 9},
    "entropy": {"criterion": "entropy"},
    "gain ratio": {"criterion": "gain_ratio", "min_samples_leaf": 4},
    "merged leaves": {"merge_leaves": True},
    "pessimistic pruning": {"pruning_confidence": 0.4},
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("parameter", PATHS)
def test_a_fold_is_scored_by_the_tree_that_grows_without_its_rows(
    limit: str, weighted: bool, parameter: str
) -> None:
    weight = np.random.default_rng(4).uniform(0.3, 2.0, 150) if weighted else None
    table, growth = classes(weight=weight, rare=0.9), GrowthRules(**LIMITS[limit])
    pairs = pairs_of(150)
    found = sized(table, growth, parameter, cv=pairs, scoring="log_loss").sizes
    unlimited = replace(growth, **{parameter: 0.0 if parameter == "ccp_alpha" else None})
    path = PATHS[parameter](grow(table, unlimited))
    metric = make_metric("log_loss", table.schema.target)
    for number, (train, test) in enumerate(pairs):
        own = PATHS[parameter](grow(table.subset(train), unlimited))
        held_out = table.subset(test)
        trees = [own.tree_at(value) for value in values_between(path).tolist()]
        scores = [metric.value(tree.value[tree.apply(held_out)], TrueValues.of(held_out)) for tree in trees]
        assert found.scores[:, number] == pytest.approx(scores, rel=1e-12)


@pytest.mark.parametrize("parameter", PATHS)
def test_the_tree_is_a_part_of_what_the_rules_grow_on_all_rows(parameter: str) -> None:
    table = numbers()
    tree, sizes = sized(table, SQUARES, parameter, cv=5)
    path = PATHS[parameter](grow(table, SQUARES))
    assert sizes.values.tolist() == path.values.tolist()
    assert sizes.n_leaves.tolist() == path.n_leaves.tolist()
    assert sizes.risks.tolist() == path.risks.tolist()
    assert model_to_json(tree) == model_to_json(path[sizes.chosen])
    assert sizes.chosen_value == path.values[sizes.chosen]


@pytest.mark.parametrize("parameter", ["max_depth", "max_leaf_nodes"])
def test_what_the_rules_say_of_the_size_that_is_chosen_does_not_limit_it(parameter: str) -> None:
    limited = replace(SQUARES, **{parameter: 2})
    assert_same(sized(numbers(), SQUARES, parameter), sized(numbers(), limited, parameter))


@pytest.mark.parametrize("seed", range(6))
def test_the_chosen_tree_obeys_the_rules_on_merging_too(seed: int) -> None:
    tree = sized(classes(seed=seed), GrowthRules(merge_leaves=True), cv=5, scoring="log_loss").tree
    assert twins_of(tree) == []


def twins_of(tree: Tree) -> list[int]:
    """The nodes whose two children are leaves of one class."""
    return [
        node
        for node in np.flatnonzero(tree.feature != LEAF).tolist()
        if (tree.feature[[tree.left[node], tree.right[node]]] == LEAF).all()
        and tree.outcome[tree.left[node]] == tree.outcome[tree.right[node]]
    ]


# -- the rule ---------------------------------------------------------------------------------------------


def table_of(scores: Any, rule: str = "cv", error: Any = None, scoring: str = "accuracy") -> SizeTable:
    """Sizes that scored so on their folds."""
    scores = np.array(scores, float)
    n = len(scores)
    if error is None:
        error = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    target = classes().schema.target
    leaves, alphas = np.arange(n, 0, -1), np.arange(float(n))
    metric = make_metric(scoring, target)
    return SizeTable("ccp_alpha", alphas, leaves, alphas, scores, np.array(error, float), rule, metric)


def test_of_sizes_that_score_alike_the_smallest_is_taken() -> None:
    assert table_of([[0.7, 0.7], [0.9, 0.7], [0.7, 0.9], [0.8, 0.8], [0.5, 0.5]]).chosen == 3
    # A tenth three times, and 0.3 at once: rounding tells the means apart.
    assert table_of([[0.1, 0.1, 0.1], [0.3, 0.0, 0.0], [0.0, 0.0, 0.1]]).chosen == 1
    assert table_of([[-1.0], [-1.0]], error=[0.1, 0.1]).chosen == 1


def test_the_smallest_within_one_standard_error_of_the_best_is_taken() -> None:
    scores = [[0.80, 0.84], [0.90, 0.80], [0.79, 0.83], [0.80, 0.80], [0.79, 0.80]]
    # The best mean is 0.85; of 0.9 and 0.8 the deviation is 0.0707, and over the root of 2 folds 0.05.
    found = table_of(scores, "cv-1se")
    assert (found.best, found.chosen) == (1, 3)
    assert found.error[1] == pytest.approx(0.05)
    assert found.score.tolist() == pytest.approx([0.82, 0.85, 0.81, 0.80, 0.795])


def test_losses_are_negated_and_the_least_is_the_best() -> None:
    found = table_of([[-0.5, -0.6], [-0.2, -0.3], [-0.7, -0.9]], scoring="log_loss")
    assert found.chosen == 1
    assert "0.25" in found.reason
    assert "-0.25" not in repr(found)


def test_a_root_that_is_far_off_does_not_make_all_other_sizes_alike() -> None:
    # A fortune here and there: errors of the root in the billions, and cents beside them that still count.
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    y = np.where(X[:, 0] > 0, 1e6, 0.0) + 0.3 * (X[:, 1] > 0) + random.normal(0, 0.01, 300)
    table = Table.from_arrays(X, y, task="regression")
    growth = GrowthRules("squared_error", max_depth=2)
    tree, sizes = sized(table, growth, scoring="squared_error", cv=5)
    assert sizes.score[0] > -0.001  # four leaves
    assert sizes.n_leaves[-2] == 2
    assert sizes.score[-2] < -0.01  # two leaves err more than ten times as much
    assert tree.n_leaves == 4


@pytest.mark.parametrize("rule", ["cv", "cv-1se"])
@pytest.mark.parametrize("table", [classes(), numbers()], ids=["classes", "numbers"])
def test_the_table_says_how_the_choice_came_about(table: Table, rule: str) -> None:
    tree, sizes = sized(table, selection_rule=rule, cv=4)
    columns = sizes.columns()
    folds = np.array([columns[f"fold_{number}"] for number in (1, 2, 3, 4)])
    mean, error = folds.mean(axis=0), folds.std(axis=0, ddof=1) / 2
    assert columns["score"] == pytest.approx(mean.tolist())
    assert columns["score_error"] == pytest.approx(error.tolist())
    best = max(p for p in range(len(mean)) if mean[p] >= mean.max() - 1e-12)
    near = max(p for p in range(len(mean)) if mean[p] >= mean[best] - error[best])
    assert columns["chosen"].index(True) == (best if rule == "cv" else near)
    assert sum(columns["chosen"]) == 1
    assert columns["n_leaves"][columns["chosen"].index(True)] == tree.n_leaves
    assert columns["relative_error"][-1] == pytest.approx(1.0)
    frame = sizes.to_frame("pandas")
    assert frame.columns.tolist() == list(columns)
    assert frame["n_leaves"].tolist() == columns["n_leaves"]
    assert sizes.reason in repr(sizes).replace("\n", " ")
    assert len(sizes) == len(columns["score"])


# -- which rows are held out ------------------------------------------------------------------------------


class Spy:
    """A scorer that remembers the true_values of the rows that it was called on, once for each fold."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        rows = tuple(sorted(y.tolist()))
        if rows not in self.seen:
            self.seen.append(rows)
        return float(-np.square(y - model.predict(X)).mean())


def marked(n_rows: int, n_groups: int) -> tuple[Table, np.ndarray]:
    """Numbers that tell to which group a row belongs: 7.25 is one of the seventh."""
    random = np.random.default_rng(1)
    groups = np.sort(random.integers(0, n_groups, n_rows))
    y = groups + np.arange(n_rows) / (2 * n_rows)
    return Table.from_arrays(random.normal(size=(n_rows, 2)), y, task="regression"), groups


@pytest.mark.parametrize(("cv", "n_folds"), [(5, 5), (10, 10), (0.3, 1)])
@pytest.mark.parametrize("name_of", [int, lambda group: 1000 - 7 * group], ids=["numbers", "any numbers"])
def test_rows_of_one_group_are_never_divided(cv: Any, n_folds: int, name_of: Callable[[int], int]) -> None:
    table, groups = marked(200, 40)
    spy = Spy()
    sized(table, cv=cv, scoring=spy, groups=np.array([name_of(group) for group in groups.tolist()]))
    # With one fold the standard error takes the scorer on parts of it too: the longest is the fold.
    folds = spy.seen if n_folds > 1 else [max(spy.seen, key=len)]
    assert len(folds) == n_folds
    for fold in folds:
        held_out = np.floor(fold).astype(int)
        for group in np.unique(held_out):
            assert (held_out == group).sum() == (groups == group).sum()
    if n_folds > 1:
        assert sorted(number for fold in folds for number in fold) == sorted(table.target.tolist())


def test_every_row_is_held_out_once() -> None:
    table, _ = marked(97, 97)
    spy = Spy()
    sized(table, cv=10, scoring=spy)
    assert len(spy.seen) == 10
    assert sorted(number for fold in spy.seen for number in fold) == sorted(table.target.tolist())
    assert {len(fold) for fold in spy.seen} <= set(range(7, 14))  # about a tenth each


def test_a_share_holds_out_about_so_many_rows_once() -> None:
    table, _ = marked(200, 200)
    spy = Spy()
    found = sized(table, cv=0.25, scoring=spy).sizes
    assert found.scores.shape[1] == 1
    assert max(map(len, spy.seen)) == pytest.approx(50, abs=6)
    assert (found.error > 0).all()


def test_more_folds_than_rows_leave_out_one_row_at_a_time() -> None:
    table, _ = marked(12, 12)
    spy = Spy()
    sized(table, cv=100, scoring=spy)
    assert sorted(spy.seen) == [(number,) for number in sorted(table.target.tolist())]


@pytest.mark.parametrize("splitter", [KFold(4), KFold(4, shuffle=True, random_state=0), StratifiedKFold(3)])
def test_a_splitter_gives_the_folds_that_it_would_give_scikit_learn(splitter: Any) -> None:
    table = classes()
    pairs = list(splitter.split(np.zeros((150, 1)), table.target))
    assert_same(sized(table, cv=splitter), sized(table, cv=pairs))
    assert_same(sized(table, cv=iter(pairs)), sized(table, cv=[(list(a), list(b)) for a, b in pairs]))


def test_a_splitter_of_groups_gets_them() -> None:
    table, groups = classes(), np.arange(150) // 5
    pairs = list(GroupKFold(3).split(np.zeros((150, 1)), table.target, groups))
    assert_same(sized(table, cv=GroupKFold(3), groups=groups), sized(table, cv=pairs))


def test_folds_need_not_hold_all_rows() -> None:
    pairs = list(ShuffleSplit(3, train_size=0.5, test_size=0.2, random_state=0).split(np.zeros((150, 1))))
    assert sized(classes(), cv=pairs).sizes.scores.shape[1] == 3


# -- what must not matter ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [10, 0.3])
@pytest.mark.parametrize("parameter", PATHS)
def test_the_order_of_the_rows_does_not_matter(cv: Any, parameter: str) -> None:
    order = np.random.default_rng(9).permutation(150)
    for table, groups in ((classes(), None), (classes(), np.arange(150) // 3), (numbers(), None)):
        shuffled = None if groups is None else groups[order]
        assert_same(
            sized(table, parameter=parameter, cv=cv, groups=groups),
            sized(table.subset(order), parameter=parameter, cv=cv, groups=shuffled),
            1e-9,
        )


@pytest.mark.parametrize("scoring", ["auc", "log_loss", "f1_macro"])
def test_a_row_twice_is_a_row_of_weight_two_and_weight_zero_is_no_row(scoring: str) -> None:
    table = classes(100)
    weight = np.random.default_rng(2).integers(0, 4, 100)
    once = Table(table.schema, table.columns, table.target, weight.astype(float))
    often = table.subset(np.repeat(np.arange(100), weight))
    assert_same(sized(once, cv=5, scoring=scoring), sized(often, cv=5, scoring=scoring), 1e-12)


def test_rows_of_weight_zero_are_neither_learnt_from_nor_scored_on() -> None:
    table, weight = numbers(), np.random.default_rng(3).uniform(0.5, 2.0, 150)
    weight[::3] = 0.0
    whole = Table(table.schema, table.columns, table.target, weight)
    assert_same(sized(whole, cv=5), sized(whole.subset(weight > 0), cv=5), 1e-12)
    pairs = pairs_of(150)
    kept = np.cumsum(weight > 0) - 1
    fewer = [tuple(kept[rows[weight[rows] > 0]] for rows in pair) for pair in pairs[1:]]
    assert_same(sized(whole, cv=pairs[1:]), sized(whole.subset(weight > 0), cv=fewer), 1e-12)


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from(sorted(PATHS)))
def test_the_number_of_jobs_and_the_scale_of_the_weights_change_nothing(seed: int, parameter: str) -> None:
    table = classes(60, seed)
    one = sized(table, parameter=parameter, cv=4, n_jobs=1)
    two = sized(table, parameter=parameter, cv=4, n_jobs=2)
    assert model_to_json(one.tree) == model_to_json(two.tree)
    assert np.array_equal(one.sizes.scores, two.sizes.scores)
    heavy = Table(table.schema, table.columns, table.target, np.full(60, 0.25))
    pairs = pairs_of(60)
    assert_same(
        sized(table, parameter=parameter, cv=pairs), sized(heavy, parameter=parameter, cv=pairs), 1e-9
    )


def test_another_seed_divides_the_rows_otherwise() -> None:
    one, other = (sized(classes(), cv=5, random_state=seed).sizes.scores for seed in (0, 1))
    assert not np.array_equal(one, other)


# -- scores of subtrees -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["accuracy", "auc", "log_loss", "brier", "balanced_accuracy", "f1_macro"])
@pytest.mark.parametrize("with_error", [False, True])
def test_subtrees_are_scored_as_if_each_were_cut_out_and_asked(scoring: str, with_error: bool) -> None:
    table, new = classes(), classes(80, 7, np.random.default_rng(0).integers(0, 3, 80).astype(float))
    metric = make_metric(scoring, table.schema.target)
    for make_path in PATHS.values():
        path = make_path(grow(table))
        values = path.values[:: max(1, len(path) // 5)]
        scores = subtree_scores(path, values, new, metric, with_error=with_error)
        for score, value in zip(scores, values.tolist(), strict=True):
            tree = path.tree_at(value)
            shares = tree.predict_proba(new)
            if scoring in ("accuracy", "balanced_accuracy", "f1_macro"):  # which ask for labels
                shares = np.equal.outer(tree.predict(new), tree.schema.target.classes).astype(float)
            expected = metric.score(shares, TrueValues.of(new))
            assert score.value == pytest.approx(expected.value, rel=1e-12)
            assert score.error == pytest.approx(expected.error if with_error else 0.0)


@pytest.mark.parametrize("whole", [True, False])
def test_the_auc_of_every_subtree_is_that_of_its_predictions(whole: bool) -> None:
    random = np.random.default_rng(3)
    table, new = classes(600), classes(300, 7, random.integers(0, 3, 300) if whole else random.random(300))
    metric, path = make_metric("auc", table.schema.target), pruning_path(grow(table))
    scores = subtree_scores(path, path.values, new, metric)
    expected = [metric.value(tree.predict_proba(new), TrueValues.of(new)) for tree in path]
    assert len(path) > 10
    # Whole weights are added without rounding, in whatever order.
    assert [score.value for score in scores] == (expected if whole else pytest.approx(expected, rel=1e-12))


def test_values_may_come_in_any_order() -> None:
    table = classes()
    path, held_out = pruning_path(grow(table)), classes(80, 7)
    metric = make_metric("auc", table.schema.target)
    there = subtree_scores(path, path.values, held_out, metric)
    assert subtree_scores(path, path.values[::-1].copy(), held_out, metric) == there[::-1]


def test_of_a_long_path_some_sizes_are_scored_from_the_whole_tree_to_the_root() -> None:
    table = numbers(800)
    sizes = sized(table, parameter="max_leaf_nodes", cv=0.5).sizes
    assert sizes.n_leaves[0] == grow(table, SQUARES).n_leaves > 500
    assert sizes.n_leaves[-1] == 1
    assert 100 < len(sizes) <= 300
    assert (np.diff(sizes.n_leaves) < 0).all()


# -- few rows, one class, bad input -----------------------------------------------------------------------


@pytest.mark.parametrize("cv", [2, 10, 0.3])
@pytest.mark.parametrize("n_rows", [2, 3, 5])
def test_a_few_rows_are_enough(n_rows: int, cv: Any) -> None:
    X = np.arange(float(n_rows))[:, None]
    of_classes = Table.from_arrays(X, np.array(["a", "b", "a", "b", "b"])[:n_rows])
    of_numbers = Table.from_arrays(X, np.arange(n_rows) / 2, task="regression")
    for table, scoring in ((of_classes, "accuracy"), (of_numbers, "squared_error")):
        sizes = sized(table, cv=cv, scoring=scoring).sizes
        assert np.isfinite(sizes.scores).all()
        assert np.isfinite(sizes.error).all()


def test_parts_that_cannot_tell_the_score_are_left_out_with_a_warning_or_refused_if_all_are() -> None:
    # Forty rows that one threshold divides: an AUC, or R², of single rows is none.
    X, y = np.arange(40.0)[:, None], ["a"] * 20 + ["b"] * 20
    alone = [(np.delete(np.arange(40), row), [row]) for row in range(40)]
    with pytest.raises(DataError, match="The AUC needs rows of several classes, and 40 of 40 folds hold out"):
        sized(Table.from_arrays(X, y), cv=alone)
    with pytest.raises(DataError, match="R² needs several values of the target"):
        sized(Table.from_arrays(X, X[:, 0], task="regression"), cv=alone)
    odd, even = np.arange(1, 40, 2), np.arange(0, 40, 2)
    with pytest.warns(DataWarning, match="1 of 2 folds hold out but one: these folds do not count"):
        sizes = sized(Table.from_arrays(X, y), cv=[(odd, even), (np.arange(1, 40), [0])]).sizes
    assert sizes.scores.shape[1] == 1
    assert sizes.score[0] == pytest.approx(0.95)  # row 20 stands on the threshold of the odd rows
    assert sized(Table.from_arrays(X, y), cv=alone, scoring="accuracy").tree.n_leaves == 2


def test_folds_are_as_many_as_were_asked_for() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    for cv in (2, 7, 39, 40, 1000):
        sizes = sized(Table.from_arrays(X, y), cv=cv, scoring="accuracy").sizes
        assert sizes.scores.shape[1] == min(cv, 40)


def test_pairs_that_overlap_or_divide_groups_are_refused() -> None:
    X, y = np.arange(8.0)[:, None], list("aabbaabb")
    with pytest.raises(ParameterError, match="1 rows both for training and held out in fold 0"):
        sized(Table.from_arrays(X, y), cv=[([0, 1, 2, 3], [3, 4, 5, 6, 7])])
    with pytest.raises(ParameterError, match="cv divides 1 groups in fold 0"):
        choose_size(
            Table.from_arrays(X, y),
            search=SizeSearch(cv=[([0, 1, 2, 3], [4, 5, 6, 7])]),
            groups=[0, 0, 1, 1, 1, 2, 2, 2],
        )


def test_splits_without_gain_are_a_size_of_their_own() -> None:
    # The first split gains nothing, nor do those below it that part rows at random.
    X = np.array([[a, b, c] for a in (0.0, 1.0) for b in (0.0, 1.0) for c in range(12)])
    y = np.where(np.arange(48) % 3 == 0, "a", "b")
    table = Table.from_arrays(X[:, :2], y)
    sizes = sized(table, cv=4, scoring="log_loss").sizes
    assert sizes.values[0] == 0.0 < sizes.values[1]
    for place, value in enumerate(sizes.values.tolist()):
        assert prune(grow(table), value).n_leaves == sizes.n_leaves[place]


@pytest.mark.filterwarnings("ignore:the target has one class")
def test_one_class_is_one_leaf() -> None:
    table = Table.from_arrays(np.arange(20.0)[:, None], ["a"] * 20)
    assert sized(table).tree.n_leaves == 1


@pytest.mark.filterwarnings("ignore:the target has one class")
def test_one_row_cannot_be_divided() -> None:
    with pytest.raises(DataError, match="only one row"):
        sized(Table.from_arrays([[1.0]], ["a"]))
    with pytest.raises(DataError, match="only one group"):
        sized(classes(), groups=np.full(150, 3))


@pytest.mark.parametrize("cv", [1, 0, -3, 1.0, 0.0, 1.5, float("nan"), float("inf"), True, None, "5", "cv"])
def test_a_cv_that_says_nothing_of_folds_is_refused_with_its_value(cv: Any) -> None:
    with pytest.raises(ParameterError, match=f"^cv={cv!r} "):
        sized(classes(), cv=cv)


HALF = np.arange(75)
BAD_PAIRS = {
    "no pairs": [],
    "nothing to score on": [(HALF, [])],
    "beyond the last row": [(HALF, [75, 150])],
    "below the first": [([-1, 5, 6], HALF)],
    "no integers": [(HALF * 0.5, HALF)],
    "three parts": [(HALF, HALF, HALF)],
    "single rows": [HALF],
}
CALLS = """
import numpy as np
from holdfast.data.table import Table
from holdfast.growth.size_search import SizeSearch, choose_size
from holdfast.errors import HoldfastError

X = np.random.default_rng(0).normal(size=(150, 3))
table = Table.from_arrays(X, np.where(X[:, 0] > 0, "a", "b"))
half = np.arange(75)
for cv in [[([], half)], [(half + 0.5, half)], [("train", "test")]] * 3:
    try:
        choose_size(table, search=SizeSearch(cv=cv))
    except (HoldfastError, TypeError) as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize("name", BAD_PAIRS)
def test_folds_that_name_no_rows_of_the_table_are_refused(name: str) -> None:
    with pytest.raises((HoldfastError, TypeError), match=r"cv|row|score on"):
        sized(classes(), cv=BAD_PAIRS[name])


def test_a_fold_with_nothing_to_learn_from_is_refused_and_no_memory_is_harmed() -> None:
    # In a process of its own: what is written beyond an array may end it.
    run = subprocess.run([sys.executable, "-c", CALLS], capture_output=True, check=False, env=os.environ)
    assert run.returncode == 0, run.stderr.decode()
    said = run.stdout.decode().splitlines()
    assert len(said) == 9
    assert all("cv" in line or "learn from" in line for line in said)


def test_flags_for_rows_are_the_rows_that_they_flag_or_are_refused() -> None:
    flags = [(np.arange(150) % 2 == 0, np.arange(150) % 2 == 1)]
    rows = [tuple(np.flatnonzero(part) for part in pair) for pair in flags]
    try:
        found = sized(classes(), cv=flags)
    except (ParameterError, DataError, TypeError):
        return
    assert_same(found, sized(classes(), cv=rows))


def test_a_row_named_twice_to_learn_from_counts_twice_or_is_refused() -> None:
    table, twice = classes(), np.r_[HALF, HALF[:40]]
    try:
        found = sized(table, cv=[(twice, HALF + 75)])
    except (ParameterError, DataError):
        return
    weight = np.r_[np.full(40, 2.0), np.ones(110)]
    heavy = Table(table.schema, table.columns, table.target, weight)
    tree = grow(heavy.subset(HALF))
    metric = make_metric(None, table.schema.target)
    held_out = table.subset(HALF + 75)
    expected = metric.value(tree.value[tree.apply(held_out)], TrueValues.of(held_out))
    assert found.sizes.scores[0, 0] == pytest.approx(expected)


@pytest.mark.parametrize("cv", [5, 0.3, pairs_of(150)])
def test_groups_of_another_length_are_refused_with_both_lengths(cv: Any) -> None:
    with pytest.raises(DataError, match=r"groups .*10.*150"):
        sized(classes(), cv=cv, groups=np.arange(10))


@pytest.mark.parametrize(
    ("what", "value", "message"),
    [
        ("parameter", "alpha", "^parameter='alpha' is unknown"),
        ("selection_rule", "best", "^selection_rule='best' is unknown"),
        ("n_jobs", 0, "^n_jobs=0 is out of range"),
        ("scoring", "nope", "^scoring='nope' is unknown"),
        ("scoring", "r2", "^scoring='r2' is for numbers"),
    ],
)
def test_what_is_unknown_is_refused_with_its_value(what: str, value: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        sized(classes(), **{what: value})


@pytest.mark.parametrize(("base", "power", "most"), [(2, 9, 100), (2, 13, 300), (2, 10, 101), (3, 6, 127)])
def test_sizes_that_are_whole_powers_are_scored_whatever_rounding_makes_of_them(
    base: int, power: int, most: int
) -> None:
    # Evenly spread over the orders of magnitude, so many sizes have every power of the base among them.
    n_leaves = np.arange(base**power, 0, -1)
    values = n_leaves.astype(float)
    path = PruningPath(grow(classes()), "max_leaf_nodes", values, n_leaves, values, n_leaves)
    assert {base**exponent for exponent in range(power + 1)} <= set(n_leaves[sizes_to_score(path, most)])


def test_a_size_at_the_very_edge_of_the_standard_error_is_within() -> None:
    # Two folds: the best mean less its standard error is the lower of its two scores, by their meaning.
    scores = np.array([[0.3, 0.7], [0.3, 0.3]]) + 0.1 / 3
    error = scores.std(axis=1, ddof=1) / np.sqrt(2)
    metric = make_metric("accuracy", classes().schema.target)
    table = SizeTable(
        "ccp_alpha", np.arange(2.0), np.array([2, 1]), np.ones(2), scores, error, "cv-1se", metric
    )
    for shift in (-1e-16, 0.0, 1e-16):
        shifted = replace(table, error=error + shift)
        assert (shifted.best, shifted.chosen) == (0, 1)
