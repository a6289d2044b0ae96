"""The rows of every stage: those that it learns from, and its own, which the stage before is tried on."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, LongArray
from holdfast.data.canonical_order import canonical
from holdfast.data.input.weight import count_effective_rows
from holdfast.data.split.groups import subset_groups
from holdfast.data.split.row_keys import copies_as_groups
from holdfast.data.split.stages import join_small_stages
from holdfast.data.table import Table
from holdfast.stability.stages.settings import StageSettings


class RowsLearnt(NamedTuple):
    """Rows in one order, whatever order they came in; copies of a row as one group."""

    table: Table
    groups: LongArray | None


@dataclass(frozen=True, eq=False)
class StageRows:
    """All rows on one schema, and the stage of each."""

    table: Table
    stage: LongArray  # numbers from 0, without gaps
    groups: LongArray | None
    labels: tuple[str, ...]  # of the stages

    @classmethod
    def of(
        cls,
        table: Table,
        stage: LongArray,
        groups: LongArray | None,
        labels: tuple[str, ...],
        settings: StageSettings,
    ) -> "StageRows":
        """The rows, where a stage that has too few is joined with the next."""
        joint = join_small_stages(stage, settings.min_rows)
        number_of = [int(joint[stage == number][0]) for number in range(len(labels))]
        together = [
            [label for label, number in zip(labels, number_of, strict=True) if number == new]
            for new in range(max(number_of) + 1)
        ]
        names = (each[0] if len(each) == 1 else f"{each[0]} to {each[-1]}" for each in together)
        return cls(table, joint, groups, tuple(names))

    @property
    def n_stages(self) -> int:
        """The number of stages."""
        return len(self.labels)

    def is_learnt(self, stage: int, settings: StageSettings) -> BoolArray:
        """True for the rows that a stage learns from."""
        is_learnt = self.stage <= stage if settings.memory == "all" else self.stage == stage
        return np.asarray(is_learnt, np.bool_)

    def n_learnt(self, stage: int, settings: StageSettings) -> int:
        """How many rows a stage learns from."""
        return int(self.is_learnt(stage, settings).sum())

    def size(self, stage: int, settings: StageSettings) -> float:
        """How many rows those that a stage learns from are worth."""
        table = self.raw(stage, settings).table
        return count_effective_rows(table.weight, table.n_rows)

    def raw(self, stage: int, settings: StageSettings) -> RowsLearnt:
        """The rows that a stage learns from, as they came, each with its weight by age."""
        is_learnt = self.is_learnt(stage, settings)
        table = self.table.subset(is_learnt)
        if settings.half_life is not None:
            weight = np.exp2(-(stage - self.stage[is_learnt]) / float(settings.half_life))
            table = replace(table, weight=weight if table.weight is None else table.weight * weight)
        return RowsLearnt(table, subset_groups(self.groups, is_learnt))

    def learnt(self, stage: int, settings: StageSettings) -> RowsLearnt:
        """The same in their fixed order."""
        return _in_order(self.raw(stage, settings))

    def own(self, stage: int) -> RowsLearnt:
        """The rows of the stage itself."""
        return self._in_order(self.stage == stage)

    def next(self, stage: int, settings: StageSettings) -> RowsLearnt | None:
        """The rows of the next stage; with strict groups, those of groups that no earlier row has."""
        if stage + 1 >= self.n_stages:
            return None
        is_next = self.stage == stage + 1
        if settings.strict_groups and self.groups is not None:
            is_next = is_next & ~np.isin(self.groups, self.groups[self.stage <= stage])
        return self._in_order(np.asarray(is_next, np.bool_)) if is_next.any() else None

    def _in_order(self, rows: BoolArray) -> RowsLearnt:
        return _in_order(RowsLearnt(self.table.subset(rows), subset_groups(self.groups, rows)))


def _in_order(rows: RowsLearnt) -> RowsLearnt:
    table, in_order, copies = canonical(rows.table, [] if rows.groups is None else [rows.groups])
    return RowsLearnt(table, in_order[0] if in_order else copies_as_groups(table, copies))
