"""What the leaves of stable trees rest on."""

from dataclasses import replace

from holdfast.arrays import LongArray
from holdfast.data.table import Table
from holdfast.evidence.leaf_evidence import with_evidence
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.training import StableTrees


def with_leaf_evidence(
    trained: StableTrees, table: Table, groups: LongArray | None, settings: StabilitySettings
) -> StableTrees:
    """The same, every candidate with what its leaves rest on, where it does not tell by itself.

    The groups are those that were given: copies of a row, which stable trees keep together, are none.
    """
    is_taught = settings.is_taught
    grown = trained.candidates
    trees = tuple(with_evidence(tree, table, groups, is_taught=is_taught) for tree in grown.trees)
    return replace(trained, candidates=replace(grown, trees=trees))
