"""Leaf values refitted to other rows, and honest leaves: values from rows that did not choose the splits."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, freeze, scale_back, sum_rows
from holdfast._random import Branch
from holdfast.data.folds import assign_strata, draw_positions, select_below
from holdfast.data.row_keys import group_copies, unit_keys
from holdfast.data.row_order import canonicalize_rows
from holdfast.data.table import Table
from holdfast.errors import DataError
from holdfast.growth.rules import Criterion, GrowthRules, class_impurity
from holdfast.growth.sample import FixedPointSample, fixed_point_sample
from holdfast.kernels.growth import nodes as kernels
from holdfast.kernels.growth.leaf_values import number_values
from holdfast.kernels.quantile import Pinball, quantile_values
from holdfast.parallel.tasks import LEAST_SHARED, check_jobs, run_all
from holdfast.tree.monotone import enforce_monotonicity, set_losses
from holdfast.tree.stats import add_to_ancestors, set_class_counts
from holdfast.tree.tree import LEAF, Tree


def refit_leaf_values(tree: Tree, table: Table, rules: GrowthRules) -> Tree:
    """Refit values, counts and impurities of all nodes to the rows of the table.

    The splits stay. A node that no row reaches keeps its value and has weight 0. The rules hold the criterion
    and the class weights.

    >>> from holdfast import CART, grow
    >>> early = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> later = Table.from_arrays([[20.0], [30.0], [55.0], [70.0]], ["no", "yes", "yes", "yes"])
    >>> refit_leaf_values(grow(early), later, CART).value[1]
    array([0.5, 0.5])
    """
    return refit_all_leaf_values([tree], table, [fixed_point_sample(table, rules)])[0]


def refit_all_leaf_values(
    trees: Sequence[Tree],
    table: Table,
    samples: Sequence[FixedPointSample | None],
    *,
    rows: BoolArray | None = None,
    n_jobs: int | None = None,
) -> list[Tree]:
    """Refit several trees to the rows of the table, or to flagged rows of each.

    Each has a sample of the table, with the criterion and the weights of the rows; a tree with None stays as
    it is.
    """
    check_jobs(n_jobs)
    distinct = {id(sample): sample for sample in samples}
    place = {own: number for number, own in enumerate(distinct)}  # only trees are sent with each task
    tasks = [(tree, place[id(sample)]) for tree, sample in zip(trees, samples, strict=True)]
    taken = np.ones(table.n_rows, np.bool_) if rows is None else rows
    task = partial(_refit, table, taken, tuple(distinct.values()))
    return run_all(task, tasks, n_jobs if table.n_rows >= LEAST_SHARED else 1)


def _refit(
    table: Table, taken: BoolArray, samples: Sequence[FixedPointSample | None], task: tuple[Tree, int]
) -> Tree:
    tree, fixed = task[0], samples[task[1]]
    if fixed is None:
        return tree
    return refit_values(tree, table, fixed.value_sample, (fixed.repeats * taken).astype(np.int32))


# -- Values of nodes -----------------------------------------------------------------------------------------

_NO_ROWS, _NO_FIELDS = np.empty(0, np.int32), np.empty((0, kernels.N_FIELDS), np.int64)


def compute_node_values(
    fixed: FixedPointSample, counts: IntArray, rows: IntArray, fields: LongArray, total: LongArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute value, weight and impurity of every node from class statistics or from the rows."""
    if fixed.n_classes:
        of_class = total[:, : fixed.n_classes].astype(np.float64)
        weight = sum_rows(of_class)
        value = of_class / np.where(weight > 0, weight, 1.0)[:, None]
        weight = np.ldexp(weight * fixed.weight_unit, fixed.weight_exponent)
        return value, weight, class_impurity(fixed.criterion, value)
    weight, value, impurity = np.zeros((3, len(fields)))
    if fixed.criterion.quantile is None:
        number_values(
            fields,
            rows,
            fixed.target,
            freeze(fixed.importance),
            freeze(counts),
            fixed.criterion.formula,
            weight,
            value,
            impurity,
        )
    else:
        ordered = _sort_by_target(rows, fields, fixed.target)
        own = freeze(fixed.importance * counts)
        quantile_values(
            fields, ordered, fixed.target, own, quantile_costs(fixed.criterion), weight, value, impurity
        )
    # The square of the target may be too large for a float.
    impurity = scale_back(impurity, fixed.exponent * fixed.criterion.target_power)
    weight = np.ldexp(weight, fixed.weight_exponent)
    return np.ldexp(value, fixed.exponent)[:, None], weight, impurity


def quantile_costs(criterion: Criterion) -> Pinball:
    """Return the quantile of the criterion and the costs of targets on either side of it."""
    assert criterion.quantile is not None
    return Pinball(criterion.quantile, *criterion.costs)


def _sort_by_target(rows: IntArray, fields: LongArray, target: FloatArray) -> IntArray:
    """Sort the rows of each leaf by target."""
    leaves = fields[fields[:, kernels.FEATURE] < 0]
    leaves = leaves[np.argsort(leaves[:, kernels.START], kind="stable")]
    leaf = np.repeat(np.arange(len(leaves)), leaves[:, kernels.END] - leaves[:, kernels.START])
    return rows[np.lexsort((target[rows], leaf))]


def set_decisions(tree: Tree, table: Table, fixed: FixedPointSample, counts: IntArray) -> Tree:
    """Make the tree predict by the losses of the sample."""
    if fixed.unaltered is not None:
        tree = refit_values(tree, table, fixed.unaltered, counts)
    return tree if fixed.losses is None else set_losses(tree, fixed.losses)


