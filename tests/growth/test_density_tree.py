"""Trees for unlabelled rows: the search against a twin that tries everything, and clusters that are known."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from holdfast import load, save, tree_distance
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.density import STRAYS, Density, DensityRules, SplitSearch, grow_density
from holdfast.growth.density_model import ModelFamily, add_up_groups, draw_holdout, prepare_rows
from holdfast.kernels.growth.density import DensityRows, best_thresholds
from reference import density as reference

THREE = np.array([(0.0, 0.0), (8.0, 0.0), (0.0, 8.0)])


def table_of(X: Any, weight: Any = None, **options: Any) -> Table:
    return Table.from_arrays(X, np.zeros(len(X)), weight, task="regression", **options)


def grown(X: Any, weight: Any = None, *, seed: int = 0, **rules: Any) -> Density:
    return grow_density(table_of(X, weight), DensityRules(**rules), seed=seed)


def three_groups(n_rows: int = 100, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three round Gaussians, eight deviations apart, and the group of each."""
    group = np.repeat([0, 1, 2], n_rows)
    return np.random.default_rng(seed).normal(THREE[group], 1.0), group


def clusters_of(density: Density, X: Any) -> np.ndarray:
    return density.tree.outcome[density.tree.apply(X)]


# -- the search against its slow twin -------------------------------------------------------------------


def random_rows(seed: int) -> tuple[DensityRows, np.ndarray]:
    """A few rows with gaps, ties and weights, and the column that is asked about."""
    generator = np.random.default_rng(seed)
    n_rows = int(generator.integers(6, 25))
    numbers = np.round(generator.normal(size=(n_rows, 3)), 1)
    numbers[generator.random(numbers.shape) < 0.1] = np.nan
    codes = generator.integers(0, 3, (n_rows, 2)).astype(np.int32) + np.array([0, 3], np.int32)
    codes[generator.random(codes.shape) < 0.1] = -1
    weight = generator.choice([1.0, 1.0, 0.5, 2.5], n_rows)
    rows = DensityRows(
        numbers, codes, 6, weight, np.ones(n_rows, np.int64), np.array([0.1**2 / 12, 1e-6, 0.01])
    )
    for array in (rows.numbers, rows.codes, rows.weight, rows.repeats, rows.measurement_variance):
        array.flags.writeable = False
    return rows, numbers[:, int(generator.integers(3))].copy()


def twin_of(rows: DensityRows) -> reference.Rows:
    return reference.Rows(rows.numbers, rows.codes, rows.weight, rows.measurement_variance)


@pytest.mark.kernel
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_the_kernel_finds_what_trying_every_threshold_finds(seed: int, least: int) -> None:
    rows, asked = random_rows(seed)
    _, ranks = np.unique(asked, return_inverse=True, equal_nan=True)
    ranks = np.where(np.isnan(asked), -1, ranks).astype(np.int32)[None]
    orders = np.argsort(asked, kind="stable").astype(np.int32)[None]  # missing values last
    ranks.flags.writeable = orders.flags.writeable = False
    likelihood, places, missing_left = np.empty(1), np.empty(1, np.int64), np.empty(1, np.int64)
    stop = np.zeros(1, np.uint8)
    best_thresholds(rows, ranks, orders, least, likelihood, places, missing_left, stop)
    best = reference.best_threshold(twin_of(rows), asked, least)
    if best is None:
        assert places[0] == -1
        return
    found = asked[orders[0, places[0]]]
    goes_left = (asked <= found) | (np.isnan(asked) & bool(missing_left[0]))
    assert (found, bool(missing_left[0])) == (best.cut, best.missing_left)
    assert reference.gain(twin_of(rows), goes_left) == pytest.approx(best.gain, abs=1e-9)


