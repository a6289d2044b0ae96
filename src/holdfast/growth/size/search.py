"""The right size of a tree, by rows held out: its alpha, its depth, or its number of leaves."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from holdfast.arrays import FloatArray, LongArray, scaled, unscaled
from holdfast.backends.tasks import check_jobs, run_all
from holdfast.data.split.groups import read_groups, subset_groups
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.class_costs import losses_of, priors_of
from holdfast.growth.grow import grow, grow_samples
from holdfast.growth.pruning.merging import merge_leaves
from holdfast.growth.pruning.path import (
    UNLIMITED,
    PruningPath,
    SizeParameter,
    depth_path,
    leaves_path,
    pruning_path,
)
from holdfast.growth.rules import CART, GrowthRules, rows_needed
from holdfast.growth.sample import balanced_on, check_table, fixed_point_sample, split_weight
from holdfast.growth.size.folds import Folds, divide_rows
from holdfast.growth.size.scores import subtree_scores
from holdfast.growth.size.table import TIED, SizeTable
from holdfast.scoring.metric import Metric, Score, choose_scoring, loss_metric, make_metric
from holdfast.scoring.unscored_folds import check_unscored_folds
from holdfast.tree.tree import Tree

SizeRule = Literal["cv", "cv-1se"]

LEAST_LEAVES = 4  # that a tree must have room for, or a smallest leaf is not tried
MOST_SIZES = 300  # of a longer path, so many subtrees are scored, evenly spread over the orders of magnitude


class SizeChoice(NamedTuple):
    """A tree of the size chosen by held-out scores, with the scores of all sizes."""

    tree: Tree
    sizes: SizeTable


@dataclass(frozen=True)
class SizeSearch:
    """Settings of the choice of a tree size.

    `cv` is a number of folds, or the fraction of rows in the one part that is held out, or a splitter of
    scikit-learn's, or pairs of row numbers to learn from and to score on. "cv" takes the size with the best
    mean score, and "cv-1se" the smallest whose mean is within one standard error of that.
    """

    selection_rule: SizeRule = "cv"
    cv: Any = 10
    scoring: Any = None
    random_state: int = 0
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        check_jobs(self.n_jobs)
        if self.selection_rule not in ("cv", "cv-1se"):
            raise ParameterError(
                f"selection_rule={self.selection_rule!r} is unknown: choose 'cv' or 'cv-1se'."
            )


BY_FOLDS = SizeSearch()


def choose_size(
    table: Table,
    rules: GrowthRules = CART,
    parameter: SizeParameter = "ccp_alpha",
    *,
    search: SizeSearch = BY_FOLDS,
    groups: Any = None,
) -> SizeChoice:
    """Grow a tree on all rows, of the size with the best held-out score.

    One tree is grown on all rows and one without each fold, each with its own sequence of subtrees. Every
    size is scored on all folds; the smallest of equal ones is chosen. Leaves are merged last, if the rules
    say so.

    Parameters
    ----------
    table : Table
    rules : GrowthRules
    parameter : {"ccp_alpha", "max_depth", "max_leaf_nodes"}
        Parameter that orders the subtrees.
    search : SizeSearch
        Folds, metric and rule of choice.
    groups : array-like, optional
        Rows of one group stay in one fold.

    Returns
    -------
    SizeChoice
    """
    check_table(table)
    if parameter not in UNLIMITED:
        raise ParameterError(f"parameter={parameter!r} is unknown: choose one of {sorted(UNLIMITED)}.")
    whole: dict[str, Any] = {parameter: UNLIMITED[parameter], "merge_leaves": False}
    is_merged, rules = rules.merge_leaves, replace(rules, **whole)
    losses = _losses(table, rules)
    if search.scoring is None and losses is not None:
        metric = loss_metric(losses)
    else:
        metric = make_metric(search.scoring or choose_scoring(rules.criterion_name), table.schema.target)
    marks = None if groups is None else read_groups(groups, table.n_rows)
    table.code(search.n_jobs)  # before the rows are sorted, which is sooner done by ranks
    folds = divide_rows(table, marks, search.cv, search.random_state)
    path = make_path(grow(table, rules, random_state=search.random_state), parameter, rules)
    chosen = sizes_to_score(path, MOST_SIZES)
    scores, error = path_scores(folds, rules, values_between(path)[chosen], parameter, metric, search)
    sizes = SizeTable(
        parameter=parameter,
        values=path.values[chosen],
        n_leaves=path.n_leaves[chosen],
        risks=path.risks[chosen],
        scores=scores,
        error=error,
        selection_rule=search.selection_rule,
        metric=metric,
    )
    tree = path[int(chosen[sizes.chosen])]
    return SizeChoice(merge_leaves(tree) if is_merged else tree, sizes)


def _losses(table: Table, rules: GrowthRules) -> FloatArray | None:
    """Return the losses, each class weighed by its prior; None if there are none."""
    classes = table.schema.target.classes
    losses, priors = losses_of(rules.loss_matrix, classes), priors_of(rules.priors, classes)
    if losses is None or priors is None:
        return losses
    of_class = np.bincount(table.target, table.weight, minlength=len(classes))
    factors = priors * of_class.sum() / np.where(of_class > 0, of_class, 1.0)
    return np.asarray(losses * factors[:, np.newaxis], np.float64)


LEAST_ROWS = (1, 5, 10, 20, 50)  # in a leaf, that `choose_size_and_leaf` tries


class SizeLeafChoice(NamedTuple):
    """A tree whose size and least leaf were chosen by held-out scores."""

    tree: Tree
    sizes: SizeTable  # of the smallest leaf that was taken
    min_samples_leaf: int
    by_leaf: dict[int, SizeTable]  # what rows held out said of the sizes, for every smallest leaf


def choose_size_and_leaf(
    table: Table, rules: GrowthRules = CART, *, search: SizeSearch = BY_FOLDS, groups: Any = None
) -> SizeLeafChoice:
    """Grow a tree with the alpha and the smallest leaf that score best on held-out rows.

    Leaves of 1, 5, 10, 20, 50 and more rows, from the rules' minimum on, are compared on the same folds. Of
    equal scores the larger leaf wins, then the smaller tree.

    Parameters
    ----------
    table : Table
    rules : GrowthRules
    search : SizeSearch
    groups : array-like, optional
        Rows of one group stay in one fold.

    Returns
    -------
    SizeLeafChoice
    """
    check_table(table)
    n_rows = int(split_weight(table.weight, table.n_rows)[0].sum())
    given = rows_needed(rules.min_samples_leaf, n_rows)
    leaves = [given, *(least for least in LEAST_ROWS if given < least <= n_rows / LEAST_LEAVES)]
    found = {
        least: choose_size(table, rules.replace(min_samples_leaf=least), search=search, groups=groups)
        for least in leaves
    }
    scores = {least: float(each.sizes.score[each.sizes.chosen]) for least, each in found.items()}
    best = max(scores.values())
    taken = max(least for least, score in scores.items() if score >= best - TIED * abs(best))
    by_leaf = {least: each.sizes for least, each in found.items()}
    return SizeLeafChoice(*found[taken], taken, by_leaf)


def make_path(tree: Tree, parameter: SizeParameter, rules: GrowthRules) -> PruningPath:
    """Compute the subtrees in the order of the parameter."""
    if parameter == "ccp_alpha":
        return pruning_path(tree, rules.ccp_risk)
    return depth_path(tree) if parameter == "max_depth" else leaves_path(tree)


def values_between(path: PruningPath) -> FloatArray:
    """Return for every subtree a parameter value that also fits similar subtrees of other samples.

    A subtree is the best from its alpha to that of the next: their geometric mean is in the middle. The last
    one is the best from there on.
    """
    if path.parameter != "ccp_alpha":
        return path.values
    return np.asarray(np.append(np.sqrt(path.values[:-1]) * np.sqrt(path.values[1:]), np.inf), np.float64)


def sizes_to_score(path: PruningPath, most: int) -> LongArray:
    """Select sizes to score: all, or some of every order of magnitude if they are many."""
    if len(path) <= most:
        return np.arange(len(path))
    wanted = np.geomspace(1, path.n_leaves[0], most).round(9)  # 8 may come out as 7.999999999999999
    # Leaves grow fewer along the path: the first subtree that is no larger than each size.
    return np.unique(np.searchsorted(-path.n_leaves, -wanted, side="left"))


# -- scores ---------------------------------------------------------------------------------------------


def path_scores(
    folds: Folds,
    rules: GrowthRules,
    values: FloatArray,
    parameter: SizeParameter,
    metric: Metric,
    search: SizeSearch,
) -> tuple[FloatArray, FloatArray]:
    """Score every value on every fold, (values, folds), with the standard error of the means."""
    n_folds = len(folds.held_out)
    folds.table.code(search.n_jobs)  # before the threads start
    telling = [number for number in range(n_folds) if _can_tell(folds, number, metric)]
    if len(values) == 1:  # a single size needs no choice
        telling = list(range(n_folds))
    if len(telling) < n_folds:
        check_unscored_folds(metric, len(telling), n_folds)
    sizes = _Sizes(rules, values, parameter, metric, search.random_state)
    found = run_all(partial(sizes.scores, folds), telling, search.n_jobs, kept="Folds")
    scores = np.array([[score.value for score in of_fold] for of_fold in found]).T
    if n_folds == 1:  # the rows themselves are all that tells how far chance goes
        return scores, np.array([score.error for score in found[0]])
    shares, exponent = scaled(scores)  # squares of errors such as 1e300 would be infinite
    spread = shares.std(axis=1, ddof=min(1, len(found) - 1))
    return scores, unscaled(spread / np.sqrt(len(found)), exponent)


@dataclass(frozen=True, eq=False)
class _Sizes:
    """What is grown and scored on every fold; can be sent to another process."""

    rules: GrowthRules
    values: FloatArray
    parameter: SizeParameter
    metric: Metric
    seed: int

    def scores(self, folds: Folds, number: int) -> list[Score]:
        """Score the values on one fold by the tree of the other rows."""
        table = folds.table
        own = balanced_on(table, self.rules, folds.times[number])
        fixed = fixed_point_sample(table, own)
        counts = (fixed.repeats * folds.times[number]).astype(np.int32)
        tree = grow_samples(table, own, fixed, [counts], [self.seed])[0]
        rows = folds.held_out[number] if table.weight is None else folds.held_out[number] & (table.weight > 0)
        path = make_path(tree, self.parameter, self.rules)
        groups, is_single = subset_groups(folds.groups, rows), len(folds.held_out) == 1
        held_out = table.subset(rows)
        return subtree_scores(path, self.values, held_out, self.metric, groups=groups, with_error=is_single)


def _can_tell(folds: Folds, number: int, metric: Metric) -> bool:
    """Return True if the metric is defined on the held-out rows: an AUC needs two classes."""
    table = folds.table
    rows = folds.held_out[number] if table.weight is None else folds.held_out[number] & (table.weight > 0)
    return len(np.unique(table.target[rows])) >= metric.least_values
