"""The audit of retraining: every method is retrained on other samples, and after small changes of one."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from typing import Any, NamedTuple, overload

import numpy as np

from holdfast._arrays import FloatArray, LongArray
from holdfast._check import check_fraction, check_integer, check_number
from holdfast._text import number_text, quoted
from holdfast._view import TextTable, View, format_table
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.data.target import Task
from holdfast.errors import DataWarning, ModelError, ParameterError
from holdfast.evaluate.changes import CHANGES, SamplePair, TrainingSample
from holdfast.evaluate.fit import (
    EvaluationData,
    FittedModel,
    check_weights,
    describe_error,
    extract_tree,
    find_firmness,
    find_task,
    fit_and_predict,
    subset_rows,
)
from holdfast.evaluate.folds import Resample
from holdfast.evaluate.measures import Measure, Retraining, measures_for
from holdfast.evaluate.methods import (
    AUDITED_METHODS,
    CHANGE_NAMES,
    METHODS,
    list_default_names,
    make_seeded,
    read_models,
)
from holdfast.evaluate.reliability import FirmnessPair, firmness_reliability
from holdfast.growth.editing import grow_summary_tree
from holdfast.parallel.tasks import check_jobs, run_all
from holdfast.scoring.metric import TrueValues
from holdfast.tree.tree import Tree


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
    horizon: float | None = None,
    label_weight: float = 10.0,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: bool = False,
) -> "RetrainAudit":
    """Measure how good each method is, and how much its model changes when it is retrained.

    In each repetition a part of the rows is held out for testing, and every method is trained on the same
    pairs of samples of the other rows. The model of a sample is fitted once, even if several changes start
    from it. The same seed gives the same figures for any `n_jobs` and any order of the rows.

    Parameters
    ----------
    methods : mapping of names to models, list of models, or None
        A model is an estimator with the interface of scikit-learn, a function of a seed that makes one, or a
        name of the registry: "cart-cv", "pruned-1se", "c4.5", "paper", "consensus", "consensus-8" and
        "consensus-12" (of 8 and 12 leaves), "updated", "bootstrap", "forest", ... None audits
        `AUDITED_METHODS`. Estimators are cloned, and every `random_state` that they have is set to another
        seed. An estimator with a method `fit_again(previous, X, y)` is retrained by this method. Models that
        are one tree are also compared by their tree distance; for a pipeline this is its last step, for a
        search its best estimator.
    X : array or frame of shape (n_rows, n_features)
        The features.
    y : array of shape (n_rows,)
        The target: classes or numbers; or times to an event, see `read_survival`.
    changes : list of str, or str, default: all
        "overlap": two samples of 75 % that share 50 %. "staged": half of the rows and then all of them, or,
        with a `stage`, all rows up to one stage and then up to the next. Small changes of one sample: "fewer
        rows" (2 % left out), "another seed", "noise column", "columns permuted", and "last digit" (every
        number moved by at most half of its last digit).
    n_repeats : int, default 5
        Number of repetitions.
    test_size : float, default 0.3
        Fraction of the rows that no model is trained on.
    groups : array of shape (n_rows,), optional
        The rows of a group are never divided.
    stage : array of shape (n_rows,), optional
        Years or cohorts in their order.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows, for training and for all figures.
    horizon : float, optional
        Of times to an event: changes of predictions are those of the survival to this time, of models with
        `predict_survival_function`. Default: that of the models, or as of `SurvivalTree`.
    label_weight : float, default 10.0
        Weight of a different outcome in a tree distance. Distances are measured on the schema of the rows
        that are not held out.
    n_jobs : int, optional
        Fits at a time; -1 for all cores.
    random_state : int, default 0
        Seed of all samples and models.
    verbose : bool, default False
        Whether to show a progress bar.

    Returns
    -------
    RetrainAudit
        All pairs, the table of their means, and which rows change.

    Examples
    --------
    >>> X = [[float(age), float(age % 7)] for age in range(20, 80)]
    >>> y = ["no" if age < 50 else "yes" for age, _ in X]
    >>> audit = retrain_audit(["pruned-1se"], X, y, changes="overlap", n_repeats=2)
    >>> audit.mean("pruned-1se", "leaves")
    2.0
    """
    check_jobs(n_jobs)
    changes = _check_changes(changes)
    check_integer("n_repeats", n_repeats)
    check_integer("random_state", random_state, 0)
    check_fraction("test_size", test_size)
    check_number("label_weight", label_weight)
    named = None if methods is None else read_models(methods, "method")
    with warnings.catch_warnings():
        # Columns that are constant in a sample, say, would be named for every fit.
        warnings.simplefilter("ignore", DataWarning)
        own = {name: each for name, each in (named or {}).items() if not isinstance(each, str)}
        task = find_task(
            {
                name: each if hasattr(each, "fit") else make_seeded(each, "classification", 0)
                for name, each in own.items()
            }
        )
        given = EvaluationData.read(
            X, y, sample_weight, task, groups=groups, stage=stage, horizon=horizon, models=own.values()
        )
        data, order = given.in_fixed_order()
        audited = _make_methods(named, data)
        resamples = [Resample(data, number, random_state, test_size) for number in range(n_repeats)]
        pairs = [
            planned
            for resample in resamples
            for planned in plan_trainings(
                [pair for change in changes for pair in CHANGES[change](resample)], audited, resample.number
            )
        ]
        models = _train(pairs, resamples, n_jobs, verbose)
        found = [_compare(each, resamples[each.before.number], models, float(label_weight)) for each in pairs]
    return RetrainAudit(
        methods=tuple(method.name for method in audited),
        titles={method.name: method.title for method in audited},
        changes=changes,
        pairs=Records(tuple(record for record, *_ in found)),
        rows=_average_row_changes(changes[0], audited, found, data, order, given.n_rows),
        firmness=_measure_firmness(changes[0], audited, found, data.target.is_classes),
        target=data.target,
        label_weight=float(label_weight),
        n_repeats=n_repeats,
        test_size=test_size,
    )


def _check_changes(changes: Any) -> tuple[str, ...]:
    several = (changes,) if isinstance(changes, str) else tuple(changes)
    unknown = [each for each in several if each not in CHANGES]
    if unknown or not several:
        raise ParameterError(f"changes has {quoted(unknown) or 'nothing'}: choose from {quoted(CHANGES)}.")
    return tuple(dict.fromkeys(several))


# -- the trainings ----------------------------------------------------------------------------------------


class AuditedMethod(NamedTuple):
    """A method of the audit."""

    name: str
    title: str  # in sentences
    make: Callable[[int], Any]  # the estimator for a seed
    is_updated: bool = False  # retrained by its `fit_again`, which gets the model before


class Training(NamedTuple):
    """A method trained on the last sample, after the others."""

    number: int  # of the repetition
    method: AuditedMethod
    samples: tuple[TrainingSample, ...]

    @property
    def key(self) -> tuple[int, str, tuple[str, ...]]:
        """Key of the fitted model."""
        return self.number, self.method.name, tuple(sample.key for sample in self.samples)


class TrainedPair(NamedTuple):
    """The trainings of a method on a pair of samples."""

    pair: SamplePair
    before: Training
    after: Training


def _make_methods(named: Mapping[str, Any] | None, data: EvaluationData) -> list[AuditedMethod]:
    task: Task = data.target.task
    named = {name: name for name in list_default_names(AUDITED_METHODS, task)} if named is None else named
    found = []
    for name, model in named.items():
        make = partial(make_seeded, model, task)
        first = make(0)
        check_weights(name, first, data, "method")
        title = METHODS[model].title if isinstance(model, str) and name == model else name
        found.append(AuditedMethod(name, title, make, hasattr(first, "fit_again")))
    return found


def plan_trainings(
    pairs: Iterable[SamplePair], methods: Iterable[AuditedMethod], number: int
) -> list[TrainedPair]:
    """Plan the trainings of all methods on all pairs of a repetition.

    A method that is updated is trained on the second sample after the first. Where the first is the second
    of another pair of the same change, as with stages, it continues from there.
    """
    found = []
    samples_of: dict[
        tuple[str, str, str], tuple[TrainingSample, ...]
    ] = {}  # of the same change, method and sample
    for pair in pairs:
        for method in methods:
            before: tuple[TrainingSample, ...] = (pair.before,)
            after: tuple[TrainingSample, ...] = (pair.after,)
            if method.is_updated:
                before = samples_of.get((pair.change, method.name, pair.before.key), before)
                after = (*before, pair.after)
                samples_of[pair.change, method.name, pair.after.key] = after
            trainings = (Training(number, method, samples) for samples in (before, after))
            found.append(TrainedPair(pair, *trainings))
    return found


def order_trainings(pairs: Iterable[TrainedPair]) -> list[list[Training]]:
    """Order the distinct trainings in rounds, each of which needs only earlier rounds."""
    wanted = {each.key: each for pair in pairs for each in (pair.before, pair.after)}

    def n_samples(training: Training) -> int:
        return len(training.samples)

    return [list(some) for _, some in groupby(sorted(wanted.values(), key=n_samples), n_samples)]


def _train(
    pairs: Sequence[TrainedPair], resamples: Sequence[Resample], n_jobs: int | None, verbose: bool
) -> dict[Any, FittedModel]:
    """Train all models, by the keys of their trainings."""
    known: dict[Any, FittedModel] = {}
    for trainings in order_trainings(pairs):
        previous = [known.get(each._replace(samples=each.samples[:-1]).key) for each in trainings]
        text = "Training again"
        tasks = list(zip(trainings, previous, strict=True))
        models = run_all(
            partial(_train_method, resamples), tasks, n_jobs, progress=text * verbose, cache_name=text
        )
        known |= zip((each.key for each in trainings), models, strict=True)
    return known


def _train_method(resamples: Sequence[Resample], task: tuple[Training, FittedModel | None]) -> FittedModel:
    """Train a method on a sample, perhaps after another one; a ModelError names both if it fails."""
    training, previous = task
    resample, method, sample = resamples[training.number], training.method, training.samples[-1]
    data = resample.data
    try:
        columns = sample.columns(data, resample.schema)
        fitted = fit_and_predict(
            method.make(sample.seed),
            data,
            sample.rows,
            resample.test,
            X=columns.X,
            X_test=columns.X_test,
            previous=None if previous is None else previous.model,
            with_classes=True,
            times=None if data.target.hazard is None else np.array([data.target.hazard.horizon]),
        )
        tree = extract_tree(fitted.model, data, columns.schema, columns.X, resample.pool)
        tested = subset_rows(data.X if columns.X_test is None else columns.X_test, resample.test)
        firmness = find_firmness(fitted.model, tested)
    except ParameterError:
        raise
    except Exception as error:
        raise ModelError(
            f"The method {method.name!r} failed on sample {sample.key!r} of repetition "
            f"{training.number + 1}. {describe_error(error)}"
        ) from error
    model = fitted.model if method.is_updated else None
    return fitted._replace(tree=tree, model=model, firmness=firmness)


# The measures of a pair, its test rows, the churn and the flip of each, and how firm the first model was.
Compared = tuple["Record", LongArray, FloatArray, FloatArray, FirmnessPair | None]


def _compare(
    trained: TrainedPair, resample: Resample, models: Mapping[Any, FittedModel], label_weight: float
) -> Compared:
    """Measure one pair, and its changes for each row."""
    pair, data = trained.pair, resample.data
    tested = np.ones(len(resample.test), np.bool_) if pair.tested is None else pair.tested
    rows = resample.test[tested]
    before, after = (
        model._replace(
            values=model.values[tested],
            classes=None if model.classes is None else model.classes[tested],
            survival=None if model.survival is None else model.survival[tested],
            firmness=None if model.firmness is None else model.firmness[tested],
        )
        for model in (models[trained.before.key], models[trained.after.key])
    )
    spread = 0.0 if data.target.is_classes else float(data.table.target.std())
    both = Retraining(before, after, TrueValues.of(data.table.subset(rows)), label_weight, spread)
    record: dict[str, Any] = {
        "method": trained.before.method.name,
        "change": pair.change,
        "repeat": resample.number,
        "part": pair.part,
        **{each.name: float(each.formula(both)) for each in measures_for(data.target.task)},
    }
    firm, flipped = before.firmness, both.flipped.astype(np.float64)
    pair_of = None
    if firm is not None:
        moved = flipped if data.target.is_classes else both.moved
        scale = spread if data.target.task == "regression" and spread else 1.0
        pair_of = FirmnessPair(firm / scale, moved, both.weight)
    return record, rows, both.moved, flipped, pair_of


def _average_row_changes(
    change: str,
    methods: Iterable[AuditedMethod],
    found: Iterable[Compared],
    data: EvaluationData,
    order: LongArray,
    n_given: int,
) -> "ChangingRows":
    """Average the changes of every row, under the first change, over the pairs."""
    figures = {method.name: np.zeros((3, n_given)) for method in methods}
    for record, tested_rows, moved, flips_of_pair, _ in found:
        if record["change"] == change:
            rows = order[tested_rows]
            for total, figure in zip(
                figures[record["method"]], (moved, flips_of_pair, np.ones(len(rows))), strict=True
            ):
                total[rows] += figure
    churn, flips = {}, {}
    for name, (total, flipped, times) in figures.items():
        tested = np.where(times > 0, times, np.nan)
        churn[name] = total / tested
        flips[name] = flipped / tested if data.target.is_classes else np.full(n_given, np.nan)
    place = np.zeros(n_given, np.int64)  # rows without weight did not take part
    place[order] = np.arange(len(order))
    return ChangingRows(change, churn, flips, data.table.subset(place))


def _measure_firmness(
    change: str, methods: Iterable[AuditedMethod], found: Sequence[Compared], is_classes: bool
) -> "Records":
    """Measure, under the first change, how reliable the firmness of each method is that has any."""
    records: list[Record] = []
    for method in methods:
        own = [each for each in found if (each[0]["method"], each[0]["change"]) == (method.name, change)]
        pairs = [each[-1] for each in own if each[-1] is not None]
        records += [{"method": method.name, **each} for each in firmness_reliability(pairs, is_classes)]
    return Records(tuple(records))


# -- the result -------------------------------------------------------------------------------------------

Record = Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Records(Sequence[Record]):
    """Records of the same fields, in order.

    >>> print(Records(({"method": "tree", "leaves": 4.0}, {"method": "forest", "leaves": float("nan")})))
    method  leaves
    tree         4
    forest
    """

    records: tuple[Record, ...]

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> "Records": ...
    def __getitem__(self, place: int | slice) -> "Record | Records":
        return Records(self.records[place]) if isinstance(place, slice) else self.records[place]

    def where(self, **fields: Any) -> "Records":
        """Return the records that have these values.

        >>> len(Records(({"method": "tree"}, {"method": "forest"})).where(method="tree"))
        1
        """
        return Records(
            tuple(each for each in self if all(each[name] == value for name, value in fields.items()))
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return one list for each field."""
        return {name: [each[name] for each in self] for name in (self.records[0] if self.records else ())}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per record, as a pandas, polars or pyarrow frame (the first that is installed)."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        kinds = {str: nw.String, int: nw.Int64, float: nw.Float64}
        types = {name: kinds[type(values[0])] for name, values in columns.items()}
        return frame_from(columns, types, backend)

    def _cells(self) -> list[list[str]]:
        return [list(self.columns()), *([_text(value) for value in each.values()] for each in self)]

    def __repr__(self) -> str:
        return format_table(self._cells()) if self.records else "no records"

    def _repr_html_(self) -> str:
        if not self.records:
            return "<p>no records</p>"
        headings, *rows = self._cells()
        return View(TextTable(headings, rows, whole="to_frame()")).to_html()


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else number_text(value, 4)
    return str(value)


