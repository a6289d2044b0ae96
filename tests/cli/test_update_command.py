"""`holdfast update` from the terminal."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from command_line import holdfast, refusal
from pandas import read_csv

from holdfast import (
    StableTreeClassifier,
    check_register,
    load,
    model_hash,
    open_run,
    read_register,
    save,
    update_run,
)
from holdfast._files import hold_lock, make_hidden_path
from holdfast.errors import DataError
from holdfast.governance import register as registers
from holdfast.runs.status import STORE
from runs.drifting_patients import fitted, write_year

FORBID = 'new_splits = "never"\nnew_root = "never"\nmax_churn = 0.001\nsubgroups = ["ward"]\nscore_margin = 1'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of a year, of another world, a model of the first, and a policy that forbids to change it."""
    folder = tmp_path_factory.mktemp("terminal")
    write_year(folder / "first.csv", by="age", seed=1)
    write_year(folder / "other.csv", by="bmi", seed=3)
    save(fitted(folder / "first.csv"), folder / "model.json")
    (folder / "forbid.toml").write_text(FORBID)
    (folder / "allow.toml").write_text("max_churn = 1.0")
    return folder


def update(
    folder: Path, output: Path, *options: object, model: str = "model.json", columns: int = 100
) -> Result:
    arguments = (folder / model, folder / "other.csv", "--target", "outcome", "--prior-rows", 0, "-o", output)
    return holdfast("update", *arguments, *options, columns=columns)


def said(result: Result) -> str:
    return " ".join(result.stdout.split())


