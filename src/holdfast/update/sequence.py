"""A tree for every stage, and what happened between them."""

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
    """The tree of one stage, compared with the one before. NaN: there is none before, or none after."""

    label: str
    n_rows: int  # of the stage
    n_learnt: int  # rows that it learnt from
    tree: Tree
    kind: str  # one of STAGE_KINDS
    distance: float  # to the tree before
    loss: float  # what its questions lose of the teacher's variance that a fresh student explains
    churn: float  # mean change of the answers on the rows of the stage; of numbers in standard deviations
    flips: float  # fraction of these rows that get another class
    forward_score: float  # on the rows of the next stage; losses are negated
    forward_error: float  # standard error
    n_forward: int  # rows of the next stage


@dataclass(frozen=True)
class PathPoint:
    """What the sequence of one movement weight loses and moves, in all."""

    movement_weight: float
    loss: float
    movement: float
    structures: tuple[int, ...]  # of each stage: the number of the structure


@dataclass(frozen=True, eq=False, repr=False)
class StageSequence(ViewMixin):
    """One tree for each stage, all on one schema.

    Of strategy="shortest-path", `stages` is the sequence that was chosen when all stages were there, and
    `then` the one that is decided stage by stage, each tree by what was known then and by the tree before it.
    Only such trees can be tried on the next stage: forward scores are theirs. `retrained` are the trees of
    each stage that know of no other. `str()` tells in words what happened, and then which rule moved when.
    """

    stages: tuple[Stage, ...]
    then: tuple[Stage, ...]  # of strategy="update" the same
    retrained: tuple[Stage, ...]  # empty without compare=True
    curve: tuple[PathPoint, ...]  # of several movement weights; empty for strategy="update"
    settings: StageSettings
    metric: Metric
    distance_settings: DistanceSettings

    def __len__(self) -> int:
        return len(self.stages)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the data calls the stages."""
        return tuple(stage.label for stage in self.stages)

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The trees."""
        return tuple(stage.tree for stage in self.stages)

    @property
    def kinds(self) -> tuple[str, ...]:
        """How far each tree changed from the one before."""
        return tuple(stage.kind for stage in self.stages)

    @property
    def total_distance(self) -> float:
        """How far the tree moved in all."""
        return total_distance(self.stages)

    @property
    def mean_churn(self) -> float:
        """The mean churn of all changes; NaN if there was none."""
        return mean_known([stage.churn for stage in self.stages])

    @property
    def mean_forward_score(self) -> float:
        """The mean score on the stage after; NaN if there is none."""
        return mean_known([stage.forward_score for stage in self.then])

    @cached_property
    def diffs(self) -> tuple[TreeDiff, ...]:
        """What changed from each tree to the next."""
        known, label_weight = self.distance_settings, self.distance_settings.label_weight
        return tuple(
            tree_diff(old, new, matching=known.matching, label_weight=label_weight, outcome=known.outcome)
            for old, new in zip(self.trees[:-1], self.trees[1:], strict=True)
        )

    # -- shown ----------------------------------------------------------------------------------------

    def columns(self) -> dict[str, list[Any]]:
        """One list per figure, one entry per stage; None where there is none."""
        names = ("label", "n_rows", "n_learnt", "kind", "distance", "loss", "churn", "flips")
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
        """One row per stage, as a pandas, polars or pyarrow frame (the first that is installed)."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        types |= {"label": nw.String, "kind": nw.String}
        types |= dict.fromkeys(("n_rows", "n_learnt", "n_leaves"), nw.Int64)
        return frame_from(columns, types, backend)

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain data."""
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
        """What happened, in a few sentences."""
        return summarize_sequence(self)

    def to_svg(self) -> str:
        """A picture: what is asked at each place of the tree, stage by stage."""
        from holdfast.plots.display import LATER
        from holdfast.plots.tree import StagesDisplay

        return StagesDisplay.from_result(self, ax=LATER).to_svg()

    def plot(self, ax: Any = None) -> Any:
        """A `StagesDisplay`, drawn: what is asked at each place of the tree, stage by stage."""
        from holdfast.plots.tree import StagesDisplay

        return StagesDisplay.from_result(self, ax=ax)

    def _shown(self, score: float) -> float | None:
        return None if isnan(score) else self.metric.shown(score)

    def _view(self) -> View:

        return sequence_view(self)


