"""The model file: flat JSON that a person can read and git can compare. Loading it never runs code."""

import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from holdfast._files import replace_file
from holdfast._text import quoted
from holdfast.data.schema import Schema
from holdfast.errors import BrokenTreeError, DataError, ModelFileError, ModelFileWarning, SchemaMismatch
from holdfast.io.content import MAX_BYTES, content_of, document_in, kind_of, refusals_of
from holdfast.io.convert import (
    collection_of,
    document_of,
    ensemble_to_json,
    read_ensemble,
    schema_in,
    sound_tree,
    tree_in,
    trees_in,
)
from holdfast.io.document import (
    FORMS,
    Document,
    EnsembleDocument,
    EstimatorPart,
    TreeDocument,
    TreesDocument,
    text_of,
)
from holdfast.io.limits import check_flags, max_flags
from holdfast.tree.check import SetSizes, check_schema, check_tree, check_trees
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

# -- whole files --------------------------------------------------------------------------------------


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
    with refusals_of(f"the model file '{os.fspath(path)}'"):
        model, estimator = _read(content_of(Path(path), max_bytes), edited)
        return model if estimator is None else _made_again(estimator, model)


def load_model(
    path: str | os.PathLike[str], *, edited: bool = False, max_bytes: int = MAX_BYTES
) -> Tree | Ensemble:
    """The tree or the ensemble in the file, whether it was saved alone or in an estimator. See `load`."""
    with refusals_of(f"the model file '{os.fspath(path)}'"):
        return _read(content_of(Path(path), max_bytes), edited)[0]


# -- a model as bytes ---------------------------------------------------------------------------------


def model_to_json(model: Any) -> bytes:
    """The content of the model file of a tree, an ensemble or a fitted estimator."""
    if isinstance(model, Tree):
        return tree_to_json(model)
    if isinstance(model, Ensemble):
        return ensemble_to_json(model)
    ensemble = getattr(model, "ensemble_", None)
    found = ensemble if isinstance(ensemble, Ensemble) else fitted_tree(model)
    part = _estimator_part(model)
    return ensemble_to_json(found, part) if isinstance(found, Ensemble) else tree_to_json(found, part)


def model_from_json(data: bytes, *, edited: bool = False) -> Any:
    """What the bytes describe: a tree, an ensemble or a fitted estimator. See `load`."""
    with refusals_of("the model"):
        model, estimator = _read(data, edited)
        return model if estimator is None else _made_again(estimator, model)


def fitted_tree(model: Any) -> Tree:
    """The model if it is a tree, or the tree of a fitted estimator; a TypeError for anything else."""
    tree = getattr(model, "tree_", model)
    if not isinstance(tree, Tree):
        raise TypeError(
            f"Cannot save a {type(model).__name__}: it is no tree, and no estimator with a fitted tree_. "
            "Fit it first, take it out of its search or pipeline (search.best_estimator_, pipeline[-1]), or "
            "turn another library's model into a tree: as_tree(model)."
        )
    return tree


def _estimator_part(model: Any) -> EstimatorPart | msgspec.UnsetType:
    """The part of the document on an estimator; none of a class that a file may not name."""
    from holdfast.io.estimator import estimator_part, is_estimator

    if is_estimator(model):
        return estimator_part(model)
    warnings.warn(
        f"A {type(model).__name__} is no estimator of holdfast itself: the file holds its trees, and load "
        "will give them without it.",
        ModelFileWarning,
        stacklevel=4,
    )
    return msgspec.UNSET


def _made_again(part: EstimatorPart, model: Tree | Ensemble) -> Any:
    # Here: a tree or an ensemble loads without the estimators, which take a second to import.
    from holdfast.io.estimator import estimator_in

    return estimator_in(part, model)


def _read(data: bytes, edited: bool) -> tuple[Tree | Ensemble, EstimatorPart | None]:
    if kind_of(data) == "ensemble":
        return read_ensemble(data, edited)
    return read_tree(data, edited)


# -- a tree as bytes ----------------------------------------------------------------------------------


def tree_to_json(tree: Tree, estimator: EstimatorPart | msgspec.UnsetType = msgspec.UNSET) -> bytes:
    """The content of the model file of a tree, or of the estimator of one; always the same bytes."""
    check_tree(tree)
    data = text_of(msgspec.structs.replace(document_of(tree), estimator=estimator))
    check_flags(len(tree.in_set), len(data))
    return data


def tree_from_json(data: bytes, *, edited: bool = False) -> Tree:
    """The tree that the bytes describe. See `load`."""
    with refusals_of("the model"):
        return read_tree(data, edited)[0]


def read_tree(data: bytes, edited: bool) -> tuple[Tree, EstimatorPart | None]:
    """The tree that the bytes describe, and its estimator if they have one, which is not checked yet.

    A ModelFileError says what is wrong where, not of which model.
    """
    kind = kind_of(data)
    if kind == "trees":
        n_trees = len(document_in(data, TreesDocument, edited).trees)
        raise ModelFileError(
            f"it holds {n_trees} trees, not one: give the model of the run, or use load_trees(path)."
        )
    if kind == "ensemble":
        n_trees = len(document_in(data, EnsembleDocument, edited).trees)
        raise ModelFileError(f"it holds an ensemble of {n_trees} trees, not one tree: use load(path).")
    document = document_in(data, TreeDocument, edited)
    schema = schema_in(document.schema)
    try:
        check_schema(schema)
        sizes = SetSizes.of(schema)
        tree = sound_tree(tree_in(document, schema, sizes, max_flags(len(data)), "nodes"), sizes)
    except BrokenTreeError as error:
        raise ModelFileError(f"it holds no sound tree: {error}") from error
    return tree, document.estimator or None


# -- The model file of several trees on one schema -----------------------------------------------------------

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
    documents, parts = msgspec.json.schema_components(get_args(Document), ref_template="#/$defs/{name}")
    for part in parts.values():
        for name, entry in part.get("properties", {}).items():
            if name in FORMS and _is_raw(entry):
                part["properties"][name] = {"type": "array", "items": _entry_schema(FORMS[name].entry)}
    return {"$schema": DIALECT, "title": "A model file of holdfast", "anyOf": list(documents), "$defs": parts}


def _is_raw(entry: dict[str, Any]) -> bool:
    """True of an array that is kept as text, of which msgspec cannot tell what it holds."""
    return not {"type", "anyOf", "$ref", "enum"} & set(entry)


def _entry_schema(entry: Any) -> dict[str, Any]:
    return msgspec.json.schema(entry)