@given(st.integers(0, 10_000))
def test_sets_of_few_categories_are_tried_one_and_all(seed: int) -> None:
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": generator.normal(size=24), "site": generator.choice(list("abcd"), 24)})
    frame.loc[generator.random(24) < 0.1, "site"] = None
    data = prepare_rows(table_of(frame))
    search = SplitSearch(data, ModelFamily(data.units.measurement_variance, data.units.start), 2)
    split = search._best_of_sets(1, np.arange(24, dtype=np.int32), 0.0)
    site = data.rows.codes[:, 0]
    best = reference.best_set(twin_of(data.rows), site, 2)
    assert split is not None
    assert best is not None
    goes_left = split.sends_left(data.table.columns[1])
    assert reference.gain(twin_of(data.rows), goes_left) == pytest.approx(best.gain, abs=1e-9)


def test_both_ways_of_summing_give_one_likelihood() -> None:
    rows, _ = random_rows(3)
    family = ModelFamily(rows.measurement_variance, np.array([0, 3, 6]))
    everything = np.arange(len(rows.weight), dtype=np.int32)
    group = everything.astype(np.int64) % 2
    total = family.log_likelihood(add_up_groups(rows, everything, group, 2, full=False)).sum()
    alone = family.log_likelihood(add_up_groups(rows, everything, group * 0, 1, full=False)).sum()
    assert total - alone == pytest.approx(reference.gain(twin_of(rows), group == 0), abs=1e-9)


# -- full covariance ------------------------------------------------------------------------------------


def test_the_likelihood_of_correlated_rows_is_that_of_one_gaussian() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3)) @ np.array([[1, 0.8, 0], [0, 1, 0.5], [0, 0, 1]])
    data = prepare_rows(table_of(X))
    family = ModelFamily(
        data.units.measurement_variance * 0 + 1e-12, data.units.start, full=True, shrinkage=0.0
    )
    everything, half = np.arange(40, dtype=np.int32), np.arange(40) % 2
    found = family.log_likelihood(add_up_groups(data.rows, everything, half, 2, full=True))
    for side in (0, 1):
        numbers = data.rows.numbers[half == side]
        covariance = np.cov(numbers.T, bias=True)
        expected = multivariate_normal(numbers.mean(axis=0), covariance).logpdf(numbers).sum()
        constant = -0.5 * 20 * 3 * (np.log(2 * np.pi) + 1)  # left out: all divisions have it in common
        assert found[side] + constant == pytest.approx(expected, abs=1e-6)


def test_correlations_shrink_by_their_uncertainty() -> None:
    # Two columns with r = 0.5 in n = 5 rows: the variance of r is (1 - 0.25)^2 / 4 = 0.140625, its square
    # 0.25, and 0.140625 / 0.25 = 0.5625.
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    y = x * 0.5 + np.sqrt(0.75) * np.array([2.0, -1.0, -2.0, -1.0, 2.0]) * np.sqrt(10 / 14)
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(0.5)
    rows = DensityRows(
        np.column_stack([x, y]), np.empty((5, 0), np.int32), 0, np.ones(5), np.ones(5, np.int64), np.zeros(2)
    )
    sums = add_up_groups(rows, np.arange(5, dtype=np.int32), np.zeros(5, np.int64), 1, full=True)
    family = ModelFamily(np.zeros(2), np.zeros(1, np.int64), full=True)
    assert family.intensity(sums, np.full((1, 2), 2.0)) == pytest.approx([0.5625])
    covariance = family.models(sums)[0].covariance
    assert covariance == pytest.approx(np.array([[2.0, 0.4375], [0.4375, 2.0]]))  # 2 * 0.5 * (1 - 0.5625)


def test_a_correlated_gaussian_is_one_cluster_if_correlations_are_known() -> None:
    X = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.95], [0.95, 1]], 600)
    assert grown(X, covariance="full").tree.n_leaves == 1
    assert grown(X, covariance="diagonal").tree.n_leaves > 1  # to independent columns a slope is structure


