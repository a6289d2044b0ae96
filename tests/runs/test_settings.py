"""The settings of a run: its data, its test rows, and the parameters of the estimators."""

import json
from dataclasses import fields
from typing import Any

import click
import pandas
import pytest

from holdfast import ParameterError, fit_run
from holdfast._choices import METHODS, TASKS
from holdfast.cli.fit import read_settings
from holdfast.cli.main import COMMANDS, main
from holdfast.cli.options import (
    parse_class_weights,
    parse_directions,
    parse_losses,
    parse_ordered_column,
    parse_priors,
    parse_threshold,
)
from holdfast.data.schema import Target
from holdfast.growth.rules import C45
from holdfast.runs.facts import settings_facts
from holdfast.runs.settings import MODELS, DataSettings, RunSettings, make_run_estimator, parameters_of

CLASSES = Target("y", classes=("no", "yes"))
FRAME = pandas.DataFrame(
    {
        "a": range(40),
        "b": [1.0, 2.0] * 20,
        "outcome": ["no", "yes"] * 20,
        "cost": [float(i) for i in range(40)],
    }
)


def estimator(given: dict[str, Any], target: Target = CLASSES) -> Any:
    return make_run_estimator(RunSettings.of({"target": "y", **given}), target)


def test_every_option_of_a_fit_is_a_setting_and_shows_the_default_of_the_estimator() -> None:
    options = {each.name: each for each in find_command("fit").params if isinstance(each, click.Option)}
    assert all(option.help for option in options.values())
    of_models = {name for model in MODELS for task in TASKS for name in parameters_of(model, task)}
    of_data = {each.name for settings in (RunSettings, DataSettings) for each in fields(settings)}
    of_command = {"no_report", "restart", "force", "output", "cluster", "help"}
    assert options.keys() <= of_models | of_data | of_command
    assert "[default: auto]" in str(options["max_depth"].help)
    assert str(options["min_samples_leaf"].help).startswith("Fewest rows in a leaf")


def find_command(name: str) -> click.Command:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_one_name_for_the_output_of_every_command(name: str) -> None:
    command = find_command(name)
    for each in command.commands.values() if isinstance(command, click.Group) else [command]:
        output = [option.opts for option in each.params if option.name == "output"]
        writes = name not in ("warmup", "status")  # what they make has its place, or is nothing
        assert output == [["-o", "--output"]] * writes, (name, each.name)


def test_an_unknown_setting_raises_with_the_nearest_one() -> None:
    with pytest.raises(TypeError, match="no setting 'max_dept': did you mean 'max_depth'"):
        RunSettings.of({"target": "y", "max_dept": 3})
    with pytest.raises(TypeError, match="did you mean 'n_estimators'"):
        RunSettings.of({"target": "y", "n_estimator": 3})
    with pytest.raises(ParameterError, match="target is missing"):
        RunSettings.of({})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("test", 1),
        ("test", -0.1),
        ("random_state", -1),
        ("random_state", "0"),
        ("model", None),
        ("task", "sorting"),
        ("drop", 3),
        ("drop", [3]),
        ("stage", 3),
        ("keep_ids", "yes"),
        ("stage_order", ["one"]),
        ("stage_order", ["a", "b"]),  # without stage
        ("max_depth", 0),
        ("max_depth", 2.5),
        ("n_estimators", 0),
        ("n_jobs", 0),
        ("tolerance", -1),
        ("tolerance_unit", "feet"),
        ("teacher", "professor"),
        ("leaf_values", "guesses"),
        ("max_leaf_nodes", 1),
        ("max_leaf_nodes", "most"),
        ("selection_rule", "any"),
        ("selection_rule", "weighted"),  # without gamma
        ("min_samples_leaf", 1.5),
        ("class_weight", {"no": -1}),
        ("loss_matrix", {"no:gone": 2}),
        ("priors", {"no": 0.5, "yes": 0.4}),
        ("threshold", 1.0),
    ],
)
def test_a_value_out_of_range_is_refused_by_its_name(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"^{name}|^The teacher|^Cannot use the teacher"):
        fit_run(FRAME, "outcome", **{"n_estimators": 3, name: value})


