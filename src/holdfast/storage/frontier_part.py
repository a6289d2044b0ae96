"""The choice and the frontier of a stable tree, and what scores were measured by, to the file and back."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.data.schema import Target
from holdfast.errors import ModelFileError, RulesError
from holdfast.scoring.metric import Metric, metric_of
from holdfast.stability.choice import Choice
from holdfast.stability.frontier import Frontier
from holdfast.storage.estimator_parts import MetricPart, StablePart

# The types of the entries of each kind of column.
_TYPES: dict[Any, tuple[type, tuple[type, ...]]] = {
    FloatArray: (np.float64, (int, float, type(None))),
    LongArray: (np.int64, (int,)),
    BoolArray: (np.bool_, (bool,)),
}
_COLUMNS = {field.name: _TYPES[field.type] for field in fields(Frontier) if field.type in _TYPES}


def stable_part(choice: Choice, frontier: Frontier) -> StablePart:
    """The part of the document on the choice and the frontier."""
    return StablePart(
        candidate=int(choice.candidate),
        rule=choice.rule,
        reason=choice.reason,
        metric=None if frontier.metric is None else metric_part(frontier.metric),
        frontier={name: gapped(getattr(frontier, name)) for name in _COLUMNS},
    )


def choice_and_frontier(part: StablePart, target: Target) -> tuple[Choice, Frontier]:
    """The choice and the frontier that the part describes."""
    if set(part.frontier) != set(_COLUMNS):
        raise ModelFileError(f"at estimator.stable.frontier: its columns must be {', '.join(_COLUMNS)}.")
    columns = {name: _column(name, part.frontier[name]) for name in _COLUMNS}
    if len({len(column) for column in columns.values()}) > 1:
        raise ModelFileError("at estimator.stable.frontier: all columns must have as many entries.")
    frontier = Frontier(**columns, metric=None if part.metric is None else metric_in(part.metric, target))
    if part.candidate >= len(frontier):
        raise ModelFileError(
            f"at estimator.stable: candidate is {part.candidate}, and the frontier has {len(frontier)}."
        )
    return Choice(part.candidate, part.rule, part.reason), frontier


def _column(name: str, entries: tuple[Any, ...]) -> NDArray[Any]:
    kind, allowed = _COLUMNS[name]
    if any(type(entry) not in allowed for entry in entries):
        raise ModelFileError(f"at estimator.stable.frontier.{name}: its entries are of another kind.")
    return np.array(entries, kind)


# -- metrics and arrays -----------------------------------------------------------------------------------


def metric_part(metric: Metric) -> MetricPart:
    """The part of the document on a metric."""
    return MetricPart(name=metric.name, title=metric.title, is_loss=bool(metric.is_loss))


def metric_in(part: MetricPart, target: Target) -> Metric:
    """The metric of that name; one that others wrote has its name and no formula."""
    try:
        return metric_of(part.name, target)
    except RulesError:
        return Metric(part.name, part.title, part.is_loss)


def gapped(array: NDArray[Any]) -> tuple[Any, ...]:
    """The entries of an array, None for NaN."""
    return tuple(None if entry != entry else entry for entry in array.tolist())
