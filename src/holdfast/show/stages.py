"""A sequence of trees: a few sentences, stage by stage, and which rule changed when."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isnan

from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.show.conditions import condition_text
from holdfast.show.diff_phrases import other_classes, outcome_change_text, split_texts
from holdfast.stability.stages.names import SHORTEST_PATH
from holdfast.stability.stages.sequence import (
    CHANGED,
    MOVED,
    NEW_ROOT,
    REFIT,
    SAME,
    Stage,
    StageSequence,
    mean_known,
    total_distance,
)
from holdfast.text.lines import printable
from holdfast.text.numbers import counted, fixed_text, loss_text, number_text
from holdfast.text.table import Table
from holdfast.text.view import Picture, Section, View, legend

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


def stages_view(sequence: StageSequence) -> View:
    """A few sentences, the figures of the stages, what changed at each, and the curve of movement weights."""
    moves, lines = dict(stage_moves(sequence)), []
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


def stages_summary(sequence: StageSequence) -> str:
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


def stage_tables(sequence: StageSequence) -> Iterator[Table]:
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
    yield Table(headings, rows, note=legend(headings, meanings), meanings=meanings)
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
        yield Table(["stage", "distance", "churn", score], rows, title=title, meanings=meanings)


def _changed_text(sequence: StageSequence, number: int) -> str:
    stage = sequence.stages[number]
    if not number:
        return f"first tree: {counted(stage.tree.n_leaves, 'leaf', 'leaves')}"
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
        told.append(f"{counted(n_classes, 'rule')} with another class (distance {each})")
    return ", ".join(told)


def _number(value: float, decimals: int) -> str:
    return "" if isnan(value) else fixed_text(value, decimals)


def _score_text(sequence: StageSequence, stage: Stage) -> str:
    if isnan(stage.forward_score):
        return ""
    value, error = sequence.metric.shown(stage.forward_score), stage.forward_error
    return f"{fixed_text(value, 3)} ± {fixed_text(error, 3)}"


def curve_table(sequence: StageSequence) -> Table:
    """One row per movement weight: what the sequence loses, and its total distance."""
    rows = []
    for point in sequence.curve:
        mark = "-> " if point.movement_weight == sequence.settings.weight else ""
        weight = f"{mark}{number_text(point.movement_weight)}"
        rows.append([weight, loss_text(point.loss / len(sequence)), f"{point.movement:.2f}"])
    headings = ["movement weight", "fit lost, mean", "distance, total"]
    return Table(headings, rows, title="Fit lost and total distance, by movement weight")


def stage_moves(sequence: StageSequence) -> Iterator[tuple[str, list[str]]]:
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
