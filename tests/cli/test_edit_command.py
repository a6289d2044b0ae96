"""`holdfast edit`: one edit from the terminal, its price, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import holdfast, refusal, write_patients

from holdfast import (
    DensityTree,
    ForestClassifier,
    StableTreeClassifier,
    Table,
    TreeClassifier,
    edited_nodes,
    grow,
    load,
    save,
    save_trees,
)
from holdfast.io.model_file import load_model

COLUMNS = ["age", "ward", "lab"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patients, and models of them in several kinds of files."""
    folder = tmp_path_factory.mktemp("models")
    frame = pd.read_csv(write_patients(folder / "patients.csv", 300))
    X, y = frame[COLUMNS], frame["outcome"]
    save(TreeClassifier(max_depth=3, class_weight="balanced").fit(X, y), folder / "tree.json")
    save(grow(Table.from_frame(frame[[*COLUMNS, "outcome"]])), folder / "bare.json")
    save(ForestClassifier(3, max_depth=2).fit(X, y), folder / "forest.json")
    save(DensityTree(max_leaf_nodes=3, validation=None).fit(X), folder / "clusters.json")
    save(
        StableTreeClassifier(n_estimators=5, max_leaf_nodes=4, teacher="linear").fit(X, y),
        folder / "stable.json",
    )
    trees = [load_model(folder / "tree.json")] * 2
    save_trees(trees, folder / "trees.json")
    return folder


def edit(folder: Path, model: str, *options: object, output: str = "edited.json") -> Any:
    return holdfast("edit", folder / model, *options, "-o", folder / output)


def test_nodes_have_numbers_in_a_drawing_for_editors(folder: Path) -> None:
    lines = holdfast("show", folder / "tree.json", "--nodes").output.splitlines()
    tree = load_model(folder / "tree.json")
    assert lines == tree.numbered().splitlines()
    assert "--format is svg" in refusal(holdfast("show", folder / "tree.json", "--nodes", "--format", "svg"))
    assert "contains 2 trees" in refusal(holdfast("show", folder / "trees.json", "--nodes"))


def test_a_threshold_with_rows_is_fitted_priced_and_kept_with_its_estimator(folder: Path) -> None:
    said = ("--by", "Ada", "--why", "the guideline", "--when", "May")
    result = edit(
        folder, "tree.json", "--node", 0, "--threshold", 65, *said, "--data", folder / "patients.csv"
    )
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == "Node 0: age <= 60.5 became age <= 65 (Ada, May: the guideline)"
    assert "of AUC (95 % interval" in result.output
    assert "300 rows" in result.output
    old, new = load(folder / "tree.json"), load(folder / "edited.json")
    assert type(new) is TreeClassifier
    assert new.get_params() == old.get_params()
    assert edited_nodes(new.tree_) == (0,)
    frame = pd.read_csv(folder / "patients.csv")
    table = Table.from_frame(frame[[*COLUMNS, "outcome"]], schema=old.tree_.schema)
    again = TreeClassifier(max_depth=1, class_weight="balanced").fit(frame[COLUMNS], frame["outcome"])
    assert new.tree_.count[0] == table.n_rows
    assert new.tree_.weight[0] == pytest.approx(again.tree_.weight[0])


def test_without_rows_numbers_stay_and_a_note_says_so(folder: Path) -> None:
    result = edit(folder, "bare.json", "--node", 0, "--threshold", 65)
    assert "Note: Counts and values below an edited node are from before the edit" in result.output
    old, new = load(folder / "bare.json"), load(folder / "edited.json")
    assert np.array_equal(old.value, new.value)


def test_the_values_of_a_teacher_stay(folder: Path) -> None:
    old = load(folder / "stable.json")
    node = int(np.flatnonzero(~np.isnan(old.tree_.threshold))[0])
    threshold = old.tree_.threshold[node] + 4.5
    result = edit(
        folder, "stable.json", "--node", node, "--threshold", threshold, "--data", folder / "patients.csv"
    )
    assert result.exit_code == 0, result.output
    new = load(folder / "edited.json")
    assert type(new) is StableTreeClassifier
    assert np.array_equal(new.tree_.value, old.tree_.value)
    assert not np.array_equal(new.tree_.count, old.tree_.count)


