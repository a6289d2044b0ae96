"""The search for a consensus tree, slowly: every move is made, every tree measured by public functions."""

from collections.abc import Iterator

import numpy as np

from holdfast import GrowthRules, Table
from holdfast._arrays import FloatArray
from holdfast.data.resampling import Units
from holdfast.distance import mean_distance
from holdfast.distance.costs import DistanceSettings
from holdfast.kernels.consensus.problem import LEAF, Nodes
from holdfast.stable.consensus.distil import DistillationTask, quantize_predictions
from holdfast.stable.consensus.search import ConsensusSearch
from holdfast.tree.tree import Tree

Shape = tuple["int | Shape", ...]  # (split, left, right), or () for a leaf

NEAR = 1e-6  # distances are rounded to nine digits in the search


class SmallSearch:
    """A small table, a student, some references and the search among them."""

    def __init__(
        self,
        seed: int,
        *,
        n_classes: int = 2,
        outcome: str = "label",
        matching: str = "paper",
        n_rows: int = 60,
    ) -> None:
        self.table, self.predictions = small_task(np.random.default_rng(seed), n_rows, n_classes)
        rules = GrowthRules(max_leaf_nodes=4, min_samples_leaf=4)
        ones = np.ones(n_rows, np.int32)
        self.task = DistillationTask.of(self.table, self.predictions, ones, np.ones(n_rows), rules)
        self.student = self.task.grow_student().tree
        students = self.task.grow_students(Units.of(self.table), (seed, 10), 5, 1)
        self.references = [each.tree for each in students]
        self.options = {"matching": matching, "label_weight": 3.0}
        if n_classes:
            self.options["outcome"] = outcome
        settings = DistanceSettings.of_depth(3, matching, outcome if n_classes else "value", 3.0)
        self.search = ConsensusSearch.of(self.task, self.student, self.references, settings)

    def distances(self, trees: list[Tree]) -> FloatArray:
        return mean_distance(trees, self.references, **self.options)

    def tree(self, shape: Shape) -> Tree:
        """The tree with the teacher's predictions."""
        nodes = nodes_of(shape)
        made = self.search.problem.splits.build_tree(nodes, (len(nodes.split) + 1) // 2)
        return self.task.refit([made])[0]

    def shape(self, tree: Tree) -> Shape:
        nodes = self.search.problem.splits.pack_tree(tree, tree.n_nodes)
        return shape_of(nodes)

    def squared_loss(self, tree: Tree) -> float:
        """The sum of squared differences from the teacher: of the second of two classes, or of all."""
        leaf, loss = tree.apply(self.table), 0.0
        for node in np.unique(leaf):
            rows = self.task.fitted_predictions[leaf == node]
            loss += float(((rows - rows.mean(axis=0)) ** 2).sum())
        return loss

    def is_allowed(self, tree: Tree, tolerance: float) -> bool:
        """Whether the tree has rows enough in its leaves, and loses little enough."""
        counts = np.bincount(self.tree_leaves(tree), minlength=tree.n_leaves)
        own, none = self.squared_loss(self.student), self.squared_loss(self.tree(()))
        most = own + tolerance * (none - own)
        return bool(counts.min() >= self.search.min_rows and self.squared_loss(tree) <= most + 1e-9)

    def tree_leaves(self, tree: Tree) -> FloatArray:
        leaves = np.flatnonzero(tree.feature == LEAF)
        return np.searchsorted(leaves, tree.apply(self.table))

    def moves(self, shape: Shape) -> Iterator[Shape]:
        """All trees one move away, in the order that breaks ties."""
        most = self.search.problem.max_leaves
        n_questions = len(self.search.problem.splits.keys)
        for path in paths_of(shape):
            here = below(shape, path)
            if here:
                for q in range(n_questions):
                    if q != here[0]:
                        yield replaced(shape, path, (q, *here[1:]))
                yield replaced(shape, path, ())
            for reference in self.references:
                other = below(self.shape(reference), path)
                if other:
                    grafted = replaced(shape, path, other)
                    if n_leaves_of(grafted) <= most:
                        yield grafted

    def best_move(self, shape: Shape, tolerance: float) -> Shape | None:
        """The first of the nearest trees that are one move away, if it is nearer than the tree."""
        shapes = [each for each in self.moves(shape) if self.is_allowed(self.tree(each), tolerance)]
        distance = self.distances([self.tree(each) for each in (shape, *shapes)])
        best = 0
        for i in range(1, len(distance)):
            if distance[i] < distance[best] - NEAR:
                best = i
        return shapes[best - 1] if best else None


def small_task(rng: np.random.Generator, n_rows: int, n_classes: int) -> tuple[Table, FloatArray]:
    """A table with a column of categories and missing values, and predictions; 0 classes: a number."""
    import pandas as pd

    x, z = rng.integers(0, 12, n_rows).astype(float), rng.normal(size=n_rows).round(3)
    kind = rng.integers(0, 4, n_rows)
    score = 0.3 * x + z + np.array([0.0, 1.5, -1.0, 0.5])[kind] + rng.normal(size=n_rows)
    x[rng.random(n_rows) < 0.1] = np.nan
    frame = pd.DataFrame({"x": x, "z": z, "kind": pd.Categorical(np.array(["a", "b", "c", "d"])[kind])})
    if n_classes == 0:
        predictions = (score - score.min()) / np.ptp(score)
        return Table.from_frame(frame.assign(y=score), target="y", task="regression"), quantize_predictions(
            predictions[:, None]
        )
    powers = np.exp(np.outer(score - score.mean(), np.arange(n_classes) - (n_classes - 1) / 2))
    predictions = powers / powers.sum(axis=1, keepdims=True)
    names = np.array([f"class {i}" for i in range(n_classes)])[np.arange(n_rows) % n_classes]
    return Table.from_frame(frame.assign(y=names), target="y"), quantize_predictions(predictions)


def nodes_of(shape: Shape) -> Nodes:
    """A tree as arrays in preorder."""
    split: list[int] = []
    right: list[int] = []

    def add(part: Shape) -> None:
        here = len(split)
        split.append(part[0] if part else LEAF)
        right.append(0)
        if part:
            add(part[1])
            right[here] = len(split)
            add(part[2])

    add(shape)
    return Nodes(np.array(split, np.int64), np.array(right, np.int64))


def shape_of(nodes: Nodes, node: int = 0) -> Shape:
    """The tree of arrays in preorder."""
    if nodes.split[node] == LEAF:
        return ()
    right = int(nodes.right[node])
    return int(nodes.split[node]), shape_of(nodes, node + 1), shape_of(nodes, right)


def paths_of(shape: Shape, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The places of all nodes in preorder: 1 to the left, 2 to the right."""
    yield path
    if shape:
        yield from paths_of(shape[1], (*path, 1))
        yield from paths_of(shape[2], (*path, 2))


def below(shape: Shape, path: tuple[int, ...]) -> Shape:
    """The subtree at a place; a leaf where the tree does not reach so far."""
    for side in path:
        if not shape:
            return ()
        shape = shape[side]
    return shape


def replaced(shape: Shape, path: tuple[int, ...], part: Shape) -> Shape:
    """The tree with another subtree at a place."""
    if not path:
        return part
    children = list(shape)
    children[path[0]] = replaced(shape[path[0]], path[1:], part)
    return tuple(children)


def n_leaves_of(shape: Shape) -> int:
    """How many leaves the tree has."""
    return n_leaves_of(shape[1]) + n_leaves_of(shape[2]) if shape else 1
