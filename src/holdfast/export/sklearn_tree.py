"""One tree as a genuine tree of scikit-learn.

scikit-learn rounds every value to float32 and then asks whether it is at most the threshold; we ask the value
itself. So a row can change sides only if float32 cannot tell its value from the threshold.
"""

from typing import Any

import numpy as np

from holdfast.adapters.reading import round_to_float32
from holdfast.arrays import FloatArray
from holdfast.data.schema import Schema
from holdfast.errors import ExportError
from holdfast.tree.tree import KNOWN, LEAF, Tree, label_array

# Criteria that both know by one name: the exported model has it, so that a drawing names its impurity.
_SHARED_CRITERIA = ("gini", "entropy", "log_loss", "squared_error", "poisson")
_UNDEFINED = -2  # scikit-learn's feature and threshold of a leaf
_KEEP = "or keep the tree as a file of holdfast: save(tree, 'tree.json')."


def to_sklearn_tree(tree: Tree) -> Any:
    """Export as a DecisionTreeClassifier or DecisionTreeRegressor with the same nodes."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        feature = tree.schema.features[tree.feature[node]]
        if feature.kind == "question":
            raise _export_error(node, f"asks the question {feature.name!r}", "Add its answer as a column,")
        if feature.is_subset:
            what = f"splits the categories of column {feature.name!r}"
            raise _export_error(node, what, "Grow the tree on one-hot columns,")
        threshold = tree.threshold[node]
        if threshold < KNOWN and np.isinf(round_to_float32(threshold)):
            what = f"compares column {feature.name!r} with {threshold:g}, beyond the range of float32"
            raise _export_error(node, what, "Rescale the column,")
    model = DecisionTreeClassifier() if tree.schema.target.is_classes else DecisionTreeRegressor()
    set_fitted_attributes(model, tree.schema, tree.criterion)
    model.max_features_ = model.n_features_in_
    model.tree_ = _sklearn_tree(tree)
    return model


def break_ties(tree: Tree) -> Tree:
    """Add a last bit to our class in ties, where scikit-learn would predict the first."""
    value, outcome = tree.value.copy(), tree.outcome
    nodes = np.flatnonzero(value.argmax(axis=1) != outcome)
    value[nodes, outcome[nodes]] = np.nextafter(value[nodes, outcome[nodes]], 2.0)
    return tree.replace(value=value)


def set_fitted_attributes(model: Any, schema: Schema, criterion: str) -> None:
    """Set the attributes that scikit-learn stores about the training data."""
    classes, columns = schema.target.classes, schema.columns
    if criterion in _SHARED_CRITERIA:
        model.criterion = criterion
    if classes:
        model.classes_ = label_array(classes)
        model.n_classes_ = np.intp(len(classes))
    model.n_outputs_ = 1
    model.n_features_in_ = len(columns)
    if any(feature.name != f"x{index}" for index, feature in enumerate(columns)):
        model.feature_names_in_ = np.array([feature.name for feature in columns], object)


def _sklearn_tree(tree: Tree) -> Any:
    from sklearn.tree._tree import NODE_DTYPE
    from sklearn.tree._tree import Tree as SklearnTree

    is_leaf = tree.feature == LEAF
    nodes = np.zeros(tree.n_nodes, NODE_DTYPE)
    nodes["left_child"], nodes["right_child"] = tree.left, tree.right
    nodes["feature"] = np.where(is_leaf, _UNDEFINED, tree.feature)
    nodes["threshold"] = np.where(is_leaf, _UNDEFINED, _float32_thresholds(tree))
    nodes["impurity"] = tree.impurity
    nodes["n_node_samples"] = np.rint(tree.count)
    nodes["weighted_n_node_samples"] = tree.weight
    nodes["missing_go_to_left"] = tree.missing_left
    values = np.array(tree.value[:, None, :])
    native = SklearnTree(len(tree.schema.columns), np.array([values.shape[2]], np.intp), 1)
    native.__setstate__(
        {"max_depth": tree.depth, "node_count": tree.n_nodes, "nodes": nodes, "values": values}
    )
    return native


def _float32_thresholds(tree: Tree) -> FloatArray:
    """Return the nearest float32 so that values up to the threshold round to it or less.

    A threshold half-way between two neighbours in float32 goes to the lower one instead. It is what growing
    on float32 data puts between these two values, and rounding it to the upper would send both left.
    """
    nearest = round_to_float32(tree.threshold)
    below = np.nextafter(nearest, np.float32(-np.inf))
    middle = below.astype(np.float64) / 2 + nearest.astype(np.float64) / 2
    rounded = np.where((nearest > tree.threshold) & (tree.threshold == middle), below, nearest)
    return np.where(tree.threshold == KNOWN, np.inf, rounded.astype(np.float64))


def _export_error(node: int, what: str, way_out: str) -> ExportError:
    return ExportError(f"scikit-learn cannot hold the tree: node {node} {what}. {way_out} {_KEEP}")
