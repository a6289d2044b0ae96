"""Numbers that single precision takes for one another, and a tree to send them through."""

import numpy as np
from hypothesis import strategies as st

from holdfast.data.schema import Feature, Schema, Target
from holdfast.tree.tree import LEAF, Tree

SINGLES = st.floats(-(2.0**100), 2.0**100, width=32)


def around(*values: float) -> np.ndarray:
    """A column of the values, their neighbours in float32, the points half-way, and neighbours in float64."""
    single = np.array(values).astype(np.float32)
    below, above = (np.nextafter(single, np.float32(side)).astype(float) for side in (-np.inf, np.inf))
    middles = [side / 2 + single.astype(float) / 2 for side in (below, above)]
    points = np.concatenate([np.array(values), single.astype(float), below, above, *middles])
    return np.concatenate([points, np.nextafter(points, -np.inf), np.nextafter(points, np.inf)])[:, None]


def stump(threshold: float, feature: Feature = Feature("x0")) -> Tree:  # noqa: B008
    """x0 <= threshold ? no : yes"""
    return Tree(
        schema=Schema((feature,), Target("outcome", classes=("no", "yes"))),
        feature=np.array([0, LEAF, LEAF], np.int32),
        threshold=np.array([threshold, np.nan, np.nan]),
        left=np.array([1, LEAF, LEAF], np.int32),
        right=np.array([2, LEAF, LEAF], np.int32),
        missing_left=np.array([False, False, False]),
        set_start=np.full(3, -1),
        in_set=np.empty(0, bool),
        value=np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]),
        count=np.array([4.0, 2.0, 2.0]),
        weight=np.array([4.0, 2.0, 2.0]),
        impurity=np.array([0.5, 0.0, 0.0]),
    )
