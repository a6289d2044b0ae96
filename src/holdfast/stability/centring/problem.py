"""One search as the kernel sees it: the questions, the rows, the references, and memory to work in."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.arrays import FloatArray, IntArray, LongArray, frozen
from holdfast.backends.interruption import call_kernel, stop_flag
from holdfast.distance.settings import DistanceSettings
from holdfast.growth.guide import keep_interactions, make_guide
from holdfast.kernels.centring.assignment import Matching
from holdfast.kernels.centring.distance import NO_BOUND
from holdfast.kernels.centring.fit import SideSums
from holdfast.kernels.centring.problem import Bounds, Grafts, Nodes, Points, Problem, Rows
from holdfast.kernels.centring.search import centre
from holdfast.kernels.centring.state import Candidate, Current, Grafted, Scratch, Work
from holdfast.kernels.centring.step import take_step
from holdfast.kernels.growth.guide import Guide
from holdfast.stability.centring.packing import packed_grafts, packed_points, packed_rows, square_sum
from holdfast.stability.centring.questions import QuestionList
from holdfast.stability.centring.students import UNIT, Lesson
from holdfast.tree.tree import Tree

NOWHERE = Bounds(most_leaves=0, least_rows=np.inf, most_loss=-np.inf, square_sum=0.0, unit=UNIT)


@dataclass(frozen=True, eq=False)
class Found:
    """A tree by its questions, and what is known of it."""

    nodes: Nodes
    n_leaves: int
    distance: float  # mean, to the references
    explained: float  # what its leaves explain of the sum of the teacher's squared answers
    least_rows: float  # in a leaf


@dataclass(frozen=True, eq=False)
class CentreProblem:
    """The questions of some trees, the rows, and the trees that are to be near."""

    questions: QuestionList
    rows: Rows
    points: Points
    grafts: Grafts
    everything: FloatArray  # (rules,) what the rule that allows everything costs
    square_sum: float  # of the teacher's answers, weighted
    most_leaves: int
    held: LongArray  # paths of the nodes that stay as they are, and of all nodes above them
    guide: Guide  # what may be asked where

    @classmethod
    def of(
        cls,
        lesson: Lesson,
        near: Sequence[Tree],
        repeats: IntArray,
        settings: DistanceSettings,
        *,
        more: Sequence[Tree] = (),
        grafts: Sequence[tuple[Tree, int]] | None = None,
        held: Iterable[int] = (),
    ) -> "CentreProblem":
        """The problem of being near to some trees.

        `more` are trees that may be measured, and whose questions may be asked. Subtrees are taken from
        `grafts`, trees with the places of their roots; by default from the trees that are to be near.
        """
        sources, places = zip(*([(tree, 1) for tree in near] if grafts is None else grafts), strict=True)
        trees = list({id(tree): tree for tree in (*near, *more, *sources)}.values())
        questions = QuestionList.of(trees, lesson.table)
        rows = packed_rows(questions.bins(), lesson.answers, lesson.weight, repeats)
        points, everything = packed_points(near, questions, settings)
        return cls(
            questions,
            rows,
            points,
            packed_grafts(sources, questions, places),
            everything,
            square_sum(lesson.answers, lesson.weight),
            max(tree.n_leaves for tree in trees),
            frozen(np.array(sorted(held), np.int64)),
            keep_interactions(make_guide(lesson.lesson, lesson.rules)),
        )

    @property
    def n_nodes(self) -> int:
        """Room for the nodes of a tree."""
        return 2 * self.most_leaves + 1

    def measured(self, tree: Tree) -> Found:
        """What is known of a tree that asks questions of the list."""
        return self.searched(self.questions.nodes_of(tree, self.n_nodes), NOWHERE)

    def searched(self, start: Nodes, bounds: Bounds) -> Found:
        """The tree that the search from a start ends at."""
        return self._moved(centre, start, bounds)

    def stepped(self, start: Nodes, bounds: Bounds) -> Found:
        """The tree one step away that gains most fit per unit of distance; the start if none gains."""
        return self._moved(take_step, start, bounds)

    def _moved(self, kernel: Callable[..., None], start: Nodes, bounds: Bounds) -> Found:
        work = memory_for(self, start)
        # Where no move is allowed, nothing is long.
        n_steps = float(self.points.at.size) * len(self.questions.asked) if bounds.most_leaves else 0.0
        with stop_flag() as stop:
            given = self.questions.packed, self.rows, self.points, self.grafts
            problem = Problem(*given, bounds, self.held, self.guide)
            call_kernel(kernel, problem, work, stop, stop=stop, n_steps=n_steps)
        current = work.current
        n_leaves = int(current.n_leaves[0])
        stats = current.stats[:n_leaves]
        weight = np.maximum(stats[:, 1], 1.0)
        return Found(
            nodes=current.nodes,
            n_leaves=n_leaves,
            distance=float(current.total.sum() / len(current.total)),
            explained=float(((stats[:, 2:] * UNIT) ** 2 / weight[:, None]).sum()),
            least_rows=float(stats[:, 0].min()),
        )


def memory_for(problem: CentreProblem, start: Nodes) -> Work:
    """Memory for a search from a tree."""
    n_nodes, n_leaves, n_rows = problem.n_nodes, problem.most_leaves + 1, len(problem.rows.weight)
    n_coordinates, n_rules = problem.points.at.shape
    n_trees, n_stats = len(problem.points.n_rules), 2 + problem.rows.answer.shape[1]
    width = max(problem.points.rule.shape[1], n_leaves)
    n_questions, n_bins = problem.questions.packed.goes_left.shape

    def whole(*shape: int) -> LongArray:
        return np.zeros(shape, np.int64)

    current = Current(
        nodes=Nodes(start.ask.copy(), start.right.copy()),
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
    scratch = Scratch(
        matrix=np.zeros((width, width)),
        matching=matching,
        sums=SideSums(
            leaf_left=whole(n_rows),
            leaf_right=whole(n_rows),
            totals=np.zeros((n_leaves, n_stats)),
            on_left=np.zeros((n_bins, n_leaves, n_stats)),
            on_right=np.zeros((n_bins, n_leaves, n_stats)),
        ),
        grafted=Grafted(
            is_known=np.zeros(problem.grafts.ask.shape, np.bool_),
            stats=np.zeros((int((problem.grafts.n_leaves * problem.grafts.is_first).sum()), n_stats)),
        ),
        tree_bound=np.zeros(n_trees),
        bound=np.full(n_questions, NO_BOUND),
        least=np.zeros(1),
        is_used=np.zeros(len(problem.questions.packed.n_categories), np.uint8),
    )
    return Work(current, candidate, Nodes(whole(n_nodes), whole(n_nodes)), scratch)
