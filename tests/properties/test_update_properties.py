"""Updates lose nothing: a region without new rows keeps what the deployed tree knows of it."""

import os
import sys
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from holdfast import DataWarning, StableTreeClassifier, StableTreeRegressor, load, save
from holdfast.tree.check import check_tree
from holdfast.tree.monotone import count_violations
from holdfast.tree.stats import class_counts
from holdfast.tree.tree import LEAF

N_UPDATES = int(os.environ.get("HOLDFAST_UPDATES", "24"))  # 2,000 before a release
HOWS = ("nearest", "nearest", "nearest", "refit", "keep")
FEW = 5  # a leaf that fewer new rows reach is kept


def random_rows(rng, n_rows, target, *, part=False):
    """Two numbers, a category and missing values; `part` leaves regions of these without rows."""
    x, z = rng.uniform(0, 10, n_rows).round(1), rng.normal(0, 1, n_rows).round(2)
    ward = rng.choice(["a", "b", "c"], n_rows)
    if part:
        x, ward = x * rng.choice([0.2, 0.4, 0.7]), np.where(rng.random() < 0.5, "a", ward)
    z[rng.random(n_rows) < 0.1] = np.nan
    signal = np.sin(x * rng.choice([0.5, 1.0])) + 0.8 * (ward == "b") + 0.3 * np.nan_to_num(z)
    noisy = signal + rng.normal(0, 0.7, n_rows)
    if target == "number":
        y = noisy * 100.0
    else:
        y = np.array(["low", "middle", "high"])[np.digitize(noisy, [0.2, 1.0] if target == 3 else [0.4])]
    return pd.DataFrame({"x": x, "z": z, "ward": ward}), y


def random_update(seed):
    """A fitted model, the tree that it was deployed with, and its update by rows of some regions."""
    rng = np.random.default_rng(seed)
    target = (2, 2, 3, "number")[seed % 4]
    make = StableTreeRegressor if target == "number" else StableTreeClassifier
    model = make(
        n_estimators=4,
        teacher="linear",
        validation=None,
        max_leaf_nodes=int(rng.integers(3, 9)),
        leaf_values=("teacher", "labels")[seed % 2],
        random_state=seed,
    )
    weights = [None, None]
    if rng.random() < 0.3:
        weights = [rng.uniform(0.5, 2.0, 150), rng.integers(1, 4, 80).astype(float)]
    X, y = random_rows(rng, 150, target)
    model.fit(X, y, weights[0])
    deployed = model.tree_
    new = random_rows(rng, 80, target, part=rng.random() < 0.8)
    warnings.simplefilter("ignore", DataWarning)  # of a column that has one value in the new rows
    model.update(
        *new,
        weights[1],
        strategy=str(rng.choice(HOWS)),
        prior_rows=[None, None, 0, 40][rng.integers(4)],
        validation=[None, 1 / 3][seed % 2],
        force=True,
    )
    return model, deployed, new[0], weights[1]  # whole weights are numbers of rows


def check_update(seed, tmp_path):
    model, deployed, new, n_copies = random_update(seed)
    rng = np.random.default_rng(seed)
    probes = random_rows(rng, 400, 2)[0]
    before = deployed.apply(probes)
    n_reach = np.bincount(deployed.apply(new), n_copies, deployed.n_nodes)
    # Without a prior, the new rows alone decide wherever there are any.
    is_without = n_reach[before] < (FEW if model.update_.settings.prior_rows > 0 else 1)
    for step in model.update_.steps:
        tree = step.tree
        check_tree(tree)
        assert (tree.weight > 0).all()
        assert (tree.count > 0).all()
        leaf = tree.apply(probes)
        kept, source = leaf[is_without], before[is_without]
        assert np.array_equal(tree.value[kept], deployed.value[source]), (seed, step.kind)
        assert np.array_equal(tree.count[kept], deployed.count[source]), (seed, step.kind)
        if tree.schema.target.is_classes:
            assert np.allclose(class_counts(tree)[kept], class_counts(deployed)[source])
            assert np.array_equal(tree.outcome[kept], deployed.outcome[source])
    for number in range(len(model.update_.steps)):
        assert (
            model.select_step(number, force=True).tree_.n_leaves == model.update_.steps[number].tree.n_leaves
        )
    save(model, tmp_path / "model.json")
    assert np.array_equal(load(tmp_path / "model.json").tree_.value, model.tree_.value)


@pytest.mark.parametrize("seed", range(N_UPDATES))
def test_a_region_without_new_rows_keeps_what_is_known_of_it(seed, tmp_path):
    check_update(seed, tmp_path)


