"""Fitted estimators and the part of the document that rebuilds them from their tree or ensemble."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from inspect import get_annotations
from numbers import Integral
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict
from numpy.typing import NDArray

from holdfast._arrays import FloatArray, LongArray, freeze
from holdfast._text import quoted
from holdfast.data.columns import to_label
from holdfast.data.schema import Label, Schema
from holdfast.ensembles.importances import Spread, compute_importances
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
from holdfast.estimators.survival import StableSurvivalTree, SurvivalForest, SurvivalTree
from holdfast.estimators.tree import TreeClassifier, TreeRegressor
from holdfast.explain.firmness import ReferenceTrees
from holdfast.growth.density import Density, HeldOutGain
from holdfast.growth.density_model import ClusterModel, StandardUnits
from holdfast.io.document import (
    ARRAY_ATTRIBUTES,
    NUMBER_ATTRIBUTES,
    TABLES,
    TEACHER_WEIGHTS,
    BaselinePart,
    ChoicePart,
    DensityPart,
    EstimatorPart,
    FittedPart,
    Parameter,
    PermutationPart,
)
from holdfast.io.tables import (
    build_frontier,
    build_metric,
    build_parameters,
    build_table,
    make_metric_part,
    make_table_part,
)
from holdfast.parallel.tasks import check_jobs
from holdfast.stable.consensus.teacher import check_teacher
from holdfast.stable.selection import Choice
from holdfast.stable.settings import GROUPS
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
        StableSurvivalTree,
        SurvivalForest,
        SurvivalTree,
        TreeClassifier,
        TreeRegressor,
    )
}
# Attributes that are rebuilt from the tree, the ensemble or the other parts of the document.
_REBUILT = (
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
    """True if the model is an estimator of holdfast itself, not of a derived class."""
    return type(model) in ESTIMATORS.values()


def make_estimator_part(estimator: Any, *, references: bool = True, stacklevel: int) -> EstimatorPart:
    """Describe a fitted estimator; a warning names parameters that the file cannot hold.

    With `references` the file has its reference trees, if it has any.
    """
    parameters, others = _list_parameters(estimator)
    if others:
        warnings.warn(
            f"The file does not hold the parameters {quoted(others)} of the {type(estimator).__name__}: only "
            "text, numbers, lists and mappings of them can be written. A loaded model has their defaults.",
            ModelFileWarning,
            stacklevel=stacklevel,
        )
    attributes = vars(estimator)
    part = _make_fitted_part(attributes)
    held = {*parameters, *_REBUILT, *(name for name, entry in asdict(part).items() if entry is not UNSET)}
    if references and "_references" in attributes:
        held.add("reference_trees_")
    public = [name for name in attributes if name.endswith("_") and not name.startswith("_")]
    lost = {*public, *attributes.get("_left_out", ())} - held  # also what the file it was loaded from lacked
    dtype = attributes["classes_"].dtype if "classes_" in attributes else None
    label_type = "" if dtype is None else "str" if dtype.kind == "U" else dtype.name
    return EstimatorPart(
        name=type(estimator).__name__,
        parameters=parameters,
        left_out=tuple(sorted(lost | set(others))),
        has_feature_names="feature_names_in_" in attributes,
        label_type=label_type if label_type in ("", *_LABEL_TYPES) else "object",
        fitted=part,
    )


def _make_fitted_part(attributes: Mapping[str, Any]) -> FittedPart:
    held: dict[str, Any] = {}
    for name, kind in NUMBER_ATTRIBUTES.items():
        if name in attributes:
            held[name] = float(attributes[name]) if kind is float else int(attributes[name])
    for name in ARRAY_ATTRIBUTES:
        if name in attributes:
            held[name] = np.asarray(attributes[name], np.float64)
    for name, table in TABLES.items():
        if isinstance(attributes.get(name), table):  # that of a density tree is another
            held[name] = make_table_part(name, attributes[name])
    weights = attributes.get(TEACHER_WEIGHTS)
    if weights is not None and all(isinstance(part, str) for part in weights):
        held[TEACHER_WEIGHTS] = dict(weights)
    found: Any = attributes.get("importances_")
    if getattr(found, "permutation", None) is not None:
        held["permutation"] = PermutationPart(make_metric_part(found.metric), *found.permutation)
    if choice := attributes.get("choice_"):
        held["choice_"] = ChoicePart(int(choice.candidate), choice.selection_rule, choice.reason)
        baseline = attributes["frontier_"].baseline
        if baseline is not None and not baseline.is_better:
            figures = [float(each) for each in (*baseline.score, baseline.ratio)]
            score, error, ratio = (each if math.isfinite(each) else None for each in figures)
            held["baseline"] = BaselinePart(score, error, ratio, int(baseline.n_rows))
    if density := attributes.get("_density"):
        held["density"] = _make_density_part(density)
    return FittedPart(**held)


def list_candidates(estimator: Any) -> dict[int, Tree]:
    """List the candidates that a file keeps: those that are efficient, and all consensus trees.

    The chosen one is the tree of the file.
    """
    attributes = vars(estimator)
    if "frontier_" not in attributes:
        return {}
    frontier, chosen = estimator.frontier_, estimator.choice_.candidate
    if (known := attributes.get("_candidates")) is not None:
        return {number: tree for number, tree in known.items() if number != chosen}
    trees = estimator.trained_.candidates.trees
    kept = np.ones(len(frontier), np.bool_) if frontier.has_teacher else frontier.efficient
    return {number: trees[number] for number in np.flatnonzero(kept).tolist() if number != chosen}


# -- from the file ----------------------------------------------------------------------------------------


def build_estimator(part: EstimatorPart, model: Tree | Ensemble) -> Any:
    """Build the fitted estimator of the part and its tree or ensemble, which is sound."""
    try:
        return _build_estimator(part, model)
    except ParameterError as error:
        raise ModelFileError(f"at estimator: {error}") from error


def _build_estimator(part: EstimatorPart, model: Tree | Ensemble) -> Any:
    estimator = _make_unfitted(part)
    _check_parts(estimator, part, model)
    estimator.schema_, columns = model.schema, model.schema.columns
    estimator.n_outputs_, estimator.n_features_in_ = 1, len(columns)
    if part.has_feature_names:
        estimator.feature_names_in_ = np.array([column.name for column in columns], object)
    _set_classes(estimator, part, model.schema.target.classes)
    _set_attributes(estimator, part)
    if isinstance(model, Ensemble):
        _set_ensemble(estimator, part.fitted.permutation, model)
    else:
        _set_tree(estimator, part, model)
    estimator._left_out = part.left_out
    return estimator


def _make_unfitted(part: EstimatorPart) -> Any:
    """Make the estimator with its parameters; those that predictions depend on are checked."""
    if part.name not in ESTIMATORS:
        raise ModelFileError(f"its estimator is {part.name[:40]!r}, and there are: {', '.join(ESTIMATORS)}.")
    estimator = ESTIMATORS[part.name]()
    if unknown := [name for name in part.parameters if name not in estimator.get_params(deep=False)]:
        raise ModelFileError(f"its estimator has no parameter {unknown[0][:40]!r}.")
    estimator.set_params(**build_parameters(part))
    n_jobs = getattr(estimator, "n_jobs", None)
    estimator._check_policies()
    check_jobs(n_jobs)
    if n_jobs is not None and abs(n_jobs) > MOST_JOBS:
        raise ModelFileError(f"at estimator.parameters: n_jobs={n_jobs} is beyond {MOST_JOBS}.")
    return estimator


def _check_parts(estimator: Any, part: EstimatorPart, model: Tree | Ensemble) -> None:
    """Raise a ModelFileError if the parts are not those of such an estimator."""
    if isinstance(estimator, EnsembleEstimator) != isinstance(model, Ensemble):
        found = "an ensemble" if isinstance(model, Ensemble) else "one tree"
        raise ModelFileError(f"its estimator is a {part.name}, and it holds {found}.")
    fitted = part.fitted
    is_stable, has_choice = isinstance(estimator, StableTreeEstimator), fitted.choice_ is not UNSET
    is_sound = (
        has_choice == (fitted.frontier_ is not UNSET)
        and (is_stable or not has_choice)  # an updated tree has none
        and isinstance(estimator, DensityTree) == (fitted.density is not UNSET)
        and (fitted.permutation is UNSET or isinstance(estimator, BaggedEstimator))
    )
    if not is_sound:
        raise ModelFileError(f"its estimator is a {part.name}, and the parts of it are those of another one.")


def set_references(estimator: Any, references: ReferenceTrees | None, candidates: dict[int, Tree]) -> None:
    """Set the reference trees and the candidates of a file."""
    if references is None and not candidates:
        return
    is_stable, attributes = isinstance(estimator, StableTreeEstimator), vars(estimator)
    if references is None or not is_stable or ("frontier_" not in attributes and candidates):
        raise ModelFileError(
            f"it has candidates or reference trees, and its {type(estimator).__name__} none."
        )
    estimator._references = references
    if "frontier_" in attributes:
        if any(number >= len(estimator.frontier_) for number in candidates):
            raise ModelFileError(f"at candidates: the frontier has {len(estimator.frontier_)} of them.")
        estimator._candidates = {**candidates, estimator.choice_.candidate: estimator.tree_}
        estimator.reference_trees_ = list(estimator.references_.trees)


def _set_classes(estimator: Any, part: EstimatorPart, classes: tuple[Label, ...]) -> None:
    is_classifier, is_density = isinstance(estimator, ClassifierBase), isinstance(estimator, DensityTree)
    if is_classifier != bool(part.label_type) or bool(classes) != (is_classifier or is_density):
        raise ModelFileError(f"its estimator is a {part.name}, and it has {len(classes)} classes.")
    if is_classifier:
        estimator.classes_ = _make_class_array(classes, part.label_type)
        estimator.n_classes_ = len(classes)


def _make_class_array(classes: tuple[Label, ...], label_type: str) -> NDArray[Any]:
    """Make an array of the type that the classes had when the estimator was fitted."""
    if label_type not in _LABEL_TYPES:
        raise ModelFileError(f"at estimator.label_type: {label_type[:40]!r} is no type of labels.")
    try:
        found = label_array(classes) if label_type == "str" else np.array(classes, label_type)
    except (ValueError, OverflowError, TypeError):
        found = np.array((), object)
    if tuple(map(to_label, found.tolist())) != classes:
        raise ModelFileError(f"at estimator.label_type: classes cannot be of the type {label_type!r}.")
    return found


def _set_attributes(estimator: Any, part: EstimatorPart) -> None:
    """Set the numbers, arrays and tables."""
    known = {name for kind in type(estimator).__mro__ for name in get_annotations(kind)}
    names = (*NUMBER_ATTRIBUTES, *ARRAY_ATTRIBUTES, TEACHER_WEIGHTS, *TABLES)
    for name in names:
        entry = getattr(part.fitted, name)
        if entry is UNSET:
            continue
        if name not in known:
            raise ModelFileError(f"its estimator is a {part.name}, which has no attribute {name!r}.")
        if name == TEACHER_WEIGHTS:
            check_teacher(entry)
        setattr(
            estimator, name, build_table(name, entry, estimator.schema_.target) if name in TABLES else entry
        )


def _set_ensemble(estimator: Any, permutation: PermutationPart | UnsetType, ensemble: Ensemble) -> None:
    estimator.ensemble_ = ensemble
    if isinstance(estimator, AdaBoostClassifier):
        is_sound = ensemble.votes and ensemble.link == "softmax"
        estimator.estimator_weights_ = ensemble.weights
    elif isinstance(estimator, BaggedEstimator):
        is_sound = ensemble.link == "mean"
        estimator.importances_ = compute_importances(ensemble.trees)
    else:
        is_sound = not ensemble.votes and ensemble.link != "mean"
    if not is_sound:
        name = type(estimator).__name__
        raise ModelFileError(f"its estimator is a {name}, and its trees are not those of one.")
    if not isinstance(permutation, UnsetType):
        spread = Spread(permutation.mean, permutation.deviation, permutation.error)
        if {each.shape for each in spread} != {(len(ensemble.schema.features),)}:
            raise ModelFileError("at estimator.fitted.permutation: it needs one number for each feature.")
        metric = build_metric(permutation.metric, ensemble.schema.target)
        estimator.importances_ = replace(estimator.importances_, permutation=spread, metric=metric)


def _set_tree(estimator: Any, part: EstimatorPart, tree: Tree) -> None:
    estimator.tree_ = tree
    if part.fitted.density is not UNSET:
        density = estimator._density = _build_density(part.fitted.density, tree)
        estimator.clusters_, estimator.evidence_ = density.clusters, density.evidence
        estimator.n_clusters_ = tree.n_leaves
    if (frontier := build_frontier(part, tree)) is not None:
        choice = part.fitted.choice_
        estimator.frontier_ = frontier
        estimator.choice_ = Choice(choice.candidate, choice.selection_rule, choice.reason, frontier)
        estimator.instability_ = float(frontier.instability[choice.candidate])


# -- Parameters as plain values of JSON ----------------------------------------------------------------------


class NotPlainError(Exception):
    """JSON cannot hold the value."""


def _list_parameters(estimator: Any) -> tuple[dict[str, Parameter], list[str]]:
    """List the parameters that JSON can hold, by name, and the names of the others."""
    held: dict[str, Parameter] = {}
    others = []
    for name, value in estimator.get_params(deep=False).items():
        try:
            is_rules = name in GROUPS and value is not None
            plain = _make_plain(_list_changes(type(GROUPS[name]), value) if is_rules else value)
            held[name] = msgspec.convert(plain, Parameter)
        except (NotPlainError, msgspec.ValidationError):
            others.append(name)
    return held, others


def _list_changes(kind: Any, rules: Any) -> dict[str, Any]:
    """List the rules that differ from the defaults."""
    if not isinstance(rules, kind):
        raise NotPlainError
    values = {field: getattr(rules, field.name) for field in fields(rules)}
    return {field.name: value for field, value in values.items() if value != field.default}


def _make_plain(value: Any) -> Any:
    """Make Python's own texts, numbers, flags and tuples of the value, and fields of a MappingPart."""
    if isinstance(value, Mapping):
        return {"keys": tuple(map(_make_plain, value)), "values": tuple(map(_make_plain, value.values()))}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    if isinstance(value, list | tuple):
        return tuple(map(_make_plain, value))
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value):
        return str(value)
    raise NotPlainError


