"""Data as rows to learn from: what its columns are for, and what is known of each row besides."""

import os
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, LongArray
from holdfast._text import columns_text, first_rows, join_parts, number_text, printable, quoted
from holdfast.data.columns import read_column
from holdfast.data.dates import parse_date_columns
from holdfast.data.folds import (
    find_known_groups,
    find_late_stages,
    read_groups,
    read_stage,
    renumber_groups,
    subset_groups,
)
from holdfast.data.frame import Frame, OrderedText
from holdfast.data.read import ColumnChoices, CsvSource, FrameSource, open_source
from holdfast.data.row_keys import group_copies
from holdfast.data.row_order import find_fixed_order, number_copies
from holdfast.data.survival import make_risk_target, split_survival
from holdfast.data.table import Table
from holdfast.data.target import Task, read_weight
from holdfast.data.target_columns import TargetColumns
from holdfast.errors import DataError, DataWarning, ParameterError
from holdfast.governance.model_card import make_model_card
from holdfast.runs.files import find_earlier_run
from holdfast.runs.settings import DataSettings, RunSettings, make_run_estimator
from holdfast.scoring.metric import (
    Metric,
    Score,
    TrueValues,
    describe_few_to_learn,
    describe_too_few,
    has_enough_rows,
    predict_for_metric,
)
from holdfast.stable.rows import TrainingSet, draw_test_rows
from holdfast.stable.train import prepare_training_set
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.rules import format_class_names
from holdfast.tree.tree import Tree

