import pytest
from rich.console import Console

from holdfast.cli.figures import disappointment
from holdfast.cli.grids import show_grid
from holdfast.data.schema import Target
from holdfast.scoring.metric import Score, metric_of
from holdfast.text.numbers import with_errors

AUC = metric_of("auc", Target(classes=("no", "yes")))
LOSS = metric_of("log_loss", Target(classes=("no", "yes")))


@pytest.mark.parametrize("expected", [0.5, 0.5 + 1e-9, 0.50004])
def test_two_scores_that_print_alike_are_not_called_different(expected: float) -> None:
    """A tree of one leaf has the AUC 0.5 with the standard error 0."""
    assert disappointment(AUC, Score(0.5, 0.0), expected) == ""


def test_test_rows_that_give_clearly_less_are_to_be_believed() -> None:
    assert disappointment(AUC, Score(0.8, 0.01), 0.9) == (
        "The test rows give less than was expected: AUC 0.8 instead of 0.9. Believe the test rows."
    )
    assert "AUC 0.8111 instead of 0.8113" in disappointment(AUC, Score(0.8111, 0.00001), 0.8113)
    assert "log loss 0.5 instead of 0.3" in disappointment(LOSS, Score(-0.5, 0.01), -0.3)
    assert "give more than was expected" in disappointment(LOSS, Score(-0.5, 0.01), -0.3)


def test_what_chance_may_have_done_is_no_disappointment() -> None:
    assert disappointment(AUC, Score(0.8, 0.06), 0.9) == ""
    assert disappointment(AUC, Score(0.95, 0.0), 0.9) == ""
    assert disappointment(AUC, None, 0.9) == ""


def test_huge_numbers_take_no_more_room_than_others() -> None:
    assert with_errors([1006389294018.7, 2.6e12], [570408797467.8, 4.1e11]) == [
        "1.006e+12 ± 5.7e+11",
        "2.6e+12 ± 4.1e+11",
    ]
    assert with_errors([123456.78], [234.5]) == ["123457 ± 234"]


HEADINGS = ["candidate", "instability", "per rule", "score"]
ROWS = [["7 *", "6.63 ± 0.68", "0.730", "2.606e+12 ± 4.1e+11"]]


def printed(width: int, spare: list[str]) -> tuple[list[str], tuple[str, ...]]:
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        kept = show_grid(console, HEADINGS, ROWS, spare=spare)
    return capture.get().splitlines(), kept


def test_a_table_has_all_its_columns_where_there_is_room() -> None:
    lines, kept = printed(80, ["per rule"])
    assert kept == tuple(HEADINGS)
    assert lines == [
        "candidate  instability  per rule                score",
        "7 *        6.63 ± 0.68     0.730  2.606e+12 ± 4.1e+11",
    ]


def test_a_narrow_terminal_loses_whole_columns_and_never_letters() -> None:
    for width in range(10, 60):
        lines, kept = printed(width, ["per rule", "instability"])
        assert lines[0].split("  ")[0] == "candidate"
        assert "…" not in "".join(lines)
        assert all(heading in lines[0] for heading in kept)
        # What cannot be spared stays, however narrow the terminal.
        assert max(map(len, lines)) <= width or kept == ("candidate", "score")
