"""Rows found by whole arrays are those that Python's csv module reads, and what is odd is left to it."""

import csv
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data import read_csv as csv_text
from holdfast.data.read_csv import find_end_of_rows, find_first_equal, pack_words, parse_block
from holdfast.errors import DataError
from reference.reading import read_file

CELLS = [
    *(
        "",
        "1",
        "-2.5",
        "+.5",
        " 7 ",
        "01234",
        "NA",
        "None",
        "?",
        "inf",
        "1e400",
        "9007199254740993",
        "9" * 20,
    ),
    *("x", "é", "目" * 30, "٣", "a" * 200, " ", "\u00a05", "2020-01-31", "1,5", "\ufeff"),
    *('"q"', '"a,b"', '"a\nb"', '"a""b"', '""', '"""a"""', '"a\r\nb"', 'a"b', '"a"b', '"open', "\r", "\0"),
]
ORDINARY = st.sampled_from(["1", "2", "30", "", "yes", "no", '"a,b"', '"a\nb"', "é"])


def cells_by_csv(text: str) -> list[list[str]]:
    """The rows that the csv module reads."""
    return [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]


def cells_by_arrays(text: str, n_columns: int) -> list[list[str]] | None:
    block = parse_block(text, ",", n_columns, 1)
    if block is None:
        return None
    columns = []
    for index in range(n_columns):
        cells, which = block.column(index)
        columns.append(cells if which is None else [cells[place] for place in which])
    return [list(row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize(
    "text",
    [
        "1,2\n3,4\n",
        "1,2\r\n3,4",
        "\n1,2\n\n\r\n3,\n",
        '"a,b","c""d"\n"",x\n',
        '"a\nb",2\r\n"""",é\n',
        f"{'long ' * 40},1\n{'long ' * 40},2\n",
    ],
)
def test_ordinary_rows_are_found_by_arrays(text: str) -> None:
    assert cells_by_arrays(text, 2) == cells_by_csv(text)


@pytest.mark.parametrize(
    "text", ["1\n", "1,2,3\n", 'a"b,1\n', '"a"b,1\n', '"a,1\n', "1\r2,3\n", "1,\0\n", " ,1\n 2\n", ""]
)
def test_odd_rows_are_left_alone(text: str) -> None:
    assert parse_block(text, ",", 2, 1) is None


def test_a_row_is_known_by_the_line_on_which_it_begins() -> None:
    block = parse_block('1,"a\nb"\n\n2,c\r\n', ",", 2, 10)
    assert block is not None
    assert (block.lines.tolist(), block.n_lines) == ([10, 13], 4)


@pytest.mark.parametrize(("text", "end"), [("1,2\n3,", 4), ('1,2\n3,"a\nb', 4), ("1,2", 0), ('"a\n""\nb', 0)])
def test_a_block_ends_where_a_row_does(text: str, end: int) -> None:
    assert find_end_of_rows(text) == end


@given(st.lists(st.text(alphabet="abé", max_size=20), min_size=1, max_size=60))
def test_like_cells_are_found(cells: list[str]) -> None:
    ends = np.cumsum([len(cell.encode()) for cell in cells])
    words = pack_words("".join(cells).encode() + bytes(200), np.append(0, ends[:-1]), ends)
    assert find_first_equal(words).tolist() == [cells.index(cell) for cell in cells]


def outcome(path: Path) -> Any:
    """All that comes of reading the file: columns to the last bit, lines, warnings and errors."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            frame = read_file(path)
        except DataError as error:
            return str(error)
    columns = [repr(c.tolist()) if c.dtype == object else c.tobytes() for c in frame.columns]
    assert frame.rows is not None
    return frame.names, columns, frame.rows.labels.tolist(), [str(each.message) for each in told]


@given(
    rows=st.lists(st.lists(ORDINARY | st.sampled_from(CELLS), min_size=2, max_size=2), max_size=12),
    ordinary=st.lists(st.lists(ORDINARY, min_size=2, max_size=2), max_size=12),
    newline=st.sampled_from(["\n", "\r\n"]),
    letters=st.sampled_from([7, 30, 2**21]),
)
def test_both_readers_say_the_same(
    rows: list[list[str]], ordinary: list[list[str]], newline: str, letters: int, tmp_path: Path
) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(newline.join(["a,b", *map(",".join, ordinary + rows), ""]).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_text, "LETTERS_AT_ONCE", letters)
        by_arrays = outcome(path)
        patch.setattr(csv_text, "parse_block", lambda *_: None)
        assert outcome(path) == by_arrays
