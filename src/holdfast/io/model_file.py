"""The model file: flat JSON that a person can read and git can compare. Loading it never runs code."""

import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import UNSET, UnsetType

from holdfast._files import replace_file
from holdfast._text import quoted
from holdfast.data.schema import Schema
from holdfast.errors import DataError, ModelFileError, ModelFileWarning, SchemaMismatch
from holdfast.io.content import (
    MAX_BYTES,
    check_flags,
    loading,
    max_flags,
    read_bytes,
    read_document,
    read_kind,
)
from holdfast.io.convert import build_ensemble, build_tree, build_trees, make_document, make_trees_document
from holdfast.io.document import (
    FORMS,
    Document,
    EnsembleDocument,
    EstimatorPart,
    TreeDocument,
    TreesDocument,
    write_text,
)
from holdfast.tree.check import check_schema, check_tree, check_trees
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a tree, an ensemble or a fitted estimator to the file at `path`, all or nothing.

    After a failure an older file there is intact. A ModelFileWarning names parameters of the estimator that
    the file cannot hold, such as a function.
    """
    replace_file(path, model_to_json(model), ModelFileError)


def load(path: str | os.PathLike[str], *, edited: bool = False, max_bytes: int = MAX_BYTES) -> Any:
    """What was saved: a tree, an ensemble, or a fitted estimator that predicts as it did. Checked in full.

    It predicts any row, or a ModelFileError says what is wrong where. `edited=True` takes a file that was
    changed by hand after it was written, if the model is still sound.
    """
    with loading(f"the model file '{os.fspath(path)}'"):
        return _build(*_read(read_bytes(Path(path), max_bytes), edited))


def load_model(
    path: str | os.PathLike[str], *, edited: bool = False, max_bytes: int = MAX_BYTES
) -> Tree | Ensemble:
    """The tree or the ensemble in the file, whether it was saved alone or in an estimator. See `load`."""
    with loading(f"the model file '{os.fspath(path)}'"):
        return _read(read_bytes(Path(path), max_bytes), edited)[0]


def read_model_kind(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> str:
    """Read what kind of model the file holds: "tree", "trees" or "ensemble"."""
    with loading(f"the model file '{os.fspath(path)}'"):
        return read_kind(read_bytes(Path(path), max_bytes))


def model_to_json(model: Any) -> bytes:
    """Write the content of the model file of a tree, an ensemble or a fitted estimator."""
    if isinstance(model, Tree | Ensemble):
        return _write(model)
    ensemble = getattr(model, "ensemble_", None)
    found = ensemble if isinstance(ensemble, Ensemble) else _get_tree(model)
    # Here: trees and ensembles are saved and loaded without the estimators, which take a second to import.
    from holdfast.io.estimator import is_estimator, make_estimator_part

    if is_estimator(model):
        return _write(found, make_estimator_part(model, stacklevel=4))
    warnings.warn(
        f"A {type(model).__name__} is no estimator of holdfast itself: the file holds its trees, and load "
        "will give them without it.",
        ModelFileWarning,
        stacklevel=3,
    )
    return _write(found)


def _write(model: Tree | Ensemble, estimator: EstimatorPart | UnsetType = UNSET) -> bytes:
    if isinstance(model, Tree):
        check_tree(model)
    else:
        check_schema(model.schema)
        check_trees(model.trees, "trees[{}]")
    data = write_text(make_document(model, estimator))
    trees = [model] if isinstance(model, Tree) else model.trees
    check_flags(sum(len(tree.in_set) for tree in trees), len(data))
    return data


def _get_tree(model: Any) -> Tree:
    """Return the model if it is a tree, or the tree of a fitted estimator."""
    tree = getattr(model, "tree_", model)
    if not isinstance(tree, Tree):
        raise TypeError(
            f"Cannot save a {type(model).__name__}: it is no tree, and no estimator with a fitted tree_. "
            "Fit it first, take it out of its search or pipeline (search.best_estimator_, pipeline[-1]), or "
            "turn another library's model into a tree: as_tree(model)."
        )
    return tree


def model_from_json(data: bytes, *, edited: bool = False) -> Any:
    """Read a tree, an ensemble or a fitted estimator. See `load`."""
    with loading("the model"):
        return _build(*_read(data, edited))


def _read(data: bytes, edited: bool) -> tuple[Tree | Ensemble, EstimatorPart | UnsetType]:
    """Read the model, checked, and the part of its estimator, which is not checked yet."""
    document = read_document(data, edited=edited)
    if isinstance(document, TreesDocument):
        raise ModelFileError(
            f"it holds {len(document.trees)} trees, not one: give the model of the run, or use "
            "load_trees(path)."
        )
    build: Any = build_tree if isinstance(document, TreeDocument) else build_ensemble
    return build(document, max_flags(len(data))), document.estimator


def _build(model: Tree | Ensemble, part: EstimatorPart | UnsetType) -> Any:
    if isinstance(part, UnsetType):
        return model
    from holdfast.io.estimator import build_estimator

    return build_estimator(part, model)


# -- Several trees on one schema -----------------------------------------------------------------------------


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
    with loading(f"the model file '{os.fspath(path)}'"):
        return _read_trees(read_bytes(Path(path), max_bytes), edited)


def trees_to_json(trees: Iterable[Any]) -> bytes:
    """The content of the trees' model file: the same bytes for the same trees."""
    if isinstance(trees, Tree):
        raise TypeError("Several trees are saved here, and this is one: use save(tree, path), or [tree].")
    models = [_get_tree(model) for model in trees]
    if not models:
        raise DataError("Cannot save no trees: without a tree there is no schema. Give at least one.")
    check_trees(models, "tree {}")
    _check_one_schema(models)
    data = write_text(make_trees_document(models))
    check_flags(sum(len(tree.in_set) for tree in models), len(data))
    return data


