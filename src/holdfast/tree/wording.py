"""What a tree says, in words: its classes, and the outcome of a node."""

from typing import TYPE_CHECKING

import numpy as np

from holdfast.data.schema import Label, Target
from holdfast.text.lines import label_text
from holdfast.text.numbers import number_text, probability_text
from holdfast.tree.positive import positive_class
from holdfast.tree.quantile import format_statistic, parse_quantile
from holdfast.tree.threshold import compute_threshold
from holdfast.tree.tree import Tree

if TYPE_CHECKING:
    from holdfast.tree.ensemble import Ensemble


def format_outcome(tree: Tree, node: int) -> str:
    """The class, the mean, or the quantile with its name, that the node predicts, as in "median 3.5"."""
    if tree.schema.target.is_classes:
        return format_class_names(tree.schema.target)[int(tree.outcome[node])]
    return f"{format_leaf_statistic(tree)} {format_value(tree, node)}".strip()


def format_value(tree: Tree, node: int) -> str:
    """The number that the node of a tree of numbers predicts."""
    return number_text(float(tree.value[node, 0]), 4)


def format_leaf_statistic(tree: Tree) -> str:
    """What the leaves say where it is a quantile: "median" or "0.9 quantile"; nothing where it is not."""
    if tree.schema.target.is_classes or parse_quantile(tree.criterion) is None:
        return ""
    return format_statistic(tree.criterion)


WARNING = "Warning: "  # a note that begins with it stands before the tree


def list_warnings(model: "Tree | Ensemble") -> tuple[str, ...]:
    """The notes that the reader must see first."""
    return tuple(note for note in model.notes if note.startswith(WARNING))


def list_notes(model: "Tree | Ensemble") -> tuple[str, ...]:
    """What stands below the model, how it decides included, if not by the greatest probability."""
    notes = tuple(note for note in model.notes if not note.startswith(WARNING))
    decides = format_decision(model)
    return (*notes, decides) if decides else notes


def format_decision(model: "Tree | Ensemble", positive: Label | None = None) -> str:
    """From which probability on which class is predicted; nothing of a model that takes the most likely one.

    >>> from holdfast import TreeClassifier
    >>> model = TreeClassifier(threshold=0.25).fit([[1.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> format_decision(model.tree_)
    'a is predicted where its probability is at least 0.25.'
    """
    losses, target = model.loss_matrix, model.schema.target
    if losses is None or np.ptp(losses[~np.eye(len(losses), dtype=bool)]) == 0:
        return ""
    if len(losses) != 2:
        return "Errors cost different amounts: the class of least expected loss is predicted."
    place = positive_class(model, positive)
    assert place is not None  # of two classes
    threshold = probability_text(compute_threshold(losses, place))
    return f"{format_class_names(target)[place]} is predicted where its probability is at least {threshold}."


def format_class_names(target: Target) -> tuple[str, ...]:
    """The classes as text: all different, even where 1 and "1" are two classes."""
    names = tuple(label_text(label) for label in target.classes)
    return names if len(set(names)) == len(names) else tuple(map(repr, target.classes))
