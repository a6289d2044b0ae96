"""The options of `holdfast fit` and `holdfast compare`, in the order in which --help lists them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from holdfast.cli.model_options import COLUMNS, GROWING, MODEL
from holdfast.cli.reading_options import with_options
from holdfast.stability.methods import METHODS

# As in the library, whose modules --help does not wait for.
TASKS = ("classification", "regression")
RULES = ("within-tolerance", "best-score", "most-stable", "weighted", "knee")
GROWTH = ("cart", "c4.5")
TEST_ROWS = ("forward", "random")
UNITS = ("absolute", "relative", "standard-error")
MODELS = ("tree", "pruned", "c4.5", "bagging", "forest", "boosting", "stable")


def _some_jobs(context: click.Context, parameter: click.Parameter, jobs: int) -> int:
    if jobs == 0:
        raise click.BadParameter("0 jobs do no work: give at least 1, or -1 for all cores.")
    return jobs


_ROLES = (
    click.option(
        "--group",
        "--groups",
        metavar="COLUMN",
        help="Rows of one patient, say, stay on one side, but for earlier ones where stages go forward. No "
        "feature.",
    ),
    click.option("--weight", metavar="COLUMN", help="How much each row counts. No feature."),
    click.option("--drop", multiple=True, metavar="COLUMN", help="Leave it out; may be repeated."),
    click.option(
        "--categorical",
        multiple=True,
        metavar="COLUMN",
        help="Text, even if all digits; may be repeated.",
    ),
    *COLUMNS,
    click.option("--task", type=click.Choice(TASKS), help="Without it, the values of the target tell."),
)
_FIT = (
    click.option("--target", required=True, metavar="COLUMN", help="What the tree is to predict."),
    click.option(
        "--stage",
        metavar="COLUMN",
        help="Years, cohorts, sites in their order: the first stages are the early rows. No feature.",
    ),
    *_ROLES,
    MODEL,
    click.option(
        "--max-depth",
        type=click.IntRange(1, 1000),
        help="Most questions in a row.  [default: 5, of boosting 3, else no limit]",
    ),
    *GROWING,
    click.option(
        "--growth",
        type=click.Choice(GROWTH, case_sensitive=False),
        default=GROWTH[0],
        help="How trees are grown.",
    ),
    click.option(
        "--method",
        type=click.Choice(METHODS),
        default=METHODS[0],
        help="Candidates: trees of many samples, the subtrees of one tree, or the paper's.",
    ),
    click.option(
        "--trees",
        type=click.IntRange(1),
        help="Trees of each collection, or of the ensemble.  [default: 300, else 100]",
    ),
    click.option(
        "--scoring", help="auc, accuracy, log_loss, ...; r2, absolute_error, ... [default: auc, r2]"
    ),
    click.option("--rule", type=click.Choice(RULES), default=RULES[0], help="Which tree to choose."),
    click.option(
        "--tolerance",
        type=click.FloatRange(0),
        default=0.01,
        help="Loss of score, against the best, at which the most stable tree is chosen.",
    ),
    click.option(
        "--tolerance-unit",
        type=click.Choice(UNITS),
        help="Without it, relative for losses, else absolute.",
    ),
    click.option(
        "--gamma", type=click.FloatRange(0), help="For --rule weighted: score per unit of distance."
    ),
    click.option(
        "--early-fraction",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.5,
        help="Fraction of the rows that are early.",
    ),
    click.option(
        "--validation",
        default="auto",
        help="Rows to choose by: a fraction, or a number of folds held out in turn.",
    ),
    click.option(
        "--test",
        type=click.FloatRange(0, 1, max_open=True),
        default=0.25,
        help="Fraction of the rows set aside to test the chosen tree by; 0 for none.",
    ),
    click.option(
        "--test-rows",
        type=click.Choice(TEST_ROWS),
        help="The last stages and some random rows before, or random rows of all. [default: forward with "
        "--stage]",
    ),
    click.option("--seed", type=click.IntRange(0), default=0, help="Same data, same seed, same tree."),
    click.option(
        "--jobs",
        type=click.IntRange(-1),
        default=-1,
        callback=_some_jobs,
        help="Threads, -1 for all cores: the tree is the same.",
    ),
    click.option(
        "-o",
        "--output",
        "folder",
        type=click.Path(path_type=Path),
        default=Path("run"),
        help="Folder for the run: new, empty, or an earlier run, which is replaced.",
    ),
)

_COMPARE = (
    click.option("--target", required=True, metavar="COLUMN", help="What the models are to predict."),
    click.option(
        "--stage",
        metavar="COLUMN",
        help="Years, cohorts, sites in their order: each is predicted from all before it. No feature.",
    ),
    *_ROLES,
    *GROWING,
    click.option(
        "--models",
        default=",".join(MODELS),
        metavar="NAMES",
        help="Which of these, separated by commas; c4.5 is for classes only.",
    ),
    click.option("--folds", type=click.IntRange(1), default=5, help="Parts that are held out in turn."),
    click.option(
        "--strict-groups",
        is_flag=True,
        help="With --stage and --group: learn from no earlier row of a group that is held out.",
    ),
    click.option(
        "--scoring",
        metavar="NAMES",
        help="auc, accuracy, log_loss, ...; r2, absolute_error, ...; the first of several decides. "
        "[default: auc, r2]",
    ),
    click.option(
        "--baseline", type=click.Choice(MODELS), help="Differences are to this one; without it, to the best."
    ),
    click.option("--seed", type=click.IntRange(0), default=0, help="Same data, same seed, same scores."),
    click.option(
        "--jobs",
        type=click.IntRange(-1),
        default=-1,
        callback=_some_jobs,
        help="Fits at a time, -1 for all cores: the scores are the same, the times are not.",
    ),
    click.option(
        "-o",
        "--output",
        "--out",
        "output",
        type=click.Path(path_type=Path),
        help="File for all figures: CSV, Parquet or JSON by its name.",
    ),
)


def fit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with all of the options of a fit."""
    return with_options(_FIT, command)


def compare_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with all of the options of a comparison."""
    return with_options(_COMPARE, command)
