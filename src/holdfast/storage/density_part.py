"""The clusters of a density tree, to the file and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray, LongArray, frozen
from holdfast.data.schema import Schema
from holdfast.errors import ModelFileError
from holdfast.growth.density.evidence import HeldOutGain
from holdfast.growth.density.model import Model
from holdfast.growth.density.rows import StandardUnits
from holdfast.growth.density.tree import Density
from holdfast.storage.document import DensityPart
from holdfast.storage.table_part import gapped
from holdfast.tree.tree import Tree

_ROUNDING = 1e-6  # by which fractions may miss 1
_LEAST_EIGENVALUE = 1e-9  # of correlations: growth leaves none below 1e-6


def density_part(density: Density) -> DensityPart:
    """The part of the document on the clusters."""
    units, models = density.units, density.models
    full = models[0].full
    return DensityPart(
        numeric=tuple(units.numeric.tolist()),
        categorical=tuple(units.categorical.tolist()),
        centre=tuple(units.centre.tolist()),
        scale=tuple(units.scale.tolist()),
        measurement_variance=tuple(units.measurement_variance.tolist()),
        fractions=tuple(density.fractions.tolist()),
        mean=tuple(tuple(model.mean.tolist()) for model in models),
        full=full,
        covariance=tuple(
            tuple((model.covariance if full else np.diagonal(model.covariance)).ravel().tolist())
            for model in models
        ),
        log_frequency=tuple(tuple(model.log_frequency.tolist()) for model in models),
        evidence=tuple(
            (int(each.node), *gapped(np.array([each.count, each.gain, each.standard_error])))
            for each in density.evidence
        ),
    )


def density_in(part: DensityPart, tree: Tree) -> Density:
    """The clusters that the part describes, which must be those of the leaves of the tree."""
    n_clusters = tree.n_leaves
    _check(tree.schema.target.classes == tuple(range(n_clusters)), "the classes of its tree are no clusters")
    units = _units(part, tree.schema)
    fractions = _numbers("fractions", [part.fractions], (1, n_clusters))[0]
    _check((fractions > 0).all() and abs(fractions.sum() - 1.0) < _ROUNDING, "fractions do not sum to 1")
    _check(all(each[0] < tree.n_nodes for each in part.evidence), "evidence is of nodes that are not there")
    evidence = tuple(
        HeldOutGain(node, *np.array(figures, np.float64).tolist()) for node, *figures in part.evidence
    )
    return Density(
        tree, units, frozen(fractions), _models(part, units, n_clusters), evidence, size_table=None
    )


def _units(part: DensityPart, schema: Schema) -> StandardUnits:
    kinds = [feature.kind for feature in schema.features]
    for name, places in (("numeric", part.numeric), ("categorical", part.categorical)):
        in_order = list(places) == sorted(set(places)) and all(place < len(kinds) for place in places)
        _check(in_order, f"{name} must list features, each once and in order")
        is_sound = all((kinds[place] == "numeric") == (name == "numeric") for place in places)
        _check(is_sound, f"{name} lists features of the other kind")
    n_numeric = len(part.numeric)
    centre, scale, measurement_variance = (
        _numbers(name, [getattr(part, name)], (1, n_numeric))[0]
        for name in ("centre", "scale", "measurement_variance")
    )
    _check(
        (scale > 0).all() and (measurement_variance >= 0).all(),
        "scale and measurement_variance must be above 0",
    )
    sizes = [len(schema.features[place].categories) for place in part.categorical]
    start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    return StandardUnits(
        _places(part.numeric), _places(part.categorical), centre, scale, measurement_variance, start
    )


def _models(part: DensityPart, units: StandardUnits, n_clusters: int) -> tuple[Model, ...]:
    n_numeric, n_codes = len(units.numeric), int(units.start[-1])
    mean = _numbers("mean", part.mean, (n_clusters, n_numeric))
    width = n_numeric**2 if part.full else n_numeric
    covariance = _numbers("covariance", part.covariance, (n_clusters, width))
    if part.full:
        covariance = covariance.reshape(n_clusters, n_numeric, n_numeric)
        gap = np.abs(covariance - covariance.swapaxes(1, 2)).max(initial=0.0)
        _check(gap <= _ROUNDING * np.abs(covariance).max(initial=1.0), "covariance must be symmetric")
    else:
        covariance = covariance[:, :, None] * np.eye(n_numeric)
    _check(_is_positive(covariance), "covariance must have eigenvalues above 0")
    log_frequency = _numbers("log_frequency", part.log_frequency, (n_clusters, n_codes))
    for first, last in zip(units.start[:-1].tolist(), units.start[1:].tolist(), strict=True):
        totals = np.exp(np.minimum(log_frequency[:, first:last], 1.0)).sum(axis=1)
        _check(first == last or (abs(totals - 1.0) < _ROUNDING).all(), "frequencies do not sum to 1")
    return tuple(
        Model(*parts, units.measurement_variance, part.full)
        for parts in zip(mean, covariance, log_frequency, strict=True)
    )


def _is_positive(covariance: FloatArray) -> bool:
    """True if no combination of the numbers is without variance."""
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    if not (variance > 0).all():
        return False
    deviation = np.sqrt(variance)
    correlation = covariance / deviation[:, :, None] / deviation[:, None, :]
    return bool(np.linalg.eigvalsh(correlation).min(initial=1.0) > _LEAST_EIGENVALUE)


def _places(entries: Sequence[int]) -> LongArray:
    return np.array(entries, np.int64)


def _numbers(name: str, rows: Sequence[Sequence[float]], shape: tuple[int, int]) -> FloatArray:
    """The rows as an array of that shape."""
    fits = len(rows) == shape[0] and all(len(row) == shape[1] for row in rows)
    _check(fits, f"{name} must be of {shape[0]} times {shape[1]} numbers")
    return np.array(rows, np.float64).reshape(shape)


def _check(is_sound: Any, problem: str) -> None:
    if not is_sound:
        raise ModelFileError(f"at estimator.density: {problem}.")
