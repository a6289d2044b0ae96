"""What rows held out say of every number of clusters, recounted from the trees of these numbers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from holdfast._arrays import BoolArray, FloatArray
from holdfast.data.row_keys import row_keys
from holdfast.data.table import Table
from holdfast.estimators.density import DensityTree
from holdfast.growth.density import STRAYS, Density, DensityRules, grow_density
from holdfast.growth.density_model import draw_holdout, prepare_rows
from holdfast.tree.tree import LEAF, Tree

CENTRES = np.array([(0.0, 0.0), (800.0, 0.0), (0.0, 8.0)])


def three_groups(n_rows: int = 80) -> FloatArray:
    """Rows of three Gaussians; the deviation of the first column is 100."""
    group = np.repeat([0, 1, 2], n_rows)
    return np.random.default_rng(0).normal(CENTRES[group], [100.0, 1.0])


def grown(X: FloatArray, seed: int = 0, weight: FloatArray | None = None, **rules: object) -> Density:
    table = Table.from_arrays(X, np.zeros(len(X)), weight, task="regression")
    return grow_density(table, DensityRules(**rules), seed=seed)  # type: ignore[arg-type]


def log_likelihoods(tree: Tree, X: FloatArray, is_held: BoolArray) -> FloatArray:
    """Of every row: the mixture down the tree, fitted to the rows that are not held out, by definition."""
    data = prepare_rows(Table.from_arrays(X, np.zeros(len(X)), task="regression"))
    step, scale = data.units.measurement_variance, data.units.scale
    columns = np.column_stack(data.table.columns)

    def below(node: int, inside: BoolArray) -> FloatArray:
        seen = columns[inside & ~is_held] / scale
        variance = seen.var(axis=0) + step
        parts = norm.logpdf(columns / scale, seen.mean(axis=0), np.sqrt(variance)) - step / (2 * variance)
        alone = parts.sum(axis=1) - np.log(scale).sum()  # in the units of the data
        if tree.feature[node] == LEAF:
            return np.asarray(alone)
        left = columns[:, tree.feature[node]] <= tree.threshold[node]
        sides = np.empty(len(X))
        for child, goes in ((tree.left[node], left), (tree.right[node], ~left)):
            fraction = (inside & goes & ~is_held).sum() / (inside & ~is_held).sum()
            sides[goes] = (below(child, inside & goes) + np.log(fraction))[goes]
        return np.log((1 - STRAYS) * np.exp(sides) + STRAYS * np.exp(alone))

    return below(0, np.ones(len(X), bool))


@pytest.mark.parametrize("seed", range(3))
def test_every_line_is_the_likelihood_of_the_tree_of_that_size(seed: int) -> None:
    X = three_groups()
    density = grown(X, seed)
    table = density.size_table
    assert table is not None
    assert table.n_clusters.tolist() == list(range(1, len(table) + 1))
    assert (density.tree.n_leaves, table.chosen) == (3, 2)
    is_held = draw_holdout(prepare_rows(Table.from_arrays(X, np.zeros(len(X)), task="regression")), 0.3, seed)
    before = None
    for n_clusters in (1, 2, 3):
        shallow = {"validation": 0.3, "max_leaf_nodes": n_clusters} if n_clusters > 1 else {"evidence": 1e9}
        tree = grown(X, seed, **shallow).tree
        assert tree.n_leaves == n_clusters
        own = log_likelihoods(tree, X, is_held)[is_held]
        place = n_clusters - 1
        assert table.score[place] == pytest.approx(own.mean())
        assert table.error[place] == pytest.approx(own.std(ddof=1) / np.sqrt(len(own)))
        if before is not None:
            assert table.gain[place] == pytest.approx((own - before).mean())
            assert table.gain_error[place] == pytest.approx((own - before).std(ddof=1) / np.sqrt(len(own)))
        before = own


def test_the_units_of_the_data_count_and_the_gains_do_not_depend_on_them() -> None:
    X = three_groups()
    tables = [Table.from_arrays(each, np.zeros(240), task="regression") for each in (X, X * 1000.0)]
    keys = row_keys(tables[0])  # in other units a row says something else: the same rows are to be held out
    one, other = (
        grow_density(replace(table, identity=keys), DensityRules(), seed=0).size_table for table in tables
    )
    assert one is not None
    assert other is not None
    assert other.gain[1:] == pytest.approx(one.gain[1:])
    assert other.score == pytest.approx(one.score - 2 * np.log(1000.0))


def test_a_limit_chooses_an_earlier_line_of_the_same_table() -> None:
    X = three_groups()
    free, limited = grown(X).size_table, grown(X, max_leaf_nodes=2).size_table
    assert free is not None
    assert limited is not None
    assert (free.chosen, limited.chosen) == (2, 1)
    n_both = min(len(free), len(limited))
    assert free.score[:n_both].tolist() == limited.score[:n_both].tolist()


def test_the_sum_of_the_gains_of_the_lines_is_the_evidence_of_the_root() -> None:
    density = grown(three_groups())
    table, root = density.size_table, density.evidence[0]
    assert table is not None
    assert table.gain[1:3].sum() * root.count == pytest.approx(root.gain)


def test_one_cluster_has_a_table_that_says_why() -> None:
    density = grown(np.random.default_rng(0).normal(size=(200, 2)))
    table = density.size_table
    assert table is not None
    assert (density.tree.n_leaves, table.chosen) == (1, 0)
    assert len(table) > 1
    assert table.gain[1] < 2 * table.gain_error[1]


def test_weights_that_are_whole_are_repeated_rows() -> None:
    # Values on a grid, so that rows alike are no copies.
    X = np.round(three_groups() / [100.0, 1.0])
    once, twice = grown(np.repeat(X, 2, axis=0)).size_table, grown(X, weight=np.full(len(X), 2.0)).size_table
    assert once is not None
    assert twice is not None
    assert once.score.tolist() == twice.score.tolist()


def test_the_estimator_shows_the_table_and_gives_a_frame() -> None:
    model = DensityTree().fit(three_groups())
    table = model.size_table_
    assert table is not None
    lines = repr(table).splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == [str(number) for number in table.n_clusters]
    assert [number for number, line in enumerate(lines) if line.endswith("chosen")] == [model.n_clusters_]
    frame = table.to_frame("pandas")
    assert isinstance(frame, pd.DataFrame)
    assert frame["n_clusters"][frame["chosen"]].tolist() == [3]
    assert frame["score"].tolist() == table.score.tolist()


def test_without_rows_held_out_there_is_no_table() -> None:
    assert DensityTree(validation=None, max_leaf_nodes=3).fit(three_groups()).size_table_ is None
