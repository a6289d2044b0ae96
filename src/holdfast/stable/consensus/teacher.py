"""Teachers: models that small trees are distilled from.

The mean of several models of different kinds varies less from sample to sample than any of them. Random draws
depend on the rows alone: every random state gives the same teacher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from holdfast._arrays import BoolArray, FloatArray, KeyArray, LongArray, scale_to_unit
from holdfast._choices import TEACHER_NAMES
from holdfast._random import Branch, Stream, derive_seed
from holdfast._text import quoted
from holdfast.data.folds import subset_groups
from holdfast.data.row_keys import hash_rows, select_lowest, unit_keys
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.data.target import are_repetitions
from holdfast.distance.costs import fraction_values, value_fractions
from holdfast.ensembles.bagging import ROWS_AT_A_TIME as BLOCK
from holdfast.ensembles.bagging import Sampling, predict_bagged
from holdfast.ensembles.boosting import BoostingSettings, boost
from holdfast.ensembles.losses import LossName
from holdfast.errors import ParameterError
from holdfast.growth.rules import Categories, GrowthRules, default_criterion
from holdfast.parallel.tasks import run_cached
from holdfast.stable.settings import StabilitySettings
from holdfast.tree.stats import weighted_quantile
from holdfast.tree.tree import label_array

SEED = 0
N_TREES = 200
MOST_BAGGED = 8_192  # rows of one tree of a teacher's forest, on average
LEAST_ROWS = 5  # in a leaf of a teacher's tree
N_ROUNDS, RATE, DEPTH = 150, 0.05, 3
MOST_FITTED = 20_000  # rows that linear and kernel models are fitted to
ROWS_AT_A_TIME = 8_192  # that these predict together
MOST_NEWTON = 500  # columns
RIDGE, KERNEL_RIDGE = 0.1, 0.5  # the inverse of the penalty, as scikit-learn's C
SOLVED = 1e-9  # of equations that are solved step by step: the error that is left


@dataclass(frozen=True, eq=False)
class TeacherData:
    """The rows that a teacher is fitted to, and the rows that it predicts: by default the same.

    Parts of a teacher for times to an event fit events by those expected, and predict relative risks.
    """

    table: Table  # with class weights; numbers from 0 to 1
    groups: LongArray | None
    n_jobs: int | None
    categories: Categories = "shrunk"
    others: Table | None = None  # to predict instead

    @classmethod
    def of(
        cls,
        table: Table,
        weight: FloatArray,
        groups: LongArray | None,
        settings: StabilitySettings,
        training: BoolArray | None = None,
    ) -> TeacherData:
        """Apply the weights, and scale numbers to 0 to 1.

        With `training`, the teacher is fitted to these rows, and predicts all.
        """
        if table.weight is not None or not (weight == 1.0).all():
            table = replace(table, weight=weight)
        elif "coded" not in table.__dict__:
            table = table.subset(slice(None))  # whose codes are released with it
        target = table.schema.target
        # Squares of fractions neither overflow nor vanish.
        if not target.is_classes and table.survival is None:
            fraction = value_fractions(table.target, target)
            schema = replace(table.schema, target=Target(target.name))
            identity = hash_rows(table)  # random draws depend on the row before scaling
            table = Table(schema, table.columns, fraction, table.weight, identity)
        data = cls(table, groups, settings.n_jobs, settings.rules.categories)
        if training is None:
            return data
        return replace(
            data, table=table.subset(training), groups=subset_groups(groups, training), others=table
        )

    @property
    def predicted(self) -> Table:
        """The rows that the teacher predicts."""
        return self.table if self.others is None else self.others

    @property
    def is_classes(self) -> bool:
        """True for classes, False for numbers."""
        return self.table.schema.target.is_classes

    @property
    def rate_table(self) -> Table:
        """The training rows as others than trees read them: for times to an event weighted by exposure."""
        table = self.table
        if table.survival is None:
            return table
        exposure = table.survival.exposure
        weight = exposure if table.weight is None else table.weight * exposure
        return Table(
            replace(table.schema, target=Target(table.schema.target.name)),
            table.columns,
            table.target,
            weight,
            hash_rows(table) if table.identity is None else table.identity,
        )


def check_teacher(teacher: Any) -> None:
    """Raise a ParameterError unless it is the name of a teacher, an estimator, a list of them, or weights."""
    is_many = isinstance(teacher, list | tuple | Mapping)
    for each in teacher if is_many else [teacher]:
        if isinstance(each, str) and each not in TEACHER_NAMES:
            raise ParameterError(
                f"teacher={each!r} is unknown: choose one of {quoted(TEACHER_NAMES)}, or give an "
                "estimator, or a list of them."
            )
        if not isinstance(each, str) and not (hasattr(each, "fit") and hasattr(each, "get_params")):
            raise ParameterError(
                f"teacher has a {type(each).__name__}: give names or estimators that can be cloned."
            )
    if is_many and not teacher:
        raise ParameterError(f"teacher={teacher!r} has no model: give at least one name or estimator.")
    weights = list(teacher.values()) if isinstance(teacher, Mapping) else [1.0]
    if not all(isinstance(each, Real) and 0 <= float(each) < float("inf") for each in weights) or not sum(
        weights
    ):
        raise ParameterError(f"teacher={teacher!r} needs weights of at least 0, and one above 0.")


def part_weights(teacher: Any) -> dict[Any, float]:
    """Parse a teacher into its parts, names of PARTS or estimators, and their weights, of sum 1.

    `teacher` is one of TEACHERS or PARTS, an estimator, a list of these, which count alike, or a mapping of
    these to weights.
    """
    if not isinstance(teacher, Mapping):
        teacher = dict.fromkeys(teacher if isinstance(teacher, list | tuple) else [teacher], 1.0)
    weights: dict[Any, float] = {}
    for each, weight in teacher.items():
        own = TEACHERS[each] if isinstance(each, str) and each in TEACHERS else {each: 1.0}
        for part, share in own.items():
            weights[part] = weights.get(part, 0.0) + weight * share / sum(own.values())
    total = sum(weights.values())
    return {part: weight / total for part, weight in weights.items() if weight > 0}


def part_predictions(data: TeacherData, parts: Iterable[Any]) -> list[FloatArray]:
    """Predict with every part of a teacher: fractions of classes, or those of `value_fractions`."""
    target, n_rows = data.table.schema.target, data.predicted.n_rows
    present = np.unique(data.table.target) if target.is_classes or target.is_survival else np.empty(0)
    if len(present) == 1:  # nothing to fit: one class, or no event
        own = np.eye(len(target.classes))[present] if target.is_classes else np.zeros((1, 1))
        return [np.repeat(own, n_rows, axis=0) for _ in parts]
    fits = [
        PARTS[part] if isinstance(part, str) else partial(_predict_estimator, estimator=part)
        for part in parts
    ]
    predictions = [run_cached("Teacher", fit, data) for fit in fits]
    return [value_fractions(each, target) for each in predictions] if target.is_survival else predictions


def teacher_predictions(data: TeacherData, teacher: Any) -> FloatArray:
    """Predict with a teacher: the weighted mean of its parts."""
    weights = part_weights(teacher)
    return average_predictions(part_predictions(data, weights), weights.values())


def average_predictions(predictions: Sequence[FloatArray], weights: Iterable[float]) -> FloatArray:
    """Average the predictions of parts, with weights of sum 1."""
    mean = sum(weight * each for weight, each in zip(weights, predictions, strict=True))
    return np.clip(np.asarray(mean, np.float64), 0.0, 1.0)


# -- trees ----------------------------------------------------------------------------------------------


def _forest(data: TeacherData) -> FloatArray:
    return _bagged(data, "best", Sampling(SEED, groups=data.groups, branch=Branch.TEACHER_FOREST))


def _extra_trees(data: TeacherData) -> FloatArray:
    sampling = Sampling(SEED, bootstrap=False, branch=Branch.TEACHER_EXTRA_TREES)
    return _bagged(data, "random", sampling)


def _bagged(data: TeacherData, splitter: Literal["best", "random"], sampling: Sampling) -> FloatArray:
    rules = GrowthRules(
        criterion=default_criterion(data.table.schema.target),
        min_samples_leaf=LEAST_ROWS,
        categories=data.categories,
        max_features="sqrt" if data.is_classes else "third",
        splitter=splitter,
    )
    weight = data.table.weight
    n_rows = data.table.n_rows if weight is None or not are_repetitions(weight) else weight.sum()
    if n_rows > MOST_BAGGED:
        sampling = replace(sampling, max_samples=float(MOST_BAGGED / n_rows))
    return predict_bagged(
        data.table,
        rules,
        N_TREES,
        sampling=sampling,
        are_draws=False,
        predicted=data.predicted,
        n_jobs=data.n_jobs,
    )


def _boosting(data: TeacherData) -> FloatArray:
    """Boost on all rows in every round, without random draws."""
    losses: dict[str, LossName] = {
        "classification": "log_loss",
        "regression": "squared_error",
        "survival": "poisson",
    }
    settings = BoostingSettings(
        losses[data.table.schema.target.task],
        n_estimators=N_ROUNDS,
        learning_rate=RATE,
        max_depth=DEPTH,
        categories=data.categories,
    )
    boosted = boost(data.rate_table, settings, n_jobs=data.n_jobs)
    rows, n_rows = data.predicted, data.predicted.n_rows
    parts = [rows.subset(slice(begin, begin + BLOCK)) for begin in range(0, n_rows, BLOCK)]
    return np.concatenate([boosted.ensemble.values(part, n_jobs=data.n_jobs) for part in parts])


# -- linear models and kernels ----------------------------------------------------------------------------


def _predict_penalised(data: TeacherData, *, c: float, is_kernel: bool) -> FloatArray:
    """Predict with a logistic or linear model with a penalty on the squares of its coefficients.

    It is fitted to a part of many rows, drawn by their keys, and predicts some rows at a time.
    """
    table, keys = data.table, unit_keys(data.table, data.groups)
    if table.n_rows > MOST_FITTED:
        n_drawn = round(MOST_FITTED / table.n_rows * len(np.unique(keys)))
        drawn = select_lowest(keys, (SEED, Branch.TEACHER_ROWS), n_drawn)
        if len(np.unique(table.target[drawn])) > 1:
            table, keys = table.subset(drawn), keys[drawn]
    # One thread: sums of floats must not depend on the number of threads.
    with threadpool_limits(1, user_api="blas"):
        design = DesignMatrix.of(table)
        matrix = design.compact(table)
        landmarks = None
        if is_kernel:
            stream = (SEED, Branch.TEACHER_LANDMARKS)
            landmarks = Landmarks.of(matrix, keys, stream, len(table.schema.columns))
        predict = _fit(table, matrix if landmarks is None else _features(landmarks, matrix), c)
        parts = []
        for begin in range(0, data.predicted.n_rows, ROWS_AT_A_TIME):
            part = design.compact(data.predicted, slice(begin, begin + ROWS_AT_A_TIME))
            parts.append(predict(part if landmarks is None else landmarks.features(part)))
    return np.concatenate(parts)


def _features(landmarks: Landmarks, matrix: Matrix) -> FloatArray:
    blocks = range(0, matrix.shape[0], ROWS_AT_A_TIME)
    return np.concatenate([landmarks.features(matrix[begin : begin + ROWS_AT_A_TIME]) for begin in blocks])


def _fit(table: Table, matrix: Matrix, c: float) -> Callable[[Matrix], FloatArray]:
    """Fit the model, and return what predicts with it."""
    from sklearn.linear_model import LogisticRegression, Ridge

    weight = None if table.weight is None else table.weight / table.weight.mean()
    if table.survival is not None:
        return _fit_rate(table, matrix, c)
    if not table.schema.target.is_classes:
        centre = np.average(table.target, weights=weight)
        spread = np.sqrt(np.average((table.target - centre) ** 2, weights=weight)) or 1.0
        # The tolerance matters for sparse matrices alone: dense equations are solved directly.
        ridge = Ridge(alpha=1.0 / c, tol=SOLVED).fit(
            matrix, (table.target - centre) / spread, sample_weight=weight
        )
        return lambda rows: np.asarray(ridge.predict(rows)[:, None] * spread + centre, np.float64)
    present = np.unique(table.target)  # two at least
    # Newton's method gives the same digits on every machine, but needs the square of the columns.
    is_newton = len(present) == 2 and matrix.shape[1] <= MOST_NEWTON
    model = LogisticRegression(
        C=c, solver="newton-cholesky" if is_newton else "lbfgs", tol=1e-6, max_iter=1000
    ).fit(matrix, table.target, sample_weight=weight)

    def predict(rows: Matrix) -> FloatArray:
        predicted = np.zeros((rows.shape[0], len(table.schema.target.classes)))
        predicted[:, present] = model.predict_proba(rows)
        return predicted

    return predict


def _fit_rate(table: Table, matrix: Matrix, c: float) -> Callable[[Matrix], FloatArray]:
    """Fit a Poisson model of events by those expected: Cox's model, with the hazard of all rows."""
    from sklearn.linear_model import PoissonRegressor

    assert table.survival is not None
    expected = table.survival.exposure * (1.0 if table.weight is None else table.weight)
    model = PoissonRegressor(
        alpha=1.0 / (c * expected.sum()),
        solver="newton-cholesky" if matrix.shape[1] <= MOST_NEWTON else "lbfgs",
        tol=1e-6,
        max_iter=1000,
    ).fit(matrix, table.target, sample_weight=expected)
    return lambda rows: np.asarray(model.predict(rows)[:, None], np.float64)


