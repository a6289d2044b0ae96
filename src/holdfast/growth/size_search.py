"""The choice of a tree's size by held-out scores: its alpha, its depth, or its number of leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, freeze, scale_back, scale_to_unit
from holdfast._check import check_choice, is_number
from holdfast._random import Branch
from holdfast._text import estimate_text, pluralize
from holdfast._view import Picture, TextTable, View, ViewMixin
from holdfast.data.folds import draw_folds, read_folds, read_groups, subset_groups
from holdfast.data.row_keys import group_copies
from holdfast.data.row_order import canonicalize_rows
from holdfast.data.table import Table
from holdfast.growth.class_costs import read_loss_matrix, read_priors
from holdfast.growth.grow import grow, grow_samples
from holdfast.growth.pruning import (
    UNLIMITED,
    PruningPath,
    SizeParameter,
    depth_path,
    leaves_path,
    merge_leaves,
    pruning_path,
)
from holdfast.growth.rules import CART, GrowthRules, resolve_min_rows
from holdfast.growth.sample import balanced_on, check_table, fixed_point_sample, split_weight
from holdfast.parallel.tasks import check_jobs, run_all
from holdfast.scoring.formulas import ScoredRows, auc, joint_auc
from holdfast.scoring.metric import (
    Metric,
    Score,
    TrueValues,
    check_unscored_folds,
    choose_scoring,
    loss_metric,
    make_metric,
    predict_at_nodes,
)
from holdfast.tree.tree import Tree

SizeRule = Literal["cv", "cv-1se"]

LEAST_LEAVES = 4  # for which there must be enough rows, or a least leaf size is not tried
MOST_SIZES = 300  # greatest number of subtrees that are scored, spread evenly over the orders of magnitude


class SizeChoice(NamedTuple):
    """A tree of the size chosen by held-out scores, with the scores of all sizes."""

    tree: Tree
    sizes: SizeTable


@dataclass(frozen=True)
class SizeSearch:
    """Settings of the choice of a tree size.

    Parameters
    ----------
    selection_rule : {"cv", "cv-1se"}
        The size with the best mean score, or the smallest within one standard error of it.
    cv : int, float, splitter or iterable
        Number of folds, fraction of a single hold-out, scikit-learn splitter, or pairs of row numbers for
        training and scoring.
    scoring : str or callable, optional
        Default: by the criterion and the losses of the rules.
    random_state : int
    n_jobs : int, optional

    Examples
    --------
    >>> SizeSearch(selection_rule="cv-1se", cv=5).cv
    5
    """

    selection_rule: SizeRule = "cv"
    cv: Any = 10
    scoring: Any = None
    random_state: int = 0
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        check_jobs(self.n_jobs)
        check_choice("selection_rule", self.selection_rule, ("cv", "cv-1se"))


DEFAULT_SEARCH = SizeSearch()


def choose_size(
    table: Table,
    rules: GrowthRules = CART,
    parameter: SizeParameter = "ccp_alpha",
    *,
    search: SizeSearch = DEFAULT_SEARCH,
    groups: Any = None,
) -> SizeChoice:
    """Grow a tree on all rows, of the size with the best held-out score.

    One tree is grown on all rows and one without each fold, each with its own sequence of subtrees. Every
    size is scored on all folds; of equal scores the smallest size is chosen. Leaves are merged last if the
    rules require it.

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
    check_choice("parameter", parameter, sorted(UNLIMITED))
    whole: dict[str, Any] = {parameter: UNLIMITED[parameter], "merge_leaves": False}
    is_merged, rules = rules.merge_leaves, replace(rules, **whole)
    losses = _losses(table, rules)
    if search.scoring is None and losses is not None:
        metric = loss_metric(losses)
    else:
        metric = make_metric(search.scoring or choose_scoring(rules.criterion_name), table.schema.target)
    marks = None if groups is None else read_groups(groups, table.n_rows)
    table.code(search.n_jobs)  # before the rows are sorted, which is faster by ranks
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
    losses, priors = read_loss_matrix(rules.loss_matrix, classes), read_priors(rules.priors, classes)
    if losses is None or priors is None:
        return losses
    of_class = np.bincount(table.target, table.weight, minlength=len(classes))
    factors = priors * of_class.sum() / np.where(of_class > 0, of_class, 1.0)
    return np.asarray(losses * factors[:, np.newaxis], np.float64)


