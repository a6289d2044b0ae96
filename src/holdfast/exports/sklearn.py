"""A model as a genuine model of scikit-learn: a tree, forest, voting or gradient boosting model."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import FloatArray
from holdfast.adapters.boosted import round_to_float32
from holdfast.data.schema import Feature, Schema
from holdfast.errors import ExportError
from holdfast.exports.check import EnginePredictions, Rows, Scale, count_rows
from holdfast.exports.plain_model import PlainModel, PlainSplit, PlainTree, make_plain_model, unwrap_model
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import KNOWN, LEAF, Tree, label_array


def to_sklearn(model: Any) -> Any:
    """Export as a fitted scikit-learn tree or ensemble with the same predictions.

    A tree becomes a DecisionTreeClassifier or DecisionTreeRegressor; an ensemble that averages its trees, or
    lets them vote, a RandomForestClassifier or RandomForestRegressor, or a VotingClassifier or
    VotingRegressor if its trees have unequal weights. These read ordered categories as their positions and
    round values to float32, which changes the prediction of a row whose value becomes equal to a threshold.
    Where scikit-learn would break a tie between classes otherwise, the fraction of our class is larger by
    one unit in the last place. Splits on nominal categories cannot be expressed.

    Boosting and AdaBoost become a HistGradientBoostingClassifier or HistGradientBoostingRegressor, which
    compares numbers in 64 bits and takes columns of up to 255 categories as they are.

    Survival models become regressors of the relative risk.

    Parameters
    ----------
    model : Tree, Ensemble or fitted estimator

    Returns
    -------
    fitted scikit-learn estimator

    Raises
    ------
    ExportError
        If the model cannot be expressed: it has custom features, a loss matrix, and the like.

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0]], ["no", "no", "yes"]))
    >>> to_sklearn(tree).predict([[1.5]]).tolist()
    ['no']
    """
    found = unwrap_model(model)
    if found.loss_matrix is not None:
        raise ExportError(
            "The model predicts by a loss matrix or a threshold, and scikit-learn's predict the most likely "
            "class. Export it without, to_sklearn(model.replace(loss_matrix=None)), and decide by "
            "its probabilities."
        )
    if isinstance(found, Tree):
        return to_sklearn_tree(break_ties(found))
    return to_mean(found) if found.link == "mean" else to_boosting(found)


# -- running it -------------------------------------------------------------------------------------------


def scale_of(exported: Any) -> Scale:
    """Return the scale of the model: scikit-learn trees and forests round to float32."""
    if hasattr(exported, "_predictors"):
        return Scale()
    return Scale(
        lambda number, side: float(np.nextafter(np.float32(number), np.float32(side))), is_exact=False
    )


def predict_rows(exported: Any, plain: PlainModel, rows: Rows) -> EnginePredictions:
    """Predict with the scikit-learn model; columns that it does not use are missing."""
    import sklearn

    matrix = _matrix(exported, plain, rows)
    engine = f"scikit-learn {sklearn.__version__}"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        if not plain.target.is_classes:
            return EnginePredictions(exported.predict(matrix)[:, None], None, engine)
        return EnginePredictions(exported.predict_proba(matrix), exported.predict(matrix).tolist(), engine)


def _matrix(exported: Any, plain: PlainModel, rows: Rows) -> Any:
    names = [f"x{place}" for place in range(exported.n_features_in_)]
    names = list(getattr(exported, "feature_names_in_", names))
    keeps_labels = getattr(exported, "is_categorical_", None) is not None
    matrix = np.full((count_rows(rows), len(names)), np.nan, object if keeps_labels else np.float64)
    for feature in plain.columns:
        values = list(rows[feature.name])
        if feature.categories and not keeps_labels:
            places = {label: float(place) for place, label in enumerate(feature.categories)}
            values = [places.get(value, np.nan) for value in values]
        matrix[:, names.index(feature.name)] = [np.nan if value is None else value for value in values]
    return matrix


# -- One tree ------------------------------------------------------------------------------------------------

# Criteria that both know by one name: the exported model has it, so that a drawing names its impurity.
_SHARED_CRITERIA = ("gini", "entropy", "log_loss", "squared_error", "poisson")
_UNDEFINED = -2  # scikit-learn's feature and threshold of a leaf
_KEEP = "or keep the tree as a file of holdfast: save(tree, 'tree.json')."


def to_sklearn_tree(tree: Tree) -> Any:
    """Export as a DecisionTreeClassifier or DecisionTreeRegressor with the same nodes."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        feature = tree.schema.features[tree.feature[node]]
        if feature.kind == "custom":
            raise _make_error(node, f"splits on the custom feature {feature.name!r}", "Add it as a column,")
        if feature.is_subset:
            what = f"splits the categories of column {feature.name!r}"
            raise _make_error(node, what, "Grow the tree on one-hot columns,")
        threshold = tree.threshold[node]
        if threshold < KNOWN and np.isinf(round_to_float32(threshold)):
            what = f"compares column {feature.name!r} with {threshold:g}, beyond the range of float32"
            raise _make_error(node, what, "Rescale the column,")
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