# -- how many clusters there are ------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("seed", range(5))
def test_three_separated_gaussians_are_three_clusters(seed: int, covariance: str) -> None:
    X, group = three_groups(seed=seed)
    density = grown(X, seed=seed, covariance=covariance)
    assert density.tree.n_leaves == 3
    assert len(set(zip(clusters_of(density, X), group, strict=True))) == 3  # the same groups, other names
    means = np.array([list(cluster.mean.values()) for cluster in density.clusters])
    for centre in THREE:
        assert np.abs(means - centre).max(axis=1).min() < 0.4


@pytest.mark.parametrize("seed", range(5))
def test_one_gaussian_is_one_cluster(seed: int) -> None:
    assert grown(np.random.default_rng(seed).normal(size=(300, 3)), seed=seed).tree.n_leaves == 1


def test_a_uniform_square_is_nearly_always_one_cluster() -> None:
    # Half of a uniform line is a uniform line: no question gains or loses, and chance decides.
    squares = [np.random.default_rng(seed).uniform(size=(200, 2)) for seed in range(20)]
    leaves = Counter(grown(X, seed=seed).tree.n_leaves for seed, X in enumerate(squares))
    assert leaves[1] >= 17


def test_whole_numbers_are_no_clusters_because_they_are_whole() -> None:
    # Without the measurement_variance of a step, each value would be a point of infinite density.
    dice = np.random.default_rng(0).integers(1, 7, (300, 2)).astype(float)
    assert grown(dice).tree.n_leaves == 1


def test_a_step_between_two_values_neither_gains_nor_loses() -> None:
    # 0 and 1 in steps of 1: variance 1/4 + 1/12 = 1/3 together, 1/12 apart. Per row the gain of the sides is
    # log(1/3 / (1/12)) / 2 = log 2, just what their fractions cost.
    data = prepare_rows(table_of(np.tile([[0.0], [1.0]], (50, 1))))
    assert (data.units.measurement_variance * data.units.scale**2).tolist() == pytest.approx([1 / 12])
    split = SplitSearch(
        data, ModelFamily(data.units.measurement_variance, data.units.start), 5
    ).find_best_split(np.argsort(data.ranks, kind="stable").astype(np.int32))
    assert split is not None
    assert split.gain / 100 == pytest.approx(np.log(2))


def test_a_narrow_group_inside_a_wide_one_is_found_though_no_first_question_pays() -> None:
    generator = np.random.default_rng(0)
    X = np.concatenate([generator.normal(0, 5, 500), generator.normal(0, 0.2, 500)])[:, None]
    density = grown(X)
    assert density.tree.n_leaves >= 3
    inner = density.clusters[clusters_of(density, [[0.0]])[0]]
    assert inner.fraction == pytest.approx(0.5, abs=0.05)
    assert inner.covariance[0, 0] < 0.1


def test_mixed_clusters_of_numbers_and_categories_are_found() -> None:
    generator = np.random.default_rng(0)
    group = generator.integers(0, 3, 600)
    frame = pd.DataFrame(
        {
            "dose": generator.normal(np.array([0.0, 6.0, 6.0])[group], 1.0),
            "ward": np.array(list("xxy"))[group],  # tells the two of one dose apart, with "noise"
            "noise": generator.choice(list("pqr"), 600),
            "stage": pd.Categorical(np.array(["I", "I", "III"])[group], ["I", "II", "III"], ordered=True),
        }
    )
    density = grown(frame)
    assert density.tree.n_leaves == 3
    cluster = clusters_of(density, frame)
    purity = sum(Counter(group[cluster == each]).most_common(1)[0][1] for each in range(3)) / 600
    assert purity > 0.99
    assert "noise" not in {density.tree.schema.names[feature] for feature in density.tree.feature}
    for number in range(3):
        frequency = density.clusters[number].frequency["ward"]
        n_rows, n_x = np.sum(cluster == number), np.sum((cluster == number) & (frame["ward"] == "x"))
        assert frequency["x"] == pytest.approx((n_x + 0.5) / (n_rows + 1))  # half a row for each of the two


