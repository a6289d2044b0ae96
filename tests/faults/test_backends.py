"""Every function and estimator that takes n_jobs gives the same bits in threads and in other processes."""

import inspect
import tempfile
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config

import holdfast
from holdfast import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    BoostingClassifier,
    BoostingRegressor,
    ForestClassifier,
    ForestRegressor,
    StableSurvivalTree,
    StableTreeClassifier,
    StableTreeRegressor,
    SurvivalForest,
    SurvivalTree,
    Table,
    TreeClassifier,
    TreeRegressor,
    compare_models,
    distance_matrix,
    retrain_audit,
)
from holdfast.data import store_table
from holdfast.distance import mean_distance
from holdfast.ensembles.bagging import grow_bagging
from holdfast.ensembles.importances import permutation_importance
from holdfast.ensembles.out_of_bag import out_of_bag
from holdfast.evaluate.baselines import cart_by_cross_validation
from holdfast.evaluate.replications import replicate
from holdfast.growth import SizeSearch, choose_size, grow_bootstraps, grow_parts, grow_subsamples, leaf_values
from holdfast.growth.rules import CART, GrowthRules
from holdfast.growth.sample import fixed_point_sample
from holdfast.io.model_file import model_to_json
from holdfast.parallel.tasks import run_all
from holdfast.stable import candidates as validation
from holdfast.stable.settings import StabilitySettings
from holdfast.tree import ensemble as packed_ensemble
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

# "files": arrays of any size go to the other processes as files that they map, as large ones always do.
BACKENDS: dict[str, dict[str, Any]] = {
    "threading": {"backend": "threading"},
    "loky": {"backend": "loky"},
    "loky, files": {"backend": "loky", "max_nbytes": 1},
    "multiprocessing": {"backend": "multiprocessing"},
}

DRAW = np.random.default_rng(0)
X = np.column_stack([DRAW.normal(size=(120, 3)), DRAW.integers(0, 4, 120)])
CLASSES = np.where(X[:, 0] + DRAW.normal(size=120) > 0, "ill", "well")
NUMBERS = X[:, 1] + X[:, 3]
TIMES = np.arange(120.0) % 17 + 1, CLASSES == "ill"
ILL = Table.from_arrays(X, CLASSES, categorical_features=[3])
FOREST = GrowthRules(max_features=2)
TREES = grow_bootstraps(ILL, CART, 6)
BAGGING = grow_bagging(ILL, FOREST, 6)
FEW = StabilitySettings(method="bootstrap", n_estimators=6)


def fitted(model: Any) -> Callable[[], Any]:
    y: Any = NUMBERS if model.__sklearn_tags__().estimator_type == "regressor" else CLASSES
    y = TIMES if "Survival" in type(model).__name__ else y
    return lambda: _learnt(model.set_params(random_state=0).fit(X, y))


def _learnt(model: Any) -> Any:
    figures = ("oob_score_", "oob_curve_", "importances_", "sizes_", "frontier_", "n_estimators_")
    said = model.predict(X), *(repr(getattr(model, name)) for name in figures if hasattr(model, name))
    return getattr(model, "ensemble_", None) or model.tree_, said


def _stored(work: Callable[[Any], Any]) -> Any:
    """What comes of a table on disk that was made of two parts."""
    frame = pd.DataFrame(X, columns=list("abcd")).assign(outcome=CLASSES)
    with tempfile.TemporaryDirectory() as folder:
        return work(store_table(iter((frame[:70], frame[70:])), f"{folder}/table"))


