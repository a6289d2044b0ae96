"""Templates for people to fill in: written once, and never over what they have filled in."""

from pathlib import Path

import click

from holdfast._files import replace_file, resolve_path
from holdfast.errors import HoldfastError
from holdfast.runs.folder import check_output


def write_new_text(text: str, output: Path | None, what: str, error_type: type[HoldfastError]) -> None:
    """Write the text to a new file, or print it; an error of that type if the file is there already."""
    if output is None:
        click.echo(text, nl=False)
        return
    if resolve_path(output, error_type).exists():
        raise error_type(f"'{output}' is there already, and may hold your {what}: give another name.")
    check_output(output)
    replace_file(output, text.encode())
