"""`holdfast register check` and `holdfast register show`."""

from pathlib import Path

import click

from holdfast._files import replace_file
from holdfast.cli.endings import NOT_PASSED, end_with
from holdfast.governance.register import check_register, find_model, register_text
from holdfast.runs.folder import check_output


def check_chain(register: Path, head: str | None, output: Path | None) -> None:
    """Print what was found, and end with exit code 3 if the register is broken."""
    _check_output(output, register)
    found = check_register(register, head=head)
    _say(str(found), output)
    if not found:
        end_with(NOT_PASSED)


def show_records(register: Path, last: int | None, output: Path | None) -> None:
    """Print the records; of a broken register those before the break, and what is wrong."""
    _check_output(output, register)
    found = check_register(register)
    records = found.records[-last:] if last else found.records
    _say(register_text(records) if records else "no records", output)
    if not found:
        click.echo(found, err=True)
        end_with(NOT_PASSED)


def find_file(wanted: str, folder: Path, output: Path | None) -> None:
    """Print where the model is that has this hash."""
    _check_output(output)
    _say(str(find_model(wanted, folder)), output)


def _check_output(output: Path | None, *inputs: Path) -> None:
    if output is not None:
        check_output(output, *inputs)


def _say(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text)
    else:
        replace_file(output, f"{text}\n".encode())
