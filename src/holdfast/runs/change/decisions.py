"""What is done with answers: who is acted on before a change and after it, and who crosses the line."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray
from holdfast.data.schema import Target
from holdfast.errors import AboutError
from holdfast.scoring.metric import TrueValues
from holdfast.text.lines import label_text
from holdfast.text.lists import listed
from holdfast.tree.positive import positive_class
from holdfast.tree.tree import Tree


@dataclass(frozen=True)
class Decision:
    """Who is acted on: those with the class that matters, or with enough of its probability, or of a number.

    Without a class that matters, and without a threshold, what is decided is the class itself.
    """

    place: int | None  # number of the class that matters
    threshold: float | None

    @property
    def has_sides(self) -> bool:
        """True if some are acted on and others not."""
        return self.place is not None or self.threshold is not None

    def answers(self, tree: Tree, leaf: IntArray) -> FloatArray:
        """The probability that matters, or the number; of several classes, that of the predicted one."""
        if not tree.schema.target.is_classes:
            return np.asarray(tree.value[leaf, 0], np.float64)
        column = tree.outcome[leaf] if self.place is None else self.place
        return np.asarray(tree.value[leaf, column], np.float64)

    def decided(self, tree: Tree, leaf: IntArray) -> IntArray:
        """1 for those who are acted on and else 0; or the number of the class; 0 for all where none is."""
        if self.threshold is not None:
            return (self.answers(tree, leaf) >= self.threshold).astype(np.int32)
        if not tree.schema.target.is_classes:
            return np.zeros(len(leaf), np.int32)
        outcome = np.asarray(tree.outcome[leaf], np.int32)
        return outcome if self.place is None else (outcome == self.place).astype(np.int32)

    def right(self, truth: TrueValues) -> IntArray:
        """What would have been decided by who knew what came true."""
        if not truth.target.is_classes:
            return (truth.values >= (self.threshold or 0.0)).astype(np.int32)
        values = truth.values.astype(np.int32)
        return values if self.place is None else (values == self.place).astype(np.int32)


def decision_of(tree: Tree, positive: str | None, threshold: float | None) -> Decision:
    """The decision that is stated about a model, by default for its positive class."""
    target = tree.schema.target
    if positive is not None and not target.is_classes:
        raise AboutError(f"The line positive is {positive!r}, and {target.name!r} is a number: leave it out.")
    if threshold is not None and target.is_classes and not 0 < threshold <= 1:
        raise AboutError(
            f"The line decision_threshold is {threshold:g}, and is held against a probability: give a number "
            "above 0 and at most 1."
        )
    place = positive_class(tree) if positive is None else _place(target, positive)
    if threshold is not None and target.is_classes and place is None:
        raise AboutError(
            f"The line decision_threshold is {threshold:g}, and {target.name!r} has "
            f"{len(target.classes)} classes: say by the line positive whose probability it is held against."
        )
    return Decision(place, threshold)


def _place(target: Target, positive: str) -> int:
    names = [label_text(label) for label in target.classes]
    if positive not in names:
        raise AboutError(
            f"The line positive is {positive!r}, which is no class of {target.name!r}: choose of "
            f"{listed(names)}."
        )
    return names.index(positive)


@dataclass(frozen=True, eq=False)
class Decided:
    """What is decided for some rows by two trees, and what came true of them."""

    decision: Decision
    before: IntArray
    after: IntArray
    right: IntArray
    weight: FloatArray

    def facts(self, rows: BoolArray) -> dict[str, Any]:
        """Of these rows, how many are decided otherwise, which way, and whether that was right."""
        changed = self.before != self.after
        was_right, is_right = self.before == self.right, self.after == self.right
        counted = rows & (self.weight > 0)
        found = {
            "changed": self._part(counted & changed, counted),
            "negative_flips": self._part(counted & was_right & ~is_right, counted),
            "positive_flips": self._part(counted & ~was_right & is_right, counted),
        }
        if self.decision.has_sides:
            found |= {
                "acted_on_before": self._part(counted & (self.before == 1), counted),
                "acted_on_after": self._part(counted & (self.after == 1), counted),
                "swap_ins": self._part(counted & changed & (self.after == 1), counted),
                "swap_outs": self._part(counted & changed & (self.before == 1), counted),
            }
        return found

    def _part(self, part: BoolArray, whole: BoolArray) -> dict[str, Any]:
        """How many they are, which fraction of all, and how many of them turned out to be so."""
        total = float(self.weight[whole].sum())
        return {
            "rows": int(part.sum()),
            "fraction": float(self.weight[part].sum()) / total if total else 0.0,
            "events": int((part & (self.right == 1)).sum()) if self.decision.has_sides else None,
        }
