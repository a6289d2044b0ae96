"""Weights and targets of rows in fixed-point arithmetic.

They are integer multiples of a small unit, a power of two, so that sums are exact in any order. The unit is
as small as 62 bits allow: about 1e-13 of the largest value for 200,000 rows. Rows of weight 0 do not affect
it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import FloatArray, IntArray, LongArray, freeze, scale_to_unit
from holdfast._text import quoted
from holdfast.data.resampling import Draws
from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.data.target import are_repetitions
from holdfast.errors import DataError, ParameterError
from holdfast.growth.class_costs import read_loss_matrix, read_priors, row_totals
from holdfast.growth.rules import Criterion, GrowthRules, get_criterion
from holdfast.kernels.growth.histogram import Sample, Samples

# Least weight as a fraction of the greatest; smaller ones are raised to it.
LEAST_SHARE = 2.0**-900
PRODUCT_BITS = 61  # of weight times target, so that twice the sum fits into 64
BLOCK = 2**16  # rows that are Python objects at a time
EXACT = 2.0**53  # integers up to here are added without rounding
FINEST = 400  # most bits after the point, so that the square of a unit is not 0


@dataclass(frozen=True, eq=False)
class FixedPointSample:
    """The rows of a table in fixed point, shared by all trees grown with the same rules."""

    criterion: Criterion
    n_classes: int
    label: LongArray  # class of each row; empty for a numeric target
    weight: LongArray | None  # of each row in units; None if every row weighs one unit
    total: LongArray  # weight times target, in units; for quantiles the target alone; empty with classes
    target: FloatArray  # times 2 ** -exponent, so that squares do not overflow or vanish; empty with classes
    exponent: int
    square: LongArray  # weight times target squared, in units, rounded up; empty with classes
    repeats: IntArray  # number of rows that each row stands for
    importance: FloatArray  # the weight of one repetition times 2 ** -weight_exponent, below 2
    weight_exponent: int
    weight_unit: float
    total_unit: float
    square_unit: float
    losses: FloatArray | None = None  # loss matrix by which the trees predict
    unaltered: "FixedPointSample | None" = None  # with losses: the rows with the weights for node values

    @property
    def value_sample(self) -> "FixedPointSample":
        """The sample with the weights for node values; those of growth may include losses."""
        return self if self.unaltered is None else self.unaltered

    @property
    def label_bits(self) -> int:
        """Number of bits of a class index."""
        return max(self.n_classes - 1, 0).bit_length()

    @property
    def n_stats(self) -> int:
        """Length of a vector of statistics."""
        return (max(self.n_classes, 2) if self.n_classes else 3) + (self.weight is not None)

    def samples(self, counts: IntArray, repeats: IntArray, start: LongArray, seed: LongArray) -> Samples:
        """Make the samples of several trees with row counts (trees, rows).

        `repeats` are the numbers of rows that count towards the smallest leaf; `start` is the position of
        each tree's first row among all rows with a positive count.
        """
        weight = counts.astype(np.int64) if self.weight is None else counts * self.weight
        total = square = np.empty((len(counts), 0), np.int64)
        target = _NO_TARGET if self.n_classes else self.target
        if self.n_classes:
            weight = weight << self.label_bits | self.label
        elif self.criterion.quantile is not None:
            total = np.tile(self.total, (len(counts), 1))
        else:
            total, square = counts * self.total, counts * self.square
        return Samples(
            freeze(weight),
            freeze(total),
            freeze(square),
            freeze(target),
            freeze(repeats),
            freeze(start),
            freeze(seed),
        )


def first_sample(samples: Samples) -> Sample:
    """Return the sample of the first tree."""
    weight, total, square, target, repeats, _, _ = samples
    return Sample(weight[0], total[0], square[0], target, repeats[0])


_NOTHING = freeze(np.empty(0, np.int64))
_NO_TARGET = freeze(np.empty(0, np.float64))


def row_weight(fixed: FixedPointSample, counts: IntArray, draws: Draws | None = None) -> float:
    """Compute the weight of one effective row: the sum of squared weights by the sum of weights (Kish, 1965).

    It is 1 if all weights are equal and each row is drawn once. A row that is drawn twice weighs twice as
    much; one that stands for two rows does not. Without the draws behind the sample, those of a row that
    stands for several are assumed to be spread evenly.
    """
    if fixed.weight is None and draws is not None:  # integers
        return int(draws.squares.sum()) / int(counts.sum(dtype=np.int64))
    weight = np.ones(len(counts)) if fixed.weight is None else fixed.weight.astype(np.float64)
    squares = counts / np.maximum(fixed.repeats, 1) * counts if draws is None else draws.squares
    return _exact_sum(squares * weight * weight) / _exact_sum(counts * weight)


def _exact_sum(values: FloatArray) -> float:
    """Sum without rounding, so that the order of the rows does not matter."""
    total = float(values.sum())
    if total < EXACT and (values == np.rint(values)).all():  # none is negative
        return total
    blocks = (values[at : at + BLOCK].tolist() for at in range(0, len(values), BLOCK))
    return math.fsum(chain.from_iterable(blocks))


def check_table(table: Any) -> None:
    """Raise a TypeError unless it is a table."""
    if not isinstance(table, Table):
        raise TypeError(
            f"The rows are a {type(table).__name__}: make a table of them, Table.from_arrays(X, y)."
        )


def fixed_point_sample(table: Table, rules: GrowthRules) -> FixedPointSample:
    """Convert the rows of a table to fixed point."""
    check_table(table)
    target = table.schema.target
    criterion = get_criterion(rules.criterion_name, target.is_classes)
    repeats, importance, exponent = scale_weights(table, rules)
    # Part of the rows of a survival tree may have no event, as those of a fold.
    if criterion.is_rate and table.survival is None and not np.any(table.target[repeats > 0]):
        raise DataError(f"criterion={criterion.name!r} needs at least one target above 0, and all are 0.")
    fixed = fixed_point(table.target, len(target.classes), criterion, repeats, importance, exponent)
    losses = read_loss_matrix(rules.loss_matrix, target.classes)
    return fixed if losses is None else _with_losses(fixed, losses)


def _with_losses(fixed: FixedPointSample, losses: FloatArray) -> FixedPointSample:
    """Weigh each class by the losses of its errors (altered priors), for the choice of splits."""
    factors = row_totals(losses)
    values = replace(fixed, losses=losses)
    if (factors == factors[0]).all():
        return values
    importance, exponent = scale_importance(fixed.importance * factors[fixed.label], fixed.repeats)
    altered = fixed_point(
        fixed.label,
        fixed.n_classes,
        fixed.criterion,
        fixed.repeats,
        importance,
        fixed.weight_exponent + exponent,
    )
    return replace(altered, losses=losses, unaltered=values)


def scale_weights(
    table: Table, rules: GrowthRules, taken: IntArray | None = None, *, by_exposure: bool = True
) -> tuple[IntArray, FloatArray, int]:
    """Return the repetitions of every row, its importance times 2 ** -exponent, and the exponent.

    The importance of a row with a time to an event is multiplied by its exposure, unless `by_exposure` is
    false. `taken` are row counts, by default 1; classes are balanced by the rows with a positive count.
    """
    repeats, importance = split_weight(table.weight, table.n_rows)
    if taken is not None:
        repeats = (repeats * taken).astype(np.int32)
    if table.survival is not None and by_exposure:
        importance, exponent = scale_importance(importance * table.survival.exposure, repeats)
        return repeats, importance, exponent
    is_plain = rules.class_weight is None and rules.priors is None
    if is_plain and (table.weight is None or are_repetitions(table.weight)):
        return repeats, importance, 0
    importance, of_weight = scale_importance(importance, repeats)
    importance, of_class = scale_importance(
        importance * class_importance(table, rules, repeats * importance), repeats
    )
    exponent = of_weight + of_class
    with np.errstate(over="ignore"):
        # Not as a product of vectors: BLAS would wait for its threads.
        total = float(np.ldexp((repeats * importance).sum(), exponent))
    if not math.isfinite(total):
        raise DataError(
            "The weights of the rows times class_weight add up to more than a number can hold: divide the "
            "weights, or the factors, by one number. Only their shares matter."
        )
    return repeats, importance, exponent


def scale_importance(importance: FloatArray, repeats: IntArray) -> tuple[FloatArray, int]:
    """Scale importances by a power of two so that the greatest is between 1 and 2; return the exponent, too.

    Rows without repetitions do not affect the scale and get the importance 1.
    """
    counted = repeats > 0
    if not counted.any():
        return np.ones(len(importance)), 0
    shares, exponent = scale_to_unit(np.where(counted, importance, 0.0))
    return np.where(counted, np.maximum(2.0 * shares, LEAST_SHARE), 1.0), exponent - 1


def fixed_point(
    values: NDArray[Any],
    n_classes: int,
    criterion: Criterion,
    repeats: IntArray,
    importance: FloatArray,
    weight_exponent: int = 0,
) -> FixedPointSample:
    """Convert targets, which are numbers if `n_classes` is 0, and importances to fixed point."""
    counted = repeats > 0
    n_repeats = float(repeats.sum(dtype=np.int64))
    label = values.astype(np.int64) if n_classes else _NOTHING
    bits = 62 - max(n_classes - 1, 0).bit_length()
    weight, weight_unit = None, 1.0
    if np.any((importance != 1.0) & counted):
        weight, weight_unit = _weights_in_units(importance, repeats, bits)
    total, square, numbers = _NOTHING, _NOTHING, _NO_TARGET
    total_unit, square_unit, exponent = 1.0, 1.0, 0
    if not n_classes:
        numbers, exponent = scale_to_unit(np.where(counted, values, values[counted][0]))
        middle = np.where(counted, center_target(numbers, criterion), 0.0)
        if criterion.quantile is None:
            total, total_unit = integer_multiples(importance * middle, n_repeats, bits)
            square, square_unit = integer_multiples(importance * middle * middle, n_repeats, bits - 1)
            square = square + 1  # rounded up, for an upper bound
        else:
            weight, weight_unit, total, target_unit = _for_quantiles(
                importance, middle, repeats, weight is not None
            )
            total_unit = weight_unit * target_unit
    return FixedPointSample(
        criterion=criterion,
        n_classes=n_classes,
        label=label,
        weight=weight,
        total=total,
        square=square,
        target=freeze(numbers),
        exponent=exponent,
        repeats=repeats,
        importance=importance,
        weight_exponent=weight_exponent,
        weight_unit=weight_unit,
        total_unit=total_unit,
        square_unit=square_unit,
    )


def _for_quantiles(
    importance: FloatArray, target: FloatArray, repeats: IntArray, is_weighted: bool
) -> tuple[LongArray | None, float, LongArray, float]:
    """Return weights (or None) and targets with their units, such that sums of their products fit 62 bits.

    So losses are integers, too. Weights take half of the bits that repetitions leave.
    """
    n_repeats = float(repeats.sum(dtype=np.int64))
    if not is_weighted:
        return None, 1.0, *integer_multiples(target, n_repeats, PRODUCT_BITS)
    own_bits = max((PRODUCT_BITS - math.frexp(n_repeats)[1]) // 2, 1)
    weight, unit = integer_multiples(np.where(repeats > 0, importance, 0.0), 1.0, own_bits)
    weight = np.maximum(weight, 1)  # no weight is rounded to 0
    return weight, unit, *integer_multiples(target, n_repeats * float(weight.max()), PRODUCT_BITS)


def reweight(fixed: FixedPointSample, importance: FloatArray) -> FixedPointSample:
    """Set other importances of a classification sample, scaled to a mean of 1 (for boosting)."""
    weight, unit = _weights_in_units(importance, fixed.repeats, 62 - fixed.label_bits)
    # From integers, so that the order of the rows and repetitions change no bit.
    factor = int(fixed.repeats.sum(dtype=np.int64)) / (int(fixed.repeats @ weight) * unit)
    return replace(
        fixed, importance=importance * factor, weight=weight, weight_unit=unit * factor, weight_exponent=0
    )


def _weights_in_units(importance: FloatArray, repeats: IntArray, bits: int) -> tuple[LongArray, float]:
    n_repeats = float(repeats.sum(dtype=np.int64))
    weight, unit = integer_multiples(np.where(repeats > 0, importance, 0.0), n_repeats, bits)
    return np.maximum(weight, 1), unit  # no weight is rounded to 0


def fixed_point_samples(table: Table, rules: Sequence[GrowthRules]) -> tuple[FixedPointSample, ...]:
    """Make a sample for each of the rules, shared by rules with the same criterion and weights."""
    keys = [f"{each.criterion_name} {each.class_weight} {each.priors} {each.loss_matrix}" for each in rules]
    samples: dict[str, FixedPointSample] = {}
    for key, each in zip(keys, rules, strict=True):
        samples[key] = samples.get(key) or fixed_point_sample(table, each)
    return tuple(samples[key] for key in keys)


def split_weight(weight: FloatArray | None, n_rows: int) -> tuple[IntArray, FloatArray]:
    """Return repetitions and importance of every row: integer weights are repetitions, others importances."""
    ones = np.ones(n_rows)
    if weight is None:
        return np.ones(n_rows, np.int32), ones
    if are_repetitions(weight):
        return weight.astype(np.int32), ones
    return (weight > 0).astype(np.int32), np.where(weight > 0, weight, 1.0)


def class_importance(table: Table, rules: GrowthRules, weight: FloatArray) -> FloatArray:
    """Return the factor of each row by `class_weight` or `priors`."""
    classes = table.schema.target.classes
    priors = read_priors(rules.priors, classes)
    if priors is not None:
        return np.asarray(_prior_factors(table, weight, priors)[table.target], np.float64)
    if rules.class_weight is None:
        return np.ones(table.n_rows)
    if not classes:
        raise ParameterError("class_weight is for classes, and the target is a number: leave it None.")
    if rules.class_weight == "balanced":
        factors = _balanced_factors(table, weight)
    else:
        check_class_weight(rules.class_weight, classes)
        factors = np.array([float(rules.class_weight.get(label, 1.0)) for label in classes])
    return np.asarray(factors[table.target], np.float64)


def _balanced_factors(table: Table, weight: FloatArray) -> FloatArray:
    """Return the factors that give all classes that occur the same weight."""
    of_class = _class_totals(table, weight)
    present = of_class > 0
    factors = math.fsum(of_class) / (present.sum() * np.where(present, of_class, 1.0))
    return np.asarray(np.where(present, factors, 1.0), np.float64)


def _prior_factors(table: Table, weight: FloatArray, priors: FloatArray) -> FloatArray:
    """Return the factors that give each class its prior as fraction of the weight."""
    of_class = _class_totals(table, weight)
    present = of_class > 0
    factors = math.fsum(of_class) * priors / np.where(present, of_class, 1.0)
    return np.asarray(np.where(present, factors, 1.0), np.float64)


def _class_totals(table: Table, weight: FloatArray) -> FloatArray:
    """Return the weight of each class, rounded once, so that the order of the rows changes no bit."""
    n_classes = len(table.schema.target.classes)
    if are_repetitions(weight):
        return np.asarray(np.bincount(table.target, weight, minlength=n_classes), np.float64)
    return np.array([math.fsum(weight[table.target == label].tolist()) for label in range(n_classes)])


def balanced_on(table: Table, rules: GrowthRules, counts: IntArray) -> GrowthRules:
    """Return rules whose class weights are computed from the rows with these counts."""
    classes = table.schema.target.classes
    priors = read_priors(rules.priors, classes)
    if (rules.class_weight != "balanced" and priors is None) or not classes:
        return rules
    repeats, importance = split_weight(table.weight, table.n_rows)
    repeats = (repeats * counts).astype(np.int32)
    weight = repeats * scale_importance(importance, repeats)[0]
    factors = _balanced_factors(table, weight) if priors is None else _prior_factors(table, weight, priors)
    return replace(rules, class_weight=dict(zip(classes, factors.tolist(), strict=True)), priors=None)


def check_class_weight(class_weight: Mapping[Label, float], classes: Sequence[Label]) -> None:
    """Raise a ParameterError if the weights name unknown classes.

    An unknown label is accepted if every class has a weight, since other rows may contain it.
    """
    strange = [label for label in class_weight if label not in classes]
    if strange and any(label not in class_weight for label in classes):
        raise ParameterError(
            f"class_weight has a weight for {quoted(strange)}, but the classes of y are {quoted(classes)}. "
            "Write the labels as y has them."
        )


def center_target(target: NDArray[np.float64], criterion: Criterion) -> FloatArray:
    """Subtract the middle of the range, which leaves more bits for differences; rates stay as they are."""
    if criterion.is_rate:
        if target.min() < 0:
            raise DataError(f"criterion={criterion.name!r} needs targets of at least 0, and some are below.")
        return target
    middle = target.min() / 2 + target.max() / 2
    return np.asarray(target - middle, np.float64)


def integer_multiples(values: FloatArray, n_repeats: float, bits: int) -> tuple[LongArray, float]:
    """Convert values to multiples of the smallest unit that n_repeats of the largest allow; return both."""
    largest = float(np.abs(values).max())
    if largest == 0.0:
        return np.zeros(len(values), np.int64), 1.0
    exponent = min(bits - 1 - math.frexp(largest)[1] - math.frexp(n_repeats)[1], FINEST)
    return np.rint(np.ldexp(values, exponent)).astype(np.int64), math.ldexp(1.0, -exponent)
