"""Marks at the splits that few reference trees make, and the sentence that explains them."""

from holdfast.show.edits import edit_marks
from holdfast.text.lines import NO_BREAK
from holdfast.text.numbers import rounded_percent
from holdfast.tree.support import LEAST_SUPPORT, find_weak_splits
from holdfast.tree.tree import Tree

SIGN = "†"


def node_marks(tree: Tree, *, at_answers: bool) -> dict[int, str]:
    """What is written at the nodes: the marks of splits of low support, and those of edits.

    `at_answers`: in a drawing whose lines are answers, a split is marked at the two nodes below it.
    """
    marks = edit_marks(tree, at_answers=at_answers)
    for node, support in find_weak_splits(tree).items():
        for each in (int(tree.left[node]), int(tree.right[node])) if at_answers else (node,):
            marks[each] = f"{_mark(support)}{marks.get(each, '')}"
    return marks


def condition_marks(tree: Tree) -> list[dict[str, str]]:
    """For every node, the marks of the conditions that lead to it, by the names of the features."""
    weak, least = find_weak_splits(tree), [dict[str, float]()]
    for node in range(1, tree.n_nodes):
        parent = int(tree.parent[node])
        found = least[parent]
        if parent in weak:
            name = tree.schema.names[tree.feature[parent]]
            found = {**found, name: min(weak[parent], found.get(name, 1.0))}
        least.append(found)
    return [{name: _mark(support) for name, support in found.items()} for found in least]


def _mark(support: float) -> str:
    return f" {SIGN}{rounded_percent(support).replace(' ', NO_BREAK)}"


def support_lines(tree: Tree) -> list[str]:
    """The sentence that explains the marks; none where there are none."""
    if not find_weak_splits(tree):
        return []
    least = rounded_percent(LEAST_SUPPORT)
    return [
        f"{SIGN} marks a split of low support, below {least}: the share of the reference trees that split "
        "mostly the same rows on the same feature."
    ]


def support_sentence(tree: Tree, node: int) -> str:
    """The support of a split in words, where it is low."""
    support = find_weak_splits(tree).get(node)
    return "" if support is None else same_rows_words(support)


def same_rows_words(support: float) -> str:
    """The support of a split in words, marked where it is low."""
    low = f"{SIGN} only " if support < LEAST_SUPPORT else ""
    return f"{low}{rounded_percent(support)} of the reference trees split mostly the same rows on it"