def test_categories_that_say_nothing_of_each_other_are_one_cluster() -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({name: generator.choice(list("abc"), 500) for name in "uvw"})
    assert grown(frame).tree.n_leaves == 1


def test_many_categories_are_divided_along_one_line() -> None:
    generator = np.random.default_rng(0)
    code = generator.integers(0, 40, 2000)
    frame = pd.DataFrame({"site": [f"s{each:02}" for each in code], "x": generator.normal(code % 2 * 4, 1.0)})
    # Four deviations apart, so that a few rows of every site overlap: the site tells better than the number.
    tree = grown(frame, max_leaf_nodes=2).tree
    assert tree.schema.names[tree.feature[0]] == "site"
    assert tree.left_categories(0).tolist() in (
        [each % 2 == 0 for each in range(40)],
        [each % 2 == 1 for each in range(40)],
    )


def test_an_ordered_column_is_asked_by_its_order_and_counted_by_its_categories() -> None:
    group = np.repeat([0, 1], 150)
    grades = np.random.default_rng(0).integers(0, 2, 300) + 2 * group
    frame = pd.DataFrame(
        {
            "grade": pd.Categorical(np.array(list("ABCD"))[grades], list("ABCD"), ordered=True),
            "x": np.random.default_rng(1).normal(10 * group, 1.0),
        }
    )
    density = grown(frame)
    assert density.tree.rules().startswith("IF   grade at most B")
    assert list(density.clusters[0].frequency["grade"].values()) == pytest.approx([0.5, 0.5, 0, 0], abs=0.1)


# -- evidence -------------------------------------------------------------------------------------------


def test_the_evidence_is_the_likelihood_of_rows_that_the_search_did_not_see() -> None:
    X = np.concatenate([np.random.default_rng(0).normal(centre, 1.0, 100) for centre in (0, 9)])[:, None]
    density = grown(X, seed=4)
    data = prepare_rows(table_of(X))
    is_held = draw_holdout(
        data, 0.3, 4
    )  # no row lies in the gap, so that moving the threshold changes nothing
    assert is_held.sum() == 60
    (evidence,) = density.evidence
    z, measurement_variance = data.rows.numbers[:, 0], data.units.measurement_variance[0]
    left = data.table.columns[0] <= density.tree.threshold[0]

    def log_density(inside: np.ndarray) -> np.ndarray:
        seen = z[inside & ~is_held]
        variance = seen.var() + measurement_variance
        return norm.logpdf(z, seen.mean(), np.sqrt(variance)) - measurement_variance / (2 * variance)

    alone = log_density(np.ones(200, bool))
    of_sides = np.where(
        left,
        log_density(left) + np.log(np.mean(left[~is_held])),
        log_density(~left) + np.log(np.mean(~left[~is_held])),
    )
    together = np.log((1 - STRAYS) * np.exp(of_sides) + STRAYS * np.exp(alone))
    difference = (together - alone)[is_held]
    assert (evidence.node, evidence.count) == (0, 60)
    assert evidence.gain == pytest.approx(difference.sum())
    assert evidence.standard_error == pytest.approx(difference.std(ddof=1) * np.sqrt(60))


def test_a_few_stray_rows_do_not_hide_the_clusters() -> None:
    X, _ = three_groups()
    strays = np.random.default_rng(1).uniform(-20, 20, (2, 2))
    assert all(grown(np.concatenate([X, strays]), seed=seed).tree.n_leaves >= 3 for seed in range(5))


def test_repeated_rows_are_no_evidence() -> None:
    noise = np.random.default_rng(0).normal(size=(40, 2))
    once, often = grown(noise), grown(np.repeat(noise, 10, axis=0))
    assert once.tree.n_leaves == often.tree.n_leaves == 1


def test_rows_of_few_categories_are_observations_and_no_copies() -> None:
    frame = pd.DataFrame({"a": list("pq") * 100, "b": list("pq") * 100})
    assert prepare_rows(table_of(frame)).table.n_rows == 200
    assert grown(frame).tree.n_leaves == 2