def trees_from_json(data: bytes, *, edited: bool = False) -> list[Tree]:
    """The trees that the bytes describe. See `load_trees`."""
    with loading("the model"):
        return _read_trees(data, edited)


def _read_trees(data: bytes, edited: bool) -> list[Tree]:
    document, most = read_document(data, edited=edited), max_flags(len(data))
    if isinstance(document, TreeDocument):
        return [build_tree(document, most)]
    if isinstance(document, EnsembleDocument):
        return list(build_ensemble(document, most).trees)
    return build_trees(document, most)


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
        return f"their columns ({quoted(one.names)}; {quoted(other.names)})"
    # By their text: 1, 1.0 and True are equal in Python, but not the same label.
    for mine, theirs in zip(one.features, other.features, strict=True):
        if repr(mine) != repr(theirs):
            return f"the kind, range or categories of column {mine.name!r}"
    return "" if repr(one.target) == repr(other.target) else f"the target ({one.target}; {other.target})"


# -- The JSON Schema of the model file -----------------------------------------------------------------------

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def model_file_schema() -> dict[str, Any]:
    """The JSON Schema of a model file: of a tree, several trees, an ensemble, or an estimator of one.

    >>> schema = model_file_schema()
    >>> [part["$ref"].rpartition("/")[2] for part in schema["anyOf"]]
    ['TreeDocument', 'TreesDocument', 'EnsembleDocument']
    """
    documents, parts = msgspec.json.schema_components(
        get_args(Document), schema_hook=lambda kind: {"type": "array"}, ref_template="#/$defs/{name}"
    )
    for part in parts.values():
        for name, entry in part.get("properties", {}).items():
            if name in FORMS and _is_raw(entry):
                part["properties"][name] = {"type": "array", "items": msgspec.json.schema(FORMS[name].entry)}
    return {"$schema": DIALECT, "title": "A model file of holdfast", "anyOf": list(documents), "$defs": parts}


def _is_raw(entry: dict[str, Any]) -> bool:
    """True of an array that is kept as text, of which msgspec cannot tell what it holds."""
    return not {"type", "anyOf", "$ref", "enum"} & set(entry)
