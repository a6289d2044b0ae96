"""What another outcome is: another class, the other side of a risk, another mean."""

from dataclasses import dataclass

import numpy as np

from holdfast.arrays import BoolArray, FloatArray
from holdfast.data.schema import Label
from holdfast.errors import ParameterError
from holdfast.text.lines import label_text, printable
from holdfast.text.numbers import number_text
from holdfast.tree.positive import positive_class
from holdfast.tree.tree import LEAF, Tree


@dataclass(frozen=True)
class Goal:
    """The outcome that a change of a row is to lead to. Without any, every other outcome will do."""

    wanted: Label | None = None  # a class; of numbers, "up" or "down"
    threshold: float | None = None  # of the risk of the positive class: the other side of it is wanted
    least_change: float = 0.0  # of numbers
    positive: Label | None = None  # of two classes; None: that of the tree

    def leaves(self, tree: Tree, leaf: int) -> list[int]:
        """The leaves that have the outcome that is wanted, which this leaf has not."""
        leaves = np.flatnonzero(tree.feature == LEAF)
        if self.threshold is not None:
            risk = tree.value[:, self._risk_column(tree)] >= self.threshold
            taken = risk[leaves] != risk[leaf]
        elif tree.schema.target.is_classes:
            taken = (tree.outcome[leaves] != tree.outcome[leaf]) & self._is_wanted(tree)[leaves]
        else:
            taken = self._moved(tree.value[leaves, 0] - tree.value[leaf, 0])
        return [int(each) for each in leaves[taken].tolist()]

    def words(self, tree: Tree, leaf: int) -> str:
        """What is looked for, from where this leaf is."""
        target = tree.schema.target
        if self.threshold is not None:
            place = self._risk_column(tree)
            side = "below" if tree.value[leaf, place] >= self.threshold else "of at least"
            return f"a risk of {label_text(target.classes[place])} {side} {number_text(self.threshold)}"
        if target.is_classes:
            return "another outcome" if self.wanted is None else f"the outcome {label_text(self.wanted)}"
        way = {"up": "a higher", "down": "a lower"}.get(str(self.wanted), "another")
        amount = f", by at least {number_text(self.least_change)}" if self.least_change else ""
        return f"{way} {printable(target.name)}{amount}"

    def _risk_column(self, tree: Tree) -> int:
        place = positive_class(tree, self.positive)
        if place is None:
            raise ParameterError(
                f"threshold={self.threshold!r} is one of the risk of one of two classes, and the target "
                f"{tree.schema.target.name!r} has not two: leave it out."
            )
        if self.threshold is None or not 0 < self.threshold < 1:
            raise ParameterError(f"threshold={self.threshold!r} is out of range: a risk is between 0 and 1.")
        return place

    def _is_wanted(self, tree: Tree) -> BoolArray:
        target = tree.schema.target
        if self.wanted is None:
            return np.ones(tree.n_nodes, np.bool_)
        if self.wanted not in target.classes:
            raise ParameterError(
                f"wanted={self.wanted!r} is no class of {target.name!r}: {list(target.classes)}."
            )
        return np.asarray(tree.outcome == target.classes.index(self.wanted), np.bool_)

    def _moved(self, differences: FloatArray) -> BoolArray:
        if self.wanted not in (None, "up", "down"):
            raise ParameterError(
                f"wanted={self.wanted!r} is unknown: of a number, 'up' or 'down' is wanted, or None."
            )
        if not self.least_change >= 0:
            raise ParameterError(f"least_change={self.least_change!r} is out of range: it is 0 or more.")
        way = -1.0 if self.wanted == "down" else 1.0
        sizes = np.abs(differences) if self.wanted is None else way * differences
        return np.asarray((sizes > 0) & (sizes >= self.least_change), np.bool_)
