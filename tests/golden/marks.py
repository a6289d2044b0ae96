"""What is kept of a result: a digest of all that is exact, and a few sums of all that is rounded.

Structure, thresholds and counts come from integers and single roundings: they are the same on every
processor. Shares, impurities and scores may end in other bits, so their sums are compared with a tolerance.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from holdfast import Ensemble, Frontier, Tree
from holdfast.data.schema import Schema
from holdfast.growth import SizeTable

DIGITS = 12  # of a number in the file
TOLERANCE = 1e-8  # of a sum, as a fraction of the sum of the sizes of its terms


class Marks(NamedTuple):
    """What a result is known by."""

    exact: Any  # anything that JSON can hold
    rounded: dict[str, Any]  # arrays of floats, by name

    @property
    def digest(self) -> str:
        """A short text that changes with anything that is exact."""
        return hashlib.sha256(json.dumps(self.exact, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def sums(self) -> dict[str, list[float]]:
        """Of every array: how many values it has, the sum of their sizes, their sum, and a mixed sum."""
        return {name: sums_of(values) for name, values in self.rounded.items()}


def sums_of(values: Any) -> list[float]:
    """The mixed sum weighs places differently, so that values that change places change it."""
    line = np.asarray(values, np.float64).ravel().tolist()
    known = [0.0 if math.isnan(value) else value for value in line]
    mixed = [(place % 11 + 1) * value for place, value in enumerate(known)]
    sums = [math.fsum(map(abs, known)), math.fsum(known), math.fsum(mixed)]
    return [len(line), *(float(f"{number:.{DIGITS}g}") for number in sums)]


def differs(found: list[float], kept: list[float]) -> bool:
    """True if two such sums are not the same but for rounding."""
    size = 11 * max(found[1], kept[1])
    return found[0] != kept[0] or any(
        abs(one - other) > TOLERANCE * size for one, other in zip(found[1:], kept[1:], strict=True)
    )


# -- of each kind of result -------------------------------------------------------------------------------


def of_tree(tree: Tree) -> Marks:
    exact = {
        "schema": of_schema(tree.schema),
        "criterion": tree.criterion,
        "notes": tree.notes,
        "threshold": [number.hex() for number in tree.threshold.tolist()],
        **{name: getattr(tree, name).tolist() for name in ("feature", "left", "right", "missing_left")},
        "sets": tree.in_set.tolist(),
        "count": tree.count.tolist(),
    }
    return Marks(exact, {name: getattr(tree, name) for name in ("value", "weight", "impurity")})


def of_schema(schema: Schema) -> Any:
    features = [[f.name, f.kind, f.low.hex(), f.high.hex(), list(f.categories)] for f in schema.features]
    return [features, schema.target.name, list(schema.target.classes)]


def of_trees(trees: Sequence[Tree]) -> Marks:
    return joined({str(place): of_tree(tree) for place, tree in enumerate(trees)})


def of_ensemble(ensemble: Ensemble, values: Any) -> Marks:
    """The ensemble, and what it says of some rows."""
    trees = of_trees(ensemble.trees)
    exact = [ensemble.link, ensemble.votes, ensemble.outputs.tolist(), trees.exact]
    own = {"weights": ensemble.weights, "start": ensemble.start, "values": values}
    return Marks(exact, {**trees.rounded, **own})


def of_frontier(frontier: Frontier) -> Marks:
    exact = {
        name: getattr(frontier, name).tolist()
        for name in ("efficient", "n_leaves", "depth", "combination", "division")
    }
    names = ("instability", "size_adjusted", "score", "score_error", "measured_score", "measured_error")
    lost = {} if frontier.teacher_loss is None else {"teacher_loss": frontier.teacher_loss}
    return Marks(exact, {**{name: getattr(frontier, name) for name in names}, **lost})


def of_sizes(sizes: SizeTable) -> Marks:
    exact = [sizes.parameter, sizes.n_leaves.tolist(), sizes.best, sizes.within_error]
    return Marks(exact, {name: getattr(sizes, name) for name in ("values", "risks", "scores", "error")})


def of_bytes(data: bytes) -> Marks:
    return Marks(hashlib.sha256(data).hexdigest(), {})


def joined(parts: dict[str, Marks]) -> Marks:
    """Several results as one; arrays of one name are put one after the other."""
    rounded: dict[str, list[Any]] = {}
    for part in parts.values():
        for name, values in part.rounded.items():
            rounded.setdefault(name, []).append(np.ravel(values))
    exact = {name: part.exact for name, part in parts.items()}
    return Marks(exact, {name: np.concatenate(values) for name, values in rounded.items()})
