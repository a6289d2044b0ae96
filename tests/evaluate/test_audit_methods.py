"""Methods by name, as estimators and as functions, and the seeds that they get."""

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from holdfast import TreeClassifier, compare_models
from holdfast.errors import ParameterError
from holdfast.evaluate.changes import CHANGES
from holdfast.evaluate.methods import (
    AUDITED_METHODS,
    CHANGE_NAMES,
    COMPARED_METHODS,
    FIT_METHODS,
    METHOD_NAMES,
    METHODS,
    list_default_names,
    make_estimator,
    make_seeded,
    read_models,
)


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_every_name_makes_an_estimator_of_the_task_and_its_parameters(name: str) -> None:
    estimator = make_estimator(name, random_state=5)
    assert type(estimator).__name__ == f"{METHODS[name].estimator}Classifier"
    assert estimator.get_params()["random_state"] == 5
    if METHODS[name].for_regression:
        assert make_estimator(name, "regression").__sklearn_tags__().estimator_type == "regressor"


def test_parameters_that_are_given_go_before_those_of_the_name() -> None:
    assert make_estimator("consensus-8").max_leaf_nodes == 8
    assert make_estimator("consensus-8", max_leaf_nodes=5).max_leaf_nodes == 5
    assert make_estimator("c4.5").growth_rules.criterion == "gain_ratio"


def test_the_commands_offer_names_of_the_registry_and_c45_for_classes_only() -> None:
    assert {*FIT_METHODS, *COMPARED_METHODS, *AUDITED_METHODS} <= set(METHOD_NAMES)
    assert tuple(CHANGES) == CHANGE_NAMES
    assert list_default_names(AUDITED_METHODS, "classification") == AUDITED_METHODS
    assert "c4.5" not in list_default_names(AUDITED_METHODS, "regression")
    with pytest.raises(ParameterError, match=r"'c4\.5' is for classes"):
        make_estimator("c4.5", "regression")
    with pytest.raises(ParameterError, match=r"'oak' is unknown"):
        make_estimator("oak")


def test_models_are_compared_by_their_names_too() -> None:
    X = [[float(age), float(age % 7)] for age in range(60)]
    y = ["no" if age < 30 else "yes" for age in range(60)]
    found = compare_models(["tree", "c4.5"], X, y, cv=2, scoring="accuracy", random_state=3)
    own = {name: make_estimator(name, random_state=3) for name in ("tree", "c4.5")}
    assert found == compare_models(own, X, y, cv=2, scoring="accuracy", random_state=3)


def test_a_list_is_named_by_classes_and_numbered() -> None:
    named = read_models([TreeClassifier(), "forest", TreeClassifier(max_depth=1)])
    assert list(named) == ["TreeClassifier", "forest", "TreeClassifier 2"]
    assert list(read_models("forest")) == ["forest"]
    assert list(read_models(TreeClassifier())) == ["TreeClassifier"]


def test_seeds_reach_every_part_and_the_estimator_stays_as_it_is() -> None:
    search = GridSearchCV(RandomForestClassifier(random_state=1), {"max_depth": [1]})
    assert make_seeded(search, "classification", 7).estimator.random_state == 7
    assert search.estimator.random_state == 1


def test_functions_of_a_seed_or_of_nothing_make_estimators() -> None:
    assert (
        make_seeded(
            lambda seed: DecisionTreeClassifier(random_state=seed + 1), "classification", 7
        ).random_state
        == 8
    )
    assert make_seeded(lambda: DecisionTreeClassifier(max_depth=3), "classification", 7).random_state == 7
    assert (
        make_seeded(lambda depth=2: DecisionTreeClassifier(max_depth=depth), "classification", 7).max_depth
        == 2
    )


def test_an_estimator_of_no_known_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="neither an estimator nor a function"):
        read_models({"x": object()})
