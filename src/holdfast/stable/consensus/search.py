"""Local search for the consensus tree: the nearest tree to the references that fits the teacher.

`ConsensusSearch` searches from several starts; `ConsensusProblem` packs splits, rows and references into the
arrays that the kernel reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, KeyArray, LongArray, freeze
from holdfast.data.schema import Feature
from holdfast.data.table import Table
from holdfast.distance.costs import DistanceSettings, fraction_of_range, value_fractions
from holdfast.distance.packing import freeze_fields
from holdfast.growth.constraints import keep_interactions, make_guide, place_first_splits, read_first_splits
from holdfast.kernels.consensus.costs import (
    NO_BOUND,
    Candidate,
    ConsensusScratch,
    Current,
    GraftSums,
    Matching,
    SearchState,
)
from holdfast.kernels.consensus.costs import UNIT as COORDINATES
from holdfast.kernels.consensus.problem import (
    MOST_PATH,
    NO_PATH,
    Bounds,
    CandidateSplits,
    Grafts,
    Nodes,
    Points,
    Problem,
    SearchRows,
    SideSums,
)
from holdfast.kernels.consensus.search import find_consensus, take_step
from holdfast.kernels.growth.constraints import Constraints
from holdfast.parallel.interruption import call_kernel, stop_flag
from holdfast.parallel.tasks import run_all
from holdfast.stable.consensus.distil import UNIT, DistillationTask
from holdfast.tree.build import Nodes as NodeParts
from holdfast.tree.build import build_preorder
from holdfast.tree.stats import add_to_ancestors
from holdfast.tree.tree import LEAF, Tree

STARTS = 4  # the student, and the references of the lowest mean distance
LEAST_SHARE = 0.7  # of the rows in a leaf of a student: those of a consensus tree may have fewer


class TeacherFit(NamedTuple):
    """What student and mean explain of the teacher's squared predictions: the scale of losses."""

    by_student: float
    by_mean: float  # a tree of a single leaf

    @property
    def gain(self) -> float:
        """What the student explains of the teacher's variance."""
        return self.by_student - self.by_mean

    def loss(self, explained: float) -> float:
        """The fraction of the gain that a tree loses which explains `explained`."""
        return (self.by_student - explained) / self.gain if self.gain > 0 else 0.0


@dataclass(frozen=True, eq=False)
class ConsensusSearch:
    """The search for a consensus tree, starting from a student and from the references next to it."""

    problem: ConsensusProblem
    min_rows: float  # in a leaf
    student: SearchResult
    references: tuple[SearchResult, ...]
    first_splits: tuple[tuple[str, float], ...] = ()  # features and thresholds that stay as they are

    @classmethod
    def of(
        cls,
        task: DistillationTask,
        student: Tree,
        references: Sequence[Tree],
        settings: DistanceSettings,
    ) -> ConsensusSearch:
        """The search among the splits of the student and the references."""
        given = task.rules.first_splits
        splits = [] if given is None else read_first_splits(task.table.schema, given)
        fixed_paths = place_first_splits(splits).values() if splits else ()
        problem = ConsensusProblem.of(task, references, settings, more=[student], fixed_paths=fixed_paths)
        min_rows = LEAST_SHARE * task.rules.min_samples_leaf / task.n_copies
        first, *others = [problem.measure(tree) for tree in (student, *references)]
        first_splits = tuple((split.feature.name, split.threshold) for split in splits)
        return cls(problem, min_rows, first, tuple(others), first_splits)

    def starts(self, tolerance: float, n_starts: int = STARTS) -> list[SearchResult]:
        """The student, and the nearest references within the tolerance."""
        bounds = self.bounds(tolerance)
        within = [
            each
            for each in self.references
            if bounds.square_sum - each.explained <= bounds.most_loss and each.min_rows >= bounds.least_rows
        ]
        return [self.student, *sorted(within, key=lambda each: each.distance)[: n_starts - 1]]

    def find_nearest(
        self, tolerance: float, starts: Sequence[SearchResult], n_jobs: int | None = None
    ) -> SearchResult:
        """Find the nearest tree to the references within the tolerance, by a search from each start.

        The tolerance is a fraction of what the student explains of the teacher's variance. Ties in
        distance go to the tree that explains more, then to the earlier start.
        """
        search = partial(ConsensusProblem.search, self.problem, bounds=self.bounds(tolerance))
        results = run_all(search, starts, n_jobs, cache_name="Consensus trees")
        return min(results, key=lambda each: (each.distance, -each.explained))

    @cached_property
    def fit(self) -> TeacherFit:
        """What the student explains of the teacher's predictions, and what their mean explains."""
        sums = self.problem.rows.target.sum(axis=0)
        by_mean = float((sums**2).sum() * UNIT**2 / self.problem.rows.weight.sum())
        return TeacherFit(self.student.explained, by_mean)

    def bounds(self, tolerance: float) -> Bounds:
        """The bounds of trees that may lose this fraction of what the student explains."""
        square_sum = self.problem.square_sum
        allowed = tolerance * max(self.fit.gain, 0.0)
        # Rounding must not exclude the student itself.
        most_loss = square_sum - self.student.explained + allowed + 1e-12 * square_sum
        # Of one type each, or the compiler makes a second copy of the kernel.
        return Bounds(self.problem.max_leaves, float(self.min_rows), most_loss, square_sum, UNIT)


