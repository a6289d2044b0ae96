"""Out-of-bag predictions of bagged trees, with their score, curve and correlation."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from holdfast._arrays import FloatArray, IntArray, LongArray, freeze, scale_back
from holdfast._text import estimate_text
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.ensembles.bagging import Bagging
from holdfast.ensembles.tree_correlation import PairSums, TreeCorrelation, target_values
from holdfast.errors import DataError, DataWarning, ParameterError
from holdfast.parallel.tasks import ROWS_PER_TASK, check_jobs, make_batches, run_all
from holdfast.scoring.metric import Metric, Score, TrueValues, make_metric

TASKS_AT_ONCE = 16  # whose leaves are in memory together
ROWS_SCORED = 5_000_000  # in all points of the curve together
MOST_POINTS, LEAST_POINTS = 100, 10  # of the curve, if not every number of trees is scored


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """Out-of-bag score by number of trees; losses are negated."""

    n_estimators: LongArray
    scores: FloatArray  # NaN where it is undefined, such as for a few rows of one class

    def __post_init__(self) -> None:
        for name in ("n_estimators", "scores"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.n_estimators)

    def __repr__(self) -> str:
        return f"<Curve: {len(self)} points, {self.scores[-1]:.4g} with {self.n_estimators[-1]} trees>"

    def plot(self, ax: Any = None) -> Any:
        """Draw the score by the number of trees, as an `OutOfBagDisplay`."""
        from holdfast.plots.performance import OutOfBagDisplay

        return OutOfBagDisplay.from_result(self, ax=ax)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a pandas, polars or pyarrow frame (the first installed) with one row per point."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = {"n_estimators": self.n_estimators.tolist(), "score": self.scores.tolist()}
        return frame_from(columns, {"n_estimators": nw.Int64, "score": nw.Float64}, backend)


@dataclass(frozen=True, eq=False, repr=False)
class OutOfBag:
    """Predictions of every row by the trees whose bags do not hold it."""

    values: FloatArray  # (rows, classes) fractions, or (rows, 1) numbers; NaN if every bag holds the row
    n_trees: LongArray  # that predict each row
    score: Score  # on the rows with a prediction
    curve: Curve
    metric: Metric
    correlation: TreeCorrelation  # of the errors of two trees, on rows in neither bag

    def __post_init__(self) -> None:
        for name in ("values", "n_trees"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    def __repr__(self) -> str:
        value = estimate_text(self.metric.shown(self.score.value), self.score.error)
        return f"<OutOfBag: {self.metric.title} {value}, {np.count_nonzero(self.n_trees)} rows>"


def out_of_bag(bagging: Bagging, table: Table, scoring: Any = None, *, n_jobs: int | None = None) -> OutOfBag:
    """Compute out-of-bag predictions of the training table, with their score.

    The prediction of a row is the mean over the trees whose bags do not hold it. Rows in all bags have no
    prediction and are not scored, with a warning. The score is by default the accuracy, or R². The bits are
    the same for any number of jobs.

    >>> from holdfast.ensembles.bagging import grow_bagging
    >>> table = Table.from_arrays([[float(age)] for age in range(20, 80)], ["no"] * 30 + ["yes"] * 30)
    >>> out_of_bag(grow_bagging(table, n_estimators=50), table)
    <OutOfBag: accuracy 0.9833 ± 0.017, 60 rows>
    """
    check_jobs(n_jobs)
    check_rows_left_out(bagging, table)
    metric = make_oob_metric(scoring, table.schema.target)
    order = bagging.bags.order  # sums of floats depend on it
    true_values = TrueValues.of(table, bagging.bags.sampling.groups).subset(order)
    points = choose_points(len(bagging), int(np.count_nonzero(true_values.counted)), metric)
    scores = dict.fromkeys(points.tolist(), np.nan)
    total, spare = np.zeros((table.n_rows, bagging.ensemble.n_outputs)), bagging.ensemble.spare_bits
    n_trees = np.zeros(table.n_rows, np.int64)
    targets, errors = target_values(table.schema.target, table.target), PairSums.of(*total.shape)
    for index, rows, leaves in _route_left_out(bagging, table, n_jobs):
        predictions = bagging.tree_values(index, leaves)
        total[rows] += np.ldexp(predictions, -spare)
        n_trees[rows] += 1
        errors.add(rows, predictions, targets[rows])
        if index + 1 in scores and index + 1 < len(bagging):
            scores[index + 1] = _score_point(total[order], spare, n_trees[order], true_values, metric)
    values = scale_back(total / np.where(n_trees > 0, n_trees, np.nan)[:, None], spare)
    score = _score(values[order], n_trees[order], true_values, metric)
    scores[len(bagging)] = score.value
    curve = Curve(points, np.array([scores[point] for point in points.tolist()]))
    weight = None if table.weight is None else table.weight[order]
    correlation = errors.subset(order).correlation("errors", len(bagging), weight)
    return OutOfBag(values, n_trees, score, curve, metric, correlation)


def check_rows_left_out(bagging: Bagging, table: Table) -> None:
    """Raise an error if all bags hold all rows, or the bags are of another table."""
    if len(bagging.bags.repeats) != table.n_rows:
        raise DataError(
            f"The bags were drawn from {len(bagging.bags.repeats)} rows, and the table has {table.n_rows}: "
            "give the table that the trees were grown on."
        )
    if not bagging.bags.sampling.leaves_rows_out:
        raise ParameterError(
            "Every bag holds all rows, so that none is out of the bag: bootstrap=True, or a max_samples "
            "below 1.0, leaves some out."
        )


def make_oob_metric(scoring: Any, target: Target) -> Metric:
    """Return the metric for `scoring`; accuracy for classes and R² for numbers by default."""
    if isinstance(scoring, Metric):
        return scoring
    if scoring is None or scoring is True:
        scoring = "accuracy" if target.is_classes else None
    return make_metric(scoring, target)


def choose_points(n_estimators: int, n_rows: int, metric: Metric) -> LongArray:
    """Choose the numbers of trees to score: all, or a geometric sequence if that would take long."""
    most = ROWS_SCORED // n_rows
    if metric.formula is None:
        most = min(most, MOST_POINTS)
    if n_estimators <= most:
        return np.arange(1, n_estimators + 1)
    n_points = min(max(most, LEAST_POINTS), MOST_POINTS)
    return np.unique(np.geomspace(1, n_estimators, n_points).round().astype(np.int64))


def _route_left_out(
    bagging: Bagging, table: Table, n_jobs: int | None
) -> Iterator[tuple[int, LongArray, IntArray]]:
    """Iterate over the trees, with the rows outside their bags and the leaves that these reach."""
    route = partial(_route_batch, bagging, freeze(table.rows(range(table.n_features))))
    tasks = make_batches(range(len(bagging)), max(1, ROWS_PER_TASK // table.n_rows))
    for some in make_batches(tasks, TASKS_AT_ONCE):
        for found in run_all(route, some, n_jobs):
            yield from found


def _route_batch(
    bagging: Bagging, X: FloatArray, indices: Sequence[int]
) -> list[tuple[int, LongArray, IntArray]]:
    X = freeze(X)  # sent to another process, an array becomes writable
    left_out = [(index, bagging.bags.left_out(index)) for index in indices]
    return [
        (index, rows, bagging.routes(index).leaves(X, freeze(rows.astype(np.int32))))
        for index, rows in left_out
    ]


def _score_point(
    total: FloatArray, spare: int, n_trees: LongArray, true_values: TrueValues, metric: Metric
) -> float:
    known = (n_trees > 0) & true_values.counted
    if not known.any():
        return float("nan")
    try:
        return metric.value(scale_back(total[known] / n_trees[known, None], spare), true_values.subset(known))
    except ValueError:  # of a scorer, on the few rows that the first trees leave out
        return float("nan")


def _score(values: FloatArray, n_trees: LongArray, true_values: TrueValues, metric: Metric) -> Score:
    """Score the rows that have predictions, and warn about the others."""
    is_predicted = n_trees > 0
    n_missing = int(np.count_nonzero(~is_predicted & true_values.counted))
    n_counted = int(np.count_nonzero(true_values.counted))
    if n_missing == n_counted:
        rows = "The one sample is" if n_counted == 1 else f"All {n_counted} rows are"
        raise DataError(f"{rows} in the bags of all trees, and none is out of the bag: grow more trees.")
    if n_missing:
        warnings.warn(
            f"{n_missing} of {n_counted} rows are in the bags of all trees and have no out-of-bag "
            "prediction: grow more trees to predict them too.",
            DataWarning,
            stacklevel=3,
        )
    return metric.score(values[is_predicted], true_values.subset(is_predicted))
