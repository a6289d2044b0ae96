"""The kinds of leaf values of a single tree: labels, shrunk, honest."""

import numpy as np
import pytest

from holdfast import ParameterError, TreeClassifier, TreeRegressor, load, save

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
RISK = 1 / (1 + np.exp(-1.5 * X[:, 0]))
Y = np.where(RNG.random(400) < RISK, "yes", "no")
X_NEW = RNG.normal(size=(2000, 5))
Y_NEW = np.where(RNG.random(2000) < 1 / (1 + np.exp(-1.5 * X_NEW[:, 0])), "yes", "no")


@pytest.fixture(scope="module")
def models() -> dict[str, TreeClassifier]:
    kinds = ("labels", "shrunk", "honest")
    return {kind: TreeClassifier(min_samples_leaf=3, leaf_values=kind, cv=5).fit(X, Y) for kind in kinds}


def test_shrunk_leaves_ask_the_same_and_say_neither_0_nor_1(models) -> None:
    plain, shrunk = models["labels"].tree_, models["shrunk"].tree_
    assert np.array_equal(plain.feature, shrunk.feature)
    assert 0 < shrunk.value.min() < shrunk.value.max() < 1
    assert models["shrunk"].shrinkage_ > 0


def test_shrunk_and_honest_leaves_have_a_better_log_loss_than_those_of_the_labels(models) -> None:
    def log_loss(model: TreeClassifier) -> float:
        of_truth = model.predict_proba(X_NEW)[np.arange(2000), (Y_NEW == "yes").astype(int)]
        return float(-np.log(np.clip(of_truth, 1e-3, 1)).mean())

    loss = {kind: log_loss(model) for kind, model in models.items()}
    assert loss["shrunk"] < 0.8 * loss["labels"]
    assert loss["honest"] < loss["labels"]


def test_honest_leaves_count_the_rows_that_had_no_part_in_the_questions(models) -> None:
    tree = models["honest"].tree_
    assert tree.count[0] == pytest.approx(200, abs=1)
    noise = np.where(RNG.random(400) < 0.5, "yes", "no")
    honest = TreeClassifier(leaf_values="honest").fit(X, noise).tree_
    plain = TreeClassifier().fit(X, noise).tree_

    def error(tree):  # of a question that says nothing, the fractions should be near one half
        leaves = tree.feature == -1
        return np.average(tree.value[leaves].max(axis=1), weights=tree.count[leaves])

    assert error(plain) == 1.0
    assert error(honest) < 1.0


def test_no_group_is_on_both_sides_of_honest_leaves() -> None:
    groups = np.repeat(np.arange(100), 4)
    model = TreeClassifier(leaf_values="honest").fit(X, Y, groups=groups)
    assert model.tree_.count[0] % 4 == 0


def test_the_order_of_the_rows_does_not_matter() -> None:
    order = np.random.default_rng(1).permutation(400)
    for kind in ("shrunk", "honest"):
        one, other = (
            TreeClassifier(max_depth=4, leaf_values=kind, cv=5).fit(X[rows], Y[rows]).tree_
            for rows in (np.arange(400), order)
        )
        assert np.array_equal(one.value, other.value)


def test_shrunk_leaves_go_with_a_size_that_folds_choose() -> None:
    model = TreeClassifier(ccp_alpha="cv", leaf_values="shrunk", cv=5).fit(X, Y)
    assert model.size_table_.chosen_value == model.ccp_alpha_
    assert model.tree_.value.min() > 0


def test_numbers_are_shrunk_towards_the_mean() -> None:
    y = X[:, 0] + RNG.normal(size=400)
    plain, shrunk = (TreeRegressor(leaf_values=kind, cv=5).fit(X, y) for kind in ("labels", "shrunk"))
    assert shrunk.predict(X).std() < plain.predict(X).std()
    assert shrunk.score(X_NEW, X_NEW[:, 0]) > plain.score(X_NEW, X_NEW[:, 0])


def test_a_file_keeps_shrunk_values_and_the_strength(models, tmp_path) -> None:
    save(models["shrunk"], tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.shrinkage_ == models["shrunk"].shrinkage_
    assert np.array_equal(loaded.predict_proba(X_NEW), models["shrunk"].predict_proba(X_NEW))


def test_a_single_tree_has_no_teacher() -> None:
    with pytest.raises(
        ParameterError, match="leaf_values='teacher' is unknown: choose 'labels', 'shrunk' or 'honest'"
    ):
        TreeClassifier(leaf_values="teacher").fit(X, Y)


def test_rows_that_cannot_be_divided_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be divided"):
        TreeClassifier(leaf_values="honest").fit(X, Y, groups=np.zeros(400))
