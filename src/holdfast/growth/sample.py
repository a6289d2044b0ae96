"""Rows as integers: what each row adds to the statistics of a node.

Weights and targets are integer multiples of a small unit, a power of two, so that sums are exact in
any order. The unit is as small as 62 bits allow: some 1e-13 of the largest value for 200,000 rows. A row that
does not count takes no part in choosing it.
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

# Weights of a table that are further apart than this are taken for as far.
LEAST_SHARE = 2.0**-900
PRODUCT_BITS = 61  # of weight times target; twice as much fits
BLOCK = 2**16  # rows that are Python objects at a time
EXACT = 2.0**53  # whole numbers up to here are added without rounding
FINEST = 400  # bits after the point: the square of a unit is not 0


@dataclass(frozen=True, eq=False)
class FixedPointSample:
    """The rows of a table in integers, shared by all trees grown with the same rules."""

    criterion: Criterion
    n_classes: int
    label: LongArray  # class of each row; empty for a numeric target
    weight: LongArray | None  # of each row in units; None if every row weighs one unit
    total: LongArray  # weight times target, in units; for quantiles the target alone; empty with classes
    target: (
        FloatArray  # times 2 ** -exponent, so that squares neither overflow nor vanish; empty with classes
    )
    exponent: int
    square: LongArray  # weight times target squared, in units, rounded up; empty with classes
    repeats: IntArray  # how many rows each row stands for
    importance: FloatArray  # the weight of one repetition times 2 ** -weight_exponent, below 2
    weight_exponent: int
    weight_unit: float
    total_unit: float
    square_unit: float
    losses: FloatArray | None = None  # what errors cost: the trees predict by them
    unaltered: "FixedPointSample | None" = None  # with losses: the rows with the weights that values go by

    @property
    def value_sample(self) -> "FixedPointSample":
        """The rows with the weights that the values of nodes go by: growth alone may weigh by losses."""
        return self if self.unaltered is None else self.unaltered

    @property
    def label_bits(self) -> int:
        """Bits that hold a class."""
        return max(self.n_classes - 1, 0).bit_length()

    @property
    def n_stats(self) -> int:
        """Length of a vector of statistics."""
        return (max(self.n_classes, 2) if self.n_classes else 3) + (self.weight is not None)

    def samples(self, counts: IntArray, repeats: IntArray, start: LongArray, seed: LongArray) -> Samples:
        """The rows of trees, each repeated as often as `counts`, of (trees, rows), says.

        `repeats` is what they count for towards the smallest leaf, and `start` where those of each tree begin
        among all that are repeated at least once.
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
    """The rows of the first tree."""
    weight, total, square, target, repeats, _, _ = samples
    return Sample(weight[0], total[0], square[0], target, repeats[0])


_NOTHING = freeze(np.empty(0, np.int64))
_NO_TARGET = freeze(np.empty(0, np.float64))


def row_weight(fixed: FixedPointSample, counts: IntArray, draws: Draws | None = None) -> float:
    """What chance takes for one row of a sample, in units of weight: 1 if all weigh the same, drawn once.

    The sum of squared weights by the sum of weights (Kish, 1965). A row that is drawn twice weighs twice as
    much; one that stands for two rows does not. Without the draws behind the sample, those of a row that
    stands for several are taken to be spread evenly.
    """
    if fixed.weight is None and draws is not None:  # whole numbers
        return int(draws.squares.sum()) / int(counts.sum(dtype=np.int64))
    weight = np.ones(len(counts)) if fixed.weight is None else fixed.weight.astype(np.float64)
    squares = counts / np.maximum(fixed.repeats, 1) * counts if draws is None else draws.squares
    return _exact_sum(squares * weight * weight) / _exact_sum(counts * weight)


def _exact_sum(values: FloatArray) -> float:
    """The sum without rounding, so that the order of the rows does not matter."""
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
    """The rows of a table as integers."""
    check_table(table)
    target = table.schema.target
    criterion = get_criterion(rules.criterion_name, target.is_classes)
    repeats, importance, exponent = scale_weights(table, rules)
    fixed = fixed_point(table.target, len(target.classes), criterion, repeats, importance, exponent)
    losses = read_loss_matrix(rules.loss_matrix, target.classes)
    return fixed if losses is None else _with_losses(fixed, losses)


