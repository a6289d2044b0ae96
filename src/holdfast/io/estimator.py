"""Fitted estimators and the part of the document that makes them again from their tree or ensemble."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from inspect import get_annotations
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._text import quoted
from holdfast.data.columns import to_label
from holdfast.data.schema import Label
from holdfast.ensembles.importances import Spread, importances
from holdfast.errors import ModelFileError, ModelFileWarning, ParameterError
from holdfast.estimators.base import ClassifierBase
from holdfast.estimators.boosting import AdaBoostClassifier, BoostingClassifier, BoostingRegressor
from holdfast.estimators.density import DensityTree
from holdfast.estimators.forest import (
    BaggedEstimator,
    BaggingClassifier,
    BaggingRegressor,
    EnsembleEstimator,
    ForestClassifier,
    ForestRegressor,
)
from holdfast.estimators.stable import StableTreeClassifier, StableTreeEstimator, StableTreeRegressor
from holdfast.estimators.tree import TreeClassifier, TreeRegressor
from holdfast.growth.rules import GrowthRules
from holdfast.io.convert import (
    TABLES,
    density_in,
    density_part,
    gapped,
    metric_in,
    metric_part,
    table_in,
    table_part,
)
from holdfast.io.document import ChoicePart, EstimatorPart, MappingPart, Parameter, PermutationPart
from holdfast.parallel.tasks import check_jobs
from holdfast.stable.consensus.teacher import check_teacher
from holdfast.stable.frontier import Frontier
from holdfast.stable.selection import Choice, mark_choice
from holdfast.stable.settings import BY_NUMBER, StabilityRules
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree, label_array

# Every estimator that a file may name. Nothing else is ever called by name.
ESTIMATORS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        AdaBoostClassifier,
        BaggingClassifier,
        BaggingRegressor,
        BoostingClassifier,
        BoostingRegressor,
        DensityTree,
        ForestClassifier,
        ForestRegressor,
        StableTreeClassifier,
        StableTreeRegressor,
        TreeClassifier,
        TreeRegressor,
    )
}
# Attributes that the file holds as they are, where the estimator has them.
NUMBERS: dict[str, type] = {
    "ccp_alpha_": float,
    "decision_threshold_": float,
    "max_depth_": int,
    "max_leaf_nodes_": int,
    "max_features_": int,
    "min_samples_leaf_": int,
    "n_estimators_": int,
    "oob_score_": float,
    "oob_score_error_": float,
    "positive_class_": int,
    "n_rows_effective_": float,
    "shrinkage_": float,
    "teacher_loss_": float,
}
WEIGHTS = "teacher_weights_"  # a number for each part of a teacher
ARRAYS = (
    "estimator_errors_",
    "oob_improvement_",
    "oob_scores_",
    "train_loss_",
    "validation_loss_",
)
# Attributes that are made again from the tree, the ensemble or the other parts of the document.
_MADE = (
    *("schema_", "n_features_in_", "feature_names_in_", "n_outputs_", "classes_", "n_classes_"),
    *("tree_", "ensemble_", "estimator_weights_", "importances_", "choice_", "instability_"),
    *("clusters_", "n_clusters_", "evidence_"),
)
_LABEL_TYPES = (
    *("bool", "object", "str", "float16", "float32", "float64"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
MOST_JOBS = 4096


# -- to the file ------------------------------------------------------------------------------------------


def is_estimator(model: Any) -> bool:
    """True if the model is an estimator of holdfast itself, not of a class derived from one."""
    return type(model) in ESTIMATORS.values()


def estimator_part(estimator: Any) -> EstimatorPart:
    """The part of the document on a fitted estimator; a warning names parameters that it cannot hold."""
    parameters, others = parameters_of(estimator)
    if others:
        warnings.warn(
            f"The file does not hold the parameters {quoted(others)} of the {type(estimator).__name__}: only "
            "text, numbers, lists and mappings of them can be written. A loaded model has their defaults.",
            ModelFileWarning,
            stacklevel=5,
        )
    fitted = vars(estimator)
    permutation = getattr(fitted.get("importances_"), "permutation", None)
    return EstimatorPart(
        name=type(estimator).__name__,
        parameters=parameters,
        left_out=_left_out(estimator, parameters, others),
        has_feature_names="feature_names_in_" in fitted,
        label_type=_label_type(fitted["classes_"]) if "classes_" in fitted else "",
        attributes={
            **{name: kind(fitted[name]) for name, kind in NUMBERS.items() if name in fitted},
            **{name: gapped(np.asarray(fitted[name])) for name in ARRAYS if name in fitted},
            **({WEIGHTS: dict(fitted[WEIGHTS])} if _has_named_weights(fitted) else {}),
        },
        tables={name: table_part(fitted[name]) for name in _tables_of(fitted)},
        permutation=None if permutation is None else _permutation_part(fitted["importances_"]),
        choice=_choice_part(fitted["choice_"]) if "choice_" in fitted else None,
        density=density_part(fitted["_density"]) if "_density" in fitted else None,
    )


def _has_named_weights(fitted: Mapping[str, Any]) -> bool:
    """True if the parts of the teacher have weights, and all of them are known by name."""
    return WEIGHTS in fitted and all(isinstance(part, str) for part in fitted[WEIGHTS])


def _tables_of(fitted: Mapping[str, Any]) -> list[str]:
    """The attributes that are tables of the kind that the file holds; that of a density tree is another."""
    return [name for name, kind in TABLES.items() if isinstance(fitted.get(name), kind)]


def _left_out(estimator: Any, parameters: Mapping[str, Any], others: Sequence[str]) -> tuple[str, ...]:
    """Parameters and attributes that the file does not hold, nor the one that it was loaded from."""
    fitted = vars(estimator)
    held = {*parameters, *NUMBERS, *ARRAYS, *_tables_of(fitted), *_MADE}
    if _has_named_weights(fitted):
        held.add(WEIGHTS)
    attributes = [name for name in fitted if name.endswith("_") and not name.startswith("_")]
    names = {*attributes, *fitted.get("_left_out", ())} - held
    return tuple(sorted(names | set(others)))


def _label_type(classes: NDArray[Any]) -> str:
    name = "str" if classes.dtype.kind == "U" else classes.dtype.name
    return name if name in _LABEL_TYPES else "object"


def _choice_part(choice: Choice) -> ChoicePart:
    return ChoicePart(
        candidate=int(choice.candidate), selection_rule=choice.selection_rule, reason=choice.reason
    )


def _permutation_part(importances: Any) -> PermutationPart:
    spread = importances.permutation
    return PermutationPart(
        metric=metric_part(importances.metric),
        mean=gapped(spread.mean),
        deviation=gapped(spread.deviation),
        error=gapped(spread.error),
    )


# -- from the file ----------------------------------------------------------------------------------------


def estimator_in(part: EstimatorPart, model: Tree | Ensemble) -> Any:
    """The fitted estimator that the part and its tree or ensemble, which is sound, make together."""
    estimator = _unfitted(part)
    _check_parts(estimator, part, model)
    _remember_columns(estimator, part, model)
    _remember_classes(estimator, part, model.schema.target.classes)
    _remember_attributes(estimator, part)
    if isinstance(model, Ensemble):
        _remember_ensemble(estimator, part, model)
    else:
        _remember_tree(estimator, part, model)
    estimator._left_out = part.left_out
    return estimator


def _check_parts(estimator: Any, part: EstimatorPart, model: Tree | Ensemble) -> None:
    """Nothing, or a ModelFileError if the parts are not those of such an estimator."""
    if isinstance(estimator, EnsembleEstimator) != isinstance(model, Ensemble):
        found = "an ensemble" if isinstance(model, Ensemble) else "one tree"
        raise ModelFileError(f"its estimator is a {part.name}, and it holds {found}.")
    is_stable, has_choice = isinstance(estimator, StableTreeEstimator), part.choice is not None
    is_sound = (
        has_choice == ("frontier_" in part.tables)
        and (is_stable or not has_choice)  # an updated tree has none
        and isinstance(estimator, DensityTree) == (part.density is not None)
        and (part.permutation is None or isinstance(estimator, BaggedEstimator))
    )
    if not is_sound:
        raise ModelFileError(f"its estimator is a {part.name}, and the parts of it are those of another one.")


def _unfitted(part: EstimatorPart) -> Any:
    """The estimator with its parameters, those that predictions depend on checked."""
    if part.name not in ESTIMATORS:
        raise ModelFileError(f"its estimator is {part.name[:40]!r}, and there are: {', '.join(ESTIMATORS)}.")
    estimator = ESTIMATORS[part.name]()
    estimator.set_params(**parameters_in(part.parameters, list(estimator.get_params(deep=False))))
    n_jobs = getattr(estimator, "n_jobs", None)
    try:
        estimator._check_policies()
        check_jobs(n_jobs)
    except ParameterError as error:
        raise ModelFileError(f"at estimator.parameters: {error}") from error
    if n_jobs is not None and abs(n_jobs) > MOST_JOBS:
        raise ModelFileError(f"at estimator.parameters: n_jobs={n_jobs} is beyond {MOST_JOBS}.")
    return estimator


def _remember_columns(estimator: Any, part: EstimatorPart, model: Tree | Ensemble) -> None:
    columns = model.schema.columns
    estimator.schema_ = model.schema
    estimator.n_outputs_ = 1
    estimator.n_features_in_ = len(columns)
    if part.has_feature_names:
        estimator.feature_names_in_ = np.array([column.name for column in columns], object)


def _remember_classes(estimator: Any, part: EstimatorPart, classes: tuple[Label, ...]) -> None:
    is_classifier, is_density = isinstance(estimator, ClassifierBase), isinstance(estimator, DensityTree)
    if is_classifier != bool(part.label_type) or bool(classes) != (is_classifier or is_density):
        raise ModelFileError(f"its estimator is a {part.name}, and it has {len(classes)} classes.")
    if is_classifier:
        estimator.classes_ = _class_array(classes, part.label_type)
        estimator.n_classes_ = len(classes)


def _class_array(classes: tuple[Label, ...], label_type: str) -> NDArray[Any]:
    """The classes as an array of the type that they had when the estimator was fitted."""
    if label_type not in _LABEL_TYPES:
        raise ModelFileError(f"at estimator.label_type: {label_type[:40]!r} is no type of labels.")
    try:
        found = label_array(classes) if label_type == "str" else np.array(classes, label_type)
    except (ValueError, OverflowError, TypeError):
        found = np.array((), object)
    if tuple(map(to_label, found.tolist())) != classes:
        raise ModelFileError(f"at estimator.label_type: classes cannot be of the type {label_type!r}.")
    return found


def _remember_attributes(estimator: Any, part: EstimatorPart) -> None:
    known = {name for kind in type(estimator).__mro__ for name in get_annotations(kind)}
    if strange := [name for name in (*part.attributes, *part.tables) if name not in known]:
        raise ModelFileError(f"its estimator is a {part.name}, which has no attribute {strange[0][:40]!r}.")
    for name, entry in part.attributes.items():
        if name in NUMBERS and isinstance(entry, int | float):
            value: Any = NUMBERS[name](entry)
        elif name in ARRAYS and isinstance(entry, tuple):
            value = np.array(entry, np.float64)
        elif name == WEIGHTS and isinstance(entry, dict):
            value = _teacher_weights(entry)
        else:
            raise ModelFileError(f"at estimator.attributes: {name[:40]!r} is of another kind.")
        setattr(estimator, name, value)
    for name, table in part.tables.items():
        if name not in TABLES:
            raise ModelFileError(f"at estimator.tables: {name[:40]!r} is no table.")
        setattr(estimator, name, table_in(name, table, estimator.schema_.target))


def _teacher_weights(entry: Mapping[str, float]) -> dict[str, float]:
    try:
        check_teacher(entry)
    except ParameterError as error:
        raise ModelFileError(f"at estimator.attributes.{WEIGHTS}: {error}") from None
    return dict(entry)


def _remember_ensemble(estimator: Any, part: EstimatorPart, ensemble: Ensemble) -> None:
    estimator.ensemble_ = ensemble
    _check_link(estimator, ensemble)
    if isinstance(estimator, AdaBoostClassifier):
        estimator.estimator_weights_ = ensemble.weights
    if not isinstance(estimator, BaggedEstimator):
        return
    estimator.importances_ = importances(ensemble.trees)
    if part.permutation is not None:
        spread = Spread(*(np.array(getattr(part.permutation, name), np.float64) for name in Spread._fields))
        if {len(each) for each in spread} != {len(ensemble.schema.features)}:
            raise ModelFileError("at estimator.permutation: it needs one number for each feature.")
        metric = metric_in(part.permutation.metric, ensemble.schema.target)
        estimator.importances_ = replace(estimator.importances_, permutation=spread, metric=metric)


def _check_link(estimator: Any, ensemble: Ensemble) -> None:
    """Nothing, or a ModelFileError if trees of such an estimator do not add up like this."""
    if isinstance(estimator, AdaBoostClassifier):
        is_sound = ensemble.votes and ensemble.link == "softmax"
    elif isinstance(estimator, BaggedEstimator):
        is_sound = ensemble.link == "mean"
    else:
        is_sound = not ensemble.votes and ensemble.link != "mean"
    if not is_sound:
        raise ModelFileError(
            f"its estimator is a {type(estimator).__name__}, and its trees are not those of one."
        )


def _remember_tree(estimator: Any, part: EstimatorPart, tree: Tree) -> None:
    estimator.tree_ = tree
    if part.density is not None:
        estimator._density = density_in(part.density, tree)
        estimator.clusters_, estimator.evidence_ = estimator._density.clusters, estimator._density.evidence
        estimator.n_clusters_ = tree.n_leaves
    if part.choice is not None:
        choice, frontier = part.choice, estimator.frontier_
        if choice.candidate >= len(frontier):
            raise ModelFileError(f"its choice is candidate {choice.candidate}, and it has {len(frontier)}.")
        estimator.frontier_ = _marked(estimator, frontier, choice)
        estimator.choice_ = Choice(
            choice.candidate, choice.selection_rule, choice.reason, estimator.frontier_
        )
        estimator.instability_ = float(frontier.instability[choice.candidate])


def _marked(estimator: Any, frontier: Frontier, choice: ChoicePart) -> Frontier:
    """The frontier with the choice; a rule that is not that of the parameters compares all candidates."""
    rule = estimator._selection_rule()
    is_named = choice.selection_rule == BY_NUMBER
    if is_named:
        rule = replace(rule, max_leaf_nodes=None)
    marked = mark_choice(frontier, rule, choice.candidate)
    is_its_own = choice.selection_rule == rule.selection_rule
    compared = () if marked.compared is None else marked.compared.places
    if is_named or (is_its_own and choice.candidate in compared):
        return marked
    return replace(marked, compared=None)


# -- The parameters of an estimator as plain values of JSON, and back ----------------------------------------

LOSSES = "loss_matrix"  # the parameter whose keys may be pairs of classes
RULES: dict[str, Any] = {
    "growth_rules": GrowthRules,
    "stability_rules": StabilityRules,
}  # parameters that are groups of plain values
OF_LISTS = ("interaction_cst", LOSSES)  # whose value may be a list of lists


class NotPlainError(Exception):
    """JSON cannot hold the value."""


# -- to the file ------------------------------------------------------------------------------------------


def parameters_of(estimator: Any) -> tuple[dict[str, Parameter], list[str]]:
    """The parameters that JSON can hold, by name, and the names of the others."""
    held: dict[str, Parameter] = {}
    others = []
    for name, value in estimator.get_params(deep=False).items():
        try:
            held[name] = (
                _rules_part(name, value) if name in RULES and value is not None else _part(name, value)
            )
        except NotPlainError:
            others.append(name)
    return held, others


def _rules_part(name: str, rules: Any) -> MappingPart:
    """The rules that differ from the defaults."""
    if not isinstance(rules, RULES[name]):
        raise NotPlainError
    values = {field.name: getattr(rules, field.name) for field in fields(rules)}
    changed = {
        field.name: values[field.name] for field in fields(rules) if values[field.name] != field.default
    }
    return MappingPart(keys=tuple(changed), values=tuple(_part(*item) for item in changed.items()))


def _part(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return MappingPart(keys=_keys(name, value), values=tuple(map(_scalar_or_list, value.values())))
    return _scalar_or_list(value)


def _scalar_or_list(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim in (1, 2):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(map(_scalar_or_inner_list, value))
    return _scalar(value)


def _scalar_or_inner_list(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    return tuple(map(_scalar, value)) if isinstance(value, list | tuple) else _scalar(value)


def _keys(name: str, mapping: Mapping[Any, Any]) -> tuple[Any, ...]:
    keys = tuple(map(_scalar_or_inner_list if name == LOSSES else _scalar, mapping))
    if None in keys or any(isinstance(key, tuple) and None in key for key in keys):
        raise NotPlainError
    return keys


def _scalar(value: Any) -> Any:
    """The value as Python's own text, number or flag, or None."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral) and -(2**63) <= int(value) < 2**63:
        return int(value)
    if isinstance(value, float | np.floating) and math.isfinite(value):
        return float(value)
    if isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value):
        return str(value)
    raise NotPlainError


