"""Rows of a file on which two trees are compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.data.files.reading import open_source
from holdfast.data.files.reading_options import ReadingOptions
from holdfast.data.schema import Feature
from holdfast.data.table import Table
from holdfast.distance.diff.data import prepare_table
from holdfast.distance.reference_schema import widen_schemas
from holdfast.errors import DataError, ModelFileError
from holdfast.runs.folder import model_file
from holdfast.runs.new_rows import read_rows_of_both
from holdfast.storage.model_file import load_model
from holdfast.text.lists import columns_text, listed
from holdfast.tree.tree import Tree


@dataclass(frozen=True)
class RowSource:
    """A file of rows, and what its columns are for."""

    data: Path
    target: str | None  # None: the column that has the name of the trees' target
    weight: str | None
    rules: ReadingOptions


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """Two trees on one schema, the rows to compare them on, and columns besides these."""

    old: Tree
    new: Tree
    table: Table
    columns: dict[str, Any]  # by name, as they were read


def load_tree(path: Path) -> Tree:
    """The tree in a model file, or in a run folder; a ModelFileError if it is an ensemble."""
    model = load_model(model_file(path))
    if not isinstance(model, Tree):
        raise ModelFileError(
            f"'{path}' holds an ensemble of {len(model.trees)} trees, and only single trees are compared."
        )
    return model


def read_compared(trees: tuple[Tree, Tree], source: RowSource, columns: Sequence[str] = ()) -> ComparedRows:
    """The rows of a file, read in the types that the trees know their columns by.

    `columns` are to be read besides what the trees ask about.
    """
    old, new = widen_schemas(*trees)
    own = old.schema.target
    target = source.target or own.name
    roles = [target, *([source.weight] if source.weight else [])]
    further = [Feature(target, "nominal" if own.is_classes else "numeric", categories=own.classes)]
    further += [Feature(name) for name in roles[1:]]
    with open_source(source.data, source.rules.encoding) as data:
        if absent := [name for name in (*roles, *columns) if name not in data.names]:
            raise DataError(
                f"There is no column {listed(absent)} in {data.name}. {columns_text(absent, data.names)}"
            )
        frame = read_rows_of_both(data, old, new, further, source.rules, columns)
    weight = frame.column(source.weight) if source.weight else None
    table = prepare_table(old, new, frame.without(roles), frame.column(target), weight)
    known = {name: frame.column(name) for name in columns if name not in table.schema.names}
    return ComparedRows(old, new, table, known)