def files_of(folder: Path) -> dict[str, bytes]:
    """All files, but for what is kept of work that stopped."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != STORE]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


# -- what comes of it ---------------------------------------------------------------------------------------


def test_the_terminal_does_what_python_does(folder: Path, tmp_path: Path) -> None:
    result = update(folder, tmp_path / "run", "--policy", folder / "allow.toml")
    assert result.exit_code == 0, result.output
    settings = {"target": "outcome", "prior_rows": 0, "policy": folder / "allow.toml"}
    with pytest.warns(match="unknown to the model"):
        run = update_run(folder / "model.json", folder / "other.csv", **settings)
    run.save(tmp_path / "python")
    one, other = files_of(tmp_path / "run"), files_of(tmp_path / "python")
    facts = [json.loads(each.pop("update.json")) for each in (one, other)]
    pages = [each.pop("report.html") and json.loads(each.pop("report.json")) for each in (one, other)]
    assert one == other
    assert pages[0]["sections"]["rules"] == pages[1]["sections"]["rules"]
    for each in facts:
        each["seconds"] = each["notes"] = each["settings"]["policy"] = each["time"] = None
    assert facts[0] == facts[1]
    assert str(run) in result.stdout
    assert "model.json is the updated model." in result.stdout
    assert result.stderr.count("\n") == 1
    assert "Note: 2 columns are unknown to the model" in result.stderr


def test_the_model_in_the_folder_predicts_and_is_updated_again(folder: Path, tmp_path: Path) -> None:
    assert update(folder, tmp_path / "run").exit_code == 0
    predicted = holdfast("predict", tmp_path / "run", folder / "other.csv")
    assert predicted.exit_code == 0, predicted.output
    assert holdfast("show", tmp_path / "run").exit_code == 0
    assert holdfast("show", tmp_path / "run" / "path.json").exit_code == 0
    again = holdfast(
        "update", tmp_path / "run", folder / "first.csv", "--target", "outcome", "-o", tmp_path / "run2"
    )
    assert again.exit_code == 0, again.output
    assert load(tmp_path / "run2" / "model.json").n_rows_effective_ > 240


def test_every_command_takes_the_folder_of_an_update(folder: Path, tmp_path: Path) -> None:
    run, rows = tmp_path / "run", folder / "other.csv"
    assert update(folder, run).exit_code == 0
    commands = (
        ("explain", run, rows, "--row", 1),
        ("report", run, "-o", tmp_path / "page.html"),
        ("predict", run, rows, "-o", tmp_path / "predicted.csv"),
        ("diff", folder / "model.json", run),
        ("diff", run, folder / "model.json"),
        ("export", run, "-o", tmp_path / "model.py"),
        ("edit", run, "--node", 0, "--prune", "-o", tmp_path / "edited.json"),
        ("status", run),
        *(
            ("plot", run, "--what", what, "-o", tmp_path / "plot.png")
            for what in ("tree", "sizes", "distance")
        ),
        ("plot", run, "--what", "roc", "--data", rows, "--target", "outcome", "-o", tmp_path / "plot.svg"),
    )
    for command in commands:
        result = holdfast(*command)
        assert result.exit_code == 0, (command, result.output)
    page = json.loads((tmp_path / "page.json").read_text())
    tree = load(run / "model.json").tree_
    assert page["page"] == "fit"
    assert len(page["sections"]["rules"]["rules"]) == tree.n_leaves


def test_a_diff_on_the_rows_of_the_update_says_that_the_tree_has_learned_from_them(
    folder: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    assert update(folder, run, "--take", 1, "--force").exit_code == 0
    (tmp_path / "again.csv").write_bytes((folder / "other.csv").read_bytes())  # by its content, not its name
    for rows, learned in (("again.csv", 1.0), ("first.csv", None)):
        data = next(path for path in (tmp_path / rows, folder / rows) if path.is_file())
        diff = holdfast("diff", folder / "model.json", run, "--data", data, "--target", "outcome", "--json")
        told = json.loads(diff.stdout)
        assert (told["rows"]["old_learned"], told["rows"]["new_learned"]) == (None, learned)
        assert ("was trained on these rows" in told["summary"]) == (learned is not None)
    other = holdfast(
        "diff", run, folder / "model.json", "--data", folder / "other.csv", "--target", "outcome"
    )
    assert "The old tree was trained on these rows" in " ".join(other.stdout.split())
    assert "was trained on these rows" in " ".join((run / "diff.txt").read_text().split())


def test_the_folder_of_an_update_opens_as_a_run(folder: Path, tmp_path: Path) -> None:
    assert update(folder, tmp_path / "run").exit_code == 0
    run, made = open_run(tmp_path / "run"), load(tmp_path / "run" / "model.json")
    assert run.is_update
    assert len(run.candidates) == len(run.facts["path"])
    rows = read_csv(folder / "other.csv")[made.feature_names_in_]
    np.testing.assert_array_equal(run.predict(folder / "other.csv"), made.predict(rows))
    with pytest.raises(DataError, match="copy"):
        run.save(tmp_path / "other")


def test_a_policy_that_is_broken_ends_with_exit_code_3(folder: Path, tmp_path: Path) -> None:
    register = tmp_path / "register.jsonl"
    options = ("--policy", folder / "forbid.toml", "--register", register)
    result = update(folder, tmp_path / "run", *options, "--by", "Jo", "--why", "a new year")
    assert result.exit_code == 3, result.output
    assert said(result).startswith(
        "A tree of 4 leaves that predicts y; 240 new rows. The policy forbids the update"
    )
    assert "model.json is the deployed model as it was, which stays in use." in said(result)
    assert (tmp_path / "run" / "model.json").read_bytes() == (folder / "model.json").read_bytes()
    verdict = json.loads((tmp_path / "run" / "update.json").read_text())["verdict"]
    assert not verdict["passed"]
    forced = update(folder, tmp_path / "forced", *options, "--force")
    assert forced.exit_code == 0, forced.output
    assert "taken by force, against the policy" in said(forced)
    refused, taken = read_register(register)
    assert (refused.taken, refused.who, refused.why) == (False, "Jo", "a new year")
    assert (taken.taken, taken.forced) == (True, True)
    assert refused.new_model == taken.new_model == model_hash(tmp_path / "forced" / "model.json")
    assert refused.new_model == model_hash(tmp_path / "run" / "proposal.json")
    assert f"Record 2 of the register is {taken.hash}." in said(forced)
    found = holdfast("register", "find", refused.old_model, tmp_path / "run")
    assert found.stdout.strip() == str(tmp_path / "run" / "model.json")


def test_options_reach_the_update(folder: Path, tmp_path: Path) -> None:
    options = ("--take", 1, "--frozen", "0", "--tolerance", 0.1, "--validation", 0.5, "--groups", "patient")
    result = update(folder, tmp_path / "run", *options, "--old", folder / "first.csv", "--half-life", 2)
    assert result.exit_code == 0, result.output
    assert "240 new rows and 240 old rows." in said(result)
    facts = json.loads((tmp_path / "run" / "update.json").read_text())
    assert facts["step"] == 1
    wanted = {
        "take": 1,
        "frozen": [0],
        "tolerance": 0.1,
        "validation": 0.5,
        "half_life": 2.0,
        "strategy": "nearest",
    }
    assert facts["settings"].items() >= wanted.items()
    assert facts["columns"]["groups"] == "patient"
    assert facts["data"]["old_source"] == str(folder / "first.csv")
    assert 0 < facts["data"]["rows_scored"] <= 160


def test_a_narrow_terminal_has_narrow_sentences(folder: Path, tmp_path: Path) -> None:
    result = update(folder, tmp_path / "run", columns=60)
    start = result.stdout.split("step ")[0]
    assert max(map(len, start.splitlines())) <= 60


# -- what is refused: one line, exit code 2, and nothing changed on disk  ------------------------------


def test_what_cannot_be_is_one_line_and_changes_nothing(folder: Path, tmp_path: Path) -> None:
    assert update(folder, tmp_path / "run").exit_code == 0
    (tmp_path / "unknown.toml").write_text("max_chrun = 0.05")
    (tmp_path / "wrong.toml").write_text('max_churn = "small"')
    (tmp_path / "broken.jsonl").write_text("{}\n")
    before = files_of(tmp_path)
    run = tmp_path / "run"
    for options, message in (
        (
            ("--policy", tmp_path / "unknown.toml"),
            "There is no line 'max_chrun' (= 0.05): did you mean 'max_churn'?",
        ),
        (
            ("--policy", tmp_path / "wrong.toml"),
            "line max_churn must be a number of at least 0",
        ),
        (("--policy", tmp_path / "none.toml"), "none.toml"),
        (("--register", tmp_path / "broken.jsonl"), "record 1 is broken"),
        (("--register", tmp_path / "none" / "register.jsonl"), "there is no folder"),
        (("--frozen", "1,99"), "not a node of the deployed tree"),
        (("--groups", "none"), "There is no column 'none'"),
        (("--half-life", 2), "--half-life: half_life needs to know how old rows are"),
        (("--model-card", tmp_path / "wrong.toml"), "There is no line 'max_churn'"),
    ):
        assert message in refusal_without_notes(update(folder, run, *options))
        assert files_of(tmp_path) == before


def test_few_rows_are_refused_and_new_categories_count_as_missing(folder: Path, tmp_path: Path) -> None:
    rows = read_csv(folder / "other.csv")
    rows.head(12).to_csv(tmp_path / "few.csv", index=False)
    rows["ward"] = ["moon" if number < 10 else ward for number, ward in enumerate(rows["ward"])]
    rows.to_csv(tmp_path / "moon.csv", index=False)
    arguments = ("update", folder / "model.json", tmp_path / "few.csv", "--target", "outcome", "-o")
    refused = refusal_without_notes(holdfast(*arguments, tmp_path / "run"))
    assert "at least 20 new rows, and there are 12" in refused
    assert "force=True" in refused
    assert holdfast(*arguments, tmp_path / "run", "--force").exit_code == 0
    arguments = ("update", folder / "ward.json", tmp_path / "moon.csv", "--target", "outcome", "-o")
    model = StableTreeClassifier(n_estimators=4, teacher="linear", max_leaf_nodes=4)
    data = read_csv(folder / "first.csv")
    model.fit(data[["ward", "age"]], np.where(data["ward"] == data["ward"][0], "lived", "died"))
    save(model, folder / "ward.json")
    result = holdfast(*arguments, tmp_path / "moon")
    assert result.exit_code == 0, result.output
    told = " ".join(result.stderr.split())
    assert "'ward': 'moon' (10 rows)" in told
    assert "allow_new_values=True" in told


def test_a_step_that_there_is_not_is_refused_and_the_path_is_kept_for_one_that_there_is(
    folder: Path, tmp_path: Path
) -> None:
    refused = refusal_without_notes(update(folder, tmp_path / "run", "--take", 99))
    assert "--take: take=99 is out of range: the path has the steps 0 to" in refused
    assert refused.endswith("kept: once that is mended, the command goes on from there.")
    again = update(folder, tmp_path / "run", "--take", 1)
    assert again.exit_code == 0
    assert "Continuing the run that stopped at" in said(again)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def refusal_without_notes(result: Result) -> str:
    """The one line of the error; notes of what was read, and what was read, may stand before it."""
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if not line.startswith("Note: ")]
    assert len(lines) == 1, result.stderr
    return lines[0]


def test_a_model_of_another_target_is_one_line(folder: Path, tmp_path: Path) -> None:
    for options, message in (
        ((), "the model predicts 'y', and"),
        (("--target", "age"), "column 'age' is a feature of the model, which predicts 'y'"),
    ):
        arguments = (folder / "model.json", folder / "other.csv", "-o", tmp_path / "run", *options)
        assert message in refusal(holdfast("update", *arguments))
    assert "allow_new_values=True" in refusal_without_notes(
        holdfast(
            *("update", folder / "model.json", folder / "other.csv", "-o", tmp_path / "run"),
            *("--target", "clinic"),
        )
    )
    assert list(tmp_path.iterdir()) == []


def test_an_input_is_never_replaced(folder: Path, tmp_path: Path) -> None:
    update(folder, tmp_path / "run")
    for model in (tmp_path / "run", tmp_path / "run" / "model.json"):
        result = holdfast(
            *("update", model, folder / "other.csv", "--target", "outcome", "-o", tmp_path / "run")
        )
        assert "is in it, and is used. Give another folder." in refusal(result)
    register = tmp_path / "run" / "register.jsonl"
    assert "is in it, and is used" in refusal(update(folder, tmp_path / "run", "--register", register))


def test_a_register_in_use_is_one_line_and_changes_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registers, "SECONDS", 0.0)
    register = tmp_path / "register.jsonl"
    assert update(folder, tmp_path / "run", "--register", register).exit_code == 0
    before = files_of(tmp_path)
    with hold_lock(make_hidden_path(register, ".lock"), "busy"):
        message = refusal(update(folder, tmp_path / "run", "--register", register))
    assert message.startswith(f"Error: Cannot add to the register '{register}': process ")
    assert files_of(tmp_path) == before


def test_a_register_that_is_taken_during_the_work_changes_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registers, "SECONDS", 0.0)
    register = tmp_path / "register.jsonl"
    holders = []
    update_model = StableTreeClassifier.update

    def update_and_lock(*given: object, **more: object) -> object:
        holders.append(hold_lock(make_hidden_path(register, ".lock"), "busy"))
        holders[0].__enter__()
        return update_model(*given, **more)

    monkeypatch.setattr(StableTreeClassifier, "update", update_and_lock)
    result = update(folder, tmp_path / "run", "--register", register)
    holders[0].__exit__(None, None, None)
    assert "Cannot add to the register" in refusal_without_notes(result)
    assert files_of(tmp_path) == {}


def test_ctrl_c_leaves_the_earlier_run_and_the_register_as_they_were(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--register", tmp_path / "register.jsonl")
    assert update(folder, tmp_path / "run", *options).exit_code == 0
    before = files_of(tmp_path)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for place in ("holdfast.runs.update.save_trees", "holdfast.estimators.updating.update_tree"):
        with monkeypatch.context() as patched:
            patched.setattr(place, interrupted)
            result = update(folder, tmp_path / "run", *options)
        assert result.exit_code == 130
        assert result.stderr.splitlines()[-1].startswith("Stopped by SIGINT.")
        assert files_of(tmp_path) == before
    assert check_register(tmp_path / "register.jsonl")
