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
from holdfast._text import join_parts, pluralize, printable
from holdfast.data.encode import encode_rows
from holdfast.data.frame import Frame
from holdfast.data.schema import Feature, Label
from holdfast.data.survival import survival_function
from holdfast.errors import DataWarning, EngineError
from holdfast.exports.formats import FORMATS, get_function
from holdfast.exports.plain_model import PlainModel, PlainSplit, PlainTree, make_plain_model, unwrap_model
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

Rows = Mapping[str, Sequence[Any]]  # columns by name: numbers and categories as they are, None where missing

MARGIN = 1e-12  # of a number, or of 1 if that is more: exponentials end in other bits elsewhere
MOST_EXAMPLES = 3
MOST_EDGES = 2000  # where no rows are given, so that a large model is verified in seconds


@dataclass(frozen=True)
class ExportDifference:
    """A row that the export predicts otherwise than the model."""

    row: dict[str, Any]
    ours: Any  # the class, or the number; of classes that agree, the probabilities
    theirs: Any


@dataclass(frozen=True)
class ExportCheck:
    """How often an export differs from the model."""

    to: str
    engine: str  # what ran the export
    n_rows: int
    n_differing_rows: int
    n_edges: int  # rows at thresholds and their neighbours, of every category, missing and unseen
    n_differing_edges: int
    largest: float  # the largest difference of a number
    examples: tuple[ExportDifference, ...]  # the first few

    @property
    def is_equal(self) -> bool:
        """True if nothing differs by more than rounding."""
        return self.n_differing_rows == 0 and self.n_differing_edges == 0

    def __str__(self) -> str:
        rows = f"{pluralize(self.n_rows, 'row')} and " if self.n_rows else ""
        compared = f"{rows}{pluralize(self.n_edges, 'edge')}"
        if self.n_rows + self.n_edges == 0:
            return f"{self.to} has no split to verify."
        if self.is_equal:
            within = f", numbers within {self.largest:.1e}" if self.largest else ""
            return f"{self.to} equals the model on {compared}{within} ({self.engine})."
        differing = pluralize(self.n_differing_rows, "row"), pluralize(self.n_differing_edges, "edge")
        lines = [
            f"{self.to} differs from the model on {differing[0]} and {differing[1]} of {compared} "
            f"({self.engine}):"
        ]
        for each in self.examples:
            row = join_parts([f"{printable(name)}={value!r}" for name, value in each.row.items()])
            ours, theirs = printable(repr(each.ours)), printable(repr(each.theirs))
            lines.append(f"  {row}: {ours} by the model, {theirs} by the export")
        return "\n".join(lines)


def check_export(model: Any, to: str, X: Any = None, exported: Any = None, **options: Any) -> ExportCheck:
    """Compare the predictions of a model and its export.

    Parameters
    ----------
    model : Tree, Ensemble or fitted estimator
    to : str
        The format: see `export`.
    X : array-like, optional
        Rows to compare besides the edges. The edges of a split are rows at the threshold, at the next float
        below and above, with each category, an unseen one, and no value. Without `X` at most 2,000 edges of
        the model are compared.
    exported : object, optional
        Result of `export(model, to)`. Default: made here.
    **options
        Options of the format.

    Returns
    -------
    ExportCheck
        The numbers of rows and edges, how many of them differ, and the first differences.

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0]], ["no", "no", "yes"]))
    >>> print(check_export(tree, "sql", [[2.2], [7.0]], dialect="sqlite"))  # doctest: +ELLIPSIS
    sql equals the model on 2 rows and 4 edges (SQLite ...).
    """
    if exported is None:
        exported = get_function(to)(model, **options)
    module = import_module(f"holdfast.exports.{FORMATS[to][0]}")
    if not hasattr(module, "predict_rows"):
        raise EngineError(f"The format {to!r} is a drawing: it predicts nothing that could be verified.")
    found, plain = unwrap_model(model), make_plain_model(model)
    rows = {feature.name: [] for feature in plain.columns} if X is None else make_rows(found, plain, X)
    edges = make_edge_rows(plain, rows, module.scale_of(exported) if hasattr(module, "scale_of") else None)
    if X is None:
        if hasattr(module, "check_runs_quickly"):
            module.check_runs_quickly(exported, **options)
        order = make_generator(0, Branch.EXPORT_EDGES).permutation(count_rows(edges))
        few = np.sort(order[:MOST_EDGES]).tolist()
        edges = {name: [values[row] for row in few] for name, values in edges.items()}
    counts: list[int] = []
    largest, engine = 0.0, ""
    examples: list[ExportDifference] = []
    for part in (rows, edges):
        if not count_rows(part):
            counts += [0, 0]
            continue
        ours, theirs = predict_model(found, part), module.predict_rows(exported, plain, part, **options)
        if theirs.values.shape[1] < ours.values.shape[1]:  # scikit-learn predicts the risk alone
            ours = replace(ours, values=ours.values[:, : theirs.values.shape[1]])
        engine, differs = theirs.engine, find_differences(ours, theirs)
        counts += [len(differs), int(differs.sum())]
        largest = max(largest, float(np.abs(ours.values - theirs.values).max()))
        examples += [
            _make_example(part, ours, theirs, row) for row in np.flatnonzero(differs)[:MOST_EXAMPLES]
        ]
    n_rows, n_differing_rows, n_edges, n_differing_edges = counts
    return ExportCheck(
        to,
        engine,
        n_rows,
        n_differing_rows,
        n_edges,
        n_differing_edges,
        largest,
        tuple(examples[:MOST_EXAMPLES]),
    )


