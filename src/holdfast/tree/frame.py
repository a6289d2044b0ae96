"""A tree as a table with one row per node."""

from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from holdfast._arrays import scale_back, scale_to_unit
from holdfast.data.schema import Label, Target
from holdfast.errors import DataError
from holdfast.tree.rules import Condition, find_known_values, format_class_names, fraction_of_rows
from holdfast.tree.stats import parse_quantile
from holdfast.tree.survival import node_survival
from holdfast.tree.tree import LEAF, Tree

BACKENDS = ("pandas", "polars", "pyarrow")  # in the order in which they are tried


def node_columns(tree: Tree) -> dict[str, list[Any]]:
    """Return the columns of the node table.

    `split` is the condition of the left child and `condition` the one that leads to the node itself. None
    stands for an undefined entry and -1 for no node. `fraction` is of all rows, `gain` the impurity decrease
    as a fraction of the root's weight. `observed` is the mean of the training rows, or the fraction of each
    class, from which the value may differ. A survival tree has the predicted `survival` to the horizon, the
    observed one with its 95 % interval, `events` and the `median` time; its outcome is the relative risk. A
    consensus tree has `split_support`, the share of the reference trees with this split on mostly the same
    rows.
    """
    from holdfast.tree.rules_text import split_text

    nodes = range(tree.n_nodes)
    is_leaf = (tree.feature == LEAF).tolist()
    known = find_known_values(tree)
    return {
        "node": list(nodes),
        "depth": tree.node_depth.tolist(),
        "parent": tree.parent.tolist(),
        "split": [None if is_leaf[node] else split_text(tree, node, known=known) for node in nodes],
        "condition": [_condition(tree, node, known) for node in nodes],
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "missing_goes": [
            None if is_leaf[node] else "left" if tree.missing_left[node] else "right" for node in nodes
        ],
        "outcome": _outcomes(tree),
        **_probabilities(tree),
        **_observed(tree),
        **_survival(tree),
        "rows": tree.count.tolist(),
        "weight": tree.weight.tolist(),
        "fraction": [fraction_of_rows(tree, node) for node in nodes],
        "impurity": tree.impurity.tolist(),
        "gain": _gains(tree),
        **_split_support(tree),
    }


def node_frame(tree: Tree, backend: str | None = None) -> Any:
    """Return the node table as a pandas, polars or pyarrow frame: the first installed, or the one named."""
    import narwhals as nw

    columns = node_columns(tree)
    types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
    types |= dict.fromkeys(("node", "depth", "parent", "left", "right"), nw.Int64)
    types |= dict.fromkeys(("split", "condition", "missing_goes"), nw.String)
    types["outcome"] = _outcome_type(tree.schema.target)
    return frame_from(columns, types, backend)


def frame_from(columns: dict[str, list[Any]], types: dict[str, Any], backend: str | None = None) -> Any:
    """Make a pandas, polars or pyarrow frame (the first installed) of columns of these narwhals types."""
    import narwhals as nw

    library = installed_library(backend)
    if library == "pandas" and int(version("pandas").split(".")[0]) < 3:
        # There, None becomes the text "None" in a column of text.
        types = {name: nw.Object if kind == nw.String else kind for name, kind in types.items()}
    return nw.from_dict(columns, schema=types, backend=library).to_native()


def _condition(tree: Tree, node: int, known: Mapping[int, Condition]) -> str | None:
    from holdfast.tree.rules_text import branch_text

    parent = int(tree.parent[node])
    return None if parent == -1 else branch_text(tree, parent, bool(tree.left[parent] == node), known=known)


def _outcomes(tree: Tree) -> list[Label]:
    """Return the predictions, as text if the classes have different types."""
    target = tree.schema.target
    if not target.is_classes:
        return list(tree.value[:, 0].tolist())
    labels: tuple[Label, ...] = target.classes if _is_uniform(target) else format_class_names(target)
    return [labels[place] for place in tree.outcome]


def _outcome_type(target: Target) -> Any:
    import narwhals as nw

    if not target.is_classes:
        return nw.Float64
    kinds = {bool: nw.Boolean, int: nw.Int64, float: nw.Float64, str: nw.String}
    return kinds[type(target.classes[0])] if _is_uniform(target) else nw.String


def _is_uniform(target: Target) -> bool:
    return len({type(label) for label in target.classes}) == 1


def _probabilities(tree: Tree) -> dict[str, list[float]]:
    names = format_class_names(tree.schema.target)  # none for regression
    return {f"p({name})": tree.value[:, place].tolist() for place, name in enumerate(names)}


def _observed(tree: Tree) -> dict[str, list[float]]:
    """Return class fractions or mean of the rows of every node; empty for quantiles."""
    if parse_quantile(tree.criterion) is not None:
        return {}
    names = [f"observed({name})" for name in format_class_names(tree.schema.target)] or ["observed"]
    return {name: tree.observed_mean[:, place].tolist() for place, name in enumerate(names)}


def _survival(tree: Tree) -> dict[str, list[float | None]]:
    """Return predicted and observed survival to the horizon, events and medians of a survival tree."""
    if not tree.schema.target.is_survival:
        return {}
    found = [node_survival(tree, node) for node in range(tree.n_nodes)]
    ends = [each.interval or (None, None) for each in found]
    return {
        "survival": [each.survival for each in found],
        "survival_observed": [each.observed for each in found],
        "survival_low": [low for low, _ in ends],
        "survival_high": [high for _, high in ends],
        "events": [each.n_events for each in found],
        "median": [each.median for each in found],
    }


def _split_support(tree: Tree) -> dict[str, list[float | None]]:
    """Return the support of every split if the tree has it."""
    if tree.split_support is None:
        return {}
    return {"split_support": [None if np.isnan(each) else each for each in tree.split_support.tolist()]}


def _gains(tree: Tree) -> list[float | None]:
    (weight, _), (impurity, exponent) = scale_to_unit(tree.weight), scale_to_unit(tree.impurity)
    risk = weight * impurity
    inner = np.flatnonzero(tree.feature != LEAF)
    gains: list[float | None] = [None] * tree.n_nodes
    decrease = risk[inner] - risk[tree.left[inner]] - risk[tree.right[inner]]
    shares = decrease / weight[0] if weight[0] else np.zeros(len(inner))
    for node, gain in zip(inner.tolist(), scale_back(shares, exponent).tolist(), strict=True):
        gains[node] = gain
    return gains


def installed_library(backend: str | None) -> Any:
    """Return the name of the library for frames: the requested one, or the first installed."""
    if backend is not None and backend not in BACKENDS:
        raise DataError(f"Cannot build a frame with {backend!r}. Choose one of {', '.join(BACKENDS)}.")
    wanted = BACKENDS if backend is None else (backend,)
    for name in wanted:
        if find_spec(name) is not None:
            return name
    raise ImportError(
        f"Cannot build a frame: {' or '.join(wanted)} is not installed. Install one, for example with "
        f"`pip install {wanted[0]}`, or call node_columns(tree) for a plain dictionary of lists."
    )
