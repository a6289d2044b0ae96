"""Kills at random moments, and one clean finish: the same bits as of a run that nothing disturbed.

`python -m tests.faults.resumed_runs --number 20` kills a fit, an audit, a comparison, stages and an update
that many times each, the same moments for the same --seed, and prints what became of them.
"""

import argparse
import json
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import chdir, closing
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree

sys.path.insert(0, str(Path(__file__).parent))
from small_run import PLAIN, holdfast, write_patients

from holdfast.files import aside
from holdfast.runs.resumable import STORE
from holdfast.storage.tasks.database import store_content

COMMAND = [sys.executable, "-m", "holdfast"]
TIMES = re.compile(
    r'("\w*(?:seconds(?:_error)?|reading|compiling|fitting|updating)": )[-.\de]+|()20[\d-]{8}[T ][\d:+]+'
)
ROWS = ("patients.csv", "--target", "outcome")
STAGES = ("--stage", "year", "--drop", "patient", "--drop", "weight")
VERBS = {
    "fit": (*ROWS, *PLAIN, "--max-leaf-nodes", "6", "-o", "run"),
    "audit": (
        *(*ROWS, *PLAIN, "--methods", "centred", "--changes", "overlap,staged"),
        *("--repeats", "3", "-o", "out.json"),
    ),
    "compare": (*ROWS, *PLAIN, "--models", "stable", "--folds", "8", "-o", "out.json"),
    "stages": (*ROWS, *STAGES, "-o", "out.json"),
    "update": ("deployed", "patients.csv", "--target", "outcome", "--prior-rows", "0", "-o", "run"),
}
DEPLOYED = ("earlier.csv", "--target", "outcome", *PLAIN, "--max-leaf-nodes", "4", "-o", "deployed")


@dataclass
class Story:
    """What became of a command that was killed."""

    verb: str
    undisturbed: float  # seconds
    kept: list[int] = field(default_factory=list)  # results after every kill
    faults: list[str] = field(default_factory=list)
    finish: float = 0.0  # seconds of the last, clean run
    rounds: int = 1  # how often the command came to its end before it was killed often enough

    def __str__(self) -> str:
        return (
            f"{self.verb}: {len(self.kept)} kills in {self.rounds} runs from beginning to end, "
            f"results kept after each: {self.kept}; "
            f"{self.undisturbed:.1f} s undisturbed, {self.finish:.1f} s for the last finish; "
            f"{'; '.join(self.faults) or 'the same bits'}"
        )


def killed(verb: str, number: int, seed: int, home: Path, *, n_rows: int = 1500) -> Story:
    """A command that is killed so many times, and then finishes."""
    draw = random.Random(f"{seed} {verb}")
    write_patients(home / "patients.csv", n_rows)
    if verb == "update":
        write_patients(home / "earlier.csv", n_rows, seed=1)
        _run([*COMMAND, "fit", *DEPLOYED], home)
    arguments = (verb, *VERBS[verb])
    command = [*COMMAND, *arguments]
    output = home / VERBS[verb][-1]
    with chdir(home):  # in this process, which has loaded all of it and compiles if it must
        assert holdfast(*arguments).exit_code == 0
    _remove(output)
    story = Story(verb, _run(command, home))
    expected = _content(output)
    _remove(output)
    while len(story.kept) < number:
        if not _killed(command, home, output, story.undisturbed * draw.uniform(0.3, 1.0)):
            story.faults += [] if _content(output) == expected else ["other bits"]
            story.rounds += 1
            _remove(output)
            continue
        story.kept.append(_whole(output, story))
    story.finish = _run(command, home)
    if _content(output) != expected:
        story.faults.append("other bits")
    if left := [path.name for path in home.iterdir() if path.name.startswith(".")]:
        story.faults.append(f"left over: {left}")
    return story


def _run(command: list[str], home: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=home, check=True, capture_output=True)
    return time.perf_counter() - start


def _killed(command: list[str], home: Path, output: Path, seconds: float) -> bool:
    process = subprocess.Popen(command, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return process.returncode != 0


def _whole(output: Path, story: Story) -> int:
    """How many results the store holds, which must be whole."""
    store = aside(output.resolve()) / STORE
    if not store.exists():
        return 0
    with closing(sqlite3.connect(store)) as connection:
        if (found := connection.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            story.faults.append(f"the store is not whole: {found}")
    content = store_content(store)
    return 0 if content is None else content.n_results


def _content(output: Path) -> dict[str, str]:
    """What was written, without the times that it states."""
    files = [output] if output.is_file() else sorted(path for path in output.rglob("*") if path.is_file())
    return {path.name: TIMES.sub(r"\1", _without_paired_times(path)) for path in files}


def _without_paired_times(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.name != "out.json":
        return text
    facts = json.loads(text)
    paired = [row for row in facts.get("paired", []) if row["measure"] != "seconds"]
    return json.dumps({**facts, "paired": paired}, indent=1)


def _remove(output: Path) -> None:
    rmtree(output, ignore_errors=True)
    if output.is_file():
        output.unlink()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbs", nargs="+", default=list(VERBS), choices=list(VERBS))
    given = parser.parse_args(arguments)
    stories = []
    for verb in given.verbs:
        with tempfile.TemporaryDirectory() as home:
            stories.append(killed(verb, given.number, given.seed, Path(home)))
            print(stories[-1], flush=True)
    return 1 if any(story.faults for story in stories) else 0


if __name__ == "__main__":
    sys.exit(main())