# -- One search as the kernel sees it ------------------------------------------------------------------------

NO_MOVES = Bounds(most_leaves=0, least_rows=np.inf, most_loss=-np.inf, square_sum=0.0, unit=UNIT)


@dataclass(frozen=True, eq=False)
class SearchResult:
    """A tree as nodes of numbered splits, with its distance and fit."""

    nodes: Nodes
    n_leaves: int
    distance: float  # mean, to the references
    explained: float  # what its leaves explain of the sum of the teacher's squared predictions
    min_rows: float  # in a leaf


@dataclass(frozen=True, eq=False)
class ConsensusProblem:
    """The splits of some trees, the rows, and the trees that distances are measured to."""

    splits: SplitList
    rows: SearchRows
    points: Points
    grafts: Grafts
    everything: FloatArray  # (rules,) the cost of the rule without conditions
    square_sum: float  # of the teacher's predictions, weighted
    max_leaves: int
    fixed_paths: LongArray  # of the nodes that stay as they are, and of all nodes above them
    guide: Constraints  # which splits are allowed where

    @classmethod
    def of(
        cls,
        task: DistillationTask,
        references: Sequence[Tree],
        settings: DistanceSettings,
        *,
        more: Sequence[Tree] = (),
        grafts: Sequence[tuple[Tree, int]] | None = None,
        fixed_paths: Iterable[int] = (),
    ) -> ConsensusProblem:
        """The problem of finding a tree near to some references.

        `more` are trees that may be measured, and whose splits may be used. Subtrees are taken from `grafts`,
        trees with the paths of their roots; by default from the references.
        """
        sources, paths = zip(*([(tree, 1) for tree in references] if grafts is None else grafts), strict=True)
        trees = list({id(tree): tree for tree in (*references, *more, *sources)}.values())
        splits = SplitList.of(trees, task.table)
        points, everything = pack_points(references, splits, settings)
        return cls(
            splits,
            pack_rows(splits.bins(), task.fitted_predictions, task.weight, task.repeats),
            points,
            pack_grafts(sources, splits, paths),
            everything,
            sum_squares(task.fitted_predictions, task.weight),
            max(tree.n_leaves for tree in trees),
            freeze(np.array(sorted(fixed_paths), np.int64)),
            keep_interactions(make_guide(task.teacher_table, task.rules)),
        )

    @property
    def n_nodes(self) -> int:
        """Room for the nodes of a tree."""
        return 2 * self.max_leaves + 1

    def measure(self, tree: Tree) -> SearchResult:
        """Measure distance and fit of a tree whose splits are in the list."""
        return self._run(find_consensus, self.splits.pack_tree(tree, self.n_nodes), NO_MOVES)

    def search(self, start: SearchResult, bounds: Bounds) -> SearchResult:
        """Move from a start to the nearest tree, move by move, as long as a move shortens the distance."""
        return self._run(find_consensus, start.nodes, bounds)

    def step(self, start: Nodes, bounds: Bounds) -> SearchResult:
        """Make the one move that gains most fit per unit of distance; the start if none gains."""
        return self._run(take_step, start, bounds)

    def _run(self, kernel: Callable[..., None], start: Nodes, bounds: Bounds) -> SearchResult:
        work = make_work(self, start)
        # Without moves the call is short, and shows no progress.
        n_steps = float(self.points.at.size) * len(self.splits.keys) if bounds.most_leaves else 0.0
        with stop_flag() as stop:
            arrays = self.splits.packed, self.rows, self.points, self.grafts
            problem = Problem(*arrays, bounds, self.fixed_paths, self.guide)
            call_kernel(kernel, problem, work, stop, stop=stop, n_steps=n_steps)
        current = work.current
        n_leaves = int(current.n_leaves[0])
        stats = current.stats[:n_leaves]
        weight = np.maximum(stats[:, 1], 1.0)
        return SearchResult(
            nodes=current.nodes,
            n_leaves=n_leaves,
            distance=float(current.total.sum() / len(current.total)),
            explained=float(((stats[:, 2:] * UNIT) ** 2 / weight[:, None]).sum()),
            min_rows=float(stats[:, 0].min()),
        )