# -- The clusters of a density tree --------------------------------------------------------------------------

_ROUNDING = 1e-6  # by which fractions may miss 1
_LEAST_EIGENVALUE = 1e-9  # of correlations: growth leaves none below 1e-6


def _make_density_part(density: Density) -> DensityPart:
    units, models = density.units, density.models
    full = models[0].full
    covariance = [model.covariance if full else np.diagonal(model.covariance) for model in models]
    return DensityPart(
        numeric=units.numeric,
        categorical=units.categorical,
        centre=units.centre,
        scale=units.scale,
        measurement_variance=units.measurement_variance,
        fractions=density.fractions,
        mean=np.array([model.mean for model in models]),
        full=full,
        covariance=np.array([each.ravel() for each in covariance]),
        log_frequency=np.array([model.log_frequency for model in models]),
        evidence=tuple(
            (int(each.node), each.count, each.gain, each.standard_error) for each in density.evidence
        ),
    )


def _build_density(part: DensityPart, tree: Tree) -> Density:
    """Build the clusters of the leaves of the tree, with all figures checked."""
    n_clusters = tree.n_leaves
    _check(tree.schema.target.classes == tuple(range(n_clusters)), "the classes of its tree are no clusters")
    units = _build_units(part, tree.schema)
    _check_shape("fractions", part.fractions, n_clusters)
    is_sound = (part.fractions > 0).all() and abs(part.fractions.sum() - 1.0) < _ROUNDING
    _check(is_sound, "fractions do not sum to 1")
    _check(all(each[0] < tree.n_nodes for each in part.evidence), "evidence is of nodes that are not there")
    evidence = tuple(
        HeldOutGain(node, *np.array(figures, np.float64).tolist()) for node, *figures in part.evidence
    )
    models = _build_models(part, units, n_clusters)
    return Density(tree, units, freeze(part.fractions), models, evidence, size_table=None)


