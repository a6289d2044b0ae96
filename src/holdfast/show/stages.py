"""A sequence of stages: what it says in a few sentences, stage by stage, and which rule moved when."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isnan

from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.show.conditions import condition_text
from holdfast.show.diff_phrases import other_classes, outcome_change_text, split_texts
from holdfast.show.html import bullets, heading, legend, sentences, table, view
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
from holdfast.text.lines import printable, wrapped_lines
from holdfast.text.numbers import counted, fixed_text, loss_text, number_text
from holdfast.text.table import Rows, aligned, table_lines

WIDTH = 100  # letters of a line
# What the tree did from one stage to the next.
KIND_WORDS = {
    SAME: "stayed as it was",
    REFIT: "kept all its questions",
    MOVED: "moved thresholds or categories",
    CHANGED: "changed questions below the first",
    NEW_ROOT: "changed its first question",
}
SPLIT_WORDS = {
    "threshold": ("threshold moved", "thresholds moved"),
    "categories": ("set of categories moved", "sets of categories moved"),
    "missing": ("split sends missing values elsewhere", "splits send missing values elsewhere"),
    "replaced": ("question replaced", "questions replaced"),
    "new": ("new split", "new splits"),
    "gone": ("split gone", "splits gone"),
}


def stages_text(sequence: StageSequence, width: int = WIDTH) -> str:
    """A few sentences, the figures of the stages, what changed at each, and the curve of movement weights."""
    blocks = [wrapped_lines(sequence.summary, width), *_table_blocks(sequence, width)]
    moves = dict(stage_moves(sequence))
    lines = ["What changed at each stage"]
    for number, stage in enumerate(sequence.stages):
        label = printable(stage.label)
        lines += wrapped_lines(f"{label}: {_changed_text(sequence, number)}", width, "  ", "    ")
        for change in moves.get(label, []):
            lines += wrapped_lines(change, width, "    ", "        ")
    blocks.append(lines)
    if sequence.curve:
        blocks.append([CURVE, *(f"  {line}" for line in aligned(curve_rows(sequence)).splitlines())])
    return "\n\n".join("\n".join(lines) for lines in blocks)


def stages_html(sequence: StageSequence) -> str:
    """The same for a notebook or a page, with the picture."""
    parts = [sentences(sequence.summary), table(stage_rows(sequence)), sequence.to_svg()]
    moves = list(stage_moves(sequence))
    if moves:
        parts.append(heading("Which rule moved when"))
    for label, changes in moves:
        parts += [sentences(label), bullets(changes)]
    if sequence.curve:
        parts += [heading(CURVE), table(curve_rows(sequence))]
    return view(*parts)


# -- sentences ----------------------------------------------------------------------------------------------


def stages_summary(sequence: StageSequence) -> str:
    """What happened to the tree, how far it moved, and how well it predicted the stage after."""
    if len(sequence) == 1:
        return f"One stage, {printable(sequence.labels[0])}: the tree is that of an ordinary fit."
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
    text = f"In all it moved by {sequence.total_distance:.2f}"
    if sequence.retrained:
        text += f"; trained again at each stage, by {total_distance(sequence.retrained):.2f}"
    return f"{text}."


def _forward_sentences(sequence: StageSequence) -> Iterator[str]:
    title = sequence.metric.title
    if not isnan(sequence.mean_forward_score):
        text = f"On the stage after its own, its {title} is {_mean_text(sequence, sequence.then)} on average"
        if sequence.retrained:
            text += f"; trained again, {_mean_text(sequence, sequence.retrained)}"
        yield f"{text}."
    if sequence.settings.strategy == SHORTEST_PATH:
        later = ", and may ask what only later stages suggest" if sequence.settings.hindsight else ""
        yield (
            f"The sequence was chosen when all stages were known{later}. Decided stage by stage, with the "
            f"tree in use as it was, it would have moved by {total_distance(sequence.then):.2f}; the scores "
            "on the next stage are of those trees."
        )


def _mean_text(sequence: StageSequence, stages: Sequence[Stage]) -> str:
    score = mean_known([stage.forward_score for stage in stages])
    return fixed_text(sequence.metric.shown(score), 3)


# -- tables -------------------------------------------------------------------------------------------------

HEADINGS = ("stage", "rows", "what changed", "moved by", "fit lost", "churn")
WHAT_CHANGED = HEADINGS.index("what changed")
AGAIN = "trained again: "  # before the headings of trees that know nothing of the stage before
CURVE = "Fit lost and distance moved, by what movement costs"
MEANINGS = {
    "moved by": "distance to the tree of the stage before",
    "churn": "mean change of the predictions from the tree of the stage before",
}


def _table_blocks(sequence: StageSequence, width: int) -> Iterator[list[str]]:
    """The figures of the stages, then those of trees trained again at each, and a legend."""
    rows = [[*row[:WHAT_CHANGED], *row[WHAT_CHANGED + 1 :]] for row in stage_rows(sequence)]
    own = [place for place, title in enumerate(rows[0]) if not title.startswith(AGAIN)]
    yield table_lines([[row[place] for place in own] for row in rows])
    if sequence.retrained:
        again = [0, *(place for place in range(len(rows[0])) if place not in own)]
        told = [[row[place] for place in again] for row in rows]
        told[0] = [title.removeprefix(AGAIN) for title in told[0]]
        yield ["The same, trained again at each stage", *table_lines(told)]
    score = next_score(sequence)
    further = {**MEANINGS, score: f"{sequence.metric.title} on the rows of the next stage, ± standard error"}
    yield wrapped_lines(legend([rows[0][place] for place in own], further), width)


def next_score(sequence: StageSequence) -> str:
    """The heading of the score on the stage after."""
    return f"next {sequence.metric.title}"


def stage_rows(sequence: StageSequence) -> Rows:
    """One row per stage: what changed, how far it moved, and how well it predicts the next stage."""
    score = next_score(sequence)
    again = [f"{AGAIN}{title}" for title in ("moved by", "churn", score)] if sequence.retrained else []
    rows = [[*HEADINGS, score, *again]]
    for number, (stage, then) in enumerate(zip(sequence.stages, sequence.then, strict=True)):
        row = [
            printable(stage.label),
            f"{stage.n_rows:,}",
            _changed_text(sequence, number),
            _number(stage.distance, 2),
            loss_text(stage.loss),
            _number(stage.churn, 3),
            _score_text(sequence, then),
        ]
        if sequence.retrained:
            fresh = sequence.retrained[number]
            row += [_number(fresh.distance, 2), _number(fresh.churn, 3), _score_text(sequence, fresh)]
        rows.append(row)
    return rows


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


def curve_rows(sequence: StageSequence) -> Rows:
    """One row per movement weight: what the sequence loses and moves in all."""
    rows = [["movement weight", "fit lost, mean", "moved by"]]
    for point in sequence.curve:
        mark = "-> " if point.movement_weight == sequence.settings.weight else ""
        weight = f"{mark}{number_text(point.movement_weight)}"
        rows.append([weight, loss_text(point.loss / len(sequence)), f"{point.movement:.2f}"])
    return rows


def stage_moves(sequence: StageSequence) -> Iterator[tuple[str, list[str]]]:
    """For every stage at which a split changed: what was asked, and what is asked now."""
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
