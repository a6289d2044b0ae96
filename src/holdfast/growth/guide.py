"""What guides the growth of a tree, as the kernels know it: columns by name order, values by rank."""

from functools import cache

import numpy as np

from holdfast.arrays import frozen
from holdfast.data.table import Table
from holdfast.growth.constraint_forms import is_guided
from holdfast.growth.constraints import (
    make_monotone,
    read_feature_costs,
    read_first_depths,
    read_interaction_groups,
)
from holdfast.growth.first_splits import make_top
from holdfast.growth.rules import GrowthRules
from holdfast.kernels.growth.guide import Guide, Top

NO_LIMIT = 2**40


def make_guide(table: Table, rules: GrowthRules) -> Guide:
    """Make the constraints that the kernel observes while it grows a tree."""
    if not is_guided(rules):
        return make_empty_guide()
    schema = table.schema
    # Kernels count columns by name; questions alone stand after all columns.
    order = np.array(schema.name_order, np.int64)
    if rules.custom_features_only:
        order = order[len(schema.columns) :]
    n_features = len(order)
    direction = np.empty(0, np.int8)
    if (monotone := make_monotone(schema, rules)) is not None:
        known = dict(monotone.directions)
        direction = np.array([known.get(name, 0) for name in schema.names], np.int8)[order]
        if len(schema.target.classes) == 2 and monotone.outcome == schema.target.classes[0]:
            direction = -direction  # of the second class
    depths, (groups, most_together), costs = (
        read_first_depths(schema, rules),
        read_interaction_groups(schema, rules),
        read_feature_costs(schema, rules),
    )
    cost = np.empty(0) if costs is None else costs[order] / costs[order].min()
    together = np.empty((0, n_features), np.uint8) if groups is None else groups[:, order].astype(np.uint8)
    return Guide(
        is_set=1,
        direction=frozen(direction),
        first_depth=frozen(np.empty(0, np.int64) if depths is None else depths[order]),
        groups=frozen(together),
        most_together=most_together,
        cost=frozen(cost),
        top=make_empty_top() if rules.first_splits is None else make_top(table, rules),
    )


@cache
def make_empty_guide() -> Guide:
    """Make constraints that restrict nothing."""
    return Guide(
        is_set=0,
        direction=frozen(np.empty(0, np.int8)),
        first_depth=frozen(np.empty(0, np.int64)),
        groups=frozen(np.empty((0, 0), np.uint8)),
        most_together=NO_LIMIT,
        cost=frozen(np.empty(0)),
        top=make_empty_top(),
    )


@cache
def make_empty_top() -> Top:
    """Make an empty set of prescribed splits."""
    nothing = frozen(np.empty(0, np.int64))
    in_set, threshold = frozen(np.empty(0, np.int8)), frozen(np.empty(0))
    return Top(nothing, nothing, nothing, nothing, nothing, nothing, in_set, threshold)


def keep_interactions(guide: Guide) -> Guide:
    """Keep the constraints on which features may be split where; empty if there are none."""
    says_so = len(guide.first_depth) or len(guide.groups) or guide.most_together < NO_LIMIT
    return guide if says_so else make_empty_guide()