def _make_error(node: int, what: str, way_out: str) -> ExportError:
    return ExportError(f"scikit-learn cannot hold the tree: node {node} {what}. {way_out} {_KEEP}")


# -- Averages and votes: a forest, or a voting model if the weights of the trees differ ----------------------


def to_mean(ensemble: Ensemble) -> Any:
    """Export as a random forest or, with unequal weights, as a VotingClassifier or VotingRegressor.

    A tree that votes has leaves that are certain of their class: the mean of these is the share of votes.
    """
    members = [_member(ensemble, position) for position in range(len(ensemble))]
    is_weighted = np.ptp(ensemble.weights) > 0
    return _voting(ensemble, members) if is_weighted else _forest(ensemble, members)


def _member(ensemble: Ensemble, position: int) -> Any:
    tree = ensemble[position]
    try:
        return to_sklearn_tree(
            tree.replace(value=np.eye(tree.value.shape[1])[tree.outcome]) if ensemble.votes else tree
        )
    except ExportError as error:
        raise ExportError(f"tree {position} of the ensemble: {error}") from error


def _forest(ensemble: Ensemble, members: list[Any]) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if ensemble.schema.target.is_classes else RandomForestRegressor
    forest = kind(n_estimators=len(members))
    set_fitted_attributes(forest, ensemble.schema, ensemble[0].criterion)
    for member in members:  # which predict numbers of classes from arrays, as the forest expects
        if hasattr(member, "classes_"):
            member.classes_ = np.arange(float(member.n_classes_))
        if hasattr(member, "feature_names_in_"):
            del member.feature_names_in_
    forest.estimator_ = type(members[0])()
    forest.estimators_ = members
    return forest


def _voting(ensemble: Ensemble, members: list[Any]) -> Any:
    from sklearn.ensemble import VotingClassifier, VotingRegressor
    from sklearn.preprocessing import LabelEncoder
    from sklearn.utils import Bunch

    named = [(f"tree{position}", member) for position, member in enumerate(members)]
    weights = ensemble.weights.tolist()
    if ensemble.schema.target.is_classes:
        model = VotingClassifier(named, voting="soft", weights=weights)
        model.le_ = LabelEncoder()
        model.le_.classes_ = model.classes_ = label_array(ensemble.schema.target.classes)
    else:
        model = VotingRegressor(named, weights=weights)
    model.estimators_, model.named_estimators_ = members, Bunch(**dict(named))
    if hasattr(members[0], "feature_names_in_"):
        model.feature_names_in_ = members[0].feature_names_in_
    return model


# -- Sums of trees with a link: histogram gradient boosting --------------------------------------------------

MOST_CATEGORIES = 255  # of a column
_WORDS = 8  # of 32 bits: the set of categories of a split


class _ColumnCodes(NamedTuple):
    """Column order of scikit-learn, which puts categorical ones first, with their codes."""

    place: dict[str, int]
    codes: dict[str, dict[Any, int]]


