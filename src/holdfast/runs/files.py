"""The files of a run: the model, both collections, the frontier as a table, and the facts."""

import csv
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from holdfast._arrays import round_last_digits
from holdfast._files import replace_file
from holdfast._text import printable
from holdfast.data.write import write_file
from holdfast.errors import CacheWarning, DataError, DataWarning, GrowthWarning, ReportWarning, StoreWarning
from holdfast.io.model_file import load_trees, open_model, save, save_trees
from holdfast.runs.folder import FACTS, is_run, unfinished
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import LEAF, Tree

if TYPE_CHECKING:
    from holdfast.runs.run import Run

COLLECTIONS = ("references", "candidates")


def write_run_files(run: "Run", folder: Path, *, report: bool = True) -> None:
    """Fill the folder, with the report last."""
    save(run.estimator, folder / "model.json")
    if isinstance(run.model, Tree):
        replace_file(folder / "tree.svg", run.model.to_svg().encode())
    else:
        write_file(importance_columns(run.model), folder / "importances.csv")
    if run.frontier_columns:
        (folder / "collections").mkdir()
        for name in COLLECTIONS:
            save_trees(getattr(run, name), _collection(folder, name))
        write_file(run.frontier_columns, folder / "frontier.csv")
    write_json(run.facts, folder / "summary.json")
    if report:
        write_run_report(run, folder / "report.html")


def write_run_report(run: Any, path: Path) -> None:
    """Write the report; if that fails, warn, and leave the run without it.

    A fit takes minutes, and is not lost for an error in its page.
    """
    try:
        from holdfast.report.page import write_report

        write_report(run, path)
    except OSError:  # a full disk has a message of its own
        raise
    except Exception as error:
        warnings.warn(
            f"The report could not be written ({type(error).__name__}: {error}). All other files are there.",
            ReportWarning,
            stacklevel=2,
        )


def read_run_files(folder: Path) -> dict[str, Any]:
    """Read the folder of a fit or an update into the attributes of a `Run`.

    The candidates of an update are the trees of its path. A DataError if the folder is no run.
    """
    there = unfinished(folder)
    frontier, path = there / "frontier.csv", there / "path.json"
    if not is_run(folder):
        raise DataError(
            f"'{folder}' is not a run: it has no summary.json and no update.json. Give a folder that a run "
            "was saved to."
        )
    facts = next(file for name in FACTS if (file := there / name).is_file())
    content: dict[str, Any] = {"facts": read_facts(facts), "fitted": open_model(there / "model.json")}
    if path.is_file():
        content["candidates"] = tuple(load_trees(path))
    elif frontier.is_file():
        trees = {name: tuple(load_trees(_collection(there, name))) for name in COLLECTIONS}
        content |= {**trees, "frontier_columns": _columns(frontier)}
    return content


def find_earlier_run(folder: Path) -> dict[str, Any] | None:
    """Read the facts of the run in the folder; None without a run whose facts can be read."""
    there = unfinished(folder)
    for file in (there / name for name in FACTS):
        if file.is_file():
            try:
                return read_facts(file)
            except (DataError, OSError):
                return None
    return None


def name_run(facts: Mapping[str, Any]) -> str:
    """Name a run in a message: a fit by its data and target, an update by its model and rows."""
    source = facts["data"].get("source")
    if "target" not in facts["data"]:
        return f"the update of '{facts['model'].get('source')}' by '{source}'"
    return f"the fit of '{source}' that predicts {facts['data']['target']['name']!r}"


def _collection(folder: Path, name: str) -> Path:
    return folder / "collections" / f"{name}.json"


def read_facts(path: Path) -> dict[str, Any]:
    """Read the facts of a fit or an update from its file; a DataError if they are invalid."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"Cannot read '{path}': it is not JSON ({error}).") from error
    if not isinstance(facts, dict) or not {"settings", "data", "metric", "reading"} <= facts.keys():
        raise DataError(f"Cannot read '{path}': it is not the summary of a run.")
    return facts


def _columns(path: Path) -> dict[str, list[Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return {name: [_value(row[place]) for row in rows] for place, name in enumerate(names)}


def _value(text: str) -> Any:
    """Parse a cell that was written by this module."""
    if text in ("", "True", "False"):
        return {"": None, "True": True, "False": False}[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


# -- warnings ---------------------------------------------------------------------------------------------

CATEGORIES = (DataWarning, GrowthWarning, CacheWarning, ReportWarning, StoreWarning)
_R = TypeVar("_R")


@contextmanager
def collect_notes(show: Callable[[str], None] | None = None) -> Iterator[list[str]]:
    """Collect the texts of warnings, each once.

    With `show` each is shown at once. Without it, the warnings of holdfast are issued again at the end, once
    each, for the caller's caller; others pass.
    """
    notes: list[str] = []
    kept: list[Warning] = []

    def keep(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if show is None and not (issubclass(category, CATEGORIES) and isinstance(message, Warning)):
            outer(message, category, *rest, **more)
            return
        text = printable(" ".join(str(message).split()))
        if text in notes:
            return
        notes.append(text)
        if show is not None:
            show(text)
        elif isinstance(message, Warning):
            kept.append(message)

    outer: Any = warnings.showwarning
    try:
        with warnings.catch_warnings():
            for category in CATEGORIES:
                warnings.simplefilter("always", category)
            warnings.showwarning = keep
            yield notes
    finally:
        for message in kept:
            warnings.warn(message, stacklevel=4)


def timed(work: Callable[[], _R]) -> tuple[_R, float]:
    """Return the result of the work and the seconds that it took."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


# -- figures for programs ---------------------------------------------------------------------------------


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Write the content, with null for NaN and infinity, all or nothing."""
    text = json.dumps(finite(content), indent=2, ensure_ascii=False, allow_nan=False)
    replace_file(path, f"{text}\n".encode())


def finite(value: Any) -> Any:
    """Replace NaN and infinity by None."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): finite(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [finite(part) for part in value]
    return value


# -- feature importances ----------------------------------------------------------------------------------


def importance_columns(ensemble: Ensemble) -> dict[str, list[Any]]:
    """Return one entry per feature, the most important first.

    `importance` is its fraction of the gain of all splits, `splits` their number, and `trees` the fraction of
    the trees that use it.
    """
    used = np.array(
        [
            np.bincount(tree.feature[tree.feature != LEAF], minlength=len(tree.schema.features))
            for tree in ensemble
        ]
    )
    order = np.argsort(-round_last_digits(ensemble.importances), kind="stable")
    return {
        "feature": [ensemble.schema.names[place] for place in order.tolist()],
        "importance": ensemble.importances[order].tolist(),
        "splits": used.sum(axis=0)[order].tolist(),
        "trees": (used > 0).mean(axis=0)[order].tolist(),
    }
