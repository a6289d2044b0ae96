"""From data to a run, in steps that the terminal tells of and Python takes at once."""

import os
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from holdfast.governance.change_summary import rows_profile
from holdfast.governance.model_card import model_card_of
from holdfast.runs.facts import stable_facts
from holdfast.runs.folder import check_place
from holdfast.runs.json_file import finite
from holdfast.runs.kernels import Ready, ready_kernels, train_smallest
from holdfast.runs.model_facts import model_facts
from holdfast.runs.model_fit import fit_model, fit_smallest
from holdfast.runs.notes import collect_notes, timed
from holdfast.runs.resumable import resumable
from holdfast.runs.roles import RowRoles, assign_roles
from holdfast.runs.rows import Rows, read_rows
from holdfast.runs.run import Run
from holdfast.runs.settings import RunSettings
from holdfast.runs.stable_fit import StableFit, fit_stable
from holdfast.runs.wording import in_python, python_errors


def fit_run(
    data: Any,
    target: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    **settings: Any,
) -> Run:
    """A model for the rows of a frame, or of a CSV or Parquet file, tested on rows set aside before.

    A folder of Parquet files is one file in parts. `target` names the column to predict. All options of
    `holdfast fit` are taken by their names, `--max-depth` as `max_depth`: see `RunSettings`. With a `folder`
    the run is saved there, and one that was stopped on its way goes on where it was: see `resumable`. With
    `verbose`, progress bars are shown.
    """
    if folder is not None:
        check_place(Path(folder))  # before the work
        with resumable(folder):
            run = fit_run(data, target, verbose=verbose, **settings)
            run.save(folder)
            return run
    given: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as given, python_errors():
            warnings.simplefilter("always")
            return prepare_run(data, RunSettings.of({"target": target, **settings})).fit(verbose=verbose)
    finally:
        for each in given:
            warnings.warn(in_python(str(each.message)), each.category, stacklevel=2)


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """Rows in their roles, ready for the fit."""

    settings: RunSettings
    roles: RowRoles
    seconds: dict[str, float]
    notes: list[str]  # warnings so far

    def ready_kernels(self) -> Ready:
        """The kernels of the model compiled, or loaded from disk."""
        target = self.roles.training.schema.target
        stable = partial(train_smallest, self.settings)
        return ready_kernels(
            stable if self.settings.is_stable else partial(fit_smallest, self.settings, target)
        )

    def fit(self, *, verbose: bool = False, ready: Ready | None = None) -> Run:
        """The run; `ready` tells how the kernels came to be ready, if they are."""
        ready = ready or self.ready_kernels()
        fit_kind = fit_stable if self.settings.is_stable else fit_model
        with collect_notes() as notes:
            fit, fitting = timed(lambda: fit_kind(self.roles, self.settings, verbose=verbose))
        besides = {
            "model_card": model_card_of(self.settings.model_card).to_dict(),
            "profile": rows_profile(self.roles.whole).to_dict(),
            "seconds": {**self.seconds, "compiling": ready.seconds, "fitting": fitting},
            "notes": list(dict.fromkeys([*self.notes, *ready.notes, *notes])),
        }
        if not isinstance(fit, StableFit):
            return Run(finite({**model_facts(fit), **besides}), fit.model, details=fit)
        return Run(
            finite({**stable_facts(fit), **besides}),
            fit.model,
            tuple(fit.trained.references_of(fit.choice.candidate).trees),
            tuple(fit.trained.candidates.trees),
            _frontier_columns(fit),
            fit,
        )


def prepare_run(data: Any, settings: RunSettings) -> PreparedRun:
    """The rows of a frame or a file in their roles."""
    model_card_of(settings.model_card)  # before any work
    with collect_notes() as notes:
        rows, reading = timed(lambda: read_rows(data, settings))
        roles = assign_roles(rows, settings)
    return PreparedRun(settings, roles, {"reading": reading}, notes)


def prepare_rows(rows: Rows, settings: RunSettings) -> PreparedRun:
    """The same with rows that have been read."""
    with collect_notes() as notes:
        roles = assign_roles(rows, settings)
    return PreparedRun(settings, roles, {}, notes)


def _frontier_columns(fit: StableFit) -> dict[str, list[Any]]:
    """One entry per candidate: what is known of it, and what it was grown with."""
    candidates = fit.trained.candidates
    grown_with = [candidates.combinations[place] for place in candidates.combination.tolist()]
    names = candidates.combinations[0]
    return {
        **fit.trained.frontier.columns(),
        **{name: [combination[name] for combination in grown_with] for name in names},
    }
