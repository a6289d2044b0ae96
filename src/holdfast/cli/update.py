"""`holdfast update`: update a deployed tree with new rows, and write the model to use from now on."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast._choices import UPDATE_STRATEGIES, UPDATE_TOLERANCE
from holdfast._text import duration_text, pluralize, printable
from holdfast.cli.console import (
    continue_run,
    heading,
    make_console,
    paragraph,
    plain_warnings,
    print_coloured,
)
from holdfast.cli.errors import NOT_PASSED, check_exists, end_with
from holdfast.cli.options import (
    DROP_MISSING,
    WEIGHT,
    Text,
    cell_options,
    cluster_option,
    explicit_options,
    jobs_option,
    model_card_option,
    output_option,
    restart_option,
)
from holdfast.errors import HoldfastError, RegisterError
from holdfast.runs.folder import check_apart

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.runs.folder import Place
    from holdfast.runs.update import PreparedUpdate, UpdateRun

TREE_GROWERS = ("retrain", "candidate")  # strategies that grow many trees, with progress bars of their own
COLOURS = {r"(?m)^ *-> .*$": "bold", r"\bFAIL\b": "bold red", r"(?m)\bpass$": "green"}


def parse_nodes(text: str) -> tuple[int, ...] | str:
    """Parse numbers of nodes between commas, or the word edited.

    >>> parse_nodes("0, 3"), parse_nodes("edited")
    ((0, 3), 'edited')
    """
    if text.strip() == "edited":
        return "edited"
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() for part in parts):
        raise ValueError(f"{text!r} must be numbers of nodes such as 0,3, or the word edited.")
    return tuple(map(int, parts))


@click.command("update")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@output_option("Folder for the run: new, empty, or an earlier run, which is replaced.", required=True)
@click.option("--target", metavar="COLUMN", help="Column to predict.  [default: as in the model]")
@click.option("--time", metavar="COLUMN", help="Times to an event: column of the time.  [default: as above]")
@click.option("--event", metavar="COLUMN", help="Column of the event, or COLUMN=VALUE.  [default: as above]")
@click.option("--entry", metavar="COLUMN", help="Column of the time of entry.  [default: as above]")
@click.option(
    "--strategy",
    type=click.Choice(UPDATE_STRATEGIES, case_sensitive=False),
    help="The closest tree that fits; the tree as it is; new leaf values only; a new tree; or the closest of "
    f"bootstrap trees that score well.  [default: {UPDATE_STRATEGIES[0]}]",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    help=f"Fraction of the fit of a new tree that may be lost.  [default: {UPDATE_TOLERANCE}]",
)
@click.option("--take", metavar="STEP", type=click.IntRange(0), help="Take this step of the path instead.")
@click.option(
    "--frozen",
    metavar="NODES",
    type=Text(parse_nodes),
    help="Numbers of nodes whose splits stay, or edited for those edited by hand.",
)
@click.option("--allow-new-values", is_flag=True, help="Accept new columns, categories and classes.")
@click.option(
    "--drop",
    metavar="COLUMN",
    multiple=True,
    help="With --allow-new-values: column to leave out; may be repeated.",
)
@click.option(
    "--groups",
    metavar="COLUMN",
    help="Column of groups, such as patients, whose rows are kept together. Not a feature.",
)
@click.option("--weight", metavar="COLUMN", help=WEIGHT)
@click.option("--drop-missing-target", is_flag=True, help=DROP_MISSING)
@click.option("--old", metavar="DATA", help="Earlier rows, to train on as well.")
@click.option(
    "--half-life",
    type=click.FloatRange(0, min_open=True),
    help="With --old: age at which the weight of a row is halved; old rows have age 1.",
)
@click.option(
    "--prior-rows",
    type=click.FloatRange(0),
    help="Effective number of rows behind the deployed tree.  [default: its training rows]",
)
@click.option(
    "--validation",
    type=click.FloatRange(0, 1, max_open=True),
    help="Fraction of the new rows to score on; 0 for none.  [default: a third]",
)
@click.option("--policy", metavar="TOML", help="Change policy: an update that breaks it is not taken.")
@click.option(
    "--force",
    is_flag=True,
    help="Update with few rows or one class, too, and take an update that breaks the policy.",
)
@click.option("--register", metavar="JSONL", help="Change register to add a record to.")
@click.option("--by", metavar="NAME", help="Who makes the change, for report and record.")
@click.option("--why", metavar="TEXT", help="Reason of the change, for report and record.")
@click.option("--trigger", metavar="TEXT", help="Occasion of the change, for the report: a yearly review.")
@model_card_option("  [default: that of the run]")
@jobs_option("Parallel jobs, -1 for all cores; without effect on the tree.  [default: -1]")
@cluster_option
@cell_options
@restart_option
@click.pass_context
def command(
    context: click.Context, /, model: Path, data: Path, output: Path, restart: bool, **options: Any
) -> None:
    """Update the tree of MODEL, a model file or a run folder, with the rows of DATA (CSV or Parquet).

    If the tree fits the new rows well enough with new leaf values, its splits stay. If not, it changes step
    by step, as little as the fit requires; --take takes another step. With --policy, an update that breaks
    the policy is not taken: the deployed model stays in use, and the command ends with exit code 3.
    """
    check_exists(model, data)
    from holdfast.cli.fit_output import MAX_WIDTH, show_files, show_replaced_run
    from holdfast.runs.files import find_earlier_run
    from holdfast.runs.folder import reserved
    from holdfast.runs.settings import UpdateRunSettings
    from holdfast.runs.update import prepare_update, update_run_view, write_page

    given = explicit_options(context, options)
    UpdateRunSettings.of(given)  # raises before any work
    check_apart(
        output, model, data, *(Path(given[name]) for name in ("old", "policy", "register") if name in given)
    )
    console, earlier = make_console(), find_earlier_run(output)
    with reserved(output) as place:  # before the work
        with plain_warnings():
            prepared = prepare_update(model, data, given)
            _show_rows(prepared, console)
            with continue_run(output, console, restart=restart):
                if prepared.settings.strategy in TREE_GROWERS:
                    updated = prepared.update(verbose=True)
                else:
                    with console.status("Fitting the teacher and the tree"):
                        updated = prepared.update()
                updated = _write(updated, place, prepared.settings.register)
        if updated.record is not None:  # the command must not be repeated now, whatever happens
            write_page(updated, place.folder)
        print_coloured(console, update_run_view(updated).to_text(min(MAX_WIDTH, console.width)), COLOURS)
        seconds = updated.facts["seconds"]["updating"]
        paragraph(console, f"\nUpdated in {duration_text(seconds)}.", style="dim")
        heading(console, "Files")
        show_files(place.folder, console)
        show_replaced_run(earlier, console)
        _show_outcome(updated, console)
    if not updated.is_taken:
        end_with(NOT_PASSED)


def _write(updated: UpdateRun, place: Place, register: Any) -> UpdateRun:
    """Write the run to its folder and, if there is a register, a record while the register is locked."""
    from holdfast.governance.register import opened_register
    from holdfast.runs.update import write_update_files

    with nullcontext() if register is None else opened_register(register) as append:
        with place.new_run() as draft:
            write_update_files(updated, draft)
        if append is None:
            return updated
        try:
            return updated.registered(append)
        except (HoldfastError, OSError) as error:
            raise RegisterError(
                f"The run is in '{place.folder}', and the register has no record of it: {error}"
            ) from error


def _show_rows(prepared: PreparedUpdate, console: Console) -> None:
    tree = prepared.deployed.estimator.tree_
    old = "" if prepared.old is None else f" and {pluralize(prepared.old.n_rows, 'old row')}"
    paragraph(
        console,
        f"A tree of {pluralize(tree.n_leaves, 'leaf', 'leaves')} that predicts "
        f"{printable(tree.schema.target.name)}; {pluralize(prepared.rows.n_rows, 'new row')}{old}.\n",
        style="dim",
    )


def _show_outcome(updated: UpdateRun, console: Console) -> None:
    """Print which model the folder has, and the record of the register."""
    more = ""
    if not updated.is_taken:
        which = "the deployed model as it was, which stays in use"
        more = " --force takes the update all the same, --take another step of the path."
    elif updated.diff.is_empty:
        which = "the deployed model: its tree is unchanged"
    else:
        which = "the updated model"
    paragraph(console, f"\nmodel.json is {which}.{more}")
    if updated.record is not None:
        paragraph(console, f"Record {updated.record.number} of the register is {updated.record.hash}.")
