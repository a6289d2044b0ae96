"""A model as one plain Python function, without imports."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from holdfast.data.schema import Label
from holdfast.errors import ExportError
from holdfast.exports.check import EnginePredictions, Rows
from holdfast.exports.plain_model import Leaf, PlainModel, PlainTree, Split, make_plain_model

Said = Callable[[Leaf], list[str]]  # the lines of a leaf
DEEPEST = 90  # Python takes 100 levels of indentation
_E = "2.718281828459045"  # without imports; a power of it differs from the exponential in the last bits
# From the scores `s` to the values: "{each}" is said of every score, "{total}" the weight of all trees.
_LINKS = {
    "mean": ["values = [each / {total} for each in s]"],
    "identity": ["values = s"],
    "exp": [f"values = [{_E} ** min(s[0], 709.0)]"],
    "softmax": [
        f"values = [{_E} ** (each - max(s)) for each in s]",
        "total = sum(values)",
        "values = [each / total for each in values]",
    ],
    "logistic": [f"values = [1.0 / (1.0 + {_E} ** min(each, 709.0)) for each in (s[0], -s[0])]"],
    "double_logistic": [f"values = [1.0 / (1.0 + {_E} ** min(2.0 * each, 709.0)) for each in (s[0], -s[0])]"],
}


def to_python(model: Any) -> str:
    """Export as a Python module with one function, `predict(row)`, without dependencies.

    A row is a dictionary from the names of columns to values; None, NaN and no value at all are missing. Of
    classes it returns the class and a dictionary of probabilities, else the number.
    """
    plain = make_plain_model(model)
    for position, tree in enumerate(plain.trees):
        if tree.depth > DEEPEST:
            raise ExportError(
                f"tree {position} asks up to {tree.depth} questions of a row, and Python has room for "
                f"{DEEPEST} levels of indentation: prune it, or export it to another format."
            )
    lines = ["def predict(row):", *_docstring(plain), *_reading(plain)]
    lines += _tree_alone(plain) if plain.link is None else _ensemble(plain)
    return "\n".join([lines[0], *(f"    {line}" if line else "" for line in lines[1:])]) + "\n"


def _docstring(plain: PlainModel) -> list[str]:
    what = "class and the probabilities" if plain.target.is_classes else "number"
    return [f'"""The {what} of a row, a dictionary of columns by name."""']


def _reading(plain: PlainModel) -> list[str]:
    lines = []
    for place, feature in enumerate(plain.columns):
        lines.append(f"x{place} = row.get({feature.name!a})")
        lines.append(f"if x{place} != x{place}:  # NaN")
        lines.append(f"    x{place} = None")
    return lines


# -- a tree by itself, and several ------------------------------------------------------------------------


def _tree_alone(plain: PlainModel) -> list[str]:
    lines = _nodes(plain, plain.trees[0], partial(_said, plain))
    return [*lines, *_returned(plain, "outcome")]


def _said(plain: PlainModel, leaf: Leaf) -> list[str]:
    values = f"values = {list(leaf.values)!r}"
    if not plain.target.is_classes:
        return [values]
    return [values, f"outcome = {_literal(plain.target.classes[leaf.outcome])}"]


def _ensemble(plain: PlainModel) -> list[str]:
    lines = [f"s = {list(plain.start)!r}"]
    for position, tree in enumerate(plain.trees):
        lines.append(f"# tree {position}")
        lines += _nodes(plain, tree, partial(_added, tree.output))
    assert plain.link is not None
    lines += [line.replace("{total}", repr(plain.total_weight)) for line in _LINKS[plain.link]]
    classes = "[" + ", ".join(map(_literal, plain.target.classes)) + "]"
    return [*lines, *_returned(plain, f"{classes}[values.index(max(values))]")]


def _added(output: int, leaf: Leaf) -> list[str]:
    added = [(output + place, value) for place, value in enumerate(leaf.values) if value != 0]
    return [f"s[{place}] += {value!r}" for place, value in added] or ["pass"]


def _returned(plain: PlainModel, outcome: str) -> list[str]:
    if not plain.target.is_classes:
        return ["return values[0]"]
    pairs = [f"{_literal(label)}: values[{place}]" for place, label in enumerate(plain.target.classes)]
    return [f"return {outcome}, {{{', '.join(pairs)}}}"]


# -- nodes ------------------------------------------------------------------------------------------------


def _nodes(
    plain: PlainModel, tree: PlainTree, said: Callable[[Leaf], list[str]], number: int = 0
) -> list[str]:
    node = tree.nodes[number]
    if isinstance(node, Leaf):
        return [*said(node)]
    place = plain.columns.index(node.feature)
    yes, no = (_nodes(plain, tree, said, child) for child in (node.yes, node.no))
    return [
        f"if {_condition(f'x{place}', node)}:",
        *(f"    {line}" for line in yes),
        "else:",
        *(f"    {line}" for line in no),
    ]


def _condition(x: str, split: Split) -> str:
    if split.in_yes is not None:
        labels, is_yes = split.listed
        listed = "".join(f"{_literal(label)}, " for label in labels).rstrip()
        return f"{x} {'in' if is_yes else 'not in'} ({listed})"
    if split.is_known:
        return "True" if split.missing_yes else f"{x} is not None"
    asked = f"{x} <= {split.threshold!r}"
    return f"{x} is None or {asked}" if split.missing_yes else f"{x} is not None and {asked}"


def _literal(label: Label) -> str:
    return ascii(label)


# -- running it -------------------------------------------------------------------------------------------


def scored(exported: str, plain: PlainModel, rows: Rows) -> EnginePredictions:
    """Predict with the exported function."""
    from platform import python_version

    space: dict[str, Any] = {}
    exec(compile(exported, "<exported model>", "exec"), space)
    names, classes = list(rows), plain.target.classes
    said = [space["predict"](dict(zip(names, row, strict=True))) for row in zip(*rows.values(), strict=True)]
    engine = f"Python {python_version()}"
    if not classes:
        return EnginePredictions(np.array(said, np.float64)[:, None], None, engine)
    values = np.array([[values[label] for label in classes] for _, values in said])
    return EnginePredictions(values, [outcome for outcome, _ in said], engine)
