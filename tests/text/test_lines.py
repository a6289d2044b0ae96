"""Text that fits, and labels that read as one."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast._text import (
    CUT,
    NO_BREAK,
    item_text,
    label_text,
    printable,
    protect_spaces,
    shorten,
    wrap_lines,
)


@given(st.text(), st.integers(4, 30))
def test_a_shortened_text_keeps_both_its_ends(text: str, width: int) -> None:
    short = shorten(text, width)
    assert len(short) <= width
    if len(text) <= width:
        assert short == text
    else:
        start, _, end = short.partition(CUT) if CUT not in text else (short[:1], "", "")
        assert text.startswith(start)
        assert text.endswith(end)


@given(st.text())
def test_what_is_printed_is_visible_and_in_one_line(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)


def test_spaces_inside_a_category_do_not_break_a_line() -> None:
    assert protect_spaces("in {a b, 'c, d'}") == f"in {{a{NO_BREAK}b, 'c,{NO_BREAK}d'}}"
    assert wrap_lines(protect_spaces("x in {very long name, other}"), 20, "IF ", "   ") == [
        "IF x in",
        "   {very long name,",
        "   other}",
    ]


def test_labels_read_as_people_write_them() -> None:
    assert [label_text(label) for label in (1.0, 1, 1.5, "a\nb", True, 1e300)] == [
        "1",
        "1",
        "1.5",
        "a\\nb",
        "True",
        "1e+300",
    ]
    assert [item_text(label) for label in ("a", "a, b", "{a}", "", " a")] == [
        "a",
        "'a, b'",
        "'{a}'",
        "''",
        "' a'",
    ]
