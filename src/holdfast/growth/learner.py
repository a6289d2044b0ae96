"""What grows the trees of a collection: our own rules, an estimator of another library, or a function."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from typing import Any, Protocol

import numpy as np

from holdfast.adapters import as_tree
from holdfast.arrays import FloatArray, IntArray
from holdfast.data.table import Table
from holdfast.errors import RulesError
from holdfast.growth.criteria import CLASS_CRITERIA, NUMBER_CRITERIA
from holdfast.growth.grow import grow_samples
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import FixedPointSample, fixed_point_samples, split_weight
from holdfast.text.lists import listed
from holdfast.tree.tree import Tree, label_array

Combination = Mapping[str, Any]  # one value for each parameter of a grid

SHALLOWEST, DEEPEST = 3, 12
LEAF_SIZES = (3, 5, 10, 30, 50)


class Learner(Protocol):
    """Grows trees on samples of one table, by any of several combinations of parameters."""

    @property
    def combinations(self) -> Sequence[Combination]:
        """What the trees can be grown with."""

    @property
    def repeats(self) -> IntArray:
        """How many rows each row of the table stands for."""

    def trees(self, combination: int, samples: Sequence[IntArray], seeds: Sequence[int]) -> list[Tree]:
        """The trees on samples of the rows, each row repeated as often as its sample says."""

    def leaf_sample(self, combination: int) -> FixedPointSample | None:
        """The rows of the table by which its trees could take other leaf values; None if they cannot."""


def paper_grid(max_depth: int | None, n_rows: int, least: int = 1) -> dict[str, list[Any]]:
    """The paper's grid, as far as `max_depth` goes and as the rows leave room for a split.

    No leaf may have fewer rows than `least`.

    >>> paper_grid(5, 100)
    {'max_depth': [3, 4, 5], 'min_samples_leaf': [3, 5, 10, 30, 50]}
    """
    deepest = DEEPEST if max_depth is None else max_depth
    depths = list(range(SHALLOWEST, deepest + 1)) or [deepest]
    sizes = [size for size in LEAF_SIZES if least <= size and 2 * size <= n_rows] or [least]
    return {"max_depth": depths, "min_samples_leaf": sizes}


def combinations_of(grid: Mapping[str, Iterable[Any]]) -> tuple[Combination, ...]:
    """All combinations of the values in a grid, the last parameter running fastest."""
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise RulesError(f"grid has {values!r} for {name}: it must be a list of values to try.")
    choices = {name: list(values) for name, values in grid.items()}
    for name, values in choices.items():
        if not values:
            raise RulesError(f"grid has no value for {name}: give at least one, or leave {name} out.")
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
        """How many rows each row of the table stands for."""
        return self.fixed[0].repeats

    def trees(self, combination: int, samples: Sequence[IntArray], seeds: Sequence[int]) -> list[Tree]:
        """The trees of the samples."""
        return grow_samples(self.table, self.rules[combination], self.fixed[combination], samples, seeds)

    def leaf_sample(self, combination: int) -> FixedPointSample:
        """The rows that the trees are grown on."""
        return self.fixed[combination]


def own_learner(table: Table, rules: GrowthRules, combinations: Sequence[Combination]) -> OwnLearner:
    """A learner that grows by these rules, each combination changing some of them."""
    known = {field.name for field in fields(GrowthRules)}
    strange = [name for name in combinations[0] if name not in known]
    if strange:
        raise RulesError(
            f"grid has {listed(strange)}, which no growth rule is called: choose from {sorted(known)}."
        )
    all_rules = tuple(replace(rules, **combination) for combination in combinations)
    _ = table.coded  # before the threads start
    return OwnLearner(table, all_rules, fixed_point_samples(table, all_rules), tuple(combinations))


# -- others ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OtherLearner:
    """Grows trees with a function of rows, labels and a seed that returns a model."""

    table: Table
    matrix: FloatArray
    repeats: IntArray
    importance: FloatArray | None
    fit: Callable[..., Any]
    parameters: Mapping[str, Any]  # of the learner, before a combination changes some
    combinations: tuple[Combination, ...]

    def trees(self, combination: int, samples: Sequence[IntArray], seeds: Sequence[int]) -> list[Tree]:
        """The trees of the samples."""
        return [
            self._tree(self.combinations[combination], counts, seed)
            for counts, seed in zip(samples, seeds, strict=True)
        ]

    def leaf_sample(self, combination: int) -> FixedPointSample | None:
        """The rows, weighted as the learner weights them; None if its leaves are no means of theirs."""
        return self._leaf_samples[combination]

    @cached_property
    def _leaf_samples(self) -> list[FixedPointSample | None]:
        rules = [self._leaf_rules(combination) for combination in self.combinations]
        samples = iter(fixed_point_samples(self.table, [each for each in rules if each is not None]))
        return [None if each is None else next(samples) for each in rules]

    def _leaf_rules(self, combination: Combination) -> GrowthRules | None:
        parameters = {**self.parameters, **combination}
        is_classes = self.table.schema.target.is_classes
        known = CLASS_CRITERIA if is_classes else NUMBER_CRITERIA
        criterion = parameters.get("criterion") or ("gini" if is_classes else "squared_error")
        if criterion not in known:  # medians, say
            return None
        return GrowthRules(criterion=criterion, class_weight=parameters.get("class_weight"))

    def _tree(self, combination: Combination, counts: IntArray, seed: int) -> Tree:
        rows = np.repeat(np.arange(len(counts)), counts)
        target = self.table.schema.target
        y = label_array(target.classes)[self.table.target] if target.is_classes else self.table.target
        weight = {} if self.importance is None else {"sample_weight": self.importance[rows]}
        model = self.fit(self.matrix[rows], y[rows], seed=seed, **weight, **combination)
        return as_tree(model, schema=self.table.schema)


def other_learner(table: Table, learner: Any, combinations: Sequence[Combination]) -> OtherLearner:
    """A learner that fits clones of an estimator, or calls a function `learner(X, y, seed, **combination)`.

    X is a matrix of the columns, drawn rows repeated, with categories as their numbers in the schema; y are
    the labels or numbers. If the rows have weights that are not whole, `sample_weight` is passed as well. The
    function returns a Tree, or a model that `as_tree` reads.
    """
    if isinstance(learner, type):
        raise TypeError(f"learner is the class {learner.__name__}: give an instance, {learner.__name__}().")
    is_estimator = hasattr(learner, "fit") and hasattr(learner, "get_params")
    if not is_estimator and not callable(learner):
        raise TypeError(
            f"learner is a {type(learner).__name__}: it must be an estimator with fit, or a function "
            "learner(X, y, seed, **parameters) that returns a tree."
        )
    names = [feature.name for feature in table.schema.columns if feature.is_subset]
    if is_estimator and names:
        raise RulesError(
            f"The learner {type(learner).__name__} would take the categories of {listed(names)} for numbers. "
            "Leave learner=None, which splits them as sets, or give a function that encodes them."
        )
    repeats, importance = split_weight(table.weight, table.n_rows)
    return OtherLearner(
        table=table,
        matrix=table.rows(range(len(table.schema.columns))),
        repeats=repeats,
        importance=None if (importance == 1.0).all() else importance,
        fit=_Fitting(learner) if is_estimator else learner,
        parameters=learner.get_params(deep=False) if is_estimator else {},
        combinations=tuple(combinations),
    )


@dataclass(frozen=True)
class _Fitting:
    """An estimator as a function that fits a clone of it."""

    estimator: Any

    def __call__(
        self, X: FloatArray, y: Any, *, seed: int, sample_weight: Any = None, **parameters: Any
    ) -> Any:
        from sklearn.base import clone

        model = clone(self.estimator).set_params(**parameters)
        if "random_state" in model.get_params(deep=False):
            model.set_params(random_state=seed % 2**31)
        return model.fit(X, y) if sample_weight is None else model.fit(X, y, sample_weight=sample_weight)
