"""Optimal trees (pystreed) and near-optimal trees (ArborEnum) as estimators, for the study of retraining.

pip install pystreed arborenum
python -m benchmarks.studies.retraining --methods cart-cv,consensus,optimal,near-optimal
python -m benchmarks.studies.solvers.check
"""

from typing import Any

NAMES = ("optimal", "near-optimal", "near-optimal-nearest")


def make_solver(name: str, is_classes: bool) -> Any:
    """The estimator of a solver by its name; near-optimal trees are for classes only."""
    if name == "optimal":
        from benchmarks.studies.solvers.optimal import OptimalTreeClassifier, OptimalTreeRegressor

        return OptimalTreeClassifier() if is_classes else OptimalTreeRegressor()
    from benchmarks.studies.solvers.near_optimal import NearestTreeClassifier, NearOptimalTreeClassifier

    if not is_classes:
        raise SystemExit(f"{name} is for classes")
    return NearOptimalTreeClassifier() if name == "near-optimal" else NearestTreeClassifier()
