"""The audit: every procedure trained again on other samples, and after small changes of one."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from holdfast._check import check_fraction
from holdfast.audit.changes import CHANGES, Pair
from holdfast.audit.fitting import Fitted, fitted
from holdfast.audit.measures import Retraining, measures_for
from holdfast.audit.methods import Method, maker, methods_of, named_methods
from holdfast.audit.moving_rows import RowChanges, moving_rows
from holdfast.audit.names import CHANGE_NAMES
from holdfast.audit.records import Record, Records
from holdfast.audit.rows import AuditRows, Repetition
from holdfast.audit.table import RetrainAudit
from holdfast.audit.trainings import Key, TrainedPair, Training, in_order, trained_pairs
from holdfast.backends.tasks import check_jobs, run_all
from holdfast.comparison.compare import read_rows, task_of
from holdfast.comparison.rows import collected
from holdfast.data.input.frame import Frame, make_frame
from holdfast.errors import DataWarning, ModelError, ParameterError
from holdfast.scoring.metric import TrueValues
from holdfast.text.lists import listed


def retrain_audit(
    methods: Mapping[str, Any] | Iterable[Any] | None,
    X: Any,
    y: Any,
    *,
    changes: Sequence[str] | str = CHANGE_NAMES,
    n_repeats: int = 5,
    test_size: float = 0.3,
    groups: Any = None,
    stage: Any = None,
    sample_weight: Any = None,
    label_weight: float = 10.0,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: bool = False,
) -> RetrainAudit:
    """How good each procedure is, and how much its model moves when it is trained again.

    `methods` are estimators with the face of scikit-learn, ours or others', or functions of a seed that make
    one, by name or as a list; or names: "cart-cv", "pruned-1se", "c4.5", "paper", "centred", "centred-12" and
    "centred-8" (of 12 and 8 leaves), "bootstrap", "forest". None audits all but "centred-12" and "bootstrap".
    Where pystreed and ArborEnum are installed there are also "optimal", "near-optimal" and
    "near-optimal-nearest". Estimators are cloned, and get another seed in every `random_state` that they
    have. One that has `fit_again(previous, X, y)` is trained again by it, and so knows the model before. A
    model that is one tree is measured by its distance too; of a pipeline the tree at its end, of a search the
    best estimator. Of all others only the answers are compared.

    Each of `n_repeats` times, `test_size` of the rows are kept untouched, and every procedure is trained on
    pairs of samples of the others, the same for all procedures. `changes` says which pairs: "overlap", two
    samples of 75 % that share 50 %; "staged", half of the rows and then all of them, or, with a `stage`, all
    rows up to one stage and then up to the next; and small changes of one sample: "fewer rows" (2 % left
    out), "another seed", "noise column", "columns permuted", and "last digit", every number moved by at most
    half of its last digit. A model of a sample is fitted once, however many changes it takes part in.

    Rows of one group are never divided. Distances have one `label_weight` and are measured on the schema of
    the rows to train on. The same seed gives the same figures for any `n_jobs` and in whatever order the rows
    come.

    >>> X = [[float(age), float(age % 7)] for age in range(20, 80)]
    >>> y = ["no" if age < 50 else "yes" for age, _ in X]
    >>> audit = retrain_audit(["pruned-1se"], X, y, changes="overlap", n_repeats=2)
    >>> audit.mean("pruned-1se", "leaves")
    2.0
    """
    check_jobs(n_jobs)
    changes = _checked_changes(changes)
    _check_numbers(n_repeats, test_size, label_weight, random_state)
    named = named_methods(methods)
    with warnings.catch_warnings():
        # Columns that are constant in a sample, say, would be named for every fit.
        warnings.simplefilter("ignore", DataWarning)
        rows = _audit_rows(named, X, y, sample_weight, groups, stage)
        work = _Work(
            methods_of(named, rows.table.schema.target),
            tuple(Repetition(rows, number, random_state, test_size) for number in range(n_repeats)),
            changes,
            float(label_weight),
        )
        return work.audit(n_jobs, verbose)


@dataclass(frozen=True, eq=False)
class _Work:
    """Every procedure, on every sample of every repetition."""

    methods: tuple[Method, ...]
    repetitions: tuple[Repetition, ...]
    changes: tuple[str, ...]
    label_weight: float

    @property
    def rows(self) -> AuditRows:
        """All rows."""
        return self.repetitions[0].rows

    def pairs(self, repetition: Repetition) -> list[Pair]:
        """The pairs of samples that a repetition asks for."""
        return [pair for change in self.changes for pair in CHANGES[change](repetition)]

    def fit(self, task: tuple[Training, Fitted | None]) -> Fitted:
        """One procedure on one sample, perhaps after another; a ModelError says which, if it fails."""
        (number, sample, method, _), previous = task
        try:
            return fitted(method, self.repetitions[number], sample, previous)
        except ParameterError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            raise ModelError(
                f"The method {method.name!r} failed on sample {sample.key!r} of repetition {number + 1}. "
                f"{reason}"
            ) from error

    def audit(self, n_jobs: int | None, progress: bool) -> RetrainAudit:
        """All figures.

        A repetition is done before the next begins, so that a procedure that cannot work is known soon.
        """
        pairs = [
            each
            for repetition in self.repetitions
            for each in trained_pairs(self.pairs(repetition), self.methods, repetition.number)
        ]
        known: dict[Key, Fitted] = {}
        for trainings in in_order(pairs):
            tasks = [(each, known[each.previous.key] if each.previous else None) for each in trainings]
            text = "Training again"
            models = run_all(self.fit, tasks, n_jobs, progress=text * progress, kept=text)
            known |= zip((each.key for each in trainings), models, strict=True)
        found = [self._compared(each, known[each.before.key], known[each.after.key]) for each in pairs]
        return self._result(found)

    def _compared(self, trained: TrainedPair, before: Fitted, after: Fitted) -> tuple[Record, RowChanges]:
        """The measures of one pair, and what became of each row."""
        pair, repetition = trained.pair, self.repetitions[trained.before.number]
        tested = np.ones(len(repetition.test), np.bool_) if pair.tested is None else pair.tested
        rows = repetition.test[tested]
        table = self.rows.table
        truth = TrueValues.of(table.subset(rows))
        spread = 0.0 if table.schema.target.is_classes else float(table.target.std())
        before, after = (_of_rows(each, tested) for each in (before, after))
        both = Retraining(before, after, truth, self.label_weight, spread)
        record: dict[str, Any] = {
            "method": trained.before.method.name,
            "change": pair.change,
            "repeat": repetition.number,
            "part": pair.part,
        }
        for measure in measures_for(table.schema.target.is_classes):
            record[measure.name] = float(measure.formula(both))
        return record, RowChanges(rows, both.moved, both.flipped.astype(np.float64))

    def _result(self, found: Sequence[tuple[Record, RowChanges]]) -> RetrainAudit:
        first = self.changes[0]
        of_rows = {
            method.name: [
                rows
                for record, rows in found
                if record["method"] == method.name and record["change"] == first
            ]
            for method in self.methods
        }
        return RetrainAudit(
            methods=tuple(method.name for method in self.methods),
            titles={method.name: method.title for method in self.methods},
            changes=self.changes,
            pairs=Records(tuple(record for record, _ in found)),
            rows=moving_rows(first, of_rows, self.rows),
            target=self.rows.table.schema.target,
            label_weight=self.label_weight,
            n_repeats=len(self.repetitions),
            test_size=self.repetitions[0].test_size,
        )


def _of_rows(model: Fitted, tested: Any) -> Fitted:
    places = None if model.places is None else model.places[tested]
    return model._replace(values=model.values[tested], places=places)


# -- what is given ----------------------------------------------------------------------------------------


def _checked_changes(changes: Any) -> tuple[str, ...]:
    several = (changes,) if isinstance(changes, str) else tuple(changes)
    unknown = [each for each in several if each not in CHANGES]
    if unknown or not several:
        raise ParameterError(
            f"changes has {listed(unknown) or 'nothing'}: choose of {listed(CHANGES)}, each once."
        )
    return tuple(dict.fromkeys(several))


def _check_numbers(n_repeats: Any, test_size: Any, label_weight: Any, random_state: Any) -> None:
    for name, value, least in (("n_repeats", n_repeats, 1), ("random_state", random_state, 0)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ParameterError(
                f"{name}={value!r} is out of range: it must be an integer of at least {least}."
            )
    check_fraction("test_size", test_size)
    is_number = isinstance(label_weight, Real) and not isinstance(label_weight, bool)
    if not is_number or not 0 <= float(label_weight) < np.inf:
        raise ParameterError(
            f"label_weight={label_weight!r} is out of range: it must be a number of at least 0."
        )


def _audit_rows(
    named: Mapping[str, Any] | None, X: Any, y: Any, weight: Any, groups: Any, stage: Any
) -> AuditRows:
    X = _as_rows(collected(X))
    own = {} if named is None else {name: each for name, each in named.items() if not isinstance(each, str)}
    task = task_of({name: each if hasattr(each, "fit") else maker(each)(0) for name, each in own.items()})
    rows, table = read_rows(X, y, weight, task, groups, stage)
    return AuditRows.of(X, rows.y, table, groups=rows.groups, stage=rows.stage)


def _as_rows(X: Any) -> Any:
    """X as an array if it is a list of rows, else as it is."""
    frame = X if isinstance(X, Frame) else make_frame(X) if isinstance(X, list | tuple) else None
    return X if frame is None or frame.matrix is None else frame.matrix
