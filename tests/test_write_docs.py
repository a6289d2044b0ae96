"""Outputs of the documentation are brought up to date, and three dots stay where they were."""

from write_docs import updated

PRINTED = "8 rows\nage <= 40\n  yes: home\n  no: died\nscore 0.91\n"


def test_an_output_that_is_shown_stays_as_it_is() -> None:
    old = "8 rows\n...\nscore 0.91\n"
    assert updated(old, PRINTED) == old


def test_an_output_without_dots_becomes_what_was_printed() -> None:
    assert updated("7 rows\n", PRINTED) == PRINTED


def test_lines_between_dots_are_found_again_where_they_are_most_alike() -> None:
    assert updated("7 rows\n...\n  no: dead\nscore 0.9\n", PRINTED) == "8 rows\n...\n  no: died\nscore 0.91\n"
    assert updated("...\nage <= 45\n...\n", PRINTED) == "...\nage <= 40\n...\n"


def test_ranges_choose_lines() -> None:
    assert updated("@1-1 3-4\n", PRINTED) == "8 rows\n...\n  yes: home\n  no: died\n...\n"