# -- estimators of the user -----------------------------------------------------------------------------


def _predict_estimator(data: TeacherData, estimator: Any) -> FloatArray:
    """Predict with a clone of an estimator, fitted to the columns as a matrix of numbers."""
    from sklearn.base import clone
    from sklearn.utils.validation import has_fit_parameter

    table, model = data.rate_table, clone(estimator)
    design = DesignMatrix.of(data.table)
    matrix, predicted_matrix = design.dense(table), design.dense(data.predicted)
    if model.get_params(deep=False).get("random_state", 0) is None:
        model.set_params(random_state=derive_seed(SEED, Branch.TEACHER_ESTIMATOR) % 2**31)
    is_weighted = table.weight is not None and has_fit_parameter(model, "sample_weight")
    weight = {"sample_weight": table.weight} if is_weighted else {}
    if data.table.survival is not None and not is_weighted:
        raise ParameterError(
            f"The teacher {type(estimator).__name__} has no sample_weight: for times to an event it must fit "
            "events divided by those expected, with the expected events as weights."
        )
    if not data.is_classes:
        return np.asarray(model.fit(matrix, table.target, **weight).predict(predicted_matrix), np.float64)[
            :, None
        ]
    classes = table.schema.target.classes
    model.fit(matrix, label_array(classes)[table.target], **weight)
    predicted = np.asarray(model.predict_proba(predicted_matrix), np.float64)
    place = {label: number for number, label in enumerate(classes)}
    in_order = np.zeros((len(predicted_matrix), len(classes)))
    in_order[:, [place[label] for label in label_array(model.classes_).tolist()]] = predicted
    return in_order


