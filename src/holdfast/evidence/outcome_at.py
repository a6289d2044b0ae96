"""What a leaf says of the rows in it: the prediction, and the risk as a count with an interval."""

from dataclasses import dataclass

from holdfast.data.schema import Label
from holdfast.evidence.leaf_evidence import estimate, node_interval
from holdfast.tree.class_counts import class_counts
from holdfast.tree.positive import positive_class
from holdfast.tree.tree import Tree
from holdfast.tree.wording import quantile_words


@dataclass(frozen=True)
class LeafOutcome:
    """The prediction of a leaf and, of classes, how many of its training rows were of the class told of."""

    leaf: int
    prediction: Label | float
    n_rows: float  # training rows in the leaf
    label: Label | None = None  # the positive class of two; of more, the predicted one; None for numbers
    probability: float | None = None  # of that class
    count: float | None = None  # rows of that class
    interval: tuple[float, float] | None = None  # of 95 % for the probability; None without rows
    estimate: float | None = None  # what the interval lies about: the probability, or by hand count / n_rows
    statistic: str = ""  # "median" or "0.9 quantile" where the prediction is one


def leaf_outcome(tree: Tree, leaf: int, positive: Label | None = None) -> LeafOutcome:
    """What the leaf says; of two classes the risk of the positive one, by default the rarer."""
    target, n_rows = tree.schema.target, float(tree.count[leaf])
    if not target.is_classes:
        return LeafOutcome(leaf, float(tree.value[leaf, 0]), n_rows, statistic=quantile_words(tree))
    predicted, told = int(tree.outcome[leaf]), positive_class(tree, positive)
    place = predicted if told is None else told
    count = float(class_counts(tree)[leaf, place])
    return LeafOutcome(
        leaf=leaf,
        prediction=target.classes[predicted],
        n_rows=n_rows,
        label=target.classes[place],
        probability=float(tree.value[leaf, place]),
        count=count,
        interval=node_interval(tree, leaf, place) if n_rows > 0 else None,
        estimate=estimate(tree, leaf, place),
    )
