"""size="auto": the alpha and the smallest leaf, by the same folds."""

import numpy as np
import pytest

from holdfast import GrowthRules, ParameterError, Table, TreeClassifier, TreeRegressor, load, save
from holdfast.growth import SizeSearch, choose_size, choose_size_and_leaf

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
Y = np.where(RNG.random(240) < 1 / (1 + np.exp(-2 * X[:, 0])), "yes", "no")
TABLE = Table.from_arrays(X, Y)
SEARCH = SizeSearch(cv=5)


@pytest.fixture(scope="module")
def model() -> TreeClassifier:
    return TreeClassifier(size="auto", cv=5).fit(X, Y)


def test_it_is_the_best_of_the_trees_that_folds_choose_for_each_smallest_leaf(model: TreeClassifier) -> None:
    one_by_one = {
        least: choose_size(TABLE, GrowthRules(min_samples_leaf=least), search=SEARCH).sizes
        for least in (1, 5, 10, 20, 50)
    }
    scores = {least: sizes.score[sizes.chosen] for least, sizes in one_by_one.items()}
    assert model.min_samples_leaf_ == max(scores, key=lambda least: (scores[least], least))
    assert model.size_table_.score.max() == max(scores.values())
    assert model.ccp_alpha_ == model.size_table_.chosen_value
    leaves = np.unique(model.apply(X))
    assert model.tree_.count[leaves].min() >= model.min_samples_leaf_


def test_the_given_smallest_leaf_is_the_least_that_is_tried() -> None:
    found = choose_size_and_leaf(TABLE, GrowthRules(min_samples_leaf=7), search=SEARCH)
    assert list(found.by_leaf) == [7, 10, 20, 50]
    few = choose_size_and_leaf(TABLE.subset(np.arange(240) < 30), search=SEARCH)
    assert list(few.by_leaf) == [1, 5]


def test_numbers_have_it_too_and_a_file_keeps_it(tmp_path) -> None:
    model = TreeRegressor(size="auto", cv=4).fit(X, X[:, 0] + RNG.normal(size=240))
    assert model.min_samples_leaf_ > 1
    save(model, tmp_path / "model.json")
    assert load(tmp_path / "model.json").min_samples_leaf_ == model.min_samples_leaf_


def test_it_goes_with_shrunk_leaves(model: TreeClassifier) -> None:
    shrunk = TreeClassifier(size="auto", cv=5, leaf_values="shrunk").fit(X, Y)
    assert np.array_equal(shrunk.tree_.feature, model.tree_.feature)
    assert shrunk.shrinkage_ > 0


@pytest.mark.parametrize(
    "other", [{"ccp_alpha": "cv"}, {"max_depth": "cv"}, {"reduced_error": 0.3}, {"ccp_alpha": 0.01}]
)
def test_one_way_to_choose_a_size_is_enough(other) -> None:
    with pytest.raises(ParameterError, match="each choose the size of the tree"):
        TreeClassifier(size="auto", **other).fit(X, Y)


def test_another_word_is_refused() -> None:
    with pytest.raises(ParameterError, match="size='small' is unknown: give 'auto'"):
        TreeClassifier(size="small").fit(X, Y)
