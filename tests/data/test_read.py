"""Read files: numbers, missing values, dates, identifiers, and errors with their line."""

import datetime as dt
import gzip
import io
import pickle
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from holdfast.data import parquet
from holdfast.data import read_csv as csv_text
from holdfast.data.frame import Frame
from holdfast.data.read import ColumnChoices, explain_identifier, open_source
from holdfast.data.read_options import Numerals, ReadingOptions
from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning, ParameterError
from reference.reading import read_file

SHARED = Path(__file__).parents[3] / "shared" / "data"
DATES = {"bike_sharing_hourly.csv.gz": ["dteday"], "elec2.csv.gz": ["date"]}

Written = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """A file with this content."""

    def write(content: str | bytes, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def column(frame: Frame, name: str) -> list[Any]:
    """The column as a list, None for NaN."""
    values = frame.column(name)
    assert values.dtype in (np.float64, object)
    return [None if value != value else value for value in values.tolist()]


# -- numbers and gaps ----------------------------------------------------------------------------------------


def test_columns_are_numbers_or_text(written: Written) -> None:
    frame = read_file(written("age,ward,bmi\n41,icu,22.5\n,er,\n63,,27.25\n"))
    assert frame.names == ("age", "ward", "bmi")
    assert frame.n_rows == 3
    assert column(frame, "age") == [41.0, None, 63.0]
    assert column(frame, "ward") == ["icu", "er", None]
    assert column(frame, "bmi") == [22.5, None, 27.25]
    assert frame.column("age").dtype == np.float64


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("-3", -3.0),
        ("+.5", 0.5),
        ("7.", 7.0),
        (" 1e-3 ", 0.001),
        ("0", 0.0),
        ("-0.25E+2", -25.0),
        ("0e5", 0.0),
    ],
)
def test_a_number_is_written_with_digits_a_sign_a_point_and_an_exponent(
    cell: str, number: float, written: Written
) -> None:
    assert column(read_file(written(f"x,y\n{cell},1\n5,1\n")), "x") == [number, 5.0]


@pytest.mark.parametrize("cell", ["01234", "00", "-01", "1_000", "0x1F", "5 %", "1e", "٣", "1 2"])
def test_one_cell_that_is_no_number_makes_the_column_text(cell: str, written: Written) -> None:
    assert column(read_file(written(f'x;y\n"{cell}";1\n 5;1\n')), "x") == [cell, " 5"]


GAPS = ["", "  ", "NA", "na", "N/A", "n/a", "#N/A", "#n/a", "NaN", "nan", "null", "NULL", "None", "?", " . "]


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("cell", ["1.5", "high", "01234"])
@pytest.mark.filterwarnings("ignore:.*'None'.*is read as missing:holdfast.errors.DataWarning")
def test_the_same_marks_are_missing_among_numbers_and_in_text(cell: str, gap: str, written: Written) -> None:
    known = 1.5 if cell == "1.5" else cell
    path = written(f"x,y\n{cell},1\n{gap},1\n")
    assert column(read_file(path), "x") == [known, None]
    assert column(read_file(path, categorical=["x"]), "x") == [cell, None]


@pytest.mark.parametrize("word", ["-", "unknown", "nil", "..", "N.A."])
def test_other_words_are_missing_on_request(word: str, written: Written) -> None:
    path = written(f"x,y,z\nhigh,1,3.5\n{word},1,{word.upper()}\n")
    assert column(read_file(path), "x") == ["high", word]
    frame = read_file(path, rules=ReadingOptions(missing=(word,)))
    assert (column(frame, "x"), column(frame, "z")) == (["high", None], [3.5, None])


def test_a_number_can_stand_for_missing_ones(written: Written) -> None:
    frame = read_file(written("x,y\n-999,-999\n4,a\n"), rules=ReadingOptions(missing=("-999",)))
    assert (column(frame, "x"), column(frame, "y")) == ([None, 4.0], [None, "a"])


def test_a_column_of_gaps_is_numeric_and_a_category_that_is_known_is_no_gap(written: Written) -> None:
    # The test was done on nobody in this batch; the model knows "None" as a category.
    path = written("test,empty,y\nNone,NA,1\nNone,,1\n")
    assert column(read_file(path), "test") == [None, None]
    assert read_file(path).column("empty").dtype == np.float64
    choices = ColumnChoices(categorical=["test"], known={"test": ("None", "some")})
    assert column(read_file(path, choices=choices), "test") == ["None", "None"]


