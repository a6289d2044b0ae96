"""What the trees say of the rows that are not in their bags, and how good it is."""

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

TASKS_AT_ONCE = 16  # the leaves of so many wait in memory to be added up
ROWS_SCORED = 5_000_000  # in all points of the curve together
MOST_POINTS, LEAST_POINTS = 100, 10  # of the curve, where not every number of trees is scored


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """Out-of-bag score by number of trees; losses are negated."""

    n_estimators: LongArray
    scores: FloatArray  # NaN where the score cannot be told: of a few rows of one class, say

    def __post_init__(self) -> None:
        for name in ("n_estimators", "scores"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.n_estimators)

    def __repr__(self) -> str:
        return f"<Curve: {len(self)} points, {self.scores[-1]:.4g} with {self.n_estimators[-1]} trees>"

    def plot(self, ax: Any = None) -> Any:
        """An `OutOfBagDisplay`, drawn: the score by the number of trees."""
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
    """Predictions of every row by the trees that were not grown on it."""

    values: FloatArray  # (rows, classes) fractions, or (rows, 1) numbers; NaN where all trees know the row
    n_trees: LongArray  # how many trees each row is predicted by
    score: Score  # of the rows that are predicted
    curve: Curve
    metric: Metric
    correlation: TreeCorrelation  # of the errors of two trees, on rows that neither was grown on

    def __post_init__(self) -> None:
        for name in ("values", "n_trees"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    def __repr__(self) -> str:
        value = estimate_text(self.metric.shown(self.score.value), self.score.error)
        return f"<OutOfBag: {self.metric.title} {value}, {np.count_nonzero(self.n_trees)} rows>"


def out_of_bag(bagging: Bagging, table: Table, scoring: Any = None, *, n_jobs: int | None = None) -> OutOfBag:
    """Compute out-of-bag predictions of the training table, with their score.

    A row is predicted by the trees whose bags do not hold it: the mean of what they say. Rows that are in all
    bags have no prediction and are not scored, and a warning says how many they are. The score is by default
    the accuracy, or R². All is done in one pass, and the bits are the same for any number of jobs.

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
    truth, errors = target_values(table.schema.target, table.target), PairSums.of(*total.shape)
    for index, rows, leaves in _left_out(bagging, table, n_jobs):
        said = bagging.tree_values(index, leaves)
        total[rows] += np.ldexp(said, -spare)
        n_trees[rows] += 1
        errors.add(rows, said, truth[rows])
        if index + 1 in scores and index + 1 < len(bagging):
            scores[index + 1] = _score_so_far(total[order], spare, n_trees[order], true_values, metric)
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
        scoring = "accuracy" if target.is_classes else "r2"
    return make_metric(scoring, target)


def choose_points(n_estimators: int, n_rows: int, metric: Metric) -> LongArray:
    """Choose the numbers of trees to score: all, or some of every magnitude where that takes long."""
    most = ROWS_SCORED // n_rows
    if metric.formula is None:
        most = min(most, MOST_POINTS)
    if n_estimators <= most:
        return np.arange(1, n_estimators + 1)
    n_points = min(max(most, LEAST_POINTS), MOST_POINTS)
    return np.unique(np.geomspace(1, n_estimators, n_points).round().astype(np.int64))


def _left_out(
    bagging: Bagging, table: Table, n_jobs: int | None
) -> Iterator[tuple[int, LongArray, IntArray]]:
    """Iterate over the rows outside each bag, with the leaves that they reach."""
    routed = partial(_routed, bagging, freeze(table.rows(range(table.n_features))))
    tasks = make_batches(range(len(bagging)), max(1, ROWS_PER_TASK // table.n_rows))
    for some in make_batches(tasks, TASKS_AT_ONCE):
        for found in run_all(routed, some, n_jobs):
            yield from found


def _routed(bagging: Bagging, X: FloatArray, indices: Sequence[int]) -> list[tuple[int, LongArray, IntArray]]:
    X = freeze(X)  # on its way to another process an array becomes writable
    left_out = [(index, bagging.bags.left_out(index)) for index in indices]
    return [
        (index, rows, bagging.routes(index).leaves(X, freeze(rows.astype(np.int32))))
        for index, rows in left_out
    ]


def _score_so_far(
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
    known = n_trees > 0
    n_unknown = int(np.count_nonzero(~known & true_values.counted))
    n_counted = int(np.count_nonzero(true_values.counted))
    if n_unknown == n_counted:
        rows = "The one sample that there is stands" if n_counted == 1 else f"All {n_counted} rows stand"
        raise DataError(f"{rows} in the bags of all trees, and none is out of the bag: grow more trees.")
    if n_unknown:
        warnings.warn(
            f"{n_unknown} of {n_counted} rows are in the bags of all trees and have no out-of-bag "
            "prediction: grow more trees to predict them too.",
            DataWarning,
            stacklevel=3,
        )
    return metric.score(values[known], true_values.subset(known))
