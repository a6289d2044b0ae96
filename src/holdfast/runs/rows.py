"""Data as rows to learn from: what its columns are for, and what is known of each row besides."""

import os
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.data.files.dates import parse_date_columns
from holdfast.data.files.reading import ColumnChoices, CsvSource, FrameSource, open_source
from holdfast.data.input.columns import read_column
from holdfast.data.input.frame import Frame
from holdfast.data.input.target import Task, attach_name
from holdfast.data.input.weight import read_weight
from holdfast.data.split.groups import read_groups, renumber_groups, subset_groups
from holdfast.data.split.stages import read_stage
from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning
from holdfast.runs.orders import stage_places, warn_of_alphabet, with_orders
from holdfast.runs.settings import DataSettings
from holdfast.text.lists import columns_text, first_rows, listed

Source = CsvSource | FrameSource


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that count, and what is known of each besides its features."""

    source: str  # the path, or "a frame"
    frame: Frame  # the features, the target and perhaps the weight
    target: str
    weight: str | None = None
    questions: tuple[str, ...] = ()
    positive: Any = None  # the class that matters, if someone said it
    stage: LongArray | None = None  # number of the stage
    stages: tuple[str, ...] = ()  # the stages as the data calls them, in their order
    groups: LongArray | None = None

    def table(self, task: Task | None = None) -> Table:
        """The rows ready for growing."""
        return Table.from_frame(
            self.frame,
            self.target,
            sample_weight=self.weight,
            task=task,
            custom_features=self.questions,
            positive=self.positive,
        )

    @property
    def y(self) -> Any:
        """The target, under the name of its column."""
        values = self.frame.column(self.target)
        return attach_name(values, self.target) if isinstance(values, np.ndarray) else values

    @property
    def sample_weight(self) -> FloatArray | None:
        """The weight of each row, if a column has one."""
        if self.weight is None:
            return None
        return read_weight(self.frame.column(self.weight), self.frame.n_rows, self.frame.rows)

    @property
    def features(self) -> Frame:
        """The columns that a tree may ask about."""
        return self.frame.without([self.target, *([self.weight] if self.weight else [])])

    def subset(self, rows: BoolArray) -> "Rows":
        """The rows with a flag, and the stages and groups that some of them have."""
        present = [] if self.stage is None else np.unique(self.stage[rows]).tolist()
        return replace(
            self,
            frame=self.frame.subset(rows),
            stage=renumber_groups(self.stage, rows),
            stages=tuple(self.stages[number] for number in present),
            groups=subset_groups(self.groups, rows),
        )


def read_rows(data: Any, settings: DataSettings) -> Rows:
    """The rows of the data, a path or a frame, that have a weight, without the columns that are dropped."""
    rules = settings.reading_options
    is_path = isinstance(data, str | os.PathLike)
    name = f"'{os.fspath(data)}'" if is_path else "the frame"
    # As text: dates are welcome as stages, and long numbers of patients would run together as floats.
    as_text = [column for column in (settings.stage, settings.groups) if column]
    orders = dict(settings.ordered)
    roles = [column for column in (settings.target, settings.weight) if column]
    choices = ColumnChoices([*settings.categorical, *as_text, *orders], drop=settings.drop, roles=roles)
    with open_source(data, rules.encoding) as source:
        _check_names(name, source.names, settings)
        frame = source.read(choices, rules)
    if set(frame.names) <= {*roles, *as_text}:
        raise DataError(f"No column of {name} is left to split on. With keep_ids=True more of them stay.")
    stage, stages = _read_stage(source, frame, settings)
    rows = Rows(
        source=os.fspath(data) if is_path else "a frame",
        frame=with_orders(frame.without(as_text), orders),
        target=settings.target,
        weight=settings.weight,
        questions=settings.question,
        stage=stage,
        stages=stages,
        groups=_read_groups(frame, settings.groups),
    )
    return _with_target(_weighted(rows), name, drop_missing=settings.drop_missing_target)


# -- what can be wrong ------------------------------------------------------------------------------------


def _check_names(source: str, known: tuple[str, ...], settings: DataSettings) -> None:
    dates = tuple(column.name for column in parse_date_columns(settings.date, known))
    by_setting = {**settings.columns_by_setting, "date": dates}
    for setting, names in by_setting.items():
        if absent := [name for name in names if name not in known]:
            raise DataError(
                f"There is no column {listed(absent)} in {source}, as {setting} says. "
                f"{columns_text(absent, known)}"
            )
    used: dict[str, str] = {}
    for setting, names in by_setting.items():
        for name in names if setting != "categorical" else ():
            # A column with an order is a feature still.
            before = used.get(name, setting) if setting == "ordered" else used.setdefault(name, setting)
            if before != setting and (before, setting) != ("stage", "groups"):
                raise DataError(f"Column {name!r} is given both as {before} and as {setting}: choose one.")
    if set(known) <= set(used).difference(dates):
        raise DataError(f"No column of {source} is left to ask about: all have another role, {listed(used)}.")


def _with_target(rows: Rows, name: str, *, drop_missing: bool) -> Rows:
    """The rows whose target is known: all of them, unless others may be left out."""
    known = target_known(rows.frame, rows.target, name, drop_missing=drop_missing)
    return rows if known is None else rows.subset(known)


def target_known(frame: Frame, target: str, name: str, *, drop_missing: bool) -> BoolArray | None:
    """Which rows have a target; None if all have one, and a DataError unless others may be left out."""
    column = read_column(frame.column(target), f"the target {target!r}", rows=frame.rows)
    missing: BoolArray = np.isnan(column.values)
    if not missing.any():
        return None
    count, where = int(missing.sum()), first_rows(missing, frame.rows)
    if missing.all():
        raise DataError(f"The target {target!r} is missing in all {count} rows of {name}.")
    if not drop_missing:
        raise DataError(
            f"The target {target!r} is missing in {count} of {len(missing)} rows of {name}, "
            f"{where}. With drop_missing_target=True these rows are left out; or fill in the cells."
        )
    warnings.warn(
        f"{count} of {len(missing)} rows have no {target!r} and are left out, {where}.",
        DataWarning,
        stacklevel=4,
    )
    return ~missing


# -- stages, groups and weights ---------------------------------------------------------------------------


def _read_stage(
    source: Source, frame: Frame, settings: DataSettings
) -> tuple[LongArray | None, tuple[str, ...]]:
    """The number of the stage of each row, and the stages as the data calls them."""
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
        warn_of_alphabet(stages)
    return stage, stages


def _read_groups(frame: Frame, name: str | None) -> LongArray | None:
    return None if name is None else read_groups(frame.column(name), frame.n_rows, frame.rows)


def _weighted(rows: Rows) -> Rows:
    """The rows whose weight is above 0: one without weight must not widen the reference schema."""
    if rows.weight is None:
        return rows
    weight = read_weight(rows.frame.column(rows.weight), rows.frame.n_rows, rows.frame.rows)
    if weight is None or (weight > 0).all():
        return rows
    warnings.warn(
        f"{np.count_nonzero(weight == 0)} rows have the weight 0 and are left out.", DataWarning, stacklevel=3
    )
    return rows.subset(weight > 0)