WORK: dict[str, Callable[[], Any]] = {
    "TreeClassifier": fitted(TreeClassifier(ccp_alpha="cv")),
    "TreeRegressor": fitted(TreeRegressor(max_depth="cv")),
    "BaggingClassifier": fitted(BaggingClassifier(6, oob_score=True, permutation_importance=True)),
    "BaggingRegressor": fitted(BaggingRegressor(6)),
    "ForestClassifier": fitted(ForestClassifier(6, oob_score="auc", max_features="oob")),
    "ForestRegressor": fitted(ForestRegressor(6, max_features="cv", cv=2, permutation_importance=True)),
    "BoostingClassifier": fitted(BoostingClassifier(n_estimators=6, splits="binned")),
    "BoostingRegressor": fitted(BoostingRegressor(n_estimators=6, early_stopping=True)),
    "AdaBoostClassifier": fitted(AdaBoostClassifier(n_estimators=6)),
    "StableTreeClassifier": fitted(StableTreeClassifier(method="bootstrap", n_estimators=6)),
    "StableTreeRegressor": fitted(StableTreeRegressor(n_estimators=6, method="pruned")),
    "SurvivalTree": fitted(SurvivalTree(max_depth="cv")),
    "SurvivalForest": fitted(SurvivalForest(6, oob_score=True)),
    "StableSurvivalTree": fitted(StableSurvivalTree(n_estimators=6)),
    "grow_bootstraps": lambda: grow_bootstraps(ILL, CART, 6),
    "grow_subsamples": lambda: grow_subsamples(ILL, CART, 6, max_samples=0.5),
    "store_table": lambda: _stored(lambda table: (table.columns, table.coded.ranks, table.known_keys)),
    "grow_parts": lambda: _stored(grow_parts),
    "distance_matrix": lambda: distance_matrix(TREES),
    "mean_distance": lambda: mean_distance(TREES[:3], TREES[3:], at_most=2.0),
    "compare_models": lambda: _scores(
        compare_models(
            {"tree": TreeClassifier(), "forest": ForestClassifier(4, random_state=0)}, X, CLASSES, cv=3
        )
    ),
    "retrain_audit": lambda: _scores(
        retrain_audit(
            {"tree": TreeClassifier(ccp_alpha="cv"), "forest": ForestClassifier(4)},
            X,
            CLASSES,
            changes=("overlap", "fewer rows"),
            n_repeats=2,
        ).pairs
    ),
    "replicate": lambda: repr(replicate(ILL, FEW, n_replications=2).rows),
    "choose_size": lambda: choose_size(ILL, search=SizeSearch(cv=3)).tree,
    "Ensemble": lambda: (BAGGING.ensemble.scores(X), BAGGING.ensemble.leaves(X)),
    "grow_bagging": lambda: grow_bagging(ILL, FOREST, 6).ensemble,
    "out_of_bag": lambda: out_of_bag(BAGGING, ILL, "auc").values,
    "permutation_importance": lambda: permutation_importance(BAGGING, ILL, progress="Bar")[0].mean,
    "refit_all_leaf_values": lambda: leaf_values.refit_all_leaf_values(
        TREES, ILL, [fixed_point_sample(ILL, CART)] * len(TREES)
    ),
    "cart_by_cross_validation": lambda: cart_by_cross_validation(ILL, FEW),
}


def _scores(result: Any) -> Any:
    return {name: values for name, values in result.columns().items() if "seconds" not in name}


def bits(result: Any) -> Any:
    """The result as bytes and texts that are equal only if every bit is."""
    if isinstance(result, Tree | Ensemble):
        return model_to_json(result)
    if isinstance(result, np.ndarray):
        return result.dtype.str, result.shape, result.tolist() if result.dtype == object else result.tobytes()
    if isinstance(result, list | tuple):
        return [bits(each) for each in result]
    return repr(result)


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that would stay in one thread on so few rows is shared, too."""
    for module in (leaf_values, validation, packed_ensemble):
        monkeypatch.setattr(module, "LEAST_SHARED", 32)


@cache
def bits_alone(name: str) -> Any:
    with parallel_config(backend="sequential"):
        return bits(WORK[name]())


# What one kind of process is sent, the other is: a few of the tasks try the rest of the way.
TRIED = {"threading": WORK, "loky, files": WORK} | dict.fromkeys(
    ("loky", "multiprocessing"),
    ("grow_bootstraps", "distance_matrix", "compare_models", "StableTreeClassifier"),
)


@pytest.mark.parametrize(("backend", "name"), [(each, name) for each in BACKENDS for name in TRIED[each]])
@pytest.mark.filterwarnings("ignore")
def test_any_backend_gives_the_same_bits(backend: str, name: str) -> None:
    with parallel_config(**BACKENDS[backend], n_jobs=2):
        assert bits(WORK[name]()) == bits_alone(name)


def _is_error(each: Any) -> bool:
    return isinstance(each, type) and issubclass(each, Exception)


def test_all_that_takes_a_number_of_jobs_is_tried() -> None:
    public = {name: getattr(holdfast, name) for name in holdfast.__all__}
    work = {name: each for name, each in public.items() if callable(each) and not _is_error(each)}
    takes_jobs = {name for name, each in work.items() if "n_jobs" in inspect.signature(each).parameters}
    assert takes_jobs - {"SizeSearch"} <= WORK.keys()  # which is tried with choose_size


@pytest.mark.parametrize("backend", ["sequential", *BACKENDS])
def test_a_bar_needs_no_backend_of_its_own(backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    with parallel_config(**BACKENDS.get(backend, {"backend": backend}), n_jobs=2):
        assert run_all(abs, [-1, -2, -3], progress="Absolute") == [1, 2, 3]
