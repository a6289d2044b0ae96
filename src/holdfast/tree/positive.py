"""The class that matters, where there are two: what drawings, rules and pages tell the risk of."""

from typing import Any

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.tree.class_counts import class_counts
from holdfast.tree.tree import Tree


def positive_class(tree: Tree, positive: Any = None) -> int | None:
    """Index of the positive class: the one asked for, or remembered, or the rarer; None unless there are two.

    Of two classes alike in number the second is taken, as scikit-learn does.
    """
    place = _said(tree, positive)
    if len(tree.schema.target.classes) != 2 or tree.criterion == "density":  # whose clusters are no outcomes
        return None
    if place is not None:
        return place
    first, second = np.round(class_counts(tree)[0], 6).tolist()
    return int(second <= first)


def risk(tree: Tree, positive: Any = None) -> FloatArray | None:
    """What leaves are ordered by: the probability of the positive class, or the mean of a number.

    Of three or more classes there is none unless one is asked for, or remembered.
    """
    place = positive_class(tree, positive)
    if place is None:
        place = _said(tree, positive)
    if tree.schema.target.is_classes:
        return None if place is None else tree.value[:, place]
    return tree.value[:, 0]


def _said(tree: Tree, positive: Any) -> int | None:
    """The class that was asked for, or that the target remembers; a ParameterError if there is no such."""
    target = tree.schema.target
    said = target.positive if positive is None else positive
    return None if said is None else target.class_place(said)
