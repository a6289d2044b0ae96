"""A number of jobs is an integer other than 0, or None; anything else is refused before the work."""

from typing import Any

import numpy as np
import pytest

from holdfast import ParameterError, Table, TreeClassifier, compare_models, distance_matrix, grow
from holdfast.distance import mean_distance
from holdfast.ensembles.bagging import grow_bagging
from holdfast.ensembles.boosting import BoostingSettings, boost
from holdfast.ensembles.importances import permutation_importance
from holdfast.ensembles.max_features import MaxFeaturesSearch
from holdfast.ensembles.out_of_bag import out_of_bag
from holdfast.growth import SizeSearch, choose_size, grow_bootstraps
from holdfast.growth.leaf_values import refit_all_leaf_values
from holdfast.growth.rules import CART
from holdfast.stable.settings import StabilitySettings
from reference.every_estimator import CLASSIFIERS, REGRESSORS

X, Y = np.arange(20.0)[:, None], np.arange(20) % 2
TABLE = Table.from_arrays(X, Y)
BAGGING = grow_bagging(TABLE, n_estimators=2)
TREE = grow(TABLE)
OUT_OF_RANGE = [0, 1.0, "2", True]

WITH_JOBS = [
    (kind, name)
    for kind, factories in (("classes", CLASSIFIERS), ("numbers", REGRESSORS))
    for name, factory in factories.items()
    if "n_jobs" in factory().get_params()
]


@pytest.mark.parametrize("n_jobs", OUT_OF_RANGE)
@pytest.mark.parametrize(("kind", "name"), WITH_JOBS)
def test_every_estimator_refuses_it_before_it_reads_the_rows(kind: str, name: str, n_jobs: Any) -> None:
    model = (CLASSIFIERS if kind == "classes" else REGRESSORS)[name]().set_params(n_jobs=n_jobs)
    with pytest.raises(ParameterError, match=f"^n_jobs={n_jobs!r} is out of range"):
        model.fit([["no", "table"]], [None])


@pytest.mark.parametrize("name", ["bagging", "forest", "boosting", "AdaBoost"])
def test_predictions_of_few_rows_refuse_it_too(name: str) -> None:
    model = CLASSIFIERS[name]().fit(X, Y)
    model.set_params(n_jobs=0)
    for call in (model.predict, model.apply, lambda rows: list(model.staged_predict(rows))):
        with pytest.raises(ParameterError, match=r"^n_jobs=0 is out of range"):
            call(X)


@pytest.mark.parametrize(
    "call",
    [
        lambda n_jobs: grow_bootstraps(TABLE, n_estimators=0, n_jobs=n_jobs),
        lambda n_jobs: grow_bagging(TABLE, n_jobs=n_jobs),
        lambda n_jobs: out_of_bag(BAGGING, TABLE, n_jobs=n_jobs),
        lambda n_jobs: permutation_importance(BAGGING, TABLE, n_jobs=n_jobs),
        lambda n_jobs: boost(TABLE, BoostingSettings("log_loss"), n_jobs=n_jobs),
        lambda n_jobs: refit_all_leaf_values([TREE], TABLE, [CART], n_jobs=n_jobs),
        lambda n_jobs: choose_size(TABLE, search=SizeSearch(n_jobs=n_jobs)),
        lambda n_jobs: distance_matrix([], n_jobs=n_jobs),
        lambda n_jobs: mean_distance([TREE], [TREE], n_jobs=n_jobs),
        lambda n_jobs: compare_models([TreeClassifier()], X, Y, n_jobs=n_jobs),
        lambda n_jobs: BAGGING.ensemble.values(X, n_jobs=n_jobs),
        lambda n_jobs: BAGGING.ensemble.leaves(X, n_jobs=n_jobs),
        lambda n_jobs: StabilitySettings(method="bootstrap", n_jobs=n_jobs),
        lambda n_jobs: MaxFeaturesSearch(n_jobs=n_jobs),
    ],
)
@pytest.mark.parametrize("n_jobs", OUT_OF_RANGE)
def test_every_function_refuses_it(call: Any, n_jobs: Any) -> None:
    with pytest.raises(ParameterError, match=f"^n_jobs={n_jobs!r} is out of range"):
        call(n_jobs)
