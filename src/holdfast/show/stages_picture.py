"""A sequence of stages as one SVG picture: a column for each stage, a line for each place of the tree."""

from dataclasses import dataclass
from math import isnan
from xml.sax.saxutils import escape

from holdfast.distance.diff.splits import same_side, split_changes
from holdfast.show.conditions import FULL_LIST, answer_text
from holdfast.show.palette import BLUE, EDGE, GREY, INK, PALETTE, RED, SHADE, lighter
from holdfast.show.svg import (
    MARGIN,
    SMALL,
    TEXT,
    background,
    fitted,
    picture,
    rounded_box,
    text_at,
    text_width,
)
from holdfast.stability.stages.sequence import Stage, StageSequence
from holdfast.text.lines import printable
from holdfast.text.numbers import counted
from holdfast.tree.tree import LEAF, Tree

NARROWEST, WIDEST = 150.0, 280.0  # of the column of a stage
LINE, GAP = 24.0, 8.0  # height of a line, space between stages
INDENT = 9.0  # of a question for every question above it
BARS = 44.0  # height of the longest bar
# What became of the question at a place, its colour and what the legend calls it.
MOVED, OTHER, GONE, SAME = "moved", "other", "gone", "same"
COLOURS = {
    MOVED: (BLUE, "threshold or categories moved"),
    OTHER: (PALETTE[1], "another question, or a new one"),
    GONE: (RED, "no longer asked"),
}


@dataclass(frozen=True)
class Cell:
    """What is asked at one place at one stage."""

    text: str
    state: str
    depth: int  # questions above it

    @property
    def indent(self) -> float:
        """Pixels from the left end of the column."""
        return 4 + INDENT * self.depth


def stages_svg(sequence: StageSequence) -> str:
    """The sequence as the text of an SVG file.

    Every line is a place of the tree, a question below another being indented. What changed since the stage
    before has a colour. The bars below say how far the tree moved.
    """
    columns = _columns(sequence)
    places = sorted({place for column in columns for place in column}, key=lambda place: bin(place)[3:])
    room = _room(columns)
    width = 2 * MARGIN + len(columns) * (room + GAP) - GAP
    heading, top = _heading(sequence, width)
    top += 48
    bottom = top + LINE * max(len(places), 1)
    height = bottom + BARS + 46
    parts = [background(width, height), *heading]
    for number, column in enumerate(columns):
        x = MARGIN + number * (room + GAP)
        parts += _titles(sequence.stages[number], x, top, room)
        for line, place in enumerate(places):
            if place in column:
                parts += _cell(column[place], x, top + LINE * line, room)
        parts += _bar(sequence, number, x, bottom + 12, room)
    return picture(width, height, parts, label=sequence.summary)


def _heading(sequence: StageSequence, width: float) -> tuple[list[str], float]:
    name = fitted(
        f"{printable(sequence.trees[0].schema.target.name)}: what the tree asks", width - 2 * MARGIN
    )
    parts = [text_at(MARGIN, MARGIN + 12, name, size=14, bold=True, anchor="start")]
    x, y = float(MARGIN), MARGIN + 34.0
    for colour, label in COLOURS.values():
        step = 18 + text_width(label, SMALL) + 14
        if x + step > width - MARGIN and x > MARGIN:
            x, y = float(MARGIN), y + 20
        box = rounded_box(x, y - 10, 12, 12, lighter(colour, 0.25), colour, radius=2)
        parts += [box, text_at(x + 18, y, fitted(label, width - 2 * MARGIN - 18), anchor="start")]
        x += step
    return parts, y


def _room(columns: list[dict[int, Cell]]) -> float:
    """The width of a column: what its longest text takes, within limits."""
    cells = [cell for column in columns for cell in column.values()]
    widest = max((cell.indent + text_width(cell.text, TEXT, bold=True) + 6 for cell in cells), default=0.0)
    return min(max(widest, NARROWEST), WIDEST)


