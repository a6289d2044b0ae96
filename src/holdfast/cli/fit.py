"""`holdfast fit`: a data file becomes a folder with one stable tree and all that is known of it."""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from holdfast.cli.fitted import fitted
from holdfast.cli.run_folder import Place, reserved
from holdfast.cli.sections import show_data, show_files, show_fit
from holdfast.cli.source import Columns, read_rows
from holdfast.cli.study import Job, Study, divided
from holdfast.cli.summary import write_run
from holdfast.cli.words import (
    compiled_text,
    duration,
    heading,
    paragraph,
    plain_warnings,
    ready_kernels,
    timed,
)
from holdfast.errors import RulesError
from holdfast.growth.rules import C45, CART
from holdfast.stability.choice import Wish
from holdfast.stability.settings import Settings

GROWTH = {"cart": CART, "c4.5": C45}


def run(data: Path, folder: Path, options: Mapping[str, Any], console: Console) -> None:
    """Fit as the options say, print what came of it, and leave a run in the folder."""
    with reserved(folder) as place:  # before the work
        _run(data, place, options, console)


def _run(data: Path, place: Place, options: Mapping[str, Any], console: Console) -> None:
    job, columns = job_of(options, progress=console.is_terminal), columns_of(options)
    with plain_warnings() as notes:
        rows, reading = timed(lambda: read_rows(data, columns))
        study = divided(rows, job)
        _check_growth(study, options)
        show_data(study, console)
        is_compiled, compiling = ready_kernels(console)
        if is_compiled:
            paragraph(console, f"Kernels {compiled_text()} in {duration(compiling)}.", style="dim")
        fit, fitting = timed(lambda: fitted(study, job))
    seconds = {"reading": reading, "compiling": compiling, "fitting": fitting}
    with place.new_run() as draft:
        write_run(fit, draft, {"columns": asdict(columns), "seconds": seconds, "notes": notes})
    show_fit(fit, console)
    heading(console, "Files")
    show_files(place.folder, console)


def job_of(options: Mapping[str, Any], *, progress: bool) -> Job:
    """What the options of the command line ask for; a RulesError names one that is out of range."""
    settings = Settings(
        rules=replace(GROWTH[options["growth"]], max_depth=options["max_depth"]),
        candidates=options["candidates"],
        n_trees=options["trees"],
        early_share=options["early_share"],
        validation=_validation(options["validation"]),
        scoring=options["scoring"],
        seed=options["seed"],
        n_jobs=options["jobs"],
        progress=progress,
    )
    wish = Wish(options["rule"], options["tolerance"], options["tolerance_unit"], options["gamma"])
    return Job(settings, wish, options["test"], options["task"])


def columns_of(options: Mapping[str, Any]) -> Columns:
    """The columns that the options name."""
    return Columns(**{name: options[name] for name in (field.name for field in fields(Columns))})


def _check_growth(study: Study, options: Mapping[str, Any]) -> None:
    target = study.table.schema.target
    if options["growth"] == "c4.5" and not target.is_classes:
        raise RulesError(
            f"--growth c4.5 is for classes, and the target {target.name!r} is a number: leave it out."
        )


def _validation(text: str) -> float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
