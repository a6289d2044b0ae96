"""What `fit` says where there is nothing to learn, or too little to judge by."""

import json
from pathlib import Path

import numpy as np
import pandas
import pytest
from command_line import fit, holdfast

from holdfast import StableTreeClassifier, open_run
from holdfast.errors import DataWarning


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
    of_open_size = fit(noise, tmp_path / "auto", "--max-leaf-nodes", "auto")
    assert open_run(tmp_path / "auto").model.n_leaves == 1, of_open_size.output


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """92 rows with 6 cases."""
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("data") / "few.csv"
    a = np.r_[rng.uniform(9.5, 10.5, 6), rng.uniform(0, 10, 86)]
    frame = pandas.DataFrame({"a": a, "b": rng.random(92), "outcome": ["yes"] * 6 + ["no"] * 86})
    frame.to_csv(path, index=False)
    return path


def test_too_few_cases_are_said_first_and_no_score_is_shown(few: Path, tmp_path: Path) -> None:
    words = "92 rows with 6 cases of the rarer classes: too few to tell one tree from another."
    done = fit(few, tmp_path / "run")
    assert words in " ".join(done.stderr.split())
    line = next(line for line in done.stdout.splitlines() if line.startswith("chosen"))
    assert line.count("too few rows") == 2, line  # neither what is expected nor what is tested
    assert str(open_run(tmp_path / "run")).startswith(f"Warning: {words}")
    assert holdfast("report", tmp_path / "run", "-o", tmp_path / "page.html").exit_code == 0
    page = (tmp_path / "page.html").read_text()
    assert page.index(words) < page.index('class="headline"')
    frame = pandas.read_csv(few)
    with pytest.warns(DataWarning, match="92 rows with 6 cases") as found:
        StableTreeClassifier(n_estimators=5, teacher="linear").fit(frame[["a", "b"]], frame["outcome"])
    assert sum("too few" in str(each.message) for each in found) == 1
    assert found[0].filename == __file__
