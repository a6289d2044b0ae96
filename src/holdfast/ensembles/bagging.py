"""Bagging and forests: trees grown on bags of the rows, and the mean of their predictions."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from holdfast._arrays import FloatArray, IntArray, LongArray, freeze
from holdfast._check import check_flag, check_integer, is_integer, is_number, raise_out_of_range
from holdfast._random import Branch, derive_seeds
from holdfast.data.resampling import Draws, Units, count_groups, draw_samples
from holdfast.data.row_order import find_fixed_order
from holdfast.data.table import Table
from holdfast.ensembles.tree_correlation import tree_values
from holdfast.errors import DataError, GrowthWarning, ParameterError
from holdfast.growth.grow import grow_samples
from holdfast.growth.rules import CART, GrowthRules
from holdfast.growth.sample import FixedPointSample, fixed_point_sample
from holdfast.parallel.tasks import ROWS_PER_TASK, check_jobs, make_batches, run_all
from holdfast.tree.ensemble import Ensemble, apply_link
from holdfast.tree.predict import Routes
from holdfast.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Sampling:
    """How bags are drawn; by default a bootstrap with one draw per row on average."""

    seed: int = 0
    bootstrap: bool = True  # with replacement
    max_samples: int | float | None = None  # number of draws; a float is a fraction of all rows, or groups
    groups: LongArray | None = None  # group of every row; whole groups are drawn
    branch: Branch = Branch.BAGS  # of the seed

    def __post_init__(self) -> None:
        check_flag("bootstrap", self.bootstrap)
        most = self.max_samples
        if most is None:
            return
        if not is_number(most) or not (most >= 1 if is_integer(most) else 0.0 < most <= 1.0):
            words = "an integer of at least 1, a fraction above 0.0 and up to 1.0"
            raise_out_of_range("max_samples", most, words, none_ok=True)

    @property
    def leaves_rows_out(self) -> bool:
        """False if every bag holds all rows."""
        return self.bootstrap or self.max_samples not in (None, 1.0)


@dataclass(frozen=True, eq=False)
class Bags:
    """Bags of one table: bag i depends on the seed and i, not on the row order."""

    sampling: Sampling
    repeats: IntArray  # how many rows each row represents
    units: Units  # rows or groups
    order: LongArray  # the rows in canonical order
    n_draws: int | None  # None: the number of rows, or of groups

    @classmethod
    def of(cls, table: Table, repeats: IntArray, sampling: Sampling) -> "Bags":
        """Make bags of a table whose rows may represent several each."""
        groups = sampling.groups
        if groups is not None and len(groups) != table.n_rows:
            raise DataError(
                f"groups has {len(groups)} values, and the data has {table.n_rows} rows: give one per row."
            )
        n_all = int(repeats.sum(dtype=np.int64)) if groups is None else count_groups(repeats, groups)
        n_draws = _n_draws(sampling, n_all, "rows" if groups is None else "groups")
        order = freeze(find_fixed_order(table))
        most = None if n_draws == n_all else n_draws
        return cls(sampling, repeats, Units.of(table, groups), order, most)

    def __getitem__(self, index: int) -> IntArray:
        """Count how often each row is in the bag."""
        return self.draws([index])[0].counts

    def draws(self, indices: Sequence[int]) -> list[Draws]:
        """Draw the rows of these bags with their counts."""
        sampling = self.sampling
        return draw_samples(
            self.repeats,
            self.units,
            [(sampling.seed, sampling.branch, index) for index in indices],
            n_draws=self.n_draws,
            replacement=bool(sampling.bootstrap),
        )

    def left_out(self, index: int) -> LongArray:
        """Return the rows outside the bag, in canonical order."""
        rows: LongArray = self.order[self[index][self.order] == 0]
        return rows

    def tree_seeds(self, indices: Sequence[int]) -> list[int]:
        """Return the seeds for the features drawn by these trees."""
        # One step further down the same branch of the seed: not the numbers that drew the bag.
        return derive_seeds([(self.sampling.seed, self.sampling.branch, index, 0) for index in indices])


def _n_draws(sampling: Sampling, n_all: int, what: str) -> int:
    most = sampling.max_samples
    if most is None:
        return n_all
    if not isinstance(most, Integral):
        return max(1, round(most * n_all))
    if most > n_all:
        raise ParameterError(
            f"max_samples={most} is out of range: there are {n_all} {what}. Give fewer, or a fraction."
        )
    return int(most)


# -- Growing and predicting ----------------------------------------------------------------------------------

BOOTSTRAP = Sampling()
# Trees that are discarded after prediction are grown in batches of this many rows in total, and of enough
# trees for many cores.
ROWS_OF_TREES, LEAST_AT_A_TIME = 2**20, 16
ROWS_AT_A_TIME = 2**16  # predicted together: a matrix of all rows would be a copy of the table


@dataclass(frozen=True, eq=False, repr=False)
class Bagging:
    """Trees grown on bags of rows, with the bags."""

    ensemble: Ensemble
    bags: Bags

    def __len__(self) -> int:
        return len(self.ensemble)

    def __repr__(self) -> str:
        return f"<Bagging: {len(self)} trees, {self.ensemble.schema.target.name!r}>"

    def routes(self, index: int) -> Routes:
        """Return the routes of tree `index` for rows with all features."""
        tree = self.ensemble[index]
        return Routes.of(tree, np.arange(len(tree.schema.features)))

    def tree_values(self, index: int, leaves: IntArray) -> FloatArray:
        """Return the predictions of tree `index` for its leaves: fractions, votes or numbers."""
        return tree_values(self.ensemble[index], leaves, votes=self.ensemble.votes)


def grow_bagging(
    table: Table,
    rules: GrowthRules = CART,
    n_estimators: int = 100,
    *,
    sampling: Sampling = BOOTSTRAP,
    votes: bool = False,
    are_draws: bool = True,
    n_jobs: int | None = None,
    progress: str = "",
) -> Bagging:
    """Grow trees on bags of the table; a forest if the rules draw features.

    The ensemble predicts the mean of the class fractions or, with `votes`, the fractions of the trees that
    vote for each class; of numbers the mean. Tree i depends on the seed and on i, never on the number of jobs
    or on the order of the rows. A row drawn twice is one row of twice the weight; if `are_draws` is False it
    counts as two rows for `min_samples_leaf`. A progress bar has the text of `progress`.

    >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> bagging = grow_bagging(table, n_estimators=8)
    >>> bagging.bags[2], bagging.bags.left_out(2)
    (array([2, 0, 3, 1], dtype=int32), array([1]))
    """
    check_n_estimators(n_estimators)
    if votes and not table.schema.target.is_classes:
        raise ParameterError(
            f"votes are for classes, and the target {table.schema.target.name!r} is a number."
        )
    fixed, bags = _make_bags(table, rules, sampling, n_jobs)
    batches = make_batches(range(n_estimators), max(1, ROWS_PER_TASK // table.n_rows))
    options: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "kept": "Trees"}
    ensemble = _grow_ensemble(table, rules, fixed, bags, batches, are_draws=are_draws, **options)
    for note in ensemble.notes:
        warnings.warn(note, GrowthWarning, stacklevel=2)
    if votes:  # the trees vote by the losses already
        ensemble = ensemble.replace(votes=True, loss_matrix=None)
    return Bagging(ensemble, bags)


def predict_bagged(
    table: Table,
    rules: GrowthRules,
    n_estimators: int,
    *,
    sampling: Sampling = BOOTSTRAP,
    are_draws: bool = True,
    predicted: Table | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Predict rows, by default those of the table, with an ensemble that is not kept.

    Trees are grown in batches and discarded after prediction: a hundred large trees take more memory than the
    table. The values are those of `grow_bagging` to the last bit.

    >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> predict_bagged(table, CART, 8)[:, 1]
    array([0.  , 0.  , 0.75, 0.75])
    """
    check_n_estimators(n_estimators)
    fixed, bags = _make_bags(table, rules, sampling, n_jobs)
    batches = make_batches(range(n_estimators), max(1, ROWS_PER_TASK // table.n_rows))
    predicted = table if predicted is None else predicted
    values = np.zeros((predicted.n_rows, max(len(table.schema.target.classes), 1)))
    at_a_time = max(LEAST_AT_A_TIME, ROWS_OF_TREES // table.n_rows)
    for some in make_batches(batches, at_a_time):
        ensemble = _grow_ensemble(table, rules, fixed, bags, some, are_draws=are_draws, n_jobs=n_jobs)
        for begin in range(0, predicted.n_rows, ROWS_AT_A_TIME):
            part = slice(begin, begin + ROWS_AT_A_TIME)
            values[part] = ensemble.add_scores(predicted.subset(part), values[part], n_jobs=n_jobs)
    return apply_link("mean", values, float(n_estimators))


def _make_bags(
    table: Table, rules: GrowthRules, sampling: Sampling, n_jobs: int | None
) -> tuple[FixedPointSample, Bags]:
    """Return the rows in integers, shared by all trees, and the bags."""
    check_jobs(n_jobs)
    fixed = fixed_point_sample(table, rules)
    table.code(n_jobs)  # before threads start, and before the rows are sorted by ranks
    return fixed, Bags.of(table, fixed.repeats, sampling)


def _grow_ensemble(
    table: Table,
    rules: GrowthRules,
    fixed: FixedPointSample,
    bags: Bags,
    batches: Sequence[Sequence[int]],
    *,
    are_draws: bool,
    n_jobs: int | None,
    progress: str = "",
    kept: str = "",
) -> Ensemble:
    """Grow the trees of the batches; all have the same weight."""
    grow_batch = partial(_grow_batch, table, rules, fixed, bags, are_draws)
    trees = tuple(
        tree
        for part in run_all(grow_batch, batches, n_jobs, progress=progress, cache_name=kept)
        for tree in part
    )
    return Ensemble(
        schema=table.schema,
        trees=trees,
        weights=np.ones(len(trees)),
        outputs=np.zeros(len(trees), np.int32),
        start=np.zeros(max(len(table.schema.target.classes), 1)),
        link="mean",
        notes=tuple(dict.fromkeys(note for tree in trees for note in tree.notes)),
        loss_matrix=fixed.losses,
    )


def _grow_batch(
    table: Table,
    rules: GrowthRules,
    fixed: FixedPointSample,
    bags: Bags,
    are_draws: bool,
    indices: Sequence[int],
) -> list[Tree]:
    draws = bags.draws(indices)
    samples, seeds = [each.counts for each in draws], bags.tree_seeds(indices)
    return grow_samples(table, rules, fixed, samples, seeds, draws if are_draws else None)


def set_vote_threshold(ensemble: Ensemble, threshold: float) -> Ensemble:
    """Make the trees vote for the second class from this fraction upwards.

    >>> table = Table.from_arrays([[1.0], [1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"])
    >>> bagging = grow_bagging(table, n_estimators=3, sampling=Sampling(bootstrap=False), votes=True)
    >>> for ensemble in (bagging.ensemble, set_vote_threshold(bagging.ensemble, 0.3)):
    ...     print(ensemble.predict([[1.0], [2.0]]))
    ['no' 'yes']
    ['yes' 'yes']
    """
    trees = [tree.replace(value=np.eye(2)[(tree.value[:, 1] >= threshold).astype(int)]) for tree in ensemble]
    return ensemble.replace(trees=tuple(trees), votes=False)


def check_n_estimators(n_estimators: Any, name: str = "n_estimators") -> None:
    """Raise a ParameterError unless it is an integer of at least 1."""
    check_integer(name, n_estimators)
