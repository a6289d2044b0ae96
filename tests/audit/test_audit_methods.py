"""Methods by name, as estimators and as functions, and the seeds that they get."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from holdfast import TreeClassifier
from holdfast.audit.cart import GRID, CartClassifier, CartRegressor
from holdfast.audit.changes import CHANGES
from holdfast.audit.methods import KNOWN, default_names, made, maker, methods_of, named_methods
from holdfast.audit.names import CHANGE_NAMES, METHOD_NAMES
from holdfast.data.schema import Target
from holdfast.errors import ParameterError
from holdfast.stability.selection import METHODS

CLASSES, NUMBERS = Target(classes=("no", "yes")), Target()


def test_every_name_has_its_method_and_every_change_its_function() -> None:
    assert set(METHOD_NAMES) <= set(KNOWN)
    assert tuple(CHANGES) == CHANGE_NAMES
    for name in METHOD_NAMES:
        estimator = made(name, True, 5)
        assert estimator.get_params()["random_state"] == 5


def test_centred_trees_are_audited_as_soon_as_there_are_some() -> None:
    assert ("centred" in METHOD_NAMES) == ("centred-8" in METHOD_NAMES) == ("centred" in METHODS)


def test_centred_trees_of_two_sizes_are_audited_by_default() -> None:
    for target in (CLASSES, NUMBERS):
        names = default_names(target)
        assert names.index("centred") + 1 == names.index("centred-8") < names.index("forest")
        large, small = (made(name, target.is_classes, 3) for name in ("centred", "centred-8"))
        assert (large.method, small.method) == ("centred", "centred")
        assert (large.max_leaf_nodes, small.max_leaf_nodes) == ("auto", 8)
    assert [method.title for method in methods_of(None, CLASSES)][4:6] == [
        "the centred tree",
        "the centred tree of 8 leaves",
    ]


def test_the_defaults_depend_on_the_target() -> None:
    assert default_names(CLASSES)[:3] == ("cart-cv", "pruned-1se", "c4.5")
    assert "c4.5" not in default_names(NUMBERS)
    assert "bootstrap" not in default_names(CLASSES)
    assert [method.name for method in methods_of(None, NUMBERS)] == list(default_names(NUMBERS))


def test_a_list_is_named_by_classes_and_numbered() -> None:
    named = named_methods([TreeClassifier(), "forest", TreeClassifier(max_depth=1)])
    assert named is not None
    assert list(named) == ["TreeClassifier", "forest", "TreeClassifier 2"]
    assert list(named_methods("forest") or ()) == ["forest"]
    assert list(named_methods(TreeClassifier()) or ()) == ["TreeClassifier"]


def test_seeds_reach_every_part_and_the_estimator_stays_as_it_is() -> None:
    search = GridSearchCV(RandomForestClassifier(random_state=1), {"max_depth": [1]})
    assert maker(search)(7).estimator.random_state == 7
    assert search.estimator.random_state == 1


def test_functions_of_a_seed_or_of_nothing_make_estimators() -> None:
    assert maker(lambda seed: DecisionTreeClassifier(random_state=seed + 1))(7).random_state == 8
    assert maker(lambda: DecisionTreeClassifier(max_depth=3))(7).random_state == 7
    assert maker(lambda depth=2: DecisionTreeClassifier(max_depth=depth))(7).max_depth == 2


def test_cart_takes_the_cell_of_the_grid_that_scores_best_on_folds() -> None:
    chance = np.random.default_rng(0)
    X = chance.normal(size=(150, 3))
    y = np.where(X[:, 0] + 0.5 * chance.normal(size=150) > 0, "yes", "no")
    model = CartClassifier(random_state=3).fit(X, y, groups=np.arange(150) // 2)
    assert model.get_depth() <= max(GRID["max_depth"])
    assert model.tree_.count[model.tree_.left == -1].min() >= min(GRID["min_samples_leaf"])
    assert model.score(X, y) > 0.8
    again = CartClassifier(random_state=3).fit(X[::-1], y[::-1], groups=np.arange(150)[::-1] // 2)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    number = CartRegressor().fit(X, X[:, 0])
    assert number.score(X, X[:, 0]) > 0.8


@pytest.mark.parametrize(
    ("name", "library"), [("optimal", "pystreed"), ("near-optimal-nearest", "arborenum")]
)
def test_a_method_whose_library_is_missing_says_what_to_install(
    name: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.audit.methods.find_spec", lambda _: None)
    with pytest.raises(
        ParameterError, match=f"'{name}' needs {library}, which is not installed: pip install {library}"
    ):
        named_methods([name])
    assert named_methods(["forest"]) == {"forest": "forest"}


def test_solvers_are_asked_only_by_name() -> None:
    for target in (CLASSES, NUMBERS):
        assert not {"optimal", "near-optimal", "near-optimal-nearest"} & set(default_names(target))


def test_an_estimator_of_no_known_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="neither an estimator nor a function"):
        named_methods({"x": object()})
