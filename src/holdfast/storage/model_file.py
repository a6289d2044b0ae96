"""The model file: flat JSON that a person can read and git can compare. Loading it never runs code."""

import os
from pathlib import Path
from typing import Any

from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.files import replace_file
from holdfast.storage.content import MAX_BYTES, content_of, document_in, kind_of, refusals_of
from holdfast.storage.document import EnsembleDocument, TreeDocument, TreesDocument
from holdfast.storage.document_text import text_of
from holdfast.storage.ensemble_file import read_ensemble, save_ensemble
from holdfast.storage.footprint import check_flags, max_flags
from holdfast.storage.parts import document_of, schema_in, sound_tree, tree_in
from holdfast.tree.check import SetSizes, check_schema, check_tree
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

# -- whole files --------------------------------------------------------------------------------------


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a tree or an ensemble, or that of a fitted estimator, to the file at `path`, all or nothing.

    After a failure an older file there is intact.
    """
    ensemble = getattr(model, "ensemble_", model)
    if isinstance(ensemble, Ensemble):
        save_ensemble(ensemble, path)
    else:
        save_tree(fitted_tree(model), path)


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


def load(
    path: str | os.PathLike[str], *, edited: bool = False, max_bytes: int = MAX_BYTES
) -> Tree | Ensemble:
    """The model in the file, a tree or an ensemble, checked in full.

    It predicts any row, or a ModelFileError says what is wrong where. `edited=True` takes a file that was
    changed by hand after it was written, if the model is still sound.
    """
    with refusals_of(f"the model file '{os.fspath(path)}'"):
        data = content_of(Path(path), max_bytes)
        if kind_of(data) == "ensemble":
            return read_ensemble(data, edited)
        return read_tree(data, edited)


def save_tree(tree: Tree, path: str | os.PathLike[str]) -> None:
    """Write the tree to the file at `path`, all or nothing: after a failure an older file there is intact."""
    replace_file(path, tree_to_json(tree), ModelFileError)


def load_tree(path: str | os.PathLike[str], *, edited: bool = False, max_bytes: int = MAX_BYTES) -> Tree:
    """The tree in the file, checked in full: it routes any row, or a ModelFileError says what is wrong where.

    `edited=True` takes a file that was changed by hand after it was written, if it is still a sound tree.
    """
    with refusals_of(f"the model file '{os.fspath(path)}'"):
        return read_tree(content_of(Path(path), max_bytes), edited)


# -- a tree as bytes ----------------------------------------------------------------------------------


def tree_to_json(tree: Tree) -> bytes:
    """The content of the tree's model file: the same bytes for the same tree."""
    check_tree(tree)
    data = text_of(document_of(tree))
    check_flags(len(tree.in_set), len(data))
    return data


def tree_from_json(data: bytes, *, edited: bool = False) -> Tree:
    """The tree that the bytes describe. See `load_tree`."""
    with refusals_of("the model"):
        return read_tree(data, edited)


def read_tree(data: bytes, edited: bool) -> Tree:
    """The tree that the bytes describe; a ModelFileError says what is wrong where, not of which model."""
    kind = kind_of(data)
    if kind == "trees":
        n_estimators = len(document_in(data, TreesDocument, edited).trees)
        raise ModelFileError(
            f"it holds {n_estimators} trees, not one: give the model of the run, or use load_trees(path)."
        )
    if kind == "ensemble":
        n_estimators = len(document_in(data, EnsembleDocument, edited).trees)
        raise ModelFileError(f"it holds an ensemble of {n_estimators} trees, not one tree: use load(path).")
    document = document_in(data, TreeDocument, edited)
    schema = schema_in(document.schema)
    try:
        check_schema(schema)
        sizes = SetSizes.of(schema)
        tree = sound_tree(tree_in(document, schema, sizes, max_flags(len(data)), "nodes"), sizes)
    except BrokenTreeError as error:
        raise ModelFileError(f"it holds no sound tree: {error}") from error
    return tree