LEAST_ROWS = (1, 5, 10, 20, 50)  # least leaf sizes that `choose_size_and_leaf` tries


class SizeLeafChoice(NamedTuple):
    """A tree whose size and least leaf size were chosen by held-out scores."""

    tree: Tree
    sizes: SizeTable  # for the chosen least leaf size
    min_samples_leaf: int
    by_leaf: dict[int, SizeTable]  # for every least leaf size


def choose_size_and_leaf(
    table: Table, rules: GrowthRules = CART, *, search: SizeSearch = DEFAULT_SEARCH, groups: Any = None
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
    smallest = resolve_min_rows(rules.min_samples_leaf, n_rows)
    leaves = [smallest, *(least for least in LEAST_ROWS if smallest < least <= n_rows / LEAST_LEAVES)]
    choices = {
        least: choose_size(table, rules.replace(min_samples_leaf=least), search=search, groups=groups)
        for least in leaves
    }
    scores = {least: float(each.sizes.score[each.sizes.chosen]) for least, each in choices.items()}
    best = max(scores.values())
    chosen = max(least for least, score in scores.items() if score >= best - TIED * abs(best))
    by_leaf = {least: each.sizes for least, each in choices.items()}
    return SizeLeafChoice(*choices[chosen], chosen, by_leaf)


def make_path(tree: Tree, parameter: SizeParameter, rules: GrowthRules) -> PruningPath:
    """Compute the subtrees in the order of the parameter."""
    if parameter == "ccp_alpha":
        return pruning_path(tree, rules.ccp_risk)
    return depth_path(tree) if parameter == "max_depth" else leaves_path(tree)


def values_between(path: PruningPath) -> FloatArray:
    """Return a typical parameter value for each subtree: the geometric mean of its alpha and the next."""
    if path.parameter != "ccp_alpha":
        return path.values
    return np.asarray(np.append(np.sqrt(path.values[:-1]) * np.sqrt(path.values[1:]), np.inf), np.float64)


def sizes_to_score(path: PruningPath, most: int) -> LongArray:
    """Select sizes to score: all, or some of every order of magnitude if they are many."""
    if len(path) <= most:
        return np.arange(len(path))
    sizes = np.geomspace(1, path.n_leaves[0], most).round(9)  # 8 may be 7.999999999999999
    # The first subtree that is not larger than each size.
    return np.unique(np.searchsorted(-path.n_leaves, -sizes, side="left"))


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
    # An AUC, for example, needs held-out rows of two classes. A single size needs no score.
    scored = [
        number
        for number in range(n_folds)
        if len(values) == 1
        or len(np.unique(folds.table.target[_held_out_rows(folds, number)])) >= metric.least_values
    ]
    if len(scored) < n_folds:
        check_unscored_folds(metric, len(scored), n_folds)
    task = partial(_score_fold, rules, values, parameter, metric, search.random_state, folds)
    by_fold = run_all(task, scored, search.n_jobs, cache_name="Folds")
    scores = np.array([[score.value for score in of_fold] for of_fold in by_fold]).T
    if n_folds == 1:  # the error within the fold
        return scores, np.array([score.error for score in by_fold[0]])
    shares, exponent = scale_to_unit(scores)  # squares of errors such as 1e300 would be infinite
    spread = shares.std(axis=1, ddof=min(1, len(by_fold) - 1))
    return scores, scale_back(spread / np.sqrt(len(by_fold)), exponent)


def _score_fold(
    rules: GrowthRules,
    values: FloatArray,
    parameter: SizeParameter,
    metric: Metric,
    seed: int,
    folds: Folds,
    number: int,
) -> list[Score]:
    """Score the values on one fold by the tree of the other rows."""
    table = folds.table
    own = balanced_on(table, rules, folds.times[number])
    fixed = fixed_point_sample(table, own)
    counts = (fixed.repeats * folds.times[number]).astype(np.int32)
    tree = grow_samples(table, own, fixed, [counts], [seed])[0]
    path = make_path(tree, parameter, rules)
    rows = _held_out_rows(folds, number)
    groups, is_single = subset_groups(folds.groups, rows), len(folds.held_out) == 1
    return subtree_scores(path, values, table.subset(rows), metric, groups=groups, with_error=is_single)


def _held_out_rows(folds: Folds, number: int) -> BoolArray:
    """Flag the held-out rows of positive weight."""
    held_out, weight = folds.held_out[number], folds.table.weight
    return held_out if weight is None else held_out & (weight > 0)


# -- Scores of all sizes -------------------------------------------------------------------------------------

MOST_LINES = 20  # of the printed table
TIED = 1e-12  # relative difference below which mean scores are equal


@dataclass(frozen=True, eq=False, repr=False)
class SizeTable(ViewMixin):
    """Held-out scores of all sizes, the whole tree first and the root last; losses are negated."""

    parameter: SizeParameter
    values: FloatArray  # of the parameter
    n_leaves: LongArray  # of the tree grown on all rows
    risks: FloatArray  # impurity of its leaves per training row
    scores: FloatArray  # (sizes, folds) on held-out rows
    error: FloatArray  # standard error of the mean score
    selection_rule: str  # "cv" or "cv-1se"
    metric: Metric

    def __post_init__(self) -> None:
        for name in ("values", "n_leaves", "risks", "scores", "error"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def score(self) -> FloatArray:
        """Mean score over the folds."""
        return freeze(self.scores.mean(axis=1))

    @cached_property
    def best(self) -> int:
        """Index of the best mean score; the smallest size if several are best."""
        highest = float(self.score.max())
        return int(np.flatnonzero(self.score >= highest - TIED * abs(highest))[-1])

    @cached_property
    def within_error(self) -> int:
        """Index of the smallest size within one standard error of the best."""
        best = float(self.score[self.best])
        least = best - float(self.error[self.best])
        return int(np.flatnonzero(self.score >= least - TIED * max(abs(best), abs(least)))[-1])

    @property
    def chosen(self) -> int:
        """Index of the chosen size."""
        return self.best if self.selection_rule == "cv" else self.within_error

    @property
    def chosen_value(self) -> float:
        """Parameter value of the chosen size."""
        return float(self.values[self.chosen])

    @property
    def typical_value(self) -> float | int:
        """Parameter value for other samples: the middle of those that give the same subtree."""
        value, place = self.chosen_value, self.chosen + 1
        if self.parameter != "ccp_alpha":
            return int(value)
        return value if place == len(self) else float(np.sqrt(value) * np.sqrt(self.values[place]))

    @property
    def reason(self) -> str:
        """Why this size was chosen, in words."""
        best, title = self.best, self.metric.title.removeprefix("mean ")
        score = f"{self.metric.shown(float(self.score[best])):.4g}"
        error = f"{error_of(self, best):.2g}"
        if self.selection_rule == "cv":
            return f"It has the best mean {title} of all {len(self)} sizes: {score} ± {error}."
        return (
            f"Of {len(self)} sizes it is the smallest whose mean {title} is within one standard error, "
            f"{error}, of the best, {score} with {pluralize(int(self.n_leaves[best]), 'leaf', 'leaves')}."
        )

    def columns(self) -> dict[str, list[Any]]:
        """Column names and one entry per size."""
        root = float(self.risks[-1]) or 1.0
        folds = {f"fold_{number + 1}": scores.tolist() for number, scores in enumerate(self.scores.T)}
        return {
            self.parameter: self.values.tolist(),
            "n_leaves": self.n_leaves.tolist(),
            "risk": self.risks.tolist(),
            "relative_error": (self.risks / root).tolist(),
            "score": self.score.tolist(),
            "score_error": self.error.tolist(),
            "chosen": [place == self.chosen for place in range(len(self))],
            **folds,
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a pandas, polars or pyarrow frame (the first installed) with one row per size."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        return frame_from(columns, types | {"n_leaves": nw.Int64, "chosen": nw.Boolean}, backend)

    def to_svg(self) -> str:
        """Plot the score of every size with its standard error, and mark the chosen size."""
        from holdfast.plots.display import LATER
        from holdfast.plots.pruning import PruningDisplay

        return PruningDisplay.from_result(self, ax=LATER).to_svg()

    def plot(self, ax: Any = None, *, by: Literal["n_leaves", "parameter"] = "n_leaves") -> Any:
        """Plot the score by the number of leaves, or by="parameter"; returns a `PruningDisplay`."""
        from holdfast.plots.pruning import PruningDisplay

        return PruningDisplay.from_result(self, ax=ax, by=by)

    def _view(self) -> View:
        places = list(range(len(self)))
        if len(self) > MOST_LINES:
            spread = np.linspace(0, len(self) - 1, MOST_LINES - 2).round().astype(int)
            places = sorted({*spread.tolist(), self.best, self.chosen})
        some = f"({len(places)} of {len(self)} sizes; to_frame() has them all)\n" * (len(places) < len(self))
        table = TextTable(
            [str(self.parameter), "leaves", "relative error", self.metric.title, ""],
            [_cells(self, place) for place in places],
            note=f"{some}{self.reason}",
            sides=">>>><",
            widths=(14, 6, 14, 19, 0),
            marked=[places.index(self.chosen)],
        )
        return View(table, Picture(self.to_svg))


def error_of(sizes: SizeTable, place: int) -> float:
    """Return the standard error of a size, with rounding errors set to 0."""
    error = float(sizes.error[place])
    return error if error > TIED * abs(float(sizes.score[place])) else 0.0


def _cells(sizes: SizeTable, place: int) -> list[str]:
    relative = sizes.risks[place] / (float(sizes.risks[-1]) or 1.0)
    marks = ["chosen"] * (place == sizes.chosen) + ["best"] * (place == sizes.best != sizes.chosen)
    score = sizes.metric.shown(float(sizes.score[place]))
    return [
        f"{sizes.values[place]:.4g}",
        str(sizes.n_leaves[place]),
        f"{relative:.3f}",
        estimate_text(score, error_of(sizes, place), room=7),
        ", ".join(marks),
    ]


# -- Scores of the nested subtrees of one tree ---------------------------------------------------------------

_Nodes = TypeVar("_Nodes", IntArray, LongArray)


def subtree_scores(
    path: PruningPath,
    values: FloatArray,
    table: Table,
    metric: Metric,
    *,
    groups: LongArray | None = None,
    with_error: bool = False,
) -> list[Score]:
    """Score the subtrees for these parameter values on the held-out table; losses are negated.

    Errors are 0 unless `with_error` is set.
    """
    true_values, leaf = TrueValues.of(table, groups), path.tree.apply(table)
    places_of_values = [path.place_of(value) for value in values.tolist()]
    places = sorted(set(places_of_values))
    if metric.formula is auc and len(true_values.target.classes) == 2 and not with_error:
        scores = _score_aucs(path, places, leaf[true_values.counted], true_values.rows)
    else:
        scores = _score_rows(path, places, leaf, true_values, metric, with_error=with_error)
    by_place = dict(zip(places, scores, strict=True))
    return [by_place[place] for place in places_of_values]


# -- two classes ------------------------------------------------------------------------------------------


def _score_aucs(path: PruningPath, places: Sequence[int], leaf: IntArray, rows: ScoredRows) -> list[Score]:
    """Compute the AUC of each subtree from the class weights at its leaves."""
    tree = path.tree
    cells = np.bincount(leaf * np.int64(2) + rows.values, rows.weight, 2 * tree.n_nodes)
    node = np.flatnonzero(np.bincount(leaf, minlength=tree.n_nodes))
    weights = np.asarray(cells.reshape(-1, 2)[node].T, np.float64)
    scores = []
    for place in places:
        node = _find_ancestors(path, node, place)
        scores.append(Score(joint_auc(tree.value[node, 1], *weights), 0.0))
        node, weights = _merge_nodes(node, weights)
    return scores


def _merge_nodes(node: LongArray, weights: FloatArray) -> tuple[LongArray, FloatArray]:
    """Merge equal neighbouring nodes, and add up their class weights."""
    is_first = np.append(True, node[1:] != node[:-1])
    number = is_first.cumsum() - 1
    return node[is_first], np.array([np.bincount(number, of_class) for of_class in weights])


# -- anything else ----------------------------------------------------------------------------------------


def _score_rows(
    path: PruningPath,
    places: Sequence[int],
    node: IntArray,
    true_values: TrueValues,
    metric: Metric,
    *,
    with_error: bool,
) -> list[Score]:
    """Score each subtree by the predictions of all rows."""
    can_join = metric.formula is not None and true_values.target.is_classes and not with_error
    scores = []
    for place in places:
        if can_join:  # the same score with fewer rows
            node, true_values = _join_rows(node, true_values)
        node = _find_ancestors(path, node, place)
        predicted = predict_at_nodes(metric, path.tree, node)
        scores.append(
            metric.score(predicted, true_values)
            if with_error
            else Score(metric.value(predicted, true_values), 0.0)
        )
    return scores


def _join_rows(node: IntArray, true_values: TrueValues) -> tuple[IntArray, TrueValues]:
    """Join rows of one node and class into one row; return nodes and true values."""
    n_classes = len(true_values.target.classes)
    weight = np.ones(len(node)) if true_values.weight is None else true_values.weight
    cells, place = np.unique(node * np.int64(n_classes) + true_values.values, return_inverse=True)
    values = (cells % n_classes).astype(np.int32)
    joint = np.bincount(place, weight).astype(np.float64)
    return (cells // n_classes).astype(np.int32), TrueValues(true_values.target, values, joint)


def _find_ancestors(path: PruningPath, node: _Nodes, place: int) -> _Nodes:
    """Map leaves of a larger subtree to leaves of this one."""
    parent, node = path.tree.parent, node.copy()
    rising = np.flatnonzero(path.gone[node] <= place)
    while len(rising):
        node[rising] = parent[node[rising]]
        rising = rising[path.gone[node[rising]] <= place]
    return node


# -- Folds ---------------------------------------------------------------------------------------------------


class Folds(NamedTuple):
    """Rows with the held-out and training rows of each fold."""

    table: Table
    groups: LongArray | None
    held_out: tuple[BoolArray, ...]
    times: tuple[IntArray, ...]  # how often each row is used for training


def divide_rows(table: Table, groups: LongArray | None, cv: Any, seed: int) -> Folds:
    """Divide rows into folds by a number, a fraction, a splitter or pairs of row numbers."""
    if is_number(cv):
        # In canonical order, so that the choice does not depend on the order of the data.
        table, marks, units = canonicalize_rows(table, [] if groups is None else [groups])
        groups = group_copies(table, units) if groups is None else marks[0]
        folds = draw_folds(table, groups, cv, (seed, Branch.SIZE_FOLDS))
    else:
        folds = read_folds(table, groups, cv)
    return Folds(table, groups, tuple(fold.held_out for fold in folds), tuple(fold.times for fold in folds))
