"""The right size of a tree, by rows held out: its alpha, its depth, or its number of leaves."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.data.canonical import canonical
from holdfast.data.splits import below, folds_of, numbered, places, read_groups, strata_of
from holdfast.data.table import Table
from holdfast.errors import DataError, RulesError
from holdfast.growth.grow import grow, grow_samples
from holdfast.growth.merging import merge_leaves
from holdfast.growth.path import WHOLE, PruningPath, SizeParameter, depth_path, leaves_path, pruning_path
from holdfast.growth.rules import CART, GrowthRules
from holdfast.growth.sample import measure
from holdfast.growth.size_table import SizeTable
from holdfast.parallel import run_all
from holdfast.scoring.metric import Metric, Score, Truth, metric_of
from holdfast.tree.tree import Tree

Rule = Literal["cv", "cv-1se"]

MOST_SIZES = 300  # of a longer path, so many subtrees are scored, evenly spread over the orders of magnitude
_FOLDS = 40  # the branch of the seed that divides the rows


class Sized(NamedTuple):
    """A tree of the size that rows held out speak for, and what they said of the others."""

    tree: Tree
    sizes: SizeTable


@dataclass(frozen=True)
class Evidence:
    """How a size is chosen.

    `cv` is a number of folds, or the share of rows in the one part that is held out, or a splitter of
    scikit-learn's, or pairs of row numbers to learn from and to score on. "cv" takes the size with the best
    mean score, and "cv-1se" the smallest whose mean is within one standard error of that.
    """

    rule: Rule = "cv"
    cv: Any = 10
    scoring: Any = None
    seed: int = 0
    n_jobs: int | None = None


BY_FOLDS = Evidence()


def choose_size(
    table: Table,
    rules: GrowthRules = CART,
    parameter: SizeParameter = "ccp_alpha",
    *,
    evidence: Evidence = BY_FOLDS,
    groups: Any = None,
) -> Sized:
    """The tree that the rules grow on all rows, as large as serves best on rows held out.

    One tree is grown on all rows and one without each fold. Each has its own sequence of subtrees, which the
    parameter orders: "ccp_alpha", "max_depth" or "max_leaf_nodes". Every size is scored on all folds, and of
    sizes that score alike the smallest is taken. Rows of one group are never divided, and leaves are merged,
    if the rules say so, in the end.
    """
    if parameter not in WHOLE:
        raise RulesError(f"parameter={parameter!r} is unknown: choose one of {sorted(WHOLE)}.")
    if evidence.rule not in ("cv", "cv-1se"):
        raise RulesError(f"rule={evidence.rule!r} is unknown: choose 'cv' or 'cv-1se'.")
    whole: dict[str, Any] = {parameter: WHOLE[parameter], "merge_leaves": False}
    is_merged, rules = rules.merge_leaves, replace(rules, **whole)
    metric = metric_of(evidence.scoring, table.schema.target)
    marks = None if groups is None else read_groups(groups, table.n_rows)
    folds = _divided(table, marks, evidence)
    path = path_of(grow(table, rules, seed=evidence.seed), parameter, rules)
    chosen = sizes_to_score(path, MOST_SIZES)
    scores, error = path_scores(folds, rules, values_between(path)[chosen], parameter, metric, evidence)
    sizes = SizeTable(
        parameter=parameter,
        values=path.values[chosen],
        n_leaves=path.n_leaves[chosen],
        risks=path.risks[chosen],
        scores=scores,
        error=error,
        rule=evidence.rule,
        metric=metric,
    )
    tree = path[int(chosen[sizes.chosen])]
    return Sized(merge_leaves(tree) if is_merged else tree, sizes)


def path_of(tree: Tree, parameter: SizeParameter, rules: GrowthRules) -> PruningPath:
    """The subtrees of the tree in the order of the parameter."""
    if parameter == "ccp_alpha":
        return pruning_path(tree, rules.ccp_risk)
    return depth_path(tree) if parameter == "max_depth" else leaves_path(tree)


def values_between(path: PruningPath) -> FloatArray:
    """For every subtree a value that asks for it and for those of other samples that are like it.

    A subtree is the best from its alpha to that of the next: their geometric mean is in the middle. The last
    one is the best from there on.
    """
    if path.parameter != "ccp_alpha":
        return path.values
    return np.asarray(np.append(np.sqrt(path.values[:-1] * path.values[1:]), np.inf), np.float64)


def sizes_to_score(path: PruningPath, most: int) -> LongArray:
    """Places on the path: all of them, or, if they are more than that, some of every order of magnitude."""
    if len(path) <= most:
        return np.arange(len(path))
    wanted = np.geomspace(1, path.n_leaves[0], most)
    # Leaves grow fewer along the path: the first subtree that is no larger than each size.
    return np.unique(np.searchsorted(-path.n_leaves, -wanted, side="left"))


# -- rows held out --------------------------------------------------------------------------------------


class Folds(NamedTuple):
    """Rows, and which of them each fold holds out and learns from."""

    table: Table
    groups: LongArray | None
    held_out: tuple[BoolArray, ...]
    training: tuple[IntArray, ...]  # how often each row is learnt from


def _divided(table: Table, groups: LongArray | None, evidence: Evidence) -> Folds:
    cv = evidence.cv
    if isinstance(cv, Real) and not isinstance(cv, bool):
        # In one fixed order, so that the choice does not depend on that of the data.
        table, marks, units = canonical(table, [] if groups is None else [groups])
        groups = units if groups is None else np.unique(marks[0], return_inverse=True)[1]
        held_out = _folds(table, groups, cv, evidence.seed)
        return Folds(table, groups, held_out, tuple((~rows).astype(np.int32) for rows in held_out))
    training: list[IntArray] = []
    flags: list[BoolArray] = []
    for number, pair in enumerate(_pairs(table, groups, cv)):
        if not isinstance(pair, Sequence) or len(pair) != 2:
            raise RulesError(f"cv has no pair of row numbers in place {number}: {pair!r}.")
        training.append(_times(pair[0], table.n_rows, f"the rows to learn from in place {number} of cv"))
        flags.append(_times(pair[1], table.n_rows, f"the rows to score on in place {number} of cv") > 0)
    return Folds(table, groups, tuple(flags), tuple(training))


def _times(rows: Any, n_rows: int, what: str) -> IntArray:
    """How often each row is named, by numbers or by flags."""
    numbers = np.asarray(rows)
    if numbers.dtype == np.bool_ and numbers.shape == (n_rows,):
        numbers = np.flatnonzero(numbers)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
        raise RulesError(f"{what} are not row numbers: give whole numbers from 0 to {n_rows - 1}, or flags.")
    if len(numbers) == 0:
        raise RulesError(f"{what} are none: every fold needs some.")
    if numbers.min() < 0 or numbers.max() >= n_rows:
        strange = int(numbers.min() if numbers.min() < 0 else numbers.max())
        raise RulesError(f"{what} have the number {strange}, and rows are numbered from 0 to {n_rows - 1}.")
    return np.bincount(numbers, minlength=n_rows).astype(np.int32)


def _folds(table: Table, groups: LongArray | None, cv: Real, seed: int) -> tuple[BoolArray, ...]:
    n_units = table.n_rows if groups is None else int(groups.max()) + 1
    if n_units < 2:
        what = "row" if groups is None else "group"
        raise DataError(f"There is one {what} only: a size is chosen by holding some {what}s out.")
    place = places(strata_of(table), groups, (seed, _FOLDS))
    if isinstance(cv, Integral) and int(cv) >= 2:
        fold = folds_of(place, min(int(cv), n_units))
        return tuple(fold == number for number in np.unique(fold))
    if not isinstance(cv, Integral) and 0 < float(cv) < 1:
        return (below(place, float(cv)),)
    raise RulesError(
        f"cv={cv!r} is out of range: it must be a whole number of folds from 2, a share between 0 and 1, a "
        "splitter, or pairs of row numbers."
    )


def _pairs(table: Table, groups: LongArray | None, cv: Any) -> Iterable[Any]:
    if hasattr(cv, "split") and not isinstance(cv, str):
        return list(cv.split(np.zeros((table.n_rows, 1)), table.target, groups))
    if not isinstance(cv, Iterable) or isinstance(cv, str):
        raise RulesError(
            f"cv={cv!r} says nothing of folds: give a whole number from 2, a share between 0 and 1, a "
            "splitter of scikit-learn's, or pairs of row numbers."
        )
    pairs = list(cv)
    if not pairs:
        raise RulesError(
            "cv holds no folds: give at least one pair of row numbers to learn from and to score on."
        )
    return pairs


# -- scores ---------------------------------------------------------------------------------------------


def path_scores(
    folds: Folds,
    rules: GrowthRules,
    values: FloatArray,
    parameter: SizeParameter,
    metric: Metric,
    evidence: Evidence,
) -> tuple[FloatArray, FloatArray]:
    """The score of every value on every fold, (values, folds), and the standard error of their mean."""
    table, n_folds = folds.table, len(folds.held_out)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    _ = table.coded  # before the threads start

    def scored(number: int) -> list[Score]:
        # The others weigh nothing: what the rules say of all rows, they say of these.
        units = measure(replace(table, weight=weight * folds.training[number]), rules)
        tree = grow_samples(table, rules, units, [units.repeats], [evidence.seed])[0]
        rows = folds.held_out[number] & (weight > 0)
        held_out = HeldOut.of(table.taken(rows), numbered(folds.groups, rows))
        path = path_of(tree, parameter, rules)
        return subtree_scores(path, values, held_out, metric, with_error=n_folds == 1)

    found = run_all(scored, range(n_folds), evidence.n_jobs)
    scores = np.array([[score.value for score in of_fold] for of_fold in found]).T
    if n_folds == 1:  # the rows themselves are all that tells how far chance goes
        return scores, np.array([score.error for score in found[0]])
    return scores, np.asarray(scores.std(axis=1, ddof=1) / np.sqrt(n_folds), np.float64)


class HeldOut(NamedTuple):
    """Rows to score on."""

    table: Table
    truth: Truth

    @classmethod
    def of(cls, table: Table, groups: LongArray | None = None) -> "HeldOut":
        """The rows of a table."""
        return cls(table, Truth.of(table, groups))

    def joined(self, leaves: IntArray) -> tuple[IntArray, Truth]:
        """The rows of one leaf and one class as one row that weighs as much: its leaf, and all the truth."""
        truth = self.truth
        n_classes = len(truth.target.classes)
        weight = np.ones(len(leaves)) if truth.weight is None else truth.weight
        cells, place = np.unique(leaves * np.int64(n_classes) + truth.values, return_inverse=True)
        values = (cells % n_classes).astype(np.int32)
        joint = np.bincount(place, weight).astype(np.float64)
        return (cells // n_classes).astype(np.int32), Truth(truth.target, values, joint)


def subtree_scores(
    path: PruningPath, values: FloatArray, held_out: HeldOut, metric: Metric, *, with_error: bool = False
) -> list[Score]:
    """The scores on the rows held out of the subtrees that the values ask for; losses are negated.

    Errors are 0 unless they are asked for.
    """
    tree, truth = path.tree, held_out.truth
    node = tree.apply(held_out.table)
    if metric.formula is not None and truth.target.is_classes and not with_error:
        node, truth = held_out.joined(node)  # the score is the same, and there are fewer rows
    places_asked = [path.place_of(value) for value in values.tolist()]
    found: dict[int, Score] = {}
    for place in sorted(set(places_asked)):
        node = _climbed(path, node, place)
        predicted = tree.value[node]
        found[place] = (
            metric.score(predicted, truth) if with_error else Score(metric.value(predicted, truth), 0.0)
        )
    return [found[place] for place in places_asked]


def _climbed(path: PruningPath, node: IntArray, place: int) -> IntArray:
    """The leaf of the subtree above each of the nodes, which are leaves of a larger one."""
    parent = path.tree.parent
    while True:
        above = parent[node]
        goes_up = (above >= 0) & (path.step[above] <= place)
        if not goes_up.any():
            return node
        node = np.where(goes_up, above, node)
