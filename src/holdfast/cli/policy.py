"""`holdfast policy init` and `holdfast policy check`."""

from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from holdfast.cli.endings import NOT_PASSED, end_with
from holdfast.cli.new_file import write_new_text
from holdfast.cli.words import plain_warnings
from holdfast.errors import PolicyError
from holdfast.governance.policy import ChangePolicy
from holdfast.runs.files import write_json
from holdfast.runs.folder import check_output
from holdfast.runs.new_rows import RowSource, load_tree, read_compared


def write_template(output: Path | None) -> None:
    """Write the template, unless there is a file already, or print it."""
    write_new_text(ChangePolicy.template_text(), output, "limits", PolicyError)
    if output is not None:
        click.echo(f"Wrote {output}: make its limits your own before the next update.")


def check_change(
    old: Path, new: Path, policy_file: Path, source: RowSource, output: Path | None, console: Console
) -> None:
    """Judge the change, print the verdict, and end with exit code 3 if a line fails."""
    policy = ChangePolicy.load(policy_file)
    if output is not None:
        check_output(output, old, new, policy_file, source.data)
    with plain_warnings():
        rows = read_compared((load_tree(old), load_tree(new)), source, policy.subgroups)
        verdict = policy.check(rows.old, rows.new, rows.table, subgroups=rows.columns)
    text = Text(str(verdict))
    text.highlight_regex(r"\bFAIL\b", "bold red")
    text.highlight_regex(r"(?m)\bpass$", "green")
    console.print(text, soft_wrap=True)
    if output is not None:
        write_json({"policy": policy.to_dict(), **verdict.to_dict()}, output)
    if not verdict.passed:
        end_with(NOT_PASSED)
