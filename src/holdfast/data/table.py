"""The only door for data: numpy, pandas, polars or Arrow become one table."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray, frozen
from holdfast.data.differences import Differences
from holdfast.data.expressions.question import parse_questions
from holdfast.data.input.categorical import readings
from holdfast.data.input.columns import Reading
from holdfast.data.input.counted import defined_column, defined_target, matched_column, matched_target
from holdfast.data.input.frame import Frame, frame_of
from holdfast.data.input.matching import named_by
from holdfast.data.input.target import Task, check_task, read_vector
from holdfast.data.input.weight import are_repetitions, check_sum, counted_rows, read_weight
from holdfast.data.schema import Feature, Schema
from holdfast.errors import DataError, DataWarning, SchemaMismatch
from holdfast.text.lists import listed

if TYPE_CHECKING:
    from holdfast.kernels.growth.histogram import Coded


@dataclass(frozen=True, eq=False)
class Table:
    """Rows ready for growing: one column per feature, a target, weights.

    Nothing in it can be written to, and float64 columns of a numpy array, a frame or an Arrow table are
    views of it, not copies. A row of weight 0 keeps its place and is otherwise no row: ranges, categories and
    classes come from the rows that count, and what such a row holds beyond them counts as missing.
    """

    schema: Schema
    columns: tuple[FloatArray, ...]  # one per feature: numbers, or indices of categories; NaN where missing
    target: NDArray[Any]  # int32 index of the class, or float64
    weight: FloatArray | None = None  # None: every row counts once

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(map(_read_only, self.columns)))
        object.__setattr__(self, "target", _read_only(self.target))
        if self.weight is not None:
            check_sum(self.weight)
            object.__setattr__(self, "weight", _read_only(self.weight))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays that travelled to another process can be written to, and kernels would compile once more.
        for name, entry in state.items():
            object.__setattr__(self, name, _frozen_all(entry))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.target)

    @property
    def n_features(self) -> int:
        """Number of features, questions included."""
        return len(self.columns)

    @cached_property
    def coded(self) -> "Coded":
        """The columns, by name, as small integers: made once, shared by every tree grown from them."""
        from holdfast.data.coding import code_columns

        repeats = None
        if self.weight is not None:
            repeats = (self.weight if are_repetitions(self.weight) else self.weight > 0).astype(np.int64)
        order, features = self.schema.name_order, self.schema.features
        return code_columns([features[i] for i in order], [self.columns[i] for i in order], repeats)

    @cached_property
    def coded_questions(self) -> "Coded":
        """The questions of the user alone, by name, as small integers; there must be one."""
        from holdfast.data.coding import code_columns

        order = self.schema.name_order[len(self.schema.columns) :]
        return code_columns([self.schema.features[i] for i in order], [self.columns[i] for i in order])

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        task: Task | None = None,
        categorical_features: Any = "from_dtype",
        questions: Sequence[str] = (),
        schema: Schema | None = None,
        target: str = "y",
    ) -> "Table":
        """The table of a 2-D array, list of rows or frame X and a target y.

        Text, categoricals and True/False become nominal features by themselves; `categorical_features` names
        further ones: names, indices, or one flag per column. `task` None takes numbers with fractions, or
        with more than 20 values, for regression. With a `schema` the data is read on that ruler: columns of
        a frame are matched by name, categories and classes by value, and anything new is a SchemaMismatch.

        >>> table = Table.from_arrays([[41.0, "f"], [63.0, "m"]], ["lived", "died"])
        >>> table.schema.features[1].categories, table.target
        (('f', 'm'), array([1, 0], dtype=int32))
        """
        check_task(task)
        questions = _texts_of(questions)
        frame = frame_of(X)
        line = read_vector(y, frame.n_rows)
        weight = read_weight(sample_weight, frame.n_rows, frame.rows)
        counted = counted_rows(weight)
        if schema is not None:
            columns, values = _read_on(schema, frame, line, task, counted)
            _check_questions(questions, schema)
        else:
            how = readings(categorical_features, frame.names)
            features, columns = _read(frame, how, questions, counted)
            values, kind = defined_target(line, target, task, counted, frame.rows)
            schema = Schema(features, kind)
        table = cls(schema, columns, values, weight)
        rows = table if counted is None else table.taken(counted)
        _warn_of_one_class(rows)
        _warn_of_settled_columns(rows)
        return table

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        target: str | None = None,
        *,
        sample_weight: Any = None,
        task: Task | None = None,
        categorical_features: Any = "from_dtype",
        questions: Sequence[str] = (),
        schema: Schema | None = None,
    ) -> "Table":
        """The table of a frame that holds the target, and perhaps the weights, as columns.

        `target` defaults to the target of the schema, or else to "outcome"; `sample_weight` is the name of a
        column, or one number per row. All the rest is as in `from_arrays`.
        """
        whole = frame_of(frame)
        if whole.matrix is not None:
            raise TypeError(
                "from_frame needs a frame with named columns: use Table.from_arrays(X, y) for an array."
            )
        target = target or (schema.target.name if schema else "outcome")
        y = whole.column(target)
        aside = [target]
        if isinstance(sample_weight, str):
            aside.append(sample_weight)
            sample_weight = whole.column(sample_weight)
        return cls.from_arrays(
            whole.without(aside),
            y,
            sample_weight,
            task=task,
            categorical_features=categorical_features,
            questions=questions,
            schema=schema,
            target=target,
        )

    def taken(self, rows: NDArray[Any]) -> "Table":
        """The table of some of the rows, by flags or by numbers, on the same schema."""
        weight = None if self.weight is None else self.weight[rows]
        return Table(self.schema, tuple(column[rows] for column in self.columns), self.target[rows], weight)

    def rows(self, features: Sequence[int]) -> FloatArray:
        """A C-contiguous matrix with one column for each of these features."""
        matrix = np.empty((self.n_rows, len(features)))
        for position, feature in enumerate(features):
            matrix[:, position] = self.columns[feature]
        return matrix


# -- reading ----------------------------------------------------------------------------------------------


def _read(
    frame: Frame, how: Sequence[Reading], questions: Sequence[str], counted: BoolArray | None
) -> tuple[tuple[Feature, ...], tuple[FloatArray, ...]]:
    """The features that the rows that count define, and the columns of all rows, questions last."""
    columns = [
        defined_column(raw, name, reading, counted, frame.rows)
        for raw, name, reading in zip(frame.columns, frame.names, how, strict=True)
    ]
    features, values = tuple(feature for feature, _ in columns), tuple(values for _, values in columns)
    _raise_for_repeated_questions(questions, frame.names)
    asked = tuple(Feature(text, "question", categories=(False, True)) for text in questions)
    return features + asked, values + _answers(questions, features, values)


def _read_on(
    schema: Schema, frame: Frame, line: Any, task: Task | None, counted: BoolArray | None
) -> tuple[tuple[FloatArray, ...], NDArray[Any]]:
    """The columns and the target as the schema encodes them; a SchemaMismatch shows all that does not fit."""
    frame = named_by(schema, frame)
    differences = Differences.of_names((feature.name for feature in schema.columns), frame.names)
    columns = []
    for feature in schema.columns:
        if feature.name in differences.missing:
            continue
        match = matched_column(frame.column(feature.name), feature, counted, frame.rows)
        columns.append(match.values)
        if match.clash:
            differences.kinds[feature.name] = match.clash
        elif match.unknown:
            differences.categories[feature.name] = list(match.unknown)
    values = matched_target(line, schema.target, task, counted, differences, frame.rows)
    differences.refuse()
    return (*columns, *_answers(schema.questions, schema.columns, columns)), values


def _answers(
    questions: Sequence[str], features: Sequence[Feature], columns: Sequence[FloatArray]
) -> tuple[FloatArray, ...]:
    asked = list(parse_questions(questions, features))
    return tuple(question.answers([columns[index] for index in question.columns]) for question in asked)


def _texts_of(questions: Any) -> tuple[str, ...]:
    if isinstance(questions, str):
        raise DataError(f"questions must be a list of texts: write [{questions!r}].")
    if not isinstance(questions, Iterable):
        raise TypeError(f"questions is {questions!r}: it must be a list of texts, such as ['age > 60'].")
    texts = tuple(questions)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"questions[{position}] is {text!r}: a question is a text, such as 'age > 60'.")
    return tuple(map(str, texts))


def _check_questions(questions: Sequence[str], schema: Schema) -> None:
    if questions and questions != schema.questions:
        raise SchemaMismatch(
            f"The schema asks the questions {list(schema.questions)}, and here {list(questions)} are asked. "
            "Leave them out: the questions of the schema are asked anyway."
        )


def _raise_for_repeated_questions(questions: Sequence[str], names: Sequence[str]) -> None:
    texts = [*names, *questions]
    repeated = sorted({text for text in questions if texts.count(text) > 1})
    if repeated:
        raise DataError(
            f"Several questions or columns have the same text: {listed(repeated)}. Keep one of each."
        )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _frozen_all(entry: Any) -> Any:
    """The array, or a tuple of them, read-only and contiguous; anything else as it is."""
    if isinstance(entry, np.ndarray):
        return frozen(entry)
    if isinstance(entry, tuple):
        parts = [_frozen_all(part) for part in entry]
        return type(entry)(*parts) if hasattr(entry, "_fields") else tuple(parts)
    return entry


# -- warnings ---------------------------------------------------------------------------------------------


def _warn_of_one_class(table: Table) -> None:
    classes = table.schema.target.classes
    if classes and (table.target == table.target[0]).all():
        only = classes[table.target[0]]
        warnings.warn(
            f"the target has one class, {only!r}, so that the tree will be a single leaf.",
            DataWarning,
            stacklevel=3,
        )


def _warn_of_settled_columns(table: Table) -> None:
    if table.n_rows == 1:  # where every column is constant
        return
    settled = [
        name for name, values in zip(table.schema.names, table.columns, strict=True) if _is_settled(values)
    ]
    if settled:
        warnings.warn(
            f"no question can be asked of columns that hold one value only, or none: {listed(settled)}.",
            DataWarning,
            stacklevel=3,
        )


def _is_settled(values: FloatArray) -> bool:
    """True if the column tells no two rows apart: one value in every row, or none in any."""
    first = values[0]
    # The first rows acquit almost every column, and the others are read in full.
    return all(
        np.isnan(part).all() if np.isnan(first) else (part == first).all() for part in (values[:100], values)
    )