Part = Callable[[TeacherData], FloatArray]

# The parts by name.
PARTS: Mapping[str, Part] = {
    "forest": _forest,
    "extra-trees": _extra_trees,
    "boosting": _boosting,
    "linear": partial(_predict_penalised, c=RIDGE, is_kernel=False),
    "kernel": partial(_predict_penalised, c=KERNEL_RIDGE, is_kernel=True),
}

# Teachers of several parts, with the weights of these.
TEACHERS: Mapping[str, Mapping[Any, float]] = {
    "blend": {"forest": 1.0, "extra-trees": 1.0, "boosting": 1.0, "linear": 2.0, "kernel": 2.0},
}

# -- Weights of the parts of a teacher, chosen on held-out rows ----------------------------------------------

LEAST_GAIN = 0.1  # of the squared error: for less, the weights would change with the sample
CLEAR = 3.0  # standard errors of the gain: on few rows, a tenth is chance
PULL = 0.1  # towards the usual weights, in units of their squared error
LEAST_ERROR = 1e-6  # of the sum of squares of the truth
DIGITS = 2  # of a weight: the last digits of sums differ between machines


class HeldOutPredictions(NamedTuple):
    """The predictions of each part of a teacher for rows that it was not fitted to, and their targets."""

    predictions: Sequence[FloatArray]  # (rows, outputs) of each part
    truth: FloatArray  # (rows, outputs): 1 for the class of the row, or the number as a fraction of its range
    weight: FloatArray | None

    @classmethod
    def of(cls, table: Table, held_out: BoolArray, predictions: Sequence[FloatArray]) -> HeldOutPredictions:
        """Select the rows held out from predictions of all rows."""
        target, values = table.schema.target, table.target[held_out]
        weight = None if table.weight is None else table.weight[held_out]
        own = [each[held_out] for each in predictions]
        if table.survival is not None:  # the survival of a row is not observed: events are compared
            own = [fraction_values(each, target) for each in own]
            mean = np.mean(own, axis=0)[:, 0]
            variance = table.survival.exposure[held_out] / mean  # the inverse of that of the target
            return cls(own, values[:, None], variance if weight is None else weight * variance)
        truth = np.eye(len(target.classes))[values] if target.is_classes else None
        return cls(own, value_fractions(values, target)[:, None] if truth is None else truth, weight)


