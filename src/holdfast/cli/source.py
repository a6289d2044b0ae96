"""A data file as rows to learn from: what its columns are for, and what is known of each row besides."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray, LongArray
from holdfast.cli.orders import stage_places, warn_of_alphabet, with_orders
from holdfast.data.files.dates import date_columns
from holdfast.data.files.filetype import is_parquet
from holdfast.data.files.parquet_columns import parquet_columns
from holdfast.data.files.reading import Choices, column_names, read_file
from holdfast.data.files.reading_rules import ReadingRules
from holdfast.data.input.columns import read_column
from holdfast.data.input.frame import Frame
from holdfast.data.input.target import Task
from holdfast.data.input.weight import read_weight
from holdfast.data.split.groups import numbered, read_groups
from holdfast.data.split.stages import read_stage
from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning
from holdfast.text.lists import first_rows, listed


@dataclass(frozen=True)
class Columns:
    """What the columns of a file are for."""

    target: str
    stage: str | None = None
    group: str | None = None
    weight: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    ordered: tuple[tuple[str, tuple[str, ...]], ...] = ()  # columns with the order of their categories
    stage_order: tuple[str, ...] | None = None
    question: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Columns":
        """The columns that the options of the command line name."""
        return cls(**{field.name: options[field.name] for field in fields(cls)})

    @property
    def by_option(self) -> dict[str, tuple[str, ...]]:
        """The names that each option gave."""
        single = {"target": self.target, "stage": self.stage, "group": self.group, "weight": self.weight}
        named = {option: (name,) for option, name in single.items() if name is not None}
        ordered = tuple(column for column, _ in self.ordered)
        return {**named, "drop": self.drop, "categorical": self.categorical, "ordered": ordered}


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that count, and what is known of each besides its features."""

    source: str
    frame: Frame  # the features, the target and perhaps the weight
    target: str
    weight: str | None = None
    questions: tuple[str, ...] = ()
    stage: LongArray | None = None  # number of the stage
    stages: tuple[str, ...] = ()  # the stages as the file calls them, in their order
    groups: LongArray | None = None

    def table(self, task: Task | None = None) -> Table:
        """The rows ready for growing."""
        return Table.from_frame(
            self.frame, self.target, sample_weight=self.weight, task=task, questions=self.questions
        )

    @property
    def features(self) -> Frame:
        """The columns that a tree may ask about."""
        return self.frame.without([self.target, *([self.weight] if self.weight else [])])

    def taken(self, rows: BoolArray) -> "Rows":
        """The rows with a flag, and the stages and groups that some of them have."""
        present = [] if self.stage is None else np.unique(self.stage[rows]).tolist()
        return replace(
            self,
            frame=self.frame.taken(rows),
            stage=numbered(self.stage, rows),
            stages=tuple(self.stages[number] for number in present),
            groups=numbered(self.groups, rows),
        )


def read_rows(
    path: Path, columns: Columns, rules: ReadingRules | None = None, *, drop_missing_target: bool = False
) -> Rows:
    """The rows of the file that have a weight, without the columns that are dropped."""
    rules = rules or ReadingRules(keep_ids=False)
    _check_names(path, columns, rules)
    # As text: dates are welcome as stages, and long numbers of patients would run together as floats.
    as_text = [name for name in (columns.stage, columns.group) if name]
    orders = dict(columns.ordered)
    roles = [name for name in (columns.target, columns.weight) if name]
    choices = Choices([*columns.categorical, *as_text, *orders], drop=columns.drop, roles=roles)
    frame = read_file(path, choices=choices, rules=rules)
    if set(frame.names) <= {*roles, *as_text}:
        raise DataError(f"No column of '{path}' is left to ask about. With --keep-ids more of them stay.")
    stage, stages = _read_stage(path, frame, columns)
    rows = Rows(
        source=str(path),
        frame=frame.without(as_text),
        target=columns.target,
        weight=columns.weight,
        questions=columns.question,
        stage=stage,
        stages=stages,
        groups=_read_groups(frame, columns.group),
    )
    ordered = replace(rows, frame=with_orders(rows.frame, orders))
    return _with_target(_weighted(ordered), drop_missing_target)


