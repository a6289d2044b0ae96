"""The criteria by name, and the impurity of finished nodes."""

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.errors import RulesError
from holdfast.kernels.growth import criteria as kernels

CLASS_CRITERIA = {
    "gini": kernels.GINI,
    "entropy": kernels.ENTROPY,
    "log_loss": kernels.ENTROPY,  # scikit-learn's other name for it
    "misclassification": kernels.MISCLASSIFICATION,
    "purity": kernels.MISCLASSIFICATION,  # the fraction of the most frequent class: the same order of splits
    "gain_ratio": kernels.ENTROPY,  # of each feature; then the features compete by ratio
    "mutual_information": kernels.MUTUAL_INFORMATION,
}
NUMBER_CRITERIA = {"squared_error": kernels.SQUARED_ERROR, "poisson": kernels.POISSON}


def criterion_number(name: str, is_classes: bool) -> int:
    """The kernels' number of a criterion, which must fit the kind of target."""
    known = CLASS_CRITERIA if is_classes else NUMBER_CRITERIA
    if name not in known:
        target = "classes" if is_classes else "a number"
        raise RulesError(f"criterion={name!r} is not one for {target}: choose one of {sorted(known)}.")
    return known[name]


def class_impurity(criterion: int, shares: FloatArray) -> FloatArray:
    """Impurity of nodes with these fractions of the classes: entropies are in bits."""
    if criterion == kernels.GINI:
        return np.asarray(1.0 - np.square(shares).sum(axis=1), np.float64)
    if criterion == kernels.MISCLASSIFICATION:
        return np.asarray(1.0 - shares.max(axis=1), np.float64)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(np.abs((shares * logs).sum(axis=1)), np.float64)
