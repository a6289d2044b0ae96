"""All columns of a frame, and its questions: as new features, or as those of a schema."""

from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray
from holdfast.data.expressions.question import parse_questions
from holdfast.data.input.columns import Reading
from holdfast.data.input.frame import Frame
from holdfast.data.input.matching import name_columns, warn_unknown_categories
from holdfast.data.input.target import Task
from holdfast.data.input.zero_weight import (
    define_weighted_column,
    match_weighted_column,
    match_weighted_target,
)
from holdfast.data.schema import Feature, Label, Schema
from holdfast.data.schema_differences import SchemaDifferences
from holdfast.errors import DataError, SchemaMismatch
from holdfast.text.lists import listed


def define_columns(
    frame: Frame, how: Sequence[Reading], questions: Sequence[str], weighted: BoolArray | None
) -> tuple[tuple[Feature, ...], tuple[FloatArray, ...]]:
    """Define features from rows of positive weight, and read the columns of all rows, questions last."""
    columns = [
        define_weighted_column(raw, name, reading, weighted, frame.rows)
        for raw, name, reading in zip(frame.columns, frame.names, how, strict=True)
    ]
    features, values = tuple(feature for feature, _ in columns), tuple(values for _, values in columns)
    check_distinct_questions(questions, frame.names)
    asked = tuple(Feature(text, "question", categories=(False, True)) for text in questions)
    return features + asked, values + _answers(questions, features, values)


def match_columns(
    schema: Schema,
    frame: Frame,
    vector: Any,
    task: Task | None,
    weighted: BoolArray | None,
    handle_unknown: str = "error",
) -> tuple[tuple[FloatArray, ...], NDArray[Any]]:
    """Encode columns and target by the schema; a SchemaMismatch lists all that does not fit.

    With `handle_unknown="missing"` categories that the schema does not hold count as missing, with a warning.
    """
    frame = name_columns(schema, frame)
    differences = SchemaDifferences.compare_names((feature.name for feature in schema.columns), frame.names)
    columns = []
    unseen: dict[str, dict[Label, int]] = {}
    for feature in schema.columns:
        if feature.name in differences.missing:
            continue
        match = match_weighted_column(frame.column(feature.name), feature, weighted, frame.rows)
        columns.append(match.values)
        if match.clash:
            differences.kinds[feature.name] = match.clash
        elif match.unknown:
            unseen[feature.name] = match.unknown
    if handle_unknown == "error":
        differences.categories = {name: list(counts) for name, counts in unseen.items()}
    values = match_weighted_target(vector, schema.target, task, weighted, differences, frame.rows)
    differences.raise_if_any()
    warn_unknown_categories(unseen, " allow_new_values=True takes them in.")
    return (*columns, *_answers(schema.questions, schema.columns, columns)), values


def _answers(
    questions: Sequence[str], features: Sequence[Feature], columns: Sequence[FloatArray]
) -> tuple[FloatArray, ...]:
    asked = list(parse_questions(questions, features))
    return tuple(question.answers([columns[index] for index in question.columns]) for question in asked)


def question_texts(questions: Any) -> tuple[str, ...]:
    """Return the questions as a tuple of texts."""
    if isinstance(questions, str):
        raise DataError(f"custom_features must be a list of texts: write [{questions!r}].")
    if not isinstance(questions, Iterable):
        raise TypeError(f"custom_features is {questions!r}: it must be a list of texts: ['age > 60'].")
    texts = tuple(questions)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"custom_features[{position}] is {text!r}: it must be a text, such as 'age > 60'."
            )
    return tuple(map(str, texts))


def check_questions(questions: Sequence[str], schema: Schema) -> None:
    """Raise a SchemaMismatch unless the questions are those of the schema."""
    if questions and questions != schema.questions:
        raise SchemaMismatch(
            f"The schema has the custom features {list(schema.questions)}, got {list(questions)}. "
            "Leave custom_features out: those of the schema are computed anyway."
        )


def check_distinct_questions(questions: Sequence[str], names: Sequence[str]) -> None:
    """Raise a DataError if a question repeats another, or the name of a column."""
    texts = [*names, *questions]
    repeated = sorted({text for text in questions if texts.count(text) > 1})
    if repeated:
        raise DataError(
            f"Several custom features or columns have the same text: {listed(repeated)}. Keep one of each."
        )
