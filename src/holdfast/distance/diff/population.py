"""How the rows differ from those that the old tree was grown on."""

from dataclasses import dataclass

import numpy as np

from holdfast.data.table import Table
from holdfast.distance.diff.crossings import Crossings
from holdfast.scoring.population import column_index, compute_index_parts
from holdfast.tree.tree import LEAF


@dataclass(frozen=True)
class LeafShare:
    """Share of rows in a leaf of the old tree, at training and now."""

    leaf: int
    before: float
    now: float
    index: float  # what it adds to the population stability index


def compare_leaf_shares(crossings: Crossings) -> tuple[LeafShare, ...]:
    """Compare the row shares of the old tree's leaves with these rows."""
    tree = crossings.old
    leaves = np.flatnonzero(tree.feature == LEAF)
    place = {leaf: index for index, leaf in enumerate(leaves.tolist())}
    now = np.zeros(len(leaves))
    for (leaf, _), count in zip(crossings.leaves.tolist(), crossings.n_rows.tolist(), strict=True):
        now[place[leaf]] += count
    before = tree.count[leaves]
    if not before.sum() > 0:  # a tree that was made by hand
        return ()
    parts = compute_index_parts(before, now)
    return tuple(
        LeafShare(leaf, float(was / before.sum()), float(share / now.sum()), float(part))
        for leaf, was, share, part in zip(leaves.tolist(), before, now, parts, strict=True)
    )


def compute_column_indices(before: Table, now: Table) -> dict[str, float]:
    """Compute the population stability index of common columns, greatest first."""
    columns = dict(zip(before.schema.names, before.columns, strict=True))
    found = {
        feature.name: column_index(feature, columns[feature.name], column)
        for feature, column in zip(now.schema.features, now.columns, strict=True)
        if feature.name in columns and feature.kind != "question"
    }
    return dict(sorted(found.items(), key=lambda named: -round(named[1], 9)))
