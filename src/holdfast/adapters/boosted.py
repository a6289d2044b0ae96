"""What the adapters of boosted models share: values, weights and importances for nodes that have none."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.adapters.reading import ForeignModel, build_trees, compute_span
from holdfast.arrays import FloatArray, IntArray
from holdfast.data.input.columns import to_label
from holdfast.data.schema import Label, Schema, Target
from holdfast.errors import DataError
from holdfast.text.lists import listed
from holdfast.tree.tree import LEAF, Tree


def read_score_trees(model: ForeignModel, schema: Schema | None) -> list[Tree]:
    """Convert the trees of a boosted model to trees of raw scores.

    Their schema has the features of the one given. Its target is not theirs: a score is no class, and no
    value of the target either.
    """
    low, high = compute_span(model.values)
    features = model.features if schema is None else schema.features
    return build_trees(model, Schema(features, Target("raw score", low=low, high=high)))


def get_only_member(kind: str, members: Sequence[Any]) -> Any:
    """Return the single tree of a boosted model; a TypeError if there are more or none."""
    if len(members) != 1:
        raise TypeError(
            f"The {kind} holds {len(members)} trees, and as_tree reads one. forest_trees(model, schema) "
            "gives all of them as trees of raw scores. For a model of one tree fit with n_estimators=1, and "
            "on numbers or two classes: more classes take one tree for each."
        )
    return members[0]


def make_objective_error(kind: str, objective: str) -> DataError:
    """Make the error about an objective that a tree cannot represent."""
    return DataError(
        f"The {kind} has the objective {objective!r}, and as_tree cannot turn its raw scores into "
        "predictions. forest_trees(model, schema) gives the tree with the raw scores themselves."
    )


def is_kind(model: Any, *names: str) -> bool:
    """Return True if the model's class or one of its parents has such a name."""
    return any(kind.__name__ in names for kind in type(model).__mro__)


def read_classes(model: Any, n_classes: int) -> tuple[Label, ...]:
    """Return the classes of a classifier; a Booster numbers them."""
    if not hasattr(model, "classes_"):
        return tuple(range(n_classes))
    labels = tuple(map(to_label, model.classes_))
    if len(labels) != n_classes:
        raise DataError(
            f"The {type(model).__name__} has scores for {n_classes} classes and knows {listed(labels)}: "
            "fit it on rows of all classes."
        )
    return labels


def make_score_note(place: int, n_estimators: int, label: Label | None) -> str:
    """Make the note on a single tree of a boosted model."""
    of_class = "" if label is None else f" for the class {label!r}"
    return (
        f"Tree {place + 1} of {n_estimators}: its values are raw scores{of_class}, which the model adds up."
    )


# -- nodes ------------------------------------------------------------------------------------------------


def sum_subtrees(numbers: NDArray[Any], left: IntArray, right: IntArray) -> FloatArray:
    """Add the numbers of all nodes below to each node; parents precede children."""
    total = np.array(numbers, np.float64)
    for node in reversed(np.flatnonzero(left != LEAF).tolist()):
        total[node] += total[left[node]] + total[right[node]]
    return total


def average_subtrees(value: FloatArray, weight: FloatArray, left: IntArray, right: IntArray) -> FloatArray:
    """Average the leaves below each node by weight; plainly if they have none.

    `value` has one row per node, and `weight` is that of whole nodes. Only the leaves of both are looked at.
    """
    is_leaf = left == LEAF
    total = sum_subtrees(np.where(is_leaf[:, None], value * weight[:, None], 0.0), left, right)
    plain = sum_subtrees(np.where(is_leaf[:, None], value, 0.0), left, right)
    n_leaves = sum_subtrees(is_leaf, left, right)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(weight[:, None] > 0, total / weight[:, None], plain / n_leaves[:, None])
    return np.where(is_leaf[:, None], value, mean)


def compute_impurity(gain: FloatArray, weight: FloatArray, left: IntArray, right: IntArray) -> FloatArray:
    """Compute node impurities that are consistent with the gains of the splits.

    So the importances of the tree are the fractions of its features in the gain.
    """
    risk = sum_subtrees(np.maximum(gain, 0.0), left, right)
    return np.divide(risk, weight, out=np.zeros(len(risk)), where=weight > 0)
