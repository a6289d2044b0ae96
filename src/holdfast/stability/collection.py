"""Many trees on bootstrap samples of the early rows, or of all: reference trees and candidate trees."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from holdfast.arrays import BoolArray, IntArray, LongArray, frozen
from holdfast.backends.tasks import ROWS_PER_TASK, check_jobs, make_batches, run_all
from holdfast.data.split.resampling import Units, all_counts
from holdfast.errors import GrowthWarning
from holdfast.growth.learner import Combination, Learner
from holdfast.random_streams import Branch, derived_seeds
from holdfast.stability.division import Division
from holdfast.stability.rows import PreparedRows
from holdfast.stability.settings import StabilitySettings
from holdfast.tree.tree import Tree


@dataclass(frozen=True, eq=False, repr=False)
class Collection:
    """Trees grown by every combination of a grid, each on a bootstrap sample of its own."""

    trees: tuple[Tree, ...]
    combinations: tuple[Combination, ...]
    combination: LongArray  # which of them each tree was grown with
    division: LongArray  # which division of the rows its sample was drawn from

    def __len__(self) -> int:
        return len(self.trees)

    def by_division(self, division: Division) -> list[tuple[BoolArray, list[Tree]]]:
        """The rows that each division holds out, and the trees grown without them."""
        return [
            (held_out, [self.trees[place] for place in np.flatnonzero(self.division == number).tolist()])
            for number, held_out in enumerate(division.validation)
        ]

    def __repr__(self) -> str:
        return f"<Collection: {len(self)} trees, {len(self.combinations)} combinations>"


def grow_references(learner: Learner, rows: PreparedRows, settings: StabilitySettings) -> Collection:
    """The reference trees: on samples of the early rows that are learnt from."""
    return grow_collection(
        learner,
        rows.division.early_training,
        settings.n_trees,
        units=rows.units,
        seed=(settings.seed, Branch.REFERENCE_TREES),
        n_jobs=settings.n_jobs,
        progress="Reference trees" if settings.verbose else "",
    )


def grow_candidates(learner: Learner, rows: PreparedRows, settings: StabilitySettings) -> Collection:
    """The candidate trees: on samples of all rows that are learnt from."""
    return grow_collection(
        learner,
        rows.division.training,
        settings.n_trees,
        units=rows.units,
        seed=(settings.seed, Branch.CANDIDATE_TREES),
        n_jobs=settings.n_jobs,
        progress="Candidate trees" if settings.verbose else "",
    )


def grow_collection(
    learner: Learner,
    rows: Sequence[BoolArray],
    n_estimators: int,
    *,
    units: Units,
    seed: tuple[int, int] = (0, 0),
    n_jobs: int | None = None,
    progress: str = "",
) -> Collection:
    """Trees on bootstrap samples of the rows that each division of them allows.

    Combinations and divisions take turns, so that all of them serve about equally often. Tree i depends on
    the seed, a number and that of the collection, and on i, never on the number of jobs.
    """
    check_jobs(n_jobs)
    n_combinations = len(learner.combinations)
    number = np.arange(n_estimators)
    combination = number % n_combinations
    division = (combination + number // n_combinations) % len(rows)  # each combination meets them all in turn
    allowed = [frozen((learner.repeats * flags).astype(np.int32)) for flags in rows]
    task = partial(_grown, learner, allowed, division, units, seed)
    size = max(1, ROWS_PER_TASK // len(learner.repeats))
    tasks = [
        (place, run)
        for place in range(n_combinations)
        for run in make_batches(number[combination == place].tolist(), size)
    ]
    parts = run_all(task, tasks, n_jobs, progress=progress, kept="Trees")
    grown = {
        index: tree
        for (_, run), trees in zip(tasks, parts, strict=True)
        for index, tree in zip(run, trees, strict=True)
    }
    trees = tuple(grown[index] for index in range(n_estimators))
    for note in dict.fromkeys(note for tree in trees for note in tree.notes):
        warnings.warn(note, GrowthWarning, stacklevel=2)
    return Collection(trees, tuple(learner.combinations), combination, division)


def _grown(
    learner: Learner,
    allowed: Sequence[IntArray],
    division: LongArray,
    units: Units,
    seed: tuple[int, int],
    task: tuple[int, Sequence[int]],
) -> list[Tree]:
    combination, run = task
    drawn: dict[int, IntArray] = {}
    for place in np.unique(division[run]).tolist():
        own = [index for index in run if division[index] == place]
        drawn |= zip(own, all_counts(allowed[place], units, [(*seed, index) for index in own]), strict=True)
    samples = [drawn[index] for index in run]
    # One step further down the same branch of the seed: not the numbers that drew the sample.
    seeds = derived_seeds([(*seed, index, 0) for index in run])
    return learner.trees(combination, samples, seeds)
