"""Tables of a fitted model and the frontier of a stable tree, which are built without the estimator."""

import math
from dataclasses import fields, replace
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from holdfast.data.schema import Target
from holdfast.errors import ModelFileError, ParameterError
from holdfast.io.document import (
    TABLE_PARTS,
    TABLES,
    BaselinePart,
    EstimatorPart,
    MappingPart,
    MetricPart,
)
from holdfast.scoring.metric import Metric, Score, make_metric
from holdfast.stable.frontier import Frontier
from holdfast.stable.rows import BaselineTest
from holdfast.stable.selection import make_selection_rule, mark_choice
from holdfast.stable.settings import BY_NUMBER, GROUPS
from holdfast.tree.tree import Tree


def build_frontier(part: EstimatorPart, tree: Tree) -> Frontier | None:
    """Build the frontier of a stable tree, with the choice marked; None if the estimator has none.

    A choice by a rule that is not that of the parameters is compared with all candidates.
    """
    fitted = part.fitted
    if fitted.choice_ is UNSET or fitted.frontier_ is UNSET:
        return None
    choice, frontier = fitted.choice_, build_table("frontier_", fitted.frontier_, tree.schema.target)
    if choice.candidate >= len(frontier):
        raise ModelFileError(f"its choice is candidate {choice.candidate}, and it has {len(frontier)}.")
    if not isinstance(fitted.baseline, UnsetType):
        frontier = replace(frontier, baseline=_build_baseline(fitted.baseline, frontier.metric, tree))
    parameters = build_parameters(part)
    rules = parameters.get("stability_rules")
    rule = make_selection_rule({**({} if rules is None else vars(rules)), **parameters})
    is_named = choice.selection_rule == BY_NUMBER
    if is_named:
        rule = replace(rule, max_leaf_nodes=None)
    marked: Frontier = mark_choice(frontier, rule, choice.candidate)
    is_its_own = choice.selection_rule == rule.selection_rule
    compared = () if marked.compared is None else marked.compared.places
    if is_named or (is_its_own and choice.candidate in compared):
        return marked
    return replace(marked, compared=None)


def _build_baseline(part: BaselinePart, metric: Metric, tree: Tree) -> BaselineTest:
    score, error, ratio = (
        math.nan if each is None else each for each in (part.score, part.error, part.ratio)
    )
    return BaselineTest(Score(score, error), ratio, metric, tree.schema.target.task, part.n_rows)


# -- Tables and metrics --------------------------------------------------------------------------------------

_MATRICES = (("max_features_table_", "scores"), ("size_table_", "scores"))  # one row per entry
_GAPPED = ("oob_curve_",)  # a few trees may have no score


def make_table_part(name: str, table: Any) -> Any:
    """Describe the table of the attribute `name`."""
    kind = TABLE_PARTS[name]
    content = {field: getattr(table, field) for field in kind.__struct_fields__}
    if "metric" in content:
        content["metric"] = make_metric_part(table.metric)
    return kind(**{field: entry for field, entry in content.items() if entry is not None})


def build_table(name: str, part: msgspec.Struct, target: Target) -> Any:
    """Build the table of the attribute `name`, with its columns checked."""
    content = {field: entry for field, entry in asdict(part).items() if entry is not UNSET}
    columns = {field: entry for field, entry in content.items() if isinstance(entry, np.ndarray)}
    for field, column in columns.items():
        is_matrix = (name, field) in _MATRICES
        if (column.ndim != 1 + is_matrix and column.size) or (name not in _GAPPED and np.isnan(column).any()):
            raise ModelFileError(f"at estimator.fitted.{name}.{field}: its entries are of another kind.")
    if {len(column) for column in columns.values()} != {len(next(iter(columns.values())))}:
        raise ModelFileError(f"at estimator.fitted.{name}: all columns must have as many entries.")
    if "metric" in content:
        content["metric"] = build_metric(content["metric"], target)
    return TABLES[name](**content)


def build_metric(part: MetricPart, target: Target) -> Metric:
    """Make the metric of that name; one that others wrote has its name and no formula."""
    try:
        return make_metric(part.name, target)
    except ParameterError:
        return Metric(part.name, part.title, part.is_loss)


def make_metric_part(metric: Metric) -> MetricPart:
    """Describe a metric."""
    return MetricPart(metric.name, metric.title, bool(metric.is_loss))


# -- Parameters ----------------------------------------------------------------------------------------------


def build_parameters(part: EstimatorPart) -> dict[str, Any]:
    """Build the parameters of an estimator from those of a file."""
    built = {}
    for name, entry in part.parameters.items():
        place = f"at estimator.parameters.{name}"
        value = _build_parameter(entry, place)
        built[name] = _build_rules(type(GROUPS[name]), value, place) if name in GROUPS else value
    return built


def _build_parameter(part: Any, place: str) -> Any:
    if isinstance(part, tuple):
        return [_build_parameter(entry, place) for entry in part]
    if not isinstance(part, MappingPart):
        return part
    if len(part.keys) != len(part.values) or len(set(part.keys)) != len(part.keys):
        raise ModelFileError(f"{place}: each key must be there once, with one value.")
    return {key: _build_parameter(entry, place) for key, entry in zip(part.keys, part.values, strict=True)}


def _build_rules(kind: Any, values: Any, place: str) -> Any:
    if values is None:
        return None
    if not isinstance(values, dict) or not set(values) <= {field.name for field in fields(kind)}:
        raise ModelFileError(f"{place}: they are no {kind.__name__}.")
    try:
        return kind(**values)
    except ParameterError as error:
        raise ModelFileError(f"{place}: {error}") from error
