"""A model as one plain Python function, without imports."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from holdfast.errors import ExportError
from holdfast.exports.check import EnginePredictions, Rows
from holdfast.exports.plain_model import PlainLeaf, PlainModel, PlainSplit, PlainTree, make_plain_model

DEEPEST = 90  # Python takes 100 levels of indentation
_E = "2.718281828459045"  # without imports; a power of it differs from the exponential in the last bits
# From the scores `s` to the values; "{total}" is the weight of all trees.
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

    A row is a dictionary of columns by name; None, NaN and absent values are missing. The function returns
    the class and a dictionary of probabilities, or a number, or a dictionary of risk and survival.

    Parameters
    ----------
    model : Tree, Ensemble or fitted estimator

    Returns
    -------
    str

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0]], ["no", "no", "yes"]))
    >>> print(to_python(tree).splitlines()[5])
        if x0 is None or x0 <= 2.5:
    """
    plain = make_plain_model(model)
    for position, tree in enumerate(plain.trees):
        if tree.depth > DEEPEST:
            raise ExportError(
                f"tree {position} has {tree.depth} levels of splits, and Python has room for {DEEPEST} "
                "levels of indentation: prune it, or export it to another format."
            )
    what = "class and the probabilities" if plain.target.is_classes else " and ".join(plain.notes) or "number"
    lines = [f'"""The {what} of a row, a dictionary of columns by name."""']
    lines += [f"# {name}: {note}" for name, note in plain.notes.items()]
    for place, feature in enumerate(plain.columns):
        lines += [
            f"x{place} = row.get({feature.name!a})",
            f"if x{place} != x{place}:  # NaN",
            f"    x{place} = None",
        ]
    lines += _write_tree(plain) if plain.link is None else _write_ensemble(plain)
    return "\n".join(["def predict(row):", *(f"    {line}" if line else "" for line in lines)]) + "\n"


# -- a single tree, and several ---------------------------------------------------------------------------


def _write_tree(plain: PlainModel) -> list[str]:
    def write_leaf(leaf: PlainLeaf) -> list[str]:
        values = f"values = {list(leaf.values)!r}"
        if not plain.target.is_classes:
            return [values]
        return [values, f"outcome = {plain.target.classes[leaf.outcome]!a}"]

    return [*_write_nodes(plain, plain.trees[0], write_leaf), *_write_return(plain, "outcome")]


def _write_ensemble(plain: PlainModel) -> list[str]:
    lines = [f"s = {list(plain.start)!r}"]
    for position, tree in enumerate(plain.trees):
        lines.append(f"# tree {position}")
        lines += _write_nodes(plain, tree, partial(_write_addition, tree.output))
    assert plain.link is not None
    lines += [line.replace("{total}", repr(plain.total_weight)) for line in _LINKS[plain.link]]
    if plain.notes:
        lines.append(f"values.append({_E} ** -min({plain.hazard_at_horizon!r} * values[0], 709.0))")
    classes = "[" + ", ".join(map(ascii, plain.target.classes)) + "]"
    return [*lines, *_write_return(plain, f"{classes}[values.index(max(values))]")]


def _write_addition(output: int, leaf: PlainLeaf) -> list[str]:
    added = [(output + place, value) for place, value in enumerate(leaf.values) if value != 0]
    return [f"s[{place}] += {value!r}" for place, value in added] or ["pass"]


def _write_return(plain: PlainModel, outcome: str) -> list[str]:
    if not plain.target.is_classes and not plain.notes:
        return ["return values[0]"]
    pairs = [f"{name!a}: values[{place}]" for place, name in enumerate(plain.target.classes or plain.notes)]
    outcome = f"{outcome}, " if plain.target.is_classes else ""
    return [f"return {outcome}{{{', '.join(pairs)}}}"]


# -- nodes ------------------------------------------------------------------------------------------------


def _write_nodes(
    plain: PlainModel, tree: PlainTree, write_leaf: Callable[[PlainLeaf], list[str]], number: int = 0
) -> list[str]:
    node = tree.nodes[number]
    if isinstance(node, PlainLeaf):
        return write_leaf(node)
    place = plain.columns.index(node.feature)
    yes, no = (_write_nodes(plain, tree, write_leaf, child) for child in (node.yes, node.no))
    return [
        f"if {_write_condition(f'x{place}', node)}:",
        *(f"    {line}" for line in yes),
        "else:",
        *(f"    {line}" for line in no),
    ]


def _write_condition(x: str, split: PlainSplit) -> str:
    if split.in_yes is not None:
        labels, is_yes = split.listed
        listed = "".join(f"{label!a}, " for label in labels).rstrip()
        return f"{x} {'in' if is_yes else 'not in'} ({listed})"
    if split.is_known:
        return "True" if split.missing_yes else f"{x} is not None"
    below = f"{x} <= {split.threshold!r}"
    return f"{x} is None or {below}" if split.missing_yes else f"{x} is not None and {below}"


# -- running it -------------------------------------------------------------------------------------------


def predict_rows(exported: str, plain: PlainModel, rows: Rows) -> EnginePredictions:
    """Predict with the exported function."""
    from platform import python_version

    space: dict[str, Any] = {}
    exec(compile(exported, "<exported model>", "exec"), space)
    names, classes = list(rows), plain.target.classes
    predicted = [
        space["predict"](dict(zip(names, row, strict=True))) for row in zip(*rows.values(), strict=True)
    ]
    engine = f"Python {python_version()}"
    if not classes:
        numbers = [[each[name] for name in plain.notes] if plain.notes else [each] for each in predicted]
        return EnginePredictions(np.array(numbers, np.float64), None, engine)
    values = np.array([[values[label] for label in classes] for _, values in predicted])
    return EnginePredictions(values, [outcome for outcome, _ in predicted], engine)
