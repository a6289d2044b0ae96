"""`holdfast stages`: one tree after another, stage by stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast._choices import MEMORIES, MIN_STAGE_ROWS, MOST_LEAVES, SEQUENCE_STRATEGIES, TEACHER_NAMES
from holdfast._files import replace_file
from holdfast._text import duration_text, pluralize
from holdfast._version import __version__
from holdfast._view import WIDTH
from holdfast.cli.compare import check_output_name
from holdfast.cli.console import continue_run, make_console, paragraph, plain_warnings, verbatim
from holdfast.cli.errors import check_exists
from holdfast.cli.options import (
    cell_options,
    cluster_option,
    column_options,
    output_option,
    restart_option,
    scoring_option,
    seed_and_jobs,
)
from holdfast.errors import ParameterError

if TYPE_CHECKING:
    from holdfast.update.sequence import StageSequence


@click.command("stages", context_settings={"show_default": True})
@click.argument("data", type=click.Path(path_type=Path))
@column_options(
    stage="Column of years, cohorts or sites in their order: one tree for each.",
    groups="Column of groups, such as patients, whose rows are kept together in samples.",
)
@click.option(
    "--strategy",
    type=click.Choice(SEQUENCE_STRATEGIES, case_sensitive=False),
    default=SEQUENCE_STRATEGIES[0],
    help="update: each tree is as close to the one before as its fit allows; shortest-path: the sequence "
    "with the least total loss and distance.",
)
@click.option(
    "--memory",
    type=click.Choice(MEMORIES, case_sensitive=False),
    default=MEMORIES[0],
    help="Training rows of a stage: all rows so far, or those of the stage alone.",
)
@click.option(
    "--half-life",
    type=click.FloatRange(0, min_open=True),
    help="Age in stages at which the weight of a row is halved.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    help="Fraction of the fit of a new tree that may be lost.  [default: 0.02; no limit for a shortest path]",
)
@click.option(
    "--movement-weight",
    type=click.FloatRange(0),
    help="Shortest path: loss of fit that one unit of tree distance is worth.  [default: 0.02]",
)
@click.option("--hindsight", is_flag=True, help="Shortest path: also consider the splits of later stages.")
@click.option("--compare", is_flag=True, help="Also train a new tree at each stage.")
@click.option(
    "--min-rows",
    type=click.IntRange(1),
    default=MIN_STAGE_ROWS,
    help="A stage with fewer rows is joined with the next.",
)
@click.option(
    "--strict-groups",
    is_flag=True,
    help="With --groups: score only rows of groups that are in no earlier stage.",
)
@click.option("--max-leaf-nodes", type=click.IntRange(2), default=MOST_LEAVES, help="Most leaves.")
@click.option("--max-depth", type=click.IntRange(1, 1000), default=5, help="Most splits on a path.")
@click.option(
    "--teacher",
    type=click.Choice(TEACHER_NAMES, case_sensitive=False),
    default=TEACHER_NAMES[0],
    help="Model that the trees are distilled from.",
)
@scoring_option
@seed_and_jobs("trees")
@cluster_option
@output_option(
    "File for a page (.html), a picture (.svg), all figures (.json), or one row per stage (.csv, .parquet)."
)
@cell_options
@restart_option
def command(
    data: Path,
    output: Path | None,
    restart: bool,
    strategy: str,
    memory: str,
    half_life: float | None,
    tolerance: float | None,
    movement_weight: float | None,
    hindsight: bool,
    compare: bool,
    min_rows: int,
    strict_groups: bool,
    max_leaf_nodes: int,
    max_depth: int,
    teacher: str,
    scoring: str | None,
    random_state: int,
    n_jobs: int,
    **columns: Any,
) -> None:
    """Fit one tree after another to the stages of DATA (CSV or Parquet), and show which rules change when.

    The first stage gets a stable tree, which changes at each later stage as little as the fit allows; or
    --strategy shortest-path finds the sequence with the least total loss and distance. Each tree is scored on
    the next stage.
    """
    check_exists(data)
    if columns["stage"] is None:
        raise ParameterError("--stage is missing: name the column of the stages, such as years.")
    import numpy as np

    from holdfast.evaluate.methods import make_estimator
    from holdfast.runs.dataset import read_rows
    from holdfast.runs.files import timed
    from holdfast.runs.settings import DataSettings
    from holdfast.update.sequence import StageSettings, sequence_view

    sequence_settings: dict[str, Any] = {
        "strategy": strategy,
        "memory": memory,
        "half_life": half_life,
        "tolerance": tolerance,
        "movement_weight": movement_weight,
        "hindsight": hindsight,
        "compare": compare,
        "min_rows": min_rows,
        "strict_groups": strict_groups,
    }
    StageSettings(**sequence_settings)  # raises before any work
    if output is not None:
        check_output_name(output, data, {".svg": "for a picture"})
    console, settings = make_console(), DataSettings(**columns)
    with plain_warnings():
        rows = read_rows(data, settings)
        table = rows.table(settings.task)
        size = f"{pluralize(table.n_rows, 'row')}, {pluralize(table.n_features, 'feature')}"
        paragraph(console, f"{size}, {pluralize(len(rows.stages), 'stage')}.\n", style="dim")
        model = make_estimator(
            "stable",
            table.schema.target.task,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            teacher=teacher,
            scoring=scoring,
            random_state=random_state,
            n_jobs=n_jobs,
            custom_features=list(settings.custom_features) or None,
            verbose=True,
            **settings.hazard_options,
        )

        def fit_stages() -> StageSequence:
            model.fit_stages(
                rows.features,
                rows.y,
                table.weight,
                stage=np.array(rows.stages, object)[rows.stage],
                stage_order=rows.stages,
                groups=rows.groups,
                **sequence_settings,
            )
            sequence: StageSequence = model.stages_
            return sequence

        with continue_run(output, console, restart=restart):
            sequence, seconds = timed(fit_stages)
            if output is not None:
                write_stages(sequence, output)
    verbatim(console, sequence_view(sequence).to_text(min(WIDTH, console.width)))
    paragraph(console, f"\nFitted in {duration_text(seconds)}.", style="dim")


def write_stages(sequence: StageSequence, output: Path) -> None:
    """Write a page, a picture, all figures as JSON, or one row per stage to a file of data."""
    from holdfast.data.write import write_file
    from holdfast.report.page import write_report
    from holdfast.runs.files import write_json

    ending = output.suffix.lower()
    if ending == ".html":
        write_report(sequence, output)
    elif ending == ".svg":
        replace_file(output, sequence.to_svg().encode())
    elif ending == ".json":
        write_json({"holdfast": __version__, **sequence.to_dict()}, output)
    else:
        write_file(sequence.columns(), output)
