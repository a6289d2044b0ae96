"""A run for a notebook: what it is and why, its trees side by side, and the drawing of the chosen one."""

from typing import Any

from holdfast.runs.run import Run
from holdfast.text.numbers import number_text, with_errors
from holdfast.text.table import Table
from holdfast.text.view import Picture, View
from holdfast.tree.tree import Tree


def run_view(run: Run) -> View:
    """The sentences of the run, a table of its trees, and the drawing."""
    named: dict[str, dict[str, Any]] = run.facts.get("trees", {})
    parts: list[Any] = str(run).splitlines()
    if named:
        score = f"{run.facts['metric']['title']} on test rows"
        headings = ["tree", "candidate", "instability", "leaves", "depth", score]
        chosen = [place for place, name in enumerate(named) if name == "chosen"]
        rows = [[name, *_cells(each)] for name, each in named.items()]
        parts.append(Table(headings, rows, marked=chosen))
    return View(*parts, *([Picture(run.model.to_svg)] if isinstance(run.model, Tree) else []))


def _cells(tree: dict[str, Any]) -> list[str]:
    test = tree["test"]
    known = test is not None and test["score"] is not None
    return [
        str(tree["candidate"]),
        number_text(tree["instability"], 4),
        str(tree["leaves"]),
        str(tree["depth"]),
        with_errors([test["score"]], [test["standard_error"] or 0.0])[0] if known else "",
    ]
