"""`holdfast diff`: two model files compared, perhaps on the rows of a data file."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from holdfast._files import replace_file
from holdfast._text import columns_text, quoted
from holdfast._view import WIDTH
from holdfast.cli.words import plain_warnings
from holdfast.data.frame import Frame
from holdfast.data.read import open_source
from holdfast.data.read_options import ReadingOptions
from holdfast.data.schema import Feature
from holdfast.distance.diff import TreeDiff, tree_diff
from holdfast.distance.diff_text import diff_view
from holdfast.distance.reference_schema import widen_schemas
from holdfast.errors import DataError
from holdfast.io.model_file import load_model
from holdfast.report.page import write_report
from holdfast.runs.dataset import share_learned
from holdfast.runs.files import finite
from holdfast.runs.folder import check_output, model_file
from holdfast.runs.new_rows import read_rows_of_both
from holdfast.tree.tree import Tree

ENDINGS = (".txt", ".html", ".json")
# What the terminal shows in colour: what was, what is new, what is gone, and the verdict.
COLOURS = {
    r"\(was\s[^)]*\)": "yellow",
    r"\(new\)|new split|is new|are new|(?<=tree is )better": "green",
    r"no longer asked:|split gone|is gone|are gone|replaced|(?<=tree is )worse": "red",
    r"(?m)^\S.*$": "bold",
}


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """The rows to compare on, and what their columns are for."""

    reading: ReadingOptions
    data: Path | None = None
    target: str | None = None
    weight: str | None = None
    positive: str | None = None
    scoring: str | None = None


def run(old: Path, new: Path, options: DataOptions, output: Path | None, *, as_json: bool = False) -> None:
    """Compare as the options say, and print or write what changed."""
    if output is not None:
        _check_name(output, old, new, *([options.data] if options.data else []))
    with plain_warnings():
        diff = compared(old, new, options)
    if output is not None:
        _write(diff, output, ".json" if as_json else output.suffix.lower())
    elif as_json:
        click.echo(_content(diff, ".json"), nl=False)
    else:
        _print(diff, Console(highlight=False))


def _check_name(output: Path, *inputs: Path) -> None:
    check_output(output, *inputs)
    if output.suffix.lower() not in ENDINGS:
        raise DataError(f"Cannot tell the form of '{output}': end its name in {', '.join(ENDINGS)}.")


def _write(diff: TreeDiff, output: Path, ending: str) -> None:
    if ending == ".html":
        write_report(diff, output)
    else:
        replace_file(output, _content(diff, ending).encode())


def _content(diff: TreeDiff, ending: str) -> str:
    if ending == ".json":
        return json.dumps(finite(diff.to_dict()), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return f"{diff}\n"


def _print(diff: TreeDiff, console: Console) -> None:
    text = Text(diff_view(diff).to_text(min(WIDTH, console.width)))
    for pattern, style in COLOURS.items():
        text.highlight_regex(pattern, style)
    console.print(text, soft_wrap=True)


# -- what is compared -------------------------------------------------------------------------------------


def compared(old: Path, new: Path, options: DataOptions) -> TreeDiff:
    """The diff of two model files, on the rows of the data file if there is one."""
    before, after = widen_schemas(_tree(old), _tree(new))
    positive = options.positive
    if options.data is None:
        return tree_diff(before, after, positive=positive)
    frame, y, weight = _read(options, before, after)
    diff = tree_diff(
        before, after, frame, y, sample_weight=weight, positive=positive, scoring=options.scoring
    )
    assert diff.rows is not None
    shares = [share_learned(path, options.data) for path in (old, new)]
    return replace(diff, rows=replace(diff.rows, old_learned=shares[0], new_learned=shares[1]))


def _tree(path: Path) -> Tree:
    model = load_model(model_file(path))
    if not isinstance(model, Tree):
        raise DataError(f"'{path}' holds {len(model)} trees, and a diff is of two single trees.")
    return model


def _read(options: DataOptions, old: Tree, new: Tree) -> tuple[Frame, Any, Any]:
    """The features of the rows, their target and their weights; None for what there is not."""
    assert options.data is not None
    with open_source(options.data, options.reading.encoding) as source:
        own = old.schema.target
        target = options.target or (own.name if own.name in source.names else None)
        roles = [name for name in (target, options.weight) if name is not None]
        if absent := [name for name in roles if name not in source.names]:
            raise DataError(
                f"There is no column {quoted(absent)} in {source.name}. {columns_text(absent, source.names)}"
            )
        further = [Feature(name) for name in roles if name == options.weight]
        if target is not None:
            further.append(
                Feature(target, "nominal" if own.is_classes else "numeric", categories=own.classes)
            )
        frame = read_rows_of_both(source, old, new, further, options.reading)
    columns = [None if name is None else frame.column(name) for name in (target, options.weight)]
    return frame, columns[0], columns[1]
