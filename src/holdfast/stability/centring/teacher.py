"""Teachers: models that are not one tree, and what they say of the rows that they have learnt from.

The mean of several models of different kinds moves less from sample to sample than any of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from holdfast.arrays import FloatArray, LongArray
from holdfast.backends.tasks import run_kept
from holdfast.data.schema import Target
from holdfast.data.split.row_keys import row_hashes, unit_keys
from holdfast.data.table import Table
from holdfast.distance.costs import fraction_of_range
from holdfast.ensembles.bagging import bagged_values
from holdfast.ensembles.bags import Sampling
from holdfast.ensembles.boosting import BoostingSettings, boost
from holdfast.errors import ParameterError
from holdfast.growth.rules import Categories, GrowthRules
from holdfast.random_streams import Branch, derived_seed
from holdfast.stability.centring.design_matrix import compact_design_matrix, design_matrix, kernel_features
from holdfast.stability.centring.names import TEACHER_NAMES
from holdfast.stability.settings import StabilitySettings
from holdfast.text.lists import listed
from holdfast.tree.tree import label_array

if TYPE_CHECKING:
    from holdfast.stability.centring.design_matrix import Matrix

N_TREES = 200
LEAST_ROWS = 5  # in a leaf of a teacher's tree
N_ROUNDS, RATE, DEPTH = 150, 0.05, 3
MOST_NEWTON = 500  # columns
RIDGE, KERNEL_RIDGE = 0.1, 0.5  # the inverse of the penalty, as scikit-learn's C
SOLVED = 1e-9  # of equations that are solved step by step: the error that is left


@dataclass(frozen=True, eq=False)
class Pupils:
    """The rows that a teacher learns from, and what it needs to know besides."""

    table: Table  # weighted as the classes are to count
    groups: LongArray | None
    seed: int
    n_jobs: int | None
    categories: Categories = "shrunk"

    @property
    def is_classes(self) -> bool:
        """True for classes, False for numbers."""
        return self.table.schema.target.is_classes


def check_teacher(teacher: Any) -> None:
    """Raise a ParameterError unless it is the name of a teacher, an estimator, or a list of them."""
    for each in teacher if isinstance(teacher, list | tuple) else [teacher]:
        if isinstance(each, str) and each not in TEACHER_NAMES:
            raise ParameterError(
                f"teacher={each!r} is unknown: choose one of {listed(TEACHER_NAMES)}, or give an "
                "estimator, or a list of them."
            )
        if not isinstance(each, str) and not (hasattr(each, "fit") and hasattr(each, "get_params")):
            raise ParameterError(
                f"teacher has a {type(each).__name__}: give names or estimators that can be cloned."
            )
    if isinstance(teacher, list | tuple) and not teacher:
        raise ParameterError("teacher=[] teaches nothing: give at least one name or estimator.")


def taught(pupils: Pupils, teacher: Any) -> FloatArray:
    """What the teacher says of every row: fractions of the classes, or a number from 0 to 1.

    `teacher` is one of TEACHERS or PARTS, an estimator, or a list of these, whose mean counts.
    """
    names = teacher if isinstance(teacher, list | tuple) else [teacher]
    parts: dict[Any, float] = {}
    for each in names:
        shares = TEACHERS[each] if isinstance(each, str) and each in TEACHERS else {each: 1.0}
        for part, share in shares.items():
            parts[part] = parts.get(part, 0.0) + share / sum(shares.values())
    total = sum(parts.values())
    target, answers = pupils.table.schema.target, np.zeros((pupils.table.n_rows, 1))
    if target.is_classes and len(present := np.unique(pupils.table.target)) == 1:  # nothing to learn
        return np.asarray(np.eye(len(target.classes))[np.full(pupils.table.n_rows, present[0])], np.float64)
    for part, share in parts.items():
        teach = PARTS[part] if isinstance(part, str) else partial(_foreign, estimator=part)
        answers = answers + (share / total) * run_kept("Teacher", teach, pupils)
    return np.clip(answers, 0.0, 1.0)


# -- trees ----------------------------------------------------------------------------------------------


def _forest(pupils: Pupils) -> FloatArray:
    rules = GrowthRules(
        criterion="gini" if pupils.is_classes else "squared_error",
        min_samples_leaf=LEAST_ROWS,
        categories=pupils.categories,
        max_features="sqrt" if pupils.is_classes else "third",
    )
    return _bagged(pupils, rules, Sampling(pupils.seed, groups=pupils.groups, branch=Branch.TEACHER_FOREST))


def _extra_trees(pupils: Pupils) -> FloatArray:
    rules = GrowthRules(
        criterion="gini" if pupils.is_classes else "squared_error",
        min_samples_leaf=LEAST_ROWS,
        categories=pupils.categories,
        max_features="sqrt" if pupils.is_classes else "third",
        splitter="random",
    )
    return _bagged(pupils, rules, Sampling(pupils.seed, bootstrap=False, branch=Branch.TEACHER_EXTRA_TREES))


def _bagged(pupils: Pupils, rules: GrowthRules, sampling: Sampling) -> FloatArray:
    return bagged_values(
        pupils.table, rules, N_TREES, sampling=sampling, are_draws=False, n_jobs=pupils.n_jobs
    )


def _boosting(pupils: Pupils) -> FloatArray:
    """All rows in every round: nothing is drawn, and another seed changes nothing."""
    settings = BoostingSettings(
        "log_loss" if pupils.is_classes else "squared_error",
        n_estimators=N_ROUNDS,
        learning_rate=RATE,
        max_depth=DEPTH,
        categories=pupils.categories,
    )
    seed = derived_seed(pupils.seed, Branch.TEACHER_BOOSTING)
    boosted = boost(pupils.table, settings, seed=seed, n_jobs=pupils.n_jobs)
    return boosted.ensemble.values(pupils.table, n_jobs=pupils.n_jobs)


# -- sums -----------------------------------------------------------------------------------------------


def _linear(pupils: Pupils) -> FloatArray:
    return _ridge(pupils, compact_design_matrix(pupils.table), RIDGE)


def _kernel(pupils: Pupils) -> FloatArray:
    keys = unit_keys(pupils.table, pupils.groups)
    stream = (pupils.seed, Branch.TEACHER_LANDMARKS)
    n_features = len(pupils.table.schema.columns)
    with threadpool_limits(1, user_api="blas"):
        matrix = kernel_features(compact_design_matrix(pupils.table), keys, stream, n_features)
    return _ridge(pupils, matrix, KERNEL_RIDGE)


def _ridge(pupils: Pupils, matrix: "Matrix", c: float) -> FloatArray:
    """A logistic or linear model with a penalty on the squares of its coefficients."""
    # One thread: sums of floats must not depend on how many there are.
    with threadpool_limits(1, user_api="blas"):
        return _penalised(pupils.table, matrix, c)


def _penalised(table: Table, matrix: "Matrix", c: float) -> FloatArray:
    from sklearn.linear_model import LogisticRegression, Ridge

    weight = None if table.weight is None else table.weight / table.weight.mean()
    if not table.schema.target.is_classes:
        centre = np.average(table.target, weights=weight)
        spread = np.sqrt(np.average((table.target - centre) ** 2, weights=weight)) or 1.0
        # Of a dense matrix the equations are solved at once, and the tolerance is not asked for.
        model = Ridge(alpha=1.0 / c, tol=SOLVED).fit(
            matrix, (table.target - centre) / spread, sample_weight=weight
        )
        return np.asarray(model.predict(matrix)[:, None] * spread + centre, np.float64)
    answers = np.zeros((table.n_rows, len(table.schema.target.classes)))
    present = np.unique(table.target)  # two at least, or there was nothing to teach
    # Newton's method comes to the same digits on every machine, but takes the square of many columns.
    by_newton = len(present) == 2 and matrix.shape[1] <= MOST_NEWTON
    model = LogisticRegression(
        C=c, solver="newton-cholesky" if by_newton else "lbfgs", tol=1e-6, max_iter=1000
    )
    answers[:, present] = model.fit(matrix, table.target, sample_weight=weight).predict_proba(matrix)
    return answers


# -- what the user gives --------------------------------------------------------------------------------


def _foreign(pupils: Pupils, estimator: Any) -> FloatArray:
    """What a clone of an estimator says; it sees the columns as a matrix of numbers."""
    from sklearn.base import clone
    from sklearn.utils.validation import has_fit_parameter

    table, matrix, model = pupils.table, design_matrix(pupils.table), clone(estimator)
    if model.get_params(deep=False).get("random_state", 0) is None:
        model.set_params(random_state=derived_seed(pupils.seed, Branch.TEACHER_ESTIMATOR) % 2**31)
    weighed = table.weight is not None and has_fit_parameter(model, "sample_weight")
    weight = {"sample_weight": table.weight} if weighed else {}
    if not pupils.is_classes:
        return np.asarray(model.fit(matrix, table.target, **weight).predict(matrix), np.float64)[:, None]
    classes = table.schema.target.classes
    model.fit(matrix, label_array(classes)[table.target], **weight)
    said = np.asarray(model.predict_proba(matrix), np.float64)
    place = {label: number for number, label in enumerate(classes)}
    answers = np.zeros((table.n_rows, len(classes)))
    answers[:, [place[label] for label in label_array(model.classes_).tolist()]] = said
    return answers


Part = Callable[[Pupils], FloatArray]

# The parts by name; a further one is a function here and a line in this table.
PARTS: Mapping[str, Part] = {
    "forest": _forest,
    "extra-trees": _extra_trees,
    "boosting": _boosting,
    "linear": _linear,
    "kernel": _kernel,
}

# Teachers of several parts, and how much each of them counts.
TEACHERS: Mapping[str, Mapping[Any, float]] = {
    "blend": {"forest": 1.0, "extra-trees": 1.0, "boosting": 1.0, "linear": 2.0, "kernel": 2.0},
}


def pupils_of(
    table: Table, weight: FloatArray, groups: LongArray | None, settings: StabilitySettings
) -> Pupils:
    """The rows, weighted as they are to count, and numbers from 0 to 1."""
    if table.weight is not None or not (weight == 1.0).all():
        table = replace(table, weight=weight)
    target = table.schema.target
    if not target.is_classes:  # squares of fractions neither overflow nor vanish
        fraction = np.zeros(table.n_rows)
        if target.low < target.high:
            fraction = fraction_of_range(table.target, target.low, target.low, target.high)
        schema = replace(table.schema, target=Target(target.name))
        identity = row_hashes(table)  # what is drawn for a row goes by what it was
        table = Table(schema, table.columns, fraction, table.weight, identity)
    return Pupils(table, groups, settings.seed, settings.n_jobs, settings.rules.categories)
