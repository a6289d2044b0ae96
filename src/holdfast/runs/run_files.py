"""The files of a run: the model, both collections, the frontier as a table, and the facts."""

import csv
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.data.files.writing import write_file
from holdfast.errors import DataError, ReportWarning
from holdfast.files import replace_file
from holdfast.runs.folder import FACTS, is_run, unfinished
from holdfast.runs.importances import importance_columns
from holdfast.runs.json_file import write_json
from holdfast.storage.collection_file import load_trees, save_trees
from holdfast.storage.model_file import load, save
from holdfast.tree.tree import Tree

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
    """Write the report; if that fails, a ReportWarning says so, and the run is there without it.

    A fit takes minutes: no flaw of a page is worth its loss.
    """
    try:
        from holdfast.show.report.page import write_report

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
    """The content of the folder of a fit or an update, by the names of a run's parts.

    The candidates of an update are the trees of its path. A DataError if the folder is no run.
    """
    there = unfinished(folder)
    frontier, path = there / "frontier.csv", there / "path.json"
    if not is_run(folder):
        raise DataError(
            f"'{folder}' is no run: it has no summary.json and no update.json. Give a folder that a run was "
            "saved to."
        )
    facts = next(file for name in FACTS if (file := there / name).is_file())
    content: dict[str, Any] = {"facts": read_facts(facts), "estimator": load(there / "model.json")}
    if path.is_file():
        content["candidates"] = tuple(load_trees(path))
    elif frontier.is_file():
        trees = {name: tuple(load_trees(_collection(there, name))) for name in COLLECTIONS}
        content |= {**trees, "frontier_columns": _columns(frontier)}
        content["estimator"].reference_trees_ = list(trees["references"])  # which an update tries splits of
    return content


def find_earlier_run(folder: Path) -> dict[str, Any] | None:
    """The facts of the run that stands in the folder; None if there is none whose facts can be read."""
    there = unfinished(folder)
    for file in (there / name for name in FACTS):
        if file.is_file():
            try:
                return read_facts(file)
            except (DataError, OSError):
                return None
    return None


def name_run(facts: Mapping[str, Any]) -> str:
    """What a run is called in a message: a fit by its data and target, an update by its model and rows."""
    source = facts["data"].get("source")
    if "target" not in facts["data"]:
        return f"the update of '{facts['model'].get('source')}' by '{source}'"
    return f"the fit of '{source}' that predicts {facts['data']['target']['name']!r}"


def _collection(folder: Path, name: str) -> Path:
    return folder / "collections" / f"{name}.json"


def read_facts(path: Path) -> dict[str, Any]:
    """The facts of a fit, or of an update, from the file in its folder; a DataError if it has none."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"Cannot read '{path}': it is no JSON ({error}).") from error
    if not isinstance(facts, dict) or not {"settings", "data", "metric", "reading"} <= facts.keys():
        raise DataError(f"Cannot read '{path}': it is no summary of a run.")
    return facts


def _columns(path: Path) -> dict[str, list[Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return {name: [_value(row[place]) for row in rows] for place, name in enumerate(names)}


def _value(text: str) -> Any:
    """The cell as it was before it was written."""
    if text in ("", "True", "False"):
        return {"": None, "True": True, "False": False}[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
