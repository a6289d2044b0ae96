"""What grows the trees of a collection: the learners' common face, the grid, and our own rules."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, Protocol

from holdfast.arrays import IntArray
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.grow import grow_samples
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import FixedPointSample, fixed_point_samples
from holdfast.text.lists import listed
from holdfast.tree.tree import Tree

Combination = Mapping[str, Any]  # one value for each parameter of a grid

SHALLOWEST, DEEPEST = 3, 12
LEAF_SIZES = (3, 5, 10, 30, 50)


class Learner(Protocol):
    """Grows trees on samples of one table for several combinations of parameters."""

    @property
    def combinations(self) -> Sequence[Combination]:
        """Combinations of parameters."""

    @property
    def repeats(self) -> IntArray:
        """Number of rows that each row of the table stands for."""

    def trees(self, combination: int, samples: Sequence[IntArray], seeds: Sequence[int]) -> list[Tree]:
        """Grow trees on samples of the rows."""

    def leaf_sample(self, combination: int) -> FixedPointSample | None:
        """Rows for refitting leaf values; None if they cannot be refitted."""


def paper_grid(max_depth: int | None, n_rows: int, least: int = 1) -> dict[str, list[Any]]:
    """Return the paper's grid up to `max_depth`, as far as the rows allow a split.

    No leaf may have fewer rows than `least`.

    >>> paper_grid(5, 100)
    {'max_depth': [3, 4, 5], 'min_samples_leaf': [3, 5, 10, 30, 50]}
    """
    deepest = DEEPEST if max_depth is None else max_depth
    depths = list(range(SHALLOWEST, deepest + 1)) or [deepest]
    sizes = [size for size in LEAF_SIZES if least <= size and 2 * size <= n_rows] or [least]
    return {"max_depth": depths, "min_samples_leaf": sizes}


def combinations_of(grid: Mapping[str, Iterable[Any]]) -> tuple[Combination, ...]:
    """List all combinations of a grid, the last parameter varying fastest."""
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ParameterError(f"grid has {values!r} for {name}: it must be a list of values to try.")
    choices = {name: list(values) for name, values in grid.items()}
    for name, values in choices.items():
        if not values:
            raise ParameterError(f"grid has no value for {name}: give at least one, or leave {name} out.")
    return tuple(dict(zip(choices, values, strict=True)) for values in product(*choices.values()))


# -- our own rules --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OwnLearner:
    """Grows trees by growth rules."""

    table: Table
    rules: tuple[GrowthRules, ...]  # one of each combination
    fixed: tuple[FixedPointSample, ...]  # for each combination
    combinations: tuple[Combination, ...]

    @property
    def repeats(self) -> IntArray:
        """Number of rows that each row of the table stands for."""
        return self.fixed[0].repeats

    def trees(self, combination: int, samples: Sequence[IntArray], seeds: Sequence[int]) -> list[Tree]:
        """Grow the trees of the samples."""
        return grow_samples(self.table, self.rules[combination], self.fixed[combination], samples, seeds)

    def leaf_sample(self, combination: int) -> FixedPointSample:
        """Rows on which the trees are grown."""
        return self.fixed[combination]


def own_learner(table: Table, rules: GrowthRules, combinations: Sequence[Combination]) -> OwnLearner:
    """Make a learner that grows by these rules, with one change per combination."""
    known = {field.name for field in fields(GrowthRules)}
    strange = [name for name in combinations[0] if name not in known]
    if strange:
        raise ParameterError(
            f"grid has {listed(strange)}, which no growth rule is called: choose from {sorted(known)}."
        )
    all_rules = tuple(replace(rules, **combination) for combination in combinations)
    _ = table.coded  # before the threads start
    return OwnLearner(table, all_rules, fixed_point_samples(table, all_rules), tuple(combinations))
