"""Options of `holdfast fit` that are parameters of the estimators, made from signatures and docstrings.

The source is parsed, not imported: numba and scikit-learn take a second, and `--help` waits for this.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

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
from holdfast.cli.options import (
    Decorator,
    Text,
    parse_class_weights,
    parse_directions,
    parse_leaf_size,
    parse_losses,
    parse_number,
    parse_priors,
    parse_threshold,
    with_options,
)

PACKAGE = Path(__file__).parents[1]
# The classes whose parameters are options, and their files; the first that has a parameter documents it.
FILES = ("estimators/stable.py", "estimators/tree.py", "stable/settings.py", "growth/rules.py")
CLASSES = (
    "StableTreeClassifier",
    "StableTreeRegressor",
    "StabilityRules",
    "TreeClassifier",
    "TreeRegressor",
    "GrowthRules",
)


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
                found[parameter] = re.split(r"(?<=[.:;])\s", text)[0].replace("`", "").rstrip(".:;") + "."
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


# -- the options ------------------------------------------------------------------------------------------


def model_option(
    name: str,
    kind: Any,
    metavar: str | None = None,
    text: str = "",
    option: str = "",
) -> Decorator:
    """Make the option of a parameter; without `text`, the first sentence of its docstring is shown."""
    text, default = text or _documented()[name], _defaults().get(name)
    if default is not None and "[default: " not in text:
        text = f"{text.rstrip()}  [default: {default}]"
    return click.option(option or f"--{name.replace('_', '-')}", name, type=kind, metavar=metavar, help=text)


def _choice(names: tuple[str, ...]) -> click.Choice[str]:
    return click.Choice(names, case_sensitive=False)


_FRACTION = click.FloatRange(0, 1, min_open=True, max_open=True)

model_options = with_options(
    model_option("min_samples_leaf", Text(parse_leaf_size), "ROWS"),
    model_option(
        "class_weight",
        Text(parse_class_weights),
        "WEIGHTS",
        "balanced, or weights of classes, such as died=5,lived=1.",
    ),
    model_option(
        "loss_matrix",
        Text(parse_losses),
        "LOSSES",
        "Losses of predicting one class for a row of another, such as bad:good=5. Others are 1.",
        "--loss",
    ),
    model_option(
        "priors",
        Text(parse_priors),
        "FRACTIONS",
        "Fractions of the classes where the model will be used, such as bad=0.1,good=0.9.",
    ),
    model_option(
        "threshold",
        Text(parse_threshold),
        "PROBABILITY",
        "Predict the class of --positive, or the rarer of two, from this probability on; cost: the threshold "
        "with the least --loss on held-out rows.",
    ),
    model_option("positive", str, "CLASS"),
    model_option("max_depth", click.IntRange(1, 1000), "SPLITS"),
    model_option(
        "monotonic_cst",
        Text(parse_directions),
        "SIGNS",
        "Direction of the prediction in columns, such as age=+1,dose=-1.",
    ),
    model_option(
        "monotonic_class",
        str,
        "CLASS",
        "Class whose probability is monotonic by --monotonic-cst.  [default: the second of two]",
    ),
    model_option(
        "criterion",
        _choice(CRITERION_NAMES),
        text="Splitting criterion. Leaves predict medians with absolute_error, and quantiles with quantile.  "
        "[default: gini, squared_error]",
    ),
    model_option(
        "quantile", _FRACTION, text="Quantile that is predicted with --criterion quantile, such as 0.9."
    ),
    model_option(
        "categories",
        _choice(CATEGORIES),
        text="Splits on more than 9 categories: shrunk orders the categories by their shrunk means; exact "
        "finds the best set.",
    ),
    model_option(
        "growth_rules",
        _choice(("cart", "c4.5")),
        text="Growth rules of trees, except consensus trees.",
        option="--growth",
    ),
    model_option(
        "method",
        _choice(METHODS),
        text="consensus: a tree moved towards the consensus of bootstrap trees; bootstrap: a tree chosen "
        "from bootstrap trees; pruned: from the subtrees of one tree; paper: by the paper on stable trees.",
    ),
    model_option(
        "max_leaf_nodes",
        Text(parse_number),
        "LEAVES",
        "Most leaves; auto: 12, or 24 or 48 if held-out rows clearly support more.",
    ),
    model_option(
        "teacher",
        _choice(TEACHER_NAMES),
        text="Model that consensus trees are distilled from; blend averages the others.",
    ),
    model_option(
        "thresholds",
        _choice(THRESHOLDS),
        text="Thresholds of consensus trees: few round numbers, or any number.",
    ),
    model_option(
        "leaf_values",
        _choice(LEAF_VALUES),
        text="Leaf values from the rows and the teacher (posterior), the teacher, the rows (labels), the "
        "rows shrunk towards the parent nodes, or rows that were not used to choose splits (honest).",
    ),
    model_option(
        "n_estimators",
        click.IntRange(1),
        "TREES",
        "Number of reference trees, or of trees in the ensemble.  [default: 100; 300 for --method bootstrap, "
        "pruned and paper]",
    ),
    model_option("selection_rule", _choice(SELECTION_RULES), text="How one tree of the frontier is chosen."),
    model_option(
        "tolerance",
        click.FloatRange(0),
        text="Loss of fit to the teacher, or of score, that is accepted for stability.  [default: 0.06 of "
        "the fit; 0.01 or one standard error of the score]",
    ),
    model_option(
        "tolerance_unit",
        _choice(TOLERANCE_UNITS),
        text="Unit of --tolerance.  [default: teacher for consensus trees; else relative for losses, "
        "absolute for other scores]",
    ),
    model_option(
        "instability_weight",
        click.FloatRange(0),
        text="With --selection-rule weighted: the score that one unit of instability is worth.",
    ),
    model_option(
        "early_fraction",
        _FRACTION,
        text="Fraction of the rows that reference trees are grown on, except with --method consensus.",
    ),
    model_option(
        "validation",
        Text(parse_number),
        "ROWS",
        "Rows to score candidates on: a fraction, or a number of folds.",
    ),
)
