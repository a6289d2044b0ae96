"""Splits that few references make are undone where little is lost, and known where they stay."""

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from holdfast import StableTreeClassifier, StableTreeRegressor, Table, explain_row, load, save, tree_distance
from holdfast._arrays import FloatArray
from holdfast.stable.consensus.search import TeacherFit
from holdfast.stable.consensus.weak_splits import ReferenceSplits, explained_at, undo_weak_splits
from holdfast.tree.prune import prune_at
from holdfast.tree.stats import find_weak_splits
from holdfast.tree.tree import LEAF, Tree
from reference.consensus_search import SmallSearch

KINDS = (2, 3, 0)  # classes; 0 for a number
N_ROWS = 300


def patients(n_classes: int) -> tuple[pd.DataFrame, Any]:
    """Numbers, categories and gaps, and a target that depends on them a little."""
    chance = np.random.default_rng(n_classes)
    X = pd.DataFrame(chance.normal(size=(N_ROWS, 4)).round(1), columns=list("abcd"))
    X["ward"] = chance.choice(["north", "south", "east"], N_ROWS)
    X.loc[chance.random(N_ROWS) < 0.15, "b"] = np.nan
    score = X["a"] + 0.5 * X["b"].fillna(-1) + (X["ward"] == "north") + chance.normal(size=N_ROWS)
    if not n_classes:
        return X, score
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)).astype(str)


@cache
def fitted(n_classes: int) -> Any:
    X, y = patients(n_classes)
    model = StableTreeClassifier if n_classes else StableTreeRegressor
    quick = {"teacher": "linear", "n_estimators": 25, "validation": None, "min_samples_leaf": 10}
    return model(**quick).fit(X, y)


def support_by_hand(tree: Tree, references: tuple[Tree, ...], X: Any) -> dict[int, float]:
    """For each split, the share of references with a split on its feature of mostly its rows."""

    def splits(each: Tree) -> list[tuple[int, int, frozenset[int]]]:
        passed = each.decision_path(X).toarray()
        inner = np.flatnonzero(each.feature != LEAF).tolist()
        return [(n, int(each.feature[n]), frozenset(np.flatnonzero(passed[:, n]))) for n in inner]

    others = [splits(each) for each in references]
    return {
        node: float(
            np.mean(
                [
                    any(f == feature and 2 * len(rows & own) >= len(rows | own) for _, f, rows in each)
                    for each in others
                ]
            )
        )
        for node, feature, own in splits(tree)
    }


@pytest.mark.parametrize("n_classes", KINDS)
def test_support_is_the_share_of_references_that_split_mostly_the_same_rows_so(n_classes: int) -> None:
    model = fitted(n_classes)
    X, _ = patients(n_classes)
    by_hand = support_by_hand(model.tree_, model.reference_trees_, X)
    assert model.tree_.split_support is not None
    assert {n: model.tree_.split_support[n] for n in by_hand} == pytest.approx(by_hand)
    assert np.isnan(model.tree_.split_support[model.tree_.feature == LEAF]).all()


# -- what is undone, on references that share nothing with the tree ---------------------------------------


class Unsupported(SmallSearch):
    """A student whose splits no reference makes but for the first."""

    def undone(self, max_loss: float, held: frozenset[int] = frozenset()) -> Tree:
        stump = prune_at(self.student, self.student.node_depth == 1)
        splits = ReferenceSplits.of([stump] * 3, self.table, self.task.weight)
        return undo_weak_splits(self.student, splits, self.task, self.fit, max_loss, held)

    @property
    def fit(self) -> TeacherFit:
        return self.search.fit

    def loss(self, tree: Tree) -> float:
        most = self.squared_loss(prune_at(self.student, np.ones(self.student.n_nodes, np.bool_)))
        own = self.squared_loss(self.student)
        return (self.squared_loss(tree) - own) / (most - own)


@pytest.mark.parametrize("n_classes", KINDS)
@pytest.mark.parametrize("max_loss", [0.005, 0.1])
def test_every_weak_split_that_is_left_adds_something_or_is_needed(n_classes: int, max_loss: float) -> None:
    for seed in range(4):
        small = Unsupported(seed, n_classes=n_classes)
        tree = small.undone(max_loss)
        assert small.loss(tree) <= max_loss + 1e-9
        for node in find_weak_splits(tree):
            below = [int(tree.left[node]), int(tree.right[node])]
            if (tree.feature[below] == LEAF).all():
                smaller = prune_at(tree, np.arange(tree.n_nodes) == node)
                added = small.loss(smaller) - small.loss(tree)
                assert added > 0.01 - 1e-9 or small.loss(smaller) > max_loss - 1e-9


