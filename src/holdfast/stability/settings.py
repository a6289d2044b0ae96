"""How stable trees are trained."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from holdfast.backends.tasks import check_jobs
from holdfast.errors import ParameterError
from holdfast.growth.rules import GrowthRules

DEPTH_5 = GrowthRules(max_depth=5)


@dataclass(frozen=True)
class StabilitySettings:
    """How stable trees are trained. All that decides about the result is here, but for the data.

    The estimators have a parameter of the same name for each field, apart from `rules` and `seed`, which are
    made of several parameters and of `random_state`.
    """

    rules: GrowthRules = DEPTH_5
    grid: Mapping[str, Iterable[Any]] | None = None  # None: the paper's, as far as max_depth goes
    learner: Any = None  # None: our own; or an estimator, or a function
    method: str = "bootstrap"  # one of METHODS
    n_estimators: int = 300  # of each collection
    early_fraction: float = 0.5
    validation: float | str = "auto"
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
        n_estimators = self.n_estimators
        if not isinstance(n_estimators, Integral) or isinstance(n_estimators, bool) or n_estimators < 1:
            raise ParameterError(
                f"n_estimators={n_estimators!r} is out of range: it must be an integer of at least 1."
            )
        if self.grid is not None and not isinstance(self.grid, Mapping):
            raise ParameterError(
                f"grid={self.grid!r} is no grid: give a list of values for each parameter, such as "
                "{'max_depth': [3, 4, 5]}, or None."
            )