def refit_values(tree: Tree, table: Table, fixed: FixedPointSample, counts: IntArray) -> Tree:
    """Refit values, counts and impurities to the rows, with these row counts.

    A node that no row reaches keeps its value and has weight 0.
    """
    leaves = tree.apply(table)
    total = _sum_at_leaves(tree, fixed, counts, leaves)
    add_to_ancestors(tree, total)
    rows, fields = _NO_ROWS, _NO_FIELDS
    if not fixed.n_classes:
        rows = np.flatnonzero(counts).astype(np.int32)
        rows = rows[np.argsort(leaves[rows], kind="stable")]
        fields = _fields(tree, np.bincount(leaves[rows], minlength=tree.n_nodes))
    value, weight, impurity = compute_node_values(fixed, counts, rows, fields, total)
    is_reached = weight > 0
    filled = tree.replace(
        value=np.where(is_reached[:, None], value, tree.value),
        count=total[:, -1].astype(np.float64),
        weight=weight,
        impurity=np.where(is_reached, impurity, tree.impurity),
        criterion=fixed.criterion.name,
        given_outcome=None,  # ties of the new values go by the nodes above
        loss_matrix=tree.loss_matrix if fixed.losses is None else fixed.losses,
        observed=None,
        effective=None,
        deviation=None,
        rows_mean=None,
        not_recorded=None,
        seen=None,
        teacher_mean=None,
        curves=None,
    )
    return enforce_monotonicity(_set_counts(filled, fixed, counts, leaves))


def set_observed(tree: Tree, table: Table, fixed: FixedPointSample) -> Tree:
    """Set the class counts of the nodes where weights hide them."""
    if fixed.weight is None or not fixed.n_classes:
        return tree
    return _set_counts(tree, fixed, fixed.repeats, tree.apply(table))


def _set_counts(tree: Tree, fixed: FixedPointSample, counts: IntArray, leaves: IntArray) -> Tree:
    if fixed.weight is None or not fixed.n_classes:  # they follow from the values
        return tree
    return set_class_counts(tree, count_rows_by_class(tree, leaves, fixed.label, counts, fixed.n_classes))


def count_rows_by_class(
    tree: Tree, leaves: IntArray, label: LongArray, counts: IntArray, n_classes: int
) -> FloatArray:
    """Count rows of each class at every node from their leaves and classes."""
    cells = leaves * np.int64(n_classes) + label
    rows = np.bincount(cells, counts, tree.n_nodes * n_classes).astype(np.float64)
    rows = rows.reshape(tree.n_nodes, n_classes)
    add_to_ancestors(tree, rows)
    return rows


def _sum_at_leaves(tree: Tree, fixed: FixedPointSample, counts: IntArray, leaves: IntArray) -> LongArray:
    """Add up class weights and row numbers of each leaf."""
    n_columns = fixed.n_classes + 1
    total = np.zeros((tree.n_nodes, n_columns), np.int64)
    if fixed.weight is not None and fixed.n_classes:
        np.add.at(total, (leaves, fixed.label), counts * fixed.weight)
    elif fixed.n_classes:
        # Sums of counts are exact as floats, and this is ten times as fast.
        cells = leaves * np.int64(n_columns) + fixed.label
        total[:] = np.bincount(cells, counts, tree.n_nodes * n_columns).reshape(total.shape)
    total[:, -1] = np.bincount(leaves, counts, tree.n_nodes)
    return total


def _fields(tree: Tree, rows_at: LongArray) -> LongArray:
    """Make the kernel's table of nodes, the rows in the order of the leaves."""
    fields = np.full((tree.n_nodes, kernels.N_FIELDS), -1, np.int64)
    end = np.cumsum(rows_at)
    fields[:, kernels.START], fields[:, kernels.END] = end - rows_at, end
    fields[:, kernels.LEFT], fields[:, kernels.RIGHT] = tree.left, tree.right
    fields[:, kernels.FEATURE] = np.where(tree.feature == LEAF, -1, tree.feature)
    return fields


# -- Honest leaves -------------------------------------------------------------------------------------------

FRACTION_OF_SPLITS = 0.5  # of the rows, which choose the splits; the others give the values


def split_honest_rows(
    table: Table, groups: LongArray | None, seed: int
) -> tuple[Table, LongArray | None, BoolArray]:
    """Return rows and groups in canonical order, and flags of the half that chooses the splits.

    The other half gives the leaf values. Both have the same fractions of the classes, and groups stay whole.
    """
    table, marks, units = canonicalize_rows(table, [] if groups is None else [groups])
    of_units = group_copies(table, units) if groups is None else marks[0]
    return table, marks[0] if marks else None, draw_structure_rows(table, of_units, seed)


def draw_structure_rows(table: Table, groups: LongArray | None, seed: int) -> BoolArray:
    """Flag the half of the rows that chooses the splits; the rows are in canonical order."""
    positions = draw_positions(assign_strata(table), unit_keys(table, groups), (seed, Branch.HONEST_ROWS))
    is_structure = select_below(positions, FRACTION_OF_SPLITS)
    if is_structure.all() or not is_structure.any():
        raise DataError(
            "leaf_values='honest' grows the tree on half of the rows and takes the leaf values from the "
            "others, and these rows, copies of each other or of one group, cannot be divided: give more "
            "rows, or leaf_values='shrunk'."
        )
    return is_structure


def set_honest_values(tree: Tree, table: Table, rules: GrowthRules) -> Tree:
    """Set values and counts from rows on which the tree was not grown.

    A node that none of them reaches takes the value of the node above and has no rows.
    """
    fitted = refit_leaf_values(tree, table, rules)
    value = fitted.value.copy()
    for node, above in enumerate(fitted.parent.tolist()):  # preorder: a parent stands before its children
        if node and not fitted.weight[node] > 0:
            value[node] = value[above]
    return enforce_monotonicity(fitted.replace(value=np.asarray(value, np.float64)))
