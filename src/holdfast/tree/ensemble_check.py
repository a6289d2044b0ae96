"""What every ensemble promises: finite predictions, and probabilities that sum to 1, whatever the row."""

from sys import float_info
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from holdfast.errors import BrokenTreeError
from holdfast.text.lists import listed
from holdfast.tree.check import check_losses

if TYPE_CHECKING:
    from holdfast.tree.ensemble import Ensemble

Link = Literal["mean", "identity", "exp", "logistic", "double_logistic", "softmax"]
# Between these a weight times a fraction is neither lost nor too large, and so are the sums of many.
LIGHTEST, HEAVIEST = 1e-200, 1e200


def check_ensemble(ensemble: "Ensemble") -> None:
    """Raise a BrokenTreeError that names the part and the value, unless all parts fit together.

    The trees are taken for sound ones.
    """
    if not ensemble.trees:
        raise BrokenTreeError("trees is empty: an ensemble has at least one tree.")
    if ensemble.link not in get_args(Link):
        raise BrokenTreeError(f"link is {ensemble.link!r}: it is one of {listed(get_args(Link))}.")
    for name in ("weights", "outputs", "start"):
        array = getattr(ensemble, name)
        if array.ndim != 1:
            raise BrokenTreeError(f"{name} has {array.ndim} dimensions: it must have 1.")
        if name != "start" and len(array) != len(ensemble.trees):
            raise BrokenTreeError(f"{name} has {len(array)} numbers: there are {len(ensemble.trees)} trees.")
        if not np.isfinite(array).all():
            raise BrokenTreeError(f"{name} holds {array[~np.isfinite(array)][0]}: numbers must be finite.")
    for position, note in enumerate(ensemble.notes):
        if not isinstance(note, str):
            raise BrokenTreeError(f"notes[{position}] is {note!r}: it must be text.")
        if any("\ud800" <= character <= "\udfff" for character in note):
            raise BrokenTreeError(
                f"notes[{position}] is {note!r}: half of a surrogate pair cannot be written to a file."
            )
    _check_outputs(ensemble)
    _check_link(ensemble)
    _check_sums(ensemble)
    check_losses(ensemble.loss_matrix, ensemble.schema.target)


def _check_outputs(ensemble: "Ensemble") -> None:
    features, target = ensemble.schema.features, ensemble.schema.target
    for position, (tree, output) in enumerate(zip(ensemble.trees, ensemble.outputs.tolist(), strict=True)):
        if tree.schema.features is not features and tree.schema.features != features:
            raise BrokenTreeError(
                f"trees[{position}] has other features than the schema of the ensemble: put it on them first "
                "with tree.with_schema(schema)."
            )
        classes = tree.schema.target.classes
        if classes and classes is not target.classes and classes != target.classes:
            raise BrokenTreeError(
                f"trees[{position}] predicts the classes {listed(classes)}, and the ensemble predicts "
                f"{listed(target.classes) or 'a number'}."
            )
        if not classes and (ensemble.votes or (ensemble.link == "mean" and target.is_classes)):
            raise BrokenTreeError(f"trees[{position}] predicts a number: shares and votes are for classes.")
        width = tree.value.shape[1]
        if not 0 <= output <= ensemble.n_outputs - width:
            raise BrokenTreeError(
                f"outputs[{position}] is {output}: the tree adds to {width} columns from there on, and there "
                f"are {ensemble.n_outputs}."
            )


def _check_link(ensemble: "Ensemble") -> None:
    n_classes = len(ensemble.schema.target.classes)
    match ensemble.link:
        case "mean":
            fits = ensemble.n_outputs == max(n_classes, 1)
        case "identity" | "exp":
            fits = ensemble.n_outputs == 1 and n_classes == 0
        case "softmax":
            fits = ensemble.n_outputs == n_classes
        case _:
            fits = ensemble.n_outputs == 1 and n_classes == 2
    if not fits:
        raise BrokenTreeError(
            f"the link {ensemble.link!r} cannot make a prediction of {n_classes} classes "
            f"from {ensemble.n_outputs} scores."
        )


def _check_sums(ensemble: "Ensemble") -> None:
    """Check that sums cannot overflow and that means of fractions are fractions."""
    weights, start = ensemble.weights, ensemble.start
    if (weights < 0).any():
        raise BrokenTreeError(f"weights holds {weights[weights < 0][0]}: a weight is not negative.")
    if ensemble.link == "mean":
        outside = ~((weights >= LIGHTEST) & (weights <= HEAVIEST))
        if outside.any():
            raise BrokenTreeError(
                f'weights holds {weights[outside][0]}: the link "mean" divides by their sum, so each must be '
                f"from {LIGHTEST} to {HEAVIEST}."
            )
        if start.any():
            raise BrokenTreeError(f'start holds {start[start != 0][0]}: under the link "mean" it is 0.')
        return  # a mean of numbers is a number, for which its sum is scaled
    largest = [
        1.0 if ensemble.votes else max(float(tree.value.max()), -float(tree.value.min()))
        for tree in ensemble.trees
    ]
    with np.errstate(over="ignore"):
        reach = np.abs(start).max() + (weights * largest).sum()
    if not reach <= float_info.max / 4:  # twice the score, and a difference of two, must be finite too
        raise BrokenTreeError(
            f"the scores of a row could reach {reach:.3g}: start and the weights times the values of the "
            f"trees must sum to less than {float_info.max / 4:.3g}."
        )
