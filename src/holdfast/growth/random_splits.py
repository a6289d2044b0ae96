"""Random splits (`splitter="random"`): input of the kernels, and the thresholds drawn."""

import numpy as np

from holdfast.arrays import FloatArray, IntArray, LongArray, frozen
from holdfast.data.table import Table
from holdfast.growth.rules import GrowthRules
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.random_split import RankValues
from holdfast.kernels.growth.random_thresholds import drawn_thresholds

NO_VALUES = RankValues(frozen(np.empty(0, np.int64)), frozen(np.empty(0)))


def get_rank_values(table: Table, rules: GrowthRules) -> RankValues:
    """Return the values of the ranks; empty where the best split is searched for."""
    if rules.splitter == "best":
        return NO_VALUES
    return table.question_values if rules.custom_features_only else table.rank_values


def read_drawn_thresholds(
    fields: LongArray, rows: IntArray, coded: Coded, values: RankValues
) -> FloatArray | None:
    """Return the threshold that each node drew, NaN elsewhere; None if none are drawn."""
    if len(values.start) == 0:
        return None
    drawn = np.full(len(fields), np.nan)
    drawn_thresholds(fields, rows, coded, values, drawn)
    return drawn
