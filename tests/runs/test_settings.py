"""Each setting is declared once: the terminal and Python take the same ones."""

import json
from dataclasses import MISSING, fields

import click
import pytest

from holdfast import ParameterError
from holdfast.cli.main import main
from holdfast.cli.options import CompareSettings
from holdfast.data.schema import Target
from holdfast.runs import settings as run_settings
from holdfast.runs.facts import settings_facts
from holdfast.runs.growth_rules import stable_settings
from holdfast.runs.parsing import class_weights, class_weights_of, column_in_order, columns_in_order
from holdfast.runs.settings import MODELS, RunSettings
from holdfast.stability.centring.names import TEACHER_NAMES
from holdfast.stability.centring.teacher import PARTS, TEACHERS
from holdfast.stability.methods import METHODS
from holdfast.stability.selection import RULES, UNITS
from holdfast.stability.settings import StabilitySettings

# Where a run goes and how it is done: no setting of the model.
APART = ("help", "output", "no_report", "cluster", "restart", "force")


def options_of(verb: str) -> dict[str, click.Option]:
    found = {each.name: each for each in main.commands[verb].params if isinstance(each, click.Option)}
    return {name: each for name, each in found.items() if name not in APART}


@pytest.mark.parametrize(("verb", "kind"), [("fit", RunSettings), ("compare", CompareSettings)])
def test_every_setting_is_an_option_of_its_name_and_default(verb: str, kind: type) -> None:
    options = options_of(verb)
    assert sorted(options) == sorted(each.name for each in fields(kind))
    for each in fields(kind):
        option = options[each.name]
        assert option.opts == [f"--{each.name.replace('_', '-')}"]
        assert option.required == (each.default is MISSING)
        if not option.required and not option.multiple:
            assert option.get_default(click.Context(main)) == each.default


def test_one_name_for_the_output_of_every_command() -> None:
    for name, command in main.commands.items():
        for each in command.commands.values() if isinstance(command, click.Group) else [command]:
            output = [option.opts for option in each.params if option.name == "output"]
            writes = name not in ("warmup", "status")  # what they make has its place, or is nothing
            assert output == [["-o", "--output"]] * writes, (name, each.name)


def test_the_names_in_the_help_are_those_of_the_library() -> None:
    assert run_settings.RULES == RULES
    assert run_settings.UNITS == UNITS
    assert (*TEACHERS, *PARTS) == TEACHER_NAMES


def test_an_unknown_setting_raises_with_the_nearest_one() -> None:
    with pytest.raises(TypeError, match="no setting 'max_dept': did you mean 'max_depth'"):
        RunSettings.of({"target": "y", "max_dept": 3})
    with pytest.raises(TypeError, match="did you mean 'n_estimators'"):
        RunSettings.of({"target": "y", "n_estimator": 3})
    with pytest.raises(TypeError, match="target is missing"):
        RunSettings.of({})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_depth", 0),
        ("max_depth", 2.5),
        ("max_depth", True),
        ("n_estimators", 0),
        ("n_jobs", 0),
        ("n_jobs", -2),
        ("test", 1),
        ("test", -0.1),
        ("early_fraction", 0),
        ("early_fraction", 1),
        ("tolerance", -1),
        ("tolerance_unit", "feet"),
        ("teacher", "professor"),
        ("leaf_values", "guesses"),
        ("max_leaf_nodes", 1),
        ("max_leaf_nodes", 2.5),
        ("max_leaf_nodes", "cv-1se"),
        ("random_state", -1),
        ("random_state", "0"),
        ("selection_rule", "any"),
        ("selection_rule", "weighted"),  # without gamma
        ("model", None),
        ("growth", "id3"),
        ("task", "sorting"),
        ("drop", 3),
        ("drop", [3]),
        ("stage", 3),
        ("keep_ids", "yes"),
        ("min_samples_leaf", 1.5),
        ("class_weight", {"a": -1}),
        ("stage_order", ["one"]),
        ("stage_order", ["a", "b"]),  # without stage
    ],
)
def test_a_value_out_of_range_is_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"--{name.replace('_', '-')}"):
        RunSettings.of({"target": "y", name: value})


@pytest.mark.parametrize("model", [model for model in MODELS if model != "stable"])
def test_a_setting_of_another_model_is_refused_even_with_its_default(model: str) -> None:
    with pytest.raises(
        ParameterError, match=f"--selection-rule goes with --model stable, and the model is {model}"
    ):
        RunSettings.of({"target": "y", "model": model, "selection_rule": "within-tolerance"})


