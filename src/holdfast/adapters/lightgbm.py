"""Convert trees of LightGBM.

As here, a row goes left if its value is at most the threshold or its category is in the set. The side of a
missing value depends on the type of missingness that LightGBM gave the split.
"""

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import FloatArray
from holdfast._text import quoted
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
    sum_subtrees,
    walk_nodes,
)
from holdfast.data.columns import to_label
from holdfast.data.schema import Feature, Label, Schema
from holdfast.errors import DataError, SchemaMismatch
from holdfast.tree.build import Nodes
from holdfast.tree.tree import LEAF, Tree

_CRITERION = "gain"

# The objectives whose predictions are numbers, by what is done to a raw score.
_NUMBERS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), np.asarray),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), np.exp),
}


def is_tree(model: Any) -> bool:
    """Return True for a LightGBM model with any number of trees."""
    return is_kind(model, "Booster", "LGBMModel")


is_forest = is_tree


def read_tree(model: Any, schema: Schema | None = None, classes: tuple[Any, ...] | None = None) -> Tree:
    """Convert a fitted LightGBM model with one tree, with probabilities or predictions."""
    dump = _dump(model)
    structure = get_only_member(type(model).__name__, dump["tree_info"])["tree_structure"]
    labels, of_scores = _prediction(model, dump)
    labels = read_labels(labels, classes)
    columns = _columns(model, dump, schema)
    member = _member(structure, columns, of_scores)
    return build_trees(ForeignModel(columns.features, labels, [member], _CRITERION), schema)[0]


def forest_trees(model: Any, schema: Schema | None = None) -> list[Tree]:
    """Convert all trees of a fitted LightGBM model, with raw scores, round by round."""
    dump = _dump(model)
    columns = _columns(model, dump, schema)
    trees, n_classes = dump["tree_info"], dump["num_tree_per_iteration"]
    labels = read_classes(model, n_classes) if n_classes > 1 else (None,)
    members = [
        _member(
            tree["tree_structure"],
            columns,
            lambda scores: scores[:, None],
            make_score_note(place, len(trees), labels[place % n_classes]),
        )
        for place, tree in enumerate(trees)
    ]
    return read_score_trees(ForeignModel(columns.features, (), members, _CRITERION), schema)


def base_score(model: Any) -> FloatArray:
    """Return zeros: LightGBM puts its initial score into the first trees."""
    return np.zeros(_dump(model)["num_tree_per_iteration"])


def _booster(model: Any) -> Any:
    return model.booster_ if is_kind(model, "LGBMModel") else model


def _dump(model: Any) -> dict[str, Any]:
    """Dump the model up to its best round, as it predicts."""
    dump: dict[str, Any] = _booster(model).dump_model()
    if not dump["tree_info"]:
        raise DataError(f"The {type(model).__name__} holds no tree: train it for one round or more.")
    return dump


# -- what it predicts -------------------------------------------------------------------------------------


def _prediction(
    model: Any, dump: Mapping[str, Any]
) -> tuple[tuple[Label, ...], Callable[[FloatArray], FloatArray]]:
    """Return the classes (none for regression) and the function from raw scores to values."""
    name, *options = dump.get("objective", "custom").split()
    steepness = float(dict(option.split(":") for option in options if ":" in option).get("sigmoid", 1.0))
    if name == "binary" and not is_kind(model, "LGBMRegressor"):
        return read_classes(model, 2), lambda scores: _shares(steepness * scores)
    if name in ("binary", "cross_entropy"):
        return (), lambda scores: _shares(steepness * scores)[:, 1:]
    if name not in _NUMBERS or is_kind(model, "LGBMClassifier"):
        raise make_objective_error(type(model).__name__, dump.get("objective", "custom"))
    if "sqrt" in options:
        return (), lambda scores: (np.sign(scores) * scores**2)[:, None]
    return (), lambda scores: _NUMBERS[name](scores)[:, None]