def choose_part_weights(held_out: Sequence[HeldOutPredictions], usual: FloatArray) -> FloatArray:
    """Choose weights of the parts with clearly less squared error, by a tenth at least; else the usual ones.

    They minimise error(w) / error(usual) + 0.1 * |w - usual|^2 over w >= 0 of sum 1, and are then rounded:
    Breiman's stacking, shrunk towards the usual weights.

    >>> truth = np.array([[0.0], [1.0], [0.0], [1.0]])
    >>> held_out = HeldOutPredictions([truth, 1 - truth], truth, None)
    >>> choose_part_weights([held_out], np.array([0.5, 0.5])).tolist()
    [0.98, 0.02]
    """
    from scipy.optimize import nnls

    products = np.sum([_products(each) for each in held_out], axis=0)
    square, mixed, total = products[:-1, :-1], products[:-1, -1], products[-1, -1]

    before = float(usual @ square @ usual - 2 * usual @ mixed + total)
    if not before > LEAST_ERROR * total:  # as for one class, where the error is rounding
        return usual
    # A heavy weight on the sum of the weights makes it 1.
    n_parts, heavy = len(usual), 1e4
    quadratic = square / before + PULL * np.eye(n_parts) + heavy
    root = np.linalg.cholesky(quadratic).T
    weights, _ = nnls(root, np.linalg.solve(root.T, mixed / before + PULL * usual + heavy))
    weights = np.round(weights / weights.sum(), DIGITS)
    gain, gain_error = _gain(held_out, usual, weights / weights.sum())
    return weights if gain >= max(LEAST_GAIN * before, CLEAR * gain_error) else usual


