"""Directions in runs: from the terminal's text or from Python to the model."""

import numpy as np
import pandas as pd
import pytest

from holdfast import fit_run
from holdfast.errors import ParameterError
from holdfast.tree.monotone import count_violations


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 90, 150), "dose": rng.normal(size=150).round(1)})
    risk = np.sin(frame.age / 8) + frame.age / 60 + frame.dose + rng.normal(size=150)
    return frame.assign(outcome=np.where(risk > 1, "died", "lived"))


@pytest.mark.parametrize("model", ["tree", "forest", "boosting"])
def test_the_model_of_a_run_keeps_to_its_directions(frame, model):
    few = {} if model == "tree" else {"n_estimators": 3}
    run = fit_run(
        frame, target="outcome", model=model, monotonic_cst={"age": 1}, monotonic_class="died", **few
    )
    trees = [run.model] if model == "tree" else list(run.model)
    assert all(tree.monotone is not None and count_violations(tree) == 0 for tree in trees)


def test_an_unknown_column_is_named(frame):
    with pytest.raises(ParameterError, match="'height', which is no column"):
        fit_run(frame, target="outcome", model="tree", monotonic_cst={"height": 1})
