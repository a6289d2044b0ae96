"""The kernels of boosting: sums over bins, splits by gradient and hessian, trees against a slow twin."""

from typing import Any

import numpy as np
import pytest

from holdfast._arrays import FloatArray, IntArray, LongArray
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.ensembles import binned_splits
from holdfast.ensembles import boosted_tree as newton
from holdfast.ensembles.binned_splits import BinnedSplits
from holdfast.ensembles.boosted_tree import Derivatives, TreeShape
from holdfast.growth.rules import GrowthRules
from holdfast.kernels.boosting.histogram import TRAINING, UNUSED, Gradients, count_block, subtract
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.nodes import END, FEATURE, N_FIELDS, NONE, SET_START, SLOT, START
from holdfast.kernels.jit import compile_uncached
from holdfast.parallel.tasks import ThreadPool
from reference.boosting import Growing, Node
from reference.boosting_losses import Setting

# A kernel for kernels has no door to Python: it is called through a small one that has.


@compile_uncached
def count(coded: Coded, gradients: Gradients, rows: IntArray, ordered: LongArray, out: LongArray) -> None:
    for block in range(coded.codes.shape[0]):
        count_block(coded, gradients, rows, ordered, block, out)


@compile_uncached
def take_from(coded: Coded, whole: LongArray, part: LongArray) -> None:
    for block in range(coded.codes.shape[0]):
        subtract(coded, block, whole, part)


def nominal(name: str, n_categories: int) -> Feature:
    return Feature(name, "nominal", categories=tuple(range(n_categories)))


def mixed_table(seed: int, n_rows: int = 60, widths: tuple[int, ...] = (4, 3)) -> Table:
    """Two columns of numbers, one of them with gaps, and columns of so many categories, with gaps."""
    generator = np.random.default_rng(seed)
    x, z = generator.normal(size=(2, n_rows)).round(1)
    z[generator.random(n_rows) < 0.2] = np.nan
    codes = [generator.integers(0, width, n_rows).astype(float) for width in widths]
    for column in codes:
        column[generator.random(n_rows) < 0.1] = np.nan
    features = (Feature("x"), Feature("z"), *(nominal(f"z{i}", width) for i, width in enumerate(widths)))
    y = generator.normal(size=n_rows)
    return Table(Schema(features, Target("y", low=y.min(), high=y.max())), (x, z, *codes), y)


