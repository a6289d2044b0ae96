"""`holdfast show`: a tree in several forms, or an overview of many trees."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from statistics import median
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from holdfast._choices import RULE_ORDERS
from holdfast._files import replace_file
from holdfast._text import CUT, join_parts, left_out_text, printable, rounded_percent, shorten
from holdfast._view import format_table
from holdfast.cli.options import RAW, output_option
from holdfast.errors import DataError
from holdfast.runs.folder import check_output, model_file

if TYPE_CHECKING:
    from holdfast.tree.ensemble import Ensemble
    from holdfast.tree.tree import Tree

_TEXT = ("", ".txt", ".text", ".md")
ENDINGS = {"drawing": _TEXT, "rules": _TEXT, "svg": (".svg",), "csv": (".csv",)}
NODES = "nodes"  # a drawing with the numbers of the nodes
# The form that each of these options is for.
FORM_OF_OPTION = {"order": "rules", "title": "svg", "decimals": "svg", "width": "svg"}
WHOLE = "holdfast show --format rules -o rules.txt"  # shows a tree in full
WHOLE_TABLE = "holdfast show -o all.txt"  # shows all features
MAX_FEATURES = 10  # on a terminal
MAX_CLASSES = 8
MAX_NAME = 40
WIDTH = 80  # columns of an overview
LINKS = {
    "mean": "the mean of the predictions of its trees",
    "identity": "the sum of the predictions of its trees",
    "exp": "the exponential of the sum of the predictions of its trees",
    "logistic": "the logistic function of the sum of the predictions of its trees",
    "double_logistic": "the logistic function of twice the sum of the predictions of its trees",
    "softmax": "the softmax of the sums of the predictions of its trees, one sum per class",
}


@click.command("show")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(tuple(ENDINGS)),
    help="A drawing in text, IF ... THEN rules, a picture, or a table with one line per node.  [default: by "
    "the name of the file, or drawing]",
)
@click.option("--nodes", is_flag=True, help="Show the numbers of the nodes, which holdfast edit needs.")
@click.option(
    "--positive", metavar="CLASS", help="Class whose probability is shown.  [default: that of the model]"
)
@click.option(
    "--order",
    type=click.Choice(RULE_ORDERS),
    help="Order of rules: as in the tree, or the highest risk first.  [default: tree]",
)
@click.option("--title", help="Title of the picture, instead of the name of the target.")
@click.option(
    "--decimals", type=click.IntRange(0, 6), help="Decimals of percentages and means in the picture."
)
@click.option("--width", type=click.IntRange(100, 20_000), help="Width of the picture, in pixels.")
@click.option("--missing", is_flag=True, help="Show at each condition where missing values go.")
@output_option("File to write to, instead of the terminal: .txt, .svg or .csv.")
@click.option("--raw", is_flag=True, help=RAW)
def command(model: Path, form: str | None, nodes: bool, output: Path | None, **options: Any) -> None:
    """Show the tree of MODEL, a model file or a run folder, or an overview of a collection or an ensemble.

    Long lists of categories are cut in drawings and in the terminal; rules in a file or a pipe are complete.
    """
    if output is not None:
        check_output(output, model)
    if form is None and options["order"] is not None:
        form = "rules"
    form = choose_form(form, output, nodes=nodes)
    for name, of_form in FORM_OF_OPTION.items():
        if options[name] is not None and form != of_form:
            raise DataError(f"--{name} is for --format {of_form}, and the format is {form}.")
    if output is not None:
        replace_file(output, (show_text(model, form, **options).rstrip("\n") + "\n").encode())
        return
    from rich.console import Console

    columns = min(100, Console().width)
    text = show_text(model, form, **options, columns=columns, on_terminal=sys.stdout.isatty())
    click.echo(text.rstrip("\n"))


def choose_form(form: str | None, output: Path | None, *, nodes: bool = False) -> str:
    """Choose the form by the option or the name of the file; a DataError if the two disagree.

    >>> choose_form(None, Path("tree.svg")), choose_form(None, Path("tree.txt")), choose_form("rules", None)
    ('svg', 'drawing', 'rules')
    """
    ending = "" if output is None else output.suffix.lower()
    possible = [each for each, endings in ENDINGS.items() if ending in endings]
    chosen = form or (possible[0] if possible else "drawing")
    if output is not None and chosen not in possible:
        names = " or ".join(each for each in ENDINGS[chosen] if each)
        way_out = f" For such a name use --format {' or '.join(possible)}." if possible else ""
        raise DataError(
            f"Cannot write to '{output}': --format {chosen} is for a name that ends in {names}, not in "
            f"{ending or 'nothing'}.{way_out}"
        )
    if not nodes:
        return chosen
    if chosen != "drawing":
        raise DataError(f"--nodes numbers the nodes of a drawing, and --format is {chosen}: leave one out.")
    return NODES


def show_text(
    model: Path,
    form: str,
    *,
    missing: bool = False,
    positive: str | None = None,
    order: str | None = None,
    title: str | None = None,
    decimals: int | None = None,
    width: int | None = None,
    raw: bool = False,
    columns: int | None = None,
    on_terminal: bool = False,
) -> str:
    """Return what is in the model file, or in that of a run folder, in one of the forms.

    Long lists are cut in drawings and `on_terminal`, and the last line tells how to see all.
    """
    from holdfast.tree.ensemble import Ensemble
    from holdfast.tree.frame import node_columns
    from holdfast.tree.rules_text import FULL_LIST, rules_text
    from holdfast.tree.rules_text import WIDTH as RULES_WIDTH
    from holdfast.tree.text import WIDTH as TREE_WIDTH
    from holdfast.tree.text import draw_numbered_tree, draw_tree
    from holdfast.tree.tree import Tree

    path = model_file(model)
    found = _load(path)
    if form == "csv":
        return _csv_text(node_columns(found) if isinstance(found, Tree) else tree_columns(list(found)), raw)
    if isinstance(found, Tree):
        if form == "svg":
            return found.to_svg(
                title=title, positive=positive, decimals=decimals, width=width, missing=missing
            )
        if form != "rules":
            draw = draw_numbered_tree if form == NODES else draw_tree
            room = columns or TREE_WIDTH
            return draw(found, missing=missing, width=room, whole=WHOLE, positive=positive)
        text = rules_text(
            found,
            missing=missing,
            positive=positive,
            order=order or RULE_ORDERS[0],
            most=FULL_LIST if on_terminal else None,
        )
        is_cut = on_terminal and f"{CUT} " in text
        return f"{text}\n\n{fill(left_out_text(WHOLE), RULES_WIDTH)}" if is_cut else text
    if form != "drawing":
        option = "--nodes" if form == NODES else f"--format {form}"
        raise DataError(
            f"'{path}' contains {len(found)} trees, and {option} is for one: leave it out for an overview, "
            "or use --format csv for one line per tree."
        )
    n_features = MAX_FEATURES if on_terminal else None
    make_text = ensemble_text if isinstance(found, Ensemble) else collection_text
    return make_text(found, most=n_features)  # type: ignore[arg-type]


def _load(path: Path) -> Tree | Ensemble | Sequence[Tree]:
    from holdfast.io.model_file import load_model, load_trees, read_model_kind

    if read_model_kind(path) != "trees":
        return load_model(path)
    trees = load_trees(path)
    return trees[0] if len(trees) == 1 else trees


def _csv_text(columns: Mapping[str, Any], raw: bool) -> str:
    from holdfast.data.write import write_csv

    text = StringIO()
    write_csv(text, dict(columns), raw=raw)
    return text.getvalue()


# -- many trees in short ----------------------------------------------------------------------------------


def collection_text(trees: Sequence[Tree], *, most: int | None = None) -> str:
    """Return the sizes of the trees, and the features that they use: `most` of them, or all."""
    from holdfast.explain.feature_use import feature_table, feature_use, first_features

    target, roots = trees[0].schema.target, first_features(trees)
    lines = [
        f"{len(trees)} trees that predict {target.name!r} from {len(trees[0].schema.names)} features",
        *_size_lines(trees),
        f"They have {len(set(map(_root_text, trees)))} different root splits on {len(roots)} of the "
        "features.",
        "",
        feature_table(feature_use(trees), most, WHOLE_TABLE).to_text(),
    ]
    return "\n".join(lines)


def ensemble_text(ensemble: Ensemble, *, most: int | None = None, whole: str = WHOLE_TABLE) -> str:
    """Return what the ensemble predicts and how, the sizes of its trees, and the feature importances."""
    from holdfast.tree.rules import format_class_names, list_notes

    target, n_trees = ensemble.schema.target, len(ensemble)
    what = join_parts(list(format_class_names(target)), MAX_CLASSES) if target.is_classes else "a number"
    if target.is_survival:
        what = "a time to an event, by the relative risk"
    trees = "1 tree" if n_trees == 1 else f"{n_trees} trees"
    if ensemble.trees_per_round > 1:
        trees += f", {ensemble.trees_per_round} in each of {ensemble.n_rounds} rounds,"
    votes = ": each votes for one class" if ensemble.votes else ""
    sentences = (
        f"An ensemble of {trees} that predicts {printable(target.name)!r} ({what}) from "
        f"{len(ensemble.schema.names)} features.",
        f"Its prediction is {LINKS[ensemble.link]}{votes}.",
    )
    lines = [fill(sentence, WIDTH, break_on_hyphens=False) for sentence in sentences]
    lines += [*_size_lines(ensemble.trees), "", _importance_text(ensemble, most, whole)]
    lines += [f"Note: {printable(note)}" for note in list_notes(ensemble)]
    return "\n".join(lines)


def _importance_text(ensemble: Ensemble, most: int | None, whole: str) -> str:
    """The features that the trees use, the most important first."""
    from holdfast.runs.files import importance_columns

    lines = list(zip(*importance_columns(ensemble).values(), strict=True))
    used = [line for line in lines if line[2]]
    cells = [
        [shorten(printable(name), MAX_NAME), f"{fraction:.3f}", f"{splits:,}", rounded_percent(trees)]
        for name, fraction, splits, trees in used[:most]
    ]
    parts = [format_table([["feature", "importance", "splits", "in trees"], *cells])]
    if more := len(used) - len(cells):
        parts.append(f"... and {more} more: {whole} has all")
    if unused := len(lines) - len(used):
        parts.append(f"No tree uses {'the other feature' if unused == 1 else f'{unused} others'}.")
    return "\n".join(parts)


def tree_columns(trees: Sequence[Tree]) -> dict[str, list[Any]]:
    """Return a table with one line per tree."""
    return {
        "tree": list(range(len(trees))),
        "leaves": [tree.n_leaves for tree in trees],
        "depth": [tree.depth for tree in trees],
        "mean_path_length": [tree.mean_path_length for tree in trees],
        "root_split": [_root_text(tree) for tree in trees],
    }


def _size_lines(trees: Sequence[Tree]) -> list[str]:
    sizes = {"leaves": [tree.n_leaves for tree in trees], "depth": [tree.depth for tree in trees]}
    return [f"{name:<6}  {min(each)} to {max(each)}, median {median(each):g}" for name, each in sizes.items()]


def _root_text(tree: Tree) -> str:
    from holdfast.tree.rules_text import split_text

    return split_text(tree, 0) if tree.n_nodes > 1 else ""
