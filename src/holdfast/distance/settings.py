"""What a distance is measured by: which matching, and how much another outcome costs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast._check import check_integer, check_number
from holdfast.data.schema import Target
from holdfast.errors import ParameterError
from holdfast.text.lists import listed
from holdfast.tree.tree import Tree

MATCHINGS = ("paper", "cover", "metric")
MOST_LABEL_WEIGHT = 1e6
MOST_DEPTH = 1000


@dataclass(frozen=True)
class DistanceSettings:
    """Settings of a comparison, the same for all pairs of a collection."""

    matching: str
    outcome: str
    label_weight: float  # cost of an entirely different outcome
    depth: int  # the greatest depth allowed in the collection
    normalised: bool

    @classmethod
    def of_depth(
        cls,
        depth: int,
        matching: str,
        outcome: str,
        label_weight: float | None = None,
        normalised: bool = False,
    ) -> "DistanceSettings":
        """Settings for trees of at most this depth."""
        weight = 2.0 * depth if label_weight is None else float(label_weight)
        return cls(matching, outcome, weight, int(depth), bool(normalised))

    def total(self, raw: Any) -> Any:
        """Convert a distance, or an array, to the requested scale."""
        if not self.normalised:
            return raw
        return raw / (2 * self.depth + self.label_weight) * math.ldexp(1.0, -self.depth)


def complete_settings(
    trees: Sequence[Tree],
    matching: str,
    label_weight: float | None,
    outcome: str | None,
    normalised: bool,
    depth: int | None,
) -> DistanceSettings:
    """Fill in settings that were left open from the trees."""
    outcome = check_outcome(trees[0].schema.target, matching, label_weight, outcome)
    if depth is None:
        depth = max(1, *(tree.depth for tree in trees))
    check_integer("depth", depth, 1, MOST_DEPTH, none_ok=True)
    return DistanceSettings.of_depth(int(depth), matching, outcome, label_weight, normalised)


def check_outcome(target: Target, matching: str, label_weight: float | None, outcome: str | None) -> str:
    """Check the outcome comparison; a ParameterError if it does not fit the trees."""
    if matching not in MATCHINGS:
        raise ParameterError(f"matching={matching!r} is not one of {listed(MATCHINGS)}.")
    check_number("label_weight", label_weight, 0.0, MOST_LABEL_WEIGHT, none_ok=True)
    outcomes = ("label", "distribution") if target.is_classes else ("value",)
    if outcome is not None and outcome not in outcomes:
        what = "classes" if target.is_classes else "numbers"
        raise ParameterError(
            f"outcome={outcome!r} is not for trees that predict {what}: "
            f"it must be {_choice(outcomes)}, or None."
        )
    return outcome or outcomes[0]


def _choice(names: Sequence[str]) -> str:
    return " or ".join(repr(name) for name in names)
