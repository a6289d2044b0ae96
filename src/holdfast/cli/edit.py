"""`holdfast edit`: one edit of a tree, its price, and the file."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from holdfast._text import label_text
from holdfast.cli.words import plain_warnings
from holdfast.data.read import open_source
from holdfast.data.read_options import ReadingOptions
from holdfast.data.schema import Label, Schema
from holdfast.data.table import Table
from holdfast.errors import EditError, ModelFileError
from holdfast.explain.edit_price import price_of_edit
from holdfast.growth.rounding import round_thresholds
from holdfast.growth.rules import GrowthRules
from holdfast.io.model_file import load, save
from holdfast.runs.folder import check_output, model_file
from holdfast.runs.new_rows import read_known_rows
from holdfast.tree.edit import STALE, TreeEditor, describe_node, find_valid_edits
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.rules_text import edit_text, node_text
from holdfast.tree.tree import LEAF, Tree


@dataclass(frozen=True)
class EditOptions:
    """What the edit is: exactly one of the changes."""

    node: int | None
    threshold: float | None
    categories: str | None
    feature: str | None
    prune: bool
    value: str | None
    tolerance: float | None
    by: str = ""
    why: str = ""
    when: str = ""
    refit_values: bool = False

    def check(self) -> None:
        """Raise an EditError unless one change is asked for, at a node if it needs one."""
        asks = any(each is not None for each in (self.threshold, self.categories, self.feature))
        n_changes = asks + self.prune + (self.value is not None) + (self.tolerance is not None)
        if n_changes != 1:
            raise EditError(
                f"{n_changes or 'No'} changes are asked for: give one of --threshold, --categories, "
                "--feature, --prune, --value and --round."
            )
        if (self.node is None) == (self.tolerance is None):
            problem = "--round is for all nodes: leave --node out" if self.node is not None else "Give --node"
            raise EditError(f"{problem}. holdfast show --nodes has the numbers.")


def run(
    model: Path,
    output: Path,
    options: EditOptions,
    data: Path | None,
    target: str | None,
    reading: ReadingOptions,
) -> None:
    """Edit, say what changed and what it costs, and write the model."""
    options.check()
    check_output(output, model, *([data] if data else []))
    if options.tolerance is not None and data is None:
        raise EditError("--round goes by the rows that the tree was grown on: give them with --data.")
    with plain_warnings():
        fitted = load(model_file(model))
        old = _tree_of(fitted, model)
        table = None if data is None else _table(data, old, options, target, reading)
        new = _edited(old, table, options, fitted)
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


def _tree_of(fitted: Any, path: Path) -> Tree:
    """The tree of the model; a ModelFileError if it is none that can be edited."""
    ensemble = getattr(fitted, "ensemble_", fitted)
    if isinstance(ensemble, Ensemble):
        raise ModelFileError(
            f"Cannot edit '{path}': it holds an ensemble of {len(ensemble.trees)} trees, and an edit is for "
            "a model of one tree."
        )
    if hasattr(fitted, "clusters_"):
        raise ModelFileError(
            f"Cannot edit '{path}': it is a density tree, whose clusters are fitted to its leaves."
        )
    tree = getattr(fitted, "tree_", fitted)
    assert isinstance(tree, Tree)
    return tree


def _table(
    data: Path, tree: Tree, options: EditOptions, target: str | None, reading: ReadingOptions
) -> Table:
    also = [tree.schema.names.index(options.feature)] if options.feature in tree.schema.names else []
    with open_source(data, reading.encoding) as source:
        return read_known_rows(source, tree, also, target, reading)


# -- the edit ---------------------------------------------------------------------------------------------


def _edited(tree: Tree, table: Table | None, options: EditOptions, fitted: Any) -> Tree:
    settings: dict[str, Any] = {
        "rules": GrowthRules(
            class_weight=getattr(fitted, "class_weight", None), priors=getattr(fitted, "priors", None)
        ),
        "keep_values": not options.refit_values,
        "by": options.by,
        "why": options.why,
        "when": options.when,
    }
    if options.tolerance is not None:
        assert table is not None
        return round_thresholds(tree, table, options.tolerance, **settings)
    return _at_node(tree.edit(table, **settings), options).tree


def _at_node(editing: TreeEditor, options: EditOptions) -> TreeEditor:
    node, schema = options.node, editing.tree.schema
    assert node is not None
    if options.prune:
        return editing.prune_at(node)
    if options.value is not None:
        return editing.with_leaf_value(node, _value(options.value, schema))
    name = options.feature
    if name is not None:
        categories = None if options.categories is None else _categories(options.categories, schema, name)
        return editing.with_split(node, name, threshold=options.threshold, categories=categories)
    if options.threshold is not None and options.categories is not None:
        raise EditError("Give --threshold or --categories, not both: a node asks for one of them.")
    if options.threshold is not None:
        return editing.with_threshold(node, options.threshold)
    assert options.categories is not None
    return editing.with_categories(node, _categories(options.categories, schema, _asked(editing.tree, node)))


def _asked(tree: Tree, node: int) -> str | None:
    """The name of the feature that the node asks about, if there is such a node and it asks."""
    if not 0 <= node < tree.n_nodes or tree.feature[node] == LEAF:
        return None
    return tree.schema.names[int(tree.feature[node])]


def _categories(text: str, schema: Schema, name: str | None) -> list[Label]:
    """The categories that the words stand for; a word that stands for none remains, and will be refused."""
    known: dict[str, Label] = {}
    for feature in schema.features:
        if feature.name == name:
            known = {label_text(label): label for label in feature.categories}
    return [known.get(word.strip(), word.strip()) for word in _words(text)]


def _value(text: str, schema: Schema) -> Any:
    """A number, or fractions by class."""
    if "=" not in text:
        return _number(text)
    known = {label_text(label): label for label in schema.target.classes}
    pairs = (word.rpartition("=") for word in _words(text))
    return {known.get(name.strip(), name.strip()): _number(amount) for name, _, amount in pairs}


def _words(text: str) -> list[str]:
    """What stands between commas; in double quotes, a comma is a letter."""
    return next(csv.reader([text], skipinitialspace=True), [])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise EditError(f"--value {text.strip()!r} is no number: write 0.3, or CLASS=0.3.") from None


# -- what changed -----------------------------------------------------------------------------------------


def _change_lines(old: Tree, new: Tree) -> list[str]:
    """A line for each edit on record, or for each threshold that became round without one."""
    fresh = {id(edit) for edit in new.edits[len(old.edits) :]}
    lines = {node: edit_text(edit) for node, edit in find_valid_edits(new) if id(edit) in fresh}
    if old.n_nodes == new.n_nodes:
        for node in np.flatnonzero((old.threshold != new.threshold) & (new.feature != LEAF)).tolist():
            before, after = (node_text(describe_node(tree, node)) for tree in (old, new))
            if before != after:
                lines.setdefault(node, f"{before} became {after}")
    return [f"Node {node}: {lines[node]}" for node in sorted(lines)] or ["Nothing changed."]
