"""A sequence of trees, one for every stage, with its settings, its rows, and its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum, isnan, nan
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, LongArray
from holdfast._check import check_choice, check_integer, check_number
from holdfast._choices import (
    MEMORIES,
    MIN_STAGE_ROWS,
    SEQUENCE_STRATEGIES,
    SHORTEST_PATH,
    UPDATE,
    UPDATE_TOLERANCE,
)
from holdfast._text import fixed_text, loss_text, number_text, pluralize, printable, quoted
from holdfast._view import Picture, Section, TextTable, View, ViewMixin, explain_headings
from holdfast.data.folds import join_small_stages, subset_groups
from holdfast.data.row_keys import group_copies
from holdfast.data.row_order import canonicalize_rows
from holdfast.data.table import Table
from holdfast.data.target import count_effective_rows
from holdfast.distance.costs import DistanceSettings
from holdfast.distance.diff import SplitChange, TreeDiff, compare_splits, tree_diff
from holdfast.distance.diff_text import other_classes, outcome_change_text, split_texts
from holdfast.errors import ParameterError
from holdfast.scoring.metric import Metric
from holdfast.tree.rules_text import condition_text
from holdfast.tree.tree import Tree

# How far a tree changed from the stage before.
FIRST, SAME, REFIT, MOVED, CHANGED, NEW_ROOT = "first", "same", "refit", "moved", "changed", "new root"
STAGE_KINDS = (FIRST, SAME, REFIT, MOVED, CHANGED, NEW_ROOT)


@dataclass(frozen=True, eq=False)
class Stage:
    """The tree of one stage, compared with the one before. NaN where there is none before, or none after."""

    label: str
    n_rows: int  # of the stage
    n_training_rows: int  # of this and, with memory="all", earlier stages
    tree: Tree
    kind: str  # one of STAGE_KINDS
    distance: float  # to the tree before
    loss: float  # of its splits, as a fraction of the teacher's variance that a fresh student explains
    churn: float  # mean change of the predictions on the rows of the stage; of numbers in standard deviations
    flips: float  # fraction of these rows that get another class
    forward_score: float  # on the rows of the next stage; losses are negated
    forward_error: float  # standard error
    n_forward: int  # rows of the next stage


@dataclass(frozen=True)
class PathPoint:
    """The total loss and the total distance of the sequence of one movement weight."""

    movement_weight: float
    loss: float
    movement: float
    structures: tuple[int, ...]  # of each stage: the number of the structure


@dataclass(frozen=True, eq=False, repr=False)
class StageSequence(ViewMixin):
    """One tree for each stage, all on one schema.

    With strategy="shortest-path", `stages` is the sequence chosen with all stages known, and `then` the one
    that is decided stage by stage, from the data up to each stage and the tree before it. Forward scores, on
    the rows of the next stage, are those of `then`. `retrained` are trees trained at each stage alone.
    `str()` summarises the sequence, and lists the changes of every stage.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import StableTreeClassifier
    >>> X, year = np.arange(240.0).reshape(-1, 2) % 40, np.repeat([2021, 2022], 60)
    >>> model = StableTreeClassifier(teacher="linear", n_estimators=5)
    >>> sequence = model.fit_stages(X, X[:, 0] > 20, stage=year).stages_
    >>> sequence.labels, sequence.kinds[0]
    (('2021', '2022'), 'first')
    """

    stages: tuple[Stage, ...]
    then: tuple[Stage, ...]  # the same for strategy="update"
    retrained: tuple[Stage, ...]  # empty without compare=True
    curve: tuple[PathPoint, ...]  # of several movement weights; empty for strategy="update"
    settings: StageSettings
    metric: Metric
    distance_settings: DistanceSettings

    def __len__(self) -> int:
        return len(self.stages)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the stages in the data."""
        return tuple(stage.label for stage in self.stages)

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The tree of each stage."""
        return tuple(stage.tree for stage in self.stages)

    @property
    def kinds(self) -> tuple[str, ...]:
        """How far each tree changed from the one before."""
        return tuple(stage.kind for stage in self.stages)

    @property
    def total_distance(self) -> float:
        """The total tree distance from stage to stage."""
        return total_distance(self.stages)

    @property
    def mean_churn(self) -> float:
        """The mean churn over all stages but the first; NaN if there is only one."""
        return mean_known([stage.churn for stage in self.stages])

    @property
    def mean_forward_score(self) -> float:
        """The mean score on the next stage, or NaN."""
        return mean_known([stage.forward_score for stage in self.then])

    @cached_property
    def diffs(self) -> tuple[TreeDiff, ...]:
        """The diff of each tree to the next."""
        known, label_weight = self.distance_settings, self.distance_settings.label_weight
        return tuple(
            tree_diff(old, new, matching=known.matching, label_weight=label_weight, outcome=known.outcome)
            for old, new in zip(self.trees[:-1], self.trees[1:], strict=True)
        )

    # -- shown ----------------------------------------------------------------------------------------

    def columns(self) -> dict[str, list[Any]]:
        """Return a list for every figure, with one entry per stage; None where it is undefined."""
        names = ("label", "n_rows", "n_training_rows", "kind", "distance", "loss", "churn", "flips")
        columns = {name: [_known(getattr(stage, name)) for stage in self.stages] for name in names}
        columns["n_leaves"] = [stage.tree.n_leaves for stage in self.stages]
        columns["forward_score"] = [self._shown(stage.forward_score) for stage in self.then]
        columns["forward_error"] = [_known(stage.forward_error) for stage in self.then]
        if self.then is not self.stages:
            columns["distance_then"] = [_known(stage.distance) for stage in self.then]
        for name in ("distance", "churn") if self.retrained else ():
            columns[f"retrained_{name}"] = [_known(getattr(stage, name)) for stage in self.retrained]
        if self.retrained:
            scores = [self._shown(stage.forward_score) for stage in self.retrained]
            columns["retrained_forward_score"] = scores
        return columns

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per stage.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first that is installed.

        Returns
        -------
        DataFrame
        """
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        types |= {"label": nw.String, "kind": nw.String}
        types |= dict.fromkeys(("n_rows", "n_training_rows", "n_leaves"), nw.Int64)
        return frame_from(columns, types, backend)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        return {
            "strategy": self.settings.strategy,
            "memory": self.settings.memory,
            "hindsight": self.settings.hindsight,
            "metric": self.metric.name,
            "summary": self.summary,
            "total_distance": self.total_distance,
            "mean_churn": _known(self.mean_churn),
            "mean_forward_score": self._shown(self.mean_forward_score),
            "stages": self.columns(),
            "curve": [
                {"movement_weight": each.movement_weight, "loss": each.loss, "movement": each.movement}
                for each in self.curve
            ],
        }

    @property
    def summary(self) -> str:
        """A summary in a few sentences."""
        return summarize_sequence(self)

    def to_svg(self) -> str:
        """Draw the split at each node, stage by stage, as SVG."""
        from holdfast.plots.display import LATER
        from holdfast.plots.tree import StagesDisplay

        return StagesDisplay.from_result(self, ax=LATER).to_svg()

    def plot(self, ax: Any = None) -> Any:
        """Draw the split at each node, stage by stage.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; by default new ones.

        Returns
        -------
        StagesDisplay
        """
        from holdfast.plots.tree import StagesDisplay

        return StagesDisplay.from_result(self, ax=ax)

    def _shown(self, score: float) -> float | None:
        return None if isnan(score) else self.metric.shown(score)

    def _view(self) -> View:
        return sequence_view(self)


