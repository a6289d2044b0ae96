"""Cells that are not quite what they should be: what is offered in the message, and what the options do."""

import datetime as dt
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from holdfast.data import parquet
from holdfast.data.frame import Frame
from holdfast.data.read import ColumnChoices
from holdfast.data.read_options import Numerals, ReadingOptions
from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning, ParameterError
from reference.reading import read_file

Written = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """A CSV file with this content."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / "data.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def column(frame: Frame, name: str) -> list[Any]:
    """The column as a list, None for NaN."""
    return [None if value != value else value for value in frame.column(name).tolist()]


def error_of(path: Path, **rules: Any) -> str:
    """What is said of the file, in one line."""
    with pytest.raises(DataError) as error:
        read_file(path, rules=ReadingOptions(**rules))
    assert "\n" not in str(error.value)
    return str(error.value).partition("': ")[2]


# -- words among numbers -------------------------------------------------------------------------------------


def numbers_and(*odd: str, n_numbers: int = 960) -> str:
    """A file with a column of numbers and these words, the first of them in line 14."""
    cells = [str(200 + number % 300) for number in range(n_numbers)]
    cells[12:12] = odd
    return "\n".join(["id;chol", *(f"{number};{cell}" for number, cell in enumerate(cells))]) + "\n"


def test_one_word_among_numbers_is_named_with_its_line(written: Written) -> None:
    assert error_of(written(numbers_and("hemolysed"))) == (
        "column 'chol' holds 960 numbers, but also 'hemolysed' at line 14: coerce=True reads such cells as "
        "missing, categorical='chol' all as categories; or correct them."
    )
    assert "'hemolysed' at line 14 and 2 more such cells" in error_of(
        written(numbers_and(*["hemolysed"] * 3))
    )


def test_a_rare_word_among_few_numbers_is_named_too(written: Written) -> None:
    text = "grade\n" + "1\n2\n3\n" * 40 + "three\n"
    assert "but also 'three' at line 122" in error_of(written(text))


def test_words_among_numbers_are_missing_on_request(written: Written) -> None:
    path = written(numbers_and("hemolysed", "lost"))
    with pytest.warns(
        DataWarning, match="2 cells that are not a number are read as missing, 'hemolysed', 'lost'"
    ):
        frame = read_file(path, rules=ReadingOptions(coerce=True))
    values = frame.column("chol")
    assert values.dtype == np.float64
    assert np.flatnonzero(np.isnan(values)).tolist() == [12, 13]
    assert read_file(path, categorical=["chol"]).column("chol")[12] == "hemolysed"


@pytest.mark.filterwarnings("error")
def test_postcodes_and_text_with_some_numbers_are_no_surprise(written: Written) -> None:
    frame = read_file(written("zip,size\n01234,8\n90210,S\n10001,M\n10002,10\n"))
    assert column(frame, "zip") == ["01234", "90210", "10001", "10002"]
    assert column(frame, "size") == ["8", "S", "M", "10"]


def test_numbers_are_demanded_where_a_model_knows_them(written: Written) -> None:
    path = written("age,y\n41,1\nold,1\nyoung,1\n")
    with pytest.raises(DataError, match="holds numbers in the model, and here 'old' at line 3"):
        read_file(path, choices=ColumnChoices(numeric=["age"]))


# -- numbers written in another way --------------------------------------------------------------------------


def test_other_ways_to_write_numbers_are_offered_and_read(written: Written) -> None:
    path = written("a;b;c\n1,5;x;0,1\n2,25;y;7\n")
    assert error_of(path) == (
        "columns 'a', 'c' hold numbers with a decimal comma, as '1,5' at line 2 of column 'a': decimal=',' "
        "reads them as numbers, categorical=['a', 'c'] as text."
    )
    frame = read_file(path, rules=ReadingOptions(numerals=Numerals(",")))
    assert (column(frame, "a"), column(frame, "c")) == ([1.5, 2.25], [0.1, 7.0])


def test_a_comma_that_may_mean_two_things_is_asked_about(written: Written) -> None:
    path = written('a,b\n"1,234",1.5\n"12",2.5\n')
    assert (
        "thousands=',' reads it as 1234, decimal=',' reads it as 1.234, categorical='a' as text"
        in error_of(path)
    )
    assert column(read_file(path, rules=ReadingOptions(numerals=Numerals(".", ","))), "a") == [1234.0, 12.0]


def test_points_between_thousands_need_a_decimal_comma(written: Written) -> None:
    path = written("a;b\n1.234,5;1\n7,5;2\n")
    assert "decimal=',' and thousands='.' reads them as numbers" in error_of(path)
    assert "with points between thousands" in error_of(path, numerals=Numerals(","))
    path = written("a;b\n1.5;1\n7.5;2\n")
    assert "numbers with a decimal point, as '1.5' at line 2" in error_of(path, numerals=Numerals(","))


def test_all_that_is_wrong_is_told_at_once(written: Written) -> None:
    text = error_of(written('a;b;c\n1,5;2011-01-31;"1 234"\n2,5;2011-02-01;"5"\n'))
    assert text.count(" Also, ") == 2
    for option in ("decimal=','", "date='b' ", "thousands=' '"):
        assert option in text


@pytest.mark.parametrize("cells", [["9007199254740992", "9007199254740993"], ["12345678901234567890"] * 2])
def test_long_numbers_that_run_together_are_told_of(cells: list[str], written: Written) -> None:
    path = written("\n".join(["insurance", *cells, ""]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_file(path)
        read_file(path, categorical=["insurance"])
    assert len(caught) == len(set(cells)) - 1
    assert all("column 'insurance' has integers beyond 2**53" in str(each.message) for each in caught)


# -- dates ---------------------------------------------------------------------------------------------------


def test_dates_become_numbers(written: Written) -> None:
    path = written("seen,left\n02.01.2000,2000-01-01 12:00\n,2001-01-01\n")
    frame = read_file(path, rules=ReadingOptions(dates=("seen", "left:parts")))
    assert frame.names == ("seen (days since 2000-01-01)", "left (year)", "left (month)", "left (weekday)")
    assert [column(frame, name) for name in frame.names] == [[1.0, None], [2000, 2001], [1, 1], [6, 1]]


def test_a_day_that_could_be_a_month_is_asked_about(written: Written) -> None:
    path = written("seen,y\n03/04/2020,1\n05/06/2020,1\n")
    assert "use date='seen:dmy' or date='seen:mdy'" in error_of(path, dates=("seen",))
    assert "use date='seen:parts:dmy' or" in error_of(path, dates=("seen:parts",))
    frame = read_file(path, rules=ReadingOptions(dates=("seen:parts:mdy",)))
    assert column(frame, "seen (month)") == [3, 5]


def test_what_is_no_date_is_named_or_missing_on_request(written: Written) -> None:
    path = written("seen,y\n31.01.2020,1\nlast week,1\n")
    assert "'last week' (line 3) is not one" in error_of(path, dates=("seen",))
    with pytest.warns(
        DataWarning, match="1 cell that is not a date is read as missing, 'last week', first at line 3"
    ):
        frame = read_file(path, rules=ReadingOptions(dates=("seen",), coerce=True))
    assert column(frame, frame.names[0]) == [7335.0, None]


def test_words_do_not_keep_days_from_being_told_from_months(written: Written) -> None:
    path = written("seen,y\n01/31/2020,1\nlast week,1\n")
    with pytest.warns(DataWarning, match="last week"):
        frame = read_file(path, rules=ReadingOptions(dates=("seen",), coerce=True))
    assert column(frame, frame.names[0]) == [7335.0, None]
    path = written("seen,y\n01/02/2020,1\nlast week,1\n")
    assert "use date='seen:dmy'" in error_of(path, dates=("seen",), coerce=True)


def test_a_date_that_is_not_there_or_whose_name_is_taken_raises_an_error(written: Written) -> None:
    assert "date names 'seen'" in error_of(written("when\n2020-01-01\n"), dates=("seen",))
    for text in ("when (year),when\n1,2020-01-01\n", "when,when (year)\n2020-01-01,1\n"):
        assert "two columns 'when (year)'" in error_of(written(text), dates=("when:parts",))


def test_one_column_of_dates_can_be_read_both_ways(written: Written) -> None:
    frame = read_file(written("seen\n2000-01-02\n"), rules=ReadingOptions(dates=("seen", "seen:parts")))
    assert len(frame.names) == 4


def test_long_digits_in_text_do_not_run_together(written: Written) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = read_file(written("code\n9007199254740992\n9007199254740993\n01\n"))
    assert len(set(column(frame, "code"))) == 3


def test_decimal_commas_are_not_coerced(written: Written) -> None:
    path = written("dose;y\n1,5;1\n2,5;1\n")
    for choices in (ColumnChoices(), ColumnChoices(numeric=["dose"])):
        with pytest.raises(DataError, match="decimal=','"):
            read_file(path, choices=choices, rules=ReadingOptions(coerce=True))


# -- encodings and headers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_files_that_say_their_encoding_need_no_option(encoding: str, written: Written) -> None:
    assert column(read_file(written("größe;y\n7;é\n".encode(encoding))), "y") == ["é"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-16-be", "utf-16", "utf-8"])
def test_other_encodings_are_read_on_request(encoding: str, written: Written) -> None:
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    path = written(f"{mark}größe;y\n7;é\n".encode(encoding))
    assert column(read_file(path, rules=ReadingOptions(encoding=encoding)), "größe") == [7.0]


def test_an_encoding_that_is_wrong_or_unknown_raises_an_error(written: Written) -> None:
    path = written("größe\n7\n".encode("latin-1"))
    assert "it is not ascii: leave out encoding='ascii'" in error_of(path, encoding="ascii")
    for name in ("utf-9", "base64", "rot13"):
        with pytest.raises(ParameterError, match=f"encoding='{name}' is unknown"):
            ReadingOptions(encoding=name)


def test_columns_without_a_name_get_one_unless_they_are_empty(written: Written) -> None:
    with pytest.warns(DataWarning, match="it is called 'column 1'") as caught:
        frame = read_file(written(b",age, ,\na,2,,\nb,3,,\n"))
    assert frame.names == ("column 1", "age")
    assert len(caught) == 1


# -- what is missing, and what only tells rows apart ---------------------------------------------------------


def test_none_in_text_is_told_of(written: Written) -> None:
    with pytest.warns(DataWarning, match="column 'test': the word 'none', in 2 rows, is read as missing"):
        frame = read_file(written("test\nnone\nurine\nnone\n"))
    assert column(frame, "test") == [None, "urine", None]


def test_identifiers_are_left_out_on_request_with_a_sentence(written: Written) -> None:
    path = written("id,name,age\n" + "".join(f"{n},Ms {n},{n}\n" for n in range(40)))
    assert read_file(path).names == ("id", "name", "age")
    with pytest.warns(DataWarning, match="left out, since .* keep_ids=True keeps such columns") as caught:
        frame = read_file(path, rules=ReadingOptions(keep_ids=False))
    assert frame.names == ("age",)
    assert [str(each.message).split(" is ")[0] for each in caught] == ["column 'id'", "column 'name'"]
    choices = ColumnChoices(categorical=["name"], roles=["id"])
    assert read_file(path, choices=choices, rules=ReadingOptions(keep_ids=False)).names == (
        "id",
        "name",
        "age",
    )


# -- the same in Parquet -------------------------------------------------------------------------------------


@pytest.fixture(params=["pyarrow", "polars", "pandas"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The only library for Parquet that is installed, it seems."""
    monkeypatch.setattr(parquet, "LIBRARIES", (request.param,))
    return str(request.param)