@pytest.mark.parametrize("n_classes", KINDS)
def test_no_weak_split_is_left_between_leaves_that_are_alike_or_in_the_wrong_order(n_classes: int) -> None:
    for seed in range(8):
        small = Unsupported(seed, n_classes=n_classes)
        tree, target = small.undone(2.0), small.table.target
        rows = np.eye(n_classes)[target] if n_classes else target[:, None]
        passed = tree.decision_path(small.table).toarray()
        observed = passed.T @ rows / passed.sum(axis=0)[:, None]
        for node in find_weak_splits(tree):
            left, right = tree.left[node], tree.right[node]
            if tree.feature[left] == tree.feature[right] == LEAF:
                apart = tree.value[left] - tree.value[right]
                most = np.abs(apart).argmax()
                assert apart[most] * (observed[left] - observed[right])[most] >= 0
                is_one_class = not n_classes or tree.outcome[left] == tree.outcome[right]
                assert not is_one_class or np.abs(apart).max() > 0.03 * (1 if n_classes else target.std())


def test_what_nodes_explain_is_what_the_search_measures() -> None:
    for n_classes in KINDS:
        small = Unsupported(1, n_classes=n_classes)
        by_nodes = explained_at(small.student, small.task)[small.student.feature == LEAF].sum()
        assert by_nodes == pytest.approx(small.search.student.explained, rel=1e-12)


def test_a_split_that_adds_nothing_is_undone_unless_it_is_prescribed() -> None:
    small = Unsupported(0)
    flat = replace(small.task, predictions=np.full_like(small.predictions, 0.5))
    leaf = prune_at(small.student, small.student.node_depth == 0)
    splits = ReferenceSplits.of([leaf] * 3, small.table, small.task.weight)
    assert undo_weak_splits(small.student, splits, flat, small.fit, 2.0).n_leaves == 1
    stump = undo_weak_splits(small.student, splits, flat, small.fit, 2.0, fixed_paths={1})
    assert find_weak_splits(stump) == {0: 0.0}
    assert stump.n_leaves == 2


# -- what is known of a tree afterwards -------------------------------------------------------------------


def marked(tree: Tree) -> Tree:
    """The tree with a root that 4 % of the references have."""
    support = np.where(tree.feature == LEAF, np.nan, 0.6)
    support[0] = 0.04
    return tree.replace(split_support=support)


@pytest.mark.parametrize("n_classes", KINDS)
def test_marks_stand_in_every_text_and_picture_and_survive_a_file(n_classes: int, tmp_path: Any) -> None:
    tree = marked(fitted(n_classes).tree_)
    X, _ = patients(n_classes)
    save(tree, tmp_path / "tree.json")
    again = load(tmp_path / "tree.json")
    assert np.array_equal(again.split_support, tree.split_support, equal_nan=True)
    for text in (str(again), again.rules(), again.numbered(), again.to_svg()):
        flat = " ".join(text.split()).replace("\xa0", " ")
        assert "†4 %" in flat
        assert "† marks a split of low support, below 10 %" in re.sub(r"<[^>]*>|NOTE|Note:", "", flat)
    assert "† only 4 %" in str(explain_row(again, X.iloc[[0]])).replace("\xa0", " ")
    assert "†" not in str(tree.replace(split_support=None))
    assert str(again) == str(tree)


def test_support_goes_where_the_split_goes() -> None:
    tree = marked(fitted(2).tree_)
    wider = tree.with_schema(tree.schema)
    assert find_weak_splits(wider) == {0: 0.04}
    smaller = prune_at(tree, tree.node_depth == 1)
    assert smaller.split_support is not None
    assert smaller.split_support[0] == 0.04
    assert np.isnan(smaller.split_support[1:]).all()
    edited = tree.prune_at(int(tree.left[0]))
    assert find_weak_splits(edited) == {0: 0.04}
    X, y = patients(2)
    grown = tree.grow_at(int(tree.left[0]), Table.from_arrays(X, y))
    assert find_weak_splits(grown) == {0: 0.04}
    moved = tree.with_threshold(0, float(tree.threshold[0]) + 0.1)
    assert find_weak_splits(moved) == {}
    assert np.isnan(moved.split_support).all()


def test_row_order_changes_nothing() -> None:
    X, y = patients(2)
    order = np.random.default_rng(9).permutation(N_ROWS)
    other = StableTreeClassifier(
        teacher="linear", n_estimators=25, validation=None, min_samples_leaf=10, n_jobs=2
    ).fit(X.iloc[order], y[order])
    assert tree_distance(other.tree_, fitted(2).tree_).total == 0
    supports: list[FloatArray | None] = [each.tree_.split_support for each in (other, fitted(2))]
    assert np.array_equal(*supports, equal_nan=True)
