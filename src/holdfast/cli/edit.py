"""`holdfast edit`: change one thing in a tree by hand, see what it costs, and save the model."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast._text import label_text
from holdfast.cli.console import plain_warnings
from holdfast.cli.options import cell_options, output_option
from holdfast.errors import EditError, ModelFileError
from holdfast.runs.folder import check_output, model_file

if TYPE_CHECKING:
    from holdfast.data.schema import Label, Schema
    from holdfast.tree.edit import TreeEditor
    from holdfast.tree.tree import Tree


@click.command("edit")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--node", type=int, help="Number of the node: see holdfast show --nodes.")
@click.option("--threshold", type=float, help="New threshold: values of at most this go left.")
@click.option("--categories", metavar="A,B", help="New set of categories that go left.")
@click.option("--feature", metavar="COLUMN", help="New column or custom feature to split on.")
@click.option("--prune", is_flag=True, help="Make the node a leaf.")
@click.option(
    "--value",
    metavar="P",
    help="New prediction of the leaf: the probability of the positive of two classes, CLASS=P,..., or a "
    "number.",
)
@click.option(
    "--round",
    "tolerance",
    type=click.FloatRange(0, 1, max_open=True),
    is_flag=False,
    flag_value=0.0,
    metavar="[FRACTION]",
    help="Round all thresholds so far that no row of --data changes sides, or at most this fraction of the "
    "rows at each node.",
)
@click.option("--by", default="", metavar="NAME", help="Author of the edit, for the record.")
@click.option("--why", default="", metavar="TEXT", help="Reason of the edit, for the record.")
@click.option("--when", default="", metavar="TEXT", help="Date of the edit, for the record.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Rows (CSV or Parquet) for the counts of the nodes, and to measure the cost of the edit.",
)
@click.option("--target", metavar="COLUMN", help="Target column of --data.  [default: as in the model]")
@click.option(
    "--refit-values",
    is_flag=True,
    help="Also fit the leaf values below an edited split to the rows; otherwise, those of a consensus tree "
    "come from its teacher.",
)
@output_option("File for the edited model.", required=True)
@cell_options
def command(
    model: Path,
    output: Path,
    data: Path | None,
    target: str | None,
    node: int | None,
    tolerance: float | None,
    refit_values: bool,
    by: str,
    why: str,
    when: str,
    threshold: float | None,
    categories: str | None,
    feature: str | None,
    prune: bool,
    value: str | None,
    **cells: Any,
) -> None:
    """Edit the tree of MODEL, a model file or a run folder, by hand.

    The edit is kept in the file with author and reason, and shown with the tree. With --data, the counts of
    the nodes are those of its rows, and the cost of the edit is measured on the same rows, which is
    optimistic with --refit-values. In Python, price_of_edit measures it on other rows.
    """
    changes_split = any(each is not None for each in (threshold, categories, feature))
    n_changes = changes_split + prune + (value is not None) + (tolerance is not None)
    if n_changes != 1:
        raise EditError(
            f"{n_changes or 'No'} changes are given: give one of --threshold, --categories, --feature, "
            "--prune, --value and --round."
        )
    if (node is None) == (tolerance is None):
        problem = "--round is for all nodes: leave --node out" if node is not None else "Give --node"
        raise EditError(f"{problem}. holdfast show --nodes has the numbers.")
    check_output(output, model, *([data] if data else []))
    if tolerance is not None and data is None:
        raise EditError("--round needs the rows that the tree was grown on: give them with --data.")
    from holdfast.data.read import open_source
    from holdfast.explain.edit_price import price_of_edit
    from holdfast.growth.rounding import round_thresholds
    from holdfast.growth.rules import GrowthRules
    from holdfast.io.model_file import load, save
    from holdfast.runs.new_rows import read_known_rows
    from holdfast.runs.settings import CellSettings
    from holdfast.tree.edit import STALE

    reading = CellSettings(**cells).reading_options
    with plain_warnings():
        fitted = load(model_file(model))
        old = _single_tree(fitted, model)
        table = None
        if data is not None:
            also = [old.schema.names.index(feature)] if feature in old.schema.names else []
            with open_source(data, reading.encoding) as source:
                table = read_known_rows(source, old, also, target, reading)
        settings: dict[str, Any] = {
            "rules": GrowthRules(
                class_weight=getattr(fitted, "class_weight", None), priors=getattr(fitted, "priors", None)
            ),
            "keep_values": not refit_values,
            "by": by,
            "why": why,
            "when": when,
        }
        if tolerance is not None:
            assert table is not None
            new = round_thresholds(old, table, tolerance, **settings)
        else:
            assert node is not None
            editor = old.edit(table, **settings)
            if prune:
                new = editor.prune_at(node).tree
            elif value is not None:
                new = editor.with_leaf_value(node, _parse_value(value, old.schema)).tree
            else:
                new = _edit_split(editor, node, feature, threshold, categories).tree
        price = None if table is None else price_of_edit(old, new, table)
    if fitted is old:
        fitted = new
    else:
        fitted.tree_ = new
    save(fitted, output)
    for line in _change_lines(old, new):
        click.echo(line)
    if price is not None:
        click.echo(f"\n{price}")
    if STALE in new.notes:
        click.echo(f"\nNote: {STALE} --data fits them.")
    click.echo(f"\nThe edited model is in {output}.")


def _single_tree(fitted: Any, path: Path) -> Tree:
    """Return the tree of the model; a ModelFileError if it is not one that can be edited."""
    from holdfast.tree.ensemble import Ensemble
    from holdfast.tree.tree import Tree

    ensemble = getattr(fitted, "ensemble_", fitted)
    if isinstance(ensemble, Ensemble):
        raise ModelFileError(
            f"Cannot edit '{path}': it contains an ensemble of {len(ensemble.trees)} trees, and an edit is "
            "for a model of one tree."
        )
    if hasattr(fitted, "clusters_"):
        raise ModelFileError(
            f"Cannot edit '{path}': it is a density tree, whose clusters are fitted to its leaves."
        )
    tree = getattr(fitted, "tree_", fitted)
    assert isinstance(tree, Tree)
    return tree


def _edit_split(
    editor: TreeEditor, node: int, feature: str | None, threshold: float | None, categories: str | None
) -> TreeEditor:
    tree, name = editor.tree, feature
    if name is None and 0 <= node < tree.n_nodes and tree.feature[node] >= 0:
        name = tree.schema.names[int(tree.feature[node])]
    labels = None if categories is None else _parse_categories(categories, tree.schema, name)
    if feature is not None:
        return editor.with_split(node, feature, threshold=threshold, categories=labels)
    if threshold is not None and labels is not None:
        raise EditError("Give --threshold or --categories, not both: a node splits on one of them.")
    if threshold is not None:
        return editor.with_threshold(node, threshold)
    assert labels is not None
    return editor.with_categories(node, labels)


# -- texts as categories and values -----------------------------------------------------------------------


def _parse_categories(text: str, schema: Schema, name: str | None) -> list[Label]:
    """The categories that the words stand for; an unknown word stays, and will be refused."""
    known = {
        label_text(label): label
        for feature in schema.features
        if feature.name == name
        for label in feature.categories
    }
    return [known.get(word.strip(), word.strip()) for word in _split(text)]


def _parse_value(text: str, schema: Schema) -> Any:
    """A number, or probabilities by class."""
    if "=" not in text:
        return _parse_number(text)
    known = {label_text(label): label for label in schema.target.classes}
    pairs = (word.rpartition("=") for word in _split(text))
    return {known.get(name.strip(), name.strip()): _parse_number(amount) for name, _, amount in pairs}


def _split(text: str) -> list[str]:
    """Split words at commas, except within double quotes."""
    return next(csv.reader([text], skipinitialspace=True), [])


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise EditError(f"--value {text.strip()!r} must be a number such as 0.3, or CLASS=0.3.") from None


def _change_lines(old: Tree, new: Tree) -> list[str]:
    """A line for each new edit on record, or for each threshold that was rounded without a record."""
    import numpy as np

    from holdfast.tree.edit import describe_node, find_valid_edits
    from holdfast.tree.rules_text import edit_text, node_text
    from holdfast.tree.tree import LEAF

    recent = {id(edit) for edit in new.edits[len(old.edits) :]}
    lines = {node: edit_text(edit) for node, edit in find_valid_edits(new) if id(edit) in recent}
    if old.n_nodes == new.n_nodes:
        for node in np.flatnonzero((old.threshold != new.threshold) & (new.feature != LEAF)).tolist():
            before, after = (node_text(describe_node(tree, node)) for tree in (old, new))
            if before != after:
                lines.setdefault(node, f"{before} became {after}")
    return [f"Node {node}: {lines[node]}" for node in sorted(lines)] or ["Nothing changed."]