def total_distance(stages: Sequence[Stage]) -> float:
    """Sum the tree distances from stage to stage."""
    return fsum(stage.distance for stage in stages if not isnan(stage.distance))


def mean_known(values: Sequence[float]) -> float:
    """Average the values that are not NaN; NaN if all are."""
    known = [value for value in values if not isnan(value)]
    return fsum(known) / len(known) if known else nan


def classify_change(old: Tree, new: Tree) -> str:
    """Classify a change: of values, of thresholds or categories, of splits, or of the root split."""
    changes: tuple[SplitChange, ...] = compare_splits(old, new)
    if not changes:
        return SAME if np.array_equal(old.value, new.value) else REFIT
    if all(each.is_move for each in changes):
        return MOVED
    return NEW_ROOT if any(each.is_root and not each.is_move for each in changes) else CHANGED


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and isnan(value) else value


# -- Settings ------------------------------------------------------------------------------------------------

MOVEMENT_WEIGHT = 0.02  # fit that one unit of distance is worth, as a fraction of what a student explains


@dataclass(frozen=True)
class StageSettings:
    """How a sequence of trees is fitted; None: the default of the `strategy`."""

    strategy: str = UPDATE  # one of SEQUENCE_STRATEGIES
    memory: str = "all"  # training rows of a stage: those of "all" stages so far, or of the "stage"
    half_life: float | None = None  # in stages: the age at which the weight of a row is halved
    tolerance: float | None = None  # loss of fit allowed relative to a fresh student
    prior_rows: float | None = None  # for "update": rows behind the tree before, besides those given
    movement_weight: float | None = None  # the fit that one unit of distance is worth
    hindsight: bool = False  # a stage may use trees that later stages suggest
    compare: bool = False  # with a tree retrained at each stage
    min_rows: int = MIN_STAGE_ROWS
    strict_groups: bool = False  # forward scores are of new groups alone

    def __post_init__(self) -> None:
        if self.strategy not in SEQUENCE_STRATEGIES:
            raise ParameterError(
                f"strategy={self.strategy!r} is unknown: choose one of {quoted(SEQUENCE_STRATEGIES)}."
            )
        check_choice("memory", self.memory, MEMORIES)
        check_number("half_life", self.half_life, is_open="low", none_ok=True)
        check_number("tolerance", self.tolerance, none_ok=True)
        check_number("prior_rows", self.prior_rows, none_ok=True)
        check_number("movement_weight", self.movement_weight, none_ok=True)
        if self.half_life is not None and self.memory != "all":
            raise ParameterError(
                f"half_life={self.half_life!r} weights rows of earlier stages, and memory={self.memory!r} "
                "leaves them out: take memory='all', or leave out half_life."
            )
        self._check_unused()
        check_integer("min_rows", self.min_rows)

    @property
    def weight(self) -> float:
        """The fit that one unit of distance is worth."""
        return MOVEMENT_WEIGHT if self.movement_weight is None else float(self.movement_weight)

    @property
    def update_tolerance(self) -> float:
        """The loss of fit allowed for an updated tree."""
        return UPDATE_TOLERANCE if self.tolerance is None else float(self.tolerance)

    def _check_unused(self) -> None:
        """Raise a ParameterError for a setting that the strategy does not use."""
        if self.strategy != UPDATE:
            if self.prior_rows is not None:
                raise ParameterError(
                    f"prior_rows={self.prior_rows!r} is for strategy='update': leave it out."
                )
            return
        given = {"movement_weight": self.movement_weight is not None, "hindsight": self.hindsight}
        for name, is_given in given.items():
            if is_given:
                raise ParameterError(
                    f"{name}={getattr(self, name)!r} is for strategy='shortest-path': an update has a "
                    "tolerance, and cannot use later stages."
                )


