"""`holdfast show`: a tree in several forms, or a collection or an ensemble of trees in short."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from textwrap import fill
from typing import Any

from holdfast._choices import RULE_ORDERS
from holdfast._text import CUT, left_out_text
from holdfast.cli.overview import MOST_FEATURES, collection_text, ensemble_text, tree_columns
from holdfast.cli.show_form import NODES
from holdfast.data.write import write_csv
from holdfast.errors import DataError
from holdfast.io.model_file import load_model, load_trees, read_model_kind
from holdfast.runs.folder import model_file
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.frame import node_columns
from holdfast.tree.rules_text import FULL_LIST, rules_text
from holdfast.tree.rules_text import WIDTH as RULES_WIDTH
from holdfast.tree.text import WIDTH, draw_numbered_tree, draw_tree
from holdfast.tree.tree import Tree

WHOLE = "holdfast show --format rules -o rules.txt"  # what leaves nothing out


@dataclass(frozen=True)
class ShowOptions:
    """How a model is shown."""

    missing: bool = False  # say at each condition whether a missing value meets it
    positive: str | None = None  # the class whose probability is told
    order: str = RULE_ORDERS[0]  # of rules
    title: str | None = None  # of a picture
    decimals: int | None = None
    width: int | None = None  # of a picture, in pixels
    raw: bool = False  # cells of CSV as they are, even where a spreadsheet would take them for formulas


def text_of(
    model: Path,
    form: str,
    options: ShowOptions = ShowOptions(),
    *,
    columns: int = WIDTH,
    on_terminal: bool = False,
) -> str:
    """What is in the model file, or in that of a run folder, in one of the forms of `holdfast show`.

    Long lists are cut in drawings and `on_terminal`, and the last line says how to see all.
    """
    path = model_file(model)
    found = _loaded(path)
    if form == "csv":
        cells = node_columns(found) if isinstance(found, Tree) else tree_columns(list(found))
        return _csv_text(cells, options.raw)
    if isinstance(found, Tree):
        return _tree_text(found, form, options, columns, on_terminal)
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
    if read_model_kind(path) != "trees":
        return load_model(path)
    trees = load_trees(path)
    return trees[0] if len(trees) == 1 else trees


def _tree_text(tree: Tree, form: str, options: ShowOptions, columns: int, on_terminal: bool) -> str:
    missing, positive = options.missing, options.positive
    if form == "svg":
        return tree.to_svg(
            title=options.title,
            positive=positive,
            decimals=options.decimals,
            width=options.width,
            missing=missing,
        )
    if form in (NODES, "drawing"):
        drawn = draw_numbered_tree if form == NODES else draw_tree
        return drawn(tree, missing=missing, width=columns, whole=WHOLE, positive=positive)
    if not on_terminal:
        return rules_text(tree, missing=missing, positive=positive, order=options.order)
    text = rules_text(tree, missing=missing, most=FULL_LIST, positive=positive, order=options.order)
    return f"{text}\n\n{fill(left_out_text(WHOLE), RULES_WIDTH)}" if f"{CUT} " in text else text


def _csv_text(columns: dict[str, list[Any]], raw: bool) -> str:
    text = StringIO()
    write_csv(text, columns, raw=raw)
    return text.getvalue()