def to_boosting(ensemble: Ensemble) -> Any:
    """Export as a HistGradientBoosting model with the same predictions.

    It takes rows with the columns of the schema, categories as they are. Trees that give a value to every
    class, as those of AdaBoost, become one tree for each class, or one of the difference for two.
    """
    plain = make_plain_model(ensemble)
    if len(ensemble.schema.target.classes) == 1:
        raise _make_boosting_error(
            f"{ensemble.schema.target.name!r} has one class only, and it knows two or more",
            "Fit it to rows of both",
        )
    model = _fit_empty_model(ensemble.schema, plain)
    columns = _columns(model, ensemble.schema)
    n_scores = model.n_trees_per_iteration_
    sequences: list[list[Any]] = [[] for _ in range(n_scores)]
    for tree, nodes in zip(ensemble.trees, plain.trees, strict=True):
        for score, values in _by_score(nodes, plain, n_scores):
            sequences[score].append(_predictor(tree, nodes, values, columns))
    nothing = _predictor_of(np.zeros(1, _node_type()), [])
    nothing.nodes["is_leaf"] = nothing.nodes["count"] = 1
    n_rounds = max(len(trees) for trees in sequences)
    model._predictors = [
        [trees[place] if place < len(trees) else nothing for trees in sequences] for place in range(n_rounds)
    ]
    start = np.array(plain.start)
    if n_scores < plain.n_outputs:
        start = start[1:] - start[:1]
    model._baseline_prediction = (2.0 if plain.link == "double_logistic" else 1.0) * start.reshape(1, -1)
    return model.set_params(max_iter=len(model._predictors))


# -- scores -----------------------------------------------------------------------------------------------


def _by_score(tree: PlainTree, model: PlainModel, n_scores: int) -> list[tuple[int, FloatArray]]:
    """Return the scores that the tree adds to, with the value of every node (none for splits)."""
    width = len(next(iter(tree.leaves.values())).values)
    values = np.zeros((len(tree.nodes), model.n_outputs))
    for number, leaf in tree.leaves.items():
        values[number, tree.output : tree.output + width] = leaf.values
    if n_scores < model.n_outputs:
        return [(0, values[:, 1] - values[:, 0])]
    of_two = 2.0 if model.link == "double_logistic" else 1.0
    return [(tree.output + place, of_two * values[:, tree.output + place]) for place in range(width)]


# -- trees ------------------------------------------------------------------------------------------------


def _predictor(tree: Tree, plain: PlainTree, values: FloatArray, columns: _ColumnCodes) -> Any:
    nodes = np.zeros(tree.n_nodes, _node_type())
    nodes["value"], nodes["count"], nodes["depth"] = values, np.rint(tree.count), tree.node_depth
    nodes["is_leaf"] = True
    bitsets: list[NDArray[np.uint32]] = []
    for number, split in plain.splits.items():
        node = nodes[number]
        node["is_leaf"] = False
        node["left"], node["right"] = split.yes, split.no
        node["feature_idx"] = columns.place[split.feature.name]
        node["missing_go_to_left"] = split.missing_yes
        if split.in_yes is None:
            node["num_threshold"] = np.inf if split.threshold is None else split.threshold
        else:
            node["is_categorical"], node["bitset_idx"] = True, len(bitsets)
            bitsets.append(_bitset(split, columns))
        nodes[number] = node
    return _predictor_of(nodes, bitsets)


def _bitset(split: PlainSplit, columns: _ColumnCodes) -> NDArray[np.uint32]:
    codes = columns.codes[split.feature.name]
    bits = np.zeros(_WORDS, np.uint32)
    for label in split.in_yes or ():
        word, bit = divmod(codes[label], 32)
        bits[word] |= np.uint32(1 << bit)
    return bits


def _predictor_of(nodes: NDArray[Any], bitsets: Sequence[NDArray[np.uint32]]) -> Any:
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    sets = np.array(bitsets, np.uint32).reshape(-1, _WORDS)
    return TreePredictor(nodes, sets, sets)


