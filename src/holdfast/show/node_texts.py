"""What the boxes and branches of a drawn tree say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast.errors import ParameterError
from holdfast.evidence.leaf_evidence import FEW_ROWS
from holdfast.evidence.outcome_at import LeafOutcome, outcome_of_class
from holdfast.show.conditions import shorter_branches
from holdfast.show.directions import direction_signs
from holdfast.show.support_marks import node_marks
from holdfast.text.lines import printable
from holdfast.text.numbers import (
    count_text,
    fixed_text,
    number_text,
    percent_range,
    rounded_percent,
    rows_text,
    told_apart,
)
from holdfast.tree.positive import positive_class
from holdfast.tree.rule import Condition, find_known_values
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import format_class_names, format_leaf_statistic, format_outcome, format_value

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
        return shorter_branches(self.tree, parent, side, self.known, missing=self.missing)

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
            found = outcome_of_class(self.tree, node, int(self.tree.outcome[node]))
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
        return outcome_of_class(self.tree, node, self.positive or 0)

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
            told_apart(low, high)
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
        found = (outcome_of_class(self.tree, leaf, int(self.tree.outcome[leaf])) for leaf in self.leaves)
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