def make_work(problem: ConsensusProblem, start: Nodes) -> SearchState:
    """Allocate the memory for a search from a tree."""
    n_nodes, n_leaves, n_rows = problem.n_nodes, problem.max_leaves + 1, len(problem.rows.weight)
    n_coordinates, n_rules = problem.points.at.shape
    n_trees, n_stats = len(problem.points.n_rules), 2 + problem.rows.target.shape[1]
    width = max(problem.points.rule.shape[1], n_leaves)
    n_splits, n_bins = problem.splits.packed.goes_left.shape

    def whole(*shape: int) -> LongArray:
        return np.zeros(shape, np.int64)

    current = Current(
        nodes=Nodes(start.split.copy(), start.right.copy()),
        n_leaves=whole(1),
        path=whole(n_nodes),
        first_leaf=whole(n_nodes),
        end_leaf=whole(n_nodes),
        order=whole(n_rows),
        row_start=whole(n_leaves + 1),
        stats=np.zeros((n_leaves, n_stats)),
        boxes=np.zeros((n_nodes, n_coordinates)),
        node_costs=np.zeros((n_nodes, n_rules)),
        costs=np.zeros((n_leaves, n_rules)),
        weights=np.zeros(n_leaves),
        u=np.zeros((n_trees, width)),
        v=np.zeros((n_trees, width)),
        column=whole(n_trees, width),
        total=np.zeros(n_trees),
        none_price=np.zeros(n_trees),
    )
    current.boxes[0], current.node_costs[0] = problem.points.whole, problem.everything
    candidate = Candidate(
        nodes=Nodes(whole(n_nodes), whole(n_nodes)),
        leaf_place=whole(n_nodes),
        stats=np.zeros((n_leaves, n_stats)),
        boxes=np.zeros((n_nodes, n_coordinates)),
        node_costs=np.zeros((n_nodes, n_rules)),
        costs=np.zeros((n_leaves, n_rules)),
        weights=np.zeros(n_leaves),
    )
    matching = Matching(
        u=np.zeros(width),
        v=np.zeros(width),
        column=whole(width),
        owner=whole(width),
        distance=np.zeros(width),
        via=whole(width),
        done=np.zeros(width, np.bool_),
    )
    scratch = ConsensusScratch(
        matrix=np.zeros((width, width)),
        matching=matching,
        sums=SideSums(
            leaf_left=whole(n_rows),
            leaf_right=whole(n_rows),
            totals=np.zeros((n_leaves, n_stats)),
            on_left=np.zeros((n_bins, n_leaves, n_stats)),
            on_right=np.zeros((n_bins, n_leaves, n_stats)),
        ),
        graft_sums=GraftSums(
            is_known=np.zeros(problem.grafts.split.shape, np.bool_),
            stats=np.zeros((int((problem.grafts.n_leaves * problem.grafts.is_first).sum()), n_stats)),
        ),
        tree_bound=np.zeros(n_trees),
        bound=np.full(n_splits, NO_BOUND),
        least=np.zeros(1),
        is_used=np.zeros(len(problem.splits.packed.n_categories), np.uint8),
    )
    return SearchState(current, candidate, Nodes(whole(n_nodes), whole(n_nodes)), scratch)


# -- Rows and reference trees as the arrays that the search reads --------------------------------------------

MOST_WEIGHT = 2.0**38  # of all rows: sums of their predictions in units have no more than 53 bits


