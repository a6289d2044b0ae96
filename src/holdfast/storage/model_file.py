"""The model file: flat JSON that a person can read and git can compare. Loading it never runs code."""

import os
import warnings
from pathlib import Path
from typing import Any

import msgspec

from holdfast.errors import BrokenTreeError, ModelFileError, ModelFileWarning
from holdfast.files import replace_file
from holdfast.storage.content import MAX_BYTES, content_of, document_in, kind_of, refusals_of
from holdfast.storage.document import EnsembleDocument, EstimatorPart, TreeDocument, TreesDocument
from holdfast.storage.document_text import text_of
from holdfast.storage.ensemble_file import ensemble_to_json, read_ensemble
from holdfast.storage.footprint import check_flags, max_flags
from holdfast.storage.parts import document_of, schema_in, sound_tree, tree_in
from holdfast.tree.check import SetSizes, check_schema, check_tree
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
    from holdfast.storage.estimator import estimator_part, is_estimator

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
    from holdfast.storage.estimator import estimator_in

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
