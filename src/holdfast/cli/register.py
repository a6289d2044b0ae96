"""`holdfast register check` and `holdfast register show`."""

from pathlib import Path

import click

from holdfast.cli.endings import NOT_PASSED, end_with
from holdfast.files import replace_file
from holdfast.runs.folder import check_output
from holdfast.show.register import register_text
from holdfast.storage.register import check_register


def check_chain(register: Path, head: str | None) -> None:
    """Print what was found, and end with exit code 3 if the register is broken."""
    found = check_register(register, head=head)
    click.echo(found)
    if not found:
        end_with(NOT_PASSED)


def show_records(register: Path, last: int | None, output: Path | None) -> None:
    """Print the records; of a broken register those before the break, and what is wrong."""
    if output is not None:
        check_output(output, register)
    found = check_register(register)
    records = found.records[-last:] if last else found.records
    text = register_text(records) if records else "no records"
    if output is None:
        click.echo(text)
    else:
        replace_file(output, f"{text}\n".encode())
    if not found:
        click.echo(found, err=True)
        end_with(NOT_PASSED)