def test_without_rows_held_out_the_limits_alone_end_growth() -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    density = grown(X, validation=None, max_leaf_nodes=4)
    assert density.tree.n_leaves == 4
    assert density.evidence == ()
    assert grown(X, validation=None, max_depth=2, min_samples_leaf=10).tree.depth == 2
    assert grown(X, validation=None, min_samples_leaf=0.2).tree.count.min() >= 20


@pytest.mark.parametrize("validation", [0.3, None])
def test_many_clusters_need_many_questions(validation: float | None) -> None:
    centres = np.repeat(np.arange(16) * 20.0, 40)
    X = np.random.default_rng(0).normal(centres, 1.0)[:, None]
    density = grown(X, validation=validation, max_leaf_nodes=16)
    assert density.tree.n_leaves == 16
    purest = Counter(zip(clusters_of(density, X), centres, strict=True)).most_common(16)
    assert sum(count for _, count in purest) > 0.98 * len(X)


def test_of_few_leaves_the_questions_that_gain_most_come_first() -> None:
    X, _ = three_groups()
    X[X[:, 1] > 4, 1] += 30.0  # the third group is now far away
    tree = grown(X, max_leaf_nodes=2).tree
    assert tree.n_leaves == 2
    assert tree.feature[0] == 1


# -- what must not matter -------------------------------------------------------------------------------


def same_trees(one: Density, other: Density) -> bool:
    names = ("feature", "threshold", "left", "right", "value", "weight", "count")
    return all(
        np.array_equal(getattr(one.tree, name), getattr(other.tree, name), equal_nan=True) for name in names
    )


def test_the_order_of_the_rows_does_not_matter() -> None:
    X, _ = three_groups()
    shuffled = X[np.random.default_rng(1).permutation(len(X))]
    assert same_trees(grown(X), grown(shuffled))


def test_units_do_not_matter() -> None:
    X, _ = three_groups()
    one, other = grown(X), grown(X * [1000.0, 1.0] + [0.0, 50.0])
    assert one.tree.feature.tolist() == other.tree.feature.tolist()
    scale = np.where(one.tree.feature == 0, 1000.0, 1.0)
    shift = np.where(one.tree.feature == 1, 50.0, 0.0)
    assert other.tree.threshold == pytest.approx(one.tree.threshold * scale + shift, nan_ok=True)
    # A density is per unit: a thousand times as many units, each with a thousandth of it.
    columns = tuple(X.T)
    moved = other.log_density((X[:, 0] * 1000, X[:, 1] + 50))
    assert moved == pytest.approx(one.log_density(columns) - np.log(1000))


def test_a_row_twice_is_a_weight_of_two_and_no_weight_is_no_row() -> None:
    X, _ = three_groups(40)
    twice, none = np.arange(30), np.arange(30, 35)
    weight = np.ones(len(X))
    weight[twice], weight[none] = 2.0, 0.0
    written_out = np.concatenate([np.delete(X, none, axis=0), X[twice]])
    assert same_trees(grown(X, weight), grown(written_out))


def test_the_scale_of_weights_that_are_not_whole_does_not_matter() -> None:
    X, _ = three_groups(40)
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(X))
    one, other = grown(X, weight), grown(X, weight * 1e-12)
    assert one.tree.threshold.tolist() == pytest.approx(other.tree.threshold.tolist(), nan_ok=True)
    assert other.tree.weight == pytest.approx(one.tree.weight * 1e-12)


def test_thresholds_lie_half_way_between_all_rows_whichever_are_held_out() -> None:
    X = np.concatenate([np.arange(50.0), np.arange(500.0, 550.0)])[:, None]
    assert {grown(X, seed=seed, max_leaf_nodes=2).tree.threshold[0] for seed in range(5)} == {274.5}