def derivatives_of(table: Table, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    """Gradients and hessians without ties, some of it explained by the columns."""
    generator = np.random.default_rng(seed)
    known = [np.nan_to_num(column, nan=-1.0) for column in table.columns]
    gradient = (
        np.sin(2 * known[0]) + known[1] / 3 + np.cos(5 * known[2]) + generator.normal(size=table.n_rows) / 2
    )
    return gradient, generator.uniform(0.05, 1.0, table.n_rows)


def tree_of(
    table: Table,
    rules: GrowthRules,
    derivatives: tuple[FloatArray, FloatArray],
    *,
    l2: float = 0.0,
    least: float = 0.0,
    repeats: IntArray | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> TreeShape:
    repeats = np.ones(table.n_rows, np.int32) if repeats is None else repeats
    rows = np.flatnonzero(repeats).astype(np.int32)
    role = np.where(repeats > 0, TRAINING, UNUSED).astype(np.uint8)
    splits = BinnedSplits(table, repeats, rules, least, l2)
    with ThreadPool(n_threads) as pool:
        return splits.tree(Derivatives(*derivatives, np.ones(table.n_rows), role, rows), seed, pool)


def leaves_of(shape: TreeShape) -> set[frozenset[int]]:
    fields = shape.nodes.fields
    return {
        frozenset(shape.rows[fields[node, START] : fields[node, END]].tolist())
        for node in range(len(fields))
        if fields[node, FEATURE] == NONE
    }


def twin(
    table: Table, derivatives: tuple[FloatArray, FloatArray], repeats: IntArray | None = None, **options: Any
) -> Node:
    """The tree that tries every split."""
    repeats = np.ones(table.n_rows, np.int32) if repeats is None else repeats
    g, h = derivatives[0] * repeats, derivatives[1] * repeats
    growing = Growing(table, Setting("squared_error", **options), g, h, repeats.tolist())
    return growing.tree(tuple(np.flatnonzero(repeats).tolist()))


def parts(node: Node) -> set[frozenset[int]]:
    return {frozenset(leaf.rows) for leaf in node.leaves()}


def assert_same_nodes(one: TreeShape, other: TreeShape) -> None:
    """Everything but the places where histograms were kept."""
    kept = [column for column in range(N_FIELDS) if column != SLOT]
    assert np.array_equal(one.nodes.fields[:, kept], other.nodes.fields[:, kept])
    assert np.array_equal(one.nodes.in_set, other.nodes.in_set)
    assert np.array_equal(one.rows, other.rows)


def number_of_sets(shape: TreeShape) -> int:
    return int((shape.nodes.fields[:, SET_START] >= 0).sum())


# -- counting -------------------------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("is_repeated", [False, True])
@pytest.mark.parametrize("n_categories", [3, 240, 241, 254, 255, 256, 300])
def test_a_histogram_holds_the_sums_of_every_bin(n_categories: int, is_repeated: bool) -> None:
    table = mixed_table(0, 320, (n_categories, 5, n_categories))
    generator = np.random.default_rng(1)
    gradient, hessian = generator.integers(-1000, 1000, 320), generator.integers(0, 1000, 320)
    repeats = generator.integers(1, 4, 320).astype(np.int32) if is_repeated else np.empty(0, np.int32)
    gradients = Gradients(gradient << 32 | hessian, repeats, 12)
    coded, rows = table.coded, np.arange(0, 320, 2, dtype=np.int32)
    length = 2 * int(coded.start[-1])
    memory = np.full(length + 64, 7, np.int64)
    count(coded, gradients, rows, gradients.packed[rows], memory[:length])
    assert (memory[length:] == 7).all()
    times = repeats if is_repeated else np.ones(320, np.int64)
    for feature in (2, 3, 4):
        begin, n_codes = int(coded.start[feature]), int(coded.n_codes[feature])
        column = table.columns[feature][rows]
        own = memory[2 * begin : 2 * (begin + n_codes)].reshape(-1, 2)
        at = (column == np.arange(n_codes)[:, None]) * times[rows]
        assert own[:, 0].tolist() == (at @ gradient[rows]).tolist()
        assert (own[:, 1] >> 12).tolist() == (at @ hessian[rows]).tolist()
        assert (own[:, 1] & 0xFFF).tolist() == at.sum(axis=1).tolist()
        # The gaps come last, behind 255 codes or behind all categories.
        last = begin + max(255, n_codes) if n_codes > 240 else begin + 255
        gaps = np.isnan(column) * times[rows]
        assert memory[2 * last] == gaps @ gradient[rows]
        assert memory[2 * last + 1] & 0xFFF == gaps.sum()


@pytest.mark.kernel
@pytest.mark.parametrize("n_categories", [3, 300])
def test_a_parent_without_one_child_is_the_other(n_categories: int) -> None:
    table = mixed_table(0, 320, (n_categories,))
    generator = np.random.default_rng(1)
    packed = generator.integers(-1000, 1000, 320) << 32 | generator.integers(0, 1000, 320)
    gradients, coded = Gradients(packed, np.empty(0, np.int32), 12), table.coded
    rows = generator.permutation(320).astype(np.int32)
    whole, part, rest = np.zeros((3, 2 * int(coded.start[-1])), np.int64)
    for own, memory in ((rows, whole), (rows[:100], part), (rows[100:], rest)):
        count(coded, gradients, np.sort(own), packed[np.sort(own)], memory)
    take_from(coded, whole, part)
    end = 2 * int(coded.start[table.n_features])  # behind it, places for columns that are not there
    assert np.array_equal(whole[:end], rest[:end])


# -- whole trees ----------------------------------------------------------------------------------------

OPTIONS: tuple[dict[str, Any], ...] = (
    {"max_depth": 3},
    {"max_depth": 1},
    {"max_depth": 4, "min_samples_leaf": 6},
    {"max_depth": None, "max_leaf_nodes": 7},
    {"max_depth": 3, "max_leaf_nodes": 5, "min_samples_leaf": 3},
)


@pytest.mark.kernel
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("l2", [0.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_small_tree_is_the_best_of_all(seed: int, l2: float, options: dict[str, Any]) -> None:
    table = mixed_table(seed)
    derivatives = derivatives_of(table, seed)
    shape = tree_of(table, GrowthRules("squared_error", **options), derivatives, l2=l2)
    assert leaves_of(shape) == parts(twin(table, derivatives, l2_regularization=l2, **options))


@pytest.mark.kernel
def test_a_repeated_row_counts_as_several() -> None:
    table = mixed_table(5)
    derivatives, repeats = derivatives_of(table), np.random.default_rng(0).integers(0, 4, 60).astype(np.int32)
    rules = GrowthRules("squared_error", max_depth=4, min_samples_leaf=8)
    shape = tree_of(table, rules, derivatives, repeats=repeats)
    expected = parts(twin(table, derivatives, repeats, max_depth=4, min_samples_leaf=8))
    assert leaves_of(shape) == expected
    assert min(sum(int(repeats[row]) for row in leaf) for leaf in expected) >= 8


@pytest.mark.kernel
def test_a_leaf_without_curvature_is_not_made() -> None:
    table = mixed_table(1)
    gradient, hessian = derivatives_of(table)
    hessian[np.argsort(table.columns[0], kind="stable")[:20]] = 1e-6
    rules = GrowthRules("squared_error", max_depth=6)
    for leaf in leaves_of(tree_of(table, rules, (gradient, hessian), least=0.5)):
        assert sum(hessian[row] for row in leaf) >= 0.5
    free = leaves_of(tree_of(table, rules, (gradient, hessian)))
    assert min(sum(hessian[row] for row in leaf) for leaf in free) < 0.5


@pytest.mark.kernel
@pytest.mark.parametrize("l2", [0.0, 3.0])
@pytest.mark.parametrize("n_categories", [250, 256, 300])
def test_a_wide_column_is_divided_where_its_best_prefix_ends(n_categories: int, l2: float) -> None:
    generator = np.random.default_rng(n_categories)
    codes = np.concatenate([np.arange(n_categories), generator.integers(0, n_categories, 300)]).astype(float)
    codes[generator.random(len(codes)) < 0.05] = np.nan
    y = generator.normal(size=len(codes))
    schema = Schema((nominal("c", n_categories),), Target("y", low=y.min(), high=y.max()))
    gradient, hessian = np.nan_to_num(codes % 7, nan=3.0) - 3 + y, generator.uniform(0.1, 1, len(codes))
    rules = GrowthRules("squared_error", max_depth=1, categories="exact")
    shape = tree_of(Table(schema, (codes,), y), rules, (gradient, hessian), l2=l2)
    # Gaps are a category of their own. The gain is convex, so the best set is a prefix by gradient / hessian.
    own = np.where(np.isnan(codes), n_categories, codes).astype(int)
    g, h = np.bincount(own, gradient), np.bincount(own, hessian)
    present = np.flatnonzero(h)
    order = present[np.argsort((-g / np.where(h > 0, h, 1))[present], kind="stable")]
    g_left, h_left = np.cumsum(g[order])[:-1], np.cumsum(h[order])[:-1]
    gain = g_left**2 / (h_left + l2) + (g.sum() - g_left) ** 2 / (h.sum() - h_left + l2)
    prefix = np.isin(own, order[: gain.argmax() + 1])
    expected = {frozenset(np.flatnonzero(prefix).tolist()), frozenset(np.flatnonzero(~prefix).tolist())}
    assert leaves_of(shape) == expected


@pytest.mark.kernel
@pytest.mark.parametrize("options", [{"max_depth": 5}, {"max_depth": None, "max_leaf_nodes": 26}], ids=str)
def test_room_for_sets_grows_as_they_become_more(options: dict[str, Any]) -> None:
    table = mixed_table(3, 120, (5, 4, 4, 3))
    gradient, hessian = derivatives_of(table)
    gradient = gradient + 3 * np.cos(7 * np.nan_to_num(table.columns[4]) * np.nan_to_num(table.columns[3]))
    shape = tree_of(table, GrowthRules("squared_error", **options), (gradient, hessian))
    assert number_of_sets(shape) > 8  # there is room for eight to begin with
    assert leaves_of(shape) == parts(twin(table, (gradient, hessian), **options))


@pytest.mark.kernel
@pytest.mark.parametrize("n_slots", [2, 3, 4])
@pytest.mark.parametrize("options", [{"max_depth": 6}, {"max_depth": None, "max_leaf_nodes": 20}], ids=str)
@pytest.mark.parametrize("widths", [(4, 3), (300,)])
def test_a_histogram_without_a_place_is_counted_again(
    n_slots: int, options: dict[str, Any], widths: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = mixed_table(4, 150, widths)
    derivatives, rules = derivatives_of(table), GrowthRules("squared_error", **options)
    expected = tree_of(table, rules, derivatives)
    monkeypatch.setattr(binned_splits, "HISTOGRAM_BYTES", n_slots * 16 * int(table.coded.start[-1]))
    splits = BinnedSplits(table, np.ones(150, np.int32), rules, 0.0, 0.0)
    assert len(splits.buffers.histograms) == n_slots
    cramped = tree_of(table, rules, derivatives)
    assert len(expected.nodes.fields) > 20
    assert_same_nodes(cramped, expected)


@pytest.mark.kernel
@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize("n_slots", [2, 1000])
@pytest.mark.parametrize("options", [{}, {"max_features": 2}, {"monotonic_cst": {"x": 1}}], ids=str)
def test_threads_that_share_a_tree_change_no_node(
    options: dict[str, Any], n_slots: int, n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = mixed_table(6, 150, (4, 3, 300, 5))
    derivatives, rules = derivatives_of(table), GrowthRules("squared_error", max_depth=6, **options)
    alone = tree_of(table, rules, derivatives)
    monkeypatch.setattr(binned_splits, "HISTOGRAM_BYTES", n_slots * 16 * int(table.coded.start[-1]))
    monkeypatch.setattr(newton, "LEAST_SHARED", 10)
    monkeypatch.setattr(binned_splits, "CELLS_SHARED", 1)
    monkeypatch.setattr(binned_splits, "ROWS_SHARED", 2)
    together = tree_of(table, rules, derivatives, n_threads=n_threads)
    assert_same_nodes(together, alone)


@pytest.mark.kernel
def test_the_memory_of_one_tree_serves_the_next() -> None:
    table, rules = mixed_table(7), GrowthRules("squared_error", max_depth=4)
    everyone = np.ones(60, np.int32)
    role, rows = np.full(60, TRAINING, np.uint8), np.arange(60, dtype=np.int32)
    splits = BinnedSplits(table, everyone, rules, 0.0, 0.0)
    with ThreadPool(1) as pool:
        for seed in (1, 2, 1):
            derivatives = derivatives_of(table, seed)
            again = splits.tree(Derivatives(*derivatives, np.ones(60), role, rows), 0, pool)
            assert leaves_of(again) == leaves_of(tree_of(table, rules, derivatives))


@pytest.mark.kernel
def test_of_drawn_features_the_best_is_taken() -> None:
    table = mixed_table(8)
    derivatives, rules = derivatives_of(table), GrowthRules("squared_error", max_depth=1, max_features=1)
    seen = set()
    for seed in range(30):
        shape = tree_of(table, rules, derivatives, seed=seed)
        feature = int(shape.nodes.fields[0, FEATURE])
        schema = Schema((table.schema.features[feature],), table.schema.target)
        alone = Table(schema, (table.columns[feature],), table.target)
        assert leaves_of(shape) == parts(twin(alone, derivatives, max_depth=1))
        seen.add(feature)
    assert seen == {0, 1, 2, 3}
