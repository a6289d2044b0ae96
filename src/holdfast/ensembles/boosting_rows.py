"""The rows of a run of boosting: their targets and weights, and what each does in a round."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.arrays import ByteArray, FloatArray, IntArray
from holdfast.data.split.folds import Fold
from holdfast.data.table import Table
from holdfast.errors import DataError
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import weights_of
from holdfast.kernels.boosting.losses import Rows
from holdfast.kernels.boosting.roles import HELD_OUT, LEARNT, N_ROLES, UNUSED


@dataclass(frozen=True, eq=False)
class BoostingRows:
    """One entry per row; weights are multiplied by 2 ** -weight_exponent."""

    y: FloatArray  # the number, or the class
    weight: FloatArray
    weight_exponent: int
    importance: FloatArray  # the weight of one repetition
    repeats: IntArray
    role: ByteArray  # a round that draws rows writes it anew

    @classmethod
    def of(cls, table: Table, rules: GrowthRules, fold: Fold) -> "BoostingRows":
        """Make the rows of a table, some held out; the rules set class weights."""
        taken = np.where(fold.held_out, 1, fold.times).astype(np.int32)
        repeats, importance, exponent = weights_of(table, rules, taken)
        role = np.where(fold.held_out, HELD_OUT, LEARNT).astype(np.uint8)
        role[repeats == 0] = UNUSED
        if not (role == LEARNT).any():
            raise DataError("There is nothing to boost trees on: all rows that count are held out.")
        y, weight = table.target.astype(np.float64), repeats * importance
        return cls(y, weight, exponent, importance, repeats, role)

    @cached_property
    def lines(self) -> Rows:
        """The rows for kernels, without weights if all are 1."""
        used = self.role != UNUSED
        if (self.weight[used] == 1.0).all() and (self.repeats[used] == 1).all():
            return Rows(self.y, np.empty(0), np.empty(0), np.empty(0, np.int32), self.role)
        return Rows(self.y, self.weight, self.importance, self.repeats, self.role)


def sum_by_role(role: ByteArray, values: FloatArray) -> FloatArray:
    """Sum the values of the rows of each role."""
    return np.asarray(np.bincount(role, values, N_ROLES), np.float64)
