"""`holdfast show`: a tree in several forms, or a collection or an ensemble of trees in short."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from textwrap import fill
from typing import Any

from holdfast.cli.overview import MOST_FEATURES, collection_text, ensemble_text, tree_columns
from holdfast.cli.show_form import NODES
from holdfast.data.files.csv_writing import write_csv
from holdfast.errors import DataError
from holdfast.runs.folder import model_file
from holdfast.show.conditions import FULL_LIST
from holdfast.show.numbered_drawing import numbered_drawing
from holdfast.show.rules import WIDTH as RULES_WIDTH
from holdfast.show.rules import rules_text
from holdfast.show.tree_text import WIDTH, drawing
from holdfast.storage.collection_file import load_trees
from holdfast.storage.content import MAX_BYTES, content_of, kind_of, refusals_of
from holdfast.storage.model_file import load_model
from holdfast.text.lines import CUT, left_out_text
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.frame import node_columns
from holdfast.tree.tree import Tree

WHOLE = "holdfast show --format rules -o rules.txt"  # what leaves nothing out


def text_of(
    model: Path,
    form: str,
    *,
    missing: bool = False,
    width: int = WIDTH,
    on_terminal: bool = False,
    raw: bool = False,
) -> str:
    """What is in the model file, or in that of a run folder, in one of the forms of `holdfast show`.

    Long lists are cut in drawings and `on_terminal`, and the last line says how to see all. `raw` leaves
    cells of CSV as they are, even where a spreadsheet would take them for formulas.
    """
    path = model_file(model)
    found = _loaded(path)
    if form == "csv":
        return _csv_text(node_columns(found) if isinstance(found, Tree) else tree_columns(list(found)), raw)
    if isinstance(found, Tree):
        return _tree_text(found, form, missing, width, on_terminal)
    if form != "drawing":
        option = "--nodes" if form == NODES else f"--format {form}"
        raise DataError(
            f"'{path}' holds {len(found)} trees, and {option} is for one: leave it out for an "
            "overview, or say --format csv for one line per tree."
        )
    most = MOST_FEATURES if on_terminal else None
    return (
        ensemble_text(found, most=most) if isinstance(found, Ensemble) else collection_text(found, most=most)
    )


def _loaded(path: Path) -> Tree | Ensemble | Sequence[Tree]:
    with refusals_of(f"the model file '{path}'"):
        kind = kind_of(content_of(path, MAX_BYTES))
    if kind != "trees":
        return load_model(path)
    trees = load_trees(path)
    return trees[0] if len(trees) == 1 else trees


def _tree_text(tree: Tree, form: str, missing: bool, width: int, on_terminal: bool) -> str:
    if form == "svg":
        return tree.to_svg()
    if form == NODES:
        return numbered_drawing(tree, missing=missing, width=width, whole=WHOLE)
    if form == "drawing":
        return drawing(tree, missing=missing, width=width, whole=WHOLE)
    if not on_terminal:
        return rules_text(tree, missing=missing)
    text = rules_text(tree, missing=missing, most=FULL_LIST)
    return f"{text}\n\n{fill(left_out_text(WHOLE), RULES_WIDTH)}" if f"{CUT} " in text else text


def _csv_text(columns: dict[str, list[Any]], raw: bool) -> str:
    text = StringIO()
    write_csv(text, columns, raw=raw)
    return text.getvalue()
