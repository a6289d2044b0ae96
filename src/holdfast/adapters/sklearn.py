"""Convert trees of scikit-learn.

scikit-learn rounds every value to float32 before it compares it with the threshold, and holdfast does not.
The values that round to at most a threshold are those up to a certain float64, which is the threshold here.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from holdfast.adapters.boosted import (
    ForeignModel,
    ForeignTree,
    build_trees,
    read_column_names,
    read_labels,
    round_down_to_float64,
    span_features,
)
from holdfast.data.schema import Schema
from holdfast.errors import DataError
from holdfast.tree.build import Nodes
from holdfast.tree.tree import LEAF, Tree


def is_tree(model: Any) -> bool:
    """Return True for a single scikit-learn tree, fitted or not."""
    from sklearn.tree import BaseDecisionTree

    return isinstance(model, BaseDecisionTree)


def read_tree(model: Any, schema: Schema | None = None, classes: tuple[Any, ...] | None = None) -> Tree:
    """Convert a fitted scikit-learn tree, which routes every float64 as the model does."""
    return _trees_of(model, [model], schema, classes)[0]


def is_forest(model: Any) -> bool:
    """Return True for a scikit-learn forest, fitted or not."""
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )

    kinds = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)
    return isinstance(model, kinds)


def forest_trees(forest: Any, schema: Schema | None = None) -> list[Tree]:
    """Convert the trees of a scikit-learn forest to one schema, with its names and classes.

    Without a schema, a feature reaches from its lowest to its highest threshold in the whole forest.
    """
    return _trees_of(forest, getattr(forest, "estimators_", []), schema)


def _trees_of(
    model: Any, members: Sequence[Any], schema: Schema | None, classes: tuple[Any, ...] | None = None
) -> list[Tree]:
    """Convert the members, named by the forest or by the single tree itself."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    if model.n_outputs_ > 1:
        raise DataError(
            f"The model predicts {model.n_outputs_} targets at once, and a tree here predicts one: "
            "fit one model for each target."
        )
    loose = [_nodes_of(member.tree_) for member in members]
    names = read_column_names(getattr(model, "feature_names_in_", None), int(model.n_features_in_), schema)
    labels = read_labels(model.classes_, classes) if hasattr(model, "classes_") else ()
    name = model.criterion if isinstance(model.criterion, str) else type(model.criterion).__name__
    return build_trees(
        ForeignModel(span_features(names, loose), labels, list(map(ForeignTree, loose)), name), schema
    )


def _nodes_of(tree: Any) -> Nodes:
    is_leaf = tree.children_left == LEAF
    return Nodes(
        feature=np.where(is_leaf, LEAF, tree.feature).astype(np.int32),
        threshold=np.where(is_leaf, np.nan, round_down_to_float64(tree.threshold)),
        left=tree.children_left,
        right=tree.children_right,
        missing_left=tree.missing_go_to_left.astype(np.bool_),
        value=np.array(tree.value[:, 0, :], np.float64),
        count=tree.n_node_samples.astype(np.float64),
        weight=np.array(tree.weighted_n_node_samples, np.float64),
        impurity=np.maximum(tree.impurity, 0.0),  # rounding leaves pure nodes a little below it
    )
