"""What an audit found: how good each procedure is, and how much it moves when it is trained again."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.audit.measures import Measure, measures_for
from holdfast.audit.moving_rows import MovingRows
from holdfast.audit.records import Record, Records
from holdfast.data.schema import Target
from holdfast.errors import ParameterError
from holdfast.shown import shown
from holdfast.text.lists import listed


@dataclass(frozen=True, eq=False, repr=False)
class RetrainAudit:
    """Every procedure trained again and again, on the same samples, and tried on the same untouched rows.

    `str()` gives the summary, the tables and the rows that move; a notebook shows the same.
    """

    methods: tuple[str, ...]
    titles: dict[str, str]  # what sentences call the methods
    changes: tuple[str, ...]
    pairs: Records  # one for each method, change, repetition and pair: all measures
    rows: MovingRows  # how much each row moves, under the first change
    target: Target
    label_weight: float
    n_repeats: int
    test_size: float

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures that such a target has; the score comes first."""
        return measures_for(self.target.is_classes)

    @cached_property
    def table(self) -> Records:
        """One record per method and change: the mean of every measure and its standard error.

        Errors are over the repetitions: they say how far other divisions of the same rows would move the
        mean, not other data.
        """
        return Records(
            tuple(
                self._record(method, change, self._by_repeat(method, change))
                for change in self.changes
                for method in self.methods
            )
        )

    @cached_property
    def paired(self) -> Records:
        """One record per method, change and measure: its difference to the first method on the same samples.

        The standard error is that of the paired differences.
        """
        found: list[Record] = []
        for change in self.changes:
            first = self._by_repeat(self.methods[0], change)
            for method in self.methods[1:]:
                own = self._by_repeat(method, change)
                for place, measure in enumerate(self.measures):
                    mean, error = mean_and_error(own[:, place] - first[:, place])
                    record = {"method": method, "baseline": self.methods[0], "change": change}
                    found.append({**record, "measure": measure.name, "difference": mean, "error": error})
        return Records(tuple(found))

    def mean(self, method: str, measure: str, change: str | None = None) -> float:
        """One figure of the table, under the first change unless another is named."""
        return float(self._figure(method, change)[self._known_measure(measure)])

    def error(self, method: str, measure: str, change: str | None = None) -> float:
        """The standard error of a figure of the table."""
        return float(self._figure(method, change)[f"{self._known_measure(measure)}_error"])

    def _figure(self, method: str, change: str | None) -> Record:
        change = self.changes[0] if change is None else change
        for name, known in (("method", self.methods), ("change", self.changes)):
            asked = method if name == "method" else change
            if asked not in known:
                raise ParameterError(f"The {name} {asked!r} was not audited: choose of {listed(known)}.")
        return self.table.where(method=method, change=change)[0]

    def _known_measure(self, measure: str) -> str:
        names = [each.name for each in self.measures]
        if measure not in names:
            raise ParameterError(f"The measure {measure!r} is unknown: choose of {listed(names, 20)}.")
        return measure

    def _by_repeat(self, method: str, change: str) -> FloatArray:
        """(repetitions, measures) the means over the pairs of each repetition."""
        own = self.pairs.where(method=method, change=change)
        by_repeat = [own.where(repeat=repeat).columns() for repeat in range(self.n_repeats)]
        names = [measure.name for measure in self.measures]
        return np.array([[_mean(columns[name]) for name in names] for columns in by_repeat])

    def _record(self, method: str, change: str, figures: FloatArray) -> Record:
        record: dict[str, Any] = {"method": method, "change": change, "repeats": self.n_repeats}
        for measure, own in zip(self.measures, figures.T, strict=True):
            record[measure.name], record[f"{measure.name}_error"] = mean_and_error(own)
        return record

    # -- text and pictures ----------------------------------------------------------------------------

    @property
    def summary(self) -> str:
        """What the audit says, in a few sentences."""
        return shown("audit_summary", self)

    def text(self, *, times: bool = True, width: int | None = None) -> str:
        """The summary, the tables, and which rows move; without times, the same in every run.

        A `width` leaves columns out where lines of a table would have more letters.
        """
        return shown("audit_text", self, times=times, width=width)

    def to_svg(self, change: str | None = None) -> str:
        """A picture: the score of every method against its churn, under the first change or the one named."""
        from holdfast.show.plots.audit import AuditDisplay
        from holdfast.show.plots.display import LATER

        return AuditDisplay.from_result(self, change=change, ax=LATER).to_svg()

    def plot(self, ax: Any = None, *, against: str = "churn", change: str | None = None) -> Any:
        """An `AuditDisplay`, drawn: the score of every method against its churn, or another measure."""
        from holdfast.show.plots.audit import AuditDisplay

        return AuditDisplay.from_result(self, ax=ax, against=against, change=change)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return shown("audit_html", self)


def mean_and_error(values: FloatArray) -> tuple[float, float]:
    """The mean of what is known and its standard error; NaN where nothing is, or too little.

    >>> mean_and_error(np.array([1.0, 3.0, np.nan]))
    (2.0, 1.0)
    """
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return np.nan, np.nan
    error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else np.nan
    return float(known.mean()), error


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if value == value]
    return float(np.mean(known)) if known else np.nan
