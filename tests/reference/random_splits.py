"""The splits that a node draws at random, in plain Python: the slow twin of `splitter="random"`."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from holdfast.growth.rules import count_drawn_features
from reference.drawing import FULL, column_order, mixed, name_hash, node_seed, text_hash
from reference.grower import MISSING, Candidate, Oracle, Rows
from reference.names import by_name

STEP = 0x9E3779B9
Way = tuple[float, bool, frozenset[int]]


def drawn_number(seed: int, path: str, name: str, low: float, high: float) -> float:
    """The threshold that a node draws of a column with these values."""
    fraction = (mixed((mixed(node_seed(seed, path) ^ name_hash(name)) + STEP) % FULL) + 0.5) / FULL
    number = low * (1.0 - fraction) + high * fraction
    return number if low <= number < high else low


def drawn_set(seed: int, path: str, name: str, labels: dict[int, object], first: int) -> set[int]:
    """The categories that go the way of the first one; all that are there, by code, are given."""
    if len(labels) <= 2:
        return {first} & set(labels)
    own = mixed(node_seed(seed, path) ^ name_hash(name))
    while True:
        own = mixed((own + STEP) % FULL)
        coins = {code: mixed(own ^ text_hash(repr(label))) % 2 for code, label in labels.items()}
        chosen = {code for code, coin in coins.items() if coin == coins[first]}
        if len(chosen) < len(labels):
            return chosen


@dataclass(frozen=True, eq=False)
class RandomOracle(Oracle):
    """A table and rules, and the splits that the nodes of a tree with this seed draw."""

    seed: int = 0

    def drawn(self, rows: Rows, path: str) -> list[Candidate]:
        """The splits among which the node chooses."""
        names, n_drawn = (
            self.table.schema.names,
            count_drawn_features(self.rules.max_features, self.table.n_features),
        )
        order = [names.index(name) for name in column_order(names, self.seed, path)]
        found, n_varied, node = [], 0, self.impurity(rows)
        for feature in order if n_drawn else by_name(self.table.schema):
            ways = list(self.ways(rows, path, feature))
            n_varied += bool(ways)
            for cut, missing_left, left in ways:
                inside, right = (tuple(r for r in rows if (r in left) is side) for side in (True, False))
                if self.is_allowed(inside, right):
                    gain = self.gain(node, inside, right)
                    worth = self.worth(node, gain, self.weight(inside), self.weight(right))
                    found.append(Candidate(feature, 0, cut, missing_left, left, gain, worth))
            if found and n_drawn and n_varied >= n_drawn:
                break
        return self.guarded(found, float(node)) if self.rules.criterion == "gain_ratio" else found

    def ways(self, rows: Rows, path: str, feature: int) -> Iterator[Way]:
        """The drawn split of a column, missing values on either side; none if the column does not vary."""
        kind, column = self.table.schema.features[feature], self.table.columns[feature]
        value = {row: MISSING if np.isnan(column[row]) else float(column[row]) for row in rows}
        missing = frozenset(row for row in rows if np.isnan(column[row]))
        known = sorted({value[row] for row in rows if row not in missing})
        if len(known) + bool(missing) < 2:
            return
        cut = 0.0
        if kind.is_subset:
            labels = {int(code): kind.categories[int(code)] for code in known}
            first = 1 if kind.kind == "custom" else min(labels)
            chosen = drawn_set(self.seed, path, kind.name, labels, first)
            left = frozenset(row for row in rows if row not in missing and int(value[row]) in chosen)
        else:
            cut = drawn_number(self.seed, path, kind.name, known[0], known[-1]) if known[1:] else known[0]
            left = frozenset(row for row in rows if row not in missing and value[row] <= cut)
        if left:
            yield cut, False, left
        if missing and len(left | missing) < len(rows):
            yield cut, True, left | missing
