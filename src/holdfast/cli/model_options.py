"""Options that say which model to fit, what is known of the columns, and how trees grow."""

import csv

import click
from click.core import ParameterSource

FIT_MODELS = ("stable", "tree", "pruned", "forest", "boosting")
_SINGLE_AND_FOREST = ("stable", "tree", "forest")
# The options that some models have no use for, and the models that have.
_MEANT_FOR = {
    "growth": _SINGLE_AND_FOREST,
    "trees": ("stable", "forest", "boosting"),
    **dict.fromkeys(
        ("method", "rule", "tolerance", "tolerance_unit", "gamma", "early_fraction", "validation"),
        ("stable",),
    ),
}

ClassWeights = str | tuple[tuple[str, float], ...] | None  # "balanced", or weights by the text of the class


def names_in_order(text: str) -> tuple[str, ...]:
    """The names between the commas, without the blanks around them; those with a comma stand in quotes.

    >>> names_in_order('low, middle, "high, or more"')
    ('low', 'middle', 'high, or more')
    """
    names = tuple(_parts(text))
    if not all(names) or len(names) < 2:
        raise click.BadParameter(f"{text!r} has to be names between commas, such as low,middle,high.")
    if len(set(names)) < len(names):
        raise click.BadParameter(f"{text!r} has a name twice.")
    return names


def column_in_order(text: str) -> tuple[str, tuple[str, ...]]:
    """A column, and its categories in their order.

    >>> column_in_order("stage=I,II,III")
    ('stage', ('I', 'II', 'III'))
    """
    column, sign, names = text.partition("=")
    if not sign or not column.strip():
        raise click.BadParameter(
            f"{text!r} has to be a column and its categories in their order, such as stage=I,II,III,IV."
        )
    return column.strip(), names_in_order(names)


def leaf_size(text: str) -> int | float:
    """An integer of rows, or a fraction of all.

    >>> leaf_size("5"), leaf_size("0.05")
    (5, 0.05)
    """
    try:
        number = int(text) if text.strip().isdigit() else float(text)
    except ValueError:
        number = 0
    if number <= 0 or (isinstance(number, float) and not number < 1):
        raise click.BadParameter(
            f"{text!r} has to be an integer of at least 1, or a fraction of the rows such as 0.05."
        )
    return number


def class_weights(text: str) -> ClassWeights:
    """The word balanced, or a weight for some of the classes.

    >>> class_weights("died=5,lived=1")
    (('died', 5.0), ('lived', 1.0))
    """
    if text == "balanced":
        return text
    pairs = [part.rpartition("=") for part in _parts(text)]
    try:
        weights = tuple((label.strip(), float(weight)) for label, _, weight in pairs)
    except ValueError:
        weights = ()
    if not weights or not all(label and 0 < weight < float("inf") for label, weight in weights):
        raise click.BadParameter(
            f"{text!r} has to be balanced, or weights above 0 of classes, such as died=5,lived=1."
        )
    if len(dict(weights)) < len(weights):
        raise click.BadParameter(f"{text!r} has a class twice.")
    return weights


def _parts(text: str) -> list[str]:
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]


MODEL = click.option(
    "--model",
    type=click.Choice(FIT_MODELS),
    default=FIT_MODELS[0],
    help="A stable tree, a tree, a tree pruned by cross-validation, or many trees.",
)
COLUMNS = (
    click.option(
        "--ordered",
        type=column_in_order,
        multiple=True,
        metavar="COLUMN=A,B,C",
        help="Categories that have an order, the lowest first; may be repeated.",
    ),
    click.option(
        "--stage-order",
        type=names_in_order,
        metavar="A,B,C",
        help="Stages that are words, earliest first.",
    ),
    click.option(
        "--question",
        multiple=True,
        metavar="TEXT",
        help='A yes/no question that trees may ask: "bmi ** 2 < 900"; may be repeated.',
    ),
)
GROWING = (
    click.option(
        "--min-samples-leaf",
        type=leaf_size,
        metavar="ROWS",
        help="Fewest rows of a leaf: a number, or a fraction of all.",
    ),
    click.option(
        "--class-weight",
        type=class_weights,
        metavar="WEIGHTS",
        help="balanced, or weights of classes: died=5,lived=1.",
    ),
)


def check_options(context: click.Context) -> None:
    """Refuse what needs no data to be refused: options that go with others, or with another model."""
    given = context.params
    if given["stage_order"] and not given["stage"]:
        raise click.UsageError("--stage-order needs --stage, the column that has these stages.", context)
    columns = [column for column, _ in given["ordered"]]
    if repeated := [column for column in columns if columns.count(column) > 1]:
        raise click.UsageError(f"--ordered is given twice for column {repeated[0]!r}: choose one.", context)
    model = given.get("model", FIT_MODELS[0])
    for name, models in _MEANT_FOR.items():
        said = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if said and "model" in given and model not in models:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"{option} goes with --model {' or '.join(models)}, and the model is {model}: leave it out.",
                context,
            )
