"""A run for a notebook: what it is and why, its trees side by side, and the drawing of the chosen one."""

from typing import Any

from holdfast.runs.run import Run
from holdfast.show.html import sentences, table, view
from holdfast.text.numbers import number_text, with_errors
from holdfast.tree.tree import Tree


def run_html(run: Run) -> str:
    """The sentences of the run, a table of the trees that it tells of, and the drawing."""
    first, *others = str(run).splitlines()
    drawing = run.model.to_svg() if isinstance(run.model, Tree) else ""
    return view(sentences(first, strong=True), sentences(*others), _trees(run.facts), drawing)


def _trees(facts: dict[str, Any]) -> str:
    """The trees of a stable model; nothing of another one."""
    named: dict[str, dict[str, Any]] = facts.get("trees", {})
    if not named:
        return ""
    heads = [
        "tree",
        "candidate",
        "instability",
        "leaves",
        "depth",
        f"{facts['metric']['title']} on test rows",
    ]
    rows = [[name, *_cells(each)] for name, each in named.items()]
    return table([heads, *rows], taken=[place for place, name in enumerate(named) if name == "chosen"])


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
