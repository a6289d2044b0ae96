"""Options that several commands share, and how their texts become values of Python."""

import csv
from collections.abc import Callable, Mapping
from functools import reduce, wraps
from math import isfinite
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from holdfast._choices import TASKS

RAW = "In CSV, leave text as it is even where a spreadsheet would take it for a formula."
ARGUMENTS = "holdfast.arguments"  # of the command, in what click keeps with its context
DROP_MISSING = "Leave out rows whose target is missing."
EVENT = (
    "Column of 1 where the event was observed and 0 where the row is censored, or of yes and no; or a column "
    "and the value that is the event, such as status=dead."
)
WEIGHT = "Column of row weights. Not a feature."
Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


def with_options(*options: Decorator) -> Decorator:
    """Make a decorator that adds the options, in the order in which --help lists them."""
    return lambda command: reduce(lambda wrapped, each: each(wrapped), reversed(options), command)


def explicit_options(context: click.Context, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the user gave; the others have their defaults."""
    return {
        name: value
        for name, value in options.items()
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    }


# -- texts as values --------------------------------------------------------------------------------------


class Text(click.ParamType[Any]):
    """A text that is read by a function, whose ValueError says what is wrong."""

    name = "text"

    def __init__(self, read: Callable[[str], Any]) -> None:
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return what the text stands for; a usage error says what is wrong with it."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)


def parse_names(text: str) -> tuple[str, ...]:
    """Split names at commas; a name that contains a comma stands in quotes.

    >>> parse_names('low, middle, "high, or more"')
    ('low', 'middle', 'high, or more')
    """
    names = _split(text)
    if not all(names) or len(names) < 2:
        raise ValueError(f"{text!r} must be names between commas, such as low,middle,high.")
    return names


def parse_ordered_column(text: str) -> tuple[str, tuple[str, ...]]:
    """Parse a column and its categories in their order.

    >>> parse_ordered_column("stage=I,II,III")
    ('stage', ('I', 'II', 'III'))
    """
    column, sign, names = text.partition("=")
    if not sign or not column.strip():
        raise ValueError(
            f"{text!r} must be a column and its categories in their order, such as stage=I,II,III,IV."
        )
    return column.strip(), parse_names(names)


def parse_number(text: str) -> int | float | str:
    """Parse an integer or a number; return any other text in lower case.

    >>> parse_number("8"), parse_number("0.2"), parse_number("Auto")
    (8, 0.2, 'auto')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip().lower()


def parse_leaf_size(text: str) -> int | float:
    """Parse a number of rows, or a fraction of all rows.

    >>> parse_leaf_size("5"), parse_leaf_size("0.05")
    (5, 0.05)
    """
    value = parse_number(text)
    if isinstance(value, str) or not (value >= 1 if isinstance(value, int) else 0 < value < 1):
        raise ValueError(
            f"{text!r} must be an integer of at least 1, or a fraction of the rows such as 0.05."
        )
    return value


def parse_jobs(text: str) -> int:
    """Parse a number of jobs.

    >>> parse_jobs("2"), parse_jobs("-1")
    (2, -1)
    """
    value = parse_number(text)
    if not isinstance(value, int) or value < -1 or value == 0:
        raise ValueError(f"{text!r} must be an integer of at least 1, or -1 for all cores, such as 2.")
    return value


def parse_threshold(text: str) -> float | str:
    """Parse a probability, or the word cost.

    >>> parse_threshold("0.2"), parse_threshold("cost")
    (0.2, 'cost')
    """
    value = parse_number(text)
    if value != "cost" and (isinstance(value, str) or not 0 < value < 1):
        raise ValueError(f"{text!r} must be a probability between 0 and 1, such as 0.2, or cost.")
    return value


def parse_class_weights(text: str) -> str | dict[str, float]:
    """Parse the word balanced, or weights of classes.

    >>> parse_class_weights("died=5,lived=1")
    {'died': 5.0, 'lived': 1.0}
    """
    if text == "balanced":
        return text
    return _parse_numbers(
        text, "balanced, or weights above 0 of classes, such as died=5,lived=1", least=1e-300
    )


def parse_losses(text: str) -> dict[str, float]:
    """Parse the losses of predicting one class for a row of another.

    >>> parse_losses("bad:good=5, good:bad=1")
    {'bad:good': 5.0, 'good:bad': 1.0}
    """
    what = "losses of at least 0, such as bad:good=5"
    found = _parse_numbers(text, what)
    if not all(":" in pair for pair in found):
        raise ValueError(f"{text!r} must be {what}.")
    return found


def parse_priors(text: str) -> dict[str, float]:
    """Parse the fractions of the classes.

    >>> parse_priors("bad=0.3,good=0.7")
    {'bad': 0.3, 'good': 0.7}
    """
    what = "fractions above 0 that sum to 1, such as bad=0.3,good=0.7"
    found = _parse_numbers(text, what, least=1e-300)
    if abs(sum(found.values()) - 1.0) > 1e-6:
        raise ValueError(f"{text!r} must be {what}.")
    return found


def parse_directions(text: str) -> dict[str, int]:
    """Parse the signs of monotonic columns: with 1 the prediction never falls as the column rises.

    >>> parse_directions("age=+1,dose=-1")
    {'age': 1, 'dose': -1}
    """
    what = "columns with +1 or -1, such as age=+1,dose=-1"
    signs = text.replace("=+,", "=+1,").replace("=-,", "=-1,")
    found = _parse_numbers(signs, what, least=-1.0)
    if any(abs(sign) != 1 for sign in found.values()):
        raise ValueError(f"{text!r} must be {what}.")
    return {name: int(sign) for name, sign in found.items()}


def _parse_numbers(text: str, what: str, *, least: float = 0.0) -> dict[str, float]:
    """Parse names with numbers, such as a=1,b=2."""
    pairs = [part.rpartition("=") for part in _split(text)]
    names = [name.strip() for name, _, _ in pairs]
    try:
        numbers = [float(number) for _, _, number in pairs]
    except ValueError:
        numbers = []
    if not numbers or not all(names) or not all(isfinite(each) and each >= least for each in numbers):
        raise ValueError(f"{text!r} must be {what}.")
    if len(set(names)) < len(names):
        raise ValueError(f"{text!r} has a name twice.")
    return dict(zip(names, numbers, strict=True))


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in next(csv.reader([text], skipinitialspace=True), []))