def test_named_columns_stay_text_as_it_is_written(written: Written) -> None:
    path = written("zip,code,when,y\n1234,7.50,2011-01-31, 1\n,NA,2011-02-01,inf\n")
    frame = read_file(path, categorical=["zip", "code", "when", "y"])
    assert [column(frame, name) for name in frame.names] == [
        ["1234", None],
        ["7.50", None],
        ["2011-01-31", "2011-02-01"],
        [" 1", "inf"],
    ]


@pytest.mark.parametrize("cell", ["inf", "-inf", "Infinity", "+INF", "1e999"])
def test_infinity_among_numbers_raises_an_error_with_its_line(cell: str, written: Written) -> None:
    path = written(f'note,dose\n"two\nlines",1.5\nplain,{cell}\n')
    with pytest.raises(DataError, match=r"column 'dose' contains infinity, first at line 4 \("):
        read_file(path)


def test_infinity_among_words_is_a_word(written: Written) -> None:
    assert column(read_file(written("wall,y\ninf,1\nant,1\n")), "wall") == ["inf", "ant"]


@pytest.mark.parametrize(
    "cell",
    [
        "2011-01-31",
        "2011-01-31 13:05",
        "2011-01-31T13:05:59.25",
        "2011-01-31T13:05:59+01:00",
        "31.01.2011",
        "1/31/2011",
        "2011/1/31",
    ],
)
def test_a_date_raises_an_error_unless_it_is_left_out_or_named_as_text(cell: str, written: Written) -> None:
    path = written(f"admit_date,y\n{cell},1\n?,2\n")
    with pytest.raises(DataError) as error:
        read_file(path)
    assert str(error.value) == (
        f"Cannot read '{path}': column 'admit_date' holds dates, as {cell!r} at line 2: date='admit_date' "
        "reads them as days since 2000-01-01, date='admit_date:parts' as year, month and weekday, "
        "categorical='admit_date' as text, and drop='admit_date' leaves them out."
    )
    assert read_file(path, drop=["admit_date"]).names == ("y",)
    assert column(read_file(path, categorical=["admit_date"]), "admit_date") == [cell, None]


@pytest.mark.parametrize("cell", ["2011-13-31", "2011-01", "31.02.2011", "31.01.11", "2011-01-31 or so"])
def test_what_is_almost_a_date_is_text(cell: str, written: Written) -> None:
    assert column(read_file(written(f"when,y\n{cell},1\n")), "when") == [cell]


def test_dropped_columns_are_not_looked_at(written: Written) -> None:
    frame = read_file(written("id,x,when\ninf,1,2011-01-31\n5,2,2011-01-31\n"), drop=["when", "id"])
    assert frame.names == ("x",)
    assert column(frame, "x") == [1.0, 2.0]


# -- the form of the file ------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_separators_and_line_ends_are_recognised(separator: str, line_end: str, written: Written) -> None:
    rows = (("age", "name, first"), ("41", "Ada, Countess"), ("63", 'the "Doc"'))
    text = line_end.join(separator.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)
    frame = read_file(written(text))
    assert column(frame, "age") == [41.0, 63.0]
    assert column(frame, "name, first") == ["Ada, Countess", 'the "Doc"']


def test_a_comma_in_a_name_does_not_outvote_the_separator(written: Written) -> None:
    assert read_file(written("weight, kg;age\n1;2\n")).names == ("weight, kg", "age")


def test_one_column_needs_no_separator(written: Written) -> None:
    assert column(read_file(written('age\n41\n""\n\n63')), "age") == [41.0, None, 63.0]


def test_a_byte_order_mark_and_empty_lines_are_skipped(written: Written) -> None:
    frame = read_file(written(b"\xef\xbb\xbf\r\nage,x\r\n\r\n41,1\r\n\r\n"))
    assert frame.names == ("age", "x")
    assert column(frame, "age") == [41.0]


@pytest.mark.parametrize("name", ["data.csv.gz", "DATA.TSV.GZ", "data.txt.gz"])
def test_compressed_files_are_unpacked(name: str, written: Written) -> None:
    frame = read_file(written(gzip.compress("age,größe\n41,1.7\n".encode()), name))
    assert column(frame, "größe") == [1.7]