def pack_rows(bins: IntArray, predictions: FloatArray, weight: FloatArray, repeats: IntArray) -> SearchRows:
    """Pack the rows for the kernel: those that no split separates become one.

    Weights become whole numbers, so that no sum depends on the order of the rows.
    """
    whole = round_weights(weight)
    cell = _cells(bins)
    n_cells, first = int(cell.max()) + 1, np.unique(cell, return_index=True)[1]
    units = np.rint(predictions / UNIT) * whole[:, None]
    return freeze_fields(
        SearchRows(
            bin=np.ascontiguousarray(bins[:, first], np.int64),
            target=np.stack([np.bincount(cell, each, n_cells) for each in units.T], axis=1),
            weight=np.bincount(cell, whole, n_cells).astype(np.float64),
            repeats=np.bincount(cell, repeats, n_cells).astype(np.float64),
        )
    )


def sum_squares(predictions: FloatArray, weight: FloatArray) -> float:
    """Sum the weighted squares of the teacher's predictions, which a perfect tree would explain."""
    units = np.rint(predictions / UNIT)
    return math.fsum((units**2).sum(axis=1) * round_weights(weight)) * UNIT**2


def node_sums(
    tree: Tree, table: Table, predictions: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sum the weights of the rows at every node, and the teacher's predictions for them."""
    whole = round_weights(weight)
    units = np.rint(predictions / UNIT) * whole[:, None]
    sums = np.zeros((tree.n_nodes, 1 + units.shape[1]))
    np.add.at(sums, tree.apply(table), np.column_stack([whole, units]))
    add_to_ancestors(tree, sums)
    return sums[:, 0], sums[:, 1:] * UNIT


def round_weights(weight: FloatArray) -> FloatArray:
    """Round weights to whole numbers, in proportion to the given ones."""
    if (weight == np.rint(weight)).all() and weight.sum() < MOST_WEIGHT:
        return weight
    # Not by the sum: it would depend on the order of the rows.
    return np.asarray(np.rint(weight / weight.max() * np.floor(MOST_WEIGHT / len(weight))), np.float64)


def _cells(bins: IntArray) -> LongArray:
    """Number the rows so that rows in the same bins of all features have one number."""
    cell = np.zeros(bins.shape[1], np.int64)
    for bin_of_row in bins:
        if bin_of_row.min() < bin_of_row.max():
            combined = cell * (int(bin_of_row.max()) + 1) + bin_of_row
            cell = np.unique(combined, return_inverse=True)[1].astype(np.int64)
    return cell


def make_whole_point(packed: CandidateSplits, n_outcomes: int) -> FloatArray:
    """The point of the rule without conditions, without an outcome."""
    ends = [np.full(n, exact(1 / n)) if n else np.array([0.0, 0.5]) for n in packed.n_categories.tolist()]
    return np.concatenate([*ends, np.zeros(n_outcomes)])


def pack_points(
    trees: Sequence[Tree], splits: SplitList, settings: DistanceSettings
) -> tuple[Points, FloatArray]:
    """Pack the rules of the reference trees as points, and the distance of the whole space to each rule."""
    target = splits.table.schema.target
    packed, n_outcomes = splits.packed, max(len(target.classes), 1)
    whole = make_whole_point(packed, n_outcomes)
    width = max(tree.n_leaves for tree in trees)
    at = np.zeros((len(trees), width, len(whole)))
    for r, tree in enumerate(trees):
        nodes = splits.pack_tree(tree, tree.n_nodes)
        leaves = np.flatnonzero(tree.feature == LEAF)
        at[r, : len(leaves)] = _boxes(nodes, tree.n_nodes, packed, whole)[leaves]
        at[r, : len(leaves), -n_outcomes:] = _outcomes(tree, leaves, settings)
    rules, number = np.unique(at.reshape(-1, len(whole)), axis=0, return_inverse=True)
    rules = np.ascontiguousarray(rules.T)
    is_label, is_metric = settings.outcome == "label", settings.matching == "metric"
    # Of two classes, rows hold the probability of the second alone; a label needs it in units.
    scale = UNIT if is_label else UNIT * _outcome_scale(settings, len(target.classes))
    points = Points(
        at=rules,
        allowed=_allowed(rules, packed),
        weight=_weights(rules, packed, whole, settings),
        rule=number.reshape(len(trees), width).astype(np.int64),
        n_rules=np.array([tree.n_leaves for tree in trees], np.int64),
        whole=whole,
        is_metric=is_metric,
        is_label=is_label,
        outcome_weight=exact(settings.label_weight),
        value_scale=scale,
    )
    return freeze_fields(points), np.abs(whole[:, None] - rules).sum(axis=0)


def pack_grafts(trees: Sequence[Tree], splits: SplitList, paths: Sequence[int] | None = None) -> Grafts:
    """Pack the trees that subtrees are taken from.

    `paths` are those of their roots in the tree that takes them; None: they are whole trees.
    """
    shape = (len(trees), max(tree.n_nodes for tree in trees))
    grafts = Grafts(
        split=np.full(shape, LEAF, np.int64),
        right=np.zeros(shape, np.int64),
        path=np.zeros(shape, np.int64),
        n_leaves=np.zeros(shape, np.int64),
        is_first=np.zeros(shape, np.bool_),
        place=np.zeros(shape, np.int64),
    )
    seen: set[tuple[int, object]] = set()
    for r, tree in enumerate(trees):
        grafts.path[r, 0] = 1 if paths is None else paths[r]
        _fill_grafts(grafts, r, splits.pack_tree(tree, shape[1]), tree, seen)
    used = (grafts.n_leaves * grafts.is_first).ravel()
    grafts.place[:] = (np.cumsum(used) - used).reshape(shape)
    return freeze_fields(grafts)


def _allowed(at: FloatArray, packed: CandidateSplits) -> KeyArray:
    """Pack the categories that each rule allows as bits."""
    words = []
    for f, n in enumerate(packed.n_categories.tolist()):
        flags = at[packed.coordinate[f] : packed.coordinate[f] + n] > 0.0
        for begin in range(0, n, 64):
            bit = np.uint64(1) << np.arange(min(64, n - begin), dtype=np.uint64)
            words.append((flags[begin : begin + 64] * bit[:, None]).sum(axis=0, dtype=np.uint64))
    return np.stack(words) if words else np.zeros((0, at.shape[1]), np.uint64)


def _outcome_scale(settings: DistanceSettings, n_classes: int) -> float:
    return settings.label_weight / 2 if n_classes > 2 else settings.label_weight


def _outcomes(tree: Tree, leaves: LongArray, settings: DistanceSettings) -> FloatArray:
    """The coordinates of the predictions of the leaves."""
    target = tree.schema.target
    if settings.outcome == "label":
        # A tie goes to the first class, as in the search, which does not look at the nodes above.
        label = tree.value[leaves].argmax(axis=1)
        flags: BoolArray = label[:, None] == np.arange(len(target.classes))
        return np.where(flags, exact(settings.label_weight / 2), 0.0)
    value = tree.value[leaves]
    fitted = value_fractions(value, target)
    fitted = fitted[:, -1:] if len(target.classes) <= 2 else fitted
    scaled = np.rint(fitted * _outcome_scale(settings, len(target.classes)) * COORDINATES) / COORDINATES
    padded = np.zeros((len(leaves), max(len(target.classes), 1)))
    padded[:, : scaled.shape[1]] = scaled
    return padded


def _boxes(nodes: Nodes, n_nodes: int, packed: CandidateSplits, whole: FloatArray) -> FloatArray:
    """Compute the point of every node, without an outcome."""
    boxes = np.zeros((n_nodes, len(whole)))
    boxes[0] = whole
    for node in range(n_nodes):
        q = nodes.split[node]
        if q == LEAF:
            continue
        f = packed.feature[q]
        d, n = packed.coordinate[f], packed.n_categories[f]
        for child, is_left in ((node + 1, True), (nodes.right[node], False)):
            boxes[child] = boxes[node]
            if n:
                boxes[child, d : d + n][packed.goes_left[q, :n] != is_left] = 0.0
            else:
                boxes[child, d + is_left] = np.clip(packed.cut[q], boxes[node, d], boxes[node, d + 1])
    return boxes


def _weights(
    rules: FloatArray, packed: CandidateSplits, whole: FloatArray, settings: DistanceSettings
) -> FloatArray:
    """Compute the cost of leaving each rule unmatched."""
    boxes, everything = rules[: packed.coordinate[-1]], whole[: packed.coordinate[-1], None]
    if settings.matching == "metric":
        return np.asarray(np.abs(boxes - everything).sum(axis=0) + exact(settings.label_weight) / 2)
    total = np.zeros(rules.shape[1])
    for f, n in enumerate(packed.n_categories.tolist()):
        own = slice(packed.coordinate[f], packed.coordinate[f + 1])
        is_restricted = (boxes[own] != everything[own]).any(axis=0)
        size = boxes[own].sum(axis=0) if n else 2 * (boxes[own][1] - boxes[own][0])
        total += np.where(is_restricted, size, 0.0)
    return total


def _fill_grafts(grafts: Grafts, r: int, nodes: Nodes, tree: Tree, seen: set[tuple[int, object]]) -> None:
    """Enter a tree whose root has its path; `seen` holds the subtrees of earlier trees, with their paths."""
    n_nodes = tree.n_nodes
    path, n_leaves = grafts.path[r], grafts.n_leaves[r]
    grafts.split[r], grafts.right[r] = nodes.split, nodes.right
    for node in np.flatnonzero(nodes.split[:n_nodes] != LEAF):
        if NO_PATH < path[node] <= MOST_PATH:
            path[node + 1], path[nodes.right[node]] = 2 * path[node], 2 * path[node] + 1
    subtree: dict[int, object] = {}
    for place in range(n_nodes - 1, -1, -1):
        if nodes.split[place] == LEAF:
            n_leaves[place], subtree[place] = 1, ()
            continue
        right = int(nodes.right[place])
        n_leaves[place] = n_leaves[place + 1] + n_leaves[right]
        subtree[place] = (int(nodes.split[place]), subtree[place + 1], subtree[right])
        key = (int(path[place]), subtree[place])
        grafts.is_first[r, place] = key not in seen
        seen.add(key)


# -- The splits of some trees, numbered in the order that breaks ties ----------------------------------------


class SplitKey(NamedTuple):
    """A split; the order of keys breaks ties: by the name of the feature, then by the threshold."""

    rank: int  # of the feature, in the order of names
    threshold: float  # 0 for a set
    categories: tuple[bool, ...]  # True for those that go left; empty for a range
    missing_left: bool


def make_split_key(tree: Tree, node: int, rank: LongArray) -> SplitKey:
    """The split of an inner node."""
    feature = int(tree.feature[node])
    if tree.set_start[node] >= 0:
        flags = tuple(map(bool, tree.left_categories(node)))
        return SplitKey(int(rank[feature]), 0.0, flags, bool(tree.missing_left[node]))
    return SplitKey(int(rank[feature]), float(tree.threshold[node]), (), bool(tree.missing_left[node]))


def rank_features(table: Table) -> LongArray:
    """Rank the features in the order of their names."""
    rank = np.empty(table.n_features, np.int64)
    rank[list(table.schema.name_order)] = np.arange(table.n_features)
    return rank


@dataclass(frozen=True, eq=False)
class SplitList:
    """All splits of some trees, each once, and the table whose rows they divide."""

    table: Table
    rank: LongArray  # of every feature
    keys: list[SplitKey]
    number: dict[SplitKey, int]
    packed: CandidateSplits
    cuts: list[FloatArray]  # of every feature, in the order of names

    @classmethod
    def of(cls, trees: Sequence[Tree], table: Table) -> SplitList:
        """Collect the splits of the trees."""
        rank = rank_features(table)
        keys = sorted(
            {
                make_split_key(tree, int(node), rank)
                for tree in trees
                for node in np.flatnonzero(tree.feature != LEAF)
            }
        )
        cuts = [np.unique([each.threshold for each in keys if each.rank == i]) for i in range(len(rank))]
        packed = _pack_splits(keys, cuts, table)
        return cls(table, rank, keys, {each: i for i, each in enumerate(keys)}, packed, cuts)

    def bins(self) -> IntArray:
        """The bin of every row for each feature, (features, rows), in the order of names."""
        columns = [self.table.columns[i] for i in self.table.schema.name_order]
        packed = self.packed
        each = zip(columns, self.cuts, packed.n_bins, packed.n_categories, strict=True)
        return np.stack([_bins(*feature) for feature in each])

    def pack_tree(self, tree: Tree, n_nodes: int) -> Nodes:
        """The tree by the numbers of its splits, with room for `n_nodes` nodes."""
        split, right = np.full(n_nodes, LEAF, np.int64), np.zeros(n_nodes, np.int64)
        for node in np.flatnonzero(tree.feature != LEAF):
            split[node] = self.number[make_split_key(tree, int(node), self.rank)]
            right[node] = tree.right[node]
        return Nodes(split, right)

    def build_tree(self, nodes: Nodes, n_leaves: int) -> Tree:
        """Build the tree of the nodes, without values, on the schema of the table."""
        n_nodes, n_values = 2 * n_leaves - 1, max(len(self.table.schema.target.classes), 1)
        order = self.table.schema.name_order
        feature, threshold = np.full(n_nodes, LEAF, np.int32), np.full(n_nodes, np.nan)
        left, right = np.full(n_nodes, -1, np.int32), np.full(n_nodes, -1, np.int32)
        missing_left, sets = np.zeros(n_nodes, np.bool_), {}
        for node in range(n_nodes):
            if nodes.split[node] == LEAF:
                continue
            key = self.keys[nodes.split[node]]
            feature[node], missing_left[node] = order[key.rank], key.missing_left
            left[node], right[node] = node + 1, nodes.right[node]
            if key.categories:
                sets[node] = np.array(key.categories)
            else:
                threshold[node] = key.threshold
        size = np.ones(n_nodes)  # as if every leaf had one row
        for node in range(n_nodes - 1, -1, -1):
            if nodes.split[node] != LEAF:
                size[node] = size[node + 1] + size[nodes.right[node]]
        value, impurity = np.full((n_nodes, n_values), 1.0 / n_values), np.zeros(n_nodes)
        parts = NodeParts(feature, threshold, left, right, missing_left, value, size, size, impurity, sets)
        return build_preorder(parts, self.table.schema)


def _pack_splits(keys: Sequence[SplitKey], cuts: Sequence[FloatArray], table: Table) -> CandidateSplits:
    """Pack the splits for the kernel, the features in the order of names."""
    features = [table.schema.features[i] for i in table.schema.name_order]
    n_categories = np.array([len(each.categories) if each.is_subset else 0 for each in features], np.int64)
    rank = np.array([each.rank for each in keys], np.int64)
    n_bins = np.array([n if n else len(cut) + 1 for n, cut in zip(n_categories, cuts, strict=True)], np.int64)
    goes_left = np.zeros((len(keys), int(n_bins.max()) + 1), np.bool_)
    last_bin, cut_at = np.full(len(keys), -1, np.int64), np.zeros(len(keys))
    for i, each in enumerate(keys):
        f = each.rank
        goes_left[i, n_bins[f]] = each.missing_left
        if n_categories[f]:
            goes_left[i, : n_categories[f]] = each.categories
        else:
            last_bin[i] = np.searchsorted(cuts[f], each.threshold)
            goes_left[i, : last_bin[i] + 1] = True
            cut_at[i] = _end(features[f], each.threshold)
    widths = np.where(n_categories > 0, n_categories, 2)
    first = np.searchsorted(rank, np.arange(len(features) + 1)).astype(np.int64)
    coordinate = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    word = np.concatenate([[0], np.cumsum(-(-n_categories // 64))[:-1]]).astype(np.int64)
    packed = CandidateSplits(rank, goes_left, last_bin, cut_at, first, coordinate, n_categories, n_bins, word)
    return freeze_fields(packed)


def _bins(column: FloatArray, cuts: FloatArray, n_bins: int, n_categories: int) -> IntArray:
    """The bin of every row: its category, or the number of cuts below; the last one where it is missing.

    All rows are in the first bin of a feature without splits.
    """
    if not len(cuts):
        return np.zeros(len(column), np.int32)
    missing = np.isnan(column)
    known = np.where(missing, 0.0, column)
    numbers = known.astype(np.int32) if n_categories else np.searchsorted(cuts, known, side="left")
    return np.where(missing, n_bins, numbers).astype(np.int32)


def _end(feature: Feature, value: float) -> float:
    """The end of a range as a coordinate: half of its fraction of the range."""
    if not feature.low < feature.high:
        return 0.0
    inside = min(max(value, feature.low), feature.high)
    return exact(fraction_of_range(inside, feature.low, feature.low, feature.high) / 2)


def exact(value: float) -> float:
    """The nearest coordinate, a multiple of a power of two, so that sums are not rounded."""
    return float(np.rint(value * COORDINATES) / COORDINATES)
