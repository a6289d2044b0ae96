"""Replications: the whole procedure of a stable tree on other rows each time, beside two baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray
from holdfast._check import check_fraction, check_integer
from holdfast._random import Branch, derive_seed
from holdfast._text import NO_BREAK, decimals_of_values, fixed_text, percent_text
from holdfast._view import TextTable, View, ViewMixin
from holdfast.data.folds import read_groups, read_stage, renumber_groups, subset_groups
from holdfast.data.row_keys import group_copies
from holdfast.data.row_order import find_fixed_order, number_copies
from holdfast.data.table import Table
from holdfast.distance.costs import DistanceSettings
from holdfast.distance.distance import distances_between
from holdfast.evaluate.baselines import cart_by_cross_validation, grow_forest
from holdfast.explain.feature_use import first_features, importance_spread
from holdfast.parallel.tasks import run_all
from holdfast.scoring.metric import Metric, TrueValues, make_metric, predict_for_metric
from holdfast.stable.frontier import distance_per_rule
from holdfast.stable.rows import RowMetadata, draw_test_rows
from holdfast.stable.selection import SelectionRule, choose
from holdfast.stable.settings import StabilitySettings
from holdfast.stable.train import StableTrees, get_method, train, train_on_split
from holdfast.tree.tree import Tree

MODELS = ("best score", "most stable", "chosen", "CART by cross-validation", "random forest")
WITHIN_TOLERANCE = SelectionRule()
BEST_SCORE, MOST_STABLE = SelectionRule("best-score"), SelectionRule("most-stable")


def replicate(
    table: Table,
    settings: StabilitySettings,
    *,
    selection_rule: SelectionRule = WITHIN_TOLERANCE,
    stage: Any = None,
    groups: Any = None,
    n_replications: int = 10,
    test_fraction: float = 1 / 3,
) -> "Replications":
    """Train and test stable trees and two baselines again on other rows in every replication.

    In every replication some rows are held out for testing: whole groups, and classes and stages in equal
    shares. All others are trained on as `train` does, which holds out the rows to choose by; the baselines
    are CART by cross-validation and a random forest. The trees are scored as they are delivered.

    With `settings.method="paper"` it is the authors' own protocol: the test rows are a plainly random part,
    and they are also the holdout that a tree is chosen by. Such scores are too good: new data will give what
    the other methods report here.

    Parameters
    ----------
    table : Table
        The rows. All distances are measured on its schema.
    settings : StabilitySettings
        What the stable trees depend on. Without a greatest depth, in a grid of one's own, the label weight is
        twice the depth of the deepest tree of each replication: give one.
    selection_rule : SelectionRule, optional
        How the chosen tree is taken from the frontier.
    stage, groups : array of shape (n_rows,), optional
        The stage and the group of every row.
    n_replications : int, default 10
        Number of replications. The same seed gives the same bits, in whatever order the rows come.
    test_fraction : float, default 1/3
        Fraction of the rows to test on.

    Returns
    -------
    Replications
        One result per model and replication, and the table of their means and deviations.

    Examples
    --------
    >>> patients = [[float(age)] for age in range(20, 80)]
    >>> table = Table.from_arrays(patients, ["no" if age < 50 else "yes" for (age,) in patients])
    >>> found = replicate(table, StabilitySettings(method="bootstrap", n_estimators=4), n_replications=2)
    >>> [row.n_leaves.mean for row in found.rows if row.n_leaves is not None]
    [2.0, 2.0, 2.0, 2.0]
    """
    check_integer("n_replications", n_replications)
    check_fraction("test_fraction", test_fraction)
    table, info = _in_fixed_order(table, stage, groups)
    own = replace(settings, n_jobs=1, verbose=False)  # the replications themselves share the cores
    task = partial(_replication, table, info, own, selection_rule, test_fraction)
    text = "Replications" if settings.verbose else ""
    found = run_all(task, range(n_replications), settings.n_jobs, progress=text, cache_name="Replications")
    deepest = max((distance_settings for distance_settings, _ in found), key=lambda each: each.depth)
    results = tuple(result for _, results in found for result in results)
    metric = make_metric(settings.scoring, table.schema.target)
    return Replications(results, metric, deepest, _between(results, deepest, settings.n_jobs))


# -- one replication ------------------------------------------------------------------------------------


def _in_fixed_order(table: Table, stage: Any, groups: Any) -> tuple[Table, RowMetadata]:
    """The rows in one order, with their stages and groups; without groups, copies of a row are one."""
    stage = None if stage is None else read_stage(stage, table.n_rows)
    groups = None if groups is None else read_groups(groups, table.n_rows)
    order = find_fixed_order(table, [values for values in (stage, groups) if values is not None])
    table = table.subset(order)
    stage = None if stage is None else stage[order]
    if groups is not None:
        return table, RowMetadata(stage, groups[order])
    copies = number_copies(table, [] if stage is None else [stage])
    return table, RowMetadata(stage, group_copies(table, copies))


def _replication(
    table: Table,
    info: RowMetadata,
    settings: StabilitySettings,
    selection_rule: SelectionRule,
    test_fraction: float,
    number: int,
) -> tuple[DistanceSettings, list["Result"]]:
    settings = replace(settings, seed=derive_seed(settings.seed, Branch.REPLICATIONS, number))
    trained, test = _train_and_hold_out(table, info, settings, test_fraction)
    frontier, candidates = trained.frontier, trained.candidates.trees
    places = [
        choose(frontier, trained.metric, rule).candidate for rule in (BEST_SCORE, MOST_STABLE, selection_rule)
    ]

    training, groups = table.subset(~test), subset_groups(info.groups, ~test)
    cart = cart_by_cross_validation(training, settings, groups=groups)
    forest = grow_forest(training, settings, groups=groups)
    trees = [*(candidates[place] for place in places), cart]
    measured_to = [*(trained.references_of(place).trees for place in places), trained.references.trees]
    figures = [_figures(*each, trained) for each in zip(trees, measured_to, strict=True)]
    for figure, place in zip(figures, places, strict=False):  # CART does not stand on the frontier
        figure["choosing_score"] = float(frontier.score[place])
        figure["measured_score"] = float(frontier.measured_score[place])
        figure["frontier_size"] = len(frontier.efficient_order)

    rows = table.subset(test)
    true_values = TrueValues.of(rows, subset_groups(info.groups, test))
    predicted = [*(predict_for_metric(trained.metric, tree, rows) for tree in trees), forest.values(rows)]
    scores = [trained.metric.value(values, true_values) for values in predicted]
    results = [
        Result(number, model, score, tree=tree, **figure)
        for model, score, tree, figure in zip(MODELS[:-1], scores[:-1], trees, figures, strict=True)
    ]
    last = Result(number, MODELS[-1], scores[-1], importances=forest.importances)
    return trained.distance_settings, [*results, last]


def _train_and_hold_out(
    table: Table, info: RowMetadata, settings: StabilitySettings, test_fraction: float
) -> tuple[StableTrees, BoolArray]:
    """Stable trees, and the rows to test on: unseen ones, or, as in the paper, those they were chosen by."""
    if get_method(settings.method).reports_on_holdout:
        settings = replace(settings, validation=test_fraction)
        division = get_method(settings.method).split_rows(table, settings, info)
        (test,) = division.validation
        return train_on_split(table, division, settings, groups=info.groups), test
    test = draw_test_rows(table, test_fraction, stage=info.stage, groups=info.groups, seed=settings.seed)
    stage, groups = renumber_groups(info.stage, ~test), subset_groups(info.groups, ~test)
    return train(table.subset(~test), settings, stage=stage, groups=groups), test


def _figures(tree: Tree, references: Sequence[Tree], trained: StableTrees) -> dict[str, Any]:
    """Where a tree stands among reference trees, how large it is, and what it splits on."""
    distances = distances_between([tree], references, trained.distance_settings, n_jobs=1)
    instability = float(distances.mean())
    return {
        "instability": instability,
        "normalised": replace(trained.distance_settings, normalised=True).total(instability),
        "per_rule": float(distance_per_rule(distances, [tree], references)[0]),
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "mean_path_length": tree.mean_path_length,
        "importances": tree.importances,
    }


# -- across replications --------------------------------------------------------------------------------


def _between(
    results: Sequence["Result"], distance_settings: DistanceSettings, n_jobs: int | None
) -> dict[str, float]:
    """The mean distance between the trees of two replications, for every model that is a tree."""
    means = {}
    for model in MODELS[:-1]:
        trees = [result.tree for result in results if result.model == model and result.tree is not None]
        if len(trees) > 1:
            pairs = np.triu_indices(len(trees), 1)
            distances = distances_between(trees, None, distance_settings, n_jobs=n_jobs)
            means[model] = float(distances[pairs].mean())
    return means


# -- the result -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Result:
    """One model of one replication. Figures that do not apply to a model are None."""

    replication: int
    model: str  # one of MODELS
    score: float  # on the test rows; greater is better: losses are negated
    choosing_score: float | None = None  # the expected score on new rows, by which it was chosen
    measured_score: float | None = None  # on the validation rows
    instability: float | None = None  # mean distance to the reference trees
    normalised: float | None = None  # as a fraction of the greatest distance of trees of the depth allowed
    per_rule: float | None = None  # mean distance per rule of the larger tree
    n_leaves: int | None = None
    depth: int | None = None
    mean_path_length: float | None = None  # mean number of splits that a training row passes
    frontier_size: int | None = None  # different points on the frontier that it was chosen from
    tree: Tree | None = None
    importances: FloatArray | None = None  # fraction of the decrease of impurity by each feature


class Moments(NamedTuple):
    """A mean over the replications and the standard deviation between them."""

    mean: float
    deviation: float  # 0 for a single replication


def _moments(values: Sequence[float | None]) -> Moments | None:
    """Compute the moments of the known values; None if there are none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Moments(float(np.mean(known)), float(np.std(known, ddof=1)) if len(known) > 1 else 0.0)


