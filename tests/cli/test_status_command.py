"""Commands that are stopped and go on, and what `holdfast status` says of them."""

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import holdfast, write_patients

from holdfast import StableTreeClassifier, save
from holdfast.io import task_store
from holdfast.parallel import tasks as run_tasks

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")
UNUSED = ("--drop", "patient", "--drop", "weight")
COLUMNS = ("patients.csv", "--target", "outcome", "--drop", "year", *UNUSED)
STAGES = ("patients.csv", "--target", "outcome", "--stage", "year", "--min-rows", 5, *UNUSED)
LINEAR = ("--teacher", "linear", "--max-leaf-nodes", 4)
TIMES = re.compile(
    r'("\w*(?:seconds(?:_error)?|reading|compiling|fitting|updating)": )[-.\de]+|()20[\d-]{8}[T ][\d:+]+'
)
COMMANDS = {
    "fit": (*COLUMNS, "--method", "bootstrap", "--n-estimators", 6, "--no-report", "-o", "run"),
    "audit": (*COLUMNS, "--methods", "c4.5", "--changes", "overlap", "--repeats", 2, "-o", "audit.json"),
    "compare": (*COLUMNS, "--models", "tree,pruned", "--folds", 2, "-o", "compared.json"),
    "stages": (*STAGES, *LINEAR, "-o", "stages.json"),
    "update": ("deployed.json", "patients.csv", "-o", "updated"),
}
INPUTS = ("patients.csv", "deployed.json")


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The model file of a tree that learnt from rows of another kind."""
    home = tmp_path_factory.mktemp("deployed")
    rows = pd.read_csv(write_patients(home / "rows.csv", seed=1))
    model = StableTreeClassifier(teacher="linear", max_leaf_nodes=3, n_estimators=4)
    save(model.fit(rows[["age", "ward"]], rows["outcome"]), home / "model.json")
    return (home / "model.json").read_bytes()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, deployed: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_patients(tmp_path / "patients.csv")
    (tmp_path / "deployed.json").write_bytes(deployed)
    monkeypatch.setattr(task_store, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(task_store, "MOST_SHARE", np.inf)


def command(verb: str, *more: Any) -> list[Any]:
    return [verb, *COMMANDS[verb], "--n-jobs", 1, *more]


def _ended_after(n_tasks: int) -> Callable[..., Any]:
    timed, left = run_tasks._timed, iter(range(n_tasks))

    def task(*args: Any) -> Any:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGTERM)
        return timed(*args)

    return task


def stopped(verb: str, n_tasks: int) -> Any:
    """The command, which SIGTERM ends after so many tasks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_tasks, "_timed", _ended_after(n_tasks))
        return holdfast(*command(verb))


def contents() -> dict[str, str]:
    """What was written, without the times that it states."""
    files = (path for path in Path().rglob("*") if path.is_file() and path.name not in INPUTS)
    return {path.as_posix(): TIMES.sub(r"\1", path.read_text(errors="replace")) for path in files}


def hidden() -> list[str]:
    return [path.name for path in Path().iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("verb", "n_tasks"), [("fit", 2), ("audit", 3), ("compare", 1), ("stages", 4), ("update", 1)]
)
def test_a_command_that_was_stopped_goes_on_and_writes_the_same_bits(verb: str, n_tasks: int) -> None:
    output = Path(COMMANDS[verb][-1])
    assert holdfast(*command(verb)).exit_code == 0
    undisturbed = contents()
    assert hidden() == []
    ended = stopped(verb, n_tasks)
    kept = "1 result is kept" if n_tasks == 1 else f"{n_tasks} results are kept"
    assert ended.exit_code == 143
    last = ended.stderr.splitlines()[-1]
    assert last == f"Stopped by SIGTERM. {kept}: the same command goes on from there."
    again = holdfast(*command(verb, "--n-jobs", 2))
    assert again.exit_code == 0, again.output
    assert "Continuing the run that stopped at 20" in " ".join(again.stdout.split())
    assert contents() == undisturbed
    assert (hidden(), output.exists()) == ([], True)


def test_status_tells_how_far_a_run_is_and_how_it_goes_on() -> None:
    nothing = holdfast("status", "run")
    assert nothing.exit_code == 2
    assert nothing.stderr.startswith("Error: There is no run at 'run', finished or not.")
    stopped("fit", 2)
    lines = holdfast("status", "run").stdout.splitlines()
    assert lines[0] == "run: stopped before its end"
    told = {line[2:11].strip(): line[12:] for line in lines[1:]}
    assert told["stage"] == "1, trees: 2 of 6 tasks"
    assert re.fullmatch(r"2 results, \d+\.\d kB", told["kept"])
    assert told["go on"].startswith("holdfast fit patients.csv --target outcome --drop year")
    facts = json.loads(holdfast("status", "run", "--json").stdout)
    assert (facts["state"], facts["kept"], facts["finished"]) == ("stopped", 2, None)
    assert facts["stages"] == [{"name": "Trees", "total": 6, "done": 2, "kept": 2}]
    holdfast(*command("fit"))
    assert holdfast("status", "run").stdout.startswith("run: finished\n  written   20")


def test_an_earlier_run_stays_until_the_next_is_finished() -> None:
    holdfast(*command("fit"))
    before = contents()
    stopped("fit", 2)
    assert {name: text for name, text in contents().items() if not name.startswith(".")} == before
    assert "by an earlier run, which stays until this one ends" in holdfast("status", "run").stdout


def test_other_options_and_other_rows_take_what_is_theirs_and_it_is_said() -> None:
    stopped("fit", 2)
    again = holdfast(*command("fit", "--n-jobs", 2))
    words = " ".join(again.stdout.split())
    assert ", with other options: of its 2 results, those that are the same are used." in words
    assert "none was used" not in again.stderr
    stopped("fit", 2)
    write_patients(Path("patients.csv"), seed=5)
    again = holdfast(*command("fit"))
    assert again.exit_code == 0
    assert "The 2 results that were kept are of other data or settings: none was used." in again.stderr


def test_a_run_can_be_begun_anew() -> None:
    stopped("fit", 2)
    again = holdfast(*command("fit", "--restart"))
    assert again.exit_code == 0
    assert "Continues" not in again.stdout
    assert hidden() == []
