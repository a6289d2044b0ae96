"""Convert trees of XGBoost.

XGBoost rounds every value to float32 and sends it left if it is below the threshold. The threshold here is
the largest float64 that XGBoost sends left. It lists the categories that go right. Values are computed in
single precision, as XGBoost does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import FloatArray
from holdfast.adapters.boosted import (
    CategorySet,
    ForeignModel,
    ForeignTree,
    average_subtrees,
    build_trees,
    compute_impurity,
    get_only_member,
    is_kind,
    make_nominal,
    make_objective_error,
    make_score_note,
    read_classes,
    read_column_names,
    read_labels,
    read_score_trees,
    round_down_to_float64,
    span_features,
    sum_subtrees,
    walk_nodes,
)
from holdfast.data.columns import to_label
from holdfast.data.schema import Feature, Label, Schema
from holdfast.errors import DataError, SchemaMismatch
from holdfast.tree.build import Nodes
from holdfast.tree.tree import KNOWN, LEAF, Tree

Floats32 = NDArray[np.float32]

INTEGER_CLASSES = True  # from 0, and all of them
_CRITERION = "gain"
_COVER_NOTE = (
    "XGBoost keeps no numbers of rows: counts and weights are its covers, sums of second derivatives."
)

# The objectives by what is done to a raw score.
_SIGMOID = ("binary:logistic", "reg:logistic")
_EXPONENTIAL = ("count:poisson", "reg:gamma", "reg:tweedie")
_IDENTITY = (
    "reg:squarederror",
    "reg:squaredlogerror",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:quantileerror",
)


def is_tree(model: Any) -> bool:
    """Return True for an XGBoost model with any number of trees."""
    return is_kind(model, "Booster", "XGBModel")


is_forest = is_tree


def read_tree(model: Any, schema: Schema | None = None, classes: tuple[Any, ...] | None = None) -> Tree:
    """Convert a fitted XGBoost model with one tree, with probabilities or predictions."""
    learner = _learner(model)
    document = get_only_member(type(model).__name__, _trees(learner))
    labels, of_margins = _prediction(model, learner)
    columns = read_columns(learner, schema)
    start = np.float32(_base_margin(learner)[0])
    member = _member(document, columns, lambda scores: of_margins(start + scores), *_notes(learner))
    return build_trees(_model(columns, read_labels(labels, classes), [member]), schema)[0]


def forest_trees(model: Any, schema: Schema | None = None) -> list[Tree]:
    """Convert all trees of a fitted XGBoost model, with raw scores, round by round."""
    learner = _learner(model)
    columns = read_columns(learner, schema)
    documents = _trees(learner)
    n_classes = int(learner["learner_model_param"]["num_class"])
    labels = read_classes(model, n_classes) if n_classes > 1 else (None,)
    owners = learner["gradient_booster"]["model"]["tree_info"]
    members = [
        _member(
            document,
            columns,
            lambda scores: scores[:, None].astype(np.float64),
            make_score_note(place, len(documents), labels[owner]),
            *_notes(learner),
        )
        for place, (document, owner) in enumerate(zip(documents, owners, strict=True))
    ]
    return read_score_trees(_model(columns, (), members), schema)


def base_score(model: Any) -> FloatArray:
    """Return the raw score that XGBoost adds to its trees: a number, or one per class."""
    return _base_margin(_learner(model)).astype(np.float64)


# -- the model --------------------------------------------------------------------------------------------


def _learner(model: Any) -> dict[str, Any]:
    """Dump the rounds that the model predicts with."""
    booster = model
    if is_kind(model, "XGBModel"):
        booster = model.get_booster()
        if not isnan(model.missing):
            raise DataError(
                f"The {type(model).__name__} takes {model.missing} for missing, and a tree here NaN only: "
                "fit it with missing=np.nan, and with NaN for the missing values."
            )
        # After early stopping the models predict with the best rounds, and a Booster with all.
        if booster.attr("best_iteration") is not None:
            booster = booster[: int(booster.attr("best_iteration")) + 1]
    if not _count_rounds(booster):
        raise DataError(f"The {type(model).__name__} holds no tree: train it for one round or more.")
    learner: dict[str, Any] = json.loads(bytes(booster.save_raw("json")))["learner"]
    _check_readable(type(model).__name__, learner)
    return learner


def _count_rounds(booster: Any) -> int:
    try:
        return int(booster.num_boosted_rounds())
    except ValueError:  # with which XGBoost answers for a Booster that never saw data
        return 0


def _check_readable(kind: str, learner: Mapping[str, Any]) -> None:
    name = learner["gradient_booster"]["name"]
    if name != "gbtree":
        reason = "has no trees" if name == "gblinear" else "changes the weights of its trees in every round"
        raise DataError(f"The {kind} was fitted with booster={name!r}, which {reason}: use booster='gbtree'.")
    n_targets = int(learner["learner_model_param"]["num_target"])
    if n_targets > 1:
        raise DataError(
            f"The model predicts {n_targets} targets at once, and a tree here predicts one: "
            "fit one model for each target."
        )
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in _trees(learner)):
        raise DataError(
            f"The leaves of the {kind} hold a score for each class, and a leaf here holds one: "
            "fit it with multi_strategy='one_output_per_tree'."
        )


def _trees(learner: Mapping[str, Any]) -> list[dict[str, Any]]:
    trees: list[dict[str, Any]] = learner["gradient_booster"]["model"]["trees"]
    return trees


def _model(columns: ColumnLabels, labels: tuple[Label, ...], members: Sequence[ForeignTree]) -> ForeignModel:
    """Read the model; numeric features range from lowest to highest threshold."""
    numeric = span_features(columns.names, (member.nodes for member in members))
    features = tuple(
        make_nominal(feature.name, columns.categories[index]) if index in columns.categories else feature
        for index, feature in enumerate(numeric)
    )
    return ForeignModel(features, labels, members, _CRITERION)


# -- what it predicts -------------------------------------------------------------------------------------


def _notes(learner: Mapping[str, Any]) -> tuple[str, ...]:
    """Make the note on covers; those of squared errors are row weights."""
    return () if _objective(learner) == "reg:squarederror" else (_COVER_NOTE,)


def _objective(learner: Mapping[str, Any]) -> str:
    return str(learner["objective"]["name"])


def _prediction(
    model: Any, learner: Mapping[str, Any]
) -> tuple[tuple[Label, ...], Callable[[Floats32], FloatArray]]:
    """Return the classes (none for regression) and the function from raw scores and base to values."""
    objective = _objective(learner)
    if objective == "binary:logistic" and not is_kind(model, "XGBRegressor"):
        return read_classes(model, 2), _shares
    if is_kind(model, "XGBClassifier"):
        raise make_objective_error(type(model).__name__, objective)
    if objective in _SIGMOID:
        return (), lambda margins: _shares(margins)[:, 1:]
    if objective in _EXPONENTIAL:
        return (), lambda margins: np.exp(margins)[:, None].astype(np.float64)
    if objective in _IDENTITY:
        return (), lambda margins: margins[:, None].astype(np.float64)
    raise make_objective_error(type(model).__name__, objective)


def _shares(margins: Floats32) -> FloatArray:
    with np.errstate(over="ignore"):
        positive = np.float32(1.0) / (np.float32(1.0) + np.exp(-margins))
    return np.column_stack([np.float32(1.0) - positive, positive]).astype(np.float64)


def _base_margin(learner: Mapping[str, Any]) -> Floats32:
    """Return the base score on the scale of raw scores."""
    text = learner["learner_model_param"]["base_score"]
    base: Floats32 = np.array([float(number) for number in text.strip("[]").split(",")], np.float32)
    if _objective(learner) in _SIGMOID:
        base = np.log(base / (np.float32(1.0) - base))
    elif _objective(learner) in _EXPONENTIAL:
        base = np.log(base)
    return base


# -- its nodes --------------------------------------------------------------------------------------------


def _member(
    document: Mapping[str, Any],
    columns: ColumnLabels,
    of_scores: Callable[[Floats32], FloatArray],
    *notes: str,
) -> ForeignTree:
    # Pruned nodes stay in the document: only those below the root are in use.
    places, left, right = walk_nodes(0, lambda place: _children(document, place))
    is_leaf = left == LEAF
    conditions = np.array(document["split_conditions"], np.float32)[places]
    weight = sum_subtrees(np.where(is_leaf, _pick(document, "sum_hessian", places), 0.0), left, right)
    gain = np.where(is_leaf, 0.0, _pick(document, "loss_changes", places))
    chosen = _read_sets(document, places, columns)
    is_set = np.isin(np.arange(len(places)), list(chosen))
    nodes = Nodes(
        feature=np.where(is_leaf, LEAF, _pick(document, "split_indices", places)).astype(np.int32),
        threshold=np.where(is_leaf | is_set, nan, _thresholds(conditions)),
        left=left,
        right=right,
        missing_left=_pick(document, "default_left", places).astype(np.bool_),
        value=average_subtrees(of_scores(np.where(is_leaf, conditions, np.float32(0))), weight, left, right),
        count=weight,
        weight=weight,
        impurity=compute_impurity(gain, weight, left, right),
    )
    return ForeignTree(nodes, chosen, notes)


def _children(document: Mapping[str, Any], place: int) -> tuple[int, int] | None:
    left, right = document["left_children"][place], document["right_children"][place]
    return None if left == LEAF else (left, right)


def _pick(document: Mapping[str, Any], name: str, places: Sequence[int]) -> FloatArray:
    return np.array(document[name], np.float64)[places]


def _thresholds(conditions: Floats32) -> FloatArray:
    """Return the largest float64 that rounds, in float32, to less than the condition."""
    below = np.nextafter(conditions, np.float32(-np.inf)).astype(np.float64)
    return np.maximum(round_down_to_float64(below), -KNOWN)


def _read_sets(
    document: Mapping[str, Any], places: Sequence[int], columns: ColumnLabels
) -> dict[int, CategorySet]:
    """Return the categories that go right, by split."""
    position = {place: index for index, place in enumerate(places)}
    chosen = {}
    for place, start, size in zip(
        document["categories_nodes"],
        document["categories_segments"],
        document["categories_sizes"],
        strict=True,
    ):
        if place in position:
            labels = columns.categories[document["split_indices"][place]]
            codes = document["categories"][start : start + size]
            chosen[position[place]] = CategorySet(
                frozenset(labels[code] for code in codes if code < len(labels)), go_left=False
            )
    return chosen


# -- Columns -------------------------------------------------------------------------------------------------


class ColumnLabels(NamedTuple):
    """Names of the columns, and labels of the categorical ones in the order of their codes."""

    names: list[str]
    categories: Mapping[int, tuple[Label, ...]]


def read_columns(learner: Mapping[str, Any], schema: Schema | None) -> ColumnLabels:
    """Read the columns of the model; a schema supplies what XGBoost loses."""
    n_columns = int(learner["learner_model_param"]["num_feature"])
    names = read_column_names(learner["feature_names"] or None, n_columns, schema)
    encodings = learner["gradient_booster"]["model"].get("cats", {}).get("enc", [])
    ours = {feature.name: feature for feature in schema.columns} if schema else {}
    categories = {
        index: _categories(names[index], encodings[index] if encodings else {}, ours.get(names[index]))
        for index, kind in enumerate(learner["feature_types"])
        if kind == "c"
    }
    return ColumnLabels(names, categories)


def _categories(name: str, encoding: Mapping[str, Any], ours: Feature | None) -> tuple[Label, ...]:
    values, ends = encoding.get("values"), encoding.get("offsets")
    if not values:
        labels = ours.categories if ours else ()
        if not labels or not all(isinstance(label, int) and label >= 0 for label in labels):
            raise SchemaMismatch(
                f"The model was fitted on codes of column {name!r}, and does not list them. Give "
                f"the schema of a table read from the same codes, categorical_features=[{name!r}], or fit "
                "the model on a frame with a categorical column."
            )
        return tuple(range(max(map(int, labels)) + 1))
    if ends is None:
        return tuple(map(to_label, values))
    text = bytes(number % 256 for number in values)
    return _ascii(text, ends) if text.isascii() else _other_text(name, text, ends, ours)


def _ascii(text: bytes, ends: Sequence[int]) -> tuple[Label, ...]:
    """Cut the text into labels."""
    return tuple(text[start:end].decode() for start, end in pairwise(ends))


def _other_text(name: str, text: bytes, ends: Sequence[int], ours: Feature | None) -> tuple[Label, ...]:
    """Return the schema's labels if they agree with the text.

    XGBoost counts the characters of a pandas label and then keeps as many bytes, which cuts off what is not
    ASCII. The schema's labels must give the same bytes, either whole or cut in that way.
    """
    labels = tuple(str(label) for label in ours.categories) if ours else ()
    if [0, *accumulate(map(len, labels))] == list(ends) and _is_cut_from(text, labels):
        return labels
    parts = [text[start:end] for start, end in pairwise(ends)]
    whole = {label.encode(): label for label in labels}
    if all(part in whole for part in parts):
        return tuple(whole[part] for part in parts)
    raise SchemaMismatch(
        f"XGBoost keeps categories of column {name!r} that are not ASCII cut to pieces. Give the schema of a "
        "table with the same categories, all of them and in the same order, or rename them."
    )


def _is_cut_from(text: bytes, labels: Sequence[str]) -> bool:
    """True if the text is the beginning of the labels, and too short for the last of them at most.

    If two were cut off, their order would be unknown.
    """
    return "".join(labels).encode().startswith(text) and len("".join(labels[:-1]).encode()) <= len(text)
