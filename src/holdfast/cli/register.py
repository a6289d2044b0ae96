"""`holdfast register`: the record of the changes of a deployed model."""

from pathlib import Path

import click

from holdfast._files import replace_file
from holdfast.cli.errors import NOT_PASSED, end_with
from holdfast.cli.options import output_option
from holdfast.runs.folder import check_output


@click.group("register")
def command() -> None:
    """Read a change register, check it, and find the models that it names."""


@command.command("check")
@click.argument("register", type=click.Path(path_type=Path))
@click.option(
    "--head",
    metavar="HASH",
    help="Hash of a record that is known from elsewhere and must be there, such as the last one.",
)
@output_option()
def check(register: Path, head: str | None, output: Path | None) -> None:
    """Check that every record of REGISTER is unchanged and follows the previous one.

    Ends with exit code 3 if the check fails.
    """
    from holdfast.governance.register import check_register

    if output is not None:
        check_output(output, register)
    result = check_register(register, head=head)
    _print(str(result), output)
    if not result:
        end_with(NOT_PASSED)


@command.command("show")
@click.argument("register", type=click.Path(path_type=Path))
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N records.")
@output_option()
def show(register: Path, last: int | None, output: Path | None) -> None:
    """Show the records of REGISTER: which model replaced which, when, by whom and why."""
    from holdfast.governance.register import check_register, register_text

    if output is not None:
        check_output(output, register)
    result = check_register(register)
    records = result.records[-last:] if last else result.records
    _print(register_text(records) if records else "no records", output)
    if not result:  # the records are those before the break
        click.echo(result, err=True)
        end_with(NOT_PASSED)


@command.command("find")
@click.argument("hash")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@output_option()
def find(hash: str, folder: Path, output: Path | None) -> None:  # noqa: A002 (the word of the register)
    """Find the model file with this HASH, or its first digits, in FOLDER or a folder in it.

    To roll back a change, deploy this file again.
    """
    from holdfast.governance.register import find_model

    if output is not None:
        check_output(output)
    _print(str(find_model(hash, folder)), output)


def _print(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text)
    else:
        replace_file(output, f"{text}\n".encode())