Source = CsvSource | FrameSource


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a data set, with their stages and groups."""

    source: str  # the path, or "a frame"
    frame: Frame  # the features, the target and perhaps the weight
    targets: TargetColumns
    hazard_options: Mapping[str, Any] = field(default_factory=dict)  # of times to an event
    weight: str | None = None
    custom_features: tuple[str, ...] = ()
    positive: Any = None  # the positive class, if the settings name one
    stage: LongArray | None = None  # number of the stage
    stages: tuple[str, ...] = ()  # the stages as the data calls them, in their order
    groups: LongArray | None = None

    def table(self, task: Task | None = None) -> Table:
        """Make the table, which trees are grown on."""
        return Table.from_arrays(
            self.features,
            self.y,
            None if self.weight is None else self.frame.column(self.weight),
            task="survival" if self.targets.is_survival else task,
            custom_features=self.custom_features,
            target=self.targets.name,
            positive=self.positive,
            **self.hazard_options,
        )

    @cached_property
    def y(self) -> Any:
        """The target under the name of its column, or times and events."""
        return self.targets.read(self.frame)

    @property
    def sample_weight(self) -> FloatArray | None:
        """The weight of each row, if a column has one."""
        if self.weight is None:
            return None
        return read_weight(self.frame.column(self.weight), self.frame.n_rows, self.frame.rows)

    @property
    def features(self) -> Frame:
        """The columns that a tree may split on."""
        return self.frame.without([*self.targets.names, *([self.weight] if self.weight else [])])

    def subset(self, rows: BoolArray) -> "Rows":
        """Select the rows with a flag, and renumber their stages and groups."""
        present = [] if self.stage is None else np.unique(self.stage[rows]).tolist()
        return replace(
            self,
            frame=self.frame.subset(rows),
            stage=renumber_groups(self.stage, rows),
            stages=tuple(self.stages[number] for number in present),
            groups=subset_groups(self.groups, rows),
        )


def read_rows(data: Any, settings: DataSettings) -> Rows:
    """Read the rows with a weight above 0 of a path or a frame, without the dropped columns."""
    rules = settings.reading_options
    is_path = isinstance(data, str | os.PathLike)
    name = f"'{os.fspath(data)}'" if is_path else "the frame"
    # As text: dates are welcome as stages, and long numbers of patients would run together as floats.
    as_text = [column for column in (settings.stage, settings.groups) if column]
    orders = dict(settings.ordered)
    with open_source(data, rules.encoding) as source:
        _check_names(name, source.names, settings)
        roles = [*settings.targets.roles(source.names).values(), *filter(None, [settings.weight])]
        choices = ColumnChoices([*settings.categorical, *as_text, *orders], drop=settings.drop, roles=roles)
        frame = settings.targets.read_event(source.read(choices, rules))
    roles = [*settings.targets.names, *filter(None, [settings.weight])]
    if set(frame.names) <= {*roles, *as_text}:
        raise DataError(f"No column of {name} is left to split on. With keep_ids=True more of them stay.")
    stage, stages = _read_stage(source, frame, settings)
    rows = Rows(
        source=os.fspath(data) if is_path else "a frame",
        frame=with_orders(frame.without(as_text), orders),
        targets=settings.targets,
        hazard_options=settings.hazard_options,
        weight=settings.weight,
        custom_features=settings.custom_features,
        stage=stage,
        stages=stages,
        groups=_read_groups(frame, settings.groups),
    )
    rows = _drop_without_target(_drop_weightless(rows), name, drop_missing=settings.drop_missing_target)
    if settings.targets.is_survival:
        _check_horizon(rows, settings.horizon)
    return rows


# -- checks -----------------------------------------------------------------------------------------------


def _check_names(source: str, known: tuple[str, ...], settings: DataSettings) -> None:
    dates = tuple(column.name for column in parse_date_columns(settings.date, known))
    by_setting = {**settings.columns_by_setting(known), "date": dates}
    for setting, names in by_setting.items():
        if absent := [name for name in names if name not in known]:
            raise DataError(
                f"There is no column {quoted(absent)} in {source} ({setting}). {columns_text(absent, known)}"
            )
    used: dict[str, str] = {}
    for setting, names in by_setting.items():
        for name in names if setting != "categorical" else ():
            # A column with an order is a feature still.
            before = used.get(name, setting) if setting == "ordered" else used.setdefault(name, setting)
            if setting == "date" and before in ("time", "entry"):
                raise DataError(
                    f"Column {name!r} is a date, and {before} must be a number, such as the days since the "
                    "diagnosis: add a column of it to the data."
                )
            if before != setting and (before, setting) != ("stage", "groups"):
                raise DataError(f"Column {name!r} is given both as {before} and as {setting}: choose one.")
    if set(known) <= set(used).difference(dates):
        raise DataError(f"No column of {source} is left to split on: all have another role, {quoted(used)}.")


def _drop_without_target(rows: Rows, name: str, *, drop_missing: bool) -> Rows:
    """Select the rows with a target."""
    known = flag_targets(rows.frame, rows.targets, name, drop_missing=drop_missing)
    return rows if known is None else rows.subset(known)


def _check_horizon(rows: Rows, horizon: float | None) -> None:
    """Raise an error for a horizon after the last time."""
    time = split_survival(rows.y)[0]
    if horizon is not None and horizon > time.max():
        raise ParameterError(
            f"horizon={number_text(horizon)} is after the last time of the data, "
            f"{number_text(time.max())}: nothing is known of survival to it. Give an earlier one."
        )


def flag_targets(frame: Frame, targets: TargetColumns, name: str, *, drop_missing: bool) -> BoolArray | None:
    """Flag the rows with a target; None if all have one. A DataError unless others may be left out."""
    lines = {
        each: np.isnan(read_column(frame.column(each), f"the target {each!r}", rows=frame.rows).values)
        for each in targets.names
    }
    missing: BoolArray = np.any([*lines.values()], axis=0)
    if not missing.any():
        return None
    target = " or ".join(f"{each!r}" for each, absent in lines.items() if absent.any())
    count, where = int(missing.sum()), first_rows(missing, frame.rows)
    if missing.all():
        raise DataError(f"The target {target} is missing in all {count} rows of {name}.")
    if not drop_missing:
        raise DataError(
            f"The target {target} is missing in {count} of {len(missing)} rows of {name}, "
            f"{where}. With drop_missing_target=True these rows are left out; or fill in the cells."
        )
    warnings.warn(
        f"{count} of {len(missing)} rows have no {target} and are left out, {where}.",
        DataWarning,
        stacklevel=4,
    )
    return ~missing


# -- stages, groups and weights ---------------------------------------------------------------------------


def _read_stage(
    source: Source, frame: Frame, settings: DataSettings
) -> tuple[LongArray | None, tuple[str, ...]]:
    """Return the number of the stage of each row, and the names of the stages."""
    if settings.stage is None:
        return None, ()
    texts = frame.column(settings.stage)
    line: Any = texts
    if settings.stage_order:
        line = stage_places(texts, settings.stage_order)
    elif isinstance(source, FrameSource):  # its type tells the order: of dates, numbers, ordered categories
        line = source.frame.column(settings.stage)
    stage = read_stage(line, frame.n_rows, frame.rows)
    _, first = np.unique(stage, return_index=True)
    stages = tuple(str(texts[int(row)]) for row in first)
    if line is texts:
        warn_of_alphabetical_order(stages)
    return stage, stages


def _read_groups(frame: Frame, name: str | None) -> LongArray | None:
    return None if name is None else read_groups(frame.column(name), frame.n_rows, frame.rows)


def _drop_weightless(rows: Rows) -> Rows:
    """Select the rows with a weight above 0: others must not widen the reference schema."""
    if rows.weight is None:
        return rows
    weight = read_weight(rows.frame.column(rows.weight), rows.frame.n_rows, rows.frame.rows)
    if weight is None or (weight > 0).all():
        return rows
    warnings.warn(
        f"{np.count_nonzero(weight == 0)} rows have the weight 0 and are left out.", DataWarning, stacklevel=3
    )
    return rows.subset(weight > 0)


# -- orders of categories and stages ----------------------------------------------------------------------

# A year, a date or a time, whose text order is the order in time.
_IN_TIME = re.compile(r"\d{4}([-/.]\d\d?)*([-/ ]?[QWqw]\d\d?)?([T ].*)?")


def with_orders(frame: Frame, orders: Mapping[str, tuple[str, ...]]) -> Frame:
    """Give columns of text the order of their categories."""
    columns = [
        _ordered(name, column, orders[name]) if name in orders else column
        for name, column in zip(frame.names, frame.columns, strict=True)
    ]
    return replace(frame, columns=columns)


def stage_places(texts: Any, order: tuple[str, ...]) -> FloatArray:
    """Return the position of every row's stage in the order, NaN for a missing stage."""
    _check_known(texts.tolist(), order, "the stage has", f"stage_order {join_parts(list(order))}")
    place = {name: float(number) for number, name in enumerate(order)}
    return np.array([np.nan if text is None else place[text] for text in texts], np.float64)


