"""Does an export predict as the model does? Its engine runs on rows, and at every edge of the model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from math import inf, isfinite, nextafter
from typing import Any

import numpy as np

from holdfast._arrays import BoolArray, FloatArray
from holdfast._random import Branch, make_generator
from holdfast.data.encode import encode_rows
from holdfast.data.frame import Frame
from holdfast.data.schema import Feature, Label
from holdfast.errors import DataWarning, EngineError
from holdfast.exports.formats import FORMATS, Difference, ExportCheck, get_function
from holdfast.exports.plain_model import PlainModel, PlainTree, Split, make_plain_model, unwrap_model
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
    module = import_module(f"holdfast.exports.{FORMATS[to][0]}")
    if not hasattr(module, "scored"):
        raise EngineError(f"The format {to!r} is to be read: it predicts nothing that could be verified.")
    found, plain = unwrap_model(model), make_plain_model(model)
    rows = {feature.name: [] for feature in plain.columns} if X is None else make_rows(found, plain, X)
    edges = make_edge_rows(plain, rows, module.scale_of(exported) if hasattr(module, "scale_of") else None)
    if X is None:
        if hasattr(module, "check_runs_quickly"):
            module.check_runs_quickly(exported, **options)
        n_edges = count_rows(edges)
        few = np.sort(make_generator(0, Branch.EXPORT_EDGES).permutation(n_edges)[:MOST_EDGES]).tolist()
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


# -- Rows at the edges of a model ----------------------------------------------------------------------------

UNSEEN = "never seen"


@dataclass(frozen=True)
class Scale:
    """The numbers that an engine can distinguish."""

    beside: Callable[[float, float], float] = nextafter  # the next number towards minus infinity or infinity
    is_exact: bool = True  # False: a threshold itself may be rounded


@dataclass(frozen=True)
class _Allowed:
    """The values of a column that lead to a node."""

    low: float = -inf  # low < value <= high
    high: float = inf
    labels: tuple[Label, ...] | None = None  # None: any
    missing: bool = True

    def within(self, split: Split, is_yes: bool) -> _Allowed:
        """Intersect with the values that go this way at the split."""
        missing = self.missing and split.missing_yes == is_yes
        if split.in_yes is not None:
            side = split.in_yes if is_yes else split.in_no
            return replace(
                self,
                missing=missing,
                labels=tuple(label for label in side if self.labels is None or label in self.labels),
            )
        threshold = inf if split.threshold is None else split.threshold
        if is_yes:
            return replace(self, high=min(self.high, threshold), missing=missing)
        return replace(self, low=max(self.low, threshold), missing=missing)

    def value(self, usual: Any, scale: Scale) -> Any:
        """Return an allowed value: the usual one if possible, None (missing) if nothing else is."""
        if self.labels is not None:
            return usual if usual in self.labels else next(iter(self.labels), None)
        if usual is not None and self.low < usual <= self.high:
            return usual
        if self.low >= self.high:
            return None
        if isfinite(self.high):
            return self.high if scale.is_exact else scale.beside(self.high, -inf)
        return scale.beside(self.low, inf) if isfinite(self.low) else 0.0


def make_edge_rows(model: PlainModel, usual: Rows, scale: Scale | None = None) -> dict[str, list[Any]]:
    """Make rows on both sides of every split; their other values are usual ones.

    The scale says which numbers the engine tells apart: by default all floats.
    """
    scale = scale or Scale()
    names = [feature.name for feature in model.columns]
    edges: dict[str, list[Any]] = {name: [] for name in names}
    n_usual = count_rows(usual)
    for tree in model.trees:
        for number, ways in _ways(tree).items():
            split = tree.nodes[number]
            assert isinstance(split, Split)
            for tried in _tried(split, scale):
                place = len(edges[names[0]]) % n_usual if n_usual else 0
                for name in names:
                    value = usual[name][place] if n_usual else None
                    edges[name].append(ways[name].value(value, scale) if name in ways else value)
                edges[split.feature.name][-1] = tried
    return edges


def _ways(tree: PlainTree) -> dict[int, dict[str, _Allowed]]:
    """Return what leads to every split, by column."""
    ways: dict[int, dict[str, _Allowed]] = {0: {}}
    for number, split in tree.splits.items():  # preorder: a parent stands before its children
        here = ways[number]
        before = here.get(split.feature.name, _Allowed())
        for child, is_yes in ((split.yes, True), (split.no, False)):
            ways[child] = {**here, split.feature.name: before.within(split, is_yes)}
    return {number: ways[number] for number in tree.splits}


def _tried(split: Split, scale: Scale) -> Iterator[Any]:
    yield None
    if split.threshold is not None:
        yield from _neighbours(split.threshold, scale)
    elif split.is_known:
        yield 0.0
    else:
        yield from split.feature.categories
        yield from make_unseen(split.feature)


def _neighbours(threshold: float, scale: Scale) -> list[float]:
    beside = [scale.beside(threshold, -inf), scale.beside(threshold, inf)]
    near = [beside[0], threshold, beside[1]] if scale.is_exact else beside
    return [each for each in near if isfinite(each)]


def make_unseen(feature: Feature) -> Sequence[Label]:
    """Make a category that the feature does not have; None for booleans."""
    labels = feature.categories
    if all(isinstance(label, bool) for label in labels):
        return ()
    if any(isinstance(label, str) for label in labels):
        unseen = UNSEEN
        while unseen in labels:
            unseen += "!"
        return (unseen,)
    return (int(max(labels)) + 1,)


# -- What a model, or its export, says of some rows ----------------------------------------------------------

Rows = Mapping[str, Sequence[Any]]  # columns by name: numbers and categories as they are, None where missing


@dataclass(frozen=True, eq=False)
class EnginePredictions:
    """Predictions of an engine, one entry per row."""

    values: FloatArray  # (rows, classes) probabilities, or (rows, 1) numbers
    outcomes: Sequence[Label] | None  # the predicted classes; None where the target is a number
    engine: str = "holdfast"  # what computed it, with its version


def count_rows(rows: Rows) -> int:
    """Return the number of rows; 0 without columns."""
    return len(next(iter(rows.values()), ()))
