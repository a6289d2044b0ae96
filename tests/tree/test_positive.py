"""The class that matters: the one that was said, or the rarer; and what it is ordered by."""

import pickle
from pathlib import Path
from random import Random

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from holdfast import (
    BoostingClassifier,
    ForestClassifier,
    GrowthRules,
    StableTreeClassifier,
    Table,
    TreeClassifier,
    explain_row,
    grow,
    load,
    save,
    tree_diff,
)
from holdfast.adapters import forest_trees
from holdfast.data.schema import Schema, Target
from holdfast.errors import ParameterError
from holdfast.io.model_file import model_from_json, model_to_json
from holdfast.tree.rules import tree_rules
from holdfast.tree.rules_text import sort_rules
from holdfast.tree.stats import class_counts, positive_class, risk
from reference.random_trees import random_schema, random_tree
from reference.trees import AGE, NUMERIC, PRICE, SPECIES, SURVIVED, leaf, split, tree_of

X = [[20.0], [30.0], [40.0], [50.0], [60.0]]


def test_it_is_the_rarer_class_and_of_two_alike_the_second() -> None:
    assert positive_class(NUMERIC) == 1  # 28 of 100
    assert positive_class(grow(Table.from_arrays(X, ["a", "a", "b", "b", "b"]))) == 0
    assert positive_class(grow(Table.from_arrays(X[:4], ["a", "a", "b", "b"]))) == 1


def test_class_weights_do_not_hide_which_class_is_rarer() -> None:
    tree = TreeClassifier(class_weight="balanced").fit(X, ["a", "b", "b", "b", "b"]).tree_
    assert tree.value[0] == pytest.approx([0.5, 0.5])
    assert positive_class(tree) == 0


def test_it_is_remembered_by_the_target_and_asked_for_by_label_or_text() -> None:
    tree = grow(Table.from_arrays(X, [0, 0, 0, 1, 1], positive=0))
    assert tree.schema.target.positive == 0
    assert positive_class(tree) == 0
    assert [positive_class(tree, said) for said in (1, "1", np.int64(1))] == [1, 1, 1]
    assert tree.schema == grow(Table.from_arrays(X, [0, 0, 0, 1, 1])).schema  # schemas stay comparable


def test_it_is_chosen_once_and_samples_edits_and_files_keep_it() -> None:
    """200 random trees that go through rows in which the other class is rare, files and pickles."""
    for seed in range(200):
        random = Random(seed)
        schema = random_schema(random, Target("outcome", classes=("died", "lived")))
        tree = random_tree(random, schema, random.randint(1, 8))
        first = tree.schema.target.positive
        assert first == tree.schema.target.classes[int(np.diff(class_counts(tree)[0].round(6))[0] <= 0)]
        others = class_counts(tree)[:, ::-1]
        for later in (
            tree.replace(value=tree.value[:, ::-1], observed=others),
            grow(
                Table(tree.schema, (np.zeros(1),) * len(tree.schema.features), np.array([seed % 2], np.int32))
            ),
            tree.with_schema(
                tree.schema.widen(Schema(tree.schema.features, Target("outcome", ("dead", "lived"))))
            ),
            model_from_json(model_to_json(tree.replace(observed=others))),
            pickle.loads(pickle.dumps(tree.replace(observed=others))),
        ):
            assert later.schema.target.positive == first
        shown = model_from_json(model_to_json(tree.replace(observed=others)))
        assert f"p({first})" in str(shown)
        assert f"p({first})" in shown.rules()
        assert f"probability of {first}" in shown.to_svg()


@pytest.mark.filterwarnings("ignore:columns that no question")
@pytest.mark.parametrize("how", ["refit", "nearest", "retrain", "keep"])
def test_updates_keep_it_and_only_a_parameter_changes_it(how: str, tmp_path: Path) -> None:
    x = np.arange(60.0)[:, None]
    rare, common = np.where(x[:, 0] % 10 > 7, "yes", "no"), np.where(x[:, 0] % 10 > 1, "yes", "no")
    old = grow(Table.from_arrays(x % 10, rare), GrowthRules(max_leaf_nodes=3))
    model = StableTreeClassifier(teacher="linear", random_state=0).from_tree(old)
    for _ in range(2):
        model.update(x % 10, common, strategy=how, prior_rows=0.0)
        save(model, tmp_path / "model.json")
        model = load(tmp_path / "model.json")
        assert (model.tree_.value[0, 1] > 0.5) == (how != "keep")
        assert model.tree_.schema.target.positive == "yes"
        assert "p(yes)" in model.rules()
        assert tree_diff(old, model.tree_, x % 10, common).rows.positive == "yes"
        assert explain_row(model, (x % 10)[:1]).outcome.label == "yes"
    assert model.set_params(positive="no").from_tree(model.tree_).tree_.schema.target.positive == "no"


