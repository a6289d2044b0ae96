"""Medians and quantiles on the terminal: `holdfast fit --criterion quantile --quantile 0.9`."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import holdfast

from holdfast import load


@pytest.fixture(scope="module")
def stays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(0)
    age = random.integers(20, 90, 120)
    days = age / 10 + random.exponential(3, 120)
    path = tmp_path_factory.mktemp("data") / "stays.csv"
    lines = [
        f"{years},{stay:.3f},{'yes' if stay > 6 else 'no'}" for years, stay in zip(age, days, strict=True)
    ]
    path.write_text("\n".join(["age,days,long", *lines]) + "\n")
    return path


def test_a_tree_of_quantiles_says_so_in_its_file_and_summary(stays: Path, tmp_path: Path) -> None:
    asked = ("--criterion", "quantile", "--quantile", "0.9", "--min-samples-leaf", "20", "--drop", "long")
    given = (
        str(stays),
        "--target",
        "days",
        "--model",
        "tree",
        "--no-report",
        "-o",
        str(tmp_path / "run"),
        *asked,
    )
    result = holdfast("fit", *given)
    assert result.exit_code == 0, result.output
    facts = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (facts["settings"]["criterion"], facts["settings"]["quantile"]) == ("quantile", 0.9)
    assert facts["metric"]["name"] == "quantile 0.9"
    assert "0.9 quantile" in load(tmp_path / "run" / "model.json").rules()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--criterion", "quantile"), "quantile"),
        (("--quantile", "0.9"), "quantile"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    stays: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    given = (
        "fit",
        str(stays),
        "--target",
        "days",
        "--model",
        "tree",
        "--no-report",
        "-o",
        str(tmp_path / "run"),
        *options,
    )
    refused = holdfast(*given)
    assert (refused.exit_code, said in refused.stderr) == (2, True)


def test_a_quantile_out_of_range_names_the_option(stays: Path, tmp_path: Path) -> None:
    options = ("--model", "tree", "--criterion", "quantile", "--quantile", "1.5", "-o", str(tmp_path / "run"))
    result = holdfast("fit", str(stays), "--target", "days", *options)
    assert result.exit_code == 2
    assert "--quantile" in result.stderr
