"""`holdfast stages`: a tree for every stage of a data file."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from holdfast._files import replace_file
from holdfast._text import duration_text, pluralize
from holdfast._version import __version__
from holdfast._view import WIDTH
from holdfast.cli.continued import continued
from holdfast.cli.stages_settings import StagesSettings
from holdfast.cli.words import paragraph, plain_warnings, verbatim
from holdfast.data.read_options import is_parquet
from holdfast.data.table import Table
from holdfast.data.target import attach_name
from holdfast.data.write import write_file
from holdfast.errors import DataError, ParameterError
from holdfast.estimators.base import build_estimator
from holdfast.estimators.stable import StableTreeClassifier, StableTreeRegressor
from holdfast.report.page import write_report
from holdfast.runs.dataset import Rows, read_rows
from holdfast.runs.files import timed, write_json
from holdfast.runs.folder import check_output
from holdfast.update.sequence import StageSequence, StageSettings, sequence_view

CARRIED = (
    *("strategy", "memory", "half_life", "tolerance", "movement_weight", "hindsight", "compare", "min_rows"),
    "strict_groups",
)
TRAINED = ("max_leaf_nodes", "max_depth", "teacher", "scoring", "random_state", "n_jobs")


def run(
    data: Path, output: Path | None, settings: StagesSettings, console: Console, *, restart: bool = False
) -> None:
    """Carry a tree through the stages, print what happened, and write it to a file."""
    if settings.stage is None:
        raise ParameterError("--stage is missing: name the column of the stages, such as years.")
    StageSettings(**_carried_by(settings))  # before any work
    if output is not None:
        _check_name(output, data)
    with plain_warnings():
        rows = read_rows(data, settings)
        table = rows.table(settings.task)
        size = f"{pluralize(table.n_rows, 'row')}, {pluralize(table.n_features, 'feature')}"
        paragraph(console, f"{size}, {pluralize(len(rows.stages), 'stage')}.\n", style="dim")
        with continued(output, console, restart=restart):
            sequence, seconds = timed(lambda: _carried(rows, table, settings, console))
            if output is not None:
                write_stages(sequence, output)
    verbatim(console, sequence_view(sequence).to_text(min(WIDTH, console.width)))
    paragraph(console, f"\nFitted in {duration_text(seconds)}.", style="dim")


def _check_name(output: Path, data: Path) -> None:
    check_output(output, data)
    if output.suffix.lower() in (".json", ".html", ".svg"):
        return
    try:
        is_parquet(output)
    except DataError as error:
        others = "in .json for JSON; in .html for a page; in .svg for a picture."
        raise DataError(f"{str(error).removesuffix('.')}; {others}") from None


def _carried(rows: Rows, table: Table, settings: StagesSettings, console: Console) -> StageSequence:
    kind = StableTreeClassifier if table.schema.target.is_classes else StableTreeRegressor
    parameters = {name: getattr(settings, name) for name in TRAINED}
    model = build_estimator(kind, **parameters, custom_features=list(settings.question) or None, verbose=True)
    model.fit_stages(
        rows.features,
        _named_target(rows),
        table.weight,
        stage=np.array(rows.stages, object)[rows.stage],
        stage_order=rows.stages,
        groups=rows.groups,
        **_carried_by(settings),
    )
    sequence: StageSequence = model.stages_
    return sequence


def _named_target(rows: Rows) -> Any:
    """The target, which bears the name of its column also where it comes from a file of text."""
    values = rows.frame.column(rows.target)
    return attach_name(values, rows.target) if isinstance(values, np.ndarray) else values


def _carried_by(settings: StagesSettings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in CARRIED}


def write_stages(sequence: StageSequence, output: Path) -> None:
    """A page, a picture, all figures in JSON, or one row per stage in a file of data."""
    ending = output.suffix.lower()
    if ending == ".html":
        write_report(sequence, output)
    elif ending == ".svg":
        replace_file(output, sequence.to_svg().encode())
    elif ending == ".json":
        write_json({"holdfast": __version__, **sequence.to_dict()}, output)
    else:
        write_file(sequence.columns(), output)