def _node_type() -> Any:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    return PREDICTOR_RECORD_DTYPE


# -- the model around them --------------------------------------------------------------------------------


def _fit_empty_model(schema: Schema, plain: PlainModel) -> Any:
    """Fit a model that has seen every column, category and class, with no effect."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    has_categories = [bool(feature.categories) for feature in schema.columns]
    settings: dict[str, Any] = {"max_iter": 1, "early_stopping": False, "random_state": 0}
    if any(has_categories):
        settings["categorical_features"] = has_categories
    n_classes = len(schema.target.classes)
    used = {feature.name for feature in plain.columns}
    columns = [_make_seen_values(feature, feature.name in used) for feature in schema.columns]
    n_rows = max(n_classes, 2, *map(len, columns))
    rows = np.empty((n_rows, len(columns)), object if any(has_categories) else np.float64)
    for place, values in enumerate(columns):
        rows[:, place] = [values[row % len(values)] for row in range(n_rows)]
    if n_classes:
        model = HistGradientBoostingClassifier(**settings).fit(rows, np.arange(len(rows)) % n_classes)
        model.classes_ = label_array(schema.target.classes)
    else:
        loss = "poisson" if plain.link == "exp" else "squared_error"
        model = HistGradientBoostingRegressor(loss=loss, **settings).fit(rows, np.ones(len(rows)))
    if any(has_categories):  # numbers among objects cannot be looked up
        encoder = _encoder(model)
        encoder.categories_ = [
            labels if any(isinstance(label, str) for label in labels) else np.array(labels.tolist())
            for labels in encoder.categories_
        ]
    _name_columns(model, schema)
    return model


def _encoder(model: Any) -> Any:
    """Make the encoder of categories."""
    return model._preprocessor.named_transformers_["encoder"]


def _make_seen_values(feature: Feature, is_used: bool) -> Sequence[Any]:
    """Return the values of a column that scikit-learn must have seen."""
    labels = feature.categories
    if is_used and len(labels) > MOST_CATEGORIES:
        raise _make_boosting_error(
            f"column {feature.name!r} has {len(labels):,} categories, and it holds {MOST_CATEGORIES}",
            "Join rare categories",
        )
    if is_used and len({isinstance(label, str) for label in labels}) > 1:
        raise _make_boosting_error(
            f"the categories of column {feature.name!r} are text and numbers, which it cannot sort",
            "Turn all into text",
        )
    return (labels if is_used else labels[:1]) or (0.0,)


def _name_columns(model: Any, schema: Schema) -> None:
    """Set column names as if a frame had been fitted, also in the encoders."""
    names = np.array([feature.name for feature in schema.columns], object)
    if all(name == f"x{place}" for place, name in enumerate(names)):
        return
    model.feature_names_in_ = names
    if model._preprocessor is not None:
        model._preprocessor.feature_names_in_ = names
        _encoder(model).feature_names_in_ = names[model.is_categorical_]


def _columns(model: Any, schema: Schema) -> _ColumnCodes:
    has_categories = [bool(feature.categories) for feature in schema.columns]
    ordered = sorted(zip(has_categories, schema.columns, strict=True), key=lambda each: not each[0])
    place = {feature.name: number for number, (_, feature) in enumerate(ordered)}
    if not any(has_categories):
        return _ColumnCodes(place, {})
    seen = _encoder(model).categories_
    named = [feature.name for is_set, feature in ordered if is_set]
    codes = {
        name: {label: code for code, label in enumerate(labels.tolist())}
        for name, labels in zip(named, seen, strict=True)
    }
    return _ColumnCodes(place, codes)


def _make_boosting_error(what: str, way_out: str) -> ExportError:
    return ExportError(
        f"scikit-learn cannot hold the ensemble: {what}. {way_out} and fit again, or keep the ensemble as a "
        "file of holdfast: save(ensemble, 'ensemble.json')."
    )