@pytest.mark.parametrize("model", [model for model in MODELS if model != "stable"])
def test_a_setting_of_another_model_is_refused_even_with_its_default(model: str) -> None:
    with pytest.raises(
        ParameterError, match=f"selection_rule goes with model='stable', and the model is '{model}'"
    ):
        RunSettings.of({"target": "y", "model": model, "selection_rule": "within-tolerance"})


@pytest.mark.parametrize("method", METHODS)
def test_a_setting_of_another_method_is_refused_and_no_fact(method: str) -> None:
    of_consensus, of_others = {"teacher": "forest"}, {"early_fraction": 0.4}
    useful, useless = (of_consensus, of_others) if method == "consensus" else (of_others, of_consensus)
    settings = RunSettings.of({"target": "y", "method": method, **useful})
    facts = settings_facts(settings, make_run_estimator(settings, CLASSES))["settings"]
    assert useful.items() <= facts.items()
    assert not useless.keys() & facts.keys()
    for name, value in useless.items():
        with pytest.raises(ParameterError, match=f"{name} goes with method=.*, and the method is '{method}'"):
            RunSettings.of({"target": "y", "method": method, name: value})


def test_growth_is_for_trees_that_learn_from_the_rows_themselves() -> None:
    given = {"target": "y", "growth_rules": "c4.5"}
    with pytest.raises(ParameterError, match="--growth goes with another --method"):
        read_settings(given)
    assert read_settings({**given, "method": "paper"}).parameters["growth_rules"] is C45
    assert read_settings({**given, "model": "tree"}).parameters["growth_rules"] is C45


@pytest.mark.parametrize(
    ("target", "name", "value"),
    [("cost", "priors", {"a": 1.0}), ("cost", "threshold", 0.5), ("outcome", "quantile", 0.9)],
)
def test_a_parameter_for_the_other_kind_of_target_is_refused(target: str, name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=f"{name} is for a target of .*, and '{target}' is"):
        fit_run(FRAME, target, **{name: value})


def test_classes_are_named_by_their_text_or_by_themselves() -> None:
    target = Target("y", classes=(0, 1))
    for key, pair in ((1, (1, 0)), ("1", "1:0")):
        model = estimator({"class_weight": {key: 5}, "loss_matrix": {pair: 3}, "model": "tree"}, target)
        assert (model.class_weight, model.loss_matrix) == ({1: 5}, {(1, 0): 3})


def test_texts_of_the_terminal_mean_what_python_says() -> None:
    assert parse_class_weights("no=1,yes=2") == {"no": 1, "yes": 2}
    assert parse_ordered_column("g=low,high") == ("g", ("low", "high"))
    given = {"target": "y", "ordered": {"g": ["low", "high"]}, "drop": "a"}
    assert RunSettings.of(given).data.ordered == (("g", ("low", "high")),)
    assert RunSettings.of(given).data.drop == ("a",)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        *((parse_losses, text) for text in ("bad=5", "bad:good=-1", "bad:good=1,bad:good=2", "")),
        *((parse_priors, text) for text in ("a=0.5,b=0.4", "a=1,b=0", "3")),
        *((parse_threshold, text) for text in ("0", "1", "best")),
        *((parse_directions, text) for text in ("age=up", "age", "age=3", "age=0")),
        *((parse_class_weights, text) for text in ("died", "died=0", "died=x")),
    ],
)
def test_a_text_that_cannot_be_read_says_what_it_must_be(read: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r"must be .*such as|has a name twice"):
        read(text)


@pytest.mark.parametrize("model", MODELS)
def test_the_facts_are_plain_data_with_each_setting_once(model: str) -> None:
    given = {"target": "y", "model": model, "class_weight": {"no": 2}, "ordered": {"g": ["a", "b"]}}
    settings = RunSettings.of(given)
    facts = settings_facts(settings, make_run_estimator(settings, CLASSES))
    assert json.loads(json.dumps(facts)) == facts
    names = [name for part in facts.values() for name in part]
    assert len(names) == len(set(names))
    assert ("selection_rule" in names) == (model == "stable")
    assert "n_jobs" not in names
    assert facts["settings"]["max_depth"] == {"stable": "auto", "boosting": 3}.get(model)
