import csv
import json
from pathlib import Path

import pandas as pd
import pytest
from command_line import holdfast, refusal, write_patients

from holdfast import BaggingClassifier, GrowthRules, Table, Tree, grow, save, tree_diff
from holdfast.io.model_file import load_model


def grown(path: Path, **rules: int) -> Tree:
    frame = pd.read_csv(path, dtype={"zip": str})[["age", "ward", "lab", "outcome"]]
    return grow(Table.from_frame(frame, "outcome"), GrowthRules(**rules))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two trees, old.json and new.json, and rows that neither of them has seen."""
    folder = tmp_path_factory.mktemp("diff")
    save(grown(write_patients(folder / "early.csv", 100), max_leaf_nodes=4), folder / "old.json")
    save(grown(write_patients(folder / "all.csv", 300, seed=3), max_leaf_nodes=5), folder / "new.json")
    write_patients(folder / "rows.csv", 200, seed=9)
    return folder


def test_two_files_are_compared_without_any_data(folder: Path) -> None:
    result = holdfast("diff", folder / "old.json", folder / "new.json", columns=120)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{tree_diff(load_model(folder / 'old.json'), load_model(folder / 'new.json'))}\n"


def test_the_rows_are_those_of_the_file_and_the_target_is_found(folder: Path) -> None:
    result = holdfast(
        "diff", folder / "old.json", folder / "new.json", "--data", folder / "rows.csv", "--json"
    )
    told = json.loads(result.stdout)
    rows = pd.read_csv(folder / "rows.csv", dtype={"zip": str})
    trees = load_model(folder / "old.json"), load_model(folder / "new.json")
    diff = tree_diff(*trees, rows[["age", "ward", "lab"]], rows["outcome"])
    flips = (trees[0].predict(rows) != trees[1].predict(rows)).mean()
    assert told["rows"]["flips"] == pytest.approx(flips)
    assert told["rows"]["new_score"] == pytest.approx(diff.rows.new_score)
    assert told["rows"]["rows"] == 200
    assert told["distance"] == diff.distance.total


def test_weights_positive_class_and_scoring(folder: Path) -> None:
    options = ["--target", "outcome", "--weight", "weight", "--positive", "died", "--scoring", "log_loss"]
    result = holdfast(
        "diff", folder / "old.json", folder / "new.json", "--data", folder / "rows.csv", *options, "--json"
    )
    told = json.loads(result.stdout)["rows"]
    assert (told["positive"], told["metric"]) == ("died", "log_loss")
    lines = list(csv.DictReader((folder / "rows.csv").read_text().splitlines()))
    predicted = [load_model(folder / name).predict(_features(lines)) for name in ("old.json", "new.json")]
    weights = [float(line["weight"]) for line in lines]
    swapped = sum(w for w, a, b in zip(weights, *predicted, strict=True) if (a, b) == ("lived", "died"))
    assert told["swap_ins"] == pytest.approx(swapped / sum(weights))


def _features(lines: list[dict[str, str]]) -> pd.DataFrame:
    frame = pd.DataFrame(lines)[["age", "ward", "lab"]]
    return frame.assign(age=pd.to_numeric(frame["age"]), lab=pd.to_numeric(frame["lab"]))


@pytest.mark.parametrize(("name", "begins"), [("d.txt", "F"), ("d.html", "<!doctype html>"), ("d.json", "{")])
def test_a_file_by_its_name(folder: Path, tmp_path: Path, name: str, begins: str) -> None:
    result = holdfast("diff", folder / "old.json", folder / "new.json", "-o", tmp_path / name)
    assert (result.exit_code, result.output) == (0, "")
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert text.upper().startswith(begins.upper()) or name == "d.txt"
    assert "root split" in text
    assert (tmp_path / "d.json").is_file() == (name != "d.txt")  # beside a page: what it says, for programs


def test_what_cannot_be_compared_is_refused_in_one_line(folder: Path, tmp_path: Path) -> None:
    old, new, rows = folder / "old.json", folder / "new.json", folder / "rows.csv"
    assert "its name must end in .txt, .html, .json" in refusal(
        holdfast("diff", old, new, "-o", tmp_path / "d.xyz")
    )
    assert "it is what is read" in refusal(holdfast("diff", old, new, "-o", old))
    other = tmp_path / "other.json"
    frame = pd.read_csv(rows)[["age", "lab", "ward"]].assign(ward=lambda each: each["ward"] == "A")
    save(grow(Table.from_frame(frame, "ward")), other)
    assert "predict different targets: it is 'outcome' in the old one" in refusal(
        holdfast("diff", old, other)
    )
    forest = tmp_path / "forest.json"
    save(BaggingClassifier(3).fit(frame[["age", "lab"]], frame["ward"]), forest)
    assert "contains 3 trees, and a diff is of two single trees" in refusal(holdfast("diff", old, forest))
    assert "There is no column 'died'" in refusal(
        holdfast("diff", old, new, "--data", rows, "--target", "died")
    )
    short = tmp_path / "short.csv"
    short.write_text("age,outcome\n41,died\n50,lived\n")
    assert "has no column 'lab'" in refusal(holdfast("diff", old, new, "--data", short))
    assert "--positive: positive='maybe' is no class" in refusal(
        holdfast("diff", old, new, "--data", rows, "--positive", "maybe")
    )
