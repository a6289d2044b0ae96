"""The model file of several trees on one schema: reference trees outlive the data they were grown on."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from holdfast.data.schema import Schema
from holdfast.errors import BrokenTreeError, DataError, ModelFileError, SchemaMismatch
from holdfast.files import replace_file
from holdfast.storage.content import MAX_BYTES, content_of, document_in, kind_of, refusals_of
from holdfast.storage.document import TreesDocument
from holdfast.storage.document_text import text_of
from holdfast.storage.ensemble_file import read_ensemble
from holdfast.storage.footprint import check_flags, max_flags
from holdfast.storage.model_file import fitted_tree, read_tree
from holdfast.storage.parts import collection_of, schema_in, trees_in
from holdfast.text.lists import listed
from holdfast.tree.check import check_trees
from holdfast.tree.tree import Tree

# -- whole files --------------------------------------------------------------------------------------


def save_trees(trees: Iterable[Any], path: str | os.PathLike[str]) -> None:
    """Write the trees, or those of fitted estimators, to the file at `path`, all or nothing.

    There must be at least one, and all must share one schema.
    """
    replace_file(path, trees_to_json(trees), ModelFileError)


def load_trees(
    path: str | os.PathLike[str], *, edited: bool = False, max_bytes: int = MAX_BYTES
) -> list[Tree]:
    """The trees in the file, in the order in which they were saved; of a file with a single tree, that one.

    Of an ensemble they are its members, which share its features. All are checked in full; a
    ModelFileError says what is wrong where. `edited=True` takes a file that was changed by hand after it was
    written, if its trees are still sound.
    """
    with refusals_of(f"the model file '{os.fspath(path)}'"):
        return _read_trees(content_of(Path(path), max_bytes), edited)


# -- trees as bytes -----------------------------------------------------------------------------------


def trees_to_json(trees: Iterable[Any]) -> bytes:
    """The content of the trees' model file: the same bytes for the same trees."""
    if isinstance(trees, Tree):
        raise TypeError("Several trees are saved here, and this is one: use save(tree, path), or [tree].")
    models = [fitted_tree(model) for model in trees]
    if not models:
        raise DataError("Cannot save no trees: without a tree there is no schema. Give at least one.")
    check_trees(models, "tree {}")
    _check_one_schema(models)
    data = text_of(collection_of(models))
    check_flags(sum(len(tree.in_set) for tree in models), len(data))
    return data


def trees_from_json(data: bytes, *, edited: bool = False) -> list[Tree]:
    """The trees that the bytes describe. See `load_trees`."""
    with refusals_of("the model"):
        return _read_trees(data, edited)


def _read_trees(data: bytes, edited: bool) -> list[Tree]:
    kind = kind_of(data)
    if kind == "tree":
        return [read_tree(data, edited)[0]]
    if kind == "ensemble":
        return list(read_ensemble(data, edited)[0].trees)
    document = document_in(data, TreesDocument, edited)
    if not document.trees:
        raise ModelFileError("it holds no trees.")
    schema = schema_in(document.schema)
    targets = [schema.target] * len(document.trees)
    try:
        return trees_in(document.trees, schema, targets, max_flags(len(data)))
    except BrokenTreeError as error:
        raise ModelFileError(f"it holds no sound trees: {error}") from error


def _check_one_schema(trees: Sequence[Tree]) -> None:
    first = trees[0].schema
    for position, tree in enumerate(trees):
        if tree.schema is not first and (difference := _difference(first, tree.schema)):
            raise SchemaMismatch(
                f"Cannot save the trees in one file: tree 0 and tree {position} differ in {difference}. "
                "Put all on one schema. Where the columns are the same: wide = "
                "first.schema.widened(second.schema), then [tree.with_schema(wide) for tree in trees]."
            )


def _difference(one: Schema, other: Schema) -> str:
    """What the first difference is in; nothing if there is none."""
    if one.names != other.names:
        return f"their columns ({listed(one.names)}; {listed(other.names)})"
    # By their text: 1, 1.0 and True are equal in Python, but not the same label.
    for mine, theirs in zip(one.features, other.features, strict=True):
        if repr(mine) != repr(theirs):
            return f"the kind, range or categories of column {mine.name!r}"
    return "" if repr(one.target) == repr(other.target) else f"the target ({one.target}; {other.target})"