def test_rows_keep_their_order_however_many_are_read_at_once(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [str(number * 7 % 11) for number in range(50)]
    path = written("x,y\n" + "".join(f"{cell},w{cell}\n" for cell in cells))
    for rows in (1, 3, 50, 1000):
        monkeypatch.setattr(csv_text, "ROWS_AT_ONCE", rows)
        frame = read_file(path)
        assert column(frame, "x") == [float(cell) for cell in cells]
        assert column(frame, "y") == [f"w{cell}" for cell in cells]


def test_a_table_is_made_of_what_was_read(written: Written) -> None:
    frame = read_file(written("zip,age,outcome\n01234,41,lived\n99999,63,died\n01234,,died\n"))
    table = Table.from_frame(frame, target="outcome")
    assert [feature.kind for feature in table.schema.features] == ["nominal", "numeric"]
    assert table.schema.features[0].categories == ("01234", "99999")
    assert table.schema.target.classes == ("died", "lived")


# -- what raises an error ------------------------------------------------------------------------------------


def zipped() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("data.csv", "a,b\n1,2\n")
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"\xef\xbb\xbf\n \n", "it is empty"),
        (b"age,sex\n", "it has column names but no rows"),
        (b"age,sex\n41,f\n63\n", "line 3 has 1 cell and the header has 2, separated by ','"),
        (b'age,sex\n41,"f\n\nm"\n63,f,5\n', "line 5 has 3 cells and the header has 2"),
        (b"age,age,sex,sex\n1,2,3,4\n", "several columns have the same name: 'age', 'sex'"),
        (b'age,sex\n41,f\n63,"m\n50,f\n', "the row that begins at line 3 is not valid CSV"),
        (b'age,sex\n41,"f"m\n', "the row that begins at line 2 is not valid CSV"),
        (
            "age,größe\n1,2\n".encode("latin-1"),
            r"it is not UTF-8 at line 1 \(byte 0xf6\). With encoding='latin-1' the place reads 'größe'",
        ),
        (b"age,x\n" + b"41,a\n" * 9000 + b"1,\xe9\n", r"it is not UTF-8 at line 9002 \(byte 0xe9\)"),
        ("age,x\n1,“a”\n".encode("cp1252"), "With encoding='cp1252' the place reads '“a”'"),
        (
            "age,x\n1,2\n".encode("utf-16-le"),
            "NUL byte at line 1. If it is UTF-16, read it with encoding='utf-16-le'",
        ),
        (
            "age,x\n1,2\n".encode("utf-16-be"),
            "NUL byte at line 1. If it is UTF-16, read it with encoding='utf-16-be'",
        ),
        (b"age,x\n1,2\n1,\x00\n", "it is not text: there is a NUL byte at line 3"),
        (zipped(), "it is a zip archive or a spreadsheet"),
        (pickle.dumps({"a": 1}), "it looks like a pickle"),
        (b"PAR1\x15\x04", r"it is a Parquet file: let its name end in \.parquet"),
        (gzip.compress(b"a,b\n1,2\n"), r"it is compressed with gzip: let its name end in \.gz"),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "the row that begins at line 2 is not valid CSV"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else value[:40],
)
def test_what_is_no_table_raises_an_error_in_one_line(content: bytes, message: str, written: Written) -> None:
    with pytest.raises(DataError, match=rf"^Cannot read '.*data\.csv': .*{message}") as error:
        read_file(written(content))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"age,x\n1,2\n", b"\x1f\x8b" + b"?" * 40], ids=["plain text", "noise"])
def test_what_is_no_gzip_file_raises_an_error(content: bytes, written: Written) -> None:
    with pytest.raises(DataError, match="it is not a valid gzip file"):
        read_file(written(content, "data.csv.gz"))


def test_a_cut_off_gzip_file_raises_an_error(written: Written) -> None:
    rows = "".join(f"{number},{number * number}\n" for number in range(5000))
    with pytest.raises(DataError, match="it is not a valid gzip file"):
        read_file(written(gzip.compress(b"x,y\n" + rows.encode())[:-2000], "data.csv.gz"))


@pytest.mark.parametrize("option", ["categorical", "drop"])
@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
def test_an_option_that_names_no_column_raises_an_error(option: str, name: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [1.0], "sex": ["f"]})
    frame.to_parquet(tmp_path / name) if "parquet" in name else frame.to_csv(tmp_path / name, index=False)
    with pytest.raises(DataError, match=f"{option} names 'zip', .*The columns are 'age', 'sex'"):
        read_file(tmp_path / name, **{option: ["age", "zip"]})
    with pytest.raises(DataError, match="drop names all 2 columns"):
        read_file(tmp_path / name, drop=["sex", "age"])