def _with_losses(fixed: FixedPointSample, losses: FloatArray) -> FixedPointSample:
    """The rows by altered priors: each class weighs what its errors cost, and splits are chosen by that."""
    factors = row_totals(losses)
    values = replace(fixed, losses=losses)
    if (factors == factors[0]).all():
        return values
    importance, exponent = relative(fixed.importance * factors[fixed.label], fixed.repeats)
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
    table: Table, rules: GrowthRules, taken: IntArray | None = None
) -> tuple[IntArray, FloatArray, int]:
    """Repetitions of every row, the importance of one times 2 ** -exponent, and the exponent.

    `taken` says how often each row is taken; None: once. Classes are balanced by the rows that are.
    """
    repeats, importance = split_weight(table.weight, table.n_rows)
    if taken is not None:
        repeats = (repeats * taken).astype(np.int32)
    is_plain = rules.class_weight is None and rules.priors is None
    if is_plain and (table.weight is None or are_repetitions(table.weight)):
        return repeats, importance, 0
    importance, of_weight = relative(importance, repeats)
    importance, of_class = relative(
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


def relative(importance: FloatArray, repeats: IntArray) -> tuple[FloatArray, int]:
    """The importances times a power of two, the greatest from 1 to 2, and the exponent that takes them back.

    Rows that do not count do not set the scale, and have the importance 1.
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
    """Rows with these targets, which are classes or, where there are none, numbers."""
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
        middle = np.where(counted, centred(numbers, criterion), 0.0)
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
    """Weights, or None, and targets, each in units: the product of any two fits, however often it is added.

    So losses are integers too. Where rows have weights, these take half of the bits that repetitions leave.
    """
    n_repeats = float(repeats.sum(dtype=np.int64))
    if not is_weighted:
        return None, 1.0, *integer_multiples(target, n_repeats, PRODUCT_BITS)
    own_bits = max((PRODUCT_BITS - math.frexp(n_repeats)[1]) // 2, 1)
    weight, unit = integer_multiples(np.where(repeats > 0, importance, 0.0), 1.0, own_bits)
    weight = np.maximum(weight, 1)  # a row that counts at all counts for something
    return weight, unit, *integer_multiples(target, n_repeats * float(weight.max()), PRODUCT_BITS)


def reweight(fixed: FixedPointSample, importance: FloatArray) -> FixedPointSample:
    """The same rows of classes with other importances, scaled so that a row weighs 1 on average.

    What boosting needs in every round: the table is neither read nor coded again.
    """
    weight, unit = _weights_in_units(importance, fixed.repeats, 62 - fixed.label_bits)
    # From integers, so that neither the order of the rows nor repetitions change a bit of it.
    factor = int(fixed.repeats.sum(dtype=np.int64)) / (int(fixed.repeats @ weight) * unit)
    return replace(
        fixed, importance=importance * factor, weight=weight, weight_unit=unit * factor, weight_exponent=0
    )


def _weights_in_units(importance: FloatArray, repeats: IntArray, bits: int) -> tuple[LongArray, float]:
    n_repeats = float(repeats.sum(dtype=np.int64))
    weight, unit = integer_multiples(np.where(repeats > 0, importance, 0.0), n_repeats, bits)
    return np.maximum(weight, 1), unit  # a row that counts at all counts for something


def fixed_point_samples(table: Table, rules: Sequence[GrowthRules]) -> tuple[FixedPointSample, ...]:
    """The rows as integers for each of the rules, one sample for all that count the same."""
    made: dict[str, FixedPointSample] = {}
    for each in rules:
        key = _key(each)
        made[key] = made.get(key) or fixed_point_sample(table, each)
    return tuple(made[_key(each)] for each in rules)


def _key(rules: GrowthRules) -> str:
    return f"{rules.criterion_name} {rules.class_weight} {rules.priors} {rules.loss_matrix}"


def split_weight(weight: FloatArray | None, n_rows: int) -> tuple[IntArray, FloatArray]:
    """Repetitions and importance of every row: whole weights are repetitions, all others are importances."""
    ones = np.ones(n_rows)
    if weight is None:
        return np.ones(n_rows, np.int32), ones
    if are_repetitions(weight):
        return weight.astype(np.int32), ones
    return (weight > 0).astype(np.int32), np.where(weight > 0, weight, 1.0)


def class_importance(table: Table, rules: GrowthRules, weight: FloatArray) -> FloatArray:
    """The factor that class_weight, or the priors, give each row."""
    classes = table.schema.target.classes
    priors = read_priors(rules.priors, classes)
    if priors is not None:
        return np.asarray(_with_priors(table, weight, priors)[table.target], np.float64)
    if rules.class_weight is None:
        return np.ones(table.n_rows)
    if not classes:
        raise ParameterError("class_weight is for classes, and the target is a number: leave it None.")
    if rules.class_weight == "balanced":
        factors = _balanced(table, weight)
    else:
        check_class_weight(rules.class_weight, classes)
        factors = np.array([float(rules.class_weight.get(label, 1.0)) for label in classes])
    return np.asarray(factors[table.target], np.float64)


def _balanced(table: Table, weight: FloatArray) -> FloatArray:
    """For every class the factor that makes all classes that occur weigh the same."""
    of_class = _class_totals(table, weight)
    present = of_class > 0
    factors = math.fsum(of_class) / (present.sum() * np.where(present, of_class, 1.0))
    return np.asarray(np.where(present, factors, 1.0), np.float64)


def _with_priors(table: Table, weight: FloatArray, priors: FloatArray) -> FloatArray:
    """For every class the factor that gives it the prior as its fraction of the weight."""
    of_class = _class_totals(table, weight)
    present = of_class > 0
    factors = math.fsum(of_class) * priors / np.where(present, of_class, 1.0)
    return np.asarray(np.where(present, factors, 1.0), np.float64)


def _class_totals(table: Table, weight: FloatArray) -> FloatArray:
    """The weight of each class, rounded once: no order of the rows changes its last bit."""
    n_classes = len(table.schema.target.classes)
    if are_repetitions(weight):
        return np.asarray(np.bincount(table.target, weight, minlength=n_classes), np.float64)
    return np.array([math.fsum(weight[table.target == label].tolist()) for label in range(n_classes)])


def balanced_on(table: Table, rules: GrowthRules, counts: IntArray) -> GrowthRules:
    """The rules with classes weighed by some of the rows only, each repeated as often as `counts` says."""
    classes = table.schema.target.classes
    priors = read_priors(rules.priors, classes)
    if (rules.class_weight != "balanced" and priors is None) or not classes:
        return rules
    repeats, importance = split_weight(table.weight, table.n_rows)
    repeats = (repeats * counts).astype(np.int32)
    weight = repeats * relative(importance, repeats)[0]
    factors = _balanced(table, weight) if priors is None else _with_priors(table, weight, priors)
    return replace(rules, class_weight=dict(zip(classes, factors.tolist(), strict=True)), priors=None)


def check_class_weight(class_weight: Mapping[Label, float], classes: Sequence[Label]) -> None:
    """Raise a ParameterError if the weights speak of other classes than these.

    A label that is none of them may stand if every class has its weight: other rows may hold it.
    """
    strange = [label for label in class_weight if label not in classes]
    if strange and any(label not in class_weight for label in classes):
        raise ParameterError(
            f"class_weight has a weight for {quoted(strange)}, but the classes of y are {quoted(classes)}. "
            "Write the labels as y has them."
        )


def centred(target: NDArray[np.float64], criterion: Criterion) -> FloatArray:
    """The target as deviation from its middle, which leaves more bits for differences; a rate as it is."""
    if criterion.is_rate:
        if target.min() < 0:
            raise DataError(f"criterion={criterion.name!r} needs targets of at least 0, and some are below.")
        if not np.any(target > 0):
            raise DataError(f"criterion={criterion.name!r} needs at least one target above 0, and all are 0.")
        return target
    middle = target.min() / 2 + target.max() / 2
    return np.asarray(target - middle, np.float64)


def integer_multiples(values: FloatArray, n_repeats: float, bits: int) -> tuple[LongArray, float]:
    """The values as multiples of a unit, so small that n_repeats of the largest still fit; the unit."""
    largest = float(np.abs(values).max())
    if largest == 0.0:
        return np.zeros(len(values), np.int64), 1.0
    exponent = min(bits - 1 - math.frexp(largest)[1] - math.frexp(n_repeats)[1], FINEST)
    return np.rint(np.ldexp(values, exponent)).astype(np.int64), math.ldexp(1.0, -exponent)
