"""The bar changes no result."""

import pytest

from holdfast.backends.progress import with_bar


def test_the_results_come_through_the_bar_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(with_bar(iter([3, 1, 2]), "Counting", 3)) == [3, 1, 2]
    assert "Counting" in capsys.readouterr().out
