"""Signals at random moments to the command line: what was there before is there after, or all that is new.

`python -m tests.faults.signals_cli --number 60` sends that many, the same ones for the same --seed, and
prints what became of them.
"""

import argparse
import csv
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree, rmtree
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from small_run import PLAIN, holdfast, write_patients

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
COMMAND = [sys.executable, "-m", "holdfast"]
KEPT = re.compile(r" \d+ results? (is|are) kept: the same command goes on from there\.")
PROGRESS = re.compile(r"^[\w ]+: [\d,]+ of [\d,]+ \(\d+ s\)\n", re.M)  # on a slow machine
BEGINNING = 0.15  # of the time of a command, in which Python may still load what comes before it


@dataclass(frozen=True)
class Case:
    """A command, and where it writes."""

    name: str
    arguments: tuple[str, ...]
    output: str  # the folder or the file that it writes
    had_output: bool  # is there one already?


CASES = (
    Case("fit anew", ("fit", "patients.csv", "--target", "outcome", *PLAIN, "-o", "run"), "run", False),
    Case("fit again", ("fit", "patients.csv", "--target", "outcome", *PLAIN, "-o", "run"), "run", True),
    Case("predict", ("predict", "model", "patients.csv", "-o", "out.csv"), "out.csv", True),
    Case(
        "compare",
        ("compare", "patients.csv", "--target", "outcome", *PLAIN, "--folds", "2", "--output", "out.csv"),
        "out.csv",
        True,
    ),
)
SMALL = {
    "fit": ("--method", "bootstrap", "--n-estimators", "100"),
    "compare": ("--models", "tree,pruned,forest"),
    "predict": (),
}


