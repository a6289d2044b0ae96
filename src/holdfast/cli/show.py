"""`holdfast show`: a tree in several forms, or a collection of trees in short."""

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

from holdfast.cli.run_folder import model_file
from holdfast.errors import DataError
from holdfast.stability.features import feature_table, feature_use, first_features
from holdfast.tree.collection_file import load_trees
from holdfast.tree.drawing import WIDTH, drawing
from holdfast.tree.frame import node_columns
from holdfast.tree.rules import answer_text
from holdfast.tree.tree import Tree

# Endings that say what a file is: a picture in words, say, would open nowhere under the name of another kind.
ENDINGS = {"svg": ".svg", "csv": ".csv"}
OTHER_KINDS = (
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".pdf", ".eps", ".ps"),
    *(".html", ".json", ".tsv", ".xlsx", ".parquet", ".pq", ".gz", ".zip"),
)


def check_ending(output: Path, form: str) -> None:
    """Raise a DataError if the name of the output says that it is another kind of file than the form."""
    own, ending = ENDINGS.get(form, ".txt"), output.suffix.lower()
    if ending != own and ending in (*ENDINGS.values(), *OTHER_KINDS):
        asked = [f", or ask for it: --format {name}" for name, each in ENDINGS.items() if each == ending]
        raise DataError(
            f"Cannot write to '{output}': --format {form} makes no {ending} file. Let the name end in {own}"
            f"{''.join(asked)}."
        )


def text_of(model: Path, form: str, *, missing: bool = False, width: int = WIDTH) -> str:
    """What is in the model file, or in that of a run folder, in one of the forms of `holdfast show`."""
    path = model_file(model)
    trees = load_trees(path)
    if len(trees) == 1:
        return _tree_text(trees[0], form, missing, width)
    if form == "csv":
        return _csv_text(_tree_columns(trees))
    if form != "drawing":
        raise DataError(
            f"'{path}' holds {len(trees)} trees, and --format {form} is for one: leave it out for an "
            "overview, or say --format csv for one line per tree."
        )
    return _overview(trees)


def _tree_text(tree: Tree, form: str, missing: bool, width: int) -> str:
    if form == "csv":
        return _csv_text(node_columns(tree))
    if form == "svg":
        return tree.to_svg()
    return tree.rules(missing=missing) if form == "rules" else drawing(tree, missing=missing, width=width)


def _overview(trees: Sequence[Tree]) -> str:
    """The sizes of the trees, and the features that they ask about."""
    target, roots = trees[0].schema.target, first_features(trees)
    questions = {_first_question(tree) for tree in trees}
    lines = [
        f"{len(trees)} trees that predict {target.name!r} from {len(trees[0].schema.names)} features",
        f"leaves  {_range_text([tree.n_leaves for tree in trees])}",
        f"depth   {_range_text([tree.depth for tree in trees])}",
        f"They begin with {len(questions)} different questions about {len(roots)} of the features.",
        "",
        feature_table(feature_use(trees)),
    ]
    return "\n".join(lines)


def _range_text(sizes: list[int]) -> str:
    return f"{min(sizes)} to {max(sizes)}, median {median(sizes):g}"


def _first_question(tree: Tree) -> str:
    return answer_text(tree, 0, True) if tree.n_nodes > 1 else ""


def _tree_columns(trees: Sequence[Tree]) -> dict[str, list[Any]]:
    return {
        "tree": list(range(len(trees))),
        "leaves": [tree.n_leaves for tree in trees],
        "depth": [tree.depth for tree in trees],
        "mean_path_length": [tree.mean_path_length for tree in trees],
        "first_question": [_first_question(tree) for tree in trees],
    }


def _csv_text(columns: dict[str, list[Any]]) -> str:
    """A line with the names of the columns and one per row; empty where a column says nothing."""
    text = StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
