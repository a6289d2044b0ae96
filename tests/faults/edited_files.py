"""Thousands of edited model files: each is refused, or holds a model that predicts every row.

    python tests/faults/edited_files.py --number 20000

A child does the work, so that a crash of the interpreter or a kernel that never returns is seen and counted.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO, Any

import numpy as np
from file_bases import bases
from file_edits import content_edit, raw_edit
from sklearn.base import clone

from holdfast.data.schema import Feature
from holdfast.errors import DataError, DataWarning, ModelFileError
from holdfast.io.model_file import load, load_trees, save, save_trees
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

LONGEST = 5.0  # seconds of the processor for a file
PATIENCE = 120.0  # seconds until a child that says nothing is given up: the machine may be busy
ALLOWED = 200 * 2**20  # bytes of memory, and ten for every byte of the file
ADDRESSES = 8 * 2**30  # bytes that the child may have at all
FAULTS = ("crash", "hang", "memory", "error", "prediction")


# -- the rows -----------------------------------------------------------------------------------------


def some_rows(columns: tuple[Feature, ...], dice: random.Random) -> np.ndarray:
    """Ten rows: ordinary, extreme, missing and, of categories, unknown values."""
    return np.array([_cells(feature, dice) for feature in columns], dtype=object).T.reshape(10, len(columns))


def _cells(feature: Feature, dice: random.Random) -> list[Any]:
    if feature.kind == "numeric":
        return [*(dice.uniform(-100, 100) for _ in range(5)), 0.0, 1e308, -1e308, 5e-324, None]
    # Unknown labels, text among text and numbers among numbers: all else would be refused.
    labels = [*feature.categories, *("?" if isinstance(each, str) else 0.125 for each in feature.categories)]
    return [*(dice.choice(labels or [None]) for _ in range(9)), None]


# -- what becomes of a file ---------------------------------------------------------------------------


def outcome(path: Path, name: str, edited: bool, dice: random.Random) -> str:
    """Whether the file was refused or loaded; anything else is a fault."""
    try:
        models = load_trees(path, edited=edited) if name == "collection" else [load(path, edited=edited)]
    except ModelFileError:
        return "refused"
    for model in models:
        if not gives_sound_predictions(model_in(model), dice):
            return "prediction"
        if hasattr(model, "get_params") and not is_sound_estimator(model, dice):
            return "prediction"
    found = [model_in(model) for model in models]
    trees = [tree for model in found for tree in (model if isinstance(model, Ensemble) else [model])]
    for tree in trees[:2]:
        str(tree), tree.rules(), tree.summary(), tree.to_svg(), tree.importances
    save_again(models, path, name)
    return "loaded"


def model_in(model: Any) -> Tree | Ensemble:
    """The model itself, or that of an estimator."""
    found: Tree | Ensemble = getattr(model, "ensemble_", getattr(model, "tree_", model))
    return found


def is_sound_estimator(estimator: Any, dice: random.Random) -> bool:
    """True if the estimator does all that one does, and predicts as its model does."""
    X = some_rows(estimator.schema_.columns, dice)
    repr(estimator), clone(estimator), estimator.feature_importances_
    with suppress(DataError):  # a policy may refuse missing values and unknown categories
        predicted = estimator.predict(X)
        if hasattr(estimator, "score_samples"):
            estimator.score_samples(X)
        elif hasattr(estimator, "decision_function"):
            estimator.decision_function(X)
        if predicted.tolist() != model_in(estimator).predict(X).tolist():
            return False
    for name in ("frontier_", "choice_", "importances_", "clusters_", "size_table_", "oob_curve_"):
        repr(getattr(estimator, name, None))
    return True


def gives_sound_predictions(model: Tree | Ensemble, dice: random.Random) -> bool:
    """True if every row has finite values which, of classes, are shares that sum to 1."""
    X = some_rows(model.schema.columns, dice)
    classes = model.schema.target.classes
    if isinstance(model, Ensemble):
        values, *_ = staged = [model.values(X), *list(model.staged_values(X))[:3]]
    else:
        values, *_ = staged = [model.value[model.apply(X)]]
    if len(model.predict(X)) != len(X) or values.shape[1] != max(len(classes), 1):
        return False
    for each in staged:
        if not np.isfinite(each).all():
            return False
        if classes and not ((each >= 0).all() and np.allclose(each.sum(axis=1), 1, rtol=0, atol=2e-6)):
            return False
    return True


def save_again(models: list[Any], path: Path, name: str) -> None:
    """What was loaded can be saved, and is the same when it is loaded again."""
    again, once_more = path.with_name("again.json"), path.with_name("once_more.json")
    if name == "collection":
        save_trees(models, again)
        save_trees(load_trees(again), once_more)
    else:
        save(models[0], again)
        save(load(again), once_more)
    assert again.read_bytes() == once_more.read_bytes()


# -- the child ----------------------------------------------------------------------------------------


def work(first: int, end: int, seed: int) -> None:
    """Edit, load and judge the files of these numbers; a line for each."""
    _limit_memory()
    files = list(bases().items())
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        for number in range(first, end):
            dice = random.Random(f"{seed} {number}")
            name, data = files[number % len(files)]
            is_raw = number // len(files) % 2 == 0
            edited = raw_edit(data, dice) if is_raw else content_edit(data, dice)
            path = Path(folder) / "model.json"
            path.write_bytes(edited)
            kind = "raw" if is_raw else "structural"
            print(
                json.dumps([number, name, kind, *judged(path, name, dice.random() < 0.8, dice)]), flush=True
            )


def judged(path: Path, name: str, edited: bool, dice: random.Random) -> tuple[str, str]:
    """What became of the file, and what is known of a fault."""
    _forget_peak()
    before, begin = _memory("VmRSS"), time.process_time()
    try:
        found, detail = outcome(path, name, edited, dice), ""
    except MemoryError as error:
        found, detail = "memory", repr(error)
    except Exception as error:
        found, detail = "error", repr(error)[:300]
    seconds, taken = time.process_time() - begin, _memory("VmHWM") - before
    if found in ("refused", "loaded"):
        if seconds > LONGEST:
            return "hang", f"{seconds:.1f} s, {found}"
        if taken > ALLOWED + 10 * path.stat().st_size:
            return "memory", f"{taken} bytes for a file of {path.stat().st_size}, {found}"
    return found, detail


def _limit_memory() -> None:
    with suppress(ImportError, ValueError, OSError):  # where it cannot be, only the peak is looked at
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))


def _forget_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _memory(field: str) -> int:
    """Bytes that the process has (VmRSS) or has had at most (VmHWM); 0 where the system does not say."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return int(status.split(f"{field}:")[1].split()[0]) * 1024