@pytest.mark.parametrize("method", METHODS)
def test_a_setting_of_another_method_is_refused_and_no_fact(method: str) -> None:
    of_centred, of_others = {"teacher": "forest", "leaf_values": "labels"}, {"early_fraction": 0.4}
    useful, useless = (of_centred, of_others) if method == "centred" else (of_others, of_centred)
    facts = RunSettings.of({"target": "y", "method": method, **useful}).facts["settings"]
    assert useful.items() <= facts.items()
    assert not useless.keys() & facts.keys()
    for name, value in useless.items():
        option = f"--{name.replace('_', '-')}"
        with pytest.raises(
            ParameterError, match=f"{option} goes with --method .*, and the method is {method}"
        ):
            RunSettings.of({"target": "y", "method": method, name: value})


def test_growth_is_for_trees_that_learn_from_the_rows_themselves() -> None:
    with pytest.raises(ParameterError, match="--growth goes with --method bootstrap or pruned or paper"):
        RunSettings.of({"target": "y", "growth": "c4.5"})
    assert RunSettings.of({"target": "y", "growth": "c4.5", "method": "paper"}).growth == "c4.5"
    assert RunSettings.of({"target": "y", "growth": "c4.5", "model": "tree"}).growth == "c4.5"


def test_the_settings_of_the_teacher_reach_the_training() -> None:
    target = Target(classes=("no", "yes"))
    given = {"teacher": "kernel", "leaf_values": "labels", "max_leaf_nodes": 8, "tolerance": 0.03}
    training = stable_settings(RunSettings.of({"target": "y", **given}), target)
    assert (training.teacher, training.leaf_values, training.tolerance) == ("kernel", "labels", 0.03)
    assert (training.rules.max_leaf_nodes, training.n_trees) == (8, 100)
    assert stable_settings(RunSettings(target="y"), target).n_trees == StabilitySettings().n_trees
    of_score = {"tolerance": 1, "tolerance_unit": "standard-error"}
    assert stable_settings(RunSettings.of({"target": "y", **of_score}), target).tolerance is None
    for facts, n_leaves in ((given, 8), ({}, "auto")):
        found = settings_facts(RunSettings.of({"target": "y", **facts}), target)["settings"]
        assert found["max_leaf_nodes"] == n_leaves
        assert "criterion" not in found  # students fit what the teacher says


def test_held_out_rows_choose_the_leaves_of_a_consensus_tree_alone() -> None:
    target = Target(classes=("no", "yes"))
    settings = RunSettings.of({"target": "y", "max_leaf_nodes": "AUTO"})
    training = stable_settings(settings, target)
    assert (training.is_size_open, training.rules.max_leaf_nodes) == (True, None)
    assert not stable_settings(RunSettings(target="y", max_leaf_nodes=8), target).is_size_open
    assert settings_facts(settings, target)["settings"]["max_leaf_nodes"] == "auto"
    for others in ({"method": "bootstrap"}, {"model": "tree"}):
        with pytest.raises(
            ParameterError, match="--max-leaf-nodes auto goes with --method centred, and the m"
        ):
            RunSettings.of({"target": "y", "max_leaf_nodes": "auto", **others})


def test_python_may_give_one_name_for_a_list_and_dicts_for_pairs() -> None:
    settings = RunSettings(
        target="y", drop="a", ordered={"g": ["low", "high"]}, class_weight={"no": 1, "yes": 2}
    )
    assert settings.drop == ("a",)
    assert settings.ordered == (("g", ("low", "high")),)
    assert settings.class_weight == (("no", 1.0), ("yes", 2.0))


def test_texts_of_the_terminal_mean_what_python_says() -> None:
    assert class_weights("no=1,yes=2") == class_weights_of({"no": 1, "yes": 2})
    assert (column_in_order("g=low,high"),) == columns_in_order({"g": ["low", "high"]})


@pytest.mark.parametrize("model", MODELS)
def test_the_facts_are_plain_data_with_each_setting_once(model: str) -> None:
    facts = RunSettings(target="y", model=model, class_weight={"no": 2}, ordered={"g": ["a", "b"]}).facts
    assert json.loads(json.dumps(facts)) == facts
    names = [name for part in facts.values() for name in part]
    assert len(names) == len(set(names))
    assert set(names) <= {each.name for each in fields(RunSettings)}
    assert ("selection_rule" in names) == (model == "stable")
    assert "n_jobs" not in names
    assert facts["settings"]["max_depth"] == {"stable": "auto", "boosting": 3}.get(model)