# -- from the file ----------------------------------------------------------------------------------------


def parameters_in(parts: Mapping[str, Parameter], known: Sequence[str]) -> dict[str, Any]:
    """The parameters in the file; a ModelFileError names one that the estimator does not know."""
    if unknown := [name for name in parts if name not in known]:
        raise ModelFileError(f"its estimator has no parameter {unknown[0][:40]!r}.")
    for name, part in parts.items():
        if name not in OF_LISTS and isinstance(part, tuple) and any(isinstance(each, tuple) for each in part):
            raise ModelFileError(
                f"at estimator.parameters.{name}: Expected a list of labels, got one of lists."
            )
    return {
        name: _rules_in(name, part) if name in RULES else _value_in(part, name)
        for name, part in parts.items()
    }


def _rules_in(name: str, part: Parameter) -> GrowthRules | StabilityRules | None:
    if part is None:
        return None
    said = _value_in(part, name)
    if not isinstance(said, dict) or not set(said) <= {field.name for field in fields(RULES[name])}:
        raise ModelFileError(f"at estimator.parameters.{name}: they are no {name.replace('_', ' ')}.")
    try:
        rules: GrowthRules | StabilityRules = RULES[name](**said)
        return rules
    except ParameterError as error:
        raise ModelFileError(f"at estimator.parameters.{name}: {error}") from error


def _value_in(part: Any, name: str) -> Any:
    if isinstance(part, tuple):
        return [_value_in(entry, name) for entry in part]
    if not isinstance(part, MappingPart):
        return part
    if name != LOSSES and any(isinstance(key, tuple) for key in part.keys):
        raise ModelFileError(f"at estimator.parameters.{name[:40]}: Expected labels as keys, got lists.")
    if len(part.keys) != len(part.values) or len(set(part.keys)) != len(part.keys):
        raise ModelFileError(f"at estimator.parameters.{name}: each key must be there once, with one value.")
    of_entry = part.keys if name in RULES else [name] * len(part.keys)
    entries = zip(part.keys, part.values, of_entry, strict=True)
    return {key: _value_in(entry, str(own)) for key, entry, own in entries}
