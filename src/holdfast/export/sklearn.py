"""Our trees become genuine scikit-learn trees, and ensembles that take a mean its forests.

scikit-learn rounds every value to float32 and then asks whether it is at most the threshold; we ask the value
itself. So a row can change sides only if float32 cannot tell its value from the threshold.
"""

from typing import Any

import numpy as np

from holdfast.adapters.reading import nearest_float32
from holdfast.arrays import FloatArray
from holdfast.data.schema import Schema
from holdfast.errors import ExportError
from holdfast.export.edges import Scale
from holdfast.export.plain_model import PlainModel, found_model
from holdfast.export.scored import Rows, Scored, n_rows_of
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import KNOWN, LEAF, Tree, label_array

# Criteria that both know by one name: the exported model has it, so that a drawing names its impurity.
_SHARED_CRITERIA = ("gini", "entropy", "log_loss", "squared_error", "poisson")
_UNDEFINED = -2  # scikit-learn's feature and threshold of a leaf
_KEEP = "or keep the tree as a file of holdfast: save(tree, 'tree.json')."


def to_sklearn(model: Any) -> Any:
    """A fitted model of scikit-learn that predicts as ours does: a tree, an ensemble, or an estimator of one.

    A tree becomes a DecisionTreeClassifier or DecisionTreeRegressor, an ensemble that takes the mean of its
    trees a RandomForestClassifier or RandomForestRegressor; an ExportError says why another one cannot.

    It reads the columns of the schema as numbers, ordered categories as their positions. scikit-learn rounds
    values to float32: a row can get another prediction if that makes a value equal to the threshold it is
    compared with. Of tied classes it predicts the first: where ours is another, its fraction is one last bit
    more. Splits on categories and on questions cannot be expressed: an ExportError names them.
    """
    model = found_model(model)
    if model.loss_matrix is not None:
        raise ExportError(
            "The model predicts by a loss matrix or a threshold, and scikit-learn's predict the most likely "
            "class. Export it without, to_sklearn(model.replace(loss_matrix=None)), and decide by "
            "its probabilities."
        )
    return _sklearn_forest(model) if isinstance(model, Ensemble) else _sklearn_model(_without_ties(model))


def _sklearn_model(tree: Tree) -> Any:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    _check_expressible(tree)
    model = DecisionTreeClassifier() if tree.schema.target.is_classes else DecisionTreeRegressor()
    _describe(model, tree.schema, tree.criterion)
    model.max_features_ = model.n_features_in_
    model.tree_ = _sklearn_tree(tree)
    return model


def _without_ties(tree: Tree) -> Tree:
    """The tree with a last bit more for our class of a tie, where scikit-learn would predict the first."""
    value, outcome = tree.value.copy(), tree.outcome
    nodes = np.flatnonzero(value.argmax(axis=1) != outcome)
    value[nodes, outcome[nodes]] = np.nextafter(value[nodes, outcome[nodes]], 2.0)
    return tree.replace(value=value)


def _sklearn_forest(ensemble: Ensemble) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    _check_is_mean(ensemble)
    members = [_forest_member(ensemble, position) for position in range(len(ensemble))]
    kind = RandomForestClassifier if ensemble.schema.target.is_classes else RandomForestRegressor
    forest = kind(n_estimators=len(members))
    _describe(forest, ensemble.schema, ensemble[0].criterion)
    forest.estimator_ = type(members[0])()
    forest.estimators_ = members
    return forest


def _forest_member(ensemble: Ensemble, position: int) -> Any:
    try:
        member = _sklearn_model(ensemble[position])
    except ExportError as error:
        raise ExportError(f"tree {position} of the ensemble: {error}") from error
    if ensemble.schema.target.is_classes:
        member.classes_ = np.arange(float(member.n_classes_))  # a member of a forest knows numbers only
    if hasattr(member, "feature_names_in_"):
        del member.feature_names_in_  # the forest hands it an array
    return member


def _describe(model: Any, schema: Schema, criterion: str) -> None:
    """Give the model what scikit-learn keeps of the data it was fitted to."""
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


def _check_is_mean(ensemble: Ensemble) -> None:
    """Nothing, or an ExportError that says why the ensemble is no plain mean of its trees."""
    if ensemble.link != "mean":
        found = f"it adds up its trees and has the link {ensemble.link!r}"
    elif ensemble.votes:
        found = "its trees vote"
    elif np.ptp(ensemble.weights) > 0:
        found = f"its trees weigh from {ensemble.weights.min():g} to {ensemble.weights.max():g}"
    else:
        return
    raise ExportError(
        "to_sklearn exports ensembles whose prediction is the mean of their trees, and this is another one: "
        f"{found}. Export its trees one by one with to_sklearn(ensemble[0]), or keep the ensemble as a file "
        "of holdfast: save(ensemble, 'ensemble.json')."
    )


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
    """The nearest float32: all values up to the threshold round to it, or to less.

    A threshold half-way between two neighbours in float32 goes to the lower one instead. It is what growing
    on float32 data puts between these two values, and rounding it to the upper would send both left.
    """
    nearest = nearest_float32(tree.threshold)
    below = np.nextafter(nearest, np.float32(-np.inf))
    middle = below.astype(np.float64) / 2 + nearest.astype(np.float64) / 2
    rounded = np.where((nearest > tree.threshold) & (tree.threshold == middle), below, nearest)
    return np.where(tree.threshold == KNOWN, np.inf, rounded.astype(np.float64))


def _check_expressible(tree: Tree) -> None:
    """Nothing, or an ExportError that names the first split that scikit-learn cannot make."""
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        feature = tree.schema.features[tree.feature[node]]
        if feature.kind == "question":
            raise _export_error(node, f"asks the question {feature.name!r}", "Add its answer as a column,")
        if feature.is_subset:
            what = f"splits the categories of column {feature.name!r}"
            raise _export_error(node, what, "Grow the tree on one-hot columns,")
        threshold = tree.threshold[node]
        if threshold < KNOWN and np.isinf(nearest_float32(threshold)):
            what = f"compares column {feature.name!r} with {threshold:g}, beyond the range of float32"
            raise _export_error(node, what, "Rescale the column,")


def _export_error(node: int, what: str, way_out: str) -> ExportError:
    return ExportError(f"scikit-learn cannot hold the tree: node {node} {what}. {way_out} {_KEEP}")


# -- running it -------------------------------------------------------------------------------------------


def _beside(number: float, side: float) -> float:
    return float(np.nextafter(np.float32(number), np.float32(side)))


SCALE = Scale(_beside, is_exact=False)  # it rounds all numbers to float32, thresholds too


def scored(exported: Any, plain: PlainModel, rows: Rows) -> Scored:
    """What the model of scikit-learn says of the rows: columns that it does not ask about are missing."""
    import sklearn

    names = [f"x{place}" for place in range(exported.n_features_in_)]
    names = list(getattr(exported, "feature_names_in_", names))
    matrix = np.full((n_rows_of(rows), len(names)), np.nan)
    for feature in plain.columns:
        places = {label: float(place) for place, label in enumerate(feature.categories)}
        codes = [places.get(value, np.nan) if places else value for value in rows[feature.name]]
        matrix[:, names.index(feature.name)] = np.array(codes, np.float64)
    engine = f"scikit-learn {sklearn.__version__}"
    if not plain.target.is_classes:
        return Scored(exported.predict(matrix)[:, None], None, engine)
    return Scored(exported.predict_proba(matrix), exported.predict(matrix).tolist(), engine)
