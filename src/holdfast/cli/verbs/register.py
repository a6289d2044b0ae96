"""`holdfast register`: the changes of a deployed model, one after the other."""

from pathlib import Path

import click

_OUTPUT = click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File to write to, instead of the terminal."
)


@click.group("register")
def command() -> None:
    """Read a change register, check it, and find the models that it names."""


@command.command("check")
@click.argument("register", type=click.Path(path_type=Path))
@click.option(
    "--head",
    metavar="HASH",
    help="Hash of a record that is known from elsewhere and has to be there: the last one, say.",
)
@_OUTPUT
def check(register: Path, head: str | None, output: Path | None) -> None:
    """Check that every record of REGISTER is as it was written, and follows the one before.

    Ends with exit code 3 where one is not.
    """
    from holdfast.cli.register import check_chain

    check_chain(register, head, output)


@command.command("show")
@click.argument("register", type=click.Path(path_type=Path))
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N records.")
@_OUTPUT
def show(register: Path, last: int | None, output: Path | None) -> None:
    """Show the records of REGISTER: which model took the place of which, when, by whom and why."""
    from holdfast.cli.register import show_records

    show_records(register, last, output)


@command.command("find")
@click.argument("hash")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@_OUTPUT
def find(hash: str, folder: Path, output: Path | None) -> None:  # noqa: A002 (the word of the register)
    """Find the model file that HASH, or its first digits, names, in FOLDER or a folder in it.

    Loading that file takes a change back.
    """
    from holdfast.cli.register import find_file

    find_file(hash, folder, output)
