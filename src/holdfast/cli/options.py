"""The options that several commands share: the data, its cells, and what is learnt from it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce, wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from holdfast._choices import (
    MEMORIES,
    MIN_STAGE_ROWS,
    SEQUENCE_STRATEGIES,
    TASKS,
    TEACHER_NAMES,
    TEST_ROWS,
    UPDATE_STRATEGIES,
    UPDATE_TOLERANCE,
)
from holdfast.cli.model_options import MODEL_OPTIONS, model_option
from holdfast.cli.parsing import (
    Text,
    class_weights,
    column_in_order,
    jobs,
    leaf_size,
    names_in_order,
    node_numbers,
)
from holdfast.evaluate.methods import AUDITED_METHODS, CHANGE_NAMES, COMPARED_METHODS, METHOD_NAMES
from holdfast.runs.settings import MODELS as FIT_MODELS
from holdfast.runs.settings import DataSettings

RAW = "In CSV, leave text as it is even where a spreadsheet would take it for a formula."
ARGUMENTS = "holdfast.arguments"  # of the command, in what click keeps with its context
Command = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class LearningSettings(DataSettings):
    """What every comparison has, besides the data."""

    min_samples_leaf: int | float | None = None
    class_weight: Any = None
    scoring: Any = None
    random_state: int = 0
    n_jobs: int = -1


@dataclass(frozen=True, kw_only=True)
class CompareSettings(LearningSettings):
    """What a comparison of models depends on, but for the data."""

    models: str = ",".join(COMPARED_METHODS)
    folds: int = 5
    strict_groups: bool = False
    baseline: str | None = None


@dataclass(frozen=True, kw_only=True)
class AuditSettings(DataSettings):
    """What an audit of retraining depends on, but for the data."""

    methods: str | None = None
    changes: str | None = None
    repeats: int = 5
    test: float = 0.3
    label_weight: float = 10.0
    random_state: int = 0
    n_jobs: int = -1


# -- data -------------------------------------------------------------------------------------------------

_STAGE = (
    "Years, cohorts, sites in their order: the last are to test by, and where a method has early rows, they "
    "are the first. No feature."
)
_GROUPS = (
    "Rows of one patient, say, stay on one side, but for earlier ones where stages go forward. No feature."
)
_WEIGHT = "How much each row counts. No feature."
_DROP_MISSING = "Leave out rows whose target is missing."


def cells() -> list[Any]:
    """How cells are written: the options of every command that reads a file."""
    return [
        click.option(
            "--missing",
            metavar="WORD",
            multiple=True,
            help="Means missing, as empty cells, NA, N/A, #N/A, NaN, null, None, ? and . do; may be "
            "repeated.",
        ),
        click.option(
            "--date",
            metavar="COLUMN",
            multiple=True,
            help="Dates, as days since 2000-01-01; with COLUMN:parts as year, month and weekday. :dmy or "
            ":mdy tells day from month. May be repeated.",
        ),
        click.option(
            "--decimal", metavar="MARK", default=".", help="Decimal mark of numbers, as the comma in 1,5."
        ),
        click.option("--thousands", metavar="MARK", help="Mark between thousands, as in 1,234,567."),
        click.option(
            "--encoding",
            metavar="NAME",
            help="latin-1, cp1252, ...; without it UTF-8, or UTF-16 with its mark.",
        ),
        click.option(
            "--coerce",
            is_flag=True,
            help="Cells that are no numbers, in a column of numbers, are missing.",
        ),
    ]


def columns(*, stage: str = _STAGE, groups: str = _GROUPS) -> list[Any]:
    """What the columns of a file are for."""
    return [
        click.option("--target", metavar="COLUMN", required=True, help="What is to be predicted."),
        click.option("--stage", metavar="COLUMN", help=stage),
        click.option("--groups", metavar="COLUMN", help=groups),
        click.option("--weight", metavar="COLUMN", help=_WEIGHT),
        click.option("--drop", metavar="COLUMN", multiple=True, help="Leave it out; may be repeated."),
        click.option(
            "--categorical",
            metavar="COLUMN",
            multiple=True,
            help="Text, even if all digits; may be repeated.",
        ),
        click.option(
            "--ordered",
            metavar="COLUMN=A,B,C",
            type=Text(column_in_order),
            multiple=True,
            help="Categories that have an order, the lowest first; may be repeated.",
        ),
        click.option(
            "--stage-order",
            metavar="A,B,C",
            type=Text(names_in_order),
            help="Stages that are words, earliest first.",
        ),
        click.option(
            "--question",
            metavar="TEXT",
            multiple=True,
            help='A yes/no question that trees may ask: "bmi ** 2 < 900"; may be repeated.',
        ),
        click.option(
            "--task",
            type=click.Choice(TASKS, case_sensitive=False),
            help="Without it, the values of the target tell.",
        ),
        click.option(
            "--keep-ids", is_flag=True, help="Keep columns that only tell rows apart: names, free text."
        ),
        click.option("--drop-missing-target", is_flag=True, help=_DROP_MISSING),
    ]


def scoring(text: str = "auc, accuracy, log_loss, ...; r2, absolute_error, ... [default: auc, r2]") -> Any:
    """The metric."""
    return click.option("--scoring", help=text)


def seed_and_jobs(seed: str, threads: str) -> list[Any]:
    """What changes no model."""
    return [
        click.option(
            "--random-state", type=click.IntRange(0), default=0, help=f"Same data, same seed, {seed}."
        ),
        click.option("--n-jobs", metavar="JOBS", type=Text(jobs), default=-1, help=threads),
    ]


def output_folder(*, text: str, **known: Any) -> Any:
    """The folder that a run is written to."""
    return click.option("-o", "--output", type=click.Path(path_type=Path), help=text, **known)


def output_file(text: str) -> Any:
    """The file that figures are written to."""
    return click.option("-o", "--output", type=click.Path(path_type=Path), help=f"File: {text}")


# A page of a second or two at the end of a run.
report_option = click.option("--no-report", is_flag=True, help="Write no report.html.")
restart_option = click.option(
    "--restart", is_flag=True, help="Begin anew, where the same command would go on with a run that stopped."
)


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
        from holdfast.parallel.clusters import use_cluster

        with use_cluster(cluster):
            return command(*args, **options)

    return on_cluster


# -- by command -------------------------------------------------------------------------------------------


def fit_options(command: Command) -> Command:
    """The command with all of the options of a fit."""
    options = [
        *columns(),
        click.option(
            "--model",
            type=click.Choice(FIT_MODELS, case_sensitive=False),
            default=FIT_MODELS[0],
            help="A stable tree, a tree, a tree whose size folds choose, or many trees.",
        ),
        *map(model_option, MODEL_OPTIONS),
        scoring(),
        click.option(
            "--candidate",
            type=click.IntRange(0),
            help="Take this candidate of the frontier, by its number, instead of a rule.",
        ),
        click.option(
            "--test",
            type=click.FloatRange(0, 1, max_open=True),
            default=0.25,
            help="Fraction of the rows set aside to test the chosen tree by; 0 for none.",
        ),
        click.option(
            "--test-rows",
            type=click.Choice(TEST_ROWS, case_sensitive=False),
            help="The last stages and some random rows before, or random rows of all. [default: forward with "
            "--stage]",
        ),
        click.option(
            "--model-card",
            metavar="TOML",
            help="What the model is for and who answers for it, for the page: see holdfast model-card init.",
        ),
        *seed_and_jobs("same tree", "Threads, -1 for all cores: the tree is the same."),
        cluster_option,
        output_folder(
            default=Path("run"),
            text="Folder for the run: new, empty, or an earlier run, which is replaced. Where it is not "
            "given, a run of other data or of another target is kept: see --force.",
        ),
        *cells(),
    ]
    return with_options(options, command)


def compare_options(command: Command) -> Command:
    """The command with all of the options of a comparison."""
    options = [
        *columns(
            stage="Years, cohorts, sites in their order: each is predicted from all before it. No feature."
        ),
        click.option(
            "--min-samples-leaf",
            metavar="ROWS",
            type=Text(leaf_size),
            help="Fewest rows of a leaf: a number, or a fraction of all.",
        ),
        click.option(
            "--class-weight",
            metavar="WEIGHTS",
            type=Text(class_weights),
            help="balanced, or weights of classes: died=5,lived=1.",
        ),
        scoring(
            "auc, accuracy, log_loss, ...; r2, absolute_error, ...; the first of several decides. [default: "
            "auc, r2]"
        ),
        click.option(
            "--models",
            metavar="NAMES",
            default=",".join(COMPARED_METHODS),
            help=f"Which of {', '.join(METHOD_NAMES)}, separated by commas; c4.5 is for classes only.",
        ),
        click.option("--folds", type=click.IntRange(1), default=5, help="Parts that are held out in turn."),
        click.option(
            "--strict-groups",
            is_flag=True,
            help="With --stage and --groups: learn from no earlier row of a group that is held out.",
        ),
        click.option(
            "--baseline",
            type=click.Choice(METHOD_NAMES, case_sensitive=False),
            help="Differences are to this one; without it, to the best.",
        ),
        *seed_and_jobs(
            "same scores", "Fits at a time, -1 for all cores: the scores are the same, the times are not."
        ),
        cluster_option,
        output_file("all figures in CSV, Parquet or JSON, a page in HTML, by its name."),
        *cells(),
    ]
    return with_options(options, command)


def audit_options(command: Command) -> Command:
    """The command with all of the options of an audit."""
    options = [
        *columns(
            stage="Years, cohorts, sites in their order: trained up to one, then up to the next. No feature.",
            groups="Rows of one patient, say, are never divided. No feature.",
        ),
        click.option(
            "--methods",
            metavar="NAMES",
            help=f"Which of {', '.join(METHOD_NAMES)}, separated by commas.  "
            f"[default: {', '.join(AUDITED_METHODS)}]",
        ),
        click.option(
            "--changes",
            metavar="NAMES",
            help=f"Which of {', '.join(CHANGE_NAMES)}, separated by commas.  [default: all]",
        ),
        click.option(
            "--repeats", type=click.IntRange(1), default=5, help="Times that rows are divided anew."
        ),
        click.option(
            "--test",
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            default=0.3,
            help="Fraction of the rows that no model sees.",
        ),
        click.option(
            "--label-weight",
            type=click.FloatRange(0),
            default=10.0,
            help="What another outcome of a rule adds to a distance.",
        ),
        *seed_and_jobs(
            "same figures", "Fits at a time, -1 for all cores: the figures are the same, the times are not."
        ),
        cluster_option,
        output_file("every pair in CSV or Parquet, all figures in JSON, a page in HTML, by its name."),
        *cells(),
    ]
    return with_options(options, command)


def stages_options(command: Command) -> Command:
    """The command with all of the options of a sequence of stages."""
    options = [
        *columns(
            stage="Years, cohorts, sites in their order: one tree for each. No feature.",
            groups="Rows of one patient, say, are drawn together. No feature.",
        ),
        click.option(
            "--strategy",
            type=click.Choice(SEQUENCE_STRATEGIES, case_sensitive=False),
            default=SEQUENCE_STRATEGIES[0],
            help="update: each tree as near to the last as the rows allow; shortest-path: of all that the "
            "stages suggest, the sequence that loses and moves least.",
        ),
        click.option(
            "--memory",
            type=click.Choice(MEMORIES, case_sensitive=False),
            default=MEMORIES[0],
            help="What a stage learns from: all rows so far, or those of the stage alone.",
        ),
        click.option(
            "--half-life",
            type=click.FloatRange(0, min_open=True),
            help="Age in stages at which a row counts half.",
        ),
        click.option(
            "--tolerance",
            type=click.FloatRange(0),
            help="Fit that a tree may lose against a fresh one.  [default: 0.02, of a shortest path none]",
        ),
        click.option(
            "--movement-weight",
            type=click.FloatRange(0),
            help="Of a shortest path: fit that one unit of distance is worth.  [default: 0.02]",
        ),
        click.option(
            "--hindsight",
            is_flag=True,
            help="Of a shortest path: let a stage ask what later ones suggest.",
        ),
        click.option("--compare", is_flag=True, help="Also train a tree anew at each stage."),
        click.option(
            "--min-rows",
            type=click.IntRange(1),
            default=MIN_STAGE_ROWS,
            help="A stage with fewer rows is joined with the next.",
        ),
        click.option(
            "--strict-groups",
            is_flag=True,
            help="With --groups: score only rows of groups that no earlier stage has.",
        ),
        click.option("--max-leaf-nodes", type=click.IntRange(2), default=12, help="Most leaves."),
        click.option("--max-depth", type=click.IntRange(1, 1000), default=5, help="Most splits on a path."),
        click.option(
            "--teacher",
            type=click.Choice(TEACHER_NAMES, case_sensitive=False),
            default=TEACHER_NAMES[0],
            help="What the trees learn from.",
        ),
        scoring(),
        *seed_and_jobs("same trees", "Threads, -1 for all cores: the trees are the same."),
        cluster_option,
        output_file("a page in HTML, a picture in SVG, figures in JSON, a row per stage in CSV or Parquet."),
        *cells(),
    ]
    return with_options(options, command)


def update_options(command: Command) -> Command:
    """The command with all of the options of an update."""
    options = [
        output_folder(
            required=True, text="Folder for the run: new, empty, or an earlier run, which is replaced."
        ),
        click.option(
            "--target", metavar="COLUMN", help="What is predicted.  [default: as the model calls it]"
        ),
        click.option(
            "--strategy",
            type=click.Choice(UPDATE_STRATEGIES, case_sensitive=False),
            help="The nearest tree that fits; the tree as it is; new values of its leaves alone; a tree "
            "retrained; or the nearest of bootstrap trees that score well.  "
            f"[default: {UPDATE_STRATEGIES[0]}]",
        ),
        click.option(
            "--tolerance",
            type=click.FloatRange(0),
            help="How much less than a fresh tree it may explain, as a fraction.  [default: "
            f"{UPDATE_TOLERANCE}]",
        ),
        click.option(
            "--take", metavar="STEP", type=click.IntRange(0), help="Take this step of the path instead."
        ),
        click.option(
            "--frozen",
            metavar="NODES",
            type=Text(node_numbers),
            help="Numbers of nodes whose splits stay, or edited for those changed by hand.",
        ),
        click.option("--allow-new-values", is_flag=True, help="Take in new columns, categories and classes."),
        click.option(
            "--drop",
            metavar="COLUMN",
            multiple=True,
            help="With --allow-new-values: leave it out; may be repeated.",
        ),
        click.option(
            "--groups", metavar="COLUMN", help="Rows of one patient, say, stay on one side. No feature."
        ),
        click.option("--weight", metavar="COLUMN", help=_WEIGHT),
        click.option("--drop-missing-target", is_flag=True, help=_DROP_MISSING),
        click.option("--old", metavar="DATA", help="Rows of before, to learn from as well."),
        click.option(
            "--half-life",
            type=click.FloatRange(0, min_open=True),
            help="With --old: the age at which a row counts half; old rows have the age 1.",
        ),
        click.option(
            "--prior-rows",
            type=click.FloatRange(0),
            help="How many rows the deployed tree stands for.  [default: those that it was trained on]",
        ),
        click.option(
            "--validation",
            type=click.FloatRange(0, 1, max_open=True),
            help="Fraction of the new rows that scores are measured on; 0 for none.  [default: a third]",
        ),
        click.option("--policy", metavar="TOML", help="A change policy: what breaks it is not taken."),
        click.option(
            "--force",
            is_flag=True,
            help="Update even by few rows or one class, and take the update even if it breaks the policy.",
        ),
        click.option("--register", metavar="JSONL", help="The change register to add a record to."),
        click.option("--by", metavar="NAME", help="Who makes the change, for page and record."),
        click.option("--why", metavar="TEXT", help="Why it is made, for page and record."),
        click.option("--trigger", metavar="TEXT", help="What led to it, for the page: a yearly review."),
        click.option(
            "--model-card",
            metavar="TOML",
            help="What the model is for and who answers for it, for the page: see holdfast model-card init.  "
            "[default: what its run was told]",
        ),
        click.option(
            "--n-jobs",
            metavar="JOBS",
            type=Text(jobs),
            help="Threads, -1 for all cores: the tree is the same.  [default: -1]",
        ),
        cluster_option,
        *cells(),
    ]
    return with_options(options, command)


def cell_options(command: Command) -> Command:
    """The command with the options that say how cells are written."""
    return with_options(cells(), command)


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


def with_options(options: Iterable[Any], command: Command) -> Command:
    """The command with these options, in the order in which --help lists them."""
    return reduce(lambda wrapped, each: each(wrapped), reversed(list(options)), command)
