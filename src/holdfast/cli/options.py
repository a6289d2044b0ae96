"""The options of the commands, made from the settings, which declare names, defaults, ranges and help."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import reduce, wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from holdfast.cli.stages_settings import StagesSettings
from holdfast.evaluate.methods import AUDITED_METHODS, CHANGE_NAMES, COMPARED_METHODS, METHOD_NAMES
from holdfast.runs.data_settings import CellSettings, ColumnSettings, DataSettings
from holdfast.runs.setting import Range, Setting, option, setting, setting_of
from holdfast.runs.settings import LearningSettings, RunSettings, jobs
from holdfast.runs.update_settings import UpdateRunSettings

RAW = "In CSV, leave text as it is even where a spreadsheet would take it for a formula."
Command = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class CompareSettings(LearningSettings):
    """What a comparison of models depends on, but for the data."""

    models: str = setting(
        ",".join(COMPARED_METHODS),
        help=f"Which of {', '.join(METHOD_NAMES)}, separated by commas; c4.5 is for classes only.",
        metavar="NAMES",
    )
    folds: int = setting(5, kind=int, range=Range(1), help="Parts that are held out in turn.")
    strict_groups: bool = setting(
        False,
        kind=bool,
        help="With --stage and --groups: learn from no earlier row of a group that is held out.",
    )
    baseline: str | None = setting(
        None, help="Differences are to this one; without it, to the best.", choices=METHOD_NAMES
    )


@dataclass(frozen=True, kw_only=True)
class AuditSettings(DataSettings):
    """What an audit of retraining depends on, but for the data."""

    methods: str | None = setting(
        None,
        help=f"Which of {', '.join(METHOD_NAMES)}, separated by commas.  "
        f"[default: {', '.join(AUDITED_METHODS)}]",
        metavar="NAMES",
    )
    changes: str | None = setting(
        None,
        help=f"Which of {', '.join(CHANGE_NAMES)}, separated by commas.  [default: all]",
        metavar="NAMES",
    )
    repeats: int = setting(5, kind=int, range=Range(1), help="Number of random divisions of the rows.")
    test: float = setting(
        0.3,
        kind=float,
        range=Range(0, 1, low_open=True, high_open=True),
        help="Fraction of the rows to test on.",
    )
    label_weight: float = setting(
        10.0, kind=float, range=Range(0), help="Weight of another outcome of a rule in a tree distance."
    )
    random_state: int = setting(0, kind=int, range=Range(0), help="Same data, same seed, same figures.")
    n_jobs: int = setting(
        -1,
        kind=int,
        range=Range(-1),
        help="Fits at a time, -1 for all cores: the figures are the same, the times are not.",
        from_python=jobs,
    )


# What the options mean for an audit.
_AUDITED = {
    "stage": "Years, cohorts, sites in their order: trained up to one, then up to the next. No feature.",
    "groups": "Rows of one patient, say, are never divided. No feature.",
}
# What the options mean for stages.
_CARRIED = {
    "stage": "Years, cohorts, sites in their order: one tree for each. No feature.",
    "groups": "Rows of one patient, say, are drawn together. No feature.",
}
# What the options mean for a comparison.
_COMPARED = {
    "stage": "Years, cohorts, sites in their order: each is predicted from all before it. No feature.",
    "scoring": "auc, accuracy, log_loss, ...; r2, absolute_error, ...; the first of several decides. "
    "[default: auc, r2]",
    "random_state": "Same data, same seed, same scores.",
    "n_jobs": "Fits at a time, -1 for all cores: the scores are the same, the times are not.",
}


# A page of a second or two at the end of a run.
report_option = click.option("--no-report", is_flag=True, help="Write no report.html.")
restart_option = click.option(
    "--restart", is_flag=True, help="Begin anew, where the same command would go on with a run that stopped."
)
ARGUMENTS = "holdfast.arguments"  # of the command, in what click keeps with its context


def cluster_option(command: Command) -> Command:
    """The command with an option that lets its tasks run on a cluster."""

    @click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Work on a cluster, with the same results: tcp://HOST:PORT of a Dask scheduler, or ray.",
    )
    @wraps(command)
    def on_cluster(*args: Any, cluster: str | None = None, **options: Any) -> Any:
        if cluster is None:
            return command(*args, **options)
        from holdfast.backends.clusters.active import use_cluster

        with use_cluster(cluster):
            return command(*args, **options)

    return on_cluster


def fit_options(command: Command) -> Command:
    """The command with all of the options of a fit."""
    folder = click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        default=Path("run"),
        help="Folder for the run: new, empty, or an earlier run, which is replaced. Where it is not given, a "
        "run of other data or of another target is kept: see --force.",
    )
    return _with_options([*_learning_options(RunSettings), folder, *_options(CellSettings)], command)


def compare_options(command: Command) -> Command:
    """The command with all of the options of a comparison."""
    file = click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        help="File: all figures in CSV, Parquet or JSON, a page in HTML, by its name.",
    )
    learning = _learning_options(CompareSettings, _COMPARED)
    return _with_options([*learning, file, *_options(CellSettings)], command)


def audit_options(command: Command) -> Command:
    """The command with all of the options of an audit."""
    file = click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        help="File: every pair in CSV or Parquet, all figures in JSON, a page in HTML, by its name.",
    )
    return _with_options(
        [*_learning_options(AuditSettings, _AUDITED), file, *_options(CellSettings)], command
    )


def stages_options(command: Command) -> Command:
    """The command with all of the options of a sequence of stages."""
    file = click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        help="File: a page in HTML, a picture in SVG, figures in JSON, a row per stage in CSV or Parquet.",
    )
    learning = _learning_options(StagesSettings, _CARRIED)
    return _with_options([*learning, file, *_options(CellSettings)], command)


def update_options(command: Command) -> Command:
    """The command with all of the options of an update."""
    folder = click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        required=True,
        help="Folder for the run: new, empty, or an earlier run, which is replaced.",
    )
    cells = {each.name for each in fields(CellSettings)}
    own = [_option(each, {}) for each in fields(UpdateRunSettings) if each.name not in cells]
    return _with_options([folder, *own, cluster_option, *_options(CellSettings)], command)


def cell_options(command: Command) -> Command:
    """The command with the options that say how cells are written."""
    return _with_options(_options(CellSettings), command)


def template_option(name: str) -> Callable[[Command], Command]:
    """Where a template is written to, by default to a file of this name; None for the terminal."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path, allow_dash=True),
        default=Path(name),
        show_default=True,
        callback=lambda _context, _option, path: None if path == Path("-") else path,
        help="File to write to, which must not be there yet; - for the terminal.",
    )