def _products(held_out: HeldOutPredictions) -> FloatArray:
    """The weighted sums of products of all parts and the truth with each other, the truth last."""
    columns: FloatArray = np.stack([each.ravel() for each in (*held_out.predictions, held_out.truth)])
    weight = held_out.weight
    repeated = 1.0 if weight is None else np.repeat(weight, held_out.truth.shape[1])
    return np.asarray(np.einsum("in,jn->ij", columns * repeated, columns), np.float64)


def _gain(
    held_out: Sequence[HeldOutPredictions], usual: FloatArray, chosen: FloatArray
) -> tuple[float, float]:
    """Compute the reduction of the squared error by the chosen weights, and its standard error."""
    gains = []
    for each in held_out:
        errors = [
            ((np.tensordot(weights, np.array(each.predictions), 1) - each.truth) ** 2).sum(axis=1)
            for weights in (usual, chosen)
        ]
        gains.append((errors[0] - errors[1]) * (1.0 if each.weight is None else each.weight))
    # Rows that several divisions hold out are counted as often as in one of them.
    every, times = np.concatenate(gains), len(held_out)
    return float(every.sum()), float(every.std() * np.sqrt(len(every) / times) * times)


# -- The columns of a table as numbers, for linear models and kernels ----------------------------------------

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Matrix: TypeAlias = FloatArray | csr_array

MOST_DEVIATIONS = 3.0  # values farther out are clipped
N_LANDMARKS = 150
WIDTH = 0.3  # of the kernel: times the squared distance, divided by the number of features
MOST_DENSE = 2**22  # numbers of a matrix that is mostly zeros: 32 MiB
DENSE_FRACTION = 0.25  # of numbers other than zero, from which on a dense matrix is used


class _Column(NamedTuple):
    """The coding of one feature as columns of the matrix."""

    place: int  # of the feature
    n_categories: int = 0  # above 0: a column for each category
    exponent: int = 0  # numbers are multiplied by 2 ** -exponent, standardised and clipped
    middle: float = 0.0  # in place of missing values
    mean: float = 0.0
    spread: float = 0.0  # 0: the numbers are constant, and have no column
    has_missing: bool = False  # one more column flags missing values

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.n_categories or (self.spread > 0) + self.has_missing

    def fill(self, values: FloatArray, out: FloatArray) -> None:
        """Write the columns of some rows to `out`."""
        missing = np.isnan(values)
        if self.n_categories:
            for code in range(self.n_categories):
                out[:, code] = values == code
            return
        if self.spread > 0:
            known = np.ldexp(np.where(missing, self.middle, values), -self.exponent)
            out[:, 0] = np.clip((known - self.mean) / self.spread, -MOST_DEVIATIONS, MOST_DEVIATIONS)
        if self.has_missing:
            out[:, -1] = missing

    def sparse(self, values: FloatArray) -> csr_array:
        """The columns of some rows without their zeros."""
        from scipy.sparse import csr_array

        if not self.n_categories:
            out = np.empty((len(values), self.width))
            self.fill(values, out)
            return csr_array(out)
        known = ~np.isnan(values)
        ends = np.concatenate([[0], np.cumsum(known, dtype=np.int32)])
        column = values[known].astype(np.int32)
        return csr_array((np.ones(len(column)), column, ends), shape=(len(known), self.n_categories))


