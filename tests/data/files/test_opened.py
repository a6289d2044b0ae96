"""Data is opened once: its columns are named first, and then read."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from holdfast.data.read import ColumnChoices, open_source
from holdfast.data.read_options import ReadingOptions


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