# -- the parent ---------------------------------------------------------------------------------------


def run(number: int, seed: int = 0) -> tuple[Counter[str], list[str]]:
    """How many files came to what, and what is known of every fault."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    done = 0
    while done < number:
        for index, name, kind, found, detail in _results(done, number, seed):
            counts[f"{kind}, {found}"] += 1
            counts[found] += 1
            if found in FAULTS:
                faults.append(f"number {index}, {name}, {kind}: {found} {detail}")
            done = index + 1
    return counts, faults


def _results(first: int, end: int, seed: int) -> Iterator[list[Any]]:
    """The lines of a child, and a last one of our own if it died or fell silent before its end."""
    command = [sys.executable, "-X", "faulthandler", __file__, "--work", str(first), str(end)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen(
        [*command, "--seed", str(seed)], stdout=subprocess.PIPE, text=True, env=environment
    )
    lines: Queue[str] = Queue()
    Thread(target=_passed_on, args=(child.stdout, lines), daemon=True).start()
    next_one = first
    try:
        while line := lines.get(timeout=PATIENCE):
            yield json.loads(line)
            next_one += 1
        if next_one < end:
            yield [next_one, "?", "?", "crash", f"return code {child.wait()}"]
    except Empty:
        yield [next_one, "?", "?", "hang", f"silent for {PATIENCE} s"]
    finally:
        child.kill()
        child.wait()


def _passed_on(said: IO[str], lines: "Queue[str]") -> None:
    for line in said:
        lines.put(line)
    lines.put("")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(*given.work, given.seed)
        return
    begin = time.monotonic()
    counts, faults = run(given.number, given.seed)
    for what, times in sorted(counts.items()):
        print(f"{what:24} {times:6}")
    print(*faults, sep="\n")
    print(f"{given.number} edited files, {len(faults)} faults, {time.monotonic() - begin:.0f} s")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
