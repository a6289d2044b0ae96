"""The near-optimal sets of ArborEnum become trees of ours.

ArborEnum keeps a set of trees as the paths from the root to the leaves, and a path as signed numbers: +7 is
"yes" to the seventh of its questions, -7 is "no". Each of them is whether a column is at most a threshold. It
keeps no rows, so that a leaf says its class and nothing more.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import FloatArray
from holdfast.adapters.boosted import (
    ForeignModel,
    ForeignTree,
    average_subtrees,
    build_trees,
    read_column_names,
    read_labels,
    span_features,
    walk_nodes,
)
from holdfast.data.schema import Label, Schema
from holdfast.errors import DataError
from holdfast.tree.build import Nodes
from holdfast.tree.tree import LEAF, Tree

_NOTE = "ArborEnum keeps no rows: the class of a leaf has the fraction 1, and no node has a count."


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
