"""The same data, the same model, to the last bit: in any order of rows and columns, for every estimator."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import holdfast as hf

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FIELDS = ("threshold", "left", "right", "missing_left", "set_start", "in_set", "value", "count", "weight")


def patients(n_rows: int = 160) -> pd.DataFrame:
    """Numbers, categories, gaps, ties and copies of rows."""
    generator = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "x10": generator.normal(size=n_rows),
            "x2": generator.integers(0, 5, n_rows).astype(float),
            "ward": generator.choice(list("ABCD"), n_rows),
            "age": np.where(generator.random(n_rows) < 0.1, np.nan, generator.integers(20, 90, n_rows)),
            "sex": generator.choice(["f", "m"], n_rows),
        }
    )
    frame["twin"] = 2 * frame["x2"] + 1  # every split on it ties with one on x2
    return pd.concat([frame, frame.iloc[:6]], ignore_index=True)


X = patients()
_NOISE = np.random.default_rng(8).normal(size=len(X))
_NOISE[-6:] = _NOISE[:6]
RISK = (X["x2"] + 0.03 * X["age"].fillna(50) + (X["ward"] == "B") + _NOISE).clip(lower=0.0).rename("risk")
SICK = pd.Series(np.where(RISK.median() < RISK, "yes", "no"), name="sick")

CLASSIFIERS: dict[str, Any] = {
    "tree": hf.TreeClassifier(),
    "entropy": hf.TreeClassifier(criterion="entropy", max_features=2, random_state=3),
    "C4.5": hf.TreeClassifier(growth_rules=hf.C45),
    "sized": hf.TreeClassifier(ccp_alpha="cv", random_state=1),
    "reduced error": hf.TreeClassifier(reduced_error=0.3, random_state=1),
    "bagging": hf.BaggingClassifier(n_estimators=4, random_state=0),
    "forest": hf.ForestClassifier(n_estimators=4, oob_score=True, random_state=0),
    "extra-random": hf.ForestClassifier(
        n_estimators=4, bootstrap=False, growth_rules=hf.GrowthRules(splitter="random"), random_state=0
    ),
    "boosting": hf.BoostingClassifier(n_estimators=4),
    "drawn boosting": hf.BoostingClassifier(n_estimators=4, subsample=0.5, max_features=2, random_state=0),
    "stopped boosting": hf.BoostingClassifier(n_estimators=4, early_stopping=True, random_state=0),
    "AdaBoost": hf.AdaBoostClassifier(n_estimators=4),
    "density": hf.DensityTree(),
    "stable": hf.StableTreeClassifier(method="bootstrap", n_estimators=6, random_state=0),
    "pruned": hf.StableTreeClassifier(n_estimators=6, method="pruned", random_state=0),
}
REGRESSORS: dict[str, Any] = {
    "tree": hf.TreeRegressor(),
    "poisson": hf.TreeRegressor(criterion="poisson", max_depth=4),
    "sized": hf.TreeRegressor(ccp_alpha="cv-1se", random_state=0),
    "bagging": hf.BaggingRegressor(n_estimators=4, random_state=0),
    "forest": hf.ForestRegressor(n_estimators=4, oob_score=True, random_state=0),
    "boosting": hf.BoostingRegressor(n_estimators=4),
    "huber": hf.BoostingRegressor(n_estimators=4, loss="huber", subsample=0.6, random_state=0),
    "stable": hf.StableTreeRegressor(method="bootstrap", n_estimators=6, random_state=0),
}
CASES = [(model, SICK) for model in CLASSIFIERS.values()] + [(model, RISK) for model in REGRESSORS.values()]
NAMES = [*CLASSIFIERS, *(f"{name} of numbers" for name in REGRESSORS)]
each_estimator = pytest.mark.parametrize(("model", "y"), CASES, ids=NAMES)


def bits_of(model: Any) -> list[bytes]:
    """All that a fitted model knows, features by name."""
    parts = []
    for tree in model.ensemble_.trees if hasattr(model, "ensemble_") else [model.tree_]:
        names = np.array([*tree.schema.names, ""], object)[tree.feature]
        parts += ["|".join(names).encode(), *(getattr(tree, field).tobytes() for field in FIELDS)]
    for name in ("oob_score_", "train_loss_", "validation_loss_"):
        parts.append(np.asarray(getattr(model, name, 0.0)).tobytes())
    if hasattr(model, "ensemble_"):
        parts += [model.ensemble_.weights.tobytes(), model.ensemble_.start.tobytes()]
    if hasattr(model, "frontier_"):
        parts.append(str(model.frontier_).encode())
    return parts


def same_after(model: Any, y: Any, change: Callable[[Any, Any], tuple[Any, Any]]) -> bool:
    """Whether the model of changed data is that of the data as they are."""
    return bits_of(clone(model).fit(X, y)) == bits_of(clone(model).fit(*change(X, y)))


@each_estimator
def test_the_order_of_columns_changes_no_bit(model: Any, y: Any) -> None:
    order = ["sex", "twin", "x2", "age", "x10", "ward"]
    assert same_after(model, y, lambda frame, target: (frame[order], target))


@each_estimator
def test_the_order_of_rows_changes_no_bit(model: Any, y: Any) -> None:
    order = np.random.default_rng(11).permutation(len(X))
    assert same_after(model, y, lambda frame, target: (frame.iloc[order], target.iloc[order]))


SINGLE = ("tree", "C4.5", "AdaBoost", "poisson")  # where rows are drawn, a further column is another seed


@pytest.mark.parametrize(
    ("model", "y"),
    [case for name, case in zip(NAMES, CASES, strict=True) if name.removesuffix(" of numbers") in SINGLE],
)
def test_a_column_that_is_never_chosen_changes_no_bit_where_none_are_drawn(model: Any, y: Any) -> None:
    # A copy of a column under a later name loses every tie; a constant has nothing to split.
    assert same_after(model, y, lambda frame, target: (frame.assign(zz=frame["x2"], aa=1.0), target))


# -- the names of the classes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("repeated", "options"),
    [
        (False, {}),
        (True, {"class_weight": "balanced"}),
        (True, {"growth_rules": hf.GrowthRules(max_features="sqrt")}),
    ],
)
def test_names_that_sort_the_other_way_give_the_same_frontier(
    repeated: bool, options: dict[str, Any]
) -> None:
    generator = np.random.default_rng(3)
    X = generator.integers(0, 4, (240, 3)).astype(float) if repeated else generator.normal(size=(240, 3))
    y = (X[:, 0] + generator.normal(size=240) > X[:, 0].mean() + 0.4).astype(int)
    names = np.array(["sick", "healthy"])
    one, other = (
        hf.StableTreeClassifier(n_estimators=6, random_state=0, **options).fit(X, labels)
        for labels in (y, names[y])
    )
    assert np.array_equal(one.frontier_.instability, other.frontier_.instability)
    assert np.array_equal(one.frontier_.score, other.frontier_.score)
    assert one.choice_.candidate == other.choice_.candidate
    assert (names[one.predict(X)] == other.predict(X)).all()