def test_of_equal_columns_the_first_is_asked() -> None:
    X, _ = three_groups()
    assert set(grown(np.column_stack([X, X])).tree.feature) <= {-1, 0, 1}


# -- missing and odd values -----------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_clusters_are_found_though_values_are_missing(covariance: str) -> None:
    X, group = three_groups(100)
    X = np.column_stack([X, X + np.random.default_rng(1).normal(0, 0.5, X.shape)])
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    # With a full covariance, the rows that more than half of the seeds hold out speak for one cluster alone.
    found = [grown(X, seed=seed, covariance=covariance) for seed in range(12)]
    divided = [density for density in found if density.tree.n_leaves >= 3]
    assert len(divided) >= 2
    for density in divided:
        cluster = clusters_of(density, X)
        purity = sum(Counter(group[cluster == each]).most_common(1)[0][1] for each in set(cluster)) / len(X)
        assert purity > 0.8  # a row whose asked value is missing may take the wrong side


def test_missing_values_follow_the_side_that_they_resemble() -> None:
    X, group = three_groups()
    X = np.column_stack([X[:, 0], X[:, 0] + np.random.default_rng(1).normal(size=len(X))])
    X[(group == 1) & (np.arange(300) % 2 == 0), 0] = np.nan  # of the group at 8, half are not known
    tree = grown(X, max_depth=1).tree
    assert tree.feature[0] == 0 or tree.n_leaves == 2
    assert tree.feature[0] != 0 or not tree.missing_left[0]


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
def test_rows_without_any_difference_are_one_cluster() -> None:
    same = grown(np.full((20, 2), 7.0))
    assert same.tree.n_leaves == 1
    assert same.log_density((np.array([7.0]), np.array([3.0]))).tolist() == [0.0]  # it takes no part
    assert grown([[1.0, 2.0]]).tree.n_leaves == 1
    empty = np.column_stack([np.full(90, np.nan), np.random.default_rng(0).normal(size=90)])
    assert grown(empty).tree.n_leaves == 1


def test_huge_and_tiny_numbers_are_measured_like_others() -> None:
    X, _ = three_groups()
    for factor in (1e300, 1e-300):
        density = grown(X * factor)
        assert density.tree.n_leaves == 3
        assert np.isfinite(density.log_density(tuple((X * factor).T))).all()


# -- the tree is a tree ---------------------------------------------------------------------------------


def test_the_tree_is_read_saved_and_compared_like_any_other(tmp_path: Path) -> None:
    X, _ = three_groups()
    density = grown(X)
    save(density.tree, tmp_path / "clusters.json")
    loaded = load(tmp_path / "clusters.json")
    assert loaded.schema.target.name == "cluster"
    assert loaded.schema.target.classes == (0, 1, 2)
    assert tree_distance(loaded, density.tree).total == 0.0
    assert loaded.predict(X).tolist() == clusters_of(density, X).tolist()
    assert "THEN cluster = 2" in loaded.rules()
    assert loaded.to_svg().startswith("<svg")
    # Three equal clusters: log2(3) bits at the root, 1 where two are left, none at a leaf.
    assert sorted(loaded.impurity) == pytest.approx([0, 0, 0, 1, np.log2(3)])
    assert loaded.value[0] == pytest.approx(np.full(3, 1 / 3))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"covariance": "round"}, "covariance='round' is unknown"),
        ({"shrinkage": 1.5}, "shrinkage=1.5 is out of range"),
        ({"shrinkage": "much"}, "shrinkage='much' is out of range"),
        ({"validation": 1.0}, "validation=1.0 is out of range"),
        ({"evidence": -1.0}, "evidence=-1.0 is out of range"),
        ({"max_depth": 0}, "max_depth=0 is out of range"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes=1 is out of range"),
        ({"min_samples_leaf": 0}, "min_samples_leaf=0 is out of range"),
    ],
)
def test_a_rule_out_of_range_is_refused(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        DensityRules(**rules)