@dataclass(frozen=True, eq=False, repr=False)
class ChangingRows:
    """Mean change of the prediction of every row over the pairs of a change.

    Rows that were never tested have NaN. `str()` describes the rows that change by a few rules per method.
    """

    change: str
    churn: Mapping[str, FloatArray]  # by method: one number per row of the data
    flips: Mapping[str, FloatArray]  # fraction of pairs that gave the row another class; NaN for numbers
    table: Table  # the rows in the order of the data

    @property
    def is_classes(self) -> bool:
        """True if rows change by flips, False if by churn only."""
        return self.table.schema.target.is_classes

    @cached_property
    def trees(self) -> dict[str, Tree]:
        """For each method a small regression tree of the changes; without those whose changes are unknown."""
        figures = self.flips if self.is_classes else self.churn
        return {
            name: grow_summary_tree(self.table, values)
            for name, values in figures.items()
            if not np.isnan(values).all()
        }

    def records(self) -> Records:
        """Return one record per method and row that was tested: its number, churn and flips."""
        return Records(
            tuple(
                {
                    "method": name,
                    "row": row,
                    "churn": float(churn[row]),
                    "flips": float(self.flips[name][row]),
                }
                for name, churn in self.churn.items()
                for row in np.flatnonzero(~np.isnan(churn)).tolist()
            )
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the records as a frame."""
        return self.records().to_frame(backend)

    def __repr__(self) -> str:
        from holdfast.evaluate.audit_text import changing_rows_text

        return changing_rows_text(self)


@dataclass(frozen=True, eq=False, repr=False)
class RetrainAudit:
    """Methods retrained on the same samples, and tested on the same rows.

    `str()` gives the summary, the tables and the rows that change; a notebook shows the same.

    Attributes
    ----------
    methods : tuple of str
        Names of the methods.
    titles : dict of str
        What sentences call the methods.
    changes : tuple of str
        The changes of the samples.
    pairs : Records
        One record for each method, change, repetition and pair, with all measures.
    rows : ChangingRows
        How much each row changes, under the first change.
    firmness : Records
        One record for each method with reference trees and each level of firmness, under the first change:
        the share of rows, and the share of them whose class changes, with its standard error over the pairs;
        for numbers, by the width of the interval, the mean change in standard deviations of the target.
    target : Target
        What is predicted.
    label_weight : float
        Weight of another outcome in a tree distance.
    n_repeats : int
        Number of repetitions.
    test_size : float
        Fraction of the rows that were tested on.
    """

    methods: tuple[str, ...]
    titles: dict[str, str]
    changes: tuple[str, ...]
    pairs: Records
    rows: ChangingRows
    firmness: Records
    target: Target
    label_weight: float
    n_repeats: int
    test_size: float

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures for such a target; the score comes first."""
        return measures_for(self.target.task)

    @cached_property
    def table(self) -> Records:
        """One record per method and change: the mean of every measure and its standard error.

        Errors are over the repetitions: they describe other divisions of the same rows, not other data.
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
        """Return one figure of the table, under the first change unless another is named."""
        return float(self._figure(method, change)[self._known_measure(measure)])

    def error(self, method: str, measure: str, change: str | None = None) -> float:
        """Return the standard error of a figure of the table."""
        return float(self._figure(method, change)[f"{self._known_measure(measure)}_error"])

    def _figure(self, method: str, change: str | None) -> Record:
        change = self.changes[0] if change is None else change
        for name, value, known in (("method", method, self.methods), ("change", change, self.changes)):
            if value not in known:
                raise ParameterError(f"The {name} {value!r} was not audited: choose one of {quoted(known)}.")
        return self.table.where(method=method, change=change)[0]

    def _known_measure(self, measure: str) -> str:
        names = [each.name for each in self.measures]
        if measure not in names:
            raise ParameterError(f"The measure {measure!r} is unknown: choose one of {quoted(names, 20)}.")
        return measure

    def _by_repeat(self, method: str, change: str) -> FloatArray:
        """(repetitions, measures) the means over the pairs of each repetition."""
        own = self.pairs.where(method=method, change=change)
        by_repeat = [own.where(repeat=repeat).columns() for repeat in range(self.n_repeats)]
        names = [measure.name for measure in self.measures]
        return np.array([[mean_and_error(columns[name])[0] for name in names] for columns in by_repeat])

    def _record(self, method: str, change: str, figures: FloatArray) -> Record:
        record: dict[str, Any] = {"method": method, "change": change, "repeats": self.n_repeats}
        for measure, own in zip(self.measures, figures.T, strict=True):
            record[measure.name], record[f"{measure.name}_error"] = mean_and_error(own)
        return record

    # -- text, tables and pictures --------------------------------------------------------------------

    @property
    def summary(self) -> str:
        """The main finding in a few sentences."""
        from holdfast.evaluate.audit_text import audit_summary

        return audit_summary(self)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The main finding, and what the methods and the columns of the tables are."""
        from holdfast.evaluate.audit_text import audit_legend

        return self.summary, audit_legend(self)

    def tables(self) -> list[tuple[str, list[list[str]]]]:
        """Return a title and the cells, headings first, of every table of the text."""
        from holdfast.evaluate.audit_text import audit_tables

        return audit_tables(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the table as a pandas, polars or pyarrow frame (the first that is installed)."""
        return self.table.to_frame(backend)

    def text(self, *, times: bool = True, width: int | None = None) -> str:
        """Return the summary, the tables, and which rows change; without times, the same in every run.

        A `width` leaves columns out where lines of a table would have more letters.
        """
        from holdfast.evaluate.audit_text import audit_text

        return audit_text(self, times=times, width=width)

    def plot(self, ax: Any = None, *, against: str = "churn", change: str | None = None) -> Any:
        """Draw the score of every method against its churn, or another measure, and return the display."""
        from holdfast.plots.evaluation import AuditDisplay

        return AuditDisplay.from_result(self, ax=ax, against=against, change=change)

    def to_svg(self, change: str | None = None) -> str:
        """Return the plot as SVG, under the first change or the one named."""
        from holdfast.plots.display import LATER
        from holdfast.plots.evaluation import AuditDisplay

        return AuditDisplay.from_result(self, ax=LATER, change=change).to_svg()

    def __repr__(self) -> str:
        return self.text()

    def _view(self) -> View:
        from holdfast.evaluate.audit_text import audit_view

        return audit_view(self)

    def _repr_html_(self) -> str:
        return self._view().to_html()


def mean_and_error(values: FloatArray | Sequence[float]) -> tuple[float, float]:
    """Return the mean of the known values and its standard error; NaN where nothing, or too little, is known.

    >>> mean_and_error([1.0, 3.0, float("nan")])
    (2.0, 1.0)
    """
    known = np.asarray(values, np.float64)
    known = known[~np.isnan(known)]
    if len(known) == 0:
        return np.nan, np.nan
    error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else np.nan
    return float(known.mean()), error
