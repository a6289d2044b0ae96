"""Replications: the whole procedure of a stable tree on other rows each time, next to two baselines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from numbers import Integral
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray
from holdfast._check import check_fraction
from holdfast._random import Branch, derived_seed
from holdfast._text import NO_BREAK, decimals_of_values, fixed_text, percent_text
from holdfast._view import TextTable, View, format_columns
from holdfast.data.folds import read_groups, read_stage, renumber_groups, subset_groups
from holdfast.data.row_keys import copies_as_groups
from holdfast.data.row_order import fixed_order, unit_numbers
from holdfast.data.table import Table
from holdfast.distance.costs import DistanceSettings
from holdfast.distance.distance import distances_between
from holdfast.errors import ParameterError
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


def _in_fixed_order(table: Table, stage: Any, groups: Any) -> tuple[Table, RowMetadata]:
    """The rows in one order, with their stages and groups; without groups, copies of a row are one."""
    stage = None if stage is None else read_stage(stage, table.n_rows)
    groups = None if groups is None else read_groups(groups, table.n_rows)
    order = fixed_order(table, [values for values in (stage, groups) if values is not None])
    table = table.subset(order)
    stage = None if stage is None else stage[order]
    if groups is not None:
        return table, RowMetadata(stage, groups[order])
    copies = unit_numbers(table, [] if stage is None else [stage])
    return table, RowMetadata(stage, copies_as_groups(table, copies))


def _replication(
    table: Table,
    info: RowMetadata,
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

        return tuple(trade_off_sentences(self))

    def tables(self) -> list[tuple[str, list[list[str]]]]:
        """Return the title and the cells, headings first, of the table."""

        return [("Replications and baselines", replication_cells(self))]

    def text(self, width: int = WIDTH) -> str:
        """The table in words: one line per figure, one column per model."""

        return replications_text(self, width)

    def _view(self) -> View:

        return replications_view(self)

    def _repr_html_(self) -> str:
        return self._view().to_html()

    def __repr__(self) -> str:
        return self.text()

    def plot(self, ax: Any = None) -> Any:
        """Draw the score and the instability of every replication, and return the `ReplicationsDisplay`."""
        from holdfast.plots.evaluation import ReplicationsDisplay

        return ReplicationsDisplay.from_result(self, ax=ax)


def _forest_spread(results: Sequence[Result]) -> float:
    """What importance_spread is for single trees."""
    importances = np.array([result.importances for result in results])
    asked = importances.any(axis=0)
    if len(importances) < 2 or not asked.any():
        return 0.0
    return float(importances.std(axis=0, ddof=1)[asked].mean())


# -- The replications as a table of text ---------------------------------------------------------------------

_HEADS = (
    ("best", "score"),
    ("most", "stable"),
    ("chosen", "tree"),
    ("CART by", "cross-val."),
    ("random", "forest"),
)
_FIGURES = {
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
    "first_features": "features asked first",
    "first_two_levels": "  in two levels",
}
_OTHERS = {MODELS[0]: "the tree of the best score", MODELS[3]: "CART by cross-validation"}
WIDEST_TITLE = 12  # of the score
_Row = list[str]  # a label, and a text for each model


class _Line(NamedTuple):
    """One figure of all models, as text."""

    label: str
    means: list[str]
    deviations: list[str]


def replications_text(found: Replications, width: int) -> str:
    """The table; where lines would have more letters than `width`, deviations stand below the means."""
    title = found.metric.title if len(found.metric.title) <= WIDEST_TITLE else "score"
    lines = [_line(found, name, label.format(score=title)) for name, label in _FIGURES.items()]
    heads = [["", *row] for row in zip(*_HEADS, strict=True)]
    rows = [*heads, *(_side_by_side(line) for line in lines)]
    if _width(rows) > width:
        rows = [*heads, *_stacked(lines)]
    gap = 2 if _width(rows) <= width else 1
    widths = [0, *[_cell(rows)] * len(MODELS)]
    table = format_columns(rows, widths=widths, gap=gap)
    return "\n".join([*_caption(found, title), *table, "", *trade_off_lines(found, title, width)])


def replication_cells(found: Replications) -> list[_Row]:
    """The table with its headings, each mean with its deviation beside it."""
    heads = ["", *(" ".join(parts) for parts in _HEADS)]
    lines = [_line(found, name, label.format(score=found.metric.title)) for name, label in _FIGURES.items()]
    rows = [[line.label.replace("  ", NO_BREAK * 3), *_side_by_side(line)[1:]] for line in lines]
    return [heads, *rows]


def replications_view(found: Replications) -> View:
    """What the chosen tree gains and costs, then the figures, for a notebook."""
    note = " ".join(filter(None, _caption(found, found.metric.title)))
    headings, *rows = replication_cells(found)
    return View(*trade_off_sentences(found), TextTable(headings, rows, note=note, meanings=_MEANINGS))


_MEANINGS = {
    "best score": "the tree of the best score on the frontier",
    "most stable": "the tree of the least instability on the frontier",
    "chosen tree": "the tree that the selection rule takes",
    "CART by cross-val.": "one tree, grown and pruned by cross-validation",
    "random forest": "a forest on the same rows",
}


def trade_off_sentences(found: Replications, title: str = "") -> list[str]:
    """How much nearer the chosen tree is than others, and for how much score: one sentence for each."""
    title, several = title or found.metric.title, found.n_replications > 1
    return [_trade_off_text(each, title, several) for each in found.trade_offs]


def trade_off_lines(found: Replications, title: str, width: int) -> list[str]:
    """The sentences in lines, none of which begins with a percent sign."""
    whole = [text.replace(" %", f"{NO_BREAK}%") for text in trade_off_sentences(found, title)]
    lines = [line for text in whole for line in wrap(text, width, subsequent_indent="  ")]
    return [line.replace(NO_BREAK, " ") for line in lines]


def _trade_off_text(each: TradeOff, title: str, several: bool) -> str:
    other = _OTHERS[each.model]
    if not any((*each.nearer, *each.score_lost)):
        return f"Against {other}, the chosen tree is just as near and just as good."
    is_nearer, is_worse = each.nearer.mean >= 0, each.score_lost.mean >= 0
    distance, lost = _spread_text(each.nearer, several), _spread_text(each.score_lost, several)
    cost = f"and its {title} is {'worse' if is_worse else 'better'} by {lost}"
    if is_nearer and is_worse:
        cost = f"for {lost} of {title}"
    return (
        f"Against {other}, the chosen tree is {'nearer' if is_nearer else 'further'} by "
        f"{distance} ({percent_text(abs(each.fraction))}), {cost}."
    )


def _spread_text(spread: Spread, several: bool) -> str:
    decimals = decimals_of_values(spread, digits=2)  # of differences, two digits tell enough
    mean = fixed_text(abs(spread.mean), decimals)
    return f"{mean} ± {fixed_text(spread.deviation, decimals)}" if several else mean


def _cell(rows: Sequence[_Row]) -> int:
    """The width that all columns of models have."""
    return max(len(text) for _, *row in rows for text in row)


def _width(rows: Sequence[_Row]) -> int:
    return max(len(label) for label, *_ in rows) + len(MODELS) * (_cell(rows) + 2)


def _caption(found: Replications, score: str) -> list[str]:
    n, distance_settings = found.n_replications, found.distance_settings
    return [
        f"{n} replications: mean ± standard deviation." if n > 1 else "1 replication.",
        f"Distances: label weight {distance_settings.label_weight:g}, depth {distance_settings.depth}, "
        f"{distance_settings.matching!r} matching.",
        *([f"Score: {found.metric.title}."] if score != found.metric.title else []),
        "",
    ]


def _line(found: Replications, name: str, label: str) -> _Line:
    cells = [getattr(row, name) for row in found.rows]
    pairs: list[Any] = [cell if isinstance(cell, Spread | None) else (cell, None) for cell in cells]
    if "score" in name:
        pairs = [pair and (found.metric.shown(pair[0]), pair[1]) for pair in pairs]
    are_counts = all(isinstance(cell, int) for cell in cells if cell is not None)
    decimals = 0 if are_counts else decimals_of_values((pair[0] for pair in pairs if pair), digits=3)
    several = found.n_replications > 1
    return _Line(
        label,
        [fixed_text(pair[0], decimals) if pair else "" for pair in pairs],
        [
            f"± {fixed_text(pair[1], decimals)}" if several and pair and pair[1] is not None else ""
            for pair in pairs
        ],
    )


def _side_by_side(line: _Line) -> _Row:
    pairs = zip(line.means, line.deviations, strict=True)
    return [line.label, *(f"{mean} {deviation}".rstrip() for mean, deviation in pairs)]


def _stacked(lines: Iterable[_Line]) -> list[_Row]:
    rows = []
    for line in lines:
        rows.append([line.label, *line.means])
        if any(line.deviations):
            rows.append(["", *line.deviations])
    return rows