def _build_units(part: DensityPart, schema: Schema) -> StandardUnits:
    kinds = [feature.kind for feature in schema.features]
    for name, array in (("numeric", part.numeric), ("categorical", part.categorical)):
        places = array.tolist()
        in_order = places == sorted(set(places)) and all(0 <= place < len(kinds) for place in places)
        _check(array.ndim == 1 and in_order, f"{name} must list features, each once and in order")
        is_own = all((kinds[place] == "numeric") == (name == "numeric") for place in places)
        _check(is_own, f"{name} lists features of the other kind")
    for name in ("centre", "scale", "measurement_variance"):
        _check_shape(name, getattr(part, name), len(part.numeric))
    is_sound = (part.scale > 0).all() and (part.measurement_variance >= 0).all()
    _check(is_sound, "scale and measurement_variance must be above 0")
    sizes = [len(schema.features[place].categories) for place in part.categorical]
    start: LongArray = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    return StandardUnits(
        part.numeric, part.categorical, part.centre, part.scale, part.measurement_variance, start
    )


def _build_models(part: DensityPart, units: StandardUnits, n_clusters: int) -> tuple[ClusterModel, ...]:
    n_numeric, n_codes = len(units.numeric), int(units.start[-1])
    _check_shape("mean", part.mean, n_clusters, n_numeric)
    _check_shape("covariance", part.covariance, n_clusters, n_numeric**2 if part.full else n_numeric)
    _check_shape("log_frequency", part.log_frequency, n_clusters, n_codes)
    if part.full:
        covariance = part.covariance.reshape(n_clusters, n_numeric, n_numeric)
        gap = np.abs(covariance - covariance.swapaxes(1, 2)).max(initial=0.0)
        _check(gap <= _ROUNDING * np.abs(covariance).max(initial=1.0), "covariance must be symmetric")
    else:
        covariance = part.covariance[:, :, None] * np.eye(n_numeric)
    _check(_is_positive(covariance), "covariance must have eigenvalues above 0")
    for first, last in zip(units.start[:-1].tolist(), units.start[1:].tolist(), strict=True):
        totals = np.exp(np.minimum(part.log_frequency[:, first:last], 1.0)).sum(axis=1)
        _check(first == last or (abs(totals - 1.0) < _ROUNDING).all(), "frequencies do not sum to 1")
    return tuple(
        ClusterModel(*parts, units.measurement_variance, part.full)
        for parts in zip(part.mean, covariance, part.log_frequency, strict=True)
    )


def _is_positive(covariance: FloatArray) -> bool:
    """True if no combination of the numbers is without variance."""
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    if not (variance > 0).all():
        return False
    deviation = np.sqrt(variance)
    correlation = covariance / deviation[:, :, None] / deviation[:, None, :]
    return bool(np.linalg.eigvalsh(correlation).min(initial=1.0) > _LEAST_EIGENVALUE)


def _check_shape(name: str, array: FloatArray, *shape: int) -> None:
    is_sound = array.shape == shape and np.isfinite(array).all()
    _check(is_sound, f"{name} must be of {' times '.join(map(str, shape))} numbers")


def _check(is_sound: Any, problem: str) -> None:
    if not is_sound:
        raise ModelFileError(f"at estimator.fitted.density: {problem}.")
