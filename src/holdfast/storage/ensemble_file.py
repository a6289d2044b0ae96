"""The model file of an ensemble: its trees on one list of features, and how they add up."""

import msgspec

from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.storage.content import document_in, kind_of, refusals_of
from holdfast.storage.document import FORMS, EnsembleDocument, EstimatorPart
from holdfast.storage.document_text import text_of
from holdfast.storage.footprint import check_flags, max_flags
from holdfast.storage.json_array import array_in
from holdfast.storage.parts import ensemble_document_of, losses_in, schema_in, target_in, trees_in
from holdfast.tree.check import check_schema, check_trees
from holdfast.tree.ensemble import Ensemble


def ensemble_to_json(
    ensemble: Ensemble, estimator: EstimatorPart | msgspec.UnsetType = msgspec.UNSET
) -> bytes:
    """The content of the model file of an ensemble, or of the estimator of one; always the same bytes."""
    check_schema(ensemble.schema)
    check_trees(ensemble.trees, "trees[{}]")
    data = text_of(msgspec.structs.replace(ensemble_document_of(ensemble), estimator=estimator))
    check_flags(sum(len(tree.in_set) for tree in ensemble.trees), len(data))
    return data


def ensemble_from_json(data: bytes, *, edited: bool = False) -> Ensemble:
    """The ensemble that the bytes describe. See `load`."""
    with refusals_of("the model"):
        return read_ensemble(data, edited)[0]


def read_ensemble(data: bytes, edited: bool) -> tuple[Ensemble, EstimatorPart | None]:
    """The ensemble that the bytes describe, and its estimator if they have one, which is not checked yet.

    A ModelFileError says what is wrong where, not of which model.
    """
    if (kind := kind_of(data)) != "ensemble":
        raise ModelFileError(f"its kind is {kind!r}, not 'ensemble': use load(path) or load_trees(path).")
    document = document_in(data, EnsembleDocument, edited)
    schema = schema_in(document.schema)
    targets = [target_in(part.target) if part.target else schema.target for part in document.trees]
    try:
        trees = trees_in(document.trees, schema, targets, max_flags(len(data)))
        ensemble = Ensemble(
            schema,
            tuple(trees),
            array_in(document.weights, FORMS["weights"], "weights"),
            array_in(document.outputs, FORMS["outputs"], "outputs"),
            array_in(document.start, FORMS["start"], "start"),
            document.link,
            document.votes,
            document.notes,
            losses_in(document.loss_matrix),
        )
    except BrokenTreeError as error:
        raise ModelFileError(f"it holds no sound ensemble: {error}") from error
    return ensemble, document.estimator or None