def test_a_name_that_does_not_say_what_the_file_is_raises_an_error(written: Written) -> None:
    with pytest.raises(DataError, match=r"must end in \.csv, \.tsv, \.txt, or one .*\.parquet, \.pq"):
        read_file(written("a,b\n1,2\n", "data.xlsx"))


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz", "data.parquet"])
def test_a_missing_file_is_a_missing_file_and_a_folder_raises_an_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        read_file(tmp_path / name)
    assert str(error.value.filename) == str(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(DataError, match="is a folder"):
        read_file(tmp_path / name)


# -- Parquet -------------------------------------------------------------------------------------------------

GRADES = ["mild", "grave", "fatal"]  # the sorted order would prove nothing


@pytest.fixture(params=["pyarrow", "polars", "pandas"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The only library for Parquet that is installed, it seems."""
    monkeypatch.setattr(parquet, "LIBRARIES", (request.param,))
    return str(request.param)


def test_parquet_keeps_its_types(library: str, tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"age": [41, None], "zip": ["01234", None], "ill": [True, False], "dose": [0.5, None]}),
        tmp_path / "data.pq",
    )
    frame = read_file(tmp_path / "data.pq", drop=["dose"])
    table = Table.from_frame(frame, target="ill")
    assert [(feature.name, feature.kind) for feature in table.schema.features] == [
        ("age", "numeric"),
        ("zip", "nominal"),
    ]
    assert table.schema.target.classes == (False, True)


def test_numbers_in_parquet_become_text_on_request(library: str, tmp_path: Path) -> None:
    columns = {"zip": [1234, None, 5], "share": [0.5, None, 3.0], "y": [1, 2, 3]}
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    frame = read_file(tmp_path / "data.parquet", categorical=["zip", "share"])
    assert column(frame, "zip") == ["1234", None, "5"]
    assert column(frame, "share") == ["0.5", None, "3"]


def test_an_order_written_by_polars_is_kept(library: str, tmp_path: Path) -> None:
    grade = pl.Series(["fatal", "mild", None], dtype=pl.Enum(GRADES))
    pl.DataFrame({"grade": grade, "y": [1, 2, 3]}).write_parquet(tmp_path / "data.parquet")
    feature = Table.from_frame(read_file(tmp_path / "data.parquet"), target="y").schema.features[0]
    assert (feature.kind, feature.categories) == ("ordered", tuple(GRADES))


def test_an_order_written_by_pandas_is_kept_or_its_loss_is_told(library: str, tmp_path: Path) -> None:
    grade = pd.Categorical(["fatal", "mild", None], categories=GRADES, ordered=True)
    pd.DataFrame({"grade": grade, "y": [1, 2, 3]}).to_parquet(tmp_path / "data.parquet")
    if library == "polars":
        with pytest.warns(DataWarning, match="order of the categories in 'grade'.*Install pyarrow"):
            read_file(tmp_path / "data.parquet")
        return
    feature = Table.from_frame(read_file(tmp_path / "data.parquet"), target="y").schema.features[0]
    assert (feature.kind, feature.categories) == ("ordered", tuple(GRADES))


def test_dates_and_lists_in_parquet_raise_an_error(library: str, tmp_path: Path) -> None:
    when = pd.to_datetime(["2011-01-31", None])
    pq.write_table(pa.table({"when": when, "codes": [[1], [2, 3]], "y": [1, 2]}), tmp_path / "data.parquet")
    with pytest.raises(DataError, match=r"column 'when' holds dates, as '2011-01-31.* drop='when' leaves"):
        read_file(tmp_path / "data.parquet")
    if library != "pandas":  # to which lists are objects like any other
        with pytest.raises(DataError, match=r"column 'codes' holds values of the type .* drop='codes'"):
            read_file(tmp_path / "data.parquet", drop=["when"])
    frame = read_file(tmp_path / "data.parquet", drop=["codes"], categorical=["when"])
    assert column(frame, "when") == ["2011-01-31 00:00:00", None]


@pytest.mark.parametrize(
    "content", [b"", b"age,sex\n41,f\n", b"PAR1" + b"\0" * 50 + b"PAR1"], ids=["empty", "text", "noise"]
)
def test_a_broken_parquet_file_raises_an_error_in_one_line(
    content: bytes, library: str, written: Written
) -> None:
    with pytest.raises(DataError, match=r"Cannot read '.*': it is not a valid Parquet file") as error:
        read_file(written(content, "data.parquet"))
    assert "\n" not in str(error.value)


def test_parquet_without_a_library_names_the_extra(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r'pip install "holdfast-trees\[io\]".*CSV'):
        read_file(written(b"PAR1", "data.parquet"))


# -- against pandas ------------------------------------------------------------------------------------------


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not there")
@pytest.mark.parametrize(
    "path",
    [path for path in sorted(SHARED.glob("*.csv*")) if path.stat().st_size < 700_000] or [SHARED / "none"],
    ids=lambda path: path.name,
)
@pytest.mark.filterwarnings("ignore:column .* is read as missing:holdfast.errors.DataWarning")
def test_real_files_are_read_as_pandas_reads_them(path: Path) -> None:
    expected = pd.read_csv(path)
    frame = read_file(path, categorical=DATES.get(path.name, []))
    assert list(frame.names) == list(expected.columns)
    for name in frame.names:
        values = expected[name]
        if pd.api.types.is_numeric_dtype(values) and values.dtype != bool:
            np.testing.assert_array_equal(frame.column(name), values.to_numpy(np.float64))
        else:
            texts = [None if value != value else str(value) for value in values]
            # To pandas, "none" is no marker.
            assert column(frame, name) == [None if text == "none" else text for text in texts]


# -- odd cells -----------------------------------------------------------------------------------------------


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


# -- opened --------------------------------------------------------------------------------------------------


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are opened."""
    names: list[str] = []
    true_open = Path.open

    def counted_open(path: Path, *args: Any, **options: Any) -> Any:
        names.append(path.name)
        return true_open(path, *args, **options)

    monkeypatch.setattr(Path, "open", counted_open)
    return names


def test_a_csv_file_is_named_and_read_by_one_opening(tmp_path: Path, openings: list[str]) -> None:
    path = tmp_path / "patients.csv"
    path.write_text("age,ward\n41,a\n63,b\n")
    openings.clear()
    with open_source(path) as source:
        assert source.names == ("age", "ward")
        frame = source.read(ColumnChoices(drop=["ward"]), ReadingOptions())
    assert openings == ["patients.csv"]
    assert (frame.names, frame.column("age").tolist()) == (("age",), [41.0, 63.0])


def test_a_parquet_file_is_named_and_read_by_one_opening(tmp_path: Path, openings: list[str]) -> None:
    path = tmp_path / "patients.parquet"
    pd.DataFrame({"age": [41.0, 63.0], "ward": ["a", "b"]}).to_parquet(path)
    openings.clear()
    with open_source(path) as source:
        assert source.names == ("age", "ward")
        assert list(source.read(ColumnChoices(), ReadingOptions()).column("ward")) == ["a", "b"]
    assert openings == ["patients.parquet"]


def test_a_frame_is_read_like_a_file() -> None:
    with open_source(pd.DataFrame({"age": [41.0, np.nan]})) as source:
        assert source.is_typed
        np.testing.assert_array_equal(
            source.read(ColumnChoices(), ReadingOptions()).column("age"), [41.0, np.nan]
        )


# -- identifiers ---------------------------------------------------------------------------------------------


COUNT = np.arange(1.0, 41.0)


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "ID",
        "patient_id",
        "PassengerId",
        "patientID",
        "id_of_case",
        "case no",
        "Kunden-Nr",
        "Unnamed: 0",
    ],
)
def test_integers_are_known_by_their_name(name: str) -> None:
    assert explain_identifier(name, COUNT * 17, 40)


@pytest.mark.parametrize("name", ["age", "income", "number of beds", "width", "paid", "idle", "year", "x0"])
def test_other_integers_are_measurements_though_all_different(name: str) -> None:
    assert not explain_identifier(name, COUNT * 17, 40)


@pytest.mark.parametrize(
    "numbers", [COUNT + 0.5, COUNT // 2, np.append(COUNT[:-1], np.nan), COUNT[:10]],
    ids=["fractions", "repeated", "gaps", "few"],
)  # fmt: skip
def test_even_under_such_a_name_numbers_may_be_measurements(numbers: np.ndarray) -> None:
    known = numbers[~np.isnan(numbers)]
    assert not explain_identifier("id", numbers, len(np.unique(known)))


def test_long_numbers_are_identifiers_under_any_name() -> None:
    assert explain_identifier("account", COUNT + 1e16, 40)


def test_text_is_one_if_nearly_every_row_has_its_own() -> None:
    texts = np.array([f"Ms {number}" for number in range(40)] + [None] * 30, object)
    assert explain_identifier("name", texts, 40)
    texts[:5] = "Ms 7"
    assert not explain_identifier("name", texts, 35)


def test_columns_of_frames_are_read_too() -> None:
    for values in (range(40), [f"P{number}" for number in range(40)]):
        series = nw.from_native(pl.Series(list(values)), series_only=True)
        assert explain_identifier("id", series, 40)
