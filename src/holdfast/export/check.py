"""Does an export predict as the model does? Its engine runs on rows, and at every edge of the model."""

import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray
from holdfast.data.input.frame import Frame
from holdfast.data.input.rows import encode_rows
from holdfast.data.schema import Feature
from holdfast.errors import DataWarning, EngineError
from holdfast.evidence.export_check import Difference, ExportCheck
from holdfast.export.edges import make_edge_rows
from holdfast.export.formats import FORMATS, get_function
from holdfast.export.plain_model import PlainModel, make_plain_model, unwrap_model
from holdfast.export.scored import EnginePredictions, Rows, count_rows
from holdfast.random_streams import Branch, generator
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

MARGIN = 1e-12  # of a number, or of 1 if that is more: exponentials end in other bits elsewhere
MOST_EXAMPLES = 3
MOST_EDGES = 2000  # where no rows are given, so that a large model is verified in seconds


def check_export(model: Any, to: str, X: Any = None, exported: Any = None, **options: Any) -> ExportCheck:
    """Compare the predictions of a model and its export.

    Parameters
    ----------
    model : Tree, Ensemble or fitted estimator
    to : str
        The format.
    X : array-like, optional
        Rows to compare besides the edges: for every split, rows at the threshold, at the next float below and
        above, with each category, an unseen one, and no value. Of a large model part of the edges is
        compared.
    exported : object, optional
        Result of `export(model, to)`. Default: made here.
    **options
        Options of the format.

    Returns
    -------
    ExportCheck
    """
    if exported is None:
        exported = get_function(to)(model, **options)
    module = import_module(f"holdfast.export.{FORMATS[to][0]}")
    if not hasattr(module, "scored"):
        raise EngineError(f"The format {to!r} is to be read: it predicts nothing that could be verified.")
    found, plain = unwrap_model(model), make_plain_model(model)
    rows = {feature.name: [] for feature in plain.columns} if X is None else make_rows(found, plain, X)
    edges = make_edge_rows(plain, rows, module.scale_of(exported) if hasattr(module, "scale_of") else None)
    if X is None:
        if hasattr(module, "check_runs_quickly"):
            module.check_runs_quickly(exported, **options)
        n_edges = count_rows(edges)
        few = np.sort(generator(0, Branch.EXPORT_EDGES).permutation(n_edges)[:MOST_EDGES]).tolist()
        edges = {name: [values[row] for row in few] for name, values in edges.items()}
    results = []
    for part in (rows, edges):
        ours = predict_model(found, part) if count_rows(part) else None
        theirs = module.scored(exported, plain, part, **options) if ours is not None else None
        results.append((part, ours, theirs))
    return _check(to, results)


def _check(
    to: str, results: Sequence[tuple[Rows, EnginePredictions | None, EnginePredictions | None]]
) -> ExportCheck:
    counts, largest, engine = [], 0.0, ""
    examples: list[Difference] = []
    for rows, ours, theirs in results:
        if ours is None or theirs is None:
            counts.append((0, 0))
            continue
        engine = theirs.engine
        differs = find_differences(ours, theirs)
        counts.append((len(differs), int(differs.sum())))
        largest = max(largest, float(np.abs(ours.values - theirs.values).max()))
        examples += [_example(rows, ours, theirs, place) for place in np.flatnonzero(differs)[:MOST_EXAMPLES]]
    (n_rows, n_differing), (n_edges, n_differing_edges) = counts
    return ExportCheck(
        to, engine, n_rows, n_differing, n_edges, n_differing_edges, largest, tuple(examples[:MOST_EXAMPLES])
    )


def find_differences(ours: EnginePredictions, theirs: EnginePredictions) -> BoolArray:
    """Flag rows with another class, or a number outside the margin."""
    gap = np.abs(ours.values - theirs.values)
    differs = ~(gap <= MARGIN * np.maximum(1.0, np.abs(ours.values))).all(axis=1)
    if ours.outcomes is not None and theirs.outcomes is not None:
        differs |= np.array([a != b for a, b in zip(ours.outcomes, theirs.outcomes, strict=True)], np.bool_)
    return np.asarray(differs, np.bool_)


def _example(rows: Rows, ours: EnginePredictions, theirs: EnginePredictions, place: int) -> Difference:
    row = {name: values[place] for name, values in rows.items()}
    if ours.outcomes is not None and theirs.outcomes is not None:
        first, second = ours.outcomes[place], theirs.outcomes[place]
        if first != second:
            return Difference(row, first, second)
    return Difference(row, ours.values[place].tolist(), theirs.values[place].tolist())


# -- rows -------------------------------------------------------------------------------------------------


def make_rows(found: Tree | Ensemble, plain: PlainModel, X: Any) -> dict[str, list[Any]]:
    """Return the model's columns as numbers and categories; unknown values become missing."""
    schema = found.schema
    used = [schema.features.index(feature) for feature in plain.columns]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        matrix = encode_rows(X, schema, used)
    return {feature.name: _decoded(feature, matrix[:, place]) for place, feature in enumerate(plain.columns)}


def _decoded(feature: Feature, values: Any) -> list[Any]:
    if feature.kind == "numeric":
        return [None if value != value else value for value in values.tolist()]
    return [None if value != value else feature.categories[int(value)] for value in values.tolist()]


def predict_model(found: Tree | Ensemble, rows: Rows) -> EnginePredictions:
    """Predict rows with the model itself."""
    columns = [_column(values) for values in rows.values()]
    frame = Frame(tuple(rows), columns, count_rows(rows))
    target = found.schema.target
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        values = found.values(frame)
        outcomes = list(found.predict(frame).tolist()) if target.is_classes else None
    return EnginePredictions(values, outcomes)


def _column(values: Sequence[Any]) -> Any:
    is_number = all(value is None or type(value) is float for value in values)
    return np.array(values, np.float64) if is_number else np.array([*values, None], object)[:-1]