# -- data -------------------------------------------------------------------------------------------------

_PATH = click.Path(path_type=Path)

cell_options = with_options(
    click.option(
        "--missing",
        metavar="WORD",
        multiple=True,
        help="Word for a missing value, in addition to empty cells, NA, N/A, #N/A, NaN, null, None, ? and .; "
        "may be repeated.",
    ),
    click.option(
        "--date",
        metavar="COLUMN",
        multiple=True,
        help="Column of dates, read as days since 2000-01-01; with COLUMN:parts as year, month and weekday; "
        ":dmy or :mdy gives the order of day and month. May be repeated.",
    ),
    click.option(
        "--decimal", metavar="MARK", default=".", help="Decimal mark of numbers, such as the comma in 1,5."
    ),
    click.option(
        "--thousands", metavar="MARK", help="Mark between thousands, such as the comma in 1,234,567."
    ),
    click.option(
        "--encoding",
        metavar="NAME",
        help="Encoding, such as latin-1 or cp1252.  [default: UTF-8, or UTF-16 with its mark]",
    ),
    click.option(
        "--coerce",
        is_flag=True,
        help="In a column of numbers, treat cells that are not numbers as missing.",
    ),
)


def column_options(*, stage: str, groups: str) -> Decorator:
    """Add the options on the roles of columns; the help of two of them differs by command."""
    return with_options(
        click.option("--target", metavar="COLUMN", help="Column to predict: classes or numbers."),
        click.option(
            "--time",
            metavar="COLUMN",
            help="Instead of --target, with --event: column of the time to the event, or to the end of "
            "observation.",
        ),
        click.option("--event", metavar="COLUMN", help=EVENT),
        click.option(
            "--entry",
            metavar="COLUMN",
            help="With --time: column of the time from which on a row was observed, if not from 0.",
        ),
        click.option(
            "--horizon",
            metavar="TIME",
            type=click.FloatRange(0, min_open=True),
            help="With --time: time up to which survival is shown and compared.  [default: up to which a "
            "tenth of the rows is observed]",
        ),
        click.option(
            "--time-unit", metavar="WORD", help="With --time: unit of the times, such as days, for texts."
        ),
        click.option("--stage", metavar="COLUMN", help=f"{stage} Not a feature."),
        click.option("--groups", metavar="COLUMN", help=f"{groups} Not a feature."),
        click.option("--weight", metavar="COLUMN", help=WEIGHT),
        click.option("--drop", metavar="COLUMN", multiple=True, help="Column to leave out; may be repeated."),
        click.option(
            "--categorical",
            metavar="COLUMN",
            multiple=True,
            help="Column of categories, even if all are numbers; may be repeated.",
        ),
        click.option(
            "--ordered",
            metavar="COLUMN=A,B,C",
            type=Text(parse_ordered_column),
            multiple=True,
            help="Column of ordered categories, the lowest first; may be repeated.",
        ),
        click.option(
            "--stage-order",
            metavar="A,B,C",
            type=Text(parse_names),
            help="Order of stages that are words, the earliest first.",
        ),
        click.option(
            "--custom-feature",
            "custom_features",
            metavar="TEXT",
            multiple=True,
            help='Condition that trees may split on, such as "bmi ** 2 < 900"; may be repeated.',
        ),
        click.option(
            "--task",
            type=click.Choice(TASKS, case_sensitive=False),
            help="Kind of the target.  [default: by its values]",
        ),
        click.option(
            "--keep-ids",
            is_flag=True,
            help="Keep columns that only identify rows, such as names and free text.",
        ),
        click.option("--drop-missing-target", is_flag=True, help=DROP_MISSING),
    )


