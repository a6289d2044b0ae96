"""Our own trees, ensembles and estimators go in where models of other libraries do."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from holdfast import ForestClassifier, TreeClassifier
from holdfast.adapters import as_tree, forest_trees
from holdfast.data.schema import Schema, Target
from holdfast.data.table import Table
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.tree.ensemble import Ensemble

IRIS, SPECIES = load_iris(return_X_y=True)
NAMED = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
FOREST = ForestClassifier(5, random_state=0).fit(IRIS, NAMED).ensemble_


def test_a_tree_and_the_tree_of_an_estimator_are_themselves() -> None:
    model = TreeClassifier(max_depth=2).fit(IRIS, NAMED)
    assert as_tree(model) is model.tree_
    assert as_tree(model.tree_) is model.tree_


def test_no_file_on_another_library_is_asked_about_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    model = TreeClassifier(max_depth=2).fit(IRIS, NAMED)
    monkeypatch.setattr("holdfast.adapters.FILES", {})
    wide = Table.from_arrays(np.concatenate([IRIS, IRIS * 3]), [*NAMED, *NAMED]).schema
    assert as_tree(model, wide).schema == wide
    assert len(forest_trees(FOREST)) == 5


def test_members_and_all_trees_are_read_like_those_of_other_models() -> None:
    ensemble = FOREST
    assert as_tree(ensemble[2]) is ensemble[2]
    assert forest_trees(ensemble) == list(ensemble)
    with pytest.raises(TypeError, match=r"holds 5 trees, and as_tree reads one: .* ensemble\[0\]"):
        as_tree(ensemble)


def test_trees_of_an_ensemble_are_measured_on_another_schema() -> None:
    ensemble = FOREST
    wide = Table.from_arrays(np.concatenate([IRIS, IRIS * 3]), [*NAMED, *NAMED]).schema
    assert {tree.schema for tree in forest_trees(ensemble, wide)} == {wide}
    table = Table.from_arrays(IRIS, SPECIES - 0.5)
    step = grow(table, GrowthRules("squared_error", max_depth=1))
    boosted = Ensemble(
        Schema(step.schema.features, Target("species", classes=("no", "yes"))),
        (step,),
        [1.0],
        [0],
        [0.0],
        "logistic",
    )
    (tree,) = forest_trees(boosted, Schema(wide.features, boosted.schema.target))
    assert tree.schema == Schema(wide.features, step.schema.target)


def test_the_classes_of_a_member_of_a_forest_are_named_by_the_forest() -> None:
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(IRIS, NAMED)
    member = as_tree(forest.estimators_[0], classes=forest.classes_)
    assert member.predict(IRIS).tolist() == forest_trees(forest)[0].predict(IRIS).tolist()
