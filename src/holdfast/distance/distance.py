"""The distance of trees: the cost of the cheapest matching of their rules.

Bertsimas and Digalakis, "Improving Stability in Decision Tree Models", arXiv 2305.17299.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from holdfast._arrays import FloatArray, LongArray, freeze
from holdfast._check import check_number
from holdfast.adapters import as_tree
from holdfast.distance.costs import DistanceSettings, complete_settings
from holdfast.distance.matching import TreeDistance, build_matching
from holdfast.distance.packing import allocate_memory, freeze_fields, pack, pick_kernel
from holdfast.distance.reference_schema import unify_schemas
from holdfast.kernels.distance.assignment import Prices
from holdfast.kernels.distance.distances import COVER, METRIC, PAPER, DistanceScratch, Packed, measure
from holdfast.parallel.interruption import call_kernel, stop_flag
from holdfast.parallel.tasks import check_jobs, run_all
from holdfast.tree.tree import LEAF, Tree

CELLS_A_TASK = 2**21  # of cost matrices: some 20 ms of work
_MATCHINGS = {"paper": PAPER, "cover": COVER, "metric": METRIC}


def tree_distance(
    a: Any,
    b: Any,
    *,
    matching: str = "paper",
    label_weight: float | None = None,
    outcome: str | None = None,
    normalised: bool = False,
    depth: int | None = None,
) -> TreeDistance:
    """Compute the distance of two trees, and the matching between their rules.

    Parameters
    ----------
    a, b : Tree or model
        Trees, or models that `as_tree` reads, on one schema: ranges and categories of a column are its unit
        of length.
    matching : {"paper", "cover", "metric"}
        Cost of surplus rules of the larger tree: "paper" charges their size, "cover" matches them a second
        time, "metric" charges so that the triangle inequality holds.
    label_weight : float, optional
        Cost of another outcome. Default: twice the depth.
    outcome : {"label", "distribution", "value"}, optional
        What is compared of two leaves: the class, the class fractions, or the number.
    normalised : bool
        Divide by `2 ** depth * (2 * depth + label_weight)`.
    depth : int, optional
        Greatest depth allowed. Default: that of the deeper tree.

    Returns
    -------
    TreeDistance
        The total, the matched pairs and the unmatched rules.

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> at_40 = grow(Table.from_arrays([[0.0], [30.0], [50.0], [100.0]], ["no", "no", "yes", "yes"]))
    >>> at_45 = at_40.replace(threshold=at_40.threshold + 5)
    >>> round(tree_distance(at_40, at_45).total, 6)  # each of two leaves: 5 / (2 * 100)
    0.05
    """
    first, second = unify_schemas([as_tree(a), as_tree(b)])
    distance_settings = complete_settings([first, second], matching, label_weight, outcome, normalised, depth)
    packed, unit = pack([first, second], distance_settings)
    one, other, out = _indices([0]), _indices([1]), np.empty(1, np.int64)
    scratch, prices = allocate_memory(packed, one, other)
    kernel = pick_kernel(measure, [first, second])
    _run_kernel(packed, (one, other), matching, True, scratch, prices, out, kernel)
    return build_matching(first, second, distance_settings, float(out[0] / unit), scratch.cost, prices)


def distance_matrix(
    trees_a: Iterable[Any],
    trees_b: Iterable[Any] | None = None,
    *,
    matching: str = "paper",
    label_weight: float | None = None,
    outcome: str | None = None,
    normalised: bool = False,
    depth: int | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> FloatArray:
    """Compute the distances of all pairs of trees from two collections, or within one.

    All distances share one depth and one label weight. See `tree_distance` for the other parameters.

    Parameters
    ----------
    trees_a : iterable of Tree or model
    trees_b : iterable of Tree or model, optional
        Default: `trees_a`.
    n_jobs : int, optional
        Number of threads; results do not depend on it.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    ndarray of shape (n_a, n_b)

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> at_40 = grow(Table.from_arrays([[0.0], [30.0], [50.0], [100.0]], ["no", "no", "yes", "yes"]))
    >>> at_45 = at_40.replace(threshold=at_40.threshold + 5)
    >>> distance_matrix([at_40, at_45]).round(6)
    array([[0.  , 0.05],
           [0.05, 0.  ]])
    """
    return _matrix(
        trees_a, trees_b, (matching, label_weight, outcome, normalised, depth), n_jobs, verbose, at_most=None
    )


def mean_distance(
    trees: Iterable[Any],
    references: Iterable[Any],
    *,
    matching: str = "paper",
    label_weight: float | None = None,
    outcome: str | None = None,
    normalised: bool = False,
    depth: int | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    at_most: float | None = None,
) -> FloatArray:
    """Compute the mean distance of every tree to all references, its instability.

    See `tree_distance` and `distance_matrix` for the other parameters.

    Parameters
    ----------
    trees, references : iterable of Tree or model
    at_most : float, optional
        Trees with a greater mean get infinity, many of them by a lower bound that takes a quarter to a half
        of the time: worthwhile if few trees are within the limit. Finite means are exact.

    Returns
    -------
    ndarray of shape (n_trees,)

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> at_40 = grow(Table.from_arrays([[0.0], [30.0], [50.0], [100.0]], ["no", "no", "yes", "yes"]))
    >>> at_45 = at_40.replace(threshold=at_40.threshold + 5)
    >>> mean_distance([at_40], [at_40, at_45]).round(6)
    array([0.025])
    """
    options = (matching, label_weight, outcome, normalised, depth)
    check_number("at_most", at_most, is_finite=False, none_ok=True)
    references = _trees(references)
    if not references:
        raise ValueError("A mean distance needs at least one reference tree, and there are 0.")
    means: FloatArray = _matrix(trees, references, options, n_jobs, verbose, at_most).mean(axis=1)
    return means if at_most is None else np.asarray(np.where(means > at_most, np.inf, means), np.float64)


# -- collections ----------------------------------------------------------------------------------------


def distances_between(
    trees: Sequence[Tree],
    others: Sequence[Tree] | None,
    settings: DistanceSettings,
    *,
    n_jobs: int | None = None,
    progress: bool = False,
    at_most: float | None = None,
) -> FloatArray:
    """Compute the distance of each tree to each of the others, or of all pairs of trees without others.

    All trees share one schema. Rows whose mean is certainly above `at_most` may be infinite.
    """
    every = [*trees, *(() if others is None else others)]
    distinct, number = _distinct(every, settings)
    packed, unit = pack(distinct, settings)
    n_others = len(trees) if others is None else len(others)
    rows, inverse_rows = np.unique(number[: len(trees)], return_inverse=True)
    columns, inverse_columns = np.unique(number[len(every) - n_others :], return_inverse=True)
    text = "Distances" if progress else ""
    work = partial(_measure_pairs, packed, settings.matching, n_jobs=n_jobs, progress=text)
    if others is None:
        grid = _symmetric(work, len(rows))
    elif at_most is None:
        grid = _rectangle(work, rows, columns)
    else:
        scale = settings.total(1.0)
        limit = at_most / scale * unit * n_others if scale > 0 else np.inf
        grid = _bounded(work, rows, columns, np.bincount(inverse_columns), limit)
    return np.asarray(settings.total(grid[inverse_rows][:, inverse_columns] / unit), np.float64)


def _matrix(
    trees_a: Iterable[Any],
    trees_b: Iterable[Any] | None,
    options: tuple[str, float | None, str | None, bool, int | None],
    n_jobs: int | None,
    progress: bool,
    at_most: float | None,
) -> FloatArray:
    """Compute distances of models of any library on their common schema."""
    check_jobs(n_jobs)
    all_a = _trees(trees_a)
    all_b = None if trees_b is None else _trees(trees_b)
    if not all_a or all_b == []:
        return np.zeros((len(all_a), len(all_a if all_b is None else all_b)))
    trees = unify_schemas([*all_a, *(all_b or ())])
    settings = complete_settings(trees, *options)
    first, second = trees[: len(all_a)], None if all_b is None else trees[len(all_a) :]
    return distances_between(first, second, settings, n_jobs=n_jobs, progress=progress, at_most=at_most)


def _trees(models: Iterable[Any]) -> list[Tree]:
    """Return the trees of a collection; a TypeError for anything else."""
    is_one = isinstance(models, Tree) or hasattr(models, "predict")
    if is_one or isinstance(models, str | Mapping) or hasattr(models, "columns"):
        way_out = "Put it into a list; of a forest, forest_trees(forest, schema) gives the trees."
        raise TypeError(f"A list of trees is needed, and this is a {type(models).__name__}. {way_out}")
    return [as_tree(model) for model in models]


def _distinct(trees: list[Tree], distance_settings: DistanceSettings) -> tuple[list[Tree], LongArray]:
    """Return the distinct trees, and the index of each tree among them; on small data many are equal."""
    numbers: dict[bytes, int] = {}
    distinct: list[Tree] = []
    number = np.empty(len(trees), np.int64)
    for place, tree in enumerate(trees):
        number[place] = numbers.setdefault(_fingerprint(tree, distance_settings.outcome), len(numbers))
        if number[place] == len(distinct):
            distinct.append(tree)
    return distinct, number


def _fingerprint(tree: Tree, outcome: str) -> bytes:
    """Return all of a tree that distances depend on."""
    leaves = tree.feature == LEAF
    predictions = tree.outcome[leaves] if outcome == "label" else tree.value[leaves]
    parts = (tree.feature, tree.threshold, tree.left, tree.set_start, tree.in_set, predictions)
    return b"|".join(part.tobytes() for part in parts)


def _rectangle(work: Any, own: LongArray, others: LongArray) -> FloatArray:
    """Compute distances of each tree to each of the others."""
    units = work(np.repeat(own, len(others)), np.tile(others, len(own)))
    return np.asarray(units.reshape(len(own), len(others)), np.float64)


def _symmetric(work: Any, n: int) -> FloatArray:
    """Compute the distances of all pairs of the first n trees, each once."""
    rows, columns = np.triu_indices(n, 1)
    grid = np.zeros((n, n))
    grid[rows, columns] = grid[columns, rows] = work(rows, columns)
    return grid


def _bounded(work: Any, own: LongArray, others: LongArray, repeats: LongArray, limit: float) -> FloatArray:
    """Compute the distances only of trees whose lower bound is within the limit."""
    bounds = _rectangle(partial(work, solve=False), own, others)
    grid = np.full(bounds.shape, np.inf)
    near = bounds @ repeats <= limit * (1 + 1e-12)
    grid[near] = _rectangle(work, own[near], others)
    return grid


def _measure_pairs(
    packed: Packed,
    matching: str,
    first: LongArray,
    second: LongArray,
    *,
    solve: bool = True,
    n_jobs: int | None,
    progress: str,
) -> LongArray:
    """Compute distances of pairs in integer units, or lower bounds of them."""
    task = partial(_measure_batch, packed, matching, solve)
    batches = [(first[batch], second[batch]) for batch in _batches(packed, first, second)]
    parts = run_all(task, batches, n_jobs, progress=progress, cache_name="Distances" * (len(batches) > 1))
    return np.concatenate([np.empty(0, np.int64), *parts])


def _measure_batch(
    packed: Packed, matching: str, solve: bool, batch: tuple[LongArray, LongArray]
) -> LongArray:
    # Pickling makes arrays writable, for which numba would compile again.
    packed, (first, second) = freeze_fields(packed), map(_indices, batch)
    out = np.empty(len(first), np.int64)
    _run_kernel(packed, (first, second), matching, solve, *allocate_memory(packed, first, second), out)
    return out


def _run_kernel(
    packed: Packed,
    pairs: tuple[LongArray, LongArray],
    matching: str,
    solve: bool,
    scratch: DistanceScratch,
    prices: Prices,
    out: LongArray,
    kernel: Callable[..., Any] = measure,
) -> None:
    """Run the kernel, which takes cubic time in the leaves, so that Ctrl-C interrupts it."""
    n_steps = float(len(scratch.cost)) * len(scratch.base)
    with stop_flag() as stop:
        arguments = (packed, *pairs, _MATCHINGS[matching], solve, scratch, prices, stop, out)
        call_kernel(kernel, *arguments, stop=stop, n_steps=n_steps)


def _batches(packed: Packed, first: LongArray, second: LongArray) -> list[slice]:
    """Divide the pairs into runs of similar work."""
    if not len(first):
        return []
    n_leaves = np.diff(packed.leaf_start)
    cells = np.cumsum(n_leaves[first] * n_leaves[second] + 128)  # 128: the fixed cost of a pair
    size = max(min(CELLS_A_TASK, int(cells[-1]) // 16), 2**16)
    ends = np.searchsorted(cells, np.arange(size, int(cells[-1]), size), side="right")
    bounds = np.unique([0, *ends, len(first)]).tolist()
    return [slice(begin, end) for begin, end in itertools.pairwise(bounds)]


def _indices(values: Any) -> LongArray:
    return freeze(np.array(values, np.int64))