# -- The rows of the stages ----------------------------------------------------------------------------------


class OrderedRows(NamedTuple):
    """Rows in canonical order; copies of a row as one group."""

    table: Table
    groups: LongArray | None


@dataclass(frozen=True, eq=False)
class StageRows:
    """All rows on one schema, and the stage of each."""

    table: Table
    stage: LongArray  # numbers from 0, without gaps
    groups: LongArray | None
    labels: tuple[str, ...]  # of the stages

    @classmethod
    def of(
        cls,
        table: Table,
        stage: LongArray,
        groups: LongArray | None,
        labels: tuple[str, ...],
        settings: StageSettings,
    ) -> StageRows:
        """Number the stages of the rows; a stage of too few rows is joined with the next."""
        joint = join_small_stages(stage, settings.min_rows)
        number_of = [int(joint[stage == number][0]) for number in range(len(labels))]
        together = [
            [label for label, number in zip(labels, number_of, strict=True) if number == new]
            for new in range(max(number_of) + 1)
        ]
        names = (each[0] if len(each) == 1 else f"{each[0]} to {each[-1]}" for each in together)
        return cls(table, joint, groups, tuple(names))

    @property
    def n_stages(self) -> int:
        """The number of stages."""
        return len(self.labels)

    def is_training(self, stage: int, settings: StageSettings) -> BoolArray:
        """True for the training rows of a stage."""
        is_training = self.stage <= stage if settings.memory == "all" else self.stage == stage
        return np.asarray(is_training, np.bool_)

    def n_training(self, stage: int, settings: StageSettings) -> int:
        """The number of training rows of a stage."""
        return int(self.is_training(stage, settings).sum())

    def size(self, stage: int, settings: StageSettings) -> float:
        """The effective number of training rows of a stage."""
        table, _ = self.select_training(stage, settings)
        return count_effective_rows(table.weight, table.n_rows)

    def select_training(self, stage: int, settings: StageSettings) -> tuple[Table, LongArray | None]:
        """The training rows of a stage and their groups, as they came, with weights by age."""
        is_training = self.is_training(stage, settings)
        table = self.table.subset(is_training)
        if settings.half_life is not None:
            weight = np.exp2(-(stage - self.stage[is_training]) / float(settings.half_life))
            table = replace(table, weight=weight if table.weight is None else table.weight * weight)
        return table, subset_groups(self.groups, is_training)

    def training(self, stage: int, settings: StageSettings) -> OrderedRows:
        """The training rows of a stage in canonical order."""
        return _order_rows(*self.select_training(stage, settings))

    def own(self, stage: int) -> OrderedRows:
        """The rows of the stage itself."""
        return self._order(self.stage == stage)

    def next(self, stage: int, settings: StageSettings) -> OrderedRows | None:
        """The rows of the next stage; with strict groups, those of groups that no earlier row has."""
        if stage + 1 >= self.n_stages:
            return None
        is_next = self.stage == stage + 1
        if settings.strict_groups and self.groups is not None:
            is_next = is_next & ~np.isin(self.groups, self.groups[self.stage <= stage])
        return self._order(np.asarray(is_next, np.bool_)) if is_next.any() else None

    def _order(self, rows: BoolArray) -> OrderedRows:
        return _order_rows(self.table.subset(rows), subset_groups(self.groups, rows))


