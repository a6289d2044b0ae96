"""How runs split columns with many categories."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from holdfast import ParameterError, fit_run
from holdfast.runs.update import load_deployed

pytestmark = pytest.mark.filterwarnings("ignore:categories that the model has not seen")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Whoever the doctor is, of whom there are 100, says nothing."""
    rng = np.random.default_rng(0)
    age = rng.integers(20, 90, 400)
    died = rng.random(400) < np.where(age > 60, 0.45, 0.2)
    doctor = [f"d{number}" for number in rng.integers(0, 100, 400)]
    return pd.DataFrame({"age": age, "doctor": doctor, "outcome": np.where(died, "died", "lived")})


@pytest.mark.parametrize("model", ["tree", "boosting"])
def test_the_doctor_is_asked_first_only_by_the_exact_search(frame: pd.DataFrame, model: str) -> None:
    few = {} if model == "tree" else {"n_estimators": 1}
    for categories, first in (("exact", "doctor"), ("shrunk", "age")):
        run = fit_run(frame, target="outcome", model=model, max_depth=1, categories=categories, **few)
        tree = run.model if model == "tree" else run.model[0]
        assert tree.schema.names[tree.feature[0]] == first


def test_an_update_goes_on_as_the_run_did(frame: pd.DataFrame, tmp_path: Path) -> None:
    small = {"method": "bootstrap", "n_estimators": 3, "max_depth": 1}
    run = fit_run(frame, target="outcome", categories="exact", **small)
    run.save(tmp_path / "run")
    assert load_deployed(tmp_path / "run").estimator.growth_rules.categories == "exact"


def test_another_word_is_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match="best"):
        fit_run(frame, target="outcome", model="tree", categories="best")