class DesignMatrix(NamedTuple):
    """How the features of a table become columns of numbers, those of other rows included.

    Features come in the order of their names: numbers standardised and clipped, one column a category.
    Missing values are replaced by the median, and flagged in one more column. Ordered categories count as
    numbers, custom features as 0 and 1.

    >>> table = Table.from_arrays([[1.0, "a"], [3.0, "b"]], ["no", "yes"])
    >>> DesignMatrix.of(table).dense(table).tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """

    columns: tuple[_Column, ...]

    @classmethod
    def of(cls, table: Table) -> DesignMatrix:
        """The design matrix whose means and spreads are those of the table."""
        return cls(tuple(_columns(table)))

    @property
    def width(self) -> int:
        """The number of columns; 1, of zeros, where no feature varies."""
        return max(sum(each.width for each in self.columns), 1)

    def dense(self, table: Table, rows: slice = slice(None)) -> FloatArray:
        """The matrix of some rows."""
        matrix, begin = np.zeros((len(table.target[rows]), self.width)), 0
        for each in self.columns:
            each.fill(table.columns[each.place][rows], matrix[:, begin : begin + each.width])
            begin += each.width
        return matrix

    def compact(self, table: Table, rows: slice = slice(None)) -> Matrix:
        """The matrix of some rows, sparse where many categories would fill the memory with zeros."""
        n_filled = sum(1 if each.n_categories else each.width for each in self.columns)
        if table.n_rows * self.width <= MOST_DENSE or n_filled >= DENSE_FRACTION * self.width:
            return self.dense(table, rows)
        from scipy.sparse import hstack

        matrix: csr_array = hstack(
            [each.sparse(table.columns[each.place][rows]) for each in self.columns], format="csr"
        )
        return matrix


def _columns(table: Table) -> Iterator[_Column]:
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    for place in table.schema.name_order:
        feature, column = table.schema.features[place], table.columns[place]
        if feature.is_subset:
            yield _Column(place, len(feature.categories))
            continue
        missing = np.isnan(column)
        if missing.all():
            continue
        middle = weighted_quantile(column[~missing], weight[~missing], 0.5) if missing.any() else 0.0
        values, exponent = scale_to_unit(np.where(missing, middle, column))
        mean = np.average(values, weights=weight)
        spread = np.sqrt(np.average((values - mean) ** 2, weights=weight))
        yield _Column(place, 0, exponent, middle, float(mean), float(spread), bool(missing.any()))


class Landmarks(NamedTuple):
    """Nystroem's features of a Gaussian kernel: the similarity of each row to some rows, the landmarks."""

    rows: FloatArray  # (landmarks, columns of the design matrix)
    basis: FloatArray
    gamma: float

    @classmethod
    def of(cls, matrix: Matrix, keys: KeyArray, stream: Stream, n_features: int) -> Landmarks:
        """Draw the landmarks by the keys of the rows, so that most stay when other rows come or go."""
        drawn = select_lowest(keys, stream, min(N_LANDMARKS, max(len(keys) // 2, 1)))
        rows = matrix[drawn][:N_LANDMARKS]
        rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
        gamma = WIDTH / max(n_features, 1)
        values, vectors = np.linalg.eigh(_similarity(rows, rows, gamma))
        kept = values > 1e-8 * values.max()
        return cls(rows, vectors[:, kept] / np.sqrt(values[kept]), gamma)

    def features(self, matrix: Matrix) -> FloatArray:
        """The kernel features of some rows."""
        return np.asarray(_similarity(matrix, self.rows, self.gamma) @ self.basis, np.float64)


def _similarity(a: Matrix, b: FloatArray, gamma: float) -> FloatArray:
    squares = _square_sums(a)[:, None] + _square_sums(b)[None] - 2.0 * a @ b.T
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)), np.float64)


def _square_sums(matrix: Matrix) -> FloatArray:
    squares = matrix**2 if isinstance(matrix, np.ndarray) else matrix.power(2)
    return np.asarray(squares.sum(axis=1), np.float64)