def _order_rows(table: Table, groups: LongArray | None) -> OrderedRows:
    table, in_order, copies = canonicalize_rows(table, [] if groups is None else [groups])
    return OrderedRows(table, in_order[0] if in_order else group_copies(table, copies))


# -- A sequence as text --------------------------------------------------------------------------------------

# What the tree did from one stage to the next.
KIND_WORDS = {
    SAME: "was unchanged",
    REFIT: "kept all splits",
    MOVED: "moved thresholds or categories",
    CHANGED: "changed splits below the root",
    NEW_ROOT: "changed its root split",
}
SPLIT_WORDS = {
    "threshold": ("threshold moved", "thresholds moved"),
    "categories": ("set of categories moved", "sets of categories moved"),
    "missing": ("split sends missing values elsewhere", "splits send missing values elsewhere"),
    "replaced": ("split replaced", "splits replaced"),
    "new": ("new split", "new splits"),
    "gone": ("split gone", "splits gone"),
}


def sequence_view(sequence: StageSequence) -> View:
    """Show a summary, the figures of the stages, the changes at each, and the curve of movement weights."""
    moves, lines = dict(list_split_changes(sequence)), []
    for number, stage in enumerate(sequence.stages):
        label = printable(stage.label)
        changes = (f"  {change}" for change in moves.get(label, []))
        lines += [f"{label}: {_changed_text(sequence, number)}", *changes]
    return View(
        sequence.summary,
        *stage_tables(sequence),
        Picture(sequence.to_svg),
        Section("What changed at each stage", lines),
        curve_table(sequence) if sequence.curve else "",
    )


# -- sentences ----------------------------------------------------------------------------------------------


def summarize_sequence(sequence: StageSequence) -> str:
    """Summarise the changes of the tree, its total distance, and its scores on the next stage."""
    if len(sequence) == 1:
        return f"One stage, {printable(sequence.labels[0])}: the tree of an ordinary fit."
    return " ".join([_kinds_sentence(sequence), _movement_sentence(sequence), *_forward_sentences(sequence)])


def _kinds_sentence(sequence: StageSequence) -> str:
    first, last = (printable(sequence.labels[place]) for place in (0, -1))
    counts = Counter(sequence.kinds)
    changes = [f"{words} {_times(counts[kind])}" for kind, words in KIND_WORDS.items() if counts[kind]]
    return f"{len(sequence)} stages, {first} to {last}: the tree {_and(changes)}."


