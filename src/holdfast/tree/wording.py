"""What a tree says, in words: its classes, and the outcome of a node."""

import numpy as np

from holdfast.data.schema import Target
from holdfast.text.lines import label_text
from holdfast.text.numbers import number_text, probability_text
from holdfast.tree.positive import positive_class
from holdfast.tree.threshold import threshold_of
from holdfast.tree.tree import Tree


def outcome_text(tree: Tree, node: int) -> str:
    """The class, or the mean, that the node predicts."""
    if tree.schema.target.is_classes:
        return class_names(tree.schema.target)[int(tree.outcome[node])]
    return number_text(float(tree.value[node, 0]), 4)


def probability(tree: Tree, node: int) -> float:
    """The fraction of the class that the node predicts: with a loss matrix it may not be the greatest."""
    return float(tree.value[node, tree.outcome[node]])


def all_notes(tree: Tree) -> tuple[str, ...]:
    """What the reader of the tree must know, how it decides included, if not by the greatest probability."""
    decides = decision_text(tree)
    return (*tree.notes, decides) if decides else tree.notes


def decision_text(tree: Tree) -> str:
    """From which probability on which class is predicted; nothing of a tree that takes the most likely one.

    >>> from holdfast import TreeClassifier
    >>> model = TreeClassifier(threshold=0.25).fit([[1.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> decision_text(model.tree_)
    'a is predicted where its probability is at least 0.25.'
    """
    losses, positive = tree.loss_matrix, positive_class(tree)
    if losses is None or np.ptp(losses[~np.eye(len(losses), dtype=bool)]) == 0:
        return ""
    if positive is None:
        return "Errors cost different amounts: the class of least expected loss is predicted."
    threshold = probability_text(threshold_of(losses, positive))
    name = class_names(tree.schema.target)[positive]
    return f"{name} is predicted where its probability is at least {threshold}."


def class_names(target: Target) -> tuple[str, ...]:
    """The classes as text: all different, even where 1 and "1" are two classes."""
    names = tuple(label_text(label) for label in target.classes)
    return names if len(set(names)) == len(names) else tuple(map(repr, target.classes))