def test_stages_keep_it() -> None:
    x = np.arange(120.0)[:, None]
    y = np.where(x[:, 0] % 10 > np.where(x[:, 0] < 60, 7, 1), "yes", "no")
    model = StableTreeClassifier(teacher="linear", random_state=0)
    model.fit_stages(x % 10, y, stage=(x[:, 0] >= 60).astype(int))
    assert {stage.tree.schema.target.positive for stage in model.stages_.stages} == {"yes"}  # 60 of 120


def test_trees_of_another_library_share_one() -> None:
    y = np.arange(200) % 10 > 5  # 80 of 200
    forest = RandomForestClassifier(30, random_state=0).fit(np.arange(200.0)[:, None] % 7, y)
    assert {tree.schema.target.positive for tree in forest_trees(forest)} == {True}


def test_ensembles_have_one_and_keep_it(tmp_path: Path) -> None:
    for estimator in (ForestClassifier(n_estimators=5), BoostingClassifier(n_estimators=5)):
        save(estimator.fit(X, ["a", "a", "b", "b", "b"]), tmp_path / "model.json")
        assert load(tmp_path / "model.json").schema_.target.positive == "a"


def test_there_is_none_of_three_classes_or_of_a_number() -> None:
    assert positive_class(SPECIES) is None
    assert positive_class(SPECIES, "setosa") is None
    assert positive_class(PRICE) is None


@pytest.mark.parametrize("said", ["perhaps", 3, float("nan"), ["yes"], b"yes"])
def test_an_unknown_class_is_refused_with_those_that_there_are(said: object) -> None:
    with pytest.raises(ParameterError, match=r"is no class of 'survived': choose one of 'no', 'yes'"):
        positive_class(NUMERIC, said)
    with pytest.raises(ParameterError, match="'price' is a number"):
        positive_class(PRICE, said)
    with pytest.raises(ParameterError, match="is no class of 'y'"):
        Table.from_arrays(X, ["a", "a", "b", "b", "b"], positive=said)


def test_a_wider_schema_keeps_it() -> None:
    old = Schema((AGE,), SURVIVED.with_positive("no"))
    new = Schema((AGE,), Target("survived", classes=("no", "unknown", "yes")))
    assert old.widen(new).target.positive == "no"
    assert new.widen(old).target.positive == "no"
    assert SURVIVED.positive is None


def test_rules_by_risk_begin_with_the_highest_and_leave_ties_as_they_stand() -> None:
    def leaves(tree, **options):
        return [rule.leaf for rule in sort_rules(tree, "risk", **options)]

    assert leaves(NUMERIC) == [3, 2, 4]  # 0.90, 0.25, 0.00
    assert leaves(NUMERIC, positive="no") == [4, 2, 3]
    means = [PRICE.value[leaf, 0] for leaf in leaves(PRICE)]
    assert means == sorted(means, reverse=True)
    assert leaves(SPECIES) == [rule.leaf for rule in tree_rules(SPECIES)]
    virginica = [SPECIES.value[leaf, 2] for leaf in leaves(SPECIES, positive="virginica")]
    assert virginica == sorted(virginica, reverse=True)
    tied = tree_of(split("age", 50.0, leaf(2, 0.5, 0.5), leaf(2, 0.5, 0.5)), (AGE,), SURVIVED)
    assert leaves(tied) == [1, 2]
    assert risk(SPECIES) is None


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(ParameterError, match="order='size' is unknown: choose one of tree, risk"):
        NUMERIC.rules(order="size")


def test_the_estimator_remembers_it_and_its_rules_say_it() -> None:
    model = TreeClassifier(positive="a").fit(X, ["a", "a", "a", "b", "b"])
    assert model.tree_.schema.target.positive == "a"
    assert "p(a) = 1.00" in model.rules()
    assert "p(b) = 1.00" in model.rules(positive="b", order="risk").split("\n\n")[0]
    with pytest.raises(ParameterError, match="positive='c' is no class of 'y': choose one of 'a', 'b'"):
        TreeClassifier(positive="c").fit(X, ["a", "a", "a", "b", "b"])
