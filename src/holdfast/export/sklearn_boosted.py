"""Sums of trees with a link become histogram gradient boosting of scikit-learn.

It compares floats of 64 bits, sends missing values the way that a node says, and holds up to 255 categories
of a column in sets: what we ask, it asks.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import FloatArray
from holdfast.data.schema import Feature, Schema
from holdfast.errors import ExportError
from holdfast.export.plain_model import PlainModel, PlainTree, Split, make_plain_model
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree, label_array

MOST_CATEGORIES = 255  # of a column
_WORDS = 8  # of 32 bits: the set of categories of a split


class _Columns(NamedTuple):
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
        raise _refused(
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


def _predictor(tree: Tree, plain: PlainTree, values: FloatArray, columns: _Columns) -> Any:
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


def _bitset(split: Split, columns: _Columns) -> NDArray[np.uint32]:
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
    rows = _cycled(columns, max(n_classes, 2, *map(len, columns)), any(has_categories))
    if n_classes:
        model = HistGradientBoostingClassifier(**settings).fit(rows, np.arange(len(rows)) % n_classes)
        model.classes_ = label_array(schema.target.classes)
    else:
        loss = "poisson" if plain.link == "exp" else "squared_error"
        model = HistGradientBoostingRegressor(loss=loss, **settings).fit(rows, np.ones(len(rows)))
    if any(has_categories):
        _type_categories(_encoder(model))
    _name_columns(model, schema)
    return model


def _encoder(model: Any) -> Any:
    """Make the encoder of categories."""
    return model._preprocessor.named_transformers_["encoder"]


def _type_categories(encoder: Any) -> None:
    """Convert numeric categories to numbers: among objects scikit-learn cannot look them up."""
    encoder.categories_ = [
        labels if any(isinstance(label, str) for label in labels) else np.array(labels.tolist())
        for labels in encoder.categories_
    ]


def _make_seen_values(feature: Feature, is_used: bool) -> Sequence[Any]:
    """Return the values of a column that scikit-learn must have seen."""
    labels = feature.categories
    if is_used and len(labels) > MOST_CATEGORIES:
        raise _refused(
            f"column {feature.name!r} has {len(labels):,} categories, and it holds {MOST_CATEGORIES}",
            "Join rare categories",
        )
    if is_used and len({isinstance(label, str) for label in labels}) > 1:
        raise _refused(
            f"the categories of column {feature.name!r} are text and numbers, which it cannot sort",
            "Turn all into text",
        )
    return (labels if is_used else labels[:1]) or (0.0,)


def _cycled(columns: Sequence[Sequence[Any]], n_rows: int, is_mixed: bool) -> NDArray[Any]:
    rows = np.empty((n_rows, len(columns)), object if is_mixed else np.float64)
    for place, values in enumerate(columns):
        for row in range(n_rows):
            rows[row, place] = values[row % len(values)]
    return rows


def _name_columns(model: Any, schema: Schema) -> None:
    """Set column names as if a frame had been fitted, also in the encoders."""
    names = np.array([feature.name for feature in schema.columns], object)
    if all(name == f"x{place}" for place, name in enumerate(names)):
        return
    model.feature_names_in_ = names
    if model._preprocessor is not None:
        model._preprocessor.feature_names_in_ = names
        _encoder(model).feature_names_in_ = names[model.is_categorical_]


def _columns(model: Any, schema: Schema) -> _Columns:
    has_categories = [bool(feature.categories) for feature in schema.columns]
    ordered = sorted(zip(has_categories, schema.columns, strict=True), key=lambda each: not each[0])
    place = {feature.name: number for number, (_, feature) in enumerate(ordered)}
    if not any(has_categories):
        return _Columns(place, {})
    seen = _encoder(model).categories_
    named = [feature.name for is_set, feature in ordered if is_set]
    codes = {
        name: {label: code for code, label in enumerate(labels.tolist())}
        for name, labels in zip(named, seen, strict=True)
    }
    return _Columns(place, codes)


def _refused(what: str, way_out: str) -> ExportError:
    return ExportError(
        f"scikit-learn cannot hold the ensemble: {what}. {way_out} and fit again, or keep the ensemble as a "
        "file of holdfast: save(ensemble, 'ensemble.json')."
    )
