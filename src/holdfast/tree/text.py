"""Trees drawn as text, and the texts of the nodes in pictures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from re import sub
from textwrap import wrap
from typing import Any

import numpy as np

from holdfast._check import check_integer
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
from holdfast.data.survival import join_value, survive_horizon
from holdfast.errors import ParameterError
from holdfast.tree.leaf_evidence import FEW_ROWS, LeafOutcome, class_outcome
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
from holdfast.tree.survival import (
    events_text,
    is_counted,
    median_text,
    node_survival,
    risk_text,
    survival_lines,
    survival_text,
)
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
    """Draw a tree with one line per node, and prediction, probability and rows of each leaf in columns.

    With two classes the probability is that of the positive one. The drawing needs about 60 columns even if
    `width` is less. `missing=True` adds missing values to every condition that allows them. Long conditions
    are wrapped; a set that does not fit into a few lines is numbered and listed below the tree. Lists of more
    than 24 categories are truncated, and the last line refers to `whole` for all of them.
    """
    leaves = np.flatnonzero(tree.feature == LEAF).tolist()
    heading, *cells = _columns(tree, leaves, positive_class(tree, positive))
    sets: dict[str, int] = {}
    stems = _draw_branches(tree, max(width - len(heading) - 2, NARROWEST), missing, sets)
    column = max(len(line) for stem in stems for line in stem)
    lines = [f"{stems[0][0]:{column}}  {heading}"]
    outcomes = dict(zip(leaves, cells, strict=True))
    for node, stem in enumerate(stems):
        if node in outcomes:
            lines += stem[:-1] if node else []
            lines.append(f"{_add_dots(stem[-1], column) if node else 'always':{column}}  {outcomes[node]}")
        elif node:
            lines += stem
    return _join_with_notes(tree, lines, sets, width, whole)


def _join_with_notes(tree: Tree, lines: list[str], sets: Mapping[str, int], width: int, whole: str) -> str:
    """Put warnings before the lines of a drawing, and sets, notes and edits below."""
    lines += [""] * bool(sets)
    for text, number in sets.items():
        lines += wrap_lines(f"set {number}: {text}", width, rest="    ")
    # The indents of deep nodes begin with the same sign.
    if any(CUT in line[1:] for line in lines):
        lines += ["", *wrap(left_out_text(whole), width)]
    for note in (*list_notes(tree), *direction_lines(tree), *survival_lines(tree), *support_lines(tree)):
        lines += wrap(f"Note: {printable(note)}", width)
    first = [line for note in list_warnings(tree) for line in wrap(printable(note), width)]
    return "\n".join([*first, *lines, *wrap_edits(tree, width)])


def _columns(tree: Tree, leaves: list[int], positive: int | None) -> list[str]:
    """Return the heading and one line per leaf, in columns."""
    target = tree.schema.target
    if target.is_survival:
        return _survival_columns(tree, leaves)
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
        outcome = format_outcome(tree, leaf) if is_classes else format_value(tree, leaf)
        rows.append([outcome, of_class, *support])
    if not is_classes:
        rows = [[outcome, *support] for outcome, _, *support in rows]
    columns = [[shorten(cell, WIDEST_OUTCOME) for cell in column] for column in zip(*rows, strict=True)]
    # Classes and probabilities are aligned on the left, so that 0.999 and 0.99 line up at the point.
    return format_columns(list(zip(*columns, strict=True)), sides="<<>>" if is_classes else ">>>")


def _survival_columns(tree: Tree, leaves: list[int]) -> list[str]:
    """Return the heading and one line per leaf: survival, risk, events, and the median where there is one."""
    known = [node_survival(tree, leaf) for leaf in leaves]
    events = "events" if all(map(is_counted, known)) else "events by weight"
    rows = [[format_leaf_statistic(tree), "risk", events, "median"]]
    for found in known:
        events = events_text(found, in_words=False)
        rows.append([survival_text(found), risk_text(found.risk), events, median_text(tree, found)])
    kept = 4 if any(row[3] for row in rows[1:]) else 3
    return format_columns([row[:kept] for row in rows], sides="<>>>"[:kept])


def _draw_branches(tree: Tree, width: int, missing: bool, sets: dict[str, int]) -> list[list[str]]:
    """Return for every node its guide lines and the condition that leads to it, in lines."""
    # Deep trees get narrower steps, so that the conditions have enough space.
    dashes = "─" * max(0, min(2, WIDEST_INDENT // max(tree.depth, 1) - 1))
    known, marks = find_known_values(tree), node_marks(tree, at_branches=True)
    stems, indents = [[rows_text(float(tree.count[0])) + marks.get(0, "")]], [""]
    for node in range(1, tree.n_nodes):
        parent = int(tree.parent[node])
        side = bool(tree.left[parent] == node)
        start = indents[parent] + ("├" if side else "└") + dashes.replace("──", "─ ")
        # Only the end is shown: full indents of a deep tree would fill the memory.
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
    as_split: bool = False,
) -> list[str]:
    """Format the condition of a branch, or the whole split, in lines of at most `width` letters.

    Numbers of rows are left out before a line is wrapped. Sets that need more than a few lines are numbered
    and added to `sets`.
    """
    format_condition = partial(split_text, tree, node) if as_split else partial(branch_text, tree, node, side)
    texts = [
        format_condition(missing=missing, counts=counts, most=FULL_LIST, known=known)
        for counts in (True, False)
    ]
    for text in texts:
        if len(text) <= width:
            return [text]
    for text in (protect_spaces(texts[1]), texts[1]):
        if lines := _few_lines(text, width):
            return lines
    numbered = sub(_SET, lambda match: f"set {sets.setdefault(match[0], len(sets) + 1)}", texts[1])
    return _few_lines(numbered, width) or [shorten(numbered, width)]


def _few_lines(text: str, width: int) -> list[str]:
    """Wrap the text; empty if it needs too many lines or has a word that is too long."""
    if max(map(len, text.split(" "))) > width - len(HANGING):
        return []
    lines = wrap_lines(text, width, rest=HANGING)
    return lines if len(lines) <= MOST_LINES else []


def _add_dots(stem: str, width: int) -> str:
    """Fill the line up to the columns with dots."""
    return f"{stem} ".ljust(width, "·") if len(stem) < width else stem


# -- Texts of the nodes in pictures --------------------------------------------------------------------------

MOST_DECIMALS = 6
FEW = "few rows"


@dataclass(frozen=True, eq=False)
class NodeTexts:
    """The texts of the nodes of a tree in pictures."""

    tree: Tree
    positive: int | None  # the class whose probability is shown; None unless there are two
    decimals: int | None  # of percentages and means; None: as few as distinguish them
    missing: bool  # show on the branches where missing values go
    changed: Mapping[int, str]  # remarks on changed nodes, such as "was 45"
    beside: tuple[Tree, ...] = ()  # trees drawn beside it with the same colour scale

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
        """Check the options and make the texts."""
        check_integer("decimals", decimals, 0, MOST_DECIMALS, none_ok=True)
        for node in changed or {}:
            if node not in range(tree.n_nodes):
                raise ParameterError(
                    f"changed names node {node!r}: the nodes of the tree are 0 to {tree.n_nodes - 1}."
                )
        if any(other.schema.target.classes != tree.schema.target.classes for other in beside):
            raise ParameterError("beside must hold trees with the same classes: they share a colour scale.")
        texts = {int(node): printable(str(text)) for node, text in (changed or {}).items()}
        return cls(tree, positive_class(tree, positive), decimals, missing, texts, tuple(beside))

    @cached_property
    def marks(self) -> Mapping[int, str]:
        """Marks of edited nodes and of splits with low support."""
        return node_marks(self.tree, at_branches=False)

    @cached_property
    def signs(self) -> Mapping[str, str]:
        """Signs of the monotone columns."""
        return direction_signs(self.tree)

    @cached_property
    def known(self) -> Mapping[int, Condition]:
        """Known values that reach each node that splits on a feature again."""
        return find_known_values(self.tree)

    # -- inner nodes ------------------------------------------------------------------------------------

    def feature(self, node: int) -> str:
        """Format the feature of the node, with its sign if it is monotone."""
        name = printable(self.tree.schema.names[self.tree.feature[node]])
        sign = self.signs.get(self.tree.schema.names[self.tree.feature[node]], "")
        return f"{name} {sign}" if sign else name

    def inner_support(self, node: int) -> str:
        """Format the rows of an inner node, and its risk or mean."""
        rows = rows_text(float(self.tree.count[node]))
        if self.tree.schema.target.is_classes and self.positive is None:
            return rows
        return f"{rows} · {self.large(node)}"

    def branches(self, node: int) -> Iterator[str]:
        """Iterate over shorter and shorter texts of the condition that leads to the node."""
        parent = int(self.tree.parent[node])
        side = bool(self.tree.left[parent] == node)
        return iterate_shorter_branches(self.tree, parent, side, self.known, missing=self.missing)

    # -- leaves -----------------------------------------------------------------------------------------

    def large(self, node: int) -> str:
        """Format the main line of a leaf: the risk for two classes, the class for more, or the mean."""
        if self.positive is not None:
            return self._percent(float(self.tree.value[node, self.positive]))
        if self.tree.schema.target.is_classes:
            return format_outcome(self.tree, node)
        if self.tree.schema.target.hazard is not None:
            risk = float(self.tree.value[node, 0])
            return self._percent(survive_horizon(self.tree.schema.target.hazard, risk))
        if self.decimals is None:
            return format_value(self.tree, node)
        return fixed_text(float(self.tree.value[node, 0]), self.decimals)

    def second_line(self, node: int) -> str:
        """Format the predicted class below a probability, the risk below survival, or name a quantile."""
        if self.positive is not None:
            return f"predicts {format_outcome(self.tree, node)}"
        if self.tree.schema.target.is_survival:
            return f"risk {risk_text(float(self.tree.value[node, 0]))}"
        return format_leaf_statistic(self.tree)

    def support(self, node: int) -> tuple[str, ...]:
        """Format the support of a leaf: rows, observed rate, interval, and a remark on few rows."""
        few = (FEW,) if 0 < self.tree.count[node] < FEW_ROWS else ()
        return (*self._support(node), *few)

    def _support(self, node: int) -> tuple[str, ...]:
        rows = rows_text(float(self.tree.count[node]))
        if self.tree.schema.target.is_survival:
            found = node_survival(self.tree, node)
            if not found.n_rows:
                return (rows,)
            own = f"observed {self._percent(found.observed or 0.0)}, " if found.is_outside else ""
            ends = "" if found.interval is None else f"{own}{self._percent_range(*found.interval)}"
            return tuple(filter(None, (events_text(found), ends)))
        if self.tree.schema.target.is_classes and self.positive is None:
            outcome = class_outcome(self.tree, node, int(self.tree.outcome[node]))
            own = f"{self._percent(outcome.estimate)} · {rows}"
            if outcome.is_as_observed or outcome.observed is None:
                return (own,)
            counts = f"{_format_rows(outcome.count or 0.0)} of {_format_rows(outcome.n_rows)}"
            return (own, f"observed: {counts}, {self._percent(outcome.observed)}")
        outcome = self.outcome(node)
        if outcome.observed is None:
            return (rows,)
        if outcome.count is not None:
            rows = f"{_format_rows(outcome.count)} of {_format_rows(outcome.n_rows)}"
        if not outcome.is_as_observed:
            observed = self._percent if outcome.count is not None else self._mean
            rows = f"{rows}{' by weight' if outcome.is_weighted else ''}: {observed(outcome.observed)}"
        interval = self.interval(node)
        return (rows, interval) if interval else (rows,)

    def outcome(self, node: int) -> LeafOutcome:
        """Prediction and observed rows of a node, for the positive class or the number."""
        return class_outcome(self.tree, node, self.positive or 0)

    def interval(self, node: int) -> str:
        """Format the 95 % interval of a rate or a mean; empty with too few rows."""
        ends = self.outcome(node).interval
        if ends is None:
            return ""
        if not self.tree.schema.target.is_classes:
            return self._mean_range(*ends)
        return self._percent_range(*ends)

    def _percent_range(self, low: float, high: float) -> str:
        if self.decimals is None:
            return percent_range(low, high).replace(" to ", "\u2013")
        decimals = self.decimals
        return "\u2013".join(f"{100 * end:.{decimals}f}" for end in (low, high)) + " %"

    def _mean_range(self, low: float, high: float) -> str:
        texts = (
            distinct_texts(low, high)
            if self.decimals is None
            else [fixed_text(end, self.decimals) for end in (low, high)]
        )
        return " to ".join(texts)

    def _mean(self, value: float) -> str:
        return number_text(value, 4) if self.decimals is None else fixed_text(value, self.decimals)

    def key(self) -> str:
        """Explain the numbers in the leaves; empty if they need no explanation."""
        if not self.tree.schema.target.is_classes:
            name = printable(self.tree.schema.target.name)
            if self.tree.schema.target.is_survival:
                return self._survival_key()
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
            f"In a leaf: {own}the probability of {name}, the predicted class, the number of rows with {name} "
            f"and of all rows, and the 95 % interval of {of}."
        )

    def _survival_key(self) -> str:
        shown = [node_survival(self.tree, leaf) for leaf in self.leaves]
        interval = (
            ", the 95 % interval of the observed survival" if any(each.interval for each in shown) else ""
        )
        curves = (
            "; the dark curve is the observed survival up to the horizon (Kaplan-Meier), the blue one the "
            "predicted survival"
            if self.tree.curves is not None
            else ""
        )
        return (
            f"In a leaf: the predicted {format_leaf_statistic(self.tree)}, the risk relative to all rows, "
            f"events and rows{interval}{curves}."
        )

    @property
    def _is_as_observed(self) -> bool:
        return all(self.outcome(leaf).is_as_observed for leaf in self.leaves)

    @property
    def _is_about_estimate(self) -> bool:
        return any(self.outcome(leaf).is_about_estimate for leaf in self.leaves)

    @property
    def _is_class_as_observed(self) -> bool:
        """True if the predicted class of each leaf has its observed rate."""
        outcomes = (class_outcome(self.tree, leaf, int(self.tree.outcome[leaf])) for leaf in self.leaves)
        return all(each.is_as_observed for each in outcomes)

    def _percent(self, fraction: float) -> str:
        if self.decimals is None:
            return rounded_percent(fraction)
        return f"{100 * fraction:.{self.decimals}f} %"

    @property
    def leaves(self) -> list[int]:
        """List the leaves."""
        return [node for node in range(self.tree.n_nodes) if self.tree.feature[node] == LEAF]


def _format_rows(count: float) -> str:
    """Format a number of rows, with one decimal if it was computed from fractions."""
    return count_text(round(count)) if abs(count - round(count)) < 1e-3 else number_text(round(count, 1))


# -- Trees with numbered nodes -------------------------------------------------------------------------------


def draw_numbered_tree(
    tree: Tree, *, missing: bool = False, width: int = WIDTH, whole: str = "rules()", positive: Any = None
) -> str:
    """List the nodes in order, indented, each with its number and its split or prediction.

    `missing=True` adds missing values to every split that sends them to yes.
    """
    known, marks = find_known_values(tree), node_marks(tree, at_branches=False)
    place = positive_class(tree, positive)
    digits = len(str(tree.n_nodes - 1))
    sets: dict[str, int] = {}
    lines = []
    for node, indent in enumerate(_indents(tree)):
        start = f"{node:>{digits}}  {indent}"
        if tree.feature[node] == LEAF:
            text = [_leaf_text(tree, node, place)]
        else:
            room = max(width - len(start) - 1, NARROWEST)
            text = condition_lines(tree, node, True, known, room, sets, missing=missing, as_split=True)
            text[-1] += "?"
        text[-1] += marks.get(node, "")
        lines += [start + text[0], *(" " * len(start) + line for line in text[1:])]
    return _join_with_notes(tree, lines, sets, width, whole)


def _indents(tree: Tree) -> list[str]:
    """Return the indent of each node by depth, with the branch that leads to it: yes or no."""
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
    if target.is_survival:
        found = node_survival(tree, node)
        own = join_value(format_leaf_statistic(tree), survival_text(found))
        return f"{own}, risk {risk_text(found.risk)}, {events_text(found)}"
    return f"{printable(target.name)} = {value}, {rows_text(float(tree.count[node]))}"
