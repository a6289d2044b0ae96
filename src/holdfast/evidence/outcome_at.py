"""What a leaf predicts, and what the rows in it were: their rate or mean, with an interval."""

from dataclasses import dataclass
from math import isfinite

from holdfast.data.schema import Label
from holdfast.evidence.leaf_evidence import is_about_value, node_interval
from holdfast.tree.class_counts import class_counts
from holdfast.tree.edit import edited_nodes
from holdfast.tree.positive import positive_class
from holdfast.tree.tree import Tree
from holdfast.tree.wording import format_leaf_statistic

SAME = 0.005  # an estimate and a rate that differ by less are one figure in percent
SAME_MEAN = 1e-6  # of the mean: what a sum in another order may change


@dataclass(frozen=True)
class LeafOutcome:
    """What a leaf predicts and, apart from it, what its training rows were."""

    leaf: int
    prediction: Label | float
    n_rows: float  # training rows in the leaf
    label: Label | None = None  # the positive class of two; of more, the predicted one; None for numbers
    probability: float | None = None  # the tree's estimate for that class
    count: float | None = None  # rows of that class
    observed: float | None = None  # their rate, or the mean of the rows, by weight; None without rows
    interval: tuple[float, float] | None = None  # of 95 % for the observed rate or mean, or the estimate
    is_about_estimate: bool = False  # the interval
    statistic: str = ""  # "median" or "0.9 quantile" where the prediction is one
    is_by_hand: bool = False  # a person has set the estimate

    @property
    def estimate(self) -> float:
        """What the tree predicts: the probability of the class, or the number."""
        return float(self.prediction if self.probability is None else self.probability)

    @property
    def is_as_observed(self) -> bool:
        """True if the estimate is the observed rate or mean, or nothing was observed."""
        if self.observed is None:
            return True
        least = SAME if self.label is not None else SAME_MEAN * max(abs(self.observed), abs(self.estimate))
        return abs(self.observed - self.estimate) <= least

    @property
    def is_outside(self) -> bool:
        """True if the estimate lies outside the interval of what was observed."""
        if self.interval is None or self.is_as_observed:
            return False
        return not self.interval[0] <= self.estimate <= self.interval[1]

    @property
    def is_weighted(self) -> bool:
        """True if the rate goes by weight, and is not that of the rows counted one by one."""
        if self.count is None or self.observed is None or self.n_rows <= 0:
            return False
        return abs(self.count / self.n_rows - self.observed) > SAME


def leaf_outcome(tree: Tree, leaf: int, positive: Label | None = None) -> LeafOutcome:
    """What the leaf predicts; of two classes the risk of the positive one, by default that of the tree."""
    predicted, told = int(tree.outcome[leaf]), positive_class(tree, positive)
    return outcome_of_class(tree, leaf, predicted if told is None else told)


def outcome_of_class(tree: Tree, leaf: int, place: int) -> LeafOutcome:
    """What the leaf predicts of the class at this place, or of the number."""
    target, n_rows = tree.schema.target, float(tree.count[leaf])
    is_by_hand = bool(tree.edits) and leaf in edited_nodes(tree)
    if not target.is_classes:
        statistic, interval = format_leaf_statistic(tree), node_interval(tree, leaf)
        return LeafOutcome(
            leaf,
            float(tree.value[leaf, 0]),
            n_rows,
            observed=float(tree.observed_mean[leaf, 0]) if n_rows > 0 and not statistic else None,
            interval=interval if n_rows > 0 and isfinite(interval[1] - interval[0]) else None,
            is_about_estimate=is_about_value(tree, leaf),
            statistic=statistic,
            is_by_hand=is_by_hand,
        )
    return LeafOutcome(
        leaf=leaf,
        prediction=target.classes[int(tree.outcome[leaf])],
        n_rows=n_rows,
        label=target.classes[place],
        probability=float(tree.value[leaf, place]),
        count=float(class_counts(tree)[leaf, place]),
        observed=float(tree.observed_mean[leaf, place]) if n_rows > 0 else None,
        interval=node_interval(tree, leaf, place) if n_rows > 0 else None,
        is_about_estimate=is_about_value(tree, leaf),
        is_by_hand=is_by_hand,
    )
