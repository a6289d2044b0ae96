"""A run: a fitted model with its scores and facts, from Python, the command line, or disk."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from holdfast._arrays import FloatArray
from holdfast._text import estimate_texts, number_text, printable
from holdfast._view import Picture, TextTable, View, ViewMixin
from holdfast.data.read import open_source
from holdfast.data.survival import survival_function
from holdfast.errors import DataError
from holdfast.explain.row import RowExplanation, explain_row
from holdfast.explain.split_support import SplitSupports, split_support
from holdfast.governance.change_summary import profile_rows
from holdfast.governance.model_card import make_model_card
from holdfast.io.model_file import StoredModel
from holdfast.runs.compile import Ready, prepare_kernels
from holdfast.runs.dataset import RowRoles, Rows, assign_roles, read_rows
from holdfast.runs.facts import fit_facts
from holdfast.runs.files import collect_notes, finite, read_run_files, timed, write_run_files
from holdfast.runs.fit import CHOSEN, Fit, fit, frontier_columns, model_of
from holdfast.runs.folder import check_place, new_run
from holdfast.runs.new_rows import read_features
from holdfast.runs.settings import CellSettings, RunSettings
from holdfast.runs.status import resumable
from holdfast.stable.frontier import Frontier
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.rules import WARNING, list_warnings
from holdfast.tree.tree import Tree

_KINDS = {
    "stable": "stable tree",
    "tree": "tree",
    "pruned": "pruned tree",
    "forest": "forest",
    "boosting": "boosted trees",
}


@dataclass(frozen=True, eq=False, repr=False)
class Run(ViewMixin):
    """A fitted model with its scores and facts: made by `fit_run`, or read from disk by `open_run`.

    Attributes
    ----------
    facts : dict
        Settings, data, scores and warnings as plain data, as in summary.json.
    fitted : estimator or StoredModel
        The fitted estimator, or the content of model.json that it is built from.
    references, candidates : tuple of Tree
        The two collections of a stable tree; the candidates of an update are the trees of its path.
    frontier_columns : mapping of str to list
        The frontier of a stable tree, as in frontier.csv.
    details : Fit or None
        The fit with its rows; None for a run that was read from disk.
    """

    facts: dict[str, Any]
    fitted: Any
    references: tuple[Tree, ...] = ()
    candidates: tuple[Tree, ...] = ()
    frontier_columns: Mapping[str, list[Any]] = field(default_factory=dict)
    details: Fit | None = None

    @property
    def model(self) -> Tree | Ensemble:
        """The tree or the ensemble of the estimator."""
        return self.fitted.model if isinstance(self.fitted, StoredModel) else model_of(self.fitted)

    @cached_property
    def estimator(self) -> Any:
        """The fitted estimator; of a run that was read from disk, it is built when it is first used."""
        if not isinstance(self.fitted, StoredModel):
            return self.fitted
        estimator = self.fitted.estimator
        if self.references:  # which an update tries splits of
            estimator.reference_trees_ = list(self.references)
        return estimator

    @cached_property
    def trees(self) -> dict[str, Tree]:
        """The chosen tree and, of a stable tree, the two ends of the frontier; empty for an ensemble."""
        if isinstance(self.model, Ensemble):
            return {}
        named = self.facts.get("trees", {})
        ends = {name: self.candidates[each["candidate"]] for name, each in named.items()}
        return {**ends, CHOSEN: self.model}

    @property
    def frontier(self) -> Frontier | None:
        """The frontier of the candidates; None unless the model is a stable tree."""
        if isinstance(self.fitted, StoredModel):
            return self.fitted.frontier
        return getattr(self.fitted, "frontier_", None)

    @property
    def is_update(self) -> bool:
        """True if the run was read from the folder of an update."""
        return "path" in self.facts

    @property
    def reason(self) -> str:
        """Why the model was chosen, or what an update changed."""
        if self.is_update:
            return str(self.facts["summary"])
        return self.facts.get("choice", self.facts.get("model", {})).get("reason") or ""

    def predict(self, data: Any) -> NDArray[Any]:
        """Predict the class, number or relative risk of each row of a frame, or of a CSV or Parquet file.

        Columns are matched by name, and read as those of the run were; further columns are ignored.
        """
        predicted: NDArray[Any] = self.model.predict(self._features(data))
        return predicted

    def predict_proba(self, data: Any) -> FloatArray:
        """Predict the probabilities of the classes, in the order of `model.schema.target.classes`."""
        return self.model.predict_proba(self._features(data))

    def predict_survival_function(self, data: Any, times: Any = None) -> FloatArray:
        """Predict the probability of each row to survive each time, by default the horizon."""
        hazard = self.model.schema.target.hazard
        if hazard is None:
            raise DataError(f"The model predicts {self.model.schema.target.name!r}, no times to an event.")
        return survival_function(hazard, self.predict(data), [hazard.horizon] if times is None else times)

    def split_support(self) -> SplitSupports:
        """Return the share of the trees that make each split of a stable tree; empty for another model.

        With method="consensus" only reference trees count: the candidates are not trees of other samples.
        """
        if isinstance(self.model, Ensemble) or not self.references:
            return SplitSupports()
        is_consensus = self.facts["settings"].get("method") == "consensus"
        return split_support(self.model, self.references, () if is_consensus else self.candidates)

    def explain_row(self, x: Any, **options: Any) -> RowExplanation:
        """Explain the prediction for one row, and what would change it; see `explain_row`."""
        references = getattr(self.fitted, "references_", None)
        return explain_row(
            self.model, x, support=self.split_support(), **{"references": references, **options}
        )

    def save(self, folder: str | os.PathLike[str], *, report: bool = True) -> None:
        """Write the run to a folder, all or nothing: a new one, an empty one, or an earlier run.

        An earlier run is replaced in one step; other files in its folder stay. `report=False` leaves out
        `report.html`.
        """
        if self.is_update:
            raise DataError("An update that was read from disk has a folder already: copy it.")
        with new_run(Path(folder)) as draft:
            write_run_files(self, draft, report=report)

    def __repr__(self) -> str:
        return f"<Run: {self._title}>"

    def __str__(self) -> str:
        own = list_warnings(self.model)
        lines = [f"Run of {printable(self.facts['data']['source'])}: {self._title}"]
        first = dict.fromkeys([*(f"{WARNING}{each}" for each in self.facts.get("warnings", ())), *own])
        return "\n".join([*first, *lines, *filter(None, [self.reason]), *self.facts.get("disagreement", ())])

    @property
    def _title(self) -> str:
        model, target = self.model, printable(self.model.schema.target.name)
        sizes = f"{model.n_leaves} leaves" if isinstance(model, Tree) else f"{len(model)} trees"
        kind = "updated tree" if self.is_update else _KINDS[self.facts["settings"]["model"]]
        return f"{kind} of {target!r}, {sizes}, {self._score_text}"

    @property
    def _score_text(self) -> str:
        if self.is_update:
            return f"step {self.facts['step']} of {len(self.facts['path']) - 1}"
        found = self.facts["trees"][CHOSEN] if "trees" in self.facts else self.facts["model"]
        if found["test"] is None:
            return "not tested"
        score, error = (found["test"][name] for name in ("score", "standard_error"))
        text = "unknown" if score is None else estimate_texts([score], [error or 0.0])[0]
        return f"{self.facts['metric']['title']} {text} on {self.facts['division']['test_rows']:,} test rows"

    def _features(self, data: Any) -> Any:
        rules = CellSettings(**self.facts["reading"]).reading_options
        with open_source(data, rules.encoding) as source:
            return read_features(source, self.model, rules)

    def _view(self) -> View:

        return run_view(self)


def open_run(folder: str | os.PathLike[str]) -> Run:
    """Read a run from its folder, and check every file in full.

    Parameters
    ----------
    folder : path
        The folder of a fit or an update. That of an update has no reference trees and no frontier; its
        candidates are the trees of the path.

    Returns
    -------
    Run
        The run, without `details`.
    """
    return Run(**read_run_files(Path(folder)))


# -- from data to a run -----------------------------------------------------------------------------------


def fit_run(
    data: Any,
    target: str | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    **settings: Any,
) -> Run:
    """Fit a model to the rows of a frame or a file, and test it on rows that are set aside first.

    Parameters
    ----------
    data
        A frame, or the path of a CSV or Parquet file; a folder of Parquet files is one file in parts.
    target
        The column to predict. Without it, `time` and `event` name the columns of a time to an event.
    folder
        Save the run there. A run that was stopped is continued: see `resumable`.
    verbose
        Show progress bars.
    **settings
        Roles of columns and how cells are read (`DataSettings`); `model`, `test`, `test_rows`,
        `scoring`, `candidate`, `model_card`, `random_state`, `n_jobs`; and the parameters of the model's
        estimator, such as `max_depth`. `holdfast fit` has the same ones as options.

    Returns
    -------
    Run
        The fitted estimator, its scores on the test rows, and its facts.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"age": range(100), "died": ["no"] * 60 + ["yes"] * 40})
    >>> run = fit_run(frame, "died", model="tree", max_depth=2)
    >>> run.model.n_leaves
    2
    """
    if folder is not None:
        check_place(Path(folder))  # before the work
        with resumable(folder):
            run = fit_run(data, target, verbose=verbose, **settings)
            run.save(folder)
            return run
    with collect_notes():
        return prepare_run(data, RunSettings.of({"target": target, **settings})).fit(verbose=verbose)


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """Training and test rows, ready for the fit."""

    settings: RunSettings
    roles: RowRoles
    seconds: dict[str, float]
    notes: list[str]  # warnings so far

    def prepare_kernels(self) -> Ready:
        """Compile the kernels of the model, or load them from disk."""
        return prepare_kernels(self.settings)

    def fit(self, *, verbose: bool = False, ready: Ready | None = None) -> Run:
        """Fit the model; `ready` is the result of `prepare_kernels`, if it was called before."""
        ready = ready or self.prepare_kernels()
        with collect_notes() as notes:
            found, fitting = timed(lambda: fit(self.roles, self.settings, verbose=verbose))
        facts = {
            **fit_facts(found),
            "model_card": make_model_card(self.settings.model_card).to_dict(),
            "profile": profile_rows(self.roles.whole).to_dict(),
            "seconds": {**self.seconds, "compiling": ready.seconds, "fitting": fitting},
            "notes": list(dict.fromkeys([*self.notes, *ready.notes, *notes])),
        }
        if not found.is_stable:
            return Run(finite(facts), found.estimator, details=found)
        references, candidates = found.estimator.reference_trees_, found.estimator.candidate_trees_
        columns = frontier_columns(found)
        return Run(finite(facts), found.estimator, tuple(references), tuple(candidates), columns, found)


def prepare_run(data: Any, settings: RunSettings) -> PreparedRun:
    """Read the rows of a frame or a file, and divide them into training and test rows."""
    make_model_card(settings.model_card)  # before any work
    with collect_notes() as notes:
        rows, reading = timed(lambda: read_rows(data, settings.data))
        roles = assign_roles(rows, settings)
    return PreparedRun(settings, roles, {"reading": reading}, notes)


def prepare_rows(rows: Rows, settings: RunSettings) -> PreparedRun:
    """Divide rows that have been read."""
    with collect_notes() as notes:
        roles = assign_roles(rows, settings)
    return PreparedRun(settings, roles, {}, notes)


# -- views ------------------------------------------------------------------------------------------------


def run_view(run: Run) -> View:
    """Make the view of a run: sentences, a table of its trees, and the drawing."""
    named: dict[str, dict[str, Any]] = run.facts.get("trees", {})
    parts: list[Any] = str(run).splitlines()
    if named:
        score = f"{run.facts['metric']['title']} on test rows"
        headings = ["tree", "candidate", "instability", "leaves", "depth", score]
        chosen = [place for place, name in enumerate(named) if name == "chosen"]
        rows = [[name, *_cells(each)] for name, each in named.items()]
        parts.append(TextTable(headings, rows, marked=chosen))
    return View(*parts, *([Picture(run.model.to_svg)] if isinstance(run.model, Tree) else []))


def _cells(tree: dict[str, Any]) -> list[str]:
    test = tree["test"]
    known = test is not None and test["score"] is not None
    return [
        str(tree["candidate"]),
        number_text(tree["instability"], 4),
        str(tree["leaves"]),
        str(tree["depth"]),
        estimate_texts([test["score"]], [test["standard_error"] or 0.0])[0] if known else "",
    ]
