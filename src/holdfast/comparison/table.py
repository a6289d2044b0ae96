"""What the same folds say of several models."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray, LongArray, frozen, without_last_digits
from holdfast.comparison.differences import Differences, held_out_ratio
from holdfast.data.schema import Target
from holdfast.data.split.folds import Fold
from holdfast.errors import ParameterError
from holdfast.scoring.metric import Metric
from holdfast.shown import shown
from holdfast.text.lists import listed


class Failure(NamedTuple):
    """An error of a model on a fold."""

    model: str
    fold: int  # counted from 0
    reason: str

    def __str__(self) -> str:
        return f"{self.model!r} failed on fold {self.fold + 1}. {self.reason}"


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison:
    """Every model on the same folds: scores, differences, times, and predictions of rows held out.

    Scores are the greater the better: losses are negated. The first metric decides; `by` puts another first.
    """

    names: tuple[str, ...]
    metrics: tuple[Metric, ...]
    all_scores: FloatArray  # (metrics, models, folds); NaN where a model failed or the fold tells nothing
    telling: BoolArray  # (metrics, folds): False where the metric means nothing, as an AUC of one class
    row_errors: FloatArray | None  # (metrics, models) of a single split: standard errors by its rows
    folds: tuple[Fold, ...]
    target: Target
    predictions: dict[str, FloatArray]  # of rows held out: (rows, classes) fractions, or (rows, 1) numbers
    fit_seconds: FloatArray  # (models, folds)
    predict_seconds: FloatArray  # (models, folds): of all rows held out
    leaves: FloatArray  # (models, folds): of single trees, else NaN
    trees: FloatArray  # (models, folds): of models of several, else NaN
    notes: tuple[str, ...] = ()  # what is to be said of the folds, in sentences
    failures: tuple[Failure, ...] = ()
    given_baseline: str | None = None

    def __post_init__(self) -> None:
        for name in ("all_scores", "telling", "fit_seconds", "predict_seconds", "leaves", "trees"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        frozen_predictions = {name: frozen(values) for name, values in self.predictions.items()}
        object.__setattr__(self, "predictions", frozen_predictions)

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        """True for the same models with the same scores and predictions on the same folds, in any time."""
        if not isinstance(other, ModelComparison):
            return NotImplemented
        if (self.names, self.metrics, self.failures) != (other.names, other.metrics, other.failures):
            return False
        if len(self.folds) != len(other.folds):
            return False
        pairs: list[tuple[NDArray[Any], NDArray[Any]]] = [(self.all_scores, other.all_scores)]
        pairs += [(self.predictions[name], other.predictions[name]) for name in self.names]
        pairs += [
            both for folds in zip(self.folds, other.folds, strict=True) for both in zip(*folds, strict=True)
        ]
        return all(np.array_equal(one, two, equal_nan=one.dtype.kind == "f") for one, two in pairs)

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    # -- scores ---------------------------------------------------------------------------------------

    @property
    def metric(self) -> Metric:
        """The metric that decides."""
        return self.metrics[0]

    @property
    def scores(self) -> FloatArray:
        """(models, folds) by the metric that decides."""
        scores: FloatArray = self.all_scores[0]
        return scores

    @cached_property
    def mean(self) -> FloatArray:
        """The mean over the folds; NaN for a model that failed on one: means are of the same folds."""
        return frozen(self._counted.mean(axis=1))

    @cached_property
    def error(self) -> FloatArray:
        """The standard error of the mean over the folds; of a single split, that by its rows."""
        if self.row_errors is not None:
            return frozen(self.row_errors[0])
        n_folds = self._counted.shape[1]
        return frozen(self._counted.std(axis=1, ddof=min(1, n_folds - 1)) / np.sqrt(n_folds))

    @cached_property
    def order(self) -> LongArray:
        """The models, the best first and those that failed last."""
        return frozen(np.argsort(-without_last_digits(self.mean), kind="stable").astype(np.int64))

    @property
    def best(self) -> str:
        """The model with the best mean."""
        return self.names[int(self.order[0])]

    @property
    def baseline(self) -> str:
        """The model that others are compared with: the one that was named, or else the best."""
        return self.given_baseline or self.best

    @property
    def _counted(self) -> FloatArray:
        """The scores on the folds that tell something."""
        return np.asarray(self.scores[:, self.telling[0]], np.float64)

    def by(self, metric: str) -> "ModelComparison":
        """The same comparison with another of its metrics first, to decide."""
        known = [each.name for each in self.metrics]
        if metric not in known:
            raise ParameterError(f"metric={metric!r} was not scored by: choose one of {listed(known)}.")
        place = known.index(metric)
        order = [place, *(each for each in range(len(known)) if each != place)]
        return replace(
            self,
            metrics=tuple(self.metrics[each] for each in order),
            all_scores=self.all_scores[order],
            telling=self.telling[order],
            row_errors=None if self.row_errors is None else self.row_errors[order],
        )

    def differences(self, baseline: str | None = None) -> Differences:
        """Each score less that of the baseline on the same fold, their mean, and its corrected error."""
        name = self.baseline if baseline is None else baseline
        if name not in self.names:
            raise ParameterError(
                f"baseline={name!r} is none of the models: choose one of {listed(self.names)}."
            )
        values = self._counted - self._counted[self.names.index(name)]
        counted = [fold for fold, tells in zip(self.folds, self.telling[0], strict=True) if tells]
        return Differences(name, self.names, self.metric, values, held_out_ratio(counted))

    # -- tables ---------------------------------------------------------------------------------------

    def columns(self) -> dict[str, list[Any]]:
        """The table: names of columns, and one entry per model, the best first."""
        differences = self.differences()
        others = [self.by(metric.name) for metric in self.metrics[1:]]
        reason = {failure.model: str(failure) for failure in reversed(self.failures)}
        figures: dict[str, Any] = {
            "score": self.mean,
            "score_error": self.error,
            "difference": differences.mean,
            "difference_error": differences.error,
            "within_noise": differences.within_noise,
            "cannot_tell": differences.cannot_tell,
            "noise": differences.noise,
            **{other.metric.name: other.mean for other in others},
            **{f"{other.metric.name}_error": other.error for other in others},
            "n_leaves": mean_known(self.leaves),
            "n_estimators": mean_known(self.trees),
            "fit_seconds": median_known(self.fit_seconds),
            "predict_seconds": median_known(self.predict_seconds),
            **{f"fold_{number + 1}": scores for number, scores in enumerate(self.scores.T)},
        }
        names = [self.names[place] for place in self.order]
        return {
            "model": names,
            "metric": [self.metric.name] * len(self),
            **{name: figure[self.order].tolist() for name, figure in figures.items()},
            "failure": [reason.get(name) for name in names],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per model, as a pandas, polars or pyarrow frame (the first that is installed)."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        types |= dict.fromkeys(("model", "metric", "failure"), nw.String)
        types |= dict.fromkeys(("within_noise", "cannot_tell"), nw.Boolean)
        return frame_from(columns, types, backend)

    @property
    def reading(self) -> str:
        """How to read the table, in words: what is within noise of the best, and what a person can read."""
        return shown("reading", self)

    def text(self, *, times: bool = True, width: int | None = None) -> str:
        """The table in words: one line per model, the best first; without times, the same in every run.

        A `width` leaves the times out where lines would have more letters.
        """
        return shown("comparison_text", self, times=times, width=width)

    def __repr__(self) -> str:
        return "\n".join([self.text(), " ".join([self.reading, *self.notes])])

    def plot(self, ax: Any = None) -> Any:
        """A `ComparisonDisplay`, drawn: the score of every model with its standard error."""
        from holdfast.show.plots.comparison import ComparisonDisplay

        return ComparisonDisplay.from_result(self, ax=ax)

    def _repr_html_(self) -> str:
        return shown("comparison_html", self)


def mean_known(figures: FloatArray) -> FloatArray:
    """The mean of every row, without what is NaN; NaN where all is."""
    known = ~np.isnan(figures)
    total = np.where(known, figures, 0.0).sum(axis=1)
    return np.asarray(total / np.where(known.any(axis=1), known.sum(axis=1), np.nan), np.float64)


def median_known(seconds: FloatArray) -> FloatArray:
    """The median of every row, without what is NaN: a fold that had to compile kernels does not count."""
    return np.array([np.median(own[~np.isnan(own)]) if (own == own).any() else np.nan for own in seconds])