def total_distance(stages: Sequence[Stage]) -> float:
    """How far the trees moved in all."""
    return fsum(stage.distance for stage in stages if not isnan(stage.distance))


def mean_known(values: Sequence[float]) -> float:
    """The mean of those that are known; NaN if none is."""
    known = [value for value in values if not isnan(value)]
    return fsum(known) / len(known) if known else nan


def classify_change(old: Tree, new: Tree) -> str:
    """How far a tree changed: in values alone, in thresholds and categories, or in what it asks."""
    changes: tuple[SplitChange, ...] = compare_splits(old, new)
    if not changes:
        return SAME if np.array_equal(old.value, new.value) else REFIT
    if all(each.is_move for each in changes):
        return MOVED
    return NEW_ROOT if any(each.is_root and not each.is_move for each in changes) else CHANGED


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and isnan(value) else value


MOVEMENT_WEIGHT = 0.02  # fit that one unit of distance is worth, as a fraction of what a student explains

# -- How a tree is carried through stages --------------------------------------------------------------------


@dataclass(frozen=True)
class StageSettings:
    """How a tree is carried through stages; None: what is usual for `strategy`."""

    strategy: str = UPDATE  # one of SEQUENCE_STRATEGIES
    memory: str = "all"  # rows that a stage learns from: those of "all" stages so far, or of the "stage"
    half_life: float | None = None  # in stages: the age at which a row counts half
    tolerance: float | None = None  # that the fit may fall short of a fresh student's
    prior_rows: float | None = None  # for "update": rows that the tree before stands for, besides those given
    movement_weight: float | None = None  # fit that one unit of distance is worth
    hindsight: bool = False  # a stage may use trees that later stages suggest
    compare: bool = False  # with a tree that is trained anew at each stage
    min_rows: int = MIN_STAGE_ROWS  # of a stage
    strict_groups: bool = False  # forward scores are of groups that are new

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
                f"half_life={self.half_life!r} weighs rows of stages before, and memory={self.memory!r} "
                "forgets them: take memory='all', or leave out half_life."
            )
        self._check_unused()
        check_integer("min_rows", self.min_rows)

    @property
    def weight(self) -> float:
        """The fit that one unit of distance is worth."""
        return MOVEMENT_WEIGHT if self.movement_weight is None else float(self.movement_weight)

    @property
    def update_tolerance(self) -> float:
        """What the fit of an updated tree may fall short."""
        return UPDATE_TOLERANCE if self.tolerance is None else float(self.tolerance)

    def _check_unused(self) -> None:
        """A ParameterError names a setting that is given and has no use."""
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
                    "tolerance, and knows nothing of later stages."
                )


# -- The rows of every stage ---------------------------------------------------------------------------------


class RowsLearnt(NamedTuple):
    """Rows in one order, whatever order they came in; copies of a row as one group."""

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
        """The rows, where a stage that has too few is joined with the next."""
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

    def is_learnt(self, stage: int, settings: StageSettings) -> BoolArray:
        """True for the rows that a stage learns from."""
        is_learnt = self.stage <= stage if settings.memory == "all" else self.stage == stage
        return np.asarray(is_learnt, np.bool_)

    def n_learnt(self, stage: int, settings: StageSettings) -> int:
        """How many rows a stage learns from."""
        return int(self.is_learnt(stage, settings).sum())

    def size(self, stage: int, settings: StageSettings) -> float:
        """How many rows those that a stage learns from are worth."""
        table = self.raw(stage, settings).table
        return count_effective_rows(table.weight, table.n_rows)

    def raw(self, stage: int, settings: StageSettings) -> RowsLearnt:
        """The rows that a stage learns from, as they came, each with its weight by age."""
        is_learnt = self.is_learnt(stage, settings)
        table = self.table.subset(is_learnt)
        if settings.half_life is not None:
            weight = np.exp2(-(stage - self.stage[is_learnt]) / float(settings.half_life))
            table = replace(table, weight=weight if table.weight is None else table.weight * weight)
        return RowsLearnt(table, subset_groups(self.groups, is_learnt))

    def learnt(self, stage: int, settings: StageSettings) -> RowsLearnt:
        """The same in their fixed order."""
        return _in_order(self.raw(stage, settings))

    def own(self, stage: int) -> RowsLearnt:
        """The rows of the stage itself."""
        return self._in_order(self.stage == stage)

    def next(self, stage: int, settings: StageSettings) -> RowsLearnt | None:
        """The rows of the next stage; with strict groups, those of groups that no earlier row has."""
        if stage + 1 >= self.n_stages:
            return None
        is_next = self.stage == stage + 1
        if settings.strict_groups and self.groups is not None:
            is_next = is_next & ~np.isin(self.groups, self.groups[self.stage <= stage])
        return self._in_order(np.asarray(is_next, np.bool_)) if is_next.any() else None

    def _in_order(self, rows: BoolArray) -> RowsLearnt:
        return _in_order(RowsLearnt(self.table.subset(rows), subset_groups(self.groups, rows)))


