"""Groups of unlabelled rows, divided by the best questions as far as the limits allow."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray
from holdfast.growth.density.model import add_up_groups
from holdfast.growth.density.search import Question, Search
from holdfast.kernels.growth.density import DensityRows

# Questions in a row that may not pay, in the hope of one that pays for all: the inner of two nested groups is
# reached by two questions, neither of which pays alone, and the first of 32 clusters in a line by four.
LOOK_AHEAD = 3
# Fraction of a group's rows that may be strays, of which its sides know nothing. So a row that neither side
# has seen the like of speaks against a question with log(100), not with its distance in squared deviations.
STRAYS = 0.01


@dataclass(eq=False)
class Group:
    """A node during growth; a leaf as long as it has no sides."""

    depth: int
    idle: int  # questions in a row, up to here, that did not pay
    weight: float  # of the rows of the search
    held: IntArray  # the rows held out
    log_density: FloatArray  # of the rows held out, under the model of this group
    orders: IntArray  # the rows of the search in the order of each column; none once it is divided
    question: Question | None = None
    sides: "tuple[Group, Group] | None" = None
    held_left: BoolArray | None = None  # the rows held out that go left

    @property
    def is_leaf(self) -> bool:
        """True while it is not divided."""
        return self.sides is None


def grow_groups(search: Search, is_held: BoolArray, max_depth: int | None) -> Group:
    """Grow from one group of all rows until the limits are reached."""
    held = np.flatnonzero(is_held).astype(np.int32)
    most_idle = LOOK_AHEAD if len(held) else np.inf  # without rows held out: on to the limits
    root = _group(search, _sorted_rows(search, ~is_held), held, depth=0)
    waiting = [root]
    while waiting:
        group = waiting.pop()
        n_rows = search.data.rows.repeats[group.orders[0]].sum()
        if group.idle <= most_idle and group.depth != max_depth and n_rows >= 2 * search.least:
            group.question = search.best_question(group.orders)
        if group.question is not None:
            goes_left = group.question.answers(search.data.table.columns[group.question.feature])
            sides = []
            for goes_there in (goes_left, ~goes_left):
                orders = group.orders[goes_there[group.orders]].reshape(len(group.orders), -1)
                sides.append(_group(search, orders, group.held[goes_there[group.held]], group.depth + 1))
            group.sides, group.held_left = (sides[0], sides[1]), goes_left[group.held]
            together = join_likelihoods(group, [side.log_density for side in sides])
            gain, error = held_out_gain(search.data.rows, group, together)
            for side in sides:
                side.idle = 0 if gain > error else group.idle + 1
            waiting += group.sides or ()
        group.orders = group.orders[:, :0]
    return root


def _sorted_rows(search: Search, taken: BoolArray) -> IntArray:
    """Sort the rows by each column, missing values last."""
    rows = np.flatnonzero(taken)
    orders = np.empty((len(search.data.ranks), len(rows)), np.int32)
    for feature, ranks in enumerate(search.data.ranks):
        orders[feature] = rows[np.argsort(ranks[rows].view(np.uint32), kind="stable")]
    return orders


def _group(search: Search, orders: IntArray, held: IntArray, depth: int) -> Group:
    rows = search.data.rows
    sums = add_up_groups(rows, orders[0], np.zeros(orders.shape[1], np.int64), 1, full=search.family.full)
    model = search.family.models(sums)[0]
    log_density = model.log_density(rows.numbers[held], rows.codes[held], rounded=True)
    return Group(depth, 0, float(sums.weight[0]), held, log_density, orders)


def list_groups(root: Group) -> Iterator[Group]:
    """List all groups in preorder."""
    waiting = [root]
    while waiting:
        group = waiting.pop()
        yield group
        if group.sides is not None:
            waiting += reversed(group.sides)


# -- rows held out ----------------------------------------------------------------------------------------


def join_likelihoods(group: Group, of_sides: list[FloatArray]) -> FloatArray:
    """Return held-out log likelihoods in a group, given those in its two sides.

    A row also has to be on its side: without the fractions of the sides, dividing a Gaussian at its mean
    would pay for ever, by 0.506 for every row; with them it loses log 2 - 0.506.
    """
    assert group.sides is not None
    assert group.held_left is not None
    parts = np.empty(len(group.held))
    for side, fitted, flags in zip(group.sides, of_sides, (group.held_left, ~group.held_left), strict=True):
        parts[flags] = fitted + np.log(side.weight / group.weight)
    return np.asarray(np.logaddexp(np.log1p(-STRAYS) + parts, np.log(STRAYS) + group.log_density), np.float64)


def held_out_gain(rows: DensityRows, group: Group, together: FloatArray) -> tuple[float, float]:
    """Compute the total gain over the undivided group, and its standard error (infinite for one row)."""
    difference, weight = together - group.log_density, rows.weight[group.held]
    gain, n_rows = float(weight @ difference), len(group.held)
    if n_rows < 2:
        return gain, np.inf
    mean = gain / float(weight.sum())
    return gain, float(np.sqrt(n_rows / (n_rows - 1) * (weight**2 @ (difference - mean) ** 2)))
