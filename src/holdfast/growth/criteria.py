"""The criteria by name, each declared once: its formula in the kernels, and its properties.

To add one: a number in `kernels/growth/formulas.py`, its branch in `kernels/growth/criteria.py`, and a line
here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from holdfast.arrays import FloatArray, row_maxima, row_sums
from holdfast.errors import ParameterError
from holdfast.kernels.growth import formulas
from holdfast.tree.quantile import ABSOLUTE_ERROR, MEDIAN, QUANTILE, parse_quantile


@dataclass(frozen=True)
class Criterion:
    """A split criterion, as kernels and rules need it."""

    name: str
    formula: int  # its number in the kernels
    impurity: Callable[[FloatArray], FloatArray] | None = None  # from fractions of classes; None for numbers
    shift_factor: float = 0.0  # the gain is this times the squared shift of the mean; 0: another formula
    by_ratio: bool = False  # features compete by gain ratio, each with the question that gains most
    is_normalised: bool = False  # gains are divided by the mean entropy of the node and of its sides
    is_rate: bool = False  # targets are at least 0, and both sides of a split need one above 0
    target_power: int = 0  # of numbers: impurity is in this power of the target
    quantile: float | None = None  # that nodes say in place of a mean: kernels/quantiles grows such trees

    @property
    def is_classes(self) -> bool:
        """True for classification."""
        return self.impurity is not None

    @property
    def costs(self) -> tuple[float, float]:
        """Cost of a unit of the target above and below the quantile."""
        assert self.quantile is not None
        is_plain = self.name == ABSOLUTE_ERROR
        return (1.0, 1.0) if is_plain else (self.quantile, 1.0 - self.quantile)


def _gini(fractions: FloatArray) -> FloatArray:
    return np.asarray(1.0 - row_sums(np.square(fractions)), np.float64)


def _misclassification(fractions: FloatArray) -> FloatArray:
    return np.asarray(1.0 - row_maxima(fractions), np.float64)


def _entropy(fractions: FloatArray) -> FloatArray:
    """Entropy in bits."""
    logs = np.log2(fractions, out=np.zeros_like(fractions), where=fractions > 0)
    return np.asarray(np.abs((fractions * logs).sum(axis=1)), np.float64)


_ALL = (
    Criterion("gini", formulas.GINI, _gini, shift_factor=2.0),
    Criterion("entropy", formulas.ENTROPY, _entropy),
    Criterion("log_loss", formulas.ENTROPY, _entropy),  # scikit-learn's other name for it
    Criterion("misclassification", formulas.MISCLASSIFICATION, _misclassification),
    # The fraction of the most frequent class: the same order of splits.
    Criterion("purity", formulas.MISCLASSIFICATION, _misclassification),
    Criterion("gain_ratio", formulas.ENTROPY, _entropy, by_ratio=True),
    Criterion("mutual_information", formulas.ENTROPY, _entropy, is_normalised=True),
    Criterion("squared_error", formulas.SQUARED_ERROR, shift_factor=1.0, target_power=2),
    Criterion("poisson", formulas.POISSON, is_rate=True, target_power=1),
    Criterion(ABSOLUTE_ERROR, formulas.PINBALL, target_power=1, quantile=MEDIAN),
    Criterion(QUANTILE, formulas.PINBALL, target_power=1),  # which one is said beside it
)
CLASS_CRITERIA = {criterion.name: criterion for criterion in _ALL if criterion.is_classes}
NUMBER_CRITERIA = {criterion.name: criterion for criterion in _ALL if not criterion.is_classes}
CRITERIA = CLASS_CRITERIA | NUMBER_CRITERIA
SQUARED_ERROR = CRITERIA["squared_error"]


def get_criterion(name: str, is_classes: bool) -> Criterion:
    """Return the criterion of this name, which must fit the kind of target.

    That of a tree whose leaves say a quantile, such as "quantile 0.9", is one too.
    """
    known = CLASS_CRITERIA if is_classes else NUMBER_CRITERIA
    if not is_classes and name not in known and (fraction := parse_quantile(name)) is not None:
        return Criterion(name, formulas.PINBALL, target_power=1, quantile=fraction)
    if name not in known:
        target = "classes" if is_classes else "a number"
        raise ParameterError(f"criterion={name!r} is not one for {target}: choose one of {sorted(known)}.")
    return known[name]


def is_for_numbers(name: str) -> bool:
    """Return True if the criterion can grow regression trees by itself."""
    return name != QUANTILE and (name in NUMBER_CRITERIA or parse_quantile(name) is not None)


def class_impurity(criterion: Criterion, fractions: FloatArray) -> FloatArray:
    """Compute the impurity of nodes with these class fractions."""
    assert criterion.impurity is not None
    return criterion.impurity(fractions)