def find_differences(ours: EnginePredictions, theirs: EnginePredictions) -> BoolArray:
    """Flag rows with different classes, or numbers that differ by more than the margin."""
    gap = np.abs(ours.values - theirs.values)
    differs = ~(gap <= MARGIN * np.maximum(1.0, np.abs(ours.values))).all(axis=1)
    if ours.outcomes is not None and theirs.outcomes is not None:
        differs |= np.array([a != b for a, b in zip(ours.outcomes, theirs.outcomes, strict=True)], np.bool_)
    return np.asarray(differs, np.bool_)


def _make_example(
    rows: Rows, ours: EnginePredictions, theirs: EnginePredictions, place: int
) -> ExportDifference:
    row = {name: values[place] for name, values in rows.items()}
    if ours.outcomes is not None and theirs.outcomes is not None:
        first, second = ours.outcomes[place], theirs.outcomes[place]
        if first != second:
            return ExportDifference(row, first, second)
    return ExportDifference(row, ours.values[place].tolist(), theirs.values[place].tolist())


# -- rows -------------------------------------------------------------------------------------------------


def make_rows(found: Tree | Ensemble, plain: PlainModel, X: Any) -> dict[str, list[Any]]:
    """Return the model's columns as numbers and categories; unknown values become missing."""
    schema = found.schema
    used = [schema.features.index(feature) for feature in plain.columns]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        matrix = encode_rows(X, schema, used)
    return {feature.name: _decode(feature, matrix[:, place]) for place, feature in enumerate(plain.columns)}


def _decode(feature: Feature, values: Any) -> list[Any]:
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
        if (hazard := target.hazard) is not None:
            survival = survival_function(hazard, values[:, 0], [hazard.horizon])
            values = np.column_stack([values[:, 0], survival])
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
class _AllowedValues:
    """The values of a column that lead to a node."""

    low: float = -inf  # low < value <= high
    high: float = inf
    labels: tuple[Label, ...] | None = None  # None: any
    missing: bool = True

    def within(self, split: PlainSplit, is_yes: bool) -> _AllowedValues:
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
    """Make rows on both sides of every split, with `usual` values in the other columns.

    The scale tells which numbers the engine distinguishes: by default all floats.
    """
    scale = scale or Scale()
    names = [feature.name for feature in model.columns]
    edges: dict[str, list[Any]] = {name: [] for name in names}
    n_usual = count_rows(usual)
    for tree in model.trees:
        for number, allowed in _list_allowed(tree).items():
            split = tree.nodes[number]
            assert isinstance(split, PlainSplit)
            for tried in _list_edges(split, scale):
                place = len(edges[names[0]]) % n_usual if n_usual else 0
                for name in names:
                    value = usual[name][place] if n_usual else None
                    edges[name].append(allowed[name].value(value, scale) if name in allowed else value)
                edges[split.feature.name][-1] = tried
    return edges


def _list_allowed(tree: PlainTree) -> dict[int, dict[str, _AllowedValues]]:
    """List the values that lead to every split, by column."""
    allowed: dict[int, dict[str, _AllowedValues]] = {0: {}}
    for number, split in tree.splits.items():  # preorder: a parent stands before its children
        here = allowed[number]
        before = here.get(split.feature.name, _AllowedValues())
        for child, is_yes in ((split.yes, True), (split.no, False)):
            allowed[child] = {**here, split.feature.name: before.within(split, is_yes)}
    return {number: allowed[number] for number in tree.splits}


def _list_edges(split: PlainSplit, scale: Scale) -> Iterator[Any]:
    """List a missing value and the values on both sides of the split."""
    yield None
    if split.threshold is not None:
        beside = [scale.beside(split.threshold, -inf), scale.beside(split.threshold, inf)]
        near = [beside[0], split.threshold, beside[1]] if scale.is_exact else beside
        yield from (each for each in near if isfinite(each))
    elif split.is_known:
        yield 0.0
    else:
        yield from split.feature.categories
        yield from make_unseen(split.feature)


def make_unseen(feature: Feature) -> Sequence[Label]:
    """Make a category that the feature does not have; none for booleans."""
    labels = feature.categories
    if all(isinstance(label, bool) for label in labels):
        return ()
    if any(isinstance(label, str) for label in labels):
        unseen = UNSEEN
        while unseen in labels:
            unseen += "!"
        return (unseen,)
    return (int(max(labels)) + 1,)


# -- predictions ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EnginePredictions:
    """Predictions of an engine, one entry per row."""

    values: FloatArray  # (rows, classes) probabilities, (rows, 1) numbers, or (rows, 2) risk and survival
    outcomes: Sequence[Label] | None  # the predicted classes; None where the target is a number
    engine: str = "holdfast"  # what computed it, with its version


def count_rows(rows: Rows) -> int:
    """Return the number of rows; 0 without columns."""
    return len(next(iter(rows.values()), ()))
