import numpy as np
import pytest

from holdfast import Table
from holdfast.data.frame import Frame, OrderedText

ORDER = ("low", "middle", "high")


def frame(*texts: str | None) -> Frame:
    return Frame(("grade",), [OrderedText(np.array(texts, object), ORDER)], len(texts))


def test_a_column_with_an_order_keeps_it_and_all_its_categories() -> None:
    table = Table.from_arrays(frame("high", "low", None, "low"), ["a", "b", "a", "b"])
    feature = table.schema.features[0]
    assert (feature.kind, feature.categories) == ("ordered", ORDER)
    assert table.columns[0].tolist() == pytest.approx([2.0, 0.0, np.nan, 0.0], nan_ok=True)


def test_some_of_its_rows_have_the_same_order() -> None:
    taken = frame("high", "low", None, "low").subset(np.array([True, False, True, False]))
    assert taken.n_rows == 2
    assert Table.from_arrays(taken, ["a", "b"]).schema.features[0].categories == ORDER


def test_it_is_read_on_a_schema_by_its_words() -> None:
    schema = Table.from_arrays(frame("high", "low"), ["a", "b"]).schema
    plain = Frame(("grade",), [np.array(["middle", "high"], object)], 2)
    for rows in (frame("middle", "high"), plain):
        assert Table.from_arrays(rows, ["a", "b"], schema=schema).columns[0].tolist() == [1.0, 2.0]
