"""What displays read from a model: its tree, the names of its features, the class that matters."""

from typing import Any

import numpy as np

from holdfast.arrays import FloatArray, IntArray
from holdfast.data.schema import Label
from holdfast.errors import ModelError, ParameterError
from holdfast.tree.tree import Tree


def tree_of(model: Any) -> Tree:
    """The tree itself, or that of a fitted estimator of one tree."""
    tree = model if isinstance(model, Tree) else getattr(model, "tree_", None)
    if not isinstance(tree, Tree):
        raise ModelError(
            f"{type(model).__name__} holds no single tree: give a Tree, or a fitted estimator with tree_."
        )
    return tree


def classes_of(model: Any) -> tuple[Label, ...]:
    """The classes that the model predicts, in the order of its probabilities."""
    classes = model.schema.target.classes if isinstance(model, Tree) else getattr(model, "classes_", ())
    if not len(classes):
        raise ParameterError(f"{type(model).__name__} predicts numbers, and there are no classes to show.")
    return tuple(getattr(label, "item", lambda own=label: own)() for label in classes)


def positive_index(model: Any, y: Any, positive: Label | None) -> int:
    """Index of the positive class: the one asked for, or the model's; of other libraries, the rarer in y."""
    classes = classes_of(model)
    if positive is not None and positive not in classes:
        raise ParameterError(f"positive={positive!r} is no class of the model: {list(classes)}.")
    if positive is not None:
        return classes.index(positive)
    if len(classes) != 2:
        raise ParameterError(
            f"The model has {len(classes)} classes: say with positive= which one is shown against the rest."
        )
    schema = getattr(model, "schema", getattr(model, "schema_", None))
    if schema is not None:
        return int(schema.target.class_place(schema.target.positive))
    return int(2 * np.count_nonzero(is_class(y, classes[1])) <= len(y))


def is_class(y: Any, label: Label) -> Any:
    """True where y is this class."""
    return np.array([value == label for value in np.asarray(y, object).ravel().tolist()])


def probabilities(model: Any, X: Any, place: int) -> FloatArray:
    """The probability of the class at this place, for every row."""
    return np.asarray(model.predict_proba(X)[:, place], np.float64)


def leaves_of_rows(model: Any, X: Any) -> IntArray | None:
    """The leaf of every row; None if the model is more than one tree."""
    is_single = isinstance(getattr(model, "tree_", model), Tree)
    return np.asarray(model.apply(X), np.int32) if is_single else None