def _and(parts: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _movement_sentence(sequence: StageSequence) -> str:
    text = f"Total tree distance from stage to stage: {sequence.total_distance:.2f}"
    if sequence.retrained:
        text += f"; retrained at each stage: {total_distance(sequence.retrained):.2f}"
    return f"{text}."


def _forward_sentences(sequence: StageSequence) -> Iterator[str]:
    title = sequence.metric.title
    if not isnan(sequence.mean_forward_score):
        text = f"Mean {title} on the next stage: {_mean_text(sequence, sequence.then)}"
        if sequence.retrained:
            text += f"; retrained: {_mean_text(sequence, sequence.retrained)}"
        yield f"{text}."
    if sequence.settings.strategy == SHORTEST_PATH:
        later = ", with splits that only later stages suggest" if sequence.settings.hindsight else ""
        yield (
            f"The sequence was chosen with all stages known{later}. Stage by stage, its total distance "
            f"would be {total_distance(sequence.then):.2f}; the scores on the next stage are of those trees."
        )


def _mean_text(sequence: StageSequence, stages: Sequence[Stage]) -> str:
    score = mean_known([stage.forward_score for stage in stages])
    return fixed_text(sequence.metric.shown(score), 3)


# -- tables -------------------------------------------------------------------------------------------------

HEADINGS = ("stage", "rows", "distance", "fit lost", "churn")
MEANINGS = {
    "distance": "tree distance from the stage before",
    "churn": "mean absolute change of the predictions from the stage before",
}


def stage_tables(sequence: StageSequence) -> Iterator[TextTable]:
    """Make the tables of the stages, and of trees retrained at each."""
    score = f"next {sequence.metric.title}"
    meanings = {**MEANINGS, score: f"{sequence.metric.title} on the rows of the next stage, ± standard error"}
    rows = [
        [
            printable(stage.label),
            f"{stage.n_rows:,}",
            _number(stage.distance, 2),
            loss_text(stage.loss),
            _number(stage.churn, 3),
            _score_text(sequence, then),
        ]
        for stage, then in zip(sequence.stages, sequence.then, strict=True)
    ]
    headings = [*HEADINGS, score]
    yield TextTable(headings, rows, note=explain_headings(headings, meanings), meanings=meanings)
    if sequence.retrained:
        rows = [
            [
                printable(stage.label),
                _number(stage.distance, 2),
                _number(stage.churn, 3),
                _score_text(sequence, stage),
            ]
            for stage in sequence.retrained
        ]
        title = "Trees retrained at each stage, without regard to the tree before"
        yield TextTable(["stage", "distance", "churn", score], rows, title=title, meanings=meanings)


def _changed_text(sequence: StageSequence, number: int) -> str:
    stage = sequence.stages[number]
    if not number:
        return f"first tree: {pluralize(stage.tree.n_leaves, 'leaf', 'leaves')}"
    splits = sequence.diffs[number - 1].splits
    counts = Counter(split.kind for split in splits)
    counts["missing"] = sum(split.moves_missing for split in splits)
    texts = [
        f"{counts[kind]} {one if counts[kind] == 1 else many}"
        for kind, (one, many) in SPLIT_WORDS.items()
        if counts[kind]
    ]
    if not texts:
        texts = ["nothing" if stage.kind == SAME else "values of leaves"]
    diff = sequence.diffs[number - 1]
    n_classes = len(other_classes(diff))
    if n_classes:
        each = f"{'each ' if n_classes > 1 else ''}{diff.distance.label_weight:g}"
        texts.append(f"{pluralize(n_classes, 'rule')} with another class (distance {each})")
    return ", ".join(texts)


def _number(value: float, decimals: int) -> str:
    return "" if isnan(value) else fixed_text(value, decimals)


def _score_text(sequence: StageSequence, stage: Stage) -> str:
    if isnan(stage.forward_score):
        return ""
    value, error = sequence.metric.shown(stage.forward_score), stage.forward_error
    return f"{fixed_text(value, 3)} ± {fixed_text(error, 3)}"


def curve_table(sequence: StageSequence) -> TextTable:
    """Make the table of movement weights: the loss of each sequence, and its total distance."""
    rows = []
    for point in sequence.curve:
        mark = "-> " if point.movement_weight == sequence.settings.weight else ""
        weight = f"{mark}{number_text(point.movement_weight)}"
        rows.append([weight, loss_text(point.loss / len(sequence)), f"{point.movement:.2f}"])
    headings = ["movement weight", "fit lost, mean", "distance, total"]
    return TextTable(headings, rows, title="Fit lost and total distance, by movement weight")


def list_split_changes(sequence: StageSequence) -> Iterator[tuple[str, list[str]]]:
    """List the changed splits, before and after, of every stage with any."""
    for stage, diff in zip(sequence.stages[1:], sequence.diffs, strict=True):
        if changes := list(_changes(diff)):
            yield printable(stage.label), changes


def _changes(diff: TreeDiff) -> Iterator[str]:
    for split in diff.splits:
        where, what, size = split_texts(diff, split)
        yield f"{where}: {what}" + (f" ({size})" if size else "")
    for change in other_classes(diff):
        if change.old is not None and change.new is not None:
            where = " and ".join(map(condition_text, change.new.conditions))
            yield f"where {where}: {outcome_change_text(change.old, change.new, diff.positive_place)}"
