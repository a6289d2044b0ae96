"""`holdfast fit`: a data file becomes a folder with one model and all that is known of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from holdfast._files import resolve_path
from holdfast._text import duration_text, printable
from holdfast.cli.continued import continued
from holdfast.cli.data_section import show_data
from holdfast.cli.model_sections import show_model
from holdfast.cli.sections import show_files, show_fit
from holdfast.cli.words import compiled_text, heading, paragraph, plain_warnings
from holdfast.errors import DataError, ParameterError
from holdfast.growth.rules import C45, CART
from holdfast.runs.compile import Ready
from holdfast.runs.files import find_earlier_run, name_run, write_run_files
from holdfast.runs.folder import Place, reserved
from holdfast.runs.run import PreparedRun, Run, prepare_run
from holdfast.runs.settings import RunSettings

COMPILING = "Compiling the kernels, or loading them from disk"


def run(
    data: Path,
    folder: Path,
    given: Mapping[str, Any],
    console: Console,
    *,
    report: bool = True,
    restart: bool = False,
    replace: bool = True,
) -> None:
    """Fit as the options say, print the results, and leave a run in the folder.

    Without `replace` an earlier run in the folder must be of the same data and target.
    """
    settings = settings_of(given)
    earlier = find_earlier_run(folder)
    if not replace and earlier is not None:
        _check_same(earlier, data, folder, settings.data.target)
    with reserved(folder) as place:  # before the work
        with plain_warnings():
            prepared = prepare_run(data, settings)
            show_data(prepared.roles, console)
            ready = ready_kernels(prepared, console)
            if ready.compiled:
                paragraph(
                    console, f"Kernels {compiled_text()} in {duration_text(ready.seconds)}.", style="dim"
                )
            with continued(folder, console, restart=restart):
                fitted = prepared.fit(verbose=True, ready=ready)
                with plain_warnings():
                    write_to(place, fitted, report=report)
        assert fitted.details is not None
        show = show_fit if fitted.details.is_stable else show_model
        show(fitted.details, console)
        heading(console, "Files")
        show_files(place.folder, console)
        show_replaced(earlier, console)


def settings_of(given: Mapping[str, Any]) -> RunSettings:
    """The settings of a run that the options come to."""
    parameters = dict(given)
    model, method = given.get("model", "stable"), given.get("method", "consensus")
    if "growth_rules" in given:
        if model == "stable" and method == "consensus":
            raise ParameterError(
                f"--growth goes with another --method, and the method is {method}: leave it out."
            )
        parameters["growth_rules"] = {"cart": CART, "c4.5": C45}[given["growth_rules"]]
    if model == "boosting" and "criterion" in given:  # what each tree lowers
        parameters["loss"] = parameters.pop("criterion")
    return RunSettings.of(parameters)


def show_replaced(earlier: Mapping[str, Any] | None, console: Console) -> None:
    """Name the run that stood in the folder before."""
    if earlier is not None:
        paragraph(console, f"\nThis run replaced {printable(name_run(earlier))}.")


def _check_same(earlier: Mapping[str, Any], data: Path, folder: Path, target: str) -> None:
    """Raise a DataError if the run in the folder is an update, or a fit of other data or another target."""
    known = earlier["data"]
    of_target = known.get("target", {}).get("name")
    if of_target != target or resolve_path(Path(known.get("source") or "")) != resolve_path(data):
        raise DataError(
            f"'{folder}' holds {name_run(earlier)}, and would be replaced. Name another folder with -o, or "
            "say --force."
        )


def ready_kernels(prepared: PreparedRun, console: Console) -> Ready:
    """The kernels of the model, compiled or loaded while the terminal says so."""
    with console.status(COMPILING):
        return prepared.ready_kernels()


def write_to(place: Place, fitted: Run, *, report: bool = True) -> None:
    """Let the run take its place."""
    with place.new_run() as draft:
        write_run_files(fitted, draft, report=report)
