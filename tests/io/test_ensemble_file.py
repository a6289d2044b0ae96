"""The file of an ensemble: it gives back the same ensemble, or says what is wrong with it."""

import json
import random as dice_module
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holdfast.data.schema import Schema, Target
from holdfast.data.table import Table
from holdfast.errors import BrokenTreeError, ModelFileError, ModelFileWarning
from holdfast.io.model_file import load, load_trees, model_from_json, model_to_json, save
from holdfast.tree.ensemble import Ensemble
from reference.trees import AGE, PAIN, SEX, SUBSET, SURVIVED, leaf, split, tree_of

FEATURES = (AGE, PAIN, SEX)
LEFT_OVER = Target("left over", low=-1.0, high=1.0)


def number_tree(cut: float, target: Target = LEFT_OVER) -> Any:
    """age <= cut ? (pain in {none, other} ? 0.5 : -0.25) : 1"""
    low = split("pain", ("none", "other"), leaf(4, 0.5, impurity=0.1), leaf(6, -0.25, impurity=0.2), True)
    return tree_of(split("age", cut, low, leaf(10, 1.0, impurity=0.0)), FEATURES, target)


BOOSTED = Ensemble(
    Schema(FEATURES, SURVIVED),
    (number_tree(40.0), number_tree(50.5, Target("left over", low=-0.5, high=0.5))),
    [0.1, 0.3],
    [0, 0],
    [-1.5],
    "logistic",
    notes=("stopped early",),
)
FOREST = Ensemble(
    SUBSET.schema,
    (SUBSET, tree_of(leaf(9, 0.25, 0.75), SUBSET.schema.features, SUBSET.schema.target)),
    [1.0, 1.0],
    [0, 0],
    [0.0, 0.0],
    "mean",
)
VOTES = Ensemble(SUBSET.schema, (SUBSET,), [2.5], [0], [0.0, 0.0], "softmax", votes=True)
SOUND = model_to_json(BOOSTED)


def edited(change: Callable[[dict[str, Any]], None]) -> bytes:
    """The file of the boosted ensemble after a change of its content."""
    content = json.loads(SOUND)
    change(content)
    return json.dumps(content).encode()


def random_table(schema: Schema, dice: dice_module.Random) -> Table:
    """Ten rows, some values of which are missing."""
    columns = [
        [dice.choice([np.nan, dice.randrange(len(each.categories) or 90)]) for _ in range(10)]
        for each in schema.features
    ]
    return Table(schema, tuple(np.array(column, float) for column in columns), np.zeros(10))


# -- there and back -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ensemble", [BOOSTED, FOREST, VOTES], ids=["boosted", "forest", "votes"])
def test_an_ensemble_comes_back_as_it_was(ensemble: Ensemble, tmp_path: Path) -> None:
    save(ensemble, tmp_path / "ensemble.json")
    loaded = load(tmp_path / "ensemble.json")
    assert isinstance(loaded, Ensemble)
    assert loaded.schema == ensemble.schema
    for name in ("weights", "outputs", "start"):
        assert np.array_equal(getattr(loaded, name), getattr(ensemble, name))
    assert (loaded.link, loaded.votes, loaded.notes) == (ensemble.link, ensemble.votes, ensemble.notes)
    assert list(map(model_to_json, loaded)) == list(map(model_to_json, ensemble))
    assert model_to_json(loaded) == (tmp_path / "ensemble.json").read_bytes()
    table = random_table(ensemble.schema, dice_module.Random(0))
    assert np.array_equal(loaded.values(table), ensemble.values(table))


def test_an_estimator_of_others_is_saved_as_its_ensemble(tmp_path: Path) -> None:
    with pytest.warns(ModelFileWarning, match="A SimpleNamespace is no estimator of holdfast"):
        save(SimpleNamespace(ensemble_=FOREST), tmp_path / "forest.json")
    assert (tmp_path / "forest.json").read_bytes() == model_to_json(FOREST)


def test_the_trees_of_an_ensemble_are_loaded_as_trees(tmp_path: Path) -> None:
    save(BOOSTED, tmp_path / "boosted.json")
    trees = load_trees(tmp_path / "boosted.json")
    assert list(map(model_to_json, trees)) == list(map(model_to_json, BOOSTED))


def test_one_line_holds_one_tree_and_another_its_weights() -> None:
    lines = SOUND.decode().splitlines()
    assert sum(line.strip().startswith('{"target":') for line in lines) == 2
    assert '  "weights": [0.1, 0.3],' in lines
    assert '  "link": "logistic",' in lines


def test_the_target_of_the_ensemble_is_written_once() -> None:
    assert [tree["target"] for tree in json.loads(model_to_json(FOREST))["trees"]] == [None, None]
    assert json.loads(SOUND)["trees"][0]["target"]["name"] == "left over"


# -- refusals -----------------------------------------------------------------------------------------


def test_a_changed_file_is_loaded_only_on_request() -> None:
    data = SOUND.replace(b"[0.1, 0.3]", b"[0.1, 0.4]")
    with pytest.raises(ModelFileError, match="checksum does not match"):
        model_from_json(data)
    assert model_from_json(data, edited=True).weights.tolist() == [0.1, 0.4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.update(link="probit"), "at link"),
        (lambda content: content.update(link="exp"), "'exp' cannot make a prediction of 2 classes"),
        (lambda content: content.update(weights=[1.0]), "weights has 1 numbers: there are 2 trees"),
        (lambda content: content.update(outputs=[0, 1]), r"outputs\[1\] is 1"),
        (lambda content: content.update(outputs=[0, 2**31]), r"at outputs\[1\]"),
        (lambda content: content.update(start=[]), r"outputs\[0\] is 0"),
        (lambda content: content.update(votes=True), "votes are for classes"),
        (lambda content: content.update(trees=[]), "weights has 2 numbers|trees is empty"),
        (lambda content: content.update(extra=1), "unknown field"),
        (lambda content: content["trees"][1].update(target=None), r"tree 1 is not sound: value\[0\] has 1"),
        (lambda content: content["trees"][1]["nodes"]["right"].__setitem__(0, 1), r"tree 1 is not sound"),
        (lambda content: content["schema"]["target"].update(classes=["no", "no"]), "equals the earlier"),
        (lambda content: content["trees"][0]["target"].update(low=2.0), "swapped"),
    ],
)
def test_what_is_wrong_is_said(change: Callable[[dict[str, Any]], None], message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        model_from_json(edited(change), edited=True)


def test_a_broken_tree_is_not_saved() -> None:
    broken = BOOSTED[1].replace(right=BOOSTED[1].left)
    with pytest.raises(BrokenTreeError, match=r"trees\[1\]: right\[0\]"):
        model_to_json(BOOSTED.replace(trees=(BOOSTED[0], broken)))