@pytest.mark.parametrize("target", [2, 3, "number"])
@pytest.mark.parametrize("n_few", [1, 4])
def test_a_leaf_that_few_rows_reach_is_kept_although_all_rates_have_moved(target, n_few):
    rng = np.random.default_rng(7)

    def rows(n_rows, shift):
        x, z = rng.uniform(0, 10, n_rows), rng.normal(size=n_rows)
        noisy = (x > 3) * 1.0 + (x > 6) + 0.5 * z + shift + rng.normal(0, 0.7, n_rows)
        names = np.array(["a", "b", "c"])
        y = 100 * noisy if target == "number" else names[np.digitize(noisy, [0.8, 1.8][: target - 1])]
        return pd.DataFrame({"x": x, "z": z}), y

    make = StableTreeRegressor if target == "number" else StableTreeClassifier
    model = make(n_estimators=4, teacher="linear", validation=None, max_leaf_nodes=6, random_state=0)
    model.fit(*rows(600, 0.0))
    deployed = model.tree_
    X, y = rows(600, 1.2)
    is_there = deployed.apply(X) == deployed.apply(X)[X.x.argmax()]
    is_new = (X.x < 6).to_numpy() & ~is_there
    is_new[np.flatnonzero(is_there)[:n_few]] = True
    model.update(X[is_new], y[is_new], force=True)
    n_reach = np.bincount(deployed.apply(X[is_new]), minlength=deployed.n_nodes)
    leaves = np.flatnonzero((deployed.feature == LEAF) & (n_reach > 0) & (n_reach < FEW))
    assert len(leaves)
    probes = rows(400, 0.0)[0]
    is_few = np.isin(deployed.apply(probes), leaves)
    source = deployed.apply(probes)[is_few]
    for step in model.update_.steps:
        kept = step.tree.apply(probes)[is_few]
        assert np.array_equal(step.tree.value[kept], deployed.value[source])
        assert np.array_equal(step.tree.count[kept], deployed.count[source])
        assert np.allclose(step.tree.weight[kept], deployed.weight[source])
    assert model.update_.n_behind == pytest.approx(model.update_.steps[1].tree.count[0], abs=3)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("is_ordered", [False, True])
def test_a_second_update_keeps_weights_and_values_that_are_in_order(seed, is_ordered):
    rng = np.random.default_rng(seed)
    target = (2, "number")[seed % 2]
    make = StableTreeRegressor if target == "number" else StableTreeClassifier
    order = {"monotonic_cst": {"z": 1}} if is_ordered else {}
    model = make(
        n_estimators=4, teacher="linear", validation=None, max_leaf_nodes=8, random_state=seed, **order
    )
    model.fit(*random_rows(rng, 150, target))
    model.update(*random_rows(rng, 80, target, part=True), force=True)
    deployed = model.tree_
    new = random_rows(rng, 80, target, part=True)
    model.update(*new, force=True)
    probes = random_rows(rng, 400, 2)[0]
    n_reach = np.bincount(deployed.apply(new[0]), minlength=deployed.n_nodes)
    is_without = n_reach[deployed.apply(probes)] < FEW
    source = deployed.apply(probes)[is_without]
    for step in model.update_.steps:
        kept = step.tree.apply(probes)[is_without]
        assert count_violations(step.tree) == 0
        assert np.array_equal(step.tree.value[kept], deployed.value[source])
        assert np.array_equal(step.tree.weight[kept], deployed.weight[source])


def test_a_step_with_more_leaves_than_both_trees_is_no_error():
    rng = np.random.default_rng(18)
    n_leaves = int(rng.integers(3, 9))
    model = StableTreeClassifier(
        n_estimators=4, teacher="linear", validation=None, max_leaf_nodes=n_leaves, random_state=18
    )
    X, y = random_rows(rng, 150, 3)
    is_given = rng.random(80) >= 0.5
    model.fit(X, y)
    X, y = random_rows(rng, 80, 3, part=True)
    model.update(X[is_given], y[is_given])
    assert len(model.update_.steps) >= 2


@pytest.mark.parametrize("seed", [3, 4, 5, 6])
def test_no_rows_are_refused_and_change_nothing(seed):
    model, _, new, _ = random_update(seed)
    before = model.tree_
    with pytest.raises(ValueError, match="0 sample"):
        model.update(new[:0], [])
    assert model.tree_ is before


@pytest.mark.parametrize("how", ["update", "shortest-path"])
@pytest.mark.parametrize("seed", range(8))
def test_stages_keep_regions_without_rows(seed, how):
    rng = np.random.default_rng(seed)
    target = (2, 2, 3, "number")[seed % 4]
    make = StableTreeRegressor if target == "number" else StableTreeClassifier
    sizes = [150, 60, 60]
    parts = [random_rows(rng, n_rows, target, part=n_rows == 60) for n_rows in sizes]
    X, y = pd.concat([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    weight = rng.uniform(0.5, 2.0, len(y)) if seed % 3 == 0 else None
    model = make(n_estimators=4, teacher="linear", validation=None, max_leaf_nodes=6, random_state=seed)
    options = {"strategy": how, "memory": "stage", "tolerance": [None, 0.02][seed % 2]}
    if how == "shortest-path":
        options["hindsight"] = seed >= 4
    model.fit_stages(X, y, weight, stage=np.repeat([1, 2, 3], sizes), **options)
    probes = random_rows(rng, 400, 2)[0]
    for stages in (model.stages_.stages, model.stages_.then):
        for number, (first, last) in enumerate(pairwise([stage.tree for stage in stages]), 1):
            check_tree(last)
            assert (last.weight > 0).all()
            is_without = ~np.isin(first.apply(probes), first.apply(parts[number][0]))
            kept, source = last.apply(probes)[is_without], first.apply(probes)[is_without]
            assert np.array_equal(last.value[kept], first.value[source])
            assert np.array_equal(last.count[kept], first.count[source])
            assert last.n_leaves == np.count_nonzero(last.feature == LEAF)


if __name__ == "__main__":  # python tests/properties/test_update_properties.py 0 2000
    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for each in range(int(sys.argv[1]), int(sys.argv[2])):
            check_update(each, pathlib.Path(folder))
    print(f"{int(sys.argv[2]) - int(sys.argv[1])} updates lose nothing.")
