"""How much an ensemble owes to each feature, as a table."""

from typing import Any

import numpy as np

from holdfast.arrays import without_last_digits
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import LEAF, Tree


def importance_columns(ensemble: Ensemble) -> dict[str, list[Any]]:
    """One entry per feature, the most important first.

    `importance` is its fraction of what all splits gained, `splits` their number, and `trees` the fraction of
    the trees that ask about it.
    """
    asked = np.array([np.bincount(_asked(tree), minlength=len(tree.schema.features)) for tree in ensemble])
    order = np.argsort(-without_last_digits(ensemble.importances), kind="stable")
    return {
        "feature": [ensemble.schema.names[place] for place in order.tolist()],
        "importance": ensemble.importances[order].tolist(),
        "splits": asked.sum(axis=0)[order].tolist(),
        "trees": (asked > 0).mean(axis=0)[order].tolist(),
    }


def _asked(tree: Tree) -> Any:
    return tree.feature[tree.feature != LEAF]