def _in_order(rows: RowsLearnt) -> RowsLearnt:
    table, in_order, copies = canonicalize_rows(rows.table, [] if rows.groups is None else [rows.groups])
    return RowsLearnt(table, in_order[0] if in_order else group_copies(table, copies))


# -- A sequence of trees -------------------------------------------------------------------------------------

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
    """A few sentences, the figures of the stages, what changed at each, and the curve of movement weights."""
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
    """What happened to the tree, how far it moved, and how well it predicted the stage after."""
    if len(sequence) == 1:
        return f"One stage, {printable(sequence.labels[0])}: the tree of an ordinary fit."
    return " ".join([_kinds_sentence(sequence), _movement_sentence(sequence), *_forward_sentences(sequence)])


def _kinds_sentence(sequence: StageSequence) -> str:
    first, last = (printable(sequence.labels[place]) for place in (0, -1))
    counts = Counter(sequence.kinds)
    told = [f"{words} {_times(counts[kind])}" for kind, words in KIND_WORDS.items() if counts[kind]]
    return f"{len(sequence)} stages, {first} to {last}: the tree {_and(told)}."


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
    """The figures of the stages, and those of trees retrained at each."""
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
    found = Counter(split.kind for split in splits)
    found["missing"] = sum(split.moves_missing for split in splits)
    told = [
        f"{found[kind]} {one if found[kind] == 1 else many}"
        for kind, (one, many) in SPLIT_WORDS.items()
        if found[kind]
    ]
    if not told:
        told = ["nothing" if stage.kind == SAME else "values of leaves"]
    diff = sequence.diffs[number - 1]
    n_classes = len(other_classes(diff))
    if n_classes:
        each = f"{'each ' if n_classes > 1 else ''}{diff.distance.label_weight:g}"
        told.append(f"{pluralize(n_classes, 'rule')} with another class (distance {each})")
    return ", ".join(told)


def _number(value: float, decimals: int) -> str:
    return "" if isnan(value) else fixed_text(value, decimals)


def _score_text(sequence: StageSequence, stage: Stage) -> str:
    if isnan(stage.forward_score):
        return ""
    value, error = sequence.metric.shown(stage.forward_score), stage.forward_error
    return f"{fixed_text(value, 3)} ± {fixed_text(error, 3)}"


def curve_table(sequence: StageSequence) -> TextTable:
    """One row per movement weight: what the sequence loses, and its total distance."""
    rows = []
    for point in sequence.curve:
        mark = "-> " if point.movement_weight == sequence.settings.weight else ""
        weight = f"{mark}{number_text(point.movement_weight)}"
        rows.append([weight, loss_text(point.loss / len(sequence)), f"{point.movement:.2f}"])
    headings = ["movement weight", "fit lost, mean", "distance, total"]
    return TextTable(headings, rows, title="Fit lost and total distance, by movement weight")


def list_split_changes(sequence: StageSequence) -> Iterator[tuple[str, list[str]]]:
    """For every stage at which a split changed: the split before and after."""
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
