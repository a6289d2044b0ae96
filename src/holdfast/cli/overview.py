"""Many trees in short: a collection, or an ensemble."""

from collections.abc import Sequence
from statistics import median
from textwrap import fill
from typing import Any

from holdfast._text import join_parts, printable, rounded_percent, shorten
from holdfast._view import format_table
from holdfast.explain.feature_use import feature_table, feature_use, first_features
from holdfast.runs.files import importance_columns
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.rules import format_class_names, list_notes
from holdfast.tree.rules_text import split_text
from holdfast.tree.tree import Tree

WIDTH = 80  # columns
MOST_FEATURES = 10  # on a terminal
MOST_CLASSES = 8
WIDEST_NAME = 40
WHOLE = "holdfast show -o all.txt"  # what leaves no feature out
LINKS = {
    "mean": "the mean of what its trees say",
    "identity": "the sum of what its trees say",
    "exp": "the exponential of the sum of what its trees say",
    "logistic": "the logistic function of the sum of what its trees say",
    "double_logistic": "the logistic function of twice the sum of what its trees say",
    "softmax": "the softmax of the sums of what its trees say, one sum for each class",
}


def collection_text(trees: Sequence[Tree], *, most: int | None = None) -> str:
    """The sizes of the trees, and the features that they ask about: `most` of them, or all."""
    target, roots = trees[0].schema.target, first_features(trees)
    questions = {_first_question(tree) for tree in trees}
    lines = [
        f"{len(trees)} trees that predict {target.name!r} from {len(trees[0].schema.names)} features",
        *_size_lines(trees),
        f"They begin with {len(questions)} different questions about {len(roots)} of the features.",
        "",
        feature_table(feature_use(trees), most, WHOLE).to_text(),
    ]
    return "\n".join(lines)


def ensemble_text(ensemble: Ensemble, *, most: int | None = None, whole: str = WHOLE) -> str:
    """What the ensemble predicts and how, the sizes of its trees, and the importances of the features."""
    sentences = f"{_kind_text(ensemble)}.", f"Its prediction is {_link_text(ensemble)}."
    lines = [fill(sentence, WIDTH, break_on_hyphens=False) for sentence in sentences]
    lines += [*_size_lines(ensemble.trees), "", _importance_text(ensemble, most, whole)]
    lines += [f"Note: {printable(note)}" for note in list_notes(ensemble)]
    return "\n".join(lines)


def _importance_text(ensemble: Ensemble, most: int | None, whole: str) -> str:
    """The features that the trees ask about, the most important first."""
    lines = list(zip(*importance_columns(ensemble).values(), strict=True))
    asked = [line for line in lines if line[2]]
    cells = [
        [shorten(printable(name), WIDEST_NAME), f"{fraction:.3f}", f"{splits:,}", rounded_percent(trees)]
        for name, fraction, splits, trees in asked[:most]
    ]
    parts = [format_table([["feature", "importance", "splits", "in trees"], *cells])]
    if more := len(asked) - len(cells):
        parts.append(f"... and {more} more: {whole} has all")
    if never := len(lines) - len(asked):
        parts.append(f"No tree asks about {'the other feature' if never == 1 else f'{never} others'}.")
    return "\n".join(parts)


def tree_columns(trees: Sequence[Tree]) -> dict[str, list[Any]]:
    """One entry per tree."""
    return {
        "tree": list(range(len(trees))),
        "leaves": [tree.n_leaves for tree in trees],
        "depth": [tree.depth for tree in trees],
        "mean_path_length": [tree.mean_path_length for tree in trees],
        "first_question": [_first_question(tree) for tree in trees],
    }


def _kind_text(ensemble: Ensemble) -> str:
    target, n_trees = ensemble.schema.target, len(ensemble)
    what = join_parts(list(format_class_names(target)), MOST_CLASSES) if target.is_classes else "a number"
    trees = "1 tree" if n_trees == 1 else f"{n_trees} trees"
    if ensemble.trees_per_round > 1:
        trees += f", {ensemble.trees_per_round} in each of {ensemble.n_rounds} rounds,"
    features = len(ensemble.schema.names)
    return (
        f"An ensemble of {trees} that predicts {printable(target.name)!r} ({what}) from {features} features"
    )


def _link_text(ensemble: Ensemble) -> str:
    if ensemble.votes:
        return f"{LINKS[ensemble.link]}: each votes for one class"
    return LINKS[ensemble.link]


def _size_lines(trees: Sequence[Tree]) -> list[str]:
    return [
        f"leaves  {_range_text([tree.n_leaves for tree in trees])}",
        f"depth   {_range_text([tree.depth for tree in trees])}",
    ]


def _range_text(sizes: list[int]) -> str:
    return f"{min(sizes)} to {max(sizes)}, median {median(sizes):g}"


def _first_question(tree: Tree) -> str:
    return split_text(tree, 0) if tree.n_nodes > 1 else ""
