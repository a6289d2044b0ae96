"""A model as every format writes it: lists of nodes that ask or say something, and a link.

No format reads the arrays of a tree: what a split means, where missing values and categories that nobody has
seen go, and what the leaves add up to is worked out here, once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.data.schema import Feature, Label, Target
from holdfast.errors import ExportError
from holdfast.tree.check import Link
from holdfast.tree.ensemble import Ensemble, weighted_values
from holdfast.tree.tree import KNOWN, LEAF, Tree


@dataclass(frozen=True)
class Split:
    """An inner node with a split on one column.

    With a threshold: is the number at most this? With categories: is it one of those that go to `yes`? With
    neither: is the value known? A missing value, and a category that the schema does not hold, goes to `yes`
    if `missing_yes`, whatever is asked.
    """

    feature: Feature
    yes: int  # the node that follows, by its number in the list
    no: int
    missing_yes: bool
    threshold: float | None = None
    in_yes: tuple[Label, ...] | None = None  # categories; an ordered feature has them too
    in_no: tuple[Label, ...] = ()

    @property
    def is_known(self) -> bool:
        """True if it tests whether the number is present."""
        return self.threshold is None and self.in_yes is None

    @property
    def listed(self) -> tuple[tuple[Label, ...], bool]:
        """Categories, and True if they go to `yes`; all others go to the other side.

        They are those of the side where missing values do not go, so that one list says it all.
        """
        return (self.in_no, False) if self.missing_yes else (self.in_yes or (), True)


@dataclass(frozen=True)
class Leaf:
    """A leaf."""

    values: tuple[float, ...]  # what it adds to the scores; of a tree alone, its fractions or its mean
    outcome: int  # the place of its class; -1 of a number


Node = Split | Leaf


@dataclass(frozen=True)
class PlainTree:
    """Nodes in preorder, numbered as in the tree."""

    nodes: tuple[Node, ...]
    output: int = 0  # the first score that the values are added to
    weight: float = 1.0  # that the values were multiplied with

    @property
    def leaves(self) -> dict[int, Leaf]:
        """Leaves by number."""
        return {number: node for number, node in enumerate(self.nodes) if isinstance(node, Leaf)}

    @property
    def splits(self) -> dict[int, Split]:
        """Splits by number."""
        return {number: node for number, node in enumerate(self.nodes) if isinstance(node, Split)}

    @property
    def depth(self) -> int:
        """Greatest number of splits on a path."""
        depth = [0] * len(self.nodes)
        for number, split in self.splits.items():  # preorder: a parent stands before its children
            depth[split.yes] = depth[split.no] = depth[number] + 1
        return max(depth)


@dataclass(frozen=True)
class PlainModel:
    """Trees whose leaf values add up, and the link; a single tree has `link` None."""

    columns: tuple[Feature, ...]  # those that the trees ask about, in the order of the schema
    target: Target
    trees: tuple[PlainTree, ...]
    start: tuple[float, ...] = ()
    link: Link | None = None
    total_weight: float = 1.0
    votes: bool = False  # every leaf adds the weight of its tree to its class

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return len(self.start)

    @property
    def splits(self) -> Iterator[Split]:
        """All splits of all trees."""
        return (split for tree in self.trees for split in tree.splits.values())


def unwrap_model(model: Any) -> Tree | Ensemble:
    """Return the tree or ensemble, also of a fitted estimator; a TypeError for anything else."""
    found = getattr(model, "ensemble_", getattr(model, "tree_", model))
    if not isinstance(found, Tree | Ensemble):
        raise TypeError(
            f"Cannot export a {type(found).__name__}: it is not a tree, an ensemble or a fitted estimator of "
            "one."
        )
    if getattr(model, "vote_threshold", None) is not None:
        raise ExportError(
            f"vote_threshold={model.vote_threshold} makes the trees vote for another class than the one of "
            "their leaves, which no format has: set it to None, or export model.ensemble_, which votes "
            "without it."
        )
    return found


def make_plain_model(model: Any, *, questions: bool = False) -> PlainModel:
    """Convert a tree, ensemble or fitted estimator to plain data.

    An ExportError says what cannot be computed elsewhere; `questions=True`, of a format that only shows the
    tree, allows those that the user wrote.
    """
    found = unwrap_model(model)
    trees = found.trees if isinstance(found, Ensemble) else (found,)
    if not questions:
        _check_questions(trees)
    used = sorted({int(index) for tree in trees for index in np.unique(tree.feature) if index != LEAF})
    columns = tuple(found.schema.features[index] for index in used)
    if isinstance(found, Tree):
        return PlainModel(columns, found.schema.target, (_plain_tree(found, found.value.tolist()),))
    return _plain_ensemble(found, columns)


def _plain_ensemble(ensemble: Ensemble, columns: tuple[Feature, ...]) -> PlainModel:
    if ensemble.loss_matrix is not None:
        raise ExportError(
            "the ensemble predicts the class of least expected loss, which no format computes: export "
            "ensemble.replace(loss_matrix=None) for its probabilities, and weigh them by the losses where "
            "they are used."
        )
    if ensemble.spare_bits:
        raise ExportError("the sum of what the trees say is too large for a float: rescale the target.")
    values = weighted_values(ensemble)
    trees = tuple(
        replace(_plain_tree(tree, value.tolist()), output=output, weight=weight)
        for tree, value, output, weight in zip(
            ensemble.trees, values, ensemble.outputs.tolist(), ensemble.weights.tolist(), strict=True
        )
    )
    return PlainModel(
        columns,
        ensemble.schema.target,
        trees,
        tuple(ensemble.start.tolist()),
        ensemble.link,
        float(ensemble.weights.sum()),
        ensemble.votes,
    )


def _plain_tree(tree: Tree, values: list[list[float]]) -> PlainTree:
    classes = tree.schema.target.is_classes
    outcome = tree.outcome.tolist() if classes else [-1] * tree.n_nodes
    return PlainTree(
        tuple(
            Leaf(tuple(values[node]), outcome[node]) if feature == LEAF else _split(tree, node)
            for node, feature in enumerate(tree.feature.tolist())
        )
    )


def _split(tree: Tree, node: int) -> Split:
    feature = tree.schema.features[tree.feature[node]]
    plain = Split(feature, int(tree.left[node]), int(tree.right[node]), bool(tree.missing_left[node]))
    threshold = float(tree.threshold[node])
    if feature.kind == "numeric":
        return plain if threshold >= KNOWN else replace(plain, threshold=threshold)
    if feature.is_subset:
        goes_left = tree.left_categories(node).tolist()
    else:  # an ordered feature is split between two of its categories
        goes_left = [place <= threshold for place in range(len(feature.categories))]
    both = list(zip(feature.categories, goes_left, strict=True))
    return replace(
        plain,
        in_yes=tuple(label for label, is_left in both if is_left),
        in_no=tuple(label for label, is_left in both if not is_left),
    )


def _check_questions(trees: tuple[Tree, ...]) -> None:
    for position, tree in enumerate(trees):
        for node in np.flatnonzero(tree.feature != LEAF).tolist():
            feature = tree.schema.features[tree.feature[node]]
            if feature.kind == "question":
                of = f" of tree {position}" if len(trees) > 1 else ""
                raise ExportError(
                    f"node {node}{of} asks the question {feature.name!r}, which holdfast alone "
                    "computes. Add its answer as a column of the data and grow the tree on it, or keep the "
                    "model as a file of holdfast: save(model, 'model.json')."
                )