@dataclass(frozen=True)
class Summary:
    """One model over all replications, with the figures of `Result`. Those that do not apply are None."""

    model: str
    score: Moments
    choosing_score: Moments | None
    measured_score: Moments | None
    instability: Moments | None
    normalised: Moments | None
    per_rule: Moments | None
    n_leaves: Moments | None
    depth: Moments | None
    mean_path_length: Moments | None
    frontier_size: Moments | None
    between: float | None  # mean distance between its trees of two replications
    importance_spread: float  # standard deviation of the importances, averaged over the features used
    first_features: int | None  # number of different features at the root
    first_two_levels: int | None  # number of different features in the first two levels


@dataclass(frozen=True)
class TradeOff:
    """Distance and score of the chosen tree against those of another model, over all replications."""

    model: str  # the other one
    nearer: Moments  # by how much the chosen tree is nearer to the reference trees; below 0 if it is further
    fraction: float  # the mean of that, as a fraction of the other's mean distance
    score_lost: Moments  # by how much its score on the test rows is worse; below 0 if it is better


@dataclass(frozen=True, eq=False, repr=False)
class Replications(ViewMixin):
    """The results of all replications, and their table.

    Attributes
    ----------
    results : tuple of Result
        Replication by replication, the models in the order of `MODELS`.
    metric : Metric
        What scores are.
    distance_settings : DistanceSettings
        Those of all distances.
    between : dict of str
        For each model, the mean distance between its trees of two replications.
    """

    results: tuple[Result, ...]
    metric: Metric
    distance_settings: DistanceSettings
    between: Mapping[str, float]

    @property
    def n_replications(self) -> int:
        """Number of replications."""
        return len(self.results) // len(MODELS)

    def of(self, model: str) -> list[Result]:
        """Return the results of one model, replication by replication."""
        return [result for result in self.results if result.model == model]

    @cached_property
    def rows(self) -> tuple[Summary, ...]:
        """The table: one row per model."""
        return tuple(self._summary(model) for model in MODELS)

    def _summary(self, model: str) -> Summary:
        results = self.of(model)
        trees = [result.tree for result in results if result.tree is not None]
        moments: dict[str, Any] = {
            each.name: _moments([getattr(result, each.name) for result in results])
            for each in fields(Summary)
            if each.name != "model" and hasattr(results[0], each.name)
        }
        return Summary(
            model=model,
            **moments,
            between=self.between.get(model),
            importance_spread=importance_spread(trees) if trees else _forest_spread(results),
            first_features=len(first_features(trees, 1)) if trees else None,
            first_two_levels=len(first_features(trees, 2)) if trees else None,
        )

    @cached_property
    def trade_offs(self) -> tuple[TradeOff, ...]:
        """The chosen tree against that of the best score, and against CART."""
        return tuple(self._trade_off(model) for model in _OTHERS)

    def _trade_off(self, model: str) -> TradeOff:
        pairs = list(zip(self.of("chosen"), self.of(model), strict=True))
        distance, other_distance = (
            np.array([pair[side].instability for pair in pairs], np.float64) for side in (0, 1)
        )
        nearer = _moments((other_distance - distance).tolist())
        lost = _moments([other.score - own.score for own, other in pairs])
        assert nearer is not None
        assert lost is not None
        mean = float(other_distance.mean())
        return TradeOff(model, nearer, 1 - float(distance.mean()) / mean if mean > 0 else 0.0, lost)

    def columns(self) -> dict[str, list[Any]]:
        """Return the table by column; each mean is followed by a column `..._deviation`."""
        columns: dict[str, list[Any]] = {}
        for name in (field.name for field in fields(Summary)):
            cells = [getattr(row, name) for row in self.rows]
            if any(isinstance(cell, Moments) for cell in cells):
                columns[name] = [None if cell is None else cell.mean for cell in cells]
                columns[f"{name}_deviation"] = [None if cell is None else cell.deviation for cell in cells]
            else:
                columns[name] = cells
        return columns

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per model, as a pandas, polars or pyarrow frame (the first that is installed)."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64) | {"model": nw.String}
        return frame_from(columns, types, backend)

    def plot(self, ax: Any = None) -> Any:
        """Draw the score and the instability of every replication, and return the `ReplicationsDisplay`."""
        from holdfast.plots.evaluation import ReplicationsDisplay

        return ReplicationsDisplay.from_result(self, ax=ax)

    # -- text ---------------------------------------------------------------------------------------------

    @property
    def sentences(self) -> tuple[str, ...]:
        """Compare the chosen tree with the tree of the best score, and with CART, in one sentence each."""
        return tuple(self._trade_off_text(each) for each in self.trade_offs)

    def _trade_off_text(self, each: TradeOff) -> str:
        other = _OTHERS[each.model]
        if not any((*each.nearer, *each.score_lost)):
            return f"Compared with {other}, the chosen tree has the same instability and {self.metric.title}."
        distance, lost = (
            self._moments_text(
                Moments(abs(values.mean), values.deviation), decimals_of_values(values, digits=2)
            )
            for values in (each.nearer, each.score_lost)
        )
        is_nearer, is_worse = each.nearer.mean >= 0, each.score_lost.mean >= 0
        return (
            f"Compared with {other}, the instability of the chosen tree is "
            f"{'lower' if is_nearer else 'higher'} by {distance} ({percent_text(abs(each.fraction))}), and "
            f"its {self.metric.title} is {'worse' if is_worse else 'better'} by {lost}."
        )

    def tables(self) -> list[tuple[str, list[list[str]]]]:
        """Return the title and the cells, headings first, of the table."""
        rows = [
            [label.format(score=self.metric.title).replace("  ", NO_BREAK * 3), *self._texts(name)]
            for name, label in _LABELS.items()
        ]
        return [("Replications and baselines", [["", *_HEADINGS], *rows])]

    def _texts(self, name: str) -> list[str]:
        """Format one figure of all models, with its deviation beside it."""
        cells = [getattr(row, name) for row in self.rows]
        moments = [cell if isinstance(cell, Moments | None) else Moments(cell, np.nan) for cell in cells]
        if "score" in name:
            moments = [each and each._replace(mean=self.metric.shown(each.mean)) for each in moments]
        are_counts = all(isinstance(cell, int) for cell in cells if cell is not None)
        means = [each.mean for each in moments if each is not None]
        decimals = 0 if are_counts else decimals_of_values(means, digits=2 if name == "normalised" else 3)
        return ["" if each is None else self._moments_text(each, decimals) for each in moments]

    def _moments_text(self, moments: Moments, decimals: int) -> str:
        mean = fixed_text(moments.mean, decimals)
        if self.n_replications == 1 or np.isnan(moments.deviation):
            return mean
        return f"{mean} ± {fixed_text(moments.deviation, decimals)}"

    def _view(self) -> View:
        n, distances = self.n_replications, self.distance_settings
        what = f"{n} replications: mean ± standard deviation" if n > 1 else "1 replication"
        note = (
            f"{what}. Distances: label weight {distances.label_weight:g}, depth {distances.depth}, "
            f"{distances.matching!r} matching."
        )
        ((_, (headings, *rows)),) = self.tables()
        return View(*self.sentences, TextTable(headings, rows, note=note, meanings=_HEADINGS))


