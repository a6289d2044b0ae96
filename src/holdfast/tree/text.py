"""A tree drawn with text: one line per node, the outcomes of the leaves in columns on the right."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from re import sub
from textwrap import wrap
from typing import Any

import numpy as np

from holdfast._text import (
    CUT,
    count_text,
    distinct_texts,
    fixed_text,
    left_out_text,
    number_text,
    percent_range,
    percent_text,
    printable,
    probability_text,
    protect_spaces,
    rounded_percent,
    rows_text,
    shorten,
    wrap_lines,
)
from holdfast._view import format_columns
from holdfast.errors import ParameterError
from holdfast.explain.leaf_evidence import FEW_ROWS, LeafOutcome, class_outcome
from holdfast.tree.rules import (
    Condition,
    find_known_values,
    format_class_names,
    format_leaf_statistic,
    format_outcome,
    format_value,
    fraction_of_rows,
    list_notes,
    list_warnings,
)
from holdfast.tree.rules_text import (
    FULL_LIST,
    branch_text,
    direction_lines,
    direction_signs,
    iterate_shorter_branches,
    node_marks,
    probability_name,
    select_probability,
    split_text,
    support_lines,
    wrap_edits,
)
from holdfast.tree.stats import positive_class
from holdfast.tree.tree import LEAF, Tree

WIDTH = 100  # columns
NARROWEST = 28  # columns of the conditions
WIDEST_INDENT = 45  # columns left of a condition
WIDEST_OUTCOME = 30  # columns of the outcome
MOST_LINES = 3  # of a condition
HANGING = "  "  # before the further lines of a condition
_SET = r"""\{(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^{}])*\}"""  # as a condition lists its categories


def draw_tree(
    tree: Tree, *, missing: bool = False, width: int = WIDTH, whole: str = "rules()", positive: Any = None
) -> str:
    """The tree as indented lines of at most `width` columns, with outcome, probability and rows of each leaf.

    Of two classes the probability is that of the positive one. The drawing takes 60 columns or so, whatever
    the width. `missing=True` also says, at each condition, whether a missing value meets it. A condition
    that is too long for its line goes on in the next ones; a set that is too long for these has a number,
    and is listed below the tree. Of more than 24 categories some are left out, and the last line says that
    `whole` has all of them.
    """
    leaves = np.flatnonzero(tree.feature == LEAF).tolist()
    heading, *cells = _columns(tree, leaves, positive_class(tree, positive))
    sets: dict[str, int] = {}
    stems = _stems(tree, max(width - len(heading) - 2, NARROWEST), missing, sets)
    column = max(len(line) for stem in stems for line in stem)
    lines = [f"{stems[0][0]:{column}}  {heading}"]
    outcomes = dict(zip(leaves, cells, strict=True))
    for node, stem in enumerate(stems):
        if node in outcomes:
            lines += stem[:-1] if node else []
            lines.append(f"{_led(stem[-1], column) if node else 'always':{column}}  {outcomes[node]}")
        elif node:
            lines += stem
    lines += set_lines(sets, width)
    # An indent of more than its columns begins with the sign, too.
    if any(CUT in line[1:] for line in lines):
        lines += ["", *wrap(left_out_text(whole), width)]
    for note in (*list_notes(tree), *direction_lines(tree), *support_lines(tree)):
        lines += wrap(f"Note: {printable(note)}", width)
    first = [line for note in list_warnings(tree) for line in wrap(printable(note), width)]
    return "\n".join([*first, *lines, *wrap_edits(tree, width)])


def _columns(tree: Tree, leaves: list[int], positive: int | None) -> list[str]:
    """A heading and one line per leaf, in columns."""
    target = tree.schema.target
    is_classes = target.is_classes
    words = format_leaf_statistic(tree)
    name = f"{words} of {printable(target.name)}" if words else printable(target.name)
    rows = [[name, probability_name(target, positive), "rows", "of all"]]
    for leaf in leaves:
        of_class = ""
        if is_classes:
            of_class = probability_text(
                select_probability(tree.value[leaf], positive, int(tree.outcome[leaf]))
            )
        support = [count_text(float(tree.count[leaf])), percent_text(fraction_of_rows(tree, leaf))]
        said = format_outcome(tree, leaf) if is_classes else format_value(tree, leaf)
        rows.append([said, of_class, *support])
    if not is_classes:
        rows = [[outcome, *support] for outcome, _, *support in rows]
    columns = [[shorten(cell, WIDEST_OUTCOME) for cell in column] for column in zip(*rows, strict=True)]
    # Classes read from the left, and so do probabilities: 0.999 and 0.99 line up at the point.
    return format_columns(list(zip(*columns, strict=True)), sides="<<>>" if is_classes else ">>>")


def _stems(tree: Tree, width: int, missing: bool, sets: dict[str, int]) -> list[list[str]]:
    """For every node: the guide lines down to it, and the condition that leads to it, in lines."""
    # Deep trees get narrower steps, so that conditions keep room to be read.
    dashes = "─" * max(0, min(2, WIDEST_INDENT // max(tree.depth, 1) - 1))
    known, marks = find_known_values(tree), node_marks(tree, at_answers=True)
    stems, indents = [[rows_text(float(tree.count[0])) + marks.get(0, "")]], [""]
    for node in range(1, tree.n_nodes):
        parent = int(tree.parent[node])
        side = bool(tree.left[parent] == node)
        start = indents[parent] + ("├" if side else "└") + dashes.replace("──", "─ ")
        # Only the end can show: whole indents of a deep tree would fill the memory.
        indents.append((indents[parent] + ("│" if side else " ") + " " * len(dashes))[-WIDEST_INDENT:])
        if tree.node_depth[node] * (1 + len(dashes)) > WIDEST_INDENT:
            start = f"{CUT}{start[1 - WIDEST_INDENT :]}"
        mark = marks.get(node, "")
        room = width - len(start) - len(mark)
        first, *more = condition_lines(tree, parent, side, known, room, sets, missing=missing)
        stem = [start + first, *(f"{indents[node][: len(start)]:{len(start)}}{line}" for line in more)]
        stems.append([*stem[:-1], stem[-1] + mark])
    return stems


def condition_lines(
    tree: Tree,
    node: int,
    side: bool,
    known: Mapping[int, Condition],
    width: int,
    sets: dict[str, int],
    *,
    missing: bool = False,
    is_question: bool = False,
) -> list[str]:
    """The answer to the question of a node in lines of at most `width` letters.

    With `is_question` it is told as in `split_text`.
    The numbers of rows give way before a line is broken. Sets that would take more than a few lines are
    told by their numbers in `sets`, where new ones are added.
    """
    told = partial(split_text, tree, node) if is_question else partial(branch_text, tree, node, side)
    texts = [told(missing=missing, counts=counts, most=FULL_LIST, known=known) for counts in (True, False)]
    for text in texts:
        if len(text) <= width:
            return [text]
    for text in (protect_spaces(texts[1]), texts[1]):
        if lines := _few_lines(text, width):
            return lines
    numbered = sub(_SET, lambda found: f"set {sets.setdefault(found[0], len(sets) + 1)}", texts[1])
    return _few_lines(numbered, width) or [shorten(numbered, width)]


def _few_lines(text: str, width: int) -> list[str]:
    """The text in lines that no word is longer than; none if these are too many."""
    if max(map(len, text.split(" "))) > width - len(HANGING):
        return []
    lines = wrap_lines(text, width, rest=HANGING)
    return lines if len(lines) <= MOST_LINES else []


def set_lines(sets: Mapping[str, int], width: int) -> list[str]:
    """The sets that a drawing tells by their numbers, in full, after an empty line."""
    listed = (wrap_lines(f"set {number}: {text}", width, rest="    ") for text, number in sets.items())
    return ["", *(line for lines in listed for line in lines)] if sets else []


def _led(stem: str, width: int) -> str:
    """The stem with dots that lead the eye to the outcome."""
    return f"{stem} ".ljust(width, "·") if len(stem) < width else stem


# -- What the boxes and branches of a drawn tree say ---------------------------------------------------------

MOST_DECIMALS = 6
FEW = "few rows"


@dataclass(frozen=True, eq=False)
class NodeTexts:
    """The texts of a drawn tree, and how they are told."""

    tree: Tree
    positive: int | None  # the class whose probability is told, where there are two
    decimals: int | None  # of percentages and means; None: as few as tell them apart
    missing: bool  # say on the branches which way missing values go
    changed: Mapping[int, str]  # what is said of a node that changed, such as "was 45"
    beside: tuple[Tree, ...] = ()  # trees drawn beside it, whose colours mean the same

    @classmethod
    def of(
        cls,
        tree: Tree,
        *,
        positive: Any = None,
        decimals: int | None = None,
        missing: bool = False,
        changed: Mapping[int, str] | None = None,
        beside: Sequence[Tree] = (),
    ) -> "NodeTexts":
        """The texts as they are asked for; a ParameterError names what cannot be had."""
        if decimals is not None and not (
            isinstance(decimals, int) and not isinstance(decimals, bool) and 0 <= decimals <= MOST_DECIMALS
        ):
            raise ParameterError(
                f"decimals={decimals!r}: give an integer from 0 to {MOST_DECIMALS}, or None."
            )
        for node in changed or {}:
            if node not in range(tree.n_nodes):
                raise ParameterError(
                    f"changed speaks of node {node!r}: the nodes of the tree are 0 to {tree.n_nodes - 1}."
                )
        if any(other.schema.target.classes != tree.schema.target.classes for other in beside):
            raise ParameterError("beside holds a tree with another target: one scale of colours needs one.")
        texts = {int(node): printable(str(text)) for node, text in (changed or {}).items()}
        return cls(tree, positive_class(tree, positive), decimals, missing, texts, tuple(beside))

    @cached_property
    def marks(self) -> Mapping[int, str]:
        """The marks of nodes that were edited by hand, and of splits of low support."""
        return node_marks(self.tree, at_answers=False)

    @cached_property
    def signs(self) -> Mapping[str, str]:
        """What stands beside the columns along which the values go one way."""
        return direction_signs(self.tree)

    @cached_property
    def known(self) -> Mapping[int, Condition]:
        """What of its feature can reach each node that asks about one again."""
        return find_known_values(self.tree)

    # -- inner nodes ------------------------------------------------------------------------------------

    def feature(self, node: int) -> str:
        """What the node asks about, and which way the values go along it where that is promised."""
        name = printable(self.tree.schema.names[self.tree.feature[node]])
        sign = self.signs.get(self.tree.schema.names[self.tree.feature[node]], "")
        return f"{name} {sign}" if sign else name

    def inner_support(self, node: int) -> str:
        """The rows of an inner node, and the risk or the mean in it."""
        rows = rows_text(float(self.tree.count[node]))
        if self.tree.schema.target.is_classes and self.positive is None:
            return rows
        return f"{rows} · {self.large(node)}"

    def branches(self, node: int) -> Iterator[str]:
        """The condition that leads to the node, with ever fewer of its categories."""
        parent = int(self.tree.parent[node])
        side = bool(self.tree.left[parent] == node)
        return iterate_shorter_branches(self.tree, parent, side, self.known, missing=self.missing)

    # -- leaves -----------------------------------------------------------------------------------------

    def large(self, node: int) -> str:
        """What matters most: the risk of two classes, the class of more, or the mean."""
        if self.positive is not None:
            return self._percent(float(self.tree.value[node, self.positive]))
        if self.tree.schema.target.is_classes:
            return format_outcome(self.tree, node)
        if self.decimals is None:
            return format_value(self.tree, node)
        return fixed_text(float(self.tree.value[node, 0]), self.decimals)

    def said(self, node: int) -> str:
        """The decision of a leaf, apart from the risk that stands above it; the name of a quantile."""
        if self.positive is not None:
            return f"predicts {format_outcome(self.tree, node)}"
        return format_leaf_statistic(self.tree)

    def support(self, node: int) -> tuple[str, ...]:
        """What stands behind a leaf: its rows, what they were where that is not the estimate, the interval.

        A leaf of less than a dozen rows says so.
        """
        few = (FEW,) if 0 < self.tree.count[node] < FEW_ROWS else ()
        return (*self._support(node), *few)

    def _support(self, node: int) -> tuple[str, ...]:
        rows = rows_text(float(self.tree.count[node]))
        if self.tree.schema.target.is_classes and self.positive is None:
            found = class_outcome(self.tree, node, int(self.tree.outcome[node]))
            own = f"{self._percent(found.estimate)} · {rows}"
            if found.is_as_observed or found.observed is None:
                return (own,)
            seen = f"{_rows(found.count or 0.0)} of {_rows(found.n_rows)}"
            return (own, f"observed: {seen}, {self._percent(found.observed)}")
        found = self.outcome(node)
        if found.observed is None:
            return (rows,)
        if found.count is not None:
            rows = f"{_rows(found.count)} of {_rows(found.n_rows)}"
        if not found.is_as_observed:
            observed = self._percent if found.count is not None else self._mean
            rows = f"{rows}{' by weight' if found.is_weighted else ''}: {observed(found.observed)}"
        interval = self.interval(node)
        return (rows, interval) if interval else (rows,)

    def outcome(self, node: int) -> LeafOutcome:
        """What a node predicts of the positive class, or of the number, and what its rows were."""
        return class_outcome(self.tree, node, self.positive or 0)

    def interval(self, node: int) -> str:
        """The 95 % interval of a rate or a mean; nothing where there are too few rows."""
        ends = self.outcome(node).interval
        if ends is None:
            return ""
        if not self.tree.schema.target.is_classes:
            return self._means_between(*ends)
        if self.decimals is None:
            return percent_range(*ends).replace(" to ", "\u2013")
        decimals = self.decimals
        return "\u2013".join(f"{100 * end:.{decimals}f}" for end in ends) + " %"

    def _means_between(self, low: float, high: float) -> str:
        texts = (
            distinct_texts(low, high)
            if self.decimals is None
            else [fixed_text(end, self.decimals) for end in (low, high)]
        )
        return " to ".join(texts)

    def _mean(self, value: float) -> str:
        return number_text(value, 4) if self.decimals is None else fixed_text(value, self.decimals)

    def key(self) -> str:
        """What the numbers in the leaves are; nothing where they speak for themselves."""
        if not self.tree.schema.target.is_classes:
            name = printable(self.tree.schema.target.name)
            if words := format_leaf_statistic(self.tree):
                return f"In a leaf: the {words} of {name}, and its rows."
            if self._is_as_observed:
                return f"In a leaf: the mean of {name}, its rows, and the 95 % interval of the mean."
            of = "estimate" if self._is_about_estimate else "mean of the rows"
            return (
                f"In a leaf: the tree's estimate of {name}, its rows with their mean where that is another, "
                f"and the 95 % interval of the {of}."
            )
        if self.positive is None:
            return (
                ""
                if self._is_class_as_observed
                else (
                    "In a leaf: the predicted class, the tree's estimate of its probability, the rows, and "
                    "how many of them were of that class."
                )
            )
        name = format_class_names(self.tree.schema.target)[self.positive]
        own = "" if self._is_as_observed else "the tree's estimate of "
        of = "the estimate" if self._is_about_estimate and own else "that rate"
        return (
            f"In a leaf: {own}the probability of {name}, the predicted class, how many rows were {name}, "
            f"and the 95 % interval of {of}."
        )

    @property
    def _is_as_observed(self) -> bool:
        return all(self.outcome(leaf).is_as_observed for leaf in self.leaves)

    @property
    def _is_about_estimate(self) -> bool:
        return any(self.outcome(leaf).is_about_estimate for leaf in self.leaves)

    @property
    def _is_class_as_observed(self) -> bool:
        """The same for the predicted class of each leaf."""
        found = (class_outcome(self.tree, leaf, int(self.tree.outcome[leaf])) for leaf in self.leaves)
        return all(each.is_as_observed for each in found)

    def _percent(self, fraction: float) -> str:
        if self.decimals is None:
            return rounded_percent(fraction)
        return f"{100 * fraction:.{self.decimals}f} %"

    @property
    def leaves(self) -> list[int]:
        """The nodes that are leaves."""
        return [node for node in range(self.tree.n_nodes) if self.tree.feature[node] == LEAF]


def _rows(count: float) -> str:
    """A number of rows; to one decimal where it was worked out from fractions."""
    return count_text(round(count)) if abs(count - round(count)) < 1e-3 else number_text(round(count, 1))


# -- A tree for those who edit it ----------------------------------------------------------------------------


def draw_numbered_tree(
    tree: Tree, *, missing: bool = False, width: int = WIDTH, whole: str = "rules()", positive: Any = None
) -> str:
    """The nodes in their order, indented, each with its number: an inner node asks, and a leaf says.

    `missing=True` also says at each question whether a missing value goes to yes.
    """
    known, marks = find_known_values(tree), node_marks(tree, at_answers=False)
    place = positive_class(tree, positive)
    digits = len(str(tree.n_nodes - 1))
    sets: dict[str, int] = {}
    lines = []
    for node, indent in enumerate(_indents(tree)):
        start = f"{node:>{digits}}  {indent}"
        if tree.feature[node] == LEAF:
            told = [_leaf_text(tree, node, place)]
        else:
            room = max(width - len(start) - 1, NARROWEST)
            told = condition_lines(tree, node, True, known, room, sets, missing=missing, is_question=True)
            told[-1] += "?"
        told[-1] += marks.get(node, "")
        lines += [start + told[0], *(" " * len(start) + line for line in told[1:])]
    lines += set_lines(sets, width)
    if any(CUT in line for line in lines):
        lines += ["", *wrap(left_out_text(whole), width)]
    for note in (*list_notes(tree), *direction_lines(tree), *support_lines(tree)):
        lines += wrap(f"Note: {printable(note)}", width)
    first = [line for note in list_warnings(tree) for line in wrap(printable(note), width)]
    return "\n".join([*first, *lines, *wrap_edits(tree, width)])


def _indents(tree: Tree) -> list[str]:
    """What stands before each node: as wide as it is deep, and whether one comes to it by yes or by no."""
    step = max(1, min(4, WIDEST_INDENT // max(tree.depth, 1)))
    depth = tree.node_depth.tolist()
    indents = [""]
    for node in range(1, tree.n_nodes):
        way = "yes: " if tree.left[tree.parent[node]] == node else "no:  "
        indents.append(" " * min(step * (depth[node] - 1), WIDEST_INDENT) + way)
    return indents


def _leaf_text(tree: Tree, node: int, positive: int | None) -> str:
    value, target = format_outcome(tree, node), tree.schema.target
    if target.is_classes:
        probability = probability_text(
            select_probability(tree.value[node], positive, int(tree.outcome[node]))
        )
        value = f"{value}, {probability_name(target, positive)} = {probability}"
    return f"{printable(target.name)} = {value}, {rows_text(float(tree.count[node]))}"
