"""Replications: the whole procedure of a stable tree on other rows each time, next to two baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from holdfast._check import check_fraction
from holdfast.arrays import BoolArray, FloatArray
from holdfast.backends.tasks import run_all
from holdfast.data.canonical_order import fixed_order, unit_numbers
from holdfast.data.split.groups import read_groups, renumber_groups, subset_groups
from holdfast.data.split.row_keys import copies_as_groups
from holdfast.data.split.stages import read_stage
from holdfast.data.table import Table
from holdfast.distance.distances import distances_between
from holdfast.distance.settings import DistanceSettings
from holdfast.errors import ParameterError
from holdfast.evaluate.baselines import cart_by_cross_validation, grow_forest
from holdfast.evidence.feature_use import first_features, importance_spread
from holdfast.random_streams import Branch, derived_seed
from holdfast.scoring.metric import Metric, TrueValues, make_metric
from holdfast.scoring.predictions import predict_for_metric
from holdfast.stability.choice import SelectionRule, choose
from holdfast.stability.division import RowInfo, hold_out
from holdfast.stability.frontier import distance_per_rule
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.training import StableTrees, method_of, train, train_divided
from holdfast.text.view import View
from holdfast.tree.tree import Tree

WIDTH = 80  # columns of the text
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
    if not isinstance(n_replications, Integral) or isinstance(n_replications, bool) or n_replications < 1:
        raise ParameterError(
            f"n_replications={n_replications!r} is out of range: it must be an integer of at least 1."
        )
    check_fraction("test_fraction", test_fraction)
    table, info = _in_fixed_order(table, stage, groups)
    own = replace(settings, n_jobs=1, verbose=False)  # the replications themselves share the cores
    task = partial(_replication, table, info, own, selection_rule, test_fraction)
    text = "Replications" if settings.verbose else ""
    found = run_all(task, range(n_replications), settings.n_jobs, progress=text, kept="Replications")
    deepest = max((distance_settings for distance_settings, _ in found), key=lambda each: each.depth)
    results = tuple(result for _, results in found for result in results)
    metric = make_metric(settings.scoring, table.schema.target)
    return Replications(results, metric, deepest, _between(results, deepest, settings.n_jobs))


# -- one replication ------------------------------------------------------------------------------------


def _in_fixed_order(table: Table, stage: Any, groups: Any) -> tuple[Table, RowInfo]:
    """The rows in one order, with their stages and groups; without groups, copies of a row are one."""
    stage = None if stage is None else read_stage(stage, table.n_rows)
    groups = None if groups is None else read_groups(groups, table.n_rows)
    order = fixed_order(table, [values for values in (stage, groups) if values is not None])
    table = table.subset(order)
    stage = None if stage is None else stage[order]
    if groups is not None:
        return table, RowInfo(stage, groups[order])
    copies = unit_numbers(table, [] if stage is None else [stage])
    return table, RowInfo(stage, copies_as_groups(table, copies))


def _replication(
    table: Table,
    info: RowInfo,
    settings: StabilitySettings,
    selection_rule: SelectionRule,
    test_fraction: float,
    number: int,
) -> tuple[DistanceSettings, list["Result"]]:
    settings = replace(settings, seed=derived_seed(settings.seed, Branch.REPLICATIONS, number))
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
    table: Table, info: RowInfo, settings: StabilitySettings, test_fraction: float
) -> tuple[StableTrees, BoolArray]:
    """Stable trees, and the rows to test on: unseen ones, or, as in the paper, those they were chosen by."""
    if method_of(settings.method).reports_on_holdout:
        settings = replace(settings, validation=test_fraction)
        division = method_of(settings.method).divide(table, settings, info)
        (test,) = division.validation
        return train_divided(table, division, settings, groups=info.groups), test
    test = hold_out(table, test_fraction, stage=info.stage, groups=info.groups, seed=settings.seed)
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

# What has a mean and a deviation.
_SPREADS = (
    "score",
    "choosing_score",
    "measured_score",
    "instability",
    "normalised",
    "per_rule",
    "n_leaves",
    "depth",
    "mean_path_length",
    "frontier_size",
)


@dataclass(frozen=True, eq=False)
class Result:
    """One model of one replication. What makes no sense for a model is None."""

    replication: int
    model: str  # one of MODELS
    score: float  # on the test rows; greater is better: losses are negated
    choosing_score: float | None = None  # what new rows were expected to give, when it was chosen
    measured_score: float | None = None  # on the validation rows that it was chosen by
    instability: float | None = None  # mean distance to the reference trees
    normalised: float | None = None  # as a fraction of the greatest distance of trees of the depth allowed
    per_rule: float | None = None  # mean distance per rule of the larger tree
    n_leaves: int | None = None
    depth: int | None = None
    mean_path_length: float | None = None  # questions asked of a row that the tree was grown on
    frontier_size: int | None = None  # different points on the frontier that it was chosen from
    tree: Tree | None = None
    importances: FloatArray | None = None  # fraction of the decrease of impurity that each feature brought


class Spread(NamedTuple):
    """A mean over the replications and the standard deviation between them."""

    mean: float
    deviation: float  # 0 for a single replication

    @classmethod
    def of(cls, values: Sequence[float | None]) -> "Spread | None":
        """The spread of the values; None if they are not known."""
        known = [value for value in values if value is not None]
        return _spread(known) if known else None


def _spread(values: Sequence[float]) -> Spread:
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)


@dataclass(frozen=True)
class Summary:
    """One model over all replications. What makes no sense for a model is None."""

    model: str
    score: Spread  # on the test rows; greater is better
    choosing_score: Spread | None
    measured_score: Spread | None
    instability: Spread | None
    normalised: Spread | None
    per_rule: Spread | None
    n_leaves: Spread | None
    depth: Spread | None
    mean_path_length: Spread | None
    frontier_size: Spread | None
    between: float | None  # mean distance between its trees of two replications
    importance_spread: float  # standard deviation of the importances, averaged over the features used
    first_features: int | None  # how many different features the first splits use
    first_two_levels: int | None  # the same of the first two levels


class TradeOff(NamedTuple):
    """What the chosen tree brings and costs against another model, over all replications."""

    model: str  # the other one
    nearer: Spread  # by how much the chosen tree is nearer to the reference trees; below 0 if it is further
    fraction: float  # the mean of that, of the other's mean distance
    score_lost: Spread  # by how much its score on the test rows is worse; below 0 if it is better

    @classmethod
    def of(cls, chosen: Sequence[Result], others: Sequence[Result]) -> "TradeOff":
        """The chosen tree against another model, replication by replication."""
        distance, other_distance = (
            np.array([result.instability for result in results], np.float64) for results in (chosen, others)
        )
        lost = [other.score - own.score for own, other in zip(chosen, others, strict=True)]
        mean = float(other_distance.mean())
        return cls(
            model=others[0].model,
            nearer=_spread((other_distance - distance).tolist()),
            fraction=1 - float(distance.mean()) / mean if mean > 0 else 0.0,
            score_lost=_spread(lost),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Replications:
    """The results of all replications, and their table."""

    results: tuple[Result, ...]  # replication by replication, the models in the order of MODELS
    metric: Metric
    distance_settings: DistanceSettings  # of all distances
    between: Mapping[str, float]  # model: mean distance between its trees of two replications

    @property
    def n_replications(self) -> int:
        """Number of replications."""
        return len(self.results) // len(MODELS)

    def of(self, model: str) -> list[Result]:
        """The results of one model, replication by replication."""
        return [result for result in self.results if result.model == model]

    @cached_property
    def rows(self) -> tuple[Summary, ...]:
        """The table: one row per model."""
        return tuple(self._summary(model) for model in MODELS)

    @cached_property
    def trade_offs(self) -> tuple[TradeOff, ...]:
        """The chosen tree against that of the best score, and against CART."""
        return tuple(TradeOff.of(self.of("chosen"), self.of(MODELS[number])) for number in (0, 3))

    def _summary(self, model: str) -> Summary:
        results = self.of(model)
        trees = [result.tree for result in results if result.tree is not None]
        spreads: dict[str, Any] = {
            name: Spread.of([getattr(result, name) for result in results]) for name in _SPREADS
        }
        return Summary(
            model=model,
            **spreads,
            between=self.between.get(model),
            importance_spread=importance_spread(trees) if trees else _forest_spread(results),
            first_features=len(first_features(trees, 1)) if trees else None,
            first_two_levels=len(first_features(trees, 2)) if trees else None,
        )

    def columns(self) -> dict[str, list[Any]]:
        """The table, column by column; the deviations of a figure are in one more, with `_deviation`."""
        columns: dict[str, list[Any]] = {}
        for name in (field.name for field in fields(Summary)):
            cells = [getattr(row, name) for row in self.rows]
            if any(isinstance(cell, Spread) for cell in cells):
                columns[name] = [None if cell is None else cell.mean for cell in cells]
                columns[f"{name}_deviation"] = [None if cell is None else cell.deviation for cell in cells]
            else:
                columns[name] = cells
        return columns

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per model, as a pandas, polars or pyarrow frame (the first that is installed)."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64) | {"model": nw.String}
        return frame_from(columns, types, backend)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the chosen tree gains and costs against the tree of the best score, and against CART."""
        from holdfast.evaluate.replications_text import trade_off_sentences

        return tuple(trade_off_sentences(self))

    def tables(self) -> list[tuple[str, list[list[str]]]]:
        """Return the title and the cells, headings first, of the table."""
        from holdfast.evaluate.replications_text import replication_cells

        return [("Replications and baselines", replication_cells(self))]

    def text(self, width: int = WIDTH) -> str:
        """The table in words: one line per figure, one column per model."""
        from holdfast.evaluate.replications_text import replications_text

        return replications_text(self, width)

    def _view(self) -> View:
        from holdfast.evaluate.replications_text import replications_view

        return replications_view(self)

    def _repr_html_(self) -> str:
        return self._view().to_html()

    def __repr__(self) -> str:
        return self.text()

    def plot(self, ax: Any = None) -> Any:
        """Draw the score and the instability of every replication, and return the `ReplicationsDisplay`."""
        from holdfast.evaluate.displays import ReplicationsDisplay

        return ReplicationsDisplay.from_result(self, ax=ax)


def _forest_spread(results: Sequence[Result]) -> float:
    """What importance_spread is for single trees."""
    importances = np.array([result.importances for result in results])
    asked = importances.any(axis=0)
    if len(importances) < 2 or not asked.any():
        return 0.0
    return float(importances.std(axis=0, ddof=1)[asked].mean())
