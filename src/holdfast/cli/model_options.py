"""Options of the terminal that are parameters of the estimators, made from their signatures and docstrings.

The source is read, not imported: numba and scikit-learn take a second, and `--help` waits for this.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import click

from holdfast._choices import (
    CATEGORIES,
    CRITERION_NAMES,
    LEAF_VALUES,
    METHODS,
    SELECTION_RULES,
    TEACHER_NAMES,
    THRESHOLDS,
    TOLERANCE_UNITS,
)
from holdfast.cli.parsing import (
    Text,
    class_weights,
    directions,
    integer_or_text,
    leaf_size,
    losses,
    priors,
    threshold,
)

PACKAGE = Path(__file__).parents[1]
CLASSES = (
    "StableTreeClassifier",
    "StableTreeRegressor",
    "StabilityRules",
    "TreeClassifier",
    "TreeRegressor",
    "GrowthRules",
)
FILES = (
    "estimators/stable.py",
    "estimators/tree.py",
    "stable/settings.py",
    "growth/rules.py",
)  # that these classes stand in


class ModelOption(NamedTuple):
    """A parameter that is an option, and how its text is read.

    The help is the first sentence on the parameter in the docstring, unless the terminal needs other words.
    """

    name: str
    type: Any
    metavar: str | None = None
    help: str = ""
    option: str = ""  # where it is not called as the parameter


MODEL_OPTIONS = (
    ModelOption("min_samples_leaf", Text(leaf_size), "ROWS"),
    ModelOption(
        "class_weight", Text(class_weights), "WEIGHTS", "balanced, or weights of classes: died=5,lived=1."
    ),
    ModelOption(
        "loss_matrix",
        Text(losses),
        "LOSSES",
        "What it costs to take a row of one class for another: bad:good=5. Others cost 1.",
        "--loss",
    ),
    ModelOption(
        "priors",
        Text(priors),
        "FRACTIONS",
        "Fractions of the classes where the model is used: bad=0.1,good=0.9.",
    ),
    ModelOption(
        "threshold",
        Text(threshold),
        "PROBABILITY",
        "Probability of the class of --positive, or the rarer of two, from which on it is predicted, or "
        "cost: what costs least by --loss on rows held out.",
    ),
    ModelOption("positive", str, "CLASS"),
    ModelOption("max_depth", click.IntRange(1, 1000), "SPLITS"),
    ModelOption(
        "monotonic_cst",
        Text(directions),
        "SIGNS",
        "Which way the outcome goes with columns: age=+1,dose=-1.",
    ),
    ModelOption(
        "monotonic_class",
        str,
        "CLASS",
        "Of --monotonic-cst: the class whose probability it is.  [default: the second of two]",
    ),
    ModelOption(
        "criterion",
        click.Choice(CRITERION_NAMES, case_sensitive=False),
        help="What splits gain, and leaves of numbers predict: absolute_error the median, quantile another "
        "one.  [default: gini, squared_error]",
    ),
    ModelOption(
        "quantile",
        click.FloatRange(0, 1, min_open=True, max_open=True),
        help="Of --criterion quantile: the fraction of a leaf's rows at or below what it predicts.",
    ),
    ModelOption(
        "categories",
        click.Choice(CATEGORIES, case_sensitive=False),
        help="Columns of more than 9 categories: by shrunk means, or by the best set for the rows.",
    ),
    ModelOption(
        "growth_rules",
        click.Choice(("cart", "c4.5"), case_sensitive=False),
        help="How trees are grown, but for consensus trees.",
        option="--growth",
    ),
    ModelOption(
        "method",
        click.Choice(METHODS, case_sensitive=False),
        help="The consensus of trees of other samples; or a tree chosen from trees of many samples, from the "
        "subtrees of one tree, or as the paper does it.",
    ),
    ModelOption(
        "max_leaf_nodes",
        Text(integer_or_text),
        "LEAVES",
        "Most leaves, or auto: 12, or 24 or 48 where held-out rows clearly support more.",
    ),
    ModelOption(
        "teacher",
        click.Choice(TEACHER_NAMES, case_sensitive=False),
        help="The models that a consensus tree is distilled from: all of those named here, or one.",
    ),
    ModelOption(
        "thresholds",
        click.Choice(THRESHOLDS, case_sensitive=False),
        help="Where a consensus tree may split numbers: at few round thresholds, or anywhere.",
    ),
    ModelOption(
        "leaf_values",
        click.Choice(LEAF_VALUES, case_sensitive=False),
        help="How leaves predict: from their rows and the teacher together, the teacher alone, the rows "
        "alone, the rows shrunk towards the nodes above, or rows that chose no split.",
    ),
    ModelOption(
        "n_estimators",
        click.IntRange(1),
        "TREES",
        "Reference trees, or trees of each collection or of the ensemble.  [default: 100, of --method "
        "bootstrap, pruned and paper 300]",
    ),
    ModelOption(
        "selection_rule", click.Choice(SELECTION_RULES, case_sensitive=False), help="Which tree to choose."
    ),
    ModelOption(
        "tolerance",
        click.FloatRange(0),
        help="What a tree may lose to be more stable: of the fit to the teacher, or of the score.  "
        "[default: 0.06, of the score 0.01 or one standard error]",
    ),
    ModelOption(
        "tolerance_unit",
        click.Choice(TOLERANCE_UNITS, case_sensitive=False),
        help="Without it, of consensus trees teacher; else relative for losses, or absolute.",
    ),
    ModelOption("instability_weight", click.FloatRange(0)),
    ModelOption("early_fraction", click.FloatRange(0, 1, min_open=True, max_open=True)),
    ModelOption(
        "validation",
        Text(integer_or_text),
        "ROWS",
        "Rows to score candidates by: a fraction, or a number of folds held out in turn.",
    ),
)
BY_OPTION = {each.option.removeprefix("--"): each.name for each in MODEL_OPTIONS if each.option}


def model_option(known: ModelOption) -> Any:
    """The option of a parameter."""
    documented, default = _documented(), _defaults().get(known.name)
    text = known.help or documented[known.name]
    if default is not None and "[default: " not in text:
        text = f"{text.rstrip()}  [default: {default}]"
    name = known.option or option_of(known.name)
    return click.option(name, known.name, type=known.type, metavar=known.metavar, help=text)


def option_of(name: str) -> str:
    """The option of a parameter or setting.

    >>> option_of("max_depth"), option_of("loss_matrix")
    ('--max-depth', '--loss')
    """
    names = {each.name: each.option for each in MODEL_OPTIONS if each.option}
    return names.get(name, f"--{name.replace('_', '-')}")


# -- the source of the estimators -------------------------------------------------------------------------


@cache
def _classes() -> dict[str, ast.ClassDef]:
    parsed = (ast.parse((PACKAGE / name).read_text(encoding="utf-8")) for name in FILES)
    return {node.name: node for file in parsed for node in file.body if isinstance(node, ast.ClassDef)}


@cache
def _documented() -> dict[str, str]:
    """The first sentence on each parameter, of the first class whose docstring has one."""
    found: dict[str, str] = {}
    for name in CLASSES:
        for parameter, text in _parameters(ast.get_docstring(_classes()[name]) or "").items():
            if parameter not in found and not text.startswith("As in "):
                text = text.removeprefix("*Matters most.* ")
                found[parameter] = re.split(r"(?<=[.:;])\s", text)[0].replace("`", "").rstrip(":;")
    return found


def _parameters(docstring: str) -> dict[str, str]:
    """The texts of the section on parameters, by name; several names may share one.

    >>> _parameters('''A tree.
    ...
    ... Parameters
    ... ----------
    ... cv, scoring : int
    ...     How a size is chosen.
    ... ''')
    {'cv': 'How a size is chosen.', 'scoring': 'How a size is chosen.'}
    """
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n?\w+\n---|\Z)", docstring, re.DOTALL | re.MULTILINE)
    found: dict[str, str] = {}
    for entry in re.findall(r"((?:^\S.*\n)+)((?:(?: .*)?(?:\n|\Z))*)", section[1] if section else "", re.M):
        names = " ".join(line.partition(" : ")[0] for line in entry[0].splitlines())
        found |= {name.strip(): " ".join(entry[1].split()) for name in names.split(",") if name.strip()}
    return found


@cache
def _defaults() -> dict[str, Any]:
    """The defaults of the parameters, of the first class that has each: of its constructor or its fields."""
    found: dict[str, Any] = {}
    for name in CLASSES:
        for parameter, value in _defaults_of(_classes().get(name)):
            if isinstance(value, ast.Constant):
                found.setdefault(parameter, value.value)
    return found


def _defaults_of(node: ast.ClassDef | None) -> Any:
    for each in [] if node is None else node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.value:
            yield each.target.id, each.value
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            yield from zip((arg.arg for arg in each.args.kwonlyargs), each.args.kw_defaults, strict=True)
    for base in [] if node is None else node.bases:
        if isinstance(base, ast.Name):
            yield from _defaults_of(_classes().get(base.id))
