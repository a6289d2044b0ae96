"""What a search for central trees comes to: trees of several sizes and tolerances amid their references."""

from dataclasses import dataclass, replace

import numpy as np

from holdfast.arrays import FloatArray, LongArray
from holdfast.growth.shrinkage import shrink_tree
from holdfast.stability.centring.search import TeacherFit
from holdfast.stability.collection import Collection
from holdfast.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class CentredTrees:
    """The central tree for each tolerance, the references amid which it lies, and trees of fewer leaves."""

    max_leaf_nodes: int
    tolerances: tuple[float, ...]
    trees: tuple[Tree, ...]
    explained: tuple[float, ...]  # by each of the trees, of the sum of the teacher's squared answers
    fit: TeacherFit  # the search itself holds all rows, and is not kept
    references: tuple[Tree, ...]  # of at most as many leaves
    smaller: tuple["CentredTrees", ...] = ()

    def shrunk(self, strength: float) -> "CentredTrees":
        """The same with leaf values drawn towards the nodes above; the references stay as they are."""
        trees = tuple(shrink_tree(tree, strength) for tree in self.trees)
        return replace(self, trees=trees, smaller=tuple(each.shrunk(strength) for each in self.smaller))

    def within(self, tolerance: float, max_leaf_nodes: int) -> "CentredTrees":
        """The tree of one tolerance, where no tree has more leaves than a smaller size allows."""
        place = self.tolerances.index(tolerance)
        return replace(
            self,
            max_leaf_nodes=max_leaf_nodes,
            tolerances=(tolerance,),
            trees=(self.trees[place],),
            explained=(self.explained[place],),
        )

    @property
    def sizes(self) -> tuple["CentredTrees", ...]:
        """The trees of every size, those of the most leaves first."""
        return (self, *self.smaller)

    @property
    def all_trees(self) -> tuple[Tree, ...]:
        """The trees of every size, one for each tolerance."""
        return tuple(tree for each in self.sizes for tree in each.trees)

    @property
    def teacher_losses(self) -> FloatArray:
        """Of all trees: what they lose, as a fraction, of what the student of the most leaves explains."""
        return np.array([self.fit.loss(explained) for each in self.sizes for explained in each.explained])

    @property
    def student_losses(self) -> FloatArray:
        """Of all trees: the same of the student of as many leaves, which the tolerance bounds."""
        return np.array([each.fit.loss(explained) for each in self.sizes for explained in each.explained])

    @property
    def limits(self) -> LongArray:
        """Of all trees: the most leaves that they may have."""
        return np.repeat(
            [each.max_leaf_nodes for each in self.sizes], [len(each.trees) for each in self.sizes]
        )

    @property
    def candidates(self) -> Collection:
        """All trees, each with what it was looked for with."""
        combinations = tuple(
            {"tolerance": tolerance, "max_leaf_nodes": each.max_leaf_nodes}
            for each in self.sizes
            for tolerance in each.tolerances
        )
        n_trees = len(combinations)
        return Collection(self.all_trees, combinations, np.arange(n_trees), np.zeros(n_trees, np.int64))

    def reference_collection(self, max_depth: int | None) -> Collection:
        """The references, students that had at most this depth."""
        combination = {"max_leaf_nodes": self.max_leaf_nodes, "max_depth": max_depth}
        zeros = np.zeros(len(self.references), np.int64)
        return Collection(self.references, (combination,), zeros, zeros)