def given_options(context: click.Context, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the user has given; the others have their defaults."""
    return {
        name: value
        for name, value in options.items()
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    }


# -- one option for each setting --------------------------------------------------------------------------


class Text(click.ParamType[Any]):
    """A text that a setting reads in its own way."""

    name = "text"

    def __init__(self, from_text: Callable[[str], Any]) -> None:
        self._from_text = from_text

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """What the text means; a usage error says what is wrong with it."""
        if not isinstance(value, str):
            return value
        try:
            return self._from_text(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)


def _learning_options(kind: type[DataSettings], helps: Mapping[str, str] | None = None) -> list[Any]:
    """The columns first, then what is learnt from them, and how."""
    of_data = {each.name for each in fields(DataSettings)}
    learning = [each for each in fields(kind) if each.name not in of_data]
    last = ("random_state", "n_jobs")
    ordered = sorted(learning, key=lambda each: each.name in last)
    options = [_option(each, helps or {}) for each in ordered]
    return [*_options(ColumnSettings, helps), *options, cluster_option]


def _options(kind: Any, helps: Mapping[str, str] | None = None) -> list[Any]:
    return [_option(each, helps or {}) for each in fields(kind)]


def _option(field: "Field[Any]", helps: Mapping[str, str]) -> Any:
    known = setting_of(field)
    text = helps.get(field.name, known.help)
    if known.kind is bool:
        return click.option(option(field.name), is_flag=True, help=text)
    is_required = field.default is MISSING
    default: dict[str, Any] = {} if is_required or known.repeated else {"default": field.default}
    return click.option(
        option(field.name),
        type=_type(known),
        **default,
        required=is_required,
        multiple=known.repeated,
        metavar=known.metavar,
        callback=_checked(known) if known.from_python and known.range else None,
        help=text,
    )


def _type(known: Setting) -> Any:
    limits = known.range
    if known.choices:
        return click.Choice(known.choices, case_sensitive=False)
    if known.from_text is not None:
        return Text(known.from_text)
    if limits is None:
        return known.kind
    if known.kind is int:
        return click.IntRange(int(limits.low), None if limits.high is None else int(limits.high))
    return click.FloatRange(limits.low, limits.high, min_open=limits.low_open, max_open=limits.high_open)


def _checked(known: Setting) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """What else there is to check, besides the range."""

    def check(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        try:
            return known.from_python(value) if known.from_python else value
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return check


def _with_options(options: Iterable[Any], command: Command) -> Command:
    """The command with these options, in the order in which --help lists them."""
    return reduce(lambda wrapped, each: each(wrapped), reversed(list(options)), command)
