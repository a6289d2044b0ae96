"""`holdfast fit`: a data file becomes a folder with one model and all that is known of it."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from holdfast.cli.data_section import show_data
from holdfast.cli.fitted import fitted
from holdfast.cli.growing import rules_for
from holdfast.cli.model_sections import show_model
from holdfast.cli.model_summary import write_model
from holdfast.cli.models import fit_smallest, fitted_model
from holdfast.cli.reading_options import rules_of
from holdfast.cli.run_folder import Place, reserved
from holdfast.cli.sections import show_files, show_fit
from holdfast.cli.source import Columns, read_rows
from holdfast.cli.study import Job, Study, divided
from holdfast.cli.summary import write_run
from holdfast.cli.words import compiled_text, heading, paragraph, plain_warnings, ready_kernels, timed
from holdfast.errors import RulesError
from holdfast.growth.rules import C45, CART
from holdfast.stability.choice import SelectionRule
from holdfast.stability.settings import Settings
from holdfast.text.numbers import duration

GROWTH = {"cart": CART, "c4.5": C45}
DEPTHS = {"stable": 5, "boosting": 3}  # greatest depth by default; of other models there is none
N_TREES = {"stable": 300}  # of each collection, by default
N_MEMBERS = 100  # of an ensemble, by default


@dataclass(frozen=True)
class Steps:
    """What differs between a stable tree and all other models, once the rows have their roles."""

    fitted: Callable[[Study, Job], Any]
    write: Callable[[Any, Path, Mapping[str, Any]], None]
    show: Callable[[Any, Console], None]


def run(data: Path, folder: Path, options: Mapping[str, Any], console: Console) -> None:
    """Fit as the options say, print what came of it, and leave a run in the folder."""
    with reserved(folder) as place:  # before the work
        _run(data, place, options, console)


def _run(data: Path, place: Place, options: Mapping[str, Any], console: Console) -> None:
    job, columns = job_of(options, progress=console.is_terminal), Columns.of(options)
    is_stable, rules = job.model == "stable", rules_of(options)
    steps = _steps(job.model)
    with plain_warnings() as notes:
        drop_missing = options["drop_missing_target"]
        rows, reading = timed(lambda: read_rows(data, columns, rules, drop_missing_target=drop_missing))
        study = divided(rows, job)
        _check_growth(study, job, options)
        show_data(study, console, early=is_stable)
        smallest = None if is_stable else partial(fit_smallest, job, study.own.schema.target)
        is_compiled, compiling = ready_kernels(console, smallest)
        if is_compiled:
            paragraph(console, f"Kernels {compiled_text()} in {duration(compiling)}.", style="dim")
        fit, fitting = timed(lambda: steps.fitted(study, job))
    seconds = {"reading": reading, "compiling": compiling, "fitting": fitting}
    with place.new_run() as draft:
        about = {"columns": asdict(columns), "reading": asdict(rules), "seconds": seconds, "notes": notes}
        steps.write(fit, draft, about)
    steps.show(fit, console)
    heading(console, "Files")
    show_files(place.folder, console)


def _steps(model: str) -> Steps:
    if model == "stable":
        return Steps(fitted, write_run, show_fit)
    return Steps(fitted_model, write_model, show_model)


def job_of(options: Mapping[str, Any], *, progress: bool) -> Job:
    """What the options of the command line ask for; a RulesError names one that is out of range."""
    model = options["model"]
    said = {name: options[name] for name in ("max_depth", "min_samples_leaf") if options[name] is not None}
    settings = Settings(
        rules=replace(GROWTH[options["growth"]], **{"max_depth": DEPTHS.get(model), **said}),
        method=options["method"],
        n_estimators=options["trees"] or N_TREES.get(model, N_MEMBERS),
        early_fraction=options["early_fraction"],
        validation=_validation(options["validation"]),
        scoring=options["scoring"],
        seed=options["seed"],
        n_jobs=options["jobs"],
        verbose=progress,
    )
    selection_rule = SelectionRule(
        options["rule"], options["tolerance"], options["tolerance_unit"], options["gamma"]
    )
    said_of_rows = options["test"], options["task"], options["test_rows"]
    return Job(settings, selection_rule, *said_of_rows, model, said, options["class_weight"])


def _check_growth(study: Study, job: Job, options: Mapping[str, Any]) -> None:
    """Refuse what the target has no use for, before the work."""
    target = study.table.schema.target
    if options["growth"] == "c4.5" and not target.is_classes:
        raise RulesError(
            f"--growth c4.5 is for classes, and the target {target.name!r} is a number: leave it out."
        )
    rules_for(job, target)


def _validation(text: str) -> float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
