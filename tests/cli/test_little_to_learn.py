"""What `fit` says where there is nothing to learn, or too little to judge by."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import fit

from holdfast import open_run


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(4)
    path = tmp_path_factory.mktemp("data") / "noise.csv"
    rows = [f"{a:.3f},{b:.3f},{'yes' if c < 0.5 else 'no'}" for a, b, c in rng.random((200, 3))]
    path.write_text("\n".join(["a,b,outcome", *rows]) + "\n")
    return path


def test_noise_is_one_leaf_unless_a_number_of_leaves_is_asked_for(noise: Path, tmp_path: Path) -> None:
    one = fit(noise, tmp_path / "one")
    assert open_run(tmp_path / "one").model.n_leaves == 1
    assert "not clearly better than predicting the base rate" in " ".join(one.stdout.split())
    facts = json.loads((tmp_path / "one" / "summary.json").read_text())
    assert facts["warnings"][0] in facts["choice"]["reason"]
    asked = fit(noise, tmp_path / "asked", "--max-leaf-nodes", 8)
    assert asked.exit_code == 0, asked.output
    assert open_run(tmp_path / "asked").model.n_leaves > 1
    assert "than predicting the base rate" in " ".join(asked.stdout.split())
    assert "Name a number of leaves" not in " ".join(asked.stdout.split())
    by_folds = fit(noise, tmp_path / "cv", "--max-leaf-nodes", "cv")
    assert open_run(tmp_path / "cv").model.n_leaves == 1, by_folds.output
