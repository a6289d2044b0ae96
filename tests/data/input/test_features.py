"""The questions of a table: what may be given for them, and their answers as columns."""

from typing import Any

import numpy as np
import pytest

from holdfast.data.schema import Feature, Schema
from holdfast.data.table import Table, check_same_custom_features, read_custom_features
from holdfast.errors import DataError, SchemaMismatch


def test_a_question_is_the_last_column_and_answers_with_0_and_1() -> None:
    table = Table.from_arrays([[50.0], [70.0], [np.nan]], ["a", "b", "a"], custom_features=["x0 > 60"])
    assert table.schema.features[1] == Feature("x0 > 60", "question", categories=(False, True))
    np.testing.assert_array_equal(table.columns[1], [0.0, 1.0, np.nan])


@pytest.mark.parametrize(
    ("questions", "error", "message"),
    [
        ("age > 60", DataError, "must be a list of texts"),
        (3, TypeError, "must be a list of texts"),
        (["age > 60", 4], TypeError, r"custom_features\[1\] is 4"),
    ],
)
def test_what_is_no_list_of_texts_raises_an_error(
    questions: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        read_custom_features(questions)


def test_one_question_is_asked_once() -> None:
    with pytest.raises(DataError, match="'x0 > 60'"):
        Table.from_arrays([[50.0], [70.0]], ["a", "b"], custom_features=["x0 > 60", "x0 > 60"])


def test_the_questions_of_a_schema_are_asked_anyway() -> None:
    schema = Schema((Feature("age"), Feature("age > 60", "question", categories=(False, True))))
    check_same_custom_features((), schema)
    check_same_custom_features(("age > 60",), schema)
    with pytest.raises(SchemaMismatch, match="Leave custom_features out"):
        check_same_custom_features(("age > 50",), schema)
