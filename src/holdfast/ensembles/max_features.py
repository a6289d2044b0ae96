"""Choice of the number of features drawn per split of a forest, by out-of-bag or cross-validated score."""

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Literal

import numpy as np

from holdfast._arrays import FloatArray, LongArray, freeze
from holdfast._random import Branch, derive_seed
from holdfast._text import estimate_text
from holdfast._view import TextTable, View, ViewMixin
from holdfast.data.resampling import count_groups
from holdfast.data.table import Table
from holdfast.ensembles.bagging import BOOTSTRAP, Bagging, Sampling, grow_bagging
from holdfast.ensembles.out_of_bag import make_oob_metric, out_of_bag
from holdfast.errors import DataError
from holdfast.growth.rules import GrowthRules, count_drawn_features
from holdfast.growth.sample import split_weight
from holdfast.growth.size_search import Folds, divide_rows
from holdfast.parallel.tasks import check_jobs
from holdfast.scoring.metric import Metric, TrueValues

TIED = 1e-12  # mean scores that differ by less, as a fraction of the best, are equal
POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the number of features, to be tried


@dataclass(frozen=True, eq=False, repr=False)
class MaxFeaturesTable(ViewMixin):
    """Scores by number of features drawn per split; greater is better."""

    max_features: LongArray
    scores: FloatArray  # (numbers, folds), or one column of out-of-bag scores
    error: FloatArray  # standard error of the mean score
    chosen_by: Literal["oob", "cv"]
    metric: Metric

    def __post_init__(self) -> None:
        for name in ("max_features", "scores", "error"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.max_features)

    @cached_property
    def score(self) -> FloatArray:
        """Mean over the folds, or the out-of-bag score."""
        return freeze(self.scores.mean(axis=1))

    @property
    def chosen(self) -> int:
        """Index of the best score; the smallest number if several are best."""
        highest = float(self.score.max())
        return int(np.flatnonzero(self.score >= highest - TIED * abs(highest))[0])

    @property
    def chosen_value(self) -> int:
        """The chosen number of features."""
        return int(self.max_features[self.chosen])

    def columns(self) -> dict[str, list[Any]]:
        """Column names and one entry per number of features."""
        folds = {f"fold_{number + 1}": scores.tolist() for number, scores in enumerate(self.scores.T)}
        return {
            "max_features": self.max_features.tolist(),
            "score": self.score.tolist(),
            "score_error": self.error.tolist(),
            "chosen": [place == self.chosen for place in range(len(self))],
            **(folds if self.chosen_by == "cv" else {}),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a pandas, polars or pyarrow frame (the first installed), one row per number."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        return frame_from(columns, types | {"max_features": nw.Int64, "chosen": nw.Boolean}, backend)

    def _view(self) -> View:
        source = "out of the bag" if self.chosen_by == "oob" else f"in {self.scores.shape[1]} folds"
        rows = [
            [
                str(number),
                estimate_text(self.metric.shown(float(self.score[place])), self.error[place], room=7),
                "chosen" if place == self.chosen else "",
            ]
            for place, number in enumerate(self.max_features.tolist())
        ]
        headings = ["max_features", self.metric.title, f"({source})"]
        return View(TextTable(headings, rows, sides=">><", widths=(12, 19, 0), marked=[self.chosen]))


@dataclass(frozen=True)
class MaxFeaturesSearch:
    """Settings of the choice of `max_features`."""

    chosen_by: Literal["oob", "cv"] = "oob"
    n_estimators: int = 100
    scoring: Any = None  # by default the accuracy, or R²
    cv: Any = 5  # number of folds, a splitter of scikit-learn, or pairs of row numbers
    votes: bool = False
    n_jobs: int | None = None
    progress: str = ""

    def __post_init__(self) -> None:
        check_jobs(self.n_jobs)


def choose_max_features(
    table: Table, rules: GrowthRules, *, search: MaxFeaturesSearch, sampling: Sampling = BOOTSTRAP
) -> tuple[Bagging, MaxFeaturesTable]:
    """Grow the forest whose number of features per split scores best, and return it with all scores.

    By "oob", a forest is grown on the same bags for each number, and out-of-bag scores are compared; by "cv"
    mean scores of held-out folds. Of tied numbers the smallest wins. `max_features` of the rules is one of
    the numbers.
    """
    numbers = list_candidates(table.n_features, count_drawn_features(rules.max_features, table.n_features))
    metric = make_oob_metric(search.scoring, table.schema.target)
    if search.chosen_by == "oob":
        return _choose_by_oob(table, rules, numbers, metric, search, sampling)
    if table.n_rows == 1:
        raise DataError(
            "There is one sample only: max_features='cv' trains on some rows and holds out others."
        )
    scores = _score_folds(table, rules, numbers, metric, search, sampling)
    n_folds = scores.shape[1]
    error = scores.std(axis=1, ddof=min(1, n_folds - 1)) / np.sqrt(n_folds)
    found = MaxFeaturesTable(numbers, scores, error, "cv", metric)
    return _grow(table, rules, found.chosen_value, search, sampling), found


def list_candidates(n_features: int, default: int) -> LongArray:
    """List numbers of features to try: powers of the total, and the default.

    >>> list_candidates(30, default=10)
    array([ 1,  2,  5, 10, 12, 30])
    """
    powers = [int(n_features**power + 1e-9) for power in POWERS]
    return np.unique([*powers, default or n_features]).astype(np.int64)


def _choose_by_oob(
    table: Table,
    rules: GrowthRules,
    numbers: LongArray,
    metric: Metric,
    search: MaxFeaturesSearch,
    sampling: Sampling,
) -> tuple[Bagging, MaxFeaturesTable]:
    scores = np.full((len(numbers), 1), -np.inf)
    error = np.zeros(len(numbers))
    for place, number in enumerate(numbers.tolist()):
        bagging = _grow(table, rules, number, search, sampling)
        scores[place, 0], error[place] = out_of_bag(bagging, table, metric, n_jobs=search.n_jobs).score
        found = MaxFeaturesTable(numbers, scores.copy(), error.copy(), "oob", metric)
        if found.chosen == place:  # so far
            best = bagging
    return best, found


def _score_folds(
    table: Table,
    rules: GrowthRules,
    numbers: LongArray,
    metric: Metric,
    search: MaxFeaturesSearch,
    sampling: Sampling,
) -> FloatArray:
    """Score every number on every fold, (numbers, folds)."""
    seed = derive_seed(sampling.seed, Branch.MAX_FEATURES_FOLDS)
    folds = divide_rows(table, sampling.groups, search.cv, seed)
    scores = np.empty((len(numbers), len(folds.held_out)))
    for place in range(len(folds.held_out)):
        training, held_out, bags = _split_fold(folds, place, sampling)
        true_values = TrueValues.of(held_out)
        for line, number in enumerate(numbers.tolist()):
            bagging = _grow(training, rules, number, search, bags)
            scores[line, place] = metric.value(
                bagging.ensemble.values(held_out, n_jobs=search.n_jobs), true_values
            )
    return scores


def _split_fold(folds: Folds, place: int, sampling: Sampling) -> tuple[Table, Table, Sampling]:
    """Return the training rows, the held-out rows, and the sampling of the former."""
    rows = np.repeat(np.arange(folds.table.n_rows), folds.times[place])
    training, groups = folds.table.subset(rows), None
    repeats = split_weight(training.weight, training.n_rows)[0]
    n_all = int(repeats.sum(dtype=np.int64))
    if sampling.groups is not None and folds.groups is not None:
        groups = folds.groups[rows]
        n_all = count_groups(repeats, groups)
    most = sampling.max_samples
    if isinstance(most, Integral):  # possible for all rows, perhaps not for these
        most = min(int(most), n_all)
    bags = replace(sampling, max_samples=most, groups=groups)
    return training, folds.table.subset(folds.held_out[place]), bags


def _grow(
    table: Table, rules: GrowthRules, number: int, search: MaxFeaturesSearch, sampling: Sampling
) -> Bagging:
    return grow_bagging(
        table,
        rules.replace(max_features=number),
        search.n_estimators,
        sampling=sampling,
        votes=search.votes,
        n_jobs=search.n_jobs,
        progress=f"{search.progress}, {number} of {table.n_features} features" if search.progress else "",
    )
