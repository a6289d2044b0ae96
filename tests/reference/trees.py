"""Small trees made by hand, for the tests of everything that reads a tree."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.data.schema import Feature, Label, Schema, Target
from holdfast.tree.tree import KNOWN, LEAF, Tree


@dataclass(frozen=True)
class Node:
    """A leaf, or a split with two branches; rows, value and impurity of a split follow from its leaves."""

    count: float
    value: np.ndarray
    impurity: float
    feature: str = ""
    answer: float | tuple[Label, ...] = ()  # a threshold, or the categories that go left
    branches: tuple["Node", ...] = ()
    missing_left: bool = False


def leaf(count: float, *value: float, impurity: float | None = None) -> Node:
    """A leaf with the fractions of its classes, or with its mean (then give its impurity)."""
    shares = np.array(value, float)
    return Node(count, shares, 1 - float(shares @ shares) if impurity is None else impurity)


def split(feature: str, answer: Any, yes: Node, no: Node, missing_left: bool = False) -> Node:
    """An inner node that asks whether `feature` is at most a number, or among some categories."""
    count = yes.count + no.count
    value = (yes.count * yes.value + no.count * no.value) / count
    if len(value) > 1:
        impurity = 1 - float(value @ value)
    else:  # variance within the branches plus variance between them
        impurity = sum(
            part.count / count * (part.impurity + float((part.value - value) @ (part.value - value)))
            for part in (yes, no)
        )
    return Node(count, value, impurity, feature, answer, (yes, no), missing_left)


def preorder(node: Node) -> Iterator[Node]:
    """The node, then everything below it on the yes side, then on the no side."""
    yield node
    for branch in node.branches:
        yield from preorder(branch)


def size(node: Node) -> int:
    """Number of nodes from this one down."""
    return sum(1 for _ in preorder(node))


def tree_of(root: Node, features: tuple[Feature, ...], target: Target, notes: tuple[str, ...] = ()) -> Tree:
    """The tree whose root is `root`."""
    nodes = list(preorder(root))
    index_of = {feature.name: index for index, feature in enumerate(features)}
    set_start, in_set = [], []
    for node in nodes:
        is_set = isinstance(node.answer, tuple) and bool(node.branches)
        set_start.append(len(in_set) if is_set else -1)
        if is_set:
            in_set += [label in node.answer for label in features[index_of[node.feature]].categories]
    return Tree(
        schema=Schema(features, target),
        feature=np.array([index_of[n.feature] if n.branches else LEAF for n in nodes], np.int32),
        threshold=np.array([np.nan if isinstance(n.answer, tuple) else n.answer for n in nodes]),
        left=np.array([place + 1 if n.branches else LEAF for place, n in enumerate(nodes)], np.int32),
        right=np.array(
            [place + 1 + size(n.branches[0]) if n.branches else LEAF for place, n in enumerate(nodes)],
            np.int32,
        ),
        missing_left=np.array([n.missing_left for n in nodes]),
        set_start=np.array(set_start, np.int64),
        in_set=np.array(in_set, bool),
        value=np.array([n.value for n in nodes]),
        count=np.array([n.count for n in nodes], float),
        weight=np.array([n.count for n in nodes], float),
        impurity=np.array([n.impurity for n in nodes]),
        notes=notes,
    )


AGE = Feature("age", low=18.0, high=90.0)
FARE = Feature("fare", low=0.0, high=512.0)
SEX = Feature("sex", "nominal", categories=("female", "male"))
PAIN = Feature("pain", "nominal", categories=("atypical", "none", "other", "typical"))
SLOPE = Feature("slope", "ordered", low=0.0, high=3.0, categories=("down", "flat", "up", "steep"))
HEAVY = Feature("bmi ** 2 < 900", "custom", categories=(False, True))
SURVIVED = Target("survived", classes=("no", "yes"))

# age <= 50 ? (age <= 30 ? no : yes) : no
NUMERIC = tree_of(
    split(
        "age", 50.0, split("age", 30.0, leaf(40, 0.75, 0.25), leaf(20, 0.1, 0.9), True), leaf(40, 1.0, 0.0)
    ),
    (AGE,),
    SURVIVED,
)

# pain in {atypical, none} ? (pain = atypical ? yes : no) : (sex = female ? yes : no)
SUBSET = tree_of(
    split(
        "pain",
        ("atypical", "none"),
        split("pain", ("atypical",), leaf(30, 0.2, 0.8), leaf(30, 0.9, 0.1)),
        split("sex", ("female",), leaf(30, 0.4, 0.6), leaf(10, 1.0, 0.0)),
        True,
    ),
    (PAIN, SEX),
    SURVIVED,
)

QUESTION = tree_of(
    split("bmi ** 2 < 900", (True,), leaf(60, 0.9, 0.1), leaf(40, 0.25, 0.75), True), (AGE, HEAVY), SURVIVED
)

# slope at most up ? (slope at most down ? no : yes) : no
ORDERED = tree_of(
    split("slope", 2.5, split("slope", 0.5, leaf(10, 1.0, 0.0), leaf(60, 0.3, 0.7)), leaf(30, 0.9, 0.1)),
    (SLOPE,),
    SURVIVED,
)

# fare is known ? (fare <= 23.35 ? no : yes) : no
FARE_KNOWN = tree_of(
    split("fare", KNOWN, split("fare", 23.35, leaf(60, 0.7, 0.3), leaf(30, 0.2, 0.8)), leaf(10, 0.9, 0.1)),
    (FARE,),
    SURVIVED,
)

SPECIES = tree_of(
    split(
        "petal length",
        2.45,
        leaf(50, 1.0, 0.0, 0.0),
        split("petal width", 1.75, leaf(54, 0.02, 0.9, 0.08), leaf(46, 0.0, 0.02, 0.98)),
    ),
    (Feature("petal length", low=1.0, high=6.9), Feature("petal width", low=0.1, high=2.5)),
    Target("species", classes=("setosa", "versicolor", "virginica")),
)

PRICE = tree_of(
    split(
        "rooms",
        6.5,
        split("age", 50.0, leaf(60, 22.6, impurity=16.0), leaf(20, 12.34567, impurity=9.0)),
        leaf(20, 45.0, impurity=25.0),
    ),
    (Feature("rooms", low=3.0, high=9.0), AGE),
    Target("price", low=5.0, high=50.0),
)

LONE_LEAF = tree_of(leaf(2207, 0.677, 0.323), (AGE,), SURVIVED)


def balanced(leaves: int, regression: bool = False, seed: int = 0) -> Tree:
    """A tree of mixed questions that rows can meet, as balanced as its number of leaves allows."""
    random = np.random.default_rng(seed)
    target = Target("length of stay", low=0.0, high=30.0) if regression else SURVIVED
    ward = Feature("ward", "nominal", categories=tuple(f"ward {number:02d}" for number in range(40)))
    features = {feature.name: feature for feature in (AGE, FARE, SEX, PAIN, SLOPE, HEAVY, ward)}
    ranges = {name: (each.low, each.high) for name, each in features.items() if each.kind == "numeric"}
    choices = {name: each.categories for name, each in features.items() if each.kind != "numeric"}

    def bottom() -> Node:
        count, share = int(random.integers(5, 400)), float(np.round(random.beta(0.6, 0.6), 3))
        return leaf(count, 30 * share, impurity=4.0) if regression else leaf(count, 1 - share, share)

    def grown(leaves: int, reach: dict[str, Any]) -> Node:
        if leaves == 1:
            return bottom()
        name = str(random.choice([name for name in features if name in ranges or len(reach[name]) > 1]))
        if name in ranges:
            low, high = reach[name]
            answer: Any = float(np.round(low + (high - low) * random.uniform(0.3, 0.7), 2))
            yes, no = (low, answer), (answer, high)
        else:
            cut = len(reach[name]) // 2
            is_ordered = features[name].kind == "ordered"
            labels = reach[name] if is_ordered else tuple(reach[name][i] for i in random.permutation(2 * cut))
            yes, no = labels[:cut], tuple(label for label in reach[name] if label not in labels[:cut])
            answer = features[name].categories.index(no[0]) - 0.5 if is_ordered else yes
            if features[name].kind == "custom":
                yes, no, answer = (True,), (False,), (True,)
        branches = (
            grown(half, {**reach, name: side})
            for half, side in ((leaves - leaves // 2, yes), (leaves // 2, no))
        )
        return split(name, answer, *branches, bool(random.integers(2)))

    return tree_of(grown(leaves, ranges | choices), tuple(features.values()), target)


FORTY_LEAVES = balanced(40)
