"""A feature as an axis of a plot: numbers along it, categories side by side, missing values at its border."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.schema import Feature
from holdfast.tree.rule import Condition

MARGIN, GAP, BAND = 0.04, 0.03, 0.09  # beyond the values; before and of the band of missing values
Span = tuple[float, float]


@dataclass(frozen=True)
class FeatureAxis:
    """Where the values of a feature stand."""

    feature: Feature
    low: float  # of the known values that are drawn
    high: float
    missing: Span | None = None  # the band of missing values, before the low end

    @classmethod
    def of(cls, feature: Feature, values: FloatArray) -> Self:
        """The axis that holds these values, numbers or positions of categories, and the schema's range."""
        known = values[~np.isnan(values)]
        if feature.categories:
            low, high = -0.5, len(feature.categories) - 0.5
        else:
            least = min([feature.low, *known.tolist()])
            most = max([feature.high, *known.tolist()])
            margin = MARGIN * ((most - least) or 1.0)
            low, high = least - margin, most + margin
        if len(known) == len(values):
            return cls(feature, low, high)
        length = high - low
        return cls(feature, low, high, (low - (GAP + BAND) * length, low - GAP * length))

    @property
    def start(self) -> float:
        """The low end of the axis, the band of missing values included."""
        return self.low if self.missing is None else self.missing[0]

    def spans(self, condition: Condition | None) -> list[Span]:
        """The stretches of the axis that the condition allows; without one, all of it."""
        known = [(self.low, self.high)] if condition is None else self._known_spans(condition)
        allows_missing = condition is None or condition.missing
        return [*known, *([self.missing] if self.missing and allows_missing else [])]

    def _known_spans(self, condition: Condition) -> list[Span]:
        if not self.feature.is_subset:
            low, high = max(condition.low, self.low), min(condition.high, self.high)
            return [(low, high)] if low < high else []
        allowed = set(condition.categories)
        flags = [False, *(label in allowed for label in self.feature.categories), False]
        turns = [place - 0.5 for place, (here, there) in enumerate(pairwise(flags)) if here != there]
        return list(zip(turns[::2], turns[1::2], strict=True))

    def places(self, values: FloatArray) -> FloatArray:
        """Where these values stand; missing ones in the middle of their band."""
        middle = np.nan if self.missing is None else sum(self.missing) / 2
        return np.where(np.isnan(values), middle, values)
