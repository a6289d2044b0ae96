"""Rows to learn from, of a file or a frame."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from cli.command_line import write_patients
from holdfast import DataError
from holdfast.data import read as reading
from holdfast.runs.dataset import read_rows
from holdfast.runs.settings import DataSettings

ROLES = DataSettings(target="outcome", stage="year", groups="patient", weight="weight")


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("data") / "patients.csv")


@pytest.mark.parametrize(("ending", "opens"), [("csv", "open_csv"), ("parquet", "read_parquet_columns")])
def test_a_file_is_opened_once(
    ending: str, opens: str, patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"patients.{ending}"
    frame = pandas.read_csv(patients, dtype={"zip": str})
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    calls, real = [], getattr(reading, opens)

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(reading, opens, counted)
    assert read_rows(path, ROLES).frame.n_rows == 120
    assert len(calls) == 1


def test_stages_groups_and_features_are_those_of_the_columns(patients: Path) -> None:
    frame = pandas.read_csv(patients, dtype={"zip": str})
    for data in (patients, frame):
        rows = read_rows(data, ROLES)
        assert rows.features.names == ("age", "ward", "zip", "lab")
        assert rows.stages == ("2019", "2020", "2021", "2022")
        assert rows.stage is not None
        assert (rows.stage + 2019 == frame["year"]).all()
        same = rows.groups[:, None] == rows.groups[None, :]  # type: ignore[index]
        names = frame["patient"].to_numpy()
        assert (same == (names[:, None] == names[None, :])).all()


def test_messages_name_the_file_or_the_frame(patients: Path) -> None:
    frame = pandas.read_csv(patients)
    with pytest.raises(DataError, match="No column of the frame is left"):
        read_rows(frame[["outcome"]], DataSettings(target="outcome"))
    missing = frame.assign(outcome=np.where(frame.index == 7, None, frame["outcome"]))
    with pytest.raises(DataError, match="missing in 1 of 120 rows of the frame, first at row 7"):
        read_rows(missing, DataSettings(target="outcome"))
    assert read_rows(missing, DataSettings(target="outcome", drop_missing_target=True)).frame.n_rows == 119
    with pytest.raises(DataError, match=f"There is no column 'x' in '{patients}' \\(drop\\)"):
        read_rows(patients, DataSettings(target="outcome", drop="x"))
