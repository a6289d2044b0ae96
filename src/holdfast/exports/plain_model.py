"""A model as every format writes it: trees as lists of splits and leaves, and a link.

No format reads the arrays of a tree: the meaning of a split, the side of missing values and unseen
categories, the values that leaves add, and how survival follows from a risk are computed here, once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast._text import number_text, printable
from holdfast.data.schema import Feature, Hazard, Label, Target
from holdfast.data.survival import cumulative_hazard, survive_horizon
from holdfast.errors import ExportError
from holdfast.tree.check import Link
from holdfast.tree.ensemble import Ensemble, weighted_values
from holdfast.tree.tree import KNOWN, LEAF, Tree


@dataclass(frozen=True)
class PlainSplit:
    """An inner node with a split on one column.

    A row goes to `yes` if its number is at most the threshold, its category is one of `in_yes` or, where the
    split has neither, its value is present. Missing values and unseen categories go there if `missing_yes`.
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
class PlainLeaf:
    """A leaf."""

    # Added to the scores; of a single tree its class fractions, its mean, or its risk and survival.
    values: tuple[float, ...]
    outcome: int  # index of its class; -1 for a number


@dataclass(frozen=True)
class PlainTree:
    """Nodes in preorder, numbered as in the tree."""

    nodes: tuple[PlainSplit | PlainLeaf, ...]
    output: int = 0  # the first score that the values are added to
    weight: float = 1.0  # by which the values were multiplied

    @property
    def leaves(self) -> dict[int, PlainLeaf]:
        """Leaves by number."""
        return {number: node for number, node in enumerate(self.nodes) if isinstance(node, PlainLeaf)}

    @property
    def splits(self) -> dict[int, PlainSplit]:
        """Splits by number."""
        return {number: node for number, node in enumerate(self.nodes) if isinstance(node, PlainSplit)}

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

    columns: tuple[Feature, ...]  # those that the trees split on, in the order of the schema
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
    def numbers(self) -> tuple[str, ...]:
        """Names of the predicted numbers: risk and survival, or the prediction; none for classes."""
        return () if self.target.is_classes else tuple(self.notes) or ("prediction",)

    @cached_property
    def hazard_at_horizon(self) -> float | None:
        """Cumulative hazard of all rows, of which survival is exp(-risk * hazard); None without survival."""
        hazard = self.target.hazard
        return None if hazard is None else float(cumulative_hazard(hazard, hazard.horizon))

    @property
    def notes(self) -> dict[str, str]:
        """What risk and survival are, by name; empty for other models."""
        hazard = self.target.hazard
        if hazard is None:
            return {}
        horizon, event = number_text(hazard.horizon, 15), repr(self.target.name)
        until = f"{hazard.time!r} {horizon} {printable(hazard.unit or '')}".rstrip()
        return {
            "risk": f"hazard of {event} as a multiple of that of all training rows",
            f"survival_{horizon}": f"probability of no {event} until {until}, "
            f"exp(-risk * {self.hazard_at_horizon!r})",
        }

    @property
    def splits(self) -> Iterator[PlainSplit]:
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


def make_plain_model(model: Any) -> PlainModel:
    """Convert a tree, ensemble or fitted estimator to plain data.

    An ExportError names what cannot be computed elsewhere, such as custom features.
    """
    found = unwrap_model(model)
    trees = found.trees if isinstance(found, Ensemble) else (found,)
    _check_custom_features(trees)
    used = sorted({int(index) for tree in trees for index in np.unique(tree.feature) if index != LEAF})
    columns = tuple(found.schema.features[index] for index in used)
    if isinstance(found, Tree):
        plain = PlainModel(columns, found.schema.target, (_plain_tree(found, found.value.tolist()),))
        return plain if plain.target.hazard is None else _add_survival(plain, plain.target.hazard)
    return _plain_ensemble(found, columns)


def _add_survival(plain: PlainModel, hazard: Hazard) -> PlainModel:
    """Add to the risk of every leaf of a single tree the survival that follows from it."""
    nodes = tuple(
        replace(node, values=(*node.values, survive_horizon(hazard, node.values[0])))
        if isinstance(node, PlainLeaf)
        else node
        for node in plain.trees[0].nodes
    )
    return replace(plain, trees=(replace(plain.trees[0], nodes=nodes),))


def _plain_ensemble(ensemble: Ensemble, columns: tuple[Feature, ...]) -> PlainModel:
    if ensemble.loss_matrix is not None:
        raise ExportError(
            "the ensemble predicts the class of least expected loss, which no format computes: export "
            "ensemble.replace(loss_matrix=None) for its probabilities, and weigh them by the losses where "
            "they are used."
        )
    if ensemble.spare_bits:
        raise ExportError("the sum of the trees' values is too large for a float: rescale the target.")
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
            PlainLeaf(tuple(values[node]), outcome[node]) if feature == LEAF else _split(tree, node)
            for node, feature in enumerate(tree.feature.tolist())
        )
    )


def _split(tree: Tree, node: int) -> PlainSplit:
    feature = tree.schema.features[tree.feature[node]]
    plain = PlainSplit(feature, int(tree.left[node]), int(tree.right[node]), bool(tree.missing_left[node]))
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


def _check_custom_features(trees: tuple[Tree, ...]) -> None:
    for position, tree in enumerate(trees):
        for node in np.flatnonzero(tree.feature != LEAF).tolist():
            feature = tree.schema.features[tree.feature[node]]
            if feature.kind == "custom":
                of = f" of tree {position}" if len(trees) > 1 else ""
                raise ExportError(
                    f"node {node}{of} splits on the custom feature {feature.name!r}, which only holdfast "
                    "computes. Add it as a column of the data and grow the tree on it, or keep the "
                    "model as a file of holdfast: save(model, 'model.json')."
                )
