"""How far long computations are."""

import pytest

from holdfast.parallel.progress import ProgressLines, show_progress


@pytest.fixture(autouse=True)
def ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.parallel.progress.INTERVAL", 10.0)


class Clock:
    """A clock that the test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def run(lines: ProgressLines, clock: Clock, text: str, n: int, seconds: float) -> list[int]:
    """Follow n results that take as many seconds each."""
    return list(lines.follow(_slow(clock, n, seconds), text, n))


def _slow(clock: Clock, n: int, seconds: float):  # type: ignore[no-untyped-def]
    for number in range(n):
        clock.now += seconds
        yield number


def test_a_bar_hands_on_all_results_in_their_order():
    assert list(show_progress(iter([3, 1, 2]), "Counting", 3)) == [3, 1, 2]


def test_long_work_says_every_ten_seconds_how_far_it_is(capsys: pytest.CaptureFixture[str]):
    clock = Clock()
    assert run(ProgressLines(clock), clock, "Trees", 25, 1.0) == list(range(25))
    told = capsys.readouterr()
    assert told.err.splitlines() == ["Trees: 10 of 25 (10 s)", "Trees: 20 of 25 (20 s)"]
    assert told.out == ""


def test_lists_that_follow_one_another_share_a_clock_and_short_work_says_nothing(
    capsys: pytest.CaptureFixture[str],
):
    clock = Clock()
    lines = ProgressLines(clock)
    run(lines, clock, "Trees", 9, 1.0)
    assert capsys.readouterr().err == ""
    run(lines, clock, "Distances", 2, 1.0)
    assert capsys.readouterr().err == "Distances: 1 of 2 (10 s)\n"
    clock.now += 300.0  # another fit, later
    run(lines, clock, "Trees", 9, 1.0)
    assert capsys.readouterr().err == ""