def _shares(scores: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        positive = 1.0 / (1.0 + np.exp(-scores))
    return np.column_stack([1.0 - positive, positive])


# -- its columns ------------------------------------------------------------------------------------------


class _Columns(NamedTuple):
    """Columns of the model, and the labels of those that were categorical in a frame."""

    features: tuple[Feature, ...]
    labels: Mapping[int, tuple[Label, ...]]


def _columns(model: Any, dump: Mapping[str, Any], schema: Schema | None) -> _Columns:
    """Read the columns with the ranges and categories that LightGBM stores."""
    known = dump["feature_names"]
    is_unnamed = known == [f"Column_{index}" for index in range(len(known))]
    names = read_column_names(None if is_unnamed else _restore_spaces(known, schema), len(known), schema)
    infos = [dump["feature_infos"].get(name, {}) for name in known]  # a constant column has none
    booster = _booster(model)
    nominals = _nominal_columns(booster.params, infos)
    labels = _labels_of_codes(booster.pandas_categorical or [], names, nominals, infos, schema)
    features = tuple(
        _feature(name, infos[index], labels.get(index), is_nominal=index in nominals)
        for index, name in enumerate(names)
    )
    return _Columns(features, labels)


def _feature(
    name: str, info: Mapping[str, Any], labels: tuple[Label, ...] | None, *, is_nominal: bool
) -> Feature:
    if is_nominal:
        codes = [code for code in info.get("values", ()) if code >= 0]  # -1 stands for missing
        return make_nominal(name, codes if labels is None else labels)
    if labels is not None:
        return Feature(name, "ordered", 0.0, max(len(labels) - 1.0, 0.0), labels)
    return Feature(name, "numeric", float(info.get("min_value", 0.0)), float(info.get("max_value", 0.0)))


def _restore_spaces(names: Sequence[str], schema: Schema | None) -> list[str]:
    """Restore the spaces of names, which LightGBM replaces by underscores."""
    known = schema.names if schema else ()
    spaced = {name.replace(" ", "_"): name for name in known}
    return [name if name in known else spaced.get(name, name) for name in names]


def _nominal_columns(parameters: Mapping[str, Any], infos: Sequence[Mapping[str, Any]]) -> list[int]:
    """Find the columns that LightGBM splits by category sets."""
    declared = parameters.get("categorical_column", parameters.get("categorical_feature"))
    numbered = [index for index in declared if type(index) is int] if isinstance(declared, list) else []
    return sorted({*numbered, *(index for index, info in enumerate(infos) if info.get("values"))})


def _labels_of_codes(
    lists: Sequence[Sequence[Any]],
    names: Sequence[str],
    nominals: Sequence[int],
    infos: Sequence[Mapping[str, Any]],
    schema: Schema | None,
) -> dict[int, tuple[Label, ...]]:
    """Read labels of columns that were categorical in pandas, in the order of their codes.

    LightGBM keeps the labels of unordered and ordered columns, without the columns' names. It splits only
    unordered columns into sets; the schema identifies the ordered ones.
    """
    columns = list(nominals) if lists else []
    if schema is not None and len(lists) > len(columns):
        ordered = {feature.name for feature in schema.columns if feature.kind == "ordered"}
        columns = sorted({*columns, *(index for index, name in enumerate(names) if name in ordered)})
    if len(columns) != len(lists) or any(
        infos[column].get("max_value", 0) >= len(labels)
        for column, labels in zip(columns, lists, strict=True)
    ):
        raise SchemaMismatch(
            f"The model was fitted on a frame with {len(lists)} categorical columns, and splits "
            f"{len(nominals)} columns into sets of categories: {quoted(names[index] for index in nominals)}. "
            "It does not store which ones were categorical: give the schema of a table with the same ordered "
            "columns, or fit the model on a frame whose nominal columns all are unordered categoricals."
        )
    return {column: tuple(map(to_label, labels)) for column, labels in zip(columns, lists, strict=True)}


# -- its nodes --------------------------------------------------------------------------------------------


def _member(
    root: Mapping[str, Any], columns: _Columns, of_scores: Callable[[FloatArray], FloatArray], *notes: str
) -> ForeignTree:
    entries, left, right = walk_nodes(
        root, lambda entry: (entry["left_child"], entry["right_child"]) if "left_child" in entry else None
    )
    if any(entry.get("leaf_features") for entry in entries):
        raise DataError(
            "The leaves of the model hold linear functions of the columns, and a leaf here holds one value: "
            "fit it with linear_tree=False."
        )
    count = sum_subtrees(_numbers(entries, "leaf_count"), left, right)
    is_set = [entry.get("decision_type") == "==" for entry in entries]
    nodes = Nodes(
        feature=np.array([entry.get("split_feature", LEAF) for entry in entries], np.int32),
        threshold=np.array(
            [float(entry["threshold"]) if entry.get("decision_type") == "<=" else nan for entry in entries]
        ),
        left=left,
        right=right,
        missing_left=np.array([_missing_left(entry, columns) for entry in entries]),
        value=average_subtrees(of_scores(_numbers(entries, "leaf_value")), count, left, right),
        count=count,
        weight=count,
        impurity=compute_impurity(_numbers(entries, "split_gain"), count, left, right),
    )
    chosen = {place: _read_set(entries[place], columns) for place in np.flatnonzero(is_set).tolist()}
    return ForeignTree(nodes, chosen, notes)


def _numbers(entries: Sequence[Mapping[str, Any]], name: str) -> FloatArray:
    """Return the numbers of this name, 0 where an entry has none."""
    return np.array([entry.get(name, 0.0) for entry in entries], np.float64)


def _missing_left(entry: Mapping[str, Any], columns: _Columns) -> bool:
    """Return whether missing values go left; at category splits only chosen ones do."""
    if entry.get("decision_type") != "<=":
        return False
    zero_left = bool(entry["threshold"] >= 0.0)
    if entry["missing_type"] == "None":  # none was missing in training, and one that comes later is read as 0
        return zero_left
    if entry["missing_type"] == "Zero" and entry["default_left"] != zero_left:
        sides = ("left", "right") if entry["default_left"] else ("right", "left")
        raise DataError(
            f"The model sends 0 in column {columns.features[entry['split_feature']].name!r} {sides[0]} as a "
            f"missing value, and the numbers around it {sides[1]}: no threshold does that. Fit it with "
            "zero_as_missing=False, and with NaN for the missing values."
        )
    return bool(entry["default_left"])


def _read_set(entry: Mapping[str, Any], columns: _Columns) -> CategorySet:
    codes = map(int, entry["threshold"].split("||"))
    labels = columns.labels.get(entry["split_feature"])
    return CategorySet(frozenset(codes if labels is None else (labels[code] for code in codes)))