def warn_of_alphabetical_order(stages: Sequence[str]) -> None:
    """Warn if stages are words, and in alphabetical order for want of another."""
    if all(map(_is_number, stages)) or all(map(_IN_TIME.fullmatch, stages)):
        return
    warnings.warn(
        f"The stages are in alphabetical order: {join_parts(list(stages))}. If they follow each other "
        "otherwise, give stage_order with the earliest first.",
        DataWarning,
        stacklevel=4,
    )


def _ordered(name: str, column: Any, order: tuple[str, ...]) -> OrderedText:
    _check_known(column.tolist(), order, f"column {name!r} has", f"ordered {name}={','.join(order)}")
    return OrderedText(column, order)


def _check_known(texts: Sequence[str | None], order: tuple[str, ...], where: str, setting: str) -> None:
    counts = Counter(text for text in texts if text is not None)
    unknown = {text: count for text, count in counts.items() if text not in order}
    if not unknown:
        return
    first, count = next(iter(unknown.items()))
    others = f", and {quoted(list(unknown)[1:])}" if len(unknown) > 1 else ""
    rows = "1 row" if count == 1 else f"{count} rows"
    raise DataError(f"{where} {first!r} in {rows}{others}, and {setting} does not: put all into the order.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# -- the data file that a run was trained on --------------------------------------------------------------


def file_hash(path: Path | str) -> str | None:
    """Return the SHA-256 of a file; None for a folder or a missing file."""
    if not Path(path).is_file():
        return None
    with Path(path).open("rb") as file:
        return f"sha256:{file_digest(file, 'sha256').hexdigest()}"


def share_learned(model: Path, data: Path) -> float | None:
    """Return the fraction of the rows of a file that the model was trained on; None if unknown."""
    folder = model.parent if model.name == "model.json" else model
    facts, found = find_earlier_run(folder), file_hash(data)
    if facts is None or found is None:
        return None
    known = facts["data"]
    if "path" not in facts:
        is_same, learned = known.get("file") == found, facts["division"]["training_rows"]
    else:
        is_new = _is_updated(facts)
        is_same, learned = is_new and known.get("file") == found, known["rows_learnt_from"]
        if is_new and known.get("old_file") == found:
            return 1.0
    return learned / known["rows"] if is_same and known["rows"] else None


def _is_updated(facts: Mapping[str, Any]) -> bool:
    """True if the model in use is the updated one, and differs from the one before."""
    hashes = facts["model"]
    return bool(hashes["in_use"] == hashes["new"] and hashes["new"] != hashes["old"])


# -- test rows --------------------------------------------------------------------------------------------

LEAST_LATE = 100  # rows of the last stages
MIN_TRAINED = 0.5  # of the rows; with fewer, a warning says how to train on more
MOST_NAMED = 4  # stages or classes in a sentence


class HeldOut(NamedTuple):
    """The test rows."""

    test: BoolArray
    earlier: BoolArray  # random test rows of earlier stages
    stages: tuple[str, ...] = ()  # of the test rows, if they are held out as a whole


def choose_test_rows(whole: Table, rows: Rows, fraction: float, kind: str | None, seed: int) -> HeldOut:
    """Choose the test rows, which have no part in growing or choosing a tree.

    The `kind` is "forward" or "random"; without it, the last stages if there are any, else random rows.
    """
    if few := describe_few_to_learn(whole.schema.target, whole.target):
        warnings.warn(few, DataWarning, stacklevel=2)
    none = np.zeros(whole.n_rows, np.bool_)
    if kind == "forward" and rows.stage is None:
        raise ParameterError("test_rows='forward' holds out the last stages: name their column with stage.")
    if fraction == 0:
        return HeldOut(none, none)
    if rows.stage is None or kind == "random":
        is_test = _draw_test_rows(whole, rows, fraction, seed)
        event = None if whole.survival is None else whole.survival.event
        if event is not None and not event[~is_test].any() and not is_test.all():
            raise DataError("With test rows held out, no row with the event is left to train on: set test=0.")
        if is_test.all():
            units = f"{whole.n_rows} rows" if rows.groups is None else f"{len(np.unique(rows.groups))} groups"
            raise DataError(f"With test rows held out, none of the {units} is left to train on: set test=0.")
        return HeldOut(is_test, none)
    return _hold_out_last_stages(whole, rows, rows.stage, fraction, seed)


def _hold_out_last_stages(whole: Table, rows: Rows, stage: LongArray, fraction: float, seed: int) -> HeldOut:
    """Hold out the last stages, about half of the test rows, and random rows of those before.

    The last stage is held out as a whole: the score of a tree trained on a part of it would not be one on
    later data. Earlier rows of the same group are trained on, as they will be in use.
    """
    is_late = _add_stages(whole, stage, find_late_stages(stage, fraction / 2), fraction)
    stages = tuple(rows.stages[number] for number in np.unique(stage[is_late]).tolist())
    before, early = whole.subset(~is_late), rows.subset(~is_late)
    earlier = np.zeros(whole.n_rows, np.bool_)
    drawn = _draw_test_rows(before, early, fraction / 2, seed)
    if not drawn.all():
        earlier[~is_late] = drawn
    is_test = is_late & ~_flag_new_classes(whole, is_late, stages)
    if (~(is_test | earlier)).sum() < MIN_TRAINED * whole.n_rows:
        _report_few_to_train(stages, int(is_test.sum()), int(earlier.sum()), whole.n_rows)
    return HeldOut(is_test, earlier, stages)


def _add_stages(whole: Table, stage: LongArray, is_late: BoolArray, fraction: float) -> BoolArray:
    """Add stages to the late rows until there are enough to score a tree.

    Enough are `LEAST_LATE` rows, of a small table half of the test rows, with enough events. Stages that
    would leave less than half of the rows to train on are not taken.
    """
    least = min(LEAST_LATE, fraction / 2 * whole.n_rows * (1 - 1e-12))
    late = is_late
    while late.sum() < least or not has_enough_rows(whole.schema.target, whole.target[late]):
        first = int(stage[late].min())
        late = np.asarray(stage >= first - 1, np.bool_)
        if first < 2 or late.sum() > (1 - MIN_TRAINED) * whole.n_rows:
            return is_late
    return late


def _flag_new_classes(whole: Table, is_late: BoolArray, stages: tuple[str, ...]) -> BoolArray:
    """Flag late rows of classes that no earlier row has, which no model could predict."""
    target = whole.schema.target
    if not target.is_classes:
        return np.zeros(whole.n_rows, np.bool_)
    known = np.bincount(whole.target[~is_late], minlength=len(target.classes)) > 0
    is_new = np.asarray(~known[whole.target], np.bool_)
    if (is_new == is_late).all():
        raise DataError(
            f"No class of the last stages, {_list_stages(stages)}, occurs in those before: a forward test is "
            "impossible. Set test_rows='random', or test=0."
        )
    if is_new.any():
        names = [format_class_names(target)[place] for place in np.flatnonzero(~known)]
        warnings.warn(
            f"{is_new.sum()} rows have a class, {join_parts(names, MOST_NAMED)}, that no stage before "
            f"{_list_stages(stages[:1])} has: they are training rows, not test rows.",
            DataWarning,
            stacklevel=4,
        )
    return is_new


def _report_few_to_train(stages: tuple[str, ...], n_test: int, n_earlier: int, n_rows: int) -> None:
    warnings.warn(
        f"The test holds out stage {_list_stages(stages)}, {n_test:,} rows, and {n_earlier:,} random rows of "
        f"the stages before: the tree is trained on the other {n_rows - n_test - n_earlier:,} of {n_rows:,} "
        "rows. test_rows='random' draws test rows from all stages, and test=0 trains on all rows.",
        DataWarning,
        stacklevel=5,
    )


def _list_stages(stages: tuple[str, ...]) -> str:
    return join_parts([printable(stage) for stage in stages], MOST_NAMED)


def _draw_test_rows(whole: Table, rows: Rows, fraction: float, seed: int) -> BoolArray:
    """Draw test rows, whole groups together; the order of the rows in the file does not matter."""
    labels = [label for label in (rows.stage, rows.groups) if label is not None]
    order = find_fixed_order(whole, labels)
    ordered, labels = whole.subset(order), [label[order] for label in labels]
    copies = None if rows.groups is not None else number_copies(ordered, labels)
    flags = draw_test_rows(
        ordered,
        fraction,
        stage=None if rows.stage is None else labels[0],
        groups=labels[-1] if rows.groups is not None else group_copies(ordered, copies),
        seed=seed,
    )
    is_test = np.empty(whole.n_rows, np.bool_)
    is_test[order] = flags
    return np.asarray(is_test & ~_flag_rare_classes(whole, rows, is_test), np.bool_)


def _flag_rare_classes(whole: Table, rows: Rows, is_test: BoolArray) -> BoolArray:
    """Flag the rows, with their groups, of classes without any row to train on."""
    n_classes = len(whole.schema.target.classes)
    if not n_classes or is_test.all():
        return np.zeros(whole.n_rows, np.bool_)
    known = np.bincount(whole.target[~is_test], minlength=n_classes) > 0
    needed = np.asarray(~known[whole.target], np.bool_)
    return needed if rows.groups is None else np.isin(rows.groups, rows.groups[needed])


# -- roles of the rows ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TestRows:
    """Test rows, which have no part in growing or choosing a tree."""

    frame: Frame
    true_values: TrueValues

    @property
    def too_few(self) -> str:
        """The numbers of rows and cases, if they are too few for a score; else empty."""
        return describe_too_few(self.true_values)

    def score(self, model: Tree | Ensemble, metric: Metric) -> Score:
        """Score a model on these rows."""
        return metric.score(predict_for_metric(metric, model, self.frame), self.true_values)


@dataclass(frozen=True, eq=False)
class RowRoles:
    """The rows of a run in their roles."""

    source: str
    whole: Table  # all rows
    rows: Rows  # those to train on
    training: Table  # those to train on, as they stand in the data, on a schema of their own
    stage: LongArray | None  # of each of these; None if none of them are earlier than others
    prepared: TrainingSet | None  # the same, sorted and divided, for a stable tree; None for other models
    test: TestRows | None  # later than all training rows, if there are test stages
    earlier_test: TestRows | None = None  # random rows of the stages before those of `test`
    test_stages: tuple[str, ...] = ()  # held out as a whole; empty if test rows are drawn at random
    training_stages: tuple[str, ...] = ()
    early_stages: tuple[str, ...] = ()  # empty if early rows are drawn at random
    n_known: int = 0  # test rows whose group has training rows, too

    @property
    def n_test(self) -> int:
        """Number of test rows."""
        return 0 if self.test is None else self.test.frame.n_rows

    @property
    def n_earlier_test(self) -> int:
        """Number of random test rows of earlier stages."""
        return 0 if self.earlier_test is None else self.earlier_test.frame.n_rows

    @property
    def n_training(self) -> int:
        """Number of rows to grow trees on and choose one with."""
        return self.whole.n_rows - self.n_test - self.n_earlier_test

    def test_scores(self, model: Tree | Ensemble, metric: Metric) -> tuple[Score | None, Score | None]:
        """Score a model on the test rows and on those of earlier stages; None where they are too few."""
        test, earlier = (
            None if rows is None or rows.too_few else rows.score(model, metric)
            for rows in (self.test, self.earlier_test)
        )
        return test, earlier

    @property
    def divided(self) -> TrainingSet:
        """The training rows, sorted and divided, of a stable tree."""
        if self.prepared is None:
            raise ValueError("Only the rows of a stable tree are divided into early and late ones.")
        return self.prepared

    @property
    def has_early(self) -> bool:
        """True if some of the training rows are early and others late: of a consensus tree all are alike."""
        return not self.divided.division.early.all()

    @property
    def n_early(self) -> int:
        """Number of training rows that are early."""
        return self._n_rows(self.divided.division.early)

    @property
    def n_held_out(self) -> int:
        """Number of them that are held out to score a candidate; the mean, if there are several ways."""
        return round(float(np.mean([self._n_rows(rows) for rows in self.divided.division.validation])))

    @property
    def held_out_too_few(self) -> str:
        """The number of rows that candidates are scored on, if it is too small; else empty."""
        rows = self.divided
        held_out = np.any(rows.division.validation, axis=0)
        return describe_too_few(TrueValues.of(rows.table, rows.groups).subset(held_out))

    def _n_rows(self, rows: BoolArray) -> int:
        """Convert a fraction of the weight to a number of rows of the data."""
        table = self.divided.table
        weight = np.ones(table.n_rows) if table.weight is None else table.weight
        return round(self.n_training * float(weight[rows].sum() / weight.sum()))


def assign_roles(rows: Rows, settings: RunSettings) -> RowRoles:
    """Divide the rows into test and training rows, and prepare these for the fit."""
    positive = settings.parameters.get("positive")
    rows = replace(
        rows, positive=make_model_card(settings.model_card).positive if positive is None else positive
    )
    with warnings.catch_warnings():
        if settings.test > 0:
            warnings.simplefilter("ignore", DataWarning)  # the training rows raise those that matter
        whole = rows.table(settings.data.task)
    held_out = choose_test_rows(whole, rows, settings.test, settings.test_rows, settings.random_state)
    is_training = ~(held_out.test | held_out.earlier)
    training, table = rows, whole
    if not is_training.all():
        training = rows.subset(is_training)
        # A schema of their own: not even the range of a column comes from the test rows.
        table = training.table(whole.schema.target.task)
    estimator = make_run_estimator(settings, table.schema.target)  # refuses what is out of range
    # Where the test takes all stages but one, none of the rows left are earlier than others; nor are they in
    # a consensus tree, whose rows are only divided evenly by stage.
    is_consensus = settings.is_stable and estimator.method == "consensus"
    needless = bool(held_out.stages) or is_consensus
    stage = None if needless and len(training.stages) == 1 else training.stage
    prepared, early = None, []
    if settings.is_stable:
        prepared = prepare_training_set(table, estimator._settings(), stage=stage, groups=training.groups)
        if prepared.stage is not None and not is_consensus:
            early = np.unique(prepared.stage[prepared.division.early]).tolist()
    groups = rows.groups
    return RowRoles(
        source=rows.source,
        whole=whole,
        rows=training,
        training=table,
        stage=stage,
        prepared=prepared,
        test=_test_rows(rows, whole, table, held_out.test),
        earlier_test=_test_rows(rows, whole, table, held_out.earlier),
        test_stages=held_out.stages,
        training_stages=training.stages,
        early_stages=tuple(training.stages[number] for number in early),
        n_known=0 if groups is None else int(find_known_groups(groups, is_training, held_out.test).sum()),
    )


def _test_rows(rows: Rows, whole: Table, training: Table, is_test: BoolArray) -> TestRows | None:
    if not is_test.any():
        return None
    groups = renumber_groups(rows.groups, is_test)
    # The training rows have every class, so that each has the same number in both tables.
    target, values, survival = training.schema.target, whole.target[is_test], None
    weight = None if whole.weight is None else whole.weight[is_test]
    if target.hazard is not None:  # the events that the training rows let expect
        values, _, survival = make_risk_target(rows.y[is_test], weight, target.hazard)
    numbers = None if groups is None else groups.astype(np.int32)
    true_values = TrueValues(target, values, weight, numbers, survival)
    return TestRows(rows.features.subset(is_test), true_values)
