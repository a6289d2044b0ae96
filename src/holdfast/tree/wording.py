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
    """Format the prediction of the node: class, mean or named quantile, as in "median 3.5"."""
    if tree.schema.target.is_classes:
        return format_class_names(tree.schema.target)[int(tree.outcome[node])]
    return f"{format_leaf_statistic(tree)} {format_value(tree, node)}".strip()


def format_value(tree: Tree, node: int) -> str:
    """Format the number that a node predicts."""
    return number_text(float(tree.value[node, 0]), 4)


def format_leaf_statistic(tree: Tree) -> str:
    """Name the quantile that leaves predict: "median" or "0.9 quantile"; empty for means."""
    if tree.schema.target.is_classes or parse_quantile(tree.criterion) is None:
        return ""
    return format_statistic(tree.criterion)


WARNING = "Warning: "  # a note that begins with it stands before the tree


def list_warnings(model: "Tree | Ensemble") -> tuple[str, ...]:
    """List the notes that readers must see first."""
    return tuple(note for note in model.notes if note.startswith(WARNING))


def list_notes(model: "Tree | Ensemble") -> tuple[str, ...]:
    """List all notes below the model, with its decision rule if it is not the default."""
    notes = tuple(note for note in model.notes if not note.startswith(WARNING))
    decides = format_decision(model)
    return (*notes, decides) if decides else notes


def format_decision(model: "Tree | Ensemble", positive: Label | None = None) -> str:
    """Describe the probability threshold; empty if the most likely class is predicted.

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
    """Format the classes as distinct texts, even if 1 and "1" are two classes."""
    names = tuple(label_text(label) for label in target.classes)
    return names if len(set(names)) == len(names) else tuple(map(repr, target.classes))
