"""The class that matters, where there are two: what drawings, rules and pages tell the risk of."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.arrays import FloatArray
from holdfast.tree.tree import Tree

if TYPE_CHECKING:
    from holdfast.tree.ensemble import Ensemble


def positive_class(model: "Tree | Ensemble", positive: Any = None) -> int | None:
    """Return the index of the positive class.

    Parameters
    ----------
    model : Tree or Ensemble
    positive : label, optional
        Default: the class stored with the target, see `Target`.

    Returns
    -------
    int or None
        None unless there are two classes.
    """
    place = _asked_or_kept(model, positive)
    is_density = isinstance(model, Tree) and model.criterion == "density"  # whose clusters are no outcomes
    return None if is_density or len(model.schema.target.classes) != 2 else place


def risk(tree: Tree, positive: Any = None) -> FloatArray | None:
    """Return the probability of the positive class, or the mean, of every node.

    Of three or more classes there is none unless one is asked for, or remembered.
    """
    place = positive_class(tree, positive)
    if place is None:
        place = _asked_or_kept(tree, positive)
    if tree.schema.target.is_classes:
        return None if place is None else tree.value[:, place]
    return tree.value[:, 0]


def set_positive(tree: Tree, positive: Any) -> Tree:
    """Set the positive class of the target; the tree is unchanged if `positive` is None."""
    if positive is None:
        return tree
    return tree.replace(schema=replace(tree.schema, target=tree.schema.target.with_positive(positive)))


def _asked_or_kept(model: "Tree | Ensemble", positive: Any) -> int | None:
    """Return the given or stored positive class; a ParameterError if it is unknown."""
    target = model.schema.target
    said = target.positive if positive is None else positive
    return None if said is None else target.class_place(said)