class Workshop:
    """A folder with data and a model, in which commands run and are disturbed."""

    def __init__(self, home: Path, jobs: int) -> None:
        self.home, self.jobs = home, jobs
        write_patients(home / "patients.csv", 400)
        with chdir(home):  # in this process, which has loaded all of it and compiles if it must
            assert holdfast(*self.arguments(CASES[0]), "--random-state", 7).exit_code == 0
        (home / "run").rename(home / "model")
        copytree(home / "model", home / "old-run")
        (home / "old-out.csv").write_text("old\n")
        self._seconds: dict[tuple[str, ...], float] = {}

    def arguments(self, case: Case) -> list[str]:
        jobs = () if case.arguments[0] == "predict" else ("--n-jobs", str(self.jobs))
        return [*case.arguments, *SMALL[case.arguments[0]], *jobs]

    def run(self, case: Case) -> None:
        command = [*COMMAND, *self.arguments(case)]
        ended = subprocess.run(command, cwd=self.home, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr

    def seconds(self, case: Case) -> float:
        """How long the command takes that nothing disturbs; measured once."""
        if case.arguments not in self._seconds:
            self.prepare(case)
            start = time.perf_counter()
            self.run(case)
            self._seconds[case.arguments] = time.perf_counter() - start
        return self._seconds[case.arguments]

    def prepare(self, case: Case) -> None:
        """The output as the case wants to find it."""
        self.clear(case)
        if case.had_output and case.output == "run":
            copytree(self.home / "old-run", self.home / "run")
        elif case.had_output:
            (self.home / case.output).write_bytes((self.home / "old-out.csv").read_bytes())

    def clear(self, case: Case) -> None:
        rmtree(self.home / "run", ignore_errors=True)
        (self.home / "out.csv").unlink(missing_ok=True)

    def content(self, name: str) -> dict[str, bytes]:
        """All files of a folder by name, or the one file; without the times that some of them hold."""
        path = self.home / name
        if path.is_file():
            return {"": _without_times(path.read_bytes())}
        files = {str(each.relative_to(path)): each for each in path.rglob("*") if each.is_file()}
        return {name: b"" if name == "summary.json" else each.read_bytes() for name, each in files.items()}

    def hidden(self) -> list[str]:
        return [path.name for path in self.home.iterdir() if path.name.startswith(".")]


def _without_times(table: bytes) -> bytes:
    """The lines of a CSV file without the columns that hold seconds."""
    header, *rows = csv.reader(table.decode().splitlines())
    kept = [place for place, name in enumerate(header) if "seconds" not in name]
    return repr([[row[place] for place in kept] for row in [header, *rows]]).encode()


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    errors: str
    fraction: float  # of the time of an undisturbed command, until the signal


def disturbed(shop: Workshop, case: Case, number: int, fraction: float) -> Ended:
    """How a command ends that gets the signal after such a fraction of its time."""
    seconds = fraction * shop.seconds(case)
    shop.prepare(case)
    process = subprocess.Popen(
        [*COMMAND, *shop.arguments(case)],
        cwd=shop.home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
        _, errors = process.communicate()
    return Ended(process.returncode, PROGRESS.sub("", errors), fraction)


def faults_of(case: Case, shop: Workshop, number: int, ended: Ended) -> list[str]:
    """What is wrong after the signal; empty if nothing is."""
    old = shop.content("old-run" if case.output == "run" else "old-out.csv") if case.had_output else {}
    now = shop.content(case.output)
    faults = _wrong_ending(ended, number, is_old=now == old)
    if number != signal.SIGKILL and shop.hidden() and not KEPT.search(ended.errors):
        faults.append(f"left over: {shop.hidden()}")
    shop.run(case)  # a rerun works, and cleans up
    if now not in (old, shop.content(case.output)):
        faults.append(f"neither old nor new: {sorted(now)}")
    if shop.hidden():
        faults.append(f"left over after the next run: {shop.hidden()}")
    return faults


def _wrong_ending(ended: Ended, number: int, *, is_old: bool) -> list[str]:
    """What is wrong with the exit code and the errors: all that is said is the one line."""
    name = signal.Signals(number).name
    said, told = ended.errors, f"{ended.code}: {ended.errors[-500:]}"
    if ended.code == 0:
        return [f"exit code {told}"] if said or is_old else []
    if number == signal.SIGKILL:
        return [] if ended.code == -number and not said else [f"exit code {told}"]
    if ended.code == 128 + number:
        line = KEPT.sub("", said)
        return [] if line == f"Stopped by {name}.\n" else [f"not the one line: {told}"]
    if ended.code != -number:
        return [f"exit code {told}"]
    # Python itself was at its beginning, with a traceback of its own perhaps, or at its end.
    is_before = is_old and ended.fraction < BEGINNING and "holdfast/cli" not in said
    is_after = not is_old and not said
    if is_before or is_after:
        return []
    return [f"ended without its line, {ended.fraction:.0%} of the way: {told}"]


def send(number: int, seed: int, jobs: int, home: Path, *, tell: bool = True) -> list[str]:
    """Send so many signals; the faults that they brought to light."""
    shop, draw, faults, ends = Workshop(home, jobs), random.Random(seed), [], Counter()
    for place in range(number):
        case, which = CASES[place % len(CASES)], SIGNALS[place // len(CASES) % len(SIGNALS)]
        ended = disturbed(shop, case, which, draw.random())
        found = faults_of(case, shop, which, ended)
        text = f"{place:3} {case.name:10} {which.name:8} at {ended.fraction:4.0%}: {ended.code:4}"
        ends[which.name, ended.code] += 1
        faults += [f"{text} {fault}" for fault in found]
        if tell:
            print(text, *found, flush=True)
    if tell:
        for (name, code), count in sorted(ends.items()):
            print(f"{count:4} x {name}, exit code {code}")
        print(f"{number} signals, {len(faults)} faults")
    return faults


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as home:
        return 1 if send(given.number, given.seed, given.jobs, Path(os.path.realpath(home))) else 0


if __name__ == "__main__":
    sys.exit(main())
