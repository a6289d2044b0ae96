"""Sound model files of every kind, small enough to be edited thousands of times."""

import numpy as np
import pandas as pd

from holdfast import (
    C45,
    AdaBoostClassifier,
    BoostingRegressor,
    DensityTree,
    ForestClassifier,
    GrowthRules,
    StableTreeClassifier,
    StableTreeRegressor,
    Table,
    TreeClassifier,
    TreeRegressor,
)
from holdfast._arrays import FloatArray
from holdfast.growth import grow_bootstraps
from holdfast.io.model_file import model_to_json, trees_to_json
from holdfast.tree.check import Link
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

QUESTIONS = ["age ** 2 < 2500", "site == 'lung' and age > 30"]
SMALL = GrowthRules(max_depth=3, min_samples_leaf=4)
SMALL_OF_NUMBERS = GrowthRules("squared_error", max_depth=3, min_samples_leaf=4)


def rows(n_rows: int = 120) -> pd.DataFrame:
    """Numbers, categories of text and of numbers, ordered ones, truths, and gaps."""
    dice = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": dice.integers(18, 90, n_rows).astype(float),
            "site": dice.choice(["colon", "lung", "skin", "größer"], n_rows),
            "ward": pd.Categorical(dice.choice([1.0, 2.5, 7.0], n_rows)),
            "stage": pd.Categorical(
                dice.choice(["early", "middle", "late"], n_rows), ["early", "middle", "late"], ordered=True
            ),
            "smoker": dice.random(n_rows) < 0.4,
        }
    )
    frame.loc[::9, "age"] = np.nan
    return frame


def _risk() -> pd.Series:
    frame, dice = rows(), np.random.default_rng(1)
    return frame["age"].fillna(50) / 30 + 2 * (frame["site"] == "lung") + frame["smoker"] + dice.random(120)


def _table(kind: str) -> Table:
    frame, risk = rows(), _risk()
    if kind == "two":
        frame["y"] = np.where(risk > risk.median(), "yes", "no")
    elif kind == "three":
        frame["y"] = pd.cut(risk, 3, labels=False)
    else:
        frame["y"] = risk
    task = "regression" if kind == "number" else "classification"
    return Table.from_frame(frame, "y", custom_features=QUESTIONS, task=task)


def _trees(table: Table, n_estimators: int) -> tuple[Tree, ...]:
    rules = SMALL if table.schema.target.is_classes else SMALL_OF_NUMBERS
    return tuple(grow_bootstraps(table, rules, n_estimators=n_estimators, random_state=0))


def _edited(tree: Tree) -> Tree:
    """The tree after edits of several kinds."""
    leaf = tree.n_nodes - 1
    parent = int(tree.parent[leaf])
    return (
        tree.edit(by="Ada", why="größer", when="2026-05-01")
        .with_leaf_value(leaf, {0: 0.25, 1: 0.5})
        .prune_at(parent)
        .with_split(0, "site", categories=["größer", "skin"])
        .tree
    )


def _estimators() -> dict[str, bytes]:
    """The files of estimators, with parameters of every form."""
    frame, risk = rows(), _risk()
    two, three = np.where(risk > risk.median(), "yes", "no"), pd.cut(risk, 3, labels=False)
    grid = {"max_depth": [2, 3], "criterion": ["gini", "entropy"]}
    models = {
        "tree": TreeClassifier(
            max_depth=3, class_weight={0: 1, 1: 2.5}, growth_rules=C45, custom_features=QUESTIONS
        ).fit(frame, three),
        "tree of numbers": TreeRegressor(max_depth="cv", cv=3).fit(frame, risk),
        "stable tree": StableTreeClassifier(method="bootstrap", n_estimators=4, grid=grid).fit(frame, two),
        "consensus tree": StableTreeRegressor(n_estimators=4, max_leaf_nodes=4, teacher=["linear"]).fit(
            frame, risk
        ),
        "clusters": DensityTree(max_leaf_nodes=3, validation=None, covariance="full").fit(frame),
        "forest": ForestClassifier(3, max_depth=3, permutation_importance=True, random_state=0).fit(
            frame, two == "yes"
        ),
        "boosting": BoostingRegressor(n_estimators=3, max_depth=2).fit(frame, risk),
        "adaboost": AdaBoostClassifier(n_estimators=3, max_depth=2).fit(frame, three.astype(np.int8)),
    }
    return {f"estimator, {name}": model_to_json(model) for name, model in models.items()}


def bases() -> dict[str, bytes]:
    """The files, by what they hold."""
    two, three, number = (_table(kind) for kind in ("two", "three", "number"))
    of_two, of_three, of_number = _trees(two, 3), _trees(three, 3), _trees(number, 6)

    def added(link: Link, table: Table, outputs: list[int], start: FloatArray) -> Ensemble:
        weights = np.full(len(outputs), 0.1)
        return Ensemble(table.schema, of_number[: len(outputs)], weights, outputs, start, link)

    def averaged(trees: tuple[Tree, ...], weights: list[float], link: Link, votes: bool) -> Ensemble:
        start = np.zeros(trees[0].value.shape[1])
        return Ensemble(trees[0].schema, trees, weights, [0] * len(trees), start, link, votes)

    ensembles = {
        "forest of classes": averaged(of_three, [1.0, 1.0, 1.0], "mean", votes=False),
        "forest that votes": averaged(of_two, [1.0, 1.0, 1.0], "mean", votes=True),
        "forest of numbers": averaged(of_number, [1.0] * 6, "mean", votes=False),
        "adaboost": averaged(of_three, [1.5, 0.7, 0.2], "softmax", votes=True),
        "boosting, identity": added("identity", number, [0, 0, 0], np.array([2.5])),
        "boosting, exp": added("exp", number, [0, 0, 0], np.array([0.5])),
        "boosting, logistic": added("logistic", two, [0, 0, 0], np.array([-0.2])),
        "boosting, double logistic": added("double_logistic", two, [0, 0, 0], np.array([0.1])),
        "boosting, softmax": added("softmax", three, [0, 1, 2, 0, 1, 2], np.array([0.1, 0.0, -0.1])),
    }
    return {
        **_estimators(),
        "tree of classes": model_to_json(of_three[0]),
        "tree of numbers": model_to_json(of_number[0]),
        "edited tree": model_to_json(_edited(of_three[0])),
        "collection": trees_to_json(of_two),
        **{name: model_to_json(ensemble) for name, ensemble in ensembles.items()},
    }
