"""`holdfast fit`: fit a model to a data file, and write it with its evidence to a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from holdfast._choices import TEST_ROWS
from holdfast._files import resolve_path
from holdfast._text import duration_text
from holdfast.cli.console import (
    compiled_text,
    continue_run,
    heading,
    make_console,
    paragraph,
    plain_warnings,
)
from holdfast.cli.errors import check_exists
from holdfast.cli.model_options import model_options
from holdfast.cli.options import (
    cell_options,
    cluster_option,
    column_options,
    explicit_options,
    model_card_option,
    output_option,
    restart_option,
    scoring_option,
    seed_and_jobs,
)
from holdfast.errors import DataError, ParameterError
from holdfast.evaluate.methods import FIT_METHODS

if TYPE_CHECKING:
    from holdfast.runs.settings import RunSettings


@click.command("fit", context_settings={"show_default": True})
@click.argument("data", type=click.Path(path_type=Path))
@column_options(
    stage="Column of years, cohorts or sites in their order: the last ones are test rows, and methods that "
    "need early rows take the first ones.",
    groups="Column of groups, such as patients: random splits into training and test rows keep the "
    "rows of a group together.",
)
@click.option(
    "--model",
    type=click.Choice(FIT_METHODS, case_sensitive=False),
    default=FIT_METHODS[0],
    help="A stable tree, a tree, a tree pruned by cross-validation, or an ensemble.",
)
@model_options
@scoring_option
@click.option(
    "--candidate",
    type=click.IntRange(0),
    help="Choose this candidate of the frontier by its number, instead of by a rule.",
)
@click.option(
    "--test",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.25,
    help="Fraction of the rows that is set aside to test the chosen model; 0 for none.",
)
@click.option(
    "--test-rows",
    type=click.Choice(TEST_ROWS, case_sensitive=False),
    help="forward: the test rows are the last stages and some random rows of earlier ones; random: random "
    "rows.  [default: forward with --stage]",
)
@model_card_option()
@seed_and_jobs("tree")
@cluster_option
@output_option(
    "Folder for the run: new, empty, or an earlier run, which is replaced. Without -o, a run of other data "
    "or of another target is kept: see --force.",
    default=Path("run"),
)
@cell_options
@click.option("--no-report", is_flag=True, help="Write no report.html.")
@restart_option
@click.option("--force", is_flag=True, help="Without -o, replace a run of other data or of another target.")
@click.pass_context
def command(
    context: click.Context,
    /,
    data: Path,
    output: Path,
    no_report: bool,
    restart: bool,
    force: bool,
    **options: Any,
) -> None:
    """Fit one accurate and stable tree to DATA: CSV, Parquet, or a folder of Parquet.

    Several models are fitted and averaged (the teacher), and a small tree is distilled from their
    predictions. The tree is moved towards the consensus of 100 trees distilled on bootstrap samples, while it
    still agrees with the teacher. --method and --model select other trees and models.

    With --time and --event, instead of --target, relative risks and survival are predicted. Of several kinds
    of events (competing risks), name one with --event COLUMN=VALUE: rows with another count as censored. An
    event that is only known to lie between two visits (interval censoring) is not supported.

    On two cores a fit takes about 3 seconds for up to 5,000 rows and 10 for 50,000. The first one after the
    installation takes a minute longer, to compile. For a quick look: --teacher linear --n-estimators 25.
    """
    check_exists(data)
    from holdfast.cli.fit_output import show_files, show_fit, show_replaced_run, show_roles
    from holdfast.runs.files import find_earlier_run, write_run_files
    from holdfast.runs.folder import reserved
    from holdfast.runs.run import prepare_run

    console = make_console()
    settings = read_settings(explicit_options(context, options))
    earlier = find_earlier_run(output)
    is_named = context.get_parameter_source("output") is not ParameterSource.DEFAULT
    if earlier is not None and not (force or is_named):
        _check_same_fit(earlier, data, output, settings.data.targets.name)
    with reserved(output) as place:  # before the work
        with plain_warnings():
            prepared = prepare_run(data, settings)
            show_roles(prepared.roles, console)
            ready = prepared.prepare_kernels()
            if ready.compiled:
                text = f"Kernels {compiled_text()} in {duration_text(ready.seconds)}."
                paragraph(console, text, style="dim")
            with continue_run(output, console, restart=restart):
                fitted = prepared.fit(verbose=True, ready=ready)
                with plain_warnings(), place.new_run() as draft:
                    write_run_files(fitted, draft, report=not no_report)
        assert fitted.details is not None
        show_fit(fitted.details, console)
        heading(console, "Files")
        show_files(place.folder, console)
        show_replaced_run(earlier, console)


def read_settings(given: Mapping[str, Any]) -> RunSettings:
    """Make the settings of a run from the explicit options."""
    from holdfast.growth.rules import C45, CART
    from holdfast.runs.settings import RunSettings

    parameters = dict(given)
    model, method = given.get("model", "stable"), given.get("method", "consensus")
    if "growth_rules" in given:
        if model == "stable" and method == "consensus":
            raise ParameterError(
                f"--growth goes with another --method, and the method is {method}: leave it out."
            )
        parameters["growth_rules"] = {"cart": CART, "c4.5": C45}[given["growth_rules"]]
    if model == "boosting" and "criterion" in given:
        parameters["loss"] = parameters.pop("criterion")
    return RunSettings.of(parameters)


def _check_same_fit(earlier: Mapping[str, Any], data: Path, folder: Path, target: str) -> None:
    """Raise a DataError if the run in the folder is an update, or a fit of other data or another target."""
    from holdfast.runs.files import name_run

    facts = earlier["data"]
    is_same_target = facts.get("target", {}).get("name") == target
    if not is_same_target or resolve_path(Path(facts.get("source") or "")) != resolve_path(data):
        raise DataError(
            f"'{folder}' contains {name_run(earlier)}, and would be replaced. Name another folder with -o, "
            "or add --force."
        )