# -- models -----------------------------------------------------------------------------------------------

scoring_option = click.option(
    "--scoring",
    metavar="METRIC",
    help="auc, accuracy, log_loss, ...; r2, absolute_error, ...; concordance, uno, ... of survival.  "
    "[default: auc, r2, concordance]",
)
restart_option = click.option(
    "--restart", is_flag=True, help="Start again, instead of continuing a run that stopped."
)


def model_card_option(default: str = "") -> Decorator:
    """Add the option of a model card, which the report quotes."""
    text = "Model card for the report: what the model is for and who is responsible. See holdfast model-card"
    return click.option("--model-card", metavar="TOML", help=f"{text}.{default}")


def seed_and_jobs(result: str) -> Decorator:
    """Add the options of the seed and of the number of jobs, which does not change the result."""
    return with_options(
        click.option(
            "--random-state",
            metavar="SEED",
            type=click.IntRange(0),
            default=0,
            help=f"Random seed: the same data and seed give the same {result}.",
        ),
        jobs_option(f"Parallel jobs, -1 for all cores; without effect on the {result}.", default=-1),
    )


def jobs_option(text: str, **more: Any) -> Decorator:
    """Add the option of the number of jobs."""
    return click.option("--n-jobs", metavar="JOBS", type=Text(parse_jobs), help=text, **more)


def cluster_option(command: Command) -> Command:
    """Add an option that runs the tasks of the command on a cluster."""

    @click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Run on a cluster, with the same results: tcp://HOST:PORT of a Dask scheduler, or ray.",
    )
    @wraps(command)
    def on_cluster(*args: Any, cluster: str | None = None, **options: Any) -> Any:
        if cluster is None:
            return command(*args, **options)
        from holdfast.parallel.clusters import use_cluster

        with use_cluster(cluster):
            return command(*args, **options)

    return on_cluster


# -- outputs ----------------------------------------------------------------------------------------------


def output_option(text: str = "File to write to, instead of the terminal.", **more: Any) -> Decorator:
    """Add the option of the file or folder that is written."""
    return click.option("-o", "--output", type=_PATH, help=text, **more)


def template_option(name: str) -> Decorator:
    """Add the option of where a template is written, by default to this file; None for the terminal."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path, allow_dash=True),
        default=Path(name),
        show_default=True,
        callback=lambda _context, _option, path: None if path == Path("-") else path,
        help="New file to write to; - for the terminal.",
    )
