"""The columns that questions may read: their names, and their categories as numbers, worked out once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.data.schema import Feature, Label


@dataclass(frozen=True)
class Pair:
    """Numbers for the categories of two columns, equal for equal categories."""

    left: tuple[float, ...]
    right: tuple[float, ...]
    is_ordered: bool  # both columns have the same categories in the same order


class QuestionColumns:
    """The columns of the data that questions may read."""

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = features
        self.indices = {column.name: i for i, column in enumerate(features) if column.kind != "question"}
        self._codes: dict[str, dict[Label, float]] = {}
        self._pairs: dict[tuple[str, str], Pair] = {}

    def codes(self, feature: Feature) -> Mapping[Label, float]:
        """Return the position of each category of the feature."""
        if feature.name not in self._codes:
            self._codes[feature.name] = _positions(feature.categories)
        return self._codes[feature.name]

    def pair(self, left: Feature, right: Feature) -> Pair:
        """Number the categories of two columns so that they can be compared."""
        names = left.name, right.name
        if names not in self._pairs:
            codes = _positions(dict.fromkeys((*left.categories, *right.categories)))
            is_ordered = left.kind == right.kind == "ordered" and left.categories == right.categories
            self._pairs[names] = Pair(
                tuple(codes[label] for label in left.categories),
                tuple(codes[label] for label in right.categories),
                is_ordered,
            )
        return self._pairs[names]


def _positions(labels: Iterable[Label]) -> dict[Label, float]:
    return {label: float(position) for position, label in enumerate(labels)}
