"""How much better or worse models are than one of them, fold by fold."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, frozen
from holdfast.data.split.folds import Fold
from holdfast.scoring.metric import Metric
from holdfast.shown import shown

CONFIDENCE = 0.95  # with which a difference that is called more than noise is not by chance
FEW = 2.0  # times as many standard errors as many folds would need: two folds need 6.5 times, three 2.2 times


@dataclass(frozen=True, eq=False, repr=False)
class Differences:
    """The score of each model less that of the baseline, on the same folds: above 0 is better than it.

    Losses are negated, as they are in scores.
    """

    baseline: str
    names: tuple[str, ...]
    metric: Metric
    values: FloatArray  # (models, folds): only folds that count; NaN where a model failed
    ratio: float  # rows held out for each row learnt from

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(self.values))

    @property
    def n_folds(self) -> int:
        """Number of folds that count."""
        return int(self.values.shape[1])

    @cached_property
    def mean(self) -> FloatArray:
        """The mean over the folds; NaN for a model that failed on one of them."""
        return frozen(self.values.mean(axis=1))

    @cached_property
    def plain_error(self) -> FloatArray:
        """The standard error of the mean if folds were independent, which they are not; NaN of one fold."""
        return frozen(self._deviation / np.sqrt(self.n_folds))

    @cached_property
    def error(self) -> FloatArray:
        """The standard error of the mean, corrected for what the folds have in common; NaN of one fold."""
        # Two of five training sets share three quarters of their rows, so that models, and with them the
        # differences, are alike from fold to fold: the plain error is too small, and finds differences where
        # there are none in far more than 5 % of cases. Nadeau and Bengio (2003) add the rows held out for
        # each row learnt from, which stands for that correlation: of five folds it makes errors 1.5 times as
        # large. It can err on the side of caution, and that is the side for a choice between models.
        return frozen(self._deviation * np.sqrt(1 / self.n_folds + self.ratio))

    @cached_property
    def quantile(self) -> float:
        """How many standard errors chance alone may bring, by Student's distribution; NaN of one fold."""
        from scipy.special import stdtrit

        return float(stdtrit(self.n_folds - 1, (1 + CONFIDENCE) / 2)) if self.n_folds > 1 else np.nan

    @cached_property
    def noise(self) -> FloatArray:
        """The greatest difference that chance alone may bring: the folds can tell no smaller one."""
        return frozen(self.quantile * self.error)

    @property
    def has_few_folds(self) -> bool:
        """True if two or three folds, or a single one, count: chance may then bring nearly anything."""
        from scipy.special import ndtri

        return not self.quantile <= FEW * float(ndtri((1 + CONFIDENCE) / 2))

    @cached_property
    def cannot_tell(self) -> BoolArray:
        """True for models of which folds as few as these cannot tell whether they are better or worse."""
        # Two folds call anything noise: a deviation of two numbers says next to nothing. Only what is the
        # same on every fold has no noise at all.
        is_open = ~(np.abs(self.mean) > self.noise) & ~(self.noise == 0) & ~np.isnan(self.mean)
        return frozen(is_open & ~self._is_baseline & self.has_few_folds)

    @cached_property
    def within_noise(self) -> BoolArray:
        """True for models that may be as good as the baseline: chance alone may bring such a difference.

        The baseline itself is; of so few folds that they cannot tell, no other model.
        """
        is_small = np.abs(self.mean) <= self.noise
        return frozen(self._is_baseline | (is_small & ~self.cannot_tell))

    @property
    def _is_baseline(self) -> BoolArray:
        return np.array([name == self.baseline for name in self.names])

    @cached_property
    def _deviation(self) -> FloatArray:
        if self.n_folds < 2:
            return np.full(len(self.names), np.nan)
        return np.asarray(self.values.std(axis=1, ddof=1), np.float64)

    def columns(self) -> dict[str, list[object]]:
        """The differences as a table: names of columns, and one entry per model."""
        return {
            "model": list(self.names),
            "difference": self.mean.tolist(),
            "difference_error": self.error.tolist(),
            "plain_error": self.plain_error.tolist(),
            "noise": self.noise.tolist(),
            "within_noise": self.within_noise.tolist(),
            "cannot_tell": self.cannot_tell.tolist(),
            **{f"fold_{number + 1}": values.tolist() for number, values in enumerate(self.values.T)},
        }

    def __repr__(self) -> str:
        return shown("difference_text", self)


def held_out_ratio(folds: Sequence[Fold]) -> float:
    """Rows held out for each row learnt from; the mean over the folds.

    >>> held_out_ratio([Fold(np.array([1, 1, 1, 1, 0]), np.array([False, False, False, False, True]))])
    0.25
    """
    return float(np.mean([fold.held_out.sum() / fold.times.sum() for fold in folds]))
