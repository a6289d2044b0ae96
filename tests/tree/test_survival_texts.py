"""Texts of survival trees."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast import load, save
from holdfast.data.survival import name_survival
from holdfast.errors import ParameterError
from holdfast.estimators.survival import SurvivalTree


def made_rows(n_rows: int = 200) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = random.uniform(20.0, 80.0, (n_rows, 2))
    time = random.exponential(np.where(X[:, 0] > 50, 200.0, 900.0))
    return X, (np.minimum(time, 700.0).round(), time < 700)


@pytest.mark.parametrize(
    ("horizon", "unit", "name"),
    [
        (365.25, "day", "1-year survival"),
        (1826.0, "days", "5-year survival"),
        (1825.0, "days", "5-year survival"),
        (2500.0, "days", "2,500-day survival"),
        (104.0, "weeks", "2-year survival"),
        (18.0, "months", "18-month survival"),
        (5.0, "years", "5-year survival"),
        (0.5, "years", "0.5-year survival"),
        (12.0, "cycles", "survival to 12 cycles"),
        (2500.0, None, "survival to 2,500"),
    ],
)
def test_the_unit_of_times_is_kept_in_the_file_and_names_survival(
    horizon: float, unit: str | None, name: str, tmp_path: Path
) -> None:
    model = SurvivalTree(max_depth=1, horizon=horizon, time_unit=unit).fit(*made_rows())
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.time_unit == unit
    assert name_survival(again.tree_.schema.target.hazard) == name


def test_a_unit_that_is_no_word_is_refused() -> None:
    with pytest.raises(ParameterError, match="time_unit"):
        SurvivalTree(time_unit=365).fit(*made_rows())