# -- what can be wrong ------------------------------------------------------------------------------------


def _check_names(path: Path, columns: Columns, rules: ReadingRules) -> None:
    known = column_names(path, rules.encoding)
    dates = tuple(column.name for column in date_columns(rules.dates, known))
    by_option = {**columns.by_option, "date": dates}
    for option, names in by_option.items():
        absent = [name for name in names if name not in known]
        if absent and known:
            raise DataError(
                f"There is no column {listed(absent)} in '{path}', as --{option} says. "
                f"Its columns are {listed(known, 30)}."
            )
    used: dict[str, str] = {}
    for option, names in by_option.items():
        for name in names if option != "categorical" else ():
            # A column with an order is a feature still.
            before = used.get(name, option) if option == "ordered" else used.setdefault(name, option)
            if before != option and (before, option) != ("stage", "group"):
                raise DataError(f"Column {name!r} is given both as --{before} and as --{option}: choose one.")
    if known and set(known) <= set(used).difference(dates):
        raise DataError(f"No column of '{path}' is left to ask about: all have another role, {listed(used)}.")


def _with_target(rows: Rows, drop_missing: bool) -> Rows:
    """The rows whose target is known: all of them, unless others may be left out."""
    column = read_column(rows.frame.column(rows.target), f"the target {rows.target!r}", rows=rows.frame.rows)
    missing = np.isnan(column.values)
    if not missing.any():
        return rows
    count, where = int(missing.sum()), first_rows(missing, rows.frame.rows)
    if missing.all():
        raise DataError(f"The target {rows.target!r} is missing in all {count} rows of '{rows.source}'.")
    if not drop_missing:
        raise DataError(
            f"The target {rows.target!r} is missing in {count} of {len(missing)} rows of '{rows.source}', "
            f"{where}. With --drop-missing-target these rows are left out; or fill in the cells."
        )
    warnings.warn(
        f"{count} of {len(missing)} rows have no {rows.target!r} and are left out, {where}.",
        DataWarning,
        stacklevel=3,
    )
    return rows.taken(~missing)


# -- stages, groups and weights ---------------------------------------------------------------------------


def _read_stage(path: Path, frame: Frame, columns: Columns) -> tuple[LongArray | None, tuple[str, ...]]:
    """The number of the stage of each row, and the stages as the file calls them."""
    if columns.stage is None:
        return None, ()
    texts = frame.column(columns.stage)
    if columns.stage_order:
        line: Any = stage_places(texts, columns.stage_order)
    else:
        # In Parquet a type tells the order: of dates, of numbers, of ordered categories.
        line = parquet_columns(path).column(columns.stage) if is_parquet(path) else texts
    stage = read_stage(line, frame.n_rows, frame.rows)
    _, first = np.unique(stage, return_index=True)
    stages = tuple(str(texts[int(row)]) for row in first)
    if not (columns.stage_order or is_parquet(path)):
        warn_of_alphabet(stages)
    return stage, stages


def _read_groups(frame: Frame, name: str | None) -> LongArray | None:
    return None if name is None else read_groups(frame.column(name), frame.n_rows, frame.rows)


def _weighted(rows: Rows) -> Rows:
    """The rows whose weight is above 0: one without weight is no row, and must not widen the ruler."""
    if rows.weight is None:
        return rows
    weight = read_weight(rows.frame.column(rows.weight), rows.frame.n_rows, rows.frame.rows)
    if weight is None or (weight > 0).all():
        return rows
    warnings.warn(
        f"{np.count_nonzero(weight == 0)} rows have the weight 0 and are left out.", DataWarning, stacklevel=3
    )
    return rows.taken(weight > 0)
