"""From data to a run, in steps that the terminal tells of and Python takes at once."""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from holdfast.governance.change_summary import rows_profile
from holdfast.governance.model_card import model_card_of
from holdfast.runs.facts import fit_facts
from holdfast.runs.fit import fit, frontier_columns
from holdfast.runs.folder import check_place
from holdfast.runs.json_file import finite
from holdfast.runs.kernels import Ready, fit_smallest, ready_kernels
from holdfast.runs.notes import collect_notes, timed, warnings_once
from holdfast.runs.resumable import resumable
from holdfast.runs.roles import RowRoles, assign_roles
from holdfast.runs.rows import Rows, read_rows
from holdfast.runs.run import Run
from holdfast.runs.settings import RunSettings


def fit_run(
    data: Any,
    target: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    **settings: Any,
) -> Run:
    """A model for the rows of a frame, or of a CSV or Parquet file, tested on rows set aside before.

    Parameters
    ----------
    data
        A frame, or the path of a CSV or Parquet file; a folder of Parquet files is one file in parts.
    target
        The column to predict.
    folder
        Save the run there. A run that was stopped goes on where it was: see `resumable`.
    verbose
        Show bars of progress.
    **settings
        What the columns are for and how cells are read (`DataSettings`); `model`, `test`, `test_rows`,
        `scoring`, `candidate`, `model_card`, `random_state`, `n_jobs`; and the parameters of the model's
        estimator, such as `max_depth`. `holdfast fit` has the same ones as options.

    Returns
    -------
    Run
        The fitted estimator, its scores on test rows, and all else that is known.
    """
    if folder is not None:
        check_place(Path(folder))  # before the work
        with resumable(folder):
            run = fit_run(data, target, verbose=verbose, **settings)
            run.save(folder)
            return run
    with warnings_once():
        return prepare_run(data, RunSettings.of({"target": target, **settings})).fit(verbose=verbose)


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """Rows in their roles, ready for the fit."""

    settings: RunSettings
    roles: RowRoles
    seconds: dict[str, float]
    notes: list[str]  # warnings so far

    def ready_kernels(self) -> Ready:
        """The kernels of the model compiled, or loaded from disk."""
        return ready_kernels(partial(fit_smallest, self.settings, self.roles.training.schema.target))

    def fit(self, *, verbose: bool = False, ready: Ready | None = None) -> Run:
        """The run; `ready` tells how the kernels came to be ready, if they are."""
        ready = ready or self.ready_kernels()
        with collect_notes() as notes:
            found, fitting = timed(lambda: fit(self.roles, self.settings, verbose=verbose))
        facts = {
            **fit_facts(found),
            "model_card": model_card_of(self.settings.model_card).to_dict(),
            "profile": rows_profile(self.roles.whole).to_dict(),
            "seconds": {**self.seconds, "compiling": ready.seconds, "fitting": fitting},
            "notes": list(dict.fromkeys([*self.notes, *ready.notes, *notes])),
        }
        if not found.is_stable:
            return Run(finite(facts), found.estimator, details=found)
        references, candidates = found.estimator.reference_trees_, found.estimator.candidate_trees_
        columns = frontier_columns(found)
        return Run(finite(facts), found.estimator, tuple(references), tuple(candidates), columns, found)


def prepare_run(data: Any, settings: RunSettings) -> PreparedRun:
    """The rows of a frame or a file in their roles."""
    model_card_of(settings.model_card)  # before any work
    with collect_notes() as notes:
        rows, reading = timed(lambda: read_rows(data, settings.data))
        roles = assign_roles(rows, settings)
    return PreparedRun(settings, roles, {"reading": reading}, notes)


def prepare_rows(rows: Rows, settings: RunSettings) -> PreparedRun:
    """The same with rows that have been read."""
    with collect_notes() as notes:
        roles = assign_roles(rows, settings)
    return PreparedRun(settings, roles, {}, notes)