@pytest.mark.usefixtures("library")
def test_markers_and_dates_hold_in_parquet_too(tmp_path: Path) -> None:
    columns = {
        "ward": ["A", "?", None, "n/a"],
        "dose": [1.5, -999.0, 2.5, None],
        "seen": [dt.date(2000, 1, 2), None, dt.date(1999, 12, 31), dt.date(2000, 1, 1)],
        "left": ["2000-01-03", "NA", "2000-01-01", None],
    }
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    rules = ReadingOptions(missing=("-999",), dates=("seen", "left:parts"))
    frame = read_file(tmp_path / "data.parquet", rules=rules)
    table = Table.from_arrays(frame.without(["left (month)", "left (weekday)"]), [0, 1, 0, 1])
    assert table.schema.features[0].categories == ("A",)
    rows = [[None if value != value else value for value in values.tolist()] for values in table.columns]
    assert rows == [[0, None, None, None], [1.5, None, 2.5, None], [1, None, -1, 0], [2000, None, 2000, None]]


@pytest.mark.usefixtures("library")
def test_identifiers_in_parquet_are_left_out_too(tmp_path: Path) -> None:
    names = [f"Ms {number}" for number in range(40)]
    columns = {"id": list(range(40)), "name": names, "age": [number % 7 for number in range(40)]}
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    with pytest.warns(DataWarning, match="keep_ids=True"):
        frame = read_file(tmp_path / "data.parquet", rules=ReadingOptions(keep_ids=False))
    assert frame.names == ("age",)


def test_rows_of_parquet_are_called_by_their_positions(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"seen": ["31.01.2020", "last week"], "y": [1, 2]}), path)
    assert "'last week' (row 1) is not one" in error_of(path, dates=("seen",))
    with pytest.warns(DataWarning, match="'last week', first at row 1"):
        read_file(path, rules=ReadingOptions(dates=("seen",), coerce=True))
