"""A run: a fitted model and its facts, the same from Python, from the terminal and from disk."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from holdfast.arrays import FloatArray
from holdfast.data.files.reading import open_source
from holdfast.errors import DataError
from holdfast.evidence.row_explanation import RowExplanation, explain_row
from holdfast.evidence.split_support import SplitSupports, split_support
from holdfast.runs.fit import CHOSEN, Fit, model_of
from holdfast.runs.folder import new_run
from holdfast.runs.new_rows import read_features
from holdfast.runs.run_files import read_run_files, write_run_files
from holdfast.runs.settings import CellSettings
from holdfast.stability.frontier import Frontier
from holdfast.text.lines import printable
from holdfast.text.numbers import with_errors
from holdfast.text.view import View, ViewMixin
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree
from holdfast.tree.wording import WARNING, list_warnings

_KINDS = {
    "stable": "stable tree",
    "tree": "tree",
    "pruned": "pruned tree",
    "forest": "forest",
    "boosting": "boosted trees",
}


@dataclass(frozen=True, eq=False, repr=False)
class Run(ViewMixin):
    """A fitted model and all that is known of it. `fit_run` makes one, and `open_run` reads one from disk."""

    facts: dict[str, Any]  # plain data, as in summary.json
    estimator: Any  # fitted, as model.json holds it
    references: tuple[Tree, ...] = ()  # of a stable tree, as are candidates and frontier
    candidates: tuple[Tree, ...] = ()
    frontier_columns: Mapping[str, list[Any]] = field(default_factory=dict)  # as in frontier.csv
    details: Fit | None = None  # with the rows; None for a run that was read from disk

    @property
    def model(self) -> Tree | Ensemble:
        """The tree or the ensemble of the estimator."""
        return model_of(self.estimator)

    @cached_property
    def trees(self) -> dict[str, Tree]:
        """The chosen tree and, of a stable tree, the two ends of the frontier; nothing of an ensemble."""
        if isinstance(self.model, Ensemble):
            return {}
        named = self.facts.get("trees", {})
        ends = {name: self.candidates[each["candidate"]] for name, each in named.items()}
        return {**ends, CHOSEN: self.model}

    @property
    def frontier(self) -> Frontier | None:
        """What is known of every candidate; None unless the model is a stable tree."""
        return getattr(self.estimator, "frontier_", None)

    @property
    def is_update(self) -> bool:
        """True if the folder that it was read from is that of an update."""
        return "path" in self.facts

    @property
    def reason(self) -> str:
        """Why the model was chosen, or what an update changed."""
        if self.is_update:
            return str(self.facts["summary"])
        return self.facts.get("choice", self.facts.get("model", {})).get("reason") or ""

    def predict(self, data: Any) -> NDArray[Any]:
        """The class or the number of each row of a frame, or of a CSV or Parquet file.

        Columns are matched by name and read as those of the run were; others may be there.
        """
        predicted: NDArray[Any] = self.model.predict(self._features(data))
        return predicted

    def predict_proba(self, data: Any) -> FloatArray:
        """The probabilities of the classes, in the order of `model.schema.target.classes`."""
        return self.model.predict_proba(self._features(data))

    def split_support(self) -> SplitSupports:
        """How firmly each split of a stable tree stands; empty for another model.

        With method="centred" the references alone are asked: its candidates are no samples.
        """
        if isinstance(self.model, Ensemble) or not self.references:
            return SplitSupports()
        is_centred = self.facts["settings"].get("method") == "centred"
        return split_support(self.model, self.references, () if is_centred else self.candidates)

    def explain_row(self, x: Any, **options: Any) -> RowExplanation:
        """The path of one row, and the smallest changes of it that lead elsewhere; see `explain_row`."""
        return explain_row(self.model, x, support=self.split_support(), **options)

    def save(self, folder: str | os.PathLike[str], *, report: bool = True) -> None:
        """Write the run to a folder, all or nothing: a new one, an empty one, or an earlier run.

        An earlier run is replaced in one step, and files that others have put there stay. `report.html` tells
        all of it on one page; `report=False` leaves it out.
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
        text = "unknown" if score is None else with_errors([score], [error or 0.0])[0]
        return f"{self.facts['metric']['title']} {text} on {self.facts['division']['test_rows']:,} test rows"

    def _features(self, data: Any) -> Any:
        rules = CellSettings(**self.facts["reading"]).reading_options
        with open_source(data, rules.encoding) as source:
            return read_features(source, self.model, rules)

    def _view(self) -> View:
        from holdfast.show.run import run_view

        return run_view(self)


def open_run(folder: str | os.PathLike[str]) -> Run:
    """The run in the folder: model, facts, collections and frontier, each checked in full.

    The folder of an update has no collections and no frontier: its candidates are the trees of the path.
    """
    return Run(**read_run_files(Path(folder)))
