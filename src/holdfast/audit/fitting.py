"""One procedure on one sample: what the model says of the test rows, and its tree if it is one."""

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from holdfast.adapters import as_tree, needs_integer_classes
from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.audit.changes import Sample
from holdfast.audit.columns import Columns
from holdfast.audit.methods import Method
from holdfast.audit.rows import AuditRows, Repetition
from holdfast.comparison.rows import rows_of
from holdfast.comparison.trial import predictions, takes
from holdfast.data.input.target import Task
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.scoring.metric import make_metric
from holdfast.tree.tree import Tree


class Fitted(NamedTuple):
    """What is kept of a fitted model."""

    values: FloatArray  # of the test rows: (rows, classes) fractions, or (rows, 1) numbers
    places: IntArray | None  # the class that it settles on, by its place; None for numbers
    tree: Tree | None  # None if the model is no single tree
    seconds: float  # of the fit
    model: Any = None  # itself, if the procedure wants to know it when it is trained again


def fitted(method: Method, repetition: Repetition, sample: Sample, previous: Fitted | None = None) -> Fitted:
    """The procedure, trained on the sample, and asked about the test rows.

    With the model before, it is trained by its `fit_again`.
    """
    rows, test = repetition.rows, repetition.test
    columns = sample.columns(rows, repetition.schema)
    model, target, y = method.make(sample.seed), rows.table.schema.target, rows.y
    if target.is_classes and needs_integer_classes(model):
        y, target = rows.table.target, replace(target, classes=tuple(range(len(target.classes))))
    options = _options(method.name, model, rows, sample.rows)
    X, y = rows_of(columns.X, sample.rows), rows_of(y, sample.rows)
    start = time.perf_counter()
    if previous is None:
        model.fit(X, y, **options)
    else:
        model.fit_again(previous.model, X, y, **options)
    seconds = time.perf_counter() - start
    kept = model if method.knows_previous else None
    model = getattr(model, "best_estimator_", model)
    values, places = _answers(model, rows_of(columns.X_test, test), len(test), target)
    return Fitted(values, places, tree_of(model, repetition, columns), seconds, kept)


def _options(name: str, model: Any, rows: AuditRows, numbers: LongArray) -> dict[str, Any]:
    """What the fit of the model takes besides: weights, groups and stages."""
    taken: dict[str, Any] = {}
    last = getattr(model, "steps", [("", model)])[-1]  # of a pipeline, the model itself
    own, prefix = last[1], f"{last[0]}__" if last[0] else ""
    searched = getattr(model, "estimator", None) if hasattr(model, "refit") else None
    keeps_groups = searched is not None and "Group" in type(getattr(model, "cv", None)).__name__
    if rows.table.weight is not None:
        if not takes(own if searched is None else searched, "sample_weight"):
            raise ParameterError(
                f"The method {name!r} cannot take weights: its fit has no sample_weight. Leave the method or "
                "the weights out."
            )
        taken[f"{prefix}sample_weight"] = rows.table.weight[numbers]
    if rows.groups is not None and (takes(own, "groups") or keeps_groups):
        taken[f"{prefix}groups"] = rows.groups[numbers]
    if rows.stage is not None and takes(own, "stage"):
        stage = rows.stage[numbers]
        if stage.min() < stage.max():  # of a single one there are no early rows
            taken[f"{prefix}stage"] = stage
    return taken


def _answers(model: Any, X: Any, n_rows: int, target: Target) -> tuple[FloatArray, IntArray | None]:
    if not target.is_classes:
        return predictions(model, X, n_rows, target, ()).values, None
    found = predictions(model, X, n_rows, target, (make_metric("accuracy", target),))
    assert found.labels is not None
    return found.values, found.labels.argmax(axis=1).astype(np.int32)


# -- the tree ---------------------------------------------------------------------------------------------


def tree_of(model: Any, repetition: Repetition, columns: Columns) -> Tree | None:
    """The tree that the model is, on the schema of the pool; None if it is no single tree.

    Of a pipeline it is the tree at its end, measured on what the pipeline makes of the pool.
    """
    schema = columns.schema
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    try:
        own = as_tree(last)
    except TypeError:  # a forest, a linear model
        return None
    if last is not model:
        schema = _transformed_schema(model, repetition, columns)
    if isinstance(getattr(last, "tree_", None), Tree):  # which knows the kinds of its columns
        by_name = hasattr(last, "feature_names_in_")
        return _on(own if by_name else _named(own, schema), schema)
    classes = schema.target.classes if needs_integer_classes(last) else None
    return as_tree(last, schema, classes=classes or None)


def _named(tree: Tree, schema: Schema) -> Tree:
    """The tree whose columns bear the names of the schema: those of an array are known by their places."""
    names = [feature.name for feature in schema.columns]
    columns = list(map(_renamed, tree.schema.columns, names))
    questions = tree.schema.features[len(columns) :]
    return tree.replace(schema=Schema((*columns, *questions), tree.schema.target))


def _on(tree: Tree, schema: Schema) -> Tree:
    """The tree on the schema, which gets what the tree alone has: questions, and columns read otherwise."""
    own = {feature.name: feature for feature in tree.schema.features}
    features = [
        feature if own.get(feature.name, feature).kind == feature.kind else own[feature.name]
        for feature in schema.features
    ]
    extra = [feature for feature in tree.schema.features if feature.name not in schema.names]
    return tree.with_schema(Schema((*features, *extra), schema.target))


def _transformed_schema(pipeline: Any, repetition: Repetition, columns: Columns) -> Schema:
    """The schema of what reaches the last step of a pipeline."""
    if len(pipeline.steps) == 1:
        return columns.schema
    before = pipeline[:-1]
    seen = before.transform(rows_of(columns.X, repetition.pool))
    if hasattr(seen, "toarray"):
        seen = seen.toarray()
    target = repetition.schema.target
    task: Task = "classification" if target.is_classes else "regression"
    y = rows_of(repetition.rows.y, repetition.pool)
    features = Table.from_arrays(seen, y, task=task).schema.features
    if isinstance(seen, np.ndarray):
        features = tuple(map(_renamed, features, _names_after(before, len(features))))
    return Schema(features, target)


def _renamed(feature: Feature, name: str) -> Feature:
    return replace(feature, name=name)


def _names_after(transformer: Any, n_columns: int) -> list[str]:
    """What a transformer calls its columns; their places if it does not say."""
    try:
        return [str(name) for name in transformer.get_feature_names_out()]
    except (AttributeError, ValueError):
        return [f"x{place}" for place in range(n_columns)]
