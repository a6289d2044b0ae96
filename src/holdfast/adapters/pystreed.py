"""Convert optimal trees of pystreed.

pystreed first turns every column into binary columns: it compares a number with a few thresholds, and a
category with a few sets. A node splits on one of them, and rows with a 1 go right. Here the split is on the
column itself, and these rows go left.
"""

from collections.abc import Iterator, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import FloatArray, IntArray
from holdfast.adapters.boosted import (
    CategorySet,
    ForeignModel,
    ForeignTree,
    build_trees,
    compute_span,
    is_kind,
    make_nominal,
    read_column_names,
    read_labels,
    walk_nodes,
)
from holdfast.data.columns import to_label
from holdfast.data.schema import Feature, Label, Schema
from holdfast.errors import DataError
from holdfast.tree.build import Nodes
from holdfast.tree.tree import LEAF, Tree

INTEGER_CLASSES = True  # it reads labels by int(), so that 1.5 is 1 and text an error
_REGRESSIONS = ("regression", "cost-complex-regression")


def is_tree(model: Any) -> bool:
    """Return True for a pystreed model with any kind of leaves, fitted or not."""
    return is_kind(model, "BaseSTreeDSolver")


def is_forest(model: Any) -> bool:
    """Return False: each model of pystreed is one tree."""
    return False


def read_tree(model: Any, schema: Schema | None = None, classes: tuple[Any, ...] | None = None) -> Tree:
    """Convert a fitted STreeDClassifier or STreeDRegressor to a tree with the same predictions.

    pystreed takes no missing values: they go to the side with more rows, and right at category splits.
    """
    from sklearn.utils.validation import check_is_fitted

    _check_leaves(model)
    check_is_fitted(model, ("tree_", "fit_result"))
    binary = _binary_columns(model.binarizer_)
    columns, features = _features(model.binarizer_, schema)
    numbers = _numbers_of_classes(model) if is_kind(model, "STreeDClassifier") else ()
    labels = read_labels(numbers, classes)
    member = _member(model, binary, columns, numbers)
    criterion = "gini" if labels else "squared_error"
    return build_trees(ForeignModel(features, labels, [member], criterion), schema)[0]


def _check_leaves(model: Any) -> None:
    """Raise a DataError if the leaves hold anything but a class or a number."""
    is_plain = is_kind(model, "STreeDClassifier") or (
        is_kind(model, "STreeDRegressor") and model.optimization_task in _REGRESSIONS
    )
    if not is_plain:
        raise DataError(
            f"The leaves of a {type(model).__name__} with the task {model.optimization_task!r} hold no class "
            "and no number. as_tree reads a fitted STreeDClassifier or STreeDRegressor."
        )


def _numbers_of_classes(model: Any) -> tuple[Label, ...]:
    """Read the classes as pystreed predicts them; a DataError if it has changed them."""
    numbers = read_labels(model.classes_)
    if strange := [number for number in numbers if int(number) != number]:
        raise DataError(
            f"The {type(model).__name__} was fitted to the class {strange[0]!r}, and predicts integers only. "
            "Fit it to the numbers of the classes, and name them: classes, y = np.unique(labels, "
            "return_inverse=True), as_tree(model.fit(X, y), classes=classes)."
        )
    return numbers


# -- binary columns --------------------------------------------------------------------


class _Binary(NamedTuple):
    """The condition on one of the model's columns for which a binary column is 1."""

    column: Any  # its name in a frame, or its position in an array
    threshold: float = nan  # the value is at most this, or above it in a flag
    labels: frozenset[Label] | None = None  # the category is one of these
    is_flag: bool = False  # the column itself is binary


def _binary_columns(binarizer: Any) -> list[_Binary]:
    """List the binary columns in the order of pystreed."""
    binary = list(_all_binary_columns(binarizer))
    limiter = binarizer.binary_feature_limiter
    if limiter is None:
        return binary
    selected = np.asarray(limiter.select_features_).tolist()
    if selected and isinstance(selected[0], str):
        written = _names_of_binary(binarizer)
        return [binary[written.index(name)] for name in selected]
    return [binary[index] for index in selected]


def _all_binary_columns(binarizer: Any) -> Iterator[_Binary]:
    for column in binarizer.binary_columns:
        yield _Binary(column, threshold=0.5, is_flag=True)
    if binarizer.categorical_binarizer is not None:
        sets = binarizer.categorical_binarizer.categories_
        for column, groups in zip(binarizer.categorical_columns, sets, strict=True):
            for group in groups:
                yield _Binary(column, labels=frozenset(_labels(group)))
    if binarizer.continuous_binarizer is not None:
        cuts = binarizer.continuous_binarizer.thresholds_
        for column, thresholds in zip(binarizer.continuous_columns, cuts, strict=True):
            for threshold in thresholds:
                yield _Binary(column, threshold=float(threshold))


def _names_of_binary(binarizer: Any) -> list[str]:
    """List the names of the binary columns."""
    names = [str(column) for column in binarizer.binary_columns]
    for part in (binarizer.categorical_binarizer, binarizer.continuous_binarizer):
        if part is not None:
            names += [name for group in part.column_names_ for name in group]
    return names


