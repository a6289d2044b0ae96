"""Arguments of a wrong type raise an error under their own name, whatever else is given."""

from typing import Any

import numpy as np
import pytest
from few_rows import X, Y

from holdfast.data.table import Table
from holdfast.errors import DataError

ASKED = Table.from_arrays(X, Y, custom_features=["x0 > 2"]).schema


@pytest.mark.parametrize("schema", [None, ASKED], ids=["new data", "on a schema"])
@pytest.mark.parametrize("question", [3, None, ["x0 > 2"], b"x0 > 2"], ids=repr)
def test_a_question_is_a_text(question: Any, schema: Any):
    with pytest.raises(TypeError, match=r"custom_features\[1\] is .*: it must be a text, such as"):
        Table.from_arrays(X, Y, custom_features=["x0 > 2", question], schema=schema)


@pytest.mark.parametrize("schema", [None, ASKED], ids=["new data", "on a schema"])
def test_a_text_by_itself_is_no_list_of_questions(schema: Any):
    with pytest.raises(DataError, match=r"custom_features must be a list of texts: write \['x0 > 2'\]"):
        Table.from_arrays(X, Y, custom_features="x0 > 2", schema=schema)


@pytest.mark.parametrize("questions", [3, None, 0.5])
def test_questions_are_a_list(questions: Any):
    with pytest.raises(TypeError, match=f"custom_features is {questions}: it must be a list of texts"):
        Table.from_arrays(X, Y, custom_features=questions)


@pytest.mark.parametrize("listed", [list, tuple, iter, np.array])
def test_questions_may_come_in_anything_that_lists_them(listed: Any):
    table = Table.from_arrays(X, Y, custom_features=listed(["x0 > 2"]))
    assert table.schema == ASKED
    assert type(table.schema.names[2]) is str
    assert Table.from_arrays(X, Y, custom_features=listed(["x0 > 2"]), schema=ASKED).schema is ASKED


@pytest.mark.parametrize("choice", [3, 0.5, True, np.int64(1), np.array(1), "x1"], ids=repr)
def test_categorical_features_are_a_list(choice: Any):
    with pytest.raises(DataError, match=r"categorical_features is .*, not 'from_dtype', None or a list"):
        Table.from_arrays(X, Y, categorical_features=choice)


@pytest.mark.parametrize("choice", [[[0, 1]], [0.5], [None], [2], ["x2"]], ids=repr)
def test_categorical_features_are_names_or_indices_of_columns(choice: Any):
    with pytest.raises(DataError, match=r"categorical_features names .*, which is not in the data"):
        Table.from_arrays(X, Y, categorical_features=choice)