def _forest_spread(results: Sequence[Result]) -> float:
    """Compute the spread of the importances of a forest, as `importance_spread` does for single trees."""
    importances = np.array([result.importances for result in results])
    is_used = importances.any(axis=0)
    if len(importances) < 2 or not is_used.any():
        return 0.0
    return float(importances.std(axis=0, ddof=1)[is_used].mean())


_HEADINGS = {  # of the models, with what they mean
    "best score": "the tree of the best score on the frontier",
    "most stable": "the tree of the least instability on the frontier",
    "chosen tree": "the tree that the selection rule chooses",
    "CART by CV": "one tree, its depth and leaf size chosen by cross-validation",
    "random forest": "a forest on the same rows",
}
_LABELS = {
    "score": "{score} on test rows",
    "choosing_score": "  as expected",
    "measured_score": "  on validation rows",
    "instability": "instability",
    "normalised": "  normalised",
    "per_rule": "  per rule",
    "n_leaves": "leaves",
    "depth": "depth",
    "mean_path_length": "  mean path length",
    "frontier_size": "trees on the frontier",
    "between": "between replications",
    "importance_spread": "spread of importances",
    "first_features": "features at the root",
    "first_two_levels": "  in two levels",
}
_OTHERS = {MODELS[0]: "the tree of the best score", MODELS[3]: "CART by cross-validation"}
