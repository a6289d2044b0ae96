"""Tables of text: every cell stands below its heading."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from holdfast._view import TextTable, format_columns, format_table

CELL = st.text("abc 12", min_size=1, max_size=6).map(str.strip)
ROWS = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=2, max_size=5)
)


@given(ROWS, st.integers(1, 3))
def test_every_column_is_as_wide_as_its_widest_cell(rows: list[list[str]], gap: int) -> None:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for line, row in zip(format_columns(rows, gap=gap), rows, strict=True):
        line, start = line.ljust(sum(widths) + gap * len(widths)), 0
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            part = line[start : start + width]
            assert part == (cell.rjust(width) if place else cell.ljust(width))
            start += width + gap
    assert not any(line.endswith(" ") for line in format_columns(rows, gap=gap))


def test_sides_and_least_widths_can_be_told() -> None:
    rows = [["a", "b", "c"], ["1", "2", "3"]]
    assert format_columns(rows, sides="><<", widths=(3, 2, 0)) == ["  a  b   c", "  1  2   3"]


def test_a_column_without_a_cell_is_left_out() -> None:
    assert format_table([["a", "b", "c"], ["1", "", "3"], ["4", "", ""]]) == "a  c\n1  3\n4"


def test_columns_that_can_be_spared_go_in_their_order_and_no_more_than_needed() -> None:
    table = TextTable(["name", "first", "second"], [["x", "1", "2"]])
    assert table.fit_width(19, ["second", "first"]) == table  # 4 + 2 + 5 + 2 + 6 letters
    assert table.fit_width(18, ["second", "first"]).headings == ["name", "first"]
    assert table.fit_width(3, ["second", "first"]).headings == ["name"]


class Cells(HTMLParser):
    """The texts of the cells of a table, with the tags that they stand in."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.tag = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tag = tag

    def handle_data(self, data: str) -> None:
        self.found.append((self.tag, data))


def test_cells_are_text_in_html_whatever_they_hold() -> None:
    text = TextTable(["<b>", "a"], [["&amp;", '"2"']]).to_html()
    assert Cells(text).found == [("th", "<b>"), ("th", "a"), ("td", "&amp;"), ("td", '"2"')]
    assert text.count("<tr>") == text.count("</tr>") == 2
