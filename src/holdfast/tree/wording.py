"""What a tree says, in words: its classes, and the outcome of a node."""

from holdfast.data.schema import Target
from holdfast.text.lines import label_text
from holdfast.text.numbers import number_text
from holdfast.tree.tree import Tree


def outcome_text(tree: Tree, node: int) -> str:
    """The class, or the mean, that the node predicts."""
    if tree.schema.target.is_classes:
        return class_names(tree.schema.target)[int(tree.outcome[node])]
    return number_text(float(tree.value[node, 0]), 4)


def probability(tree: Tree, node: int) -> float:
    """The fraction of the class that the node predicts: with a loss matrix it may not be the greatest."""
    return float(tree.value[node, tree.outcome[node]])


def class_names(target: Target) -> tuple[str, ...]:
    """The classes as text: all different, even where 1 and "1" are two classes."""
    names = tuple(label_text(label) for label in target.classes)
    return names if len(set(names)) == len(names) else tuple(map(repr, target.classes))
