"""`holdfast update`: new rows and a model in use become a folder with the model to use from now on."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from holdfast._text import duration_text, pluralize, printable
from holdfast.cli.continued import continued
from holdfast.cli.endings import NOT_PASSED, end_with
from holdfast.cli.fit import show_replaced
from holdfast.cli.sections import WIDEST, show_files
from holdfast.cli.words import heading, paragraph, plain_warnings
from holdfast.errors import HoldfastError, RegisterError
from holdfast.governance.register import opened_register
from holdfast.runs.files import find_earlier_run
from holdfast.runs.folder import Place, check_apart, reserved
from holdfast.runs.update import (
    PreparedUpdate,
    UpdateRun,
    prepare_update,
    update_run_view,
    write_page,
    write_update_files,
)

TREES_FIRST = ("retrain", "candidate")  # ways that grow many trees, which have bars of their own


def run(
    model: Path,
    data: Path,
    folder: Path,
    given: Mapping[str, Any],
    console: Console,
    *,
    restart: bool = False,
) -> None:
    """Update as the options say, print what came of it, and leave a run in the folder."""
    others = [Path(given[name]) for name in ("old", "policy", "register") if given.get(name)]
    check_apart(folder, model, data, *others)
    earlier = find_earlier_run(folder)
    with reserved(folder) as place:  # before the work
        with plain_warnings():
            prepared = prepare_update(model, data, given)
            _show_data(prepared, console)
            with continued(folder, console, restart=restart):
                updated = _updated(prepared, console)
                updated = _written(updated, place, prepared.settings.register)
        if updated.record is not None:  # once it is there, the command must not be given again
            write_page(updated, place.folder)
        _show(updated, console)
        heading(console, "Files")
        show_files(place.folder, console)
        show_replaced(earlier, console)
        _show_outcome(updated, console)
    if not updated.is_taken:
        end_with(NOT_PASSED)


def _updated(prepared: PreparedUpdate, console: Console) -> UpdateRun:
    if prepared.settings.strategy in TREES_FIRST:
        return prepared.update(verbose=True)
    with console.status("A teacher learns from the rows, and the tree from the teacher"):
        return prepared.update()


def _written(updated: UpdateRun, place: Place, register: Any) -> UpdateRun:
    """The run, which has taken its place, and which the register tells of, if there is one."""
    with _held(register) as append:
        with place.new_run() as draft:
            write_update_files(updated, draft)
        return updated if append is None else _registered(updated, append, place.folder)


# -- the register -----------------------------------------------------------------------------------------


@contextmanager
def _held(register: Any) -> Iterator[Any]:
    """Within it no other process writes to the register, if there is one; what adds a record to it."""
    if register is None:
        yield None
        return
    with opened_register(register) as append:
        yield append


def _registered(updated: UpdateRun, append: Any, folder: Path) -> UpdateRun:
    try:
        return updated.registered(append)
    except (HoldfastError, OSError) as error:
        raise RegisterError(
            f"The run is in '{folder}', and the register has no record of it: {error}"
        ) from error


# -- what is printed --------------------------------------------------------------------------------------


def _show_data(prepared: PreparedUpdate, console: Console) -> None:
    tree = prepared.deployed.estimator.tree_
    old = "" if prepared.old is None else f" and {pluralize(prepared.old.n_rows, 'old row')}"
    paragraph(
        console,
        f"A tree of {pluralize(tree.n_leaves, 'leaf', 'leaves')} that predicts "
        f"{printable(tree.schema.target.name)}; {pluralize(prepared.rows.n_rows, 'new row')}{old}.\n",
        style="dim",
    )


def _show(updated: UpdateRun, console: Console) -> None:
    text = Text(update_run_view(updated).to_text(min(WIDEST, console.width)))
    text.highlight_regex(r"(?m)^ *-> .*$", "bold")
    text.highlight_regex(r"\bFAIL\b", "bold red")
    text.highlight_regex(r"(?m)\bpass$", "green")
    console.print(text, soft_wrap=True)
    paragraph(console, f"\nUpdated in {duration_text(updated.facts['seconds']['updating'])}.", style="dim")


def _show_outcome(updated: UpdateRun, console: Console) -> None:
    """What the folder's model is, and where the record stands."""
    which = "the updated model" if updated.is_taken else "the deployed model as it was, which stays in use"
    if updated.is_taken and updated.diff.is_empty:
        which = "the deployed model: its tree is unchanged"
    more = (
        "" if updated.is_taken else " --force takes the update all the same, --take another step of the path."
    )
    paragraph(console, f"\nmodel.json is {which}.{more}")
    if updated.record is not None:
        paragraph(console, f"Record {updated.record.number} of the register is {updated.record.hash}.")
