"""What a tree says, in words: its classes, and the outcome of a node."""

from holdfast.data.schema import Target
from holdfast.text.lines import label_text
from holdfast.text.numbers import number_text
from holdfast.tree.quantile import quantile_of, statistic_words
from holdfast.tree.tree import Tree


def outcome_text(tree: Tree, node: int) -> str:
    """The class, the mean, or the quantile with its name, that the node predicts, as in "median 3.5"."""
    if tree.schema.target.is_classes:
        return class_names(tree.schema.target)[int(tree.outcome[node])]
    return f"{quantile_words(tree)} {value_text(tree, node)}".strip()


def value_text(tree: Tree, node: int) -> str:
    """The number that the node of a tree of numbers predicts."""
    return number_text(float(tree.value[node, 0]), 4)


def quantile_words(tree: Tree) -> str:
    """What the leaves say where it is a quantile: "median" or "0.9 quantile"; nothing where it is not."""
    if tree.schema.target.is_classes or quantile_of(tree.criterion) is None:
        return ""
    return statistic_words(tree.criterion)


def class_names(target: Target) -> tuple[str, ...]:
    """The classes as text: all different, even where 1 and "1" are two classes."""
    names = tuple(label_text(label) for label in target.classes)
    return names if len(set(names)) == len(names) else tuple(map(repr, target.classes))