def _titles(stage: Stage, x: float, top: float, room: float) -> list[str]:
    return [
        text_at(x + 4, top - 26, fitted(printable(stage.label), room), bold=True, anchor="start"),
        text_at(x + 4, top - 10, counted(stage.n_rows, "row"), colour=GREY, anchor="start"),
        f'<line x1="{x:.1f}" y1="{top - 3:.1f}" x2="{x + room:.1f}" y2="{top - 3:.1f}" stroke="{EDGE}"/>',
    ]


def _cell(cell: Cell, x: float, y: float, room: float) -> list[str]:
    colour = COLOURS[cell.state][0] if cell.state in COLOURS else ""
    box = rounded_box(x, y + 1, room, LINE - 3, lighter(colour, 0.25), radius=4) if colour else ""
    text = fitted(cell.text, room - cell.indent - 4)
    is_new = cell.state in (MOVED, OTHER)
    ink = INK if is_new else GREY
    label = text_at(x + cell.indent, y + 16, text, bold=is_new, colour=ink, anchor="start")
    return ["<g>", f"<title>{escape(cell.text)}</title>", *([box] if box else []), label, "</g>"]


def _bar(sequence: StageSequence, number: int, x: float, y: float, room: float) -> list[str]:
    """How far the tree moved to come here."""
    away = sequence.stages[number].distance
    if isnan(away):
        return [text_at(x + 4, y + BARS + 16, "moved by", colour=GREY, anchor="start")]
    most = max(stage.distance for stage in sequence.stages if not isnan(stage.distance))
    height = BARS * away / most if most > 0 else 0.0
    return [
        rounded_box(x, y, room, BARS, SHADE, radius=4),
        rounded_box(x, y + BARS - height, room, height, lighter(BLUE, 0.5), radius=4),
        text_at(x + (room) / 2, y + BARS + 16, f"{away:.2f}", bold=True),
    ]


# -- places -------------------------------------------------------------------------------------------------


def _columns(sequence: StageSequence) -> list[dict[int, Cell]]:
    """For every stage what is asked at each place: 1 is the top, 2 p and 2 p + 1 stand below p."""
    columns: list[dict[int, Cell]] = []
    before: tuple[Tree, dict[int, int]] | None = None
    for tree in sequence.trees:
        place = _places(tree, before)
        states = dict.fromkeys(place, SAME)
        column: dict[int, Cell] = {}
        if before is not None:
            old, old_place = before
            states |= _states(old, tree)
            taken = {place[node] for node in place if tree.feature[node] != LEAF}
            column = {
                old_place[node]: _asked(old, node, old_place[node], GONE)
                for node in old_place
                if old.feature[node] != LEAF and old_place[node] not in taken
            }
        for node in place:
            if tree.feature[node] != LEAF:
                column[place[node]] = _asked(tree, node, place[node], states[node])
        columns.append(column)
        before = (tree, place)
    return columns


def _asked(tree: Tree, node: int, place: int, state: str) -> Cell:
    return Cell(answer_text(tree, node, True, most=FULL_LIST), state, place.bit_length() - 1)


def _places(tree: Tree, before: tuple[Tree, dict[int, int]] | None) -> dict[int, int]:
    """The place of every node, which stays what it was below a question on the same feature."""
    old_node = {} if before is None else {place: node for node, place in before[1].items()}
    place = {0: 1}
    for node in range(tree.n_nodes):
        if tree.feature[node] == LEAF:
            continue
        own = place[node]
        below = (2 * own, 2 * own + 1)
        match = old_node.get(own)
        if before is not None and match is not None and before[0].feature[match] == tree.feature[node]:
            old, old_place = before
            below = old_place[int(old.left[match])], old_place[int(old.right[match])]
            if not same_side(old, tree, match, node):
                below = below[::-1]
        place[int(tree.left[node])], place[int(tree.right[node])] = below
    return place


def _states(old: Tree, new: Tree) -> dict[int, str]:
    """The nodes of the new tree that ask something else; all below another question do."""
    states: dict[int, str] = {}
    for change in split_changes(old, new):
        if change.is_move:
            states[change.new_node] = MOVED
        else:
            n_below = 2 * change.leaves[1] - 1
            states |= dict.fromkeys(range(change.new_node, change.new_node + n_below), OTHER)
    return states
