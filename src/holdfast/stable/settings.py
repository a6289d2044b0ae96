"""Settings of stable trees."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from holdfast._check import check_integer
from holdfast._choices import (
    MOST_LEAVES,
    TEACHER_NAMES,
)
from holdfast.errors import ParameterError
from holdfast.growth.rules import CART, GrowthRules
from holdfast.parallel.tasks import check_jobs

DEPTH_5 = GrowthRules(max_depth=5)
N_STUDENTS, N_TREES = 100, 300  # of each collection, for "consensus" and for other methods


@dataclass(frozen=True, repr=False)
class StabilityRules:
    """Details of stable trees that few people set, for `StableTreeClassifier(stability_rules=...)`.

    Parameters
    ----------
    thresholds : str
        For consensus trees: "round" splits numbers at 16 to 24 round thresholds for every feature, with at
        least a thirty-second of the rows between them; "exact" splits between any two values.
    early_fraction : float
        Fraction of the rows that are early, if `fit` gets no stages and no early rows.
    tolerance_unit : str, optional
        Unit of `tolerance`: "absolute", "relative" to the best score, "standard-error" for a multiple of the
        standard error of the best score, "teacher" for the fraction of the fit to the teacher that a
        consensus tree may lose, or "or-standard-error" for the usual one of the first two, or one standard
        error if that is more. None: "teacher" for consensus trees; otherwise relative for losses and absolute
        for other scores.
    instability_weight : float, optional
        For `selection_rule="weighted"`: the score that one unit of instability is worth.
    matching, label_weight, outcome
        How distances between trees are measured, as in `tree_distance`.
    refit_leaves : bool
        For method="bootstrap": estimate the leaf values on all rows; the splits stay.
    shrink_scores : bool
        For method="bootstrap": shrink each score towards the mean of the candidates with the same parameters,
        as far as the differences between them are chance. Scorers of other libraries are never shrunk.

    Examples
    --------
    >>> from holdfast import StableTreeClassifier
    >>> model = StableTreeClassifier(stability_rules=StabilityRules(thresholds="exact"))
    """

    thresholds: str = "round"
    early_fraction: float = 0.5
    tolerance_unit: str | None = None
    instability_weight: float | None = None
    matching: str = "paper"
    label_weight: float | None = None
    outcome: str | None = None
    refit_leaves: bool = True
    shrink_scores: bool = True

    def __repr__(self) -> str:
        """The rules that are not the default."""
        explicit = {each.name: getattr(self, each.name) for each in fields(self)}
        texts = [
            f"{name}={value!r}" for name, value in explicit.items() if value != getattr(type(self), name)
        ]
        return f"StabilityRules({', '.join(texts)})"


# Parameters that hold what few people set, and the values that are used for those that are not given.
GROUPS: dict[str, Any] = {"growth_rules": CART, "stability_rules": StabilityRules()}


@dataclass(frozen=True)
class StabilitySettings:
    """Settings of the training of stable trees, which with the data determine the result.

    The estimators have a parameter of the same name for each field, or their `stability_rules` have, apart
    from `rules` and `seed`, which are made of several parameters and of `random_state`, `is_size_open` and
    `is_depth_open`, which are "auto" for `max_leaf_nodes` and `max_depth`, and `shrinkage`, which folds
    choose.
    """

    rules: GrowthRules = DEPTH_5
    grid: Mapping[str, Iterable[Any]] | None = None  # None: the paper's, as far as max_depth goes
    learner: Any = None  # None: our own; or an estimator, or a function
    method: str = "consensus"  # one of METHODS
    n_estimators: int | None = None  # trees of each collection; None: 100 students of "consensus", else 300
    teacher: Any = "blend"  # for "consensus": a name, an estimator, or a list of them
    is_size_open: bool = False  # for "consensus": rows held out choose the most leaves, instead of the rules
    is_depth_open: bool = False  # for "consensus": trees of more than twelve leaves may be of any depth
    thresholds: str = "round"  # for "consensus": one of THRESHOLDS
    leaf_values: str = "posterior"  # one of LEAF_VALUES; those of a teacher are labels for other methods
    shrinkage: float | None = None  # for updates of trees with shrunk leaves: the strength of their training
    tolerance: float | None = None  # for "consensus": of the chosen candidate
    early_fraction: float = 0.5
    validation: float | str | None = "auto"  # None: for "consensus" alone
    scoring: Any = None
    matching: str = "paper"
    label_weight: float | None = None  # None: twice the depth
    outcome: str | None = None
    refit_leaves: bool = True  # leaf values from all rows; for "bootstrap"
    shrink_scores: bool = True  # towards the mean of candidates grown alike; for "bootstrap"
    seed: int = 0
    n_jobs: int | None = None
    verbose: bool = False

    def __post_init__(self) -> None:
        check_jobs(self.n_jobs)
        if self.scoring is None and self.rules.predicts_quantiles:  # which R² does not measure
            object.__setattr__(self, "scoring", self.rules.criterion_name)
        check_integer("n_estimators", self.n_estimators, none_ok=True)
        if self.grid is not None and not isinstance(self.grid, Mapping):
            raise ParameterError(
                f"grid={self.grid!r} is no grid: give a list of values for each parameter, such as "
                "{'max_depth': [3, 4, 5]}, or None."
            )

    def with_size(self, max_leaf_nodes: int) -> "StabilitySettings":
        """The settings for consensus trees of at most `max_leaf_nodes` leaves."""
        depth = None if self.is_depth_open and max_leaf_nodes > MOST_LEAVES else self.rules.max_depth
        rules = replace(self.rules, max_leaf_nodes=max_leaf_nodes, max_depth=depth)
        return replace(self, rules=rules, is_size_open=False)

    @property
    def has_teacher_values(self) -> bool:
        """True if the teacher's predictions enter the leaf values."""
        return self.method == "consensus" and self.leaf_values in TEACHER_VALUES

    @property
    def n_trees(self) -> int:
        """Trees of each collection."""
        usual = N_STUDENTS if self.method == "consensus" else N_TREES
        return usual if self.n_estimators is None else int(self.n_estimators)


# -- The methods, the selection rules and the units of a tolerance by name -----------------------------------

BY_NUMBER = "candidate"  # the rule of a candidate that was named

# What a tolerance is if none is given.
SCORE_TOLERANCE = 0.01
TEACHER_TOLERANCE = 0.06  # as a fraction of what the student explains of the teacher's variance

# -- Names for method="consensus" --------------------------------------------------------------------------

# What teachers are called: first those of several parts, then the parts. `teacher.py` has what they are.
TEACHER_VALUES = ("posterior", "teacher")  # leaf values that depend on a teacher
DEFAULT_TEACHER = TEACHER_NAMES[0]
