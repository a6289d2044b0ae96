"""What grows the trees of a collection: our own rules, or what the user gives in their place."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.adapters import as_tree, needs_integer_classes
from holdfast.arrays import FloatArray, IntArray
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.criteria import CLASS_CRITERIA, is_for_numbers
from holdfast.growth.learner import Combination, Learner, combinations_of, own_learner, paper_grid
from holdfast.growth.rules import GrowthRules, rows_needed
from holdfast.growth.sample import FixedPointSample, fixed_point_samples, split_weight
from holdfast.stability.rows import PreparedRows
from holdfast.stability.settings import StabilitySettings
from holdfast.text.lists import listed
from holdfast.tree.tree import Tree, label_array


def learner_for(rows: PreparedRows, settings: StabilitySettings) -> Learner:
    """The learner that the settings ask for, with all combinations of the grid."""
    grid, learner = settings.grid, settings.learner
    if grid is None and (learner is None or hasattr(learner, "get_params")):
        grid = _default_grid(rows, settings)
        if learner is not None:
            known = learner.get_params(deep=False)
            grid = {name: values for name, values in grid.items() if name in known}
    if learner is not None and (settings.rules.loss_matrix, settings.rules.priors) != (None, None):
        raise ParameterError(
            "loss_matrix and priors are for trees of our own rules, and a learner is given: leave them "
            "None, or learner=None."
        )
    combinations = combinations_of(grid or {})
    if learner is None:
        rows.table.code(settings.n_jobs)
        return own_learner(rows.table, settings.rules, combinations)
    return foreign_learner(rows.table, learner, combinations)


def _default_grid(rows: PreparedRows, settings: StabilitySettings) -> dict[str, list[Any]]:
    """The paper's grid, as far as the fewest early rows of any division leave room for it."""
    repeats, _ = split_weight(rows.table.weight, rows.table.n_rows)
    n_early = min(int(repeats[early].sum()) for early in rows.division.early_training)
    rules = settings.rules
    return paper_grid(rules.max_depth, n_early, rows_needed(rules.min_samples_leaf, n_early))


@dataclass(frozen=True, eq=False)
class ForeignLearner:
    """Grows trees with a function of rows, labels and a seed that returns a model."""

    table: Table
    matrix: FloatArray
    repeats: IntArray
    importance: FloatArray | None
    fit: Callable[..., Any]
    parameters: Mapping[str, Any]  # of the learner, before a combination changes some
    combinations: tuple[Combination, ...]
    numbered: bool = False  # the learner takes the numbers of the classes instead of their labels

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
        criterion = parameters.get("criterion") or ("gini" if is_classes else "squared_error")
        if criterion not in CLASS_CRITERIA if is_classes else not is_for_numbers(criterion):
            return None
        return GrowthRules(criterion=criterion, class_weight=parameters.get("class_weight"))

    def _tree(self, combination: Combination, counts: IntArray, seed: int) -> Tree:
        rows = np.repeat(np.arange(len(counts)), counts)
        target = self.table.schema.target
        named = target.is_classes and not self.numbered
        y = label_array(target.classes)[self.table.target] if named else self.table.target
        weight = {} if self.importance is None else {"sample_weight": self.importance[rows]}
        model = self.fit(self.matrix[rows], y[rows], seed=seed, **weight, **combination)
        classes = target.classes if target.is_classes and self.numbered else None
        return as_tree(model, schema=self.table.schema, classes=classes)


def foreign_learner(table: Table, learner: Any, combinations: Sequence[Combination]) -> ForeignLearner:
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
        raise ParameterError(
            f"The learner {type(learner).__name__} would take the categories of {listed(names)} for numbers. "
            "Leave learner=None, which splits them as sets, or give a function that encodes them."
        )
    repeats, importance = split_weight(table.weight, table.n_rows)
    return ForeignLearner(
        table=table,
        matrix=table.rows(range(len(table.schema.columns))),
        repeats=repeats,
        importance=None if (importance == 1.0).all() else importance,
        fit=_Fitting(learner) if is_estimator else learner,
        parameters=learner.get_params(deep=False) if is_estimator else {},
        combinations=tuple(combinations),
        numbered=is_estimator and needs_integer_classes(learner),
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
