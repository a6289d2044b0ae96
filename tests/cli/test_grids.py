from rich.console import Console

from holdfast.cli.console import show_grid

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
