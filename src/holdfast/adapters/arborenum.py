"""The near-optimal sets of ArborEnum become trees of ours.

ArborEnum keeps a set of trees as the paths from the root to the leaves, and a path as signed numbers: +7 is
"yes" to the seventh of its questions, -7 is "no". Each of them is whether a column is at most a threshold. It
keeps no rows, so that a leaf says its class and nothing more.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from holdfast.adapters.boosted import average_subtrees, is_kind
from holdfast.adapters.reading import (
    ForeignModel,
    ForeignTree,
    build_trees,
    read_column_names,
    read_labels,
    span_features,
    walk_nodes,
)
from holdfast.arrays import FloatArray
from holdfast.data.schema import Label, Schema
from holdfast.errors import DataError
from holdfast.tree.builder import Nodes
from holdfast.tree.tree import LEAF, Tree

INTEGER_CLASSES = True  # 0, 1, ...: there are as many classes as the greatest of them says
MOST_TREES = 100_000  # a set can hold billions of them
_NOTE = "ArborEnum keeps no rows: the class of a leaf has the fraction 1, and no node has a count."


def is_tree(model: Any) -> bool:
    """True if the model is an ArborEnum, fitted or not."""
    return is_kind(model, "ArborEnum")


def is_forest(model: Any) -> bool:
    """True if the model is an ArborEnum, fitted or not."""
    return is_tree(model)


def read_tree(model: Any, schema: Schema | None = None, classes: tuple[Any, ...] | None = None) -> Tree:
    """The tree of a fitted ArborEnum whose set has one tree only."""
    n_trees = count_trees(model)
    if n_trees != 1:
        raise TypeError(
            f"The {type(model).__name__} holds {n_trees} trees, and as_tree reads one. "
            "forest_trees(model, schema) gives all of them, the best first."
        )
    return read_trees(model, [0], schema, classes)[0]


def forest_trees(model: Any, schema: Schema | None = None) -> list[Tree]:
    """The trees of a fitted ArborEnum, the one of the best objective first.

    Each predicts as the library does. A missing value, which the library refuses, goes right.
    """
    n_trees = count_trees(model)
    if n_trees > MOST_TREES:
        raise DataError(
            f"The {type(model).__name__} holds {n_trees} trees, and at most {MOST_TREES} are read. Fit it "
            "with a smaller rashomon_mult or depth_budget, or a greater lambda_reg."
        )
    return read_trees(model, range(n_trees), schema)


def count_trees(model: Any) -> int:
    """The number of trees in the set; a DataError if there are none, or they cannot be read."""
    if model.n_features_in_ is None:
        raise DataError(
            f"This {type(model).__name__} does not know its columns: call fit(X, y, ...) first. After "
            "fit_binarized and the like it numbers its questions only."
        )
    n_trees = int(model.count_trees())
    if n_trees == 0:
        raise DataError(
            f"The {type(model).__name__} holds no trees: fit it with a greater rashomon_mult or root_budget."
        )
    return n_trees


def read_trees(
    model: Any,
    numbers: Iterable[int],
    schema: Schema | None = None,
    classes: tuple[Any, ...] | None = None,
) -> list[Tree]:
    """The trees of these numbers in the set, whose order is that of their objectives."""
    found = [model.get_tree_paths(number) for number in numbers]
    names = list(model.feature_names_in_)
    has_names = names != [f"f{place}" for place in range(len(names))]  # which it gives to an array
    predicted = np.unique(list(chain.from_iterable(leaves for _, leaves in found))).tolist()
    if predicted[0] < 0:
        raise DataError(
            f"Some leaves of the {type(model).__name__} defer to another model, and a leaf of ours predicts. "
            "Fit it with use_deferral=False."
        )
    asked = _asked(model)
    members = [
        ForeignTree(_nodes(paths, leaves, asked, predicted), notes=(_NOTE,)) for paths, leaves in found
    ]
    written = read_column_names(names if has_names else None, len(names), schema)
    features = span_features(written, [member.nodes for member in members])
    return build_trees(ForeignModel(features, read_labels(predicted, classes), members, "gini"), schema)


# -- questions and paths ----------------------------------------------------------------------------------


class _Asked(NamedTuple):
    """One of the model's questions: is the column at most the threshold?"""

    column: int
    threshold: float


class _Branch(NamedTuple):
    """What is below a node: the rest of every path that passes it, and the class at its end."""

    paths: Sequence[Sequence[int]]
    leaves: Sequence[int]


def _asked(model: Any) -> list[_Asked]:
    """The model's questions in the order of their numbers: columns of few values stand first."""
    few = [_Asked(each["original_feature"], each["cutpoint"]) for each in model.binary_feature_specs_]
    many = [
        _Asked(column, float(threshold))
        for group, column in enumerate(model.continuous_feature_indices_)
        for threshold in model.get_continuous_cutpoints(group)
    ]
    return few + many


def _nodes(
    paths: Sequence[Sequence[int]], leaves: Sequence[int], asked: Sequence[_Asked], predicted: list[Label]
) -> Nodes:
    branches, left, right = walk_nodes(_Branch(paths, leaves), _sides)
    questions = [asked[abs(each.paths[0][0]) - 1] if each.paths[0] else None for each in branches]
    nothing: FloatArray = np.zeros(len(branches))
    is_class = [np.array(predicted) == each.leaves[0] for each in branches]  # of a leaf: the rest is a mean
    return Nodes(
        feature=np.array([each.column if each else LEAF for each in questions], np.int32),
        threshold=np.array([each.threshold if each else np.nan for each in questions]),
        left=left,
        right=right,
        missing_left=np.zeros(len(branches), np.bool_),
        value=average_subtrees(np.array(is_class, np.float64), nothing, left, right),
        count=nothing,
        weight=nothing,
        impurity=nothing,
    )


def _sides(branch: _Branch) -> tuple[_Branch, _Branch] | None:
    """What is below "yes" and below "no"; None at a leaf."""
    if not branch.paths[0]:
        return None
    pairs = list(zip(branch.paths, branch.leaves, strict=True))
    yes, no = (
        [(path[1:], leaf) for path, leaf in pairs if (path[0] > 0) == is_yes] for is_yes in (True, False)
    )
    return _Branch(*zip(*yes, strict=True)), _Branch(*zip(*no, strict=True))
