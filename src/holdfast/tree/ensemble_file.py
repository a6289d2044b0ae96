"""The model file of an ensemble: its trees on one list of features, and how they add up."""

import os
from pathlib import Path

import numpy as np

from holdfast.data.schema import Schema
from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.files import replace_file
from holdfast.tree.check import check_schema, check_tree
from holdfast.tree.content import MAX_BYTES, content_of, document_in, kind_of, refusals_of
from holdfast.tree.document import EnsembleDocument, text_of
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.parts import ensemble_document_of, schema_in, target_in, trees_in

# -- whole files --------------------------------------------------------------------------------------


def save_ensemble(ensemble: Ensemble, path: str | os.PathLike[str]) -> None:
    """Write the ensemble to the file at `path`, all or nothing."""
    replace_file(path, ensemble_to_json(ensemble), ModelFileError)


def load_ensemble(
    path: str | os.PathLike[str], *, edited: bool = False, max_bytes: int = MAX_BYTES
) -> Ensemble:
    """The ensemble in the file, checked in full, or a ModelFileError that says what is wrong where.

    `edited=True` takes a file that was changed by hand after it was written, if the ensemble is still sound.
    """
    with refusals_of(f"the model file '{os.fspath(path)}'"):
        return read_ensemble(content_of(Path(path), max_bytes), edited)


# -- an ensemble as bytes -----------------------------------------------------------------------------


def ensemble_to_json(ensemble: Ensemble) -> bytes:
    """The content of the ensemble's model file: the same bytes for the same ensemble."""
    check_schema(ensemble.schema)
    for position, tree in enumerate(ensemble.trees):
        try:
            check_tree(tree)
        except BrokenTreeError as error:
            raise BrokenTreeError(f"trees[{position}]: {error}") from error
    return text_of(ensemble_document_of(ensemble))


def ensemble_from_json(data: bytes, *, edited: bool = False) -> Ensemble:
    """The ensemble that the bytes describe. See `load_ensemble`."""
    with refusals_of("the model"):
        return read_ensemble(data, edited)


def read_ensemble(data: bytes, edited: bool) -> Ensemble:
    """The ensemble that the bytes describe; a ModelFileError says what is wrong where, not of which model."""
    if (kind := kind_of(data)) != "ensemble":
        raise ModelFileError(f"its kind is {kind!r}, not 'ensemble': use load(path) or load_trees(path).")
    document = document_in(data, EnsembleDocument, edited)
    schema = schema_in(document.schema)
    trees = trees_in(zip(document.trees, _schemas_in(document, schema), strict=True))
    try:
        check_schema(schema)
        return Ensemble(
            schema,
            tuple(trees),
            np.array(document.weights, np.float64),
            np.array(document.outputs, np.int32),
            np.array(document.start, np.float64),
            document.link,
            document.votes,
            document.notes,
        )
    except BrokenTreeError as error:
        raise ModelFileError(f"it holds no sound ensemble: {error}") from error


def _schemas_in(document: EnsembleDocument, schema: Schema) -> list[Schema]:
    """The schema of each tree: the features of the ensemble, and its target or the tree's own."""
    schemas = []
    for part in document.trees:
        own = schema if part.target is None else Schema(schema.features, target_in(part.target))
        schemas.append(own)
    return schemas
