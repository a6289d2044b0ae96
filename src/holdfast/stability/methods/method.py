"""What a method is: how it divides the rows, and what it grows on them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from holdfast.arrays import FloatArray, LongArray
from holdfast.data.table import Table
from holdfast.scoring.metric import Metric
from holdfast.stability.baseline import BaselineTest
from holdfast.stability.centring.size_choice import SizeChoice
from holdfast.stability.collection import Collection
from holdfast.stability.division import Division, RowInfo, divide
from holdfast.stability.rows import PreparedRows
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.validation import Scores


class Sizes(NamedTuple):
    """Candidates that were looked for with different numbers of leaves, each amid references of its size."""

    max_leaf_nodes: LongArray  # of each candidate: the most leaves that it may have
    student_loss: FloatArray  # of each candidate: see Frontier
    smaller_references: Mapping[int, Collection]  # by the most leaves; the others are those of the most
    choice: SizeChoice | None = None  # where rows held out chose the most leaves
    teacher: Mapping[str, float] | None = None  # the weights of its parts, where rows held out chose these

    def references_of(self, candidate: int, largest: Collection) -> Collection:
        """The references of the candidate's size, the largest of which are given."""
        return self.smaller_references.get(int(self.max_leaf_nodes[candidate]), largest)


class Grown(NamedTuple):
    """The candidates with their scores, and the reference trees that their distances are measured to."""

    references: Collection
    candidates: Collection
    scores: Scores
    teacher_loss: FloatArray | None = None  # of each candidate, for "centred": see Frontier
    sizes: Sizes | None = None  # for "centred"
    strength: float | None = None  # of shrinkage, in rows, where leaf values are shrunk
    baseline: BaselineTest | None = None  # against a constant; None where no rows are held out

    def references_of(self, candidate: int) -> Collection:
        """The reference trees that a candidate is measured to: of centred trees, those of its own size."""
        return self.references if self.sizes is None else self.sizes.references_of(candidate, self.references)

    def by_references(self) -> list[tuple[Collection, LongArray]]:
        """Every collection of references, and the places of the candidates that are measured to it."""
        own = [self.references_of(place) for place in range(len(self.candidates))]
        collections = {id(each): each for each in own}
        return [
            (collection, np.array([place for place, each in enumerate(own) if each is collection], np.int64))
            for collection in collections.values()
        ]


@dataclass(frozen=True)
class Method:
    """One way to make candidates."""

    grow: Callable[[PreparedRows, StabilitySettings, Metric], Grown]
    divide: Callable[[Table, StabilitySettings, RowInfo], Division] = divide
    reports_on_holdout: bool = False  # replications report the rows that a tree was chosen by
