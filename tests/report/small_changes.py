"""Small updates, a diff, an audit, a comparison and stages with hostile names, and their pages."""

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from small_reports import ARABIC, HOSTILE, consensus_model, features, folder, patients

from holdfast import (
    ChangePolicy,
    ModelComparison,
    RetrainAudit,
    StableTreeClassifier,
    StableTreeRegressor,
    TreeClassifier,
    TreeDiff,
    UpdateRun,
    compare_models,
    retrain_audit,
    tree_diff,
    update_run,
    write_report,
)

MODEL_CARD = {
    "name": f"Risk {HOSTILE}",
    "case": "patient",
    "intended_use": ARABIC,
    "limits": [HOSTILE, "adults only"],
    "decision_threshold": 0.4,
    "positive": "died",
    "subgroups": ["ward", "level"],
    "min_subgroup_rows": 20,
    "sign_off": {"Owner": ARABIC, HOSTILE: ""},
}
POLICY = ChangePolicy(
    new_root="never", max_churn=0.9, score_margin=0.5, subgroups=["ward"], min_subgroup_rows=20
)


def _updated(model: Any, **settings: Any) -> UpdateRun:
    frame = patients(300, seed=3).drop(columns="days")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return update_run(model, frame, target="outcome", prior_rows=0, n_jobs=1, **settings)


@cache
def taken() -> UpdateRun:
    """An update that keeps to its policy, by someone and for a reason."""
    told = {"by": HOSTILE, "why": "a new year", "trigger": "yearly review"}
    return _updated(consensus_model(), model_card=MODEL_CARD, policy=POLICY, tolerance=0.0, **told)


@cache
def forbidden() -> UpdateRun:
    """One that its policy forbids, of which nothing else is said."""
    return _updated(
        consensus_model(), policy=ChangePolicy(leaf_values="never", thresholds="never", max_churn=0.0)
    )


@cache
def kept() -> UpdateRun:
    """One that keeps the tree as it is."""
    return _updated(consensus_model(), strategy="keep")


@cache
def of_numbers() -> UpdateRun:
    """One of a model that predicts numbers, without policy and without words."""
    frame, later = patients().drop(columns="outcome"), patients(300, seed=3).drop(columns="outcome")
    model = StableTreeRegressor(teacher="linear", n_estimators=10, max_depth=3, n_jobs=1)
    model.fit(frame.drop(columns="days"), frame["days"])
    return update_run(model, later, target="days", n_jobs=1)


@cache
def diff() -> TreeDiff:
    frame = patients(seed=5)
    trees = [
        TreeClassifier(max_leaf_nodes=size).fit(features(patients(seed=seed)), patients(seed=seed)["outcome"])
        for size, seed in ((5, 0), (7, 1))
    ]
    return tree_diff(*trees, features(frame), frame["outcome"])


@cache
def audit() -> RetrainAudit:
    frame = patients()
    methods = {"CART": TreeClassifier(max_leaf_nodes=4), HOSTILE: TreeClassifier(max_leaf_nodes=8)}
    return retrain_audit(
        methods, features(frame), frame["outcome"], changes=["overlap"], n_repeats=2, n_jobs=1
    )


@cache
def comparison() -> ModelComparison:
    frame = patients()
    models = {ARABIC: TreeClassifier(max_leaf_nodes=4), HOSTILE: TreeClassifier(max_leaf_nodes=8)}
    return compare_models(models, features(frame), frame["outcome"], cv=3, n_jobs=1)


@cache
def page_of(name: str) -> Path:
    """The page of one of the results here, by the name of its function."""
    path = Path(folder().name) / f"{name}.html"
    write_report(globals()[name](), path)
    return path


@cache
def stages() -> Any:
    """A tree carried through three stages."""
    frames = [patients(120, seed=seed).assign(year=2020 + seed) for seed in range(3)]
    frame = pd.concat(frames, ignore_index=True)
    model = StableTreeClassifier(max_leaf_nodes=4, teacher="linear", n_estimators=5, n_jobs=1)
    model.fit_stages(features(frame).drop(columns="year"), frame["outcome"], stage=frame["year"])
    return model.stages_