def test_other_edits(folder: Path) -> None:
    tree = load_model(folder / "tree.json")
    ward = int(np.flatnonzero(tree.set_start >= 0)[0])
    assert edit(folder, "tree.json", "--node", ward, "--categories", "B").exit_code == 0
    assert load_model(folder / "edited.json").left_categories(ward).tolist() == [False, True, False]
    assert edit(folder, "tree.json", "--node", ward, "--feature", "age", "--threshold", 40).exit_code == 0
    assert load_model(folder / "edited.json").threshold[ward] == 40.0
    assert edit(folder, "tree.json", "--node", ward, "--prune").exit_code == 0
    assert load_model(folder / "edited.json").n_leaves == tree.n_leaves - 1
    leaf = tree.n_nodes - 1
    assert edit(folder, "tree.json", "--node", leaf, "--value", 0.25).exit_code == 0
    assert load_model(folder / "edited.json").value[leaf].tolist() == [
        0.25,
        0.75,
    ]  # of died, the positive class
    assert edit(folder, "tree.json", "--node", leaf, "--value", "died=0.9, lived=0.1").exit_code == 0
    assert load_model(folder / "edited.json").value[leaf].tolist() == [0.9, 0.1]


def test_thresholds_become_round(folder: Path) -> None:
    rows = ("--data", folder / "patients.csv")
    result = edit(folder, "tree.json", "--round", *rows)
    assert "No predicted class changes" in result.output
    assert load_model(folder / "edited.json").edits == ()
    result = edit(folder, "tree.json", "--round", 0.05, *rows)
    assert result.exit_code == 0, result.output
    edited = load_model(folder / "edited.json")
    assert edited.edits
    thresholds = edited.threshold[~np.isnan(edited.threshold)]
    assert np.array_equal(thresholds, np.round(thresholds))


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("tree.json", ("--node", 99, "--threshold", 3), "There is no node 99"),
        ("tree.json", ("--node", 2, "--threshold", 3), "Node 2 is a leaf"),
        ("tree.json", ("--node", 0, "--threshold", 3), "'age' from 20 to 90"),
        ("tree.json", ("--node", 0, "--feature", "ward", "--categories", "Z"), "no categories 'Z'"),
        ("tree.json", ("--node", 0, "--feature", "height", "--threshold", 1), "no 'height'"),
        ("tree.json", ("--node", 0, "--threshold", 60, "--categories", "A"), "not both"),
        ("tree.json", ("--node", 0, "--value", 0.3), "only leaves can be given values"),
        ("tree.json", ("--node", 2, "--value", "much"), "'much' must be a number"),
        ("tree.json", ("--node", 0), "No changes are given"),
        ("tree.json", ("--node", 0, "--prune", "--threshold", 60), "2 changes are given"),
        ("tree.json", ("--threshold", 60), "Give --node"),
        ("tree.json", ("--node", 0, "--round"), "leave --node out"),
        ("tree.json", ("--round",), "give them with --data"),
        ("forest.json", ("--node", 0, "--threshold", 60), "an ensemble of 3 trees"),
        ("clusters.json", ("--node", 0, "--prune"), "density tree"),
        ("trees.json", ("--node", 0, "--prune"), "2 trees"),
        ("none.json", ("--node", 0, "--prune"), "none.json"),
    ],
)
def test_what_cannot_be_is_one_line_and_nothing_is_written(
    folder: Path, model: str, options: tuple[object, ...], words: str
) -> None:
    assert words in refusal(edit(folder, model, *options, output="refused.json"))
    assert not (folder / "refused.json").exists()


def test_rows_that_do_not_fit_are_one_line(folder: Path, tmp_path: Path) -> None:
    threshold = ("--node", 0, "--threshold", 65)
    other = write_patients(tmp_path / "other.csv")
    named = ("--data", other, "--target", "fate")
    assert "no column 'fate'" in refusal(edit(folder, "tree.json", *threshold, *named, output="no.json"))
    other.write_text(other.read_text().replace("died", "dead"))
    assert "dead" in refusal(edit(folder, "tree.json", *threshold, "--data", other, output="no.json"))
    other.write_text(other.read_text().replace("age,", "years,"))
    assert "'age'" in refusal(edit(folder, "tree.json", *threshold, "--data", other, output="no.json"))
    same = holdfast("edit", folder / "tree.json", *threshold, "-o", folder / "tree.json")
    assert "it is what is read" in refusal(same)
    assert not (folder / "no.json").exists()


def test_the_target_may_have_another_name_in_the_rows(folder: Path, tmp_path: Path) -> None:
    other = write_patients(tmp_path / "other.csv")
    other.write_text(other.read_text().replace("outcome", "fate", 1))
    rows = ("--data", other, "--target", "fate")
    result = edit(folder, "tree.json", "--node", 0, "--threshold", 65, *rows)
    assert "120 rows" in result.output