def _labels(group: Any) -> list[Label]:
    """List the categories of a group, which is one of them or a list; missing values are left out."""
    members = group if isinstance(group, list) else [group]
    return [to_label(member) for member in members if member is not None and member == member]


def _features(binarizer: Any, schema: Schema | None) -> tuple[list[Any], tuple[Feature, ...]]:
    """List the columns by name or position, in the order of pystreed, and their features."""
    columns = [*binarizer.binary_columns, *binarizer.categorical_columns, *binarizer.continuous_columns]
    columns = list(dict.fromkeys(columns))
    is_array = all(isinstance(column, int | np.integer) for column in columns)
    if is_array:
        columns = sorted(columns)
    names = read_column_names(None if is_array else columns, len(columns), schema)
    binary = list(_all_binary_columns(binarizer))
    return columns, tuple(
        _feature(name, [each for each in binary if each.column == column])
        for name, column in zip(names, columns, strict=True)
    )


def _feature(name: str, conditions: Sequence[_Binary]) -> Feature:
    """Make the feature with the range of all thresholds, or all categories, of the model."""
    labels = [label for each in conditions if each.labels is not None for label in each.labels]
    if labels:
        return make_nominal(name, labels)
    if any(each.is_flag for each in conditions):
        return Feature(name, "numeric", 0.0, 1.0)
    return Feature(name, "numeric", *compute_span(np.array([each.threshold for each in conditions])))


# -- its nodes --------------------------------------------------------------------------------------------


def _member(
    model: Any, binary: Sequence[_Binary], columns: list[Any], labels: tuple[Label, ...]
) -> ForeignTree:
    entries, left, right = walk_nodes(model.tree_, lambda entry: _children(entry, binary))
    splits = [None if entry.is_leaf_node() else binary[entry.feature] for entry in entries]
    rows = _rows_at(model.train_X_, entries, binary)
    value, impurity = _class_values(model, rows) if labels else _number_values(model, rows)
    outcome, notes = _predict_in_leaves(entries, value, labels)
    count = np.array([len(each) for each in rows], np.float64)
    chosen = {
        place: CategorySet(each.labels)
        for place, each in enumerate(splits)
        if each and each.labels is not None
    }
    is_set = np.isin(np.arange(len(entries)), list(chosen))
    nodes = Nodes(
        feature=np.array([columns.index(each.column) if each else LEAF for each in splits], np.int32),
        threshold=np.array([each.threshold if each else nan for each in splits]),
        left=left,
        right=right,
        missing_left=~is_set & (count[left] >= count[right]),
        value=value,
        outcome=outcome,
        count=count,
        weight=count,
        impurity=impurity,
    )
    return ForeignTree(nodes, chosen, notes)


def _children(entry: Any, binary: Sequence[_Binary]) -> tuple[Any, Any] | None:
    """Return the left and the right child."""
    if entry.is_leaf_node():
        return None
    if binary[entry.feature].is_flag:  # values of at most 1/2 go left
        return entry.left_child, entry.right_child
    return entry.right_child, entry.left_child


def _rows_at(X: NDArray[Any], entries: Sequence[Any], binary: Sequence[_Binary]) -> list[NDArray[np.intp]]:
    """List the training rows that reach each node; children follow in pairs in the order of their parents."""
    rows = [np.arange(len(X))]
    for place, entry in enumerate(entries):
        if entry.is_branching_node():
            here = rows[place]
            is_yes = (X[here, entry.feature] == 1) != binary[entry.feature].is_flag
            rows += (here[is_yes], here[~is_yes])
    return rows


def _class_values(model: Any, rows: Sequence[NDArray[np.intp]]) -> tuple[FloatArray, FloatArray]:
    """Compute class fractions and gini impurities of the nodes."""
    is_class = np.asarray(model.train_y_)[:, None] == np.asarray(model.classes_)[None, :]
    fractions = np.array([is_class[each].mean(axis=0) for each in rows])
    return fractions, 1.0 - (fractions**2).sum(axis=1)


def _number_values(model: Any, rows: Sequence[NDArray[np.intp]]) -> tuple[FloatArray, FloatArray]:
    """Compute mean and variance of the target at the nodes."""
    numbers = [np.asarray(model.train_y_, np.float64)[each] for each in rows]
    return np.array([[each.mean()] for each in numbers]), np.array([each.var() for each in numbers])


def _predict_in_leaves(
    entries: Sequence[Any], value: FloatArray, labels: tuple[Label, ...]
) -> tuple[IntArray, tuple[str, ...]]:
    """List the outcomes of the nodes, and a note if rows of leaves are mostly of other classes.

    The values of leaves are set to their predictions where these are numbers or a rarer class.
    """
    n_others = 0
    outcome = value.argmax(axis=1).astype(np.int32)
    for place, entry in enumerate(entries):
        if not entry.is_leaf_node():
            continue
        if not labels:
            value[place] = entry.label
            continue
        predicted = labels.index(to_label(entry.label))
        if value[place, predicted] < value[place].max():
            value[place] = np.arange(len(labels)) == predicted
            n_others += 1
        outcome[place] = predicted
    if not n_others:
        return outcome, ()
    note = f"In {n_others} leaves the model predicts a rarer class, which has the fraction 1 there."
    return outcome, (note,)
