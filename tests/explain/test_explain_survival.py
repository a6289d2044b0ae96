"""Explanations, plots and reports of survival trees."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from holdfast import explain_row, tree_diff, write_report
from holdfast.errors import ModelError, ParameterError
from holdfast.estimators.survival import SurvivalTree
from holdfast.estimators.tree import TreeRegressor
from holdfast.plots import SurvivalDisplay
from holdfast.plots.display import LATER
from holdfast.tree.survival import node_survival


def fitted(**options: Any) -> tuple[SurvivalTree, Any, Any]:
    random = np.random.default_rng(0)
    X = random.uniform(20.0, 80.0, (300, 2))
    time = random.exponential(np.where(X[:, 0] > 50, 200.0, 900.0))
    y = np.minimum(time, 700.0).round() + 1, time < 700
    options = {"max_leaf_nodes": 4, "horizon": 365.0, "time_unit": "days", **options}
    return SurvivalTree(**options).fit(X, y), X, y


def test_a_row_is_explained_in_survival_and_changes_lead_to_a_longer_one() -> None:
    model, X, _ = fitted()
    row = X[:1]
    found = explain_row(model, row, wanted="up")
    assert found.outcome.prediction == pytest.approx(model.predict_survival_function(row, [365.0])[0, 0])
    assert found.outcome.survival is not None
    assert found.outcome.survival.risk == pytest.approx(model.predict(row)[0])
    assert all(each.outcome.estimate > found.outcome.estimate for each in found.counterfactuals)
    assert "1-year survival" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["survival"]["horizon"] == 365.0
    crossed = explain_row(model, row, threshold=0.5).counterfactuals
    assert {each.outcome.estimate >= 0.5 for each in crossed} <= {not found.outcome.estimate >= 0.5}
    with pytest.raises(ParameterError, match="threshold"):
        explain_row(model, row, threshold=5.0)


def test_curves_of_leaves_are_those_of_the_rows_and_of_the_prediction() -> None:
    model, X, y = fitted()
    display = SurvivalDisplay.from_estimator(model, ax=LATER)
    for each in display.leaves:
        rows = model.apply(X) == each.leaf
        assert each.observed.at_risk[0] == rows.sum()
        assert each.observed.events.sum() == y[1][rows].sum()
        expected = model.predict_survival_function(X[rows][:1], each.time)[0]
        assert np.allclose(each.predicted, expected)
    assert [each.survival for each in display.leaves] == sorted(
        (each.survival for each in display.leaves), reverse=True
    )
    for kind in ("all", "leaves"):
        svg = SurvivalDisplay.from_estimator(model, kind=kind, ax=LATER).to_svg()
        assert "rows at risk" in svg
    with pytest.raises(ModelError, match="times to an event"):
        SurvivalDisplay.from_estimator(TreeRegressor().fit([[1.0], [2.0]], [0.5, 1.5]))


@pytest.mark.parametrize("case", ["rows", "no rows", "no curves", "one leaf", "late entry", "weights"])
def test_pages_of_survival_have_no_words_of_classes(case: str, tmp_path: Path) -> None:
    model, X, y = fitted()
    rows: tuple[Any, ...] = ()
    subject: Any = model
    if case == "rows":
        rows = X, y
    elif case == "no curves":
        subject = model.tree_.replace(curves=None)
    elif case == "one leaf":
        subject = SurvivalTree(max_leaf_nodes=2, min_samples_leaf=290, horizon=365.0).fit(X, y)
        assert subject.tree_.n_leaves == 1
    elif case == "late entry":
        subject = SurvivalTree(max_leaf_nodes=3).fit(X, (*y, np.minimum(y[0] - 1, X[:, 1])))
    elif case == "weights":
        subject = SurvivalTree(max_leaf_nodes=3).fit(X, y, sample_weight=X[:, 1] / 50)
    write_report(subject, tmp_path / "page.html", *rows)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    facts = (tmp_path / "page.json").read_text(encoding="utf-8")
    assert len(page.encode()) <= 500_000
    assert "survival" in page
    for word in ("p(", "positive class", "flips", "robability of", " mean "):
        assert word not in facts.replace("Root, 2 levels", ""), word


def test_a_diff_tells_changes_of_survival_and_not_of_risk() -> None:
    model, X, y = fitted()
    old = model.tree_
    new = old.replace(value=old.value * 1.5)
    diff = tree_diff(old, new, X, y)
    before, after = (model_survival(tree) for tree in (old, new))
    shifts = {each.old.leaf: each.shift for each in diff.changes}
    assert shifts == pytest.approx({leaf: after[leaf] - before[leaf] for leaf in shifts})
    leaves = old.apply(X)
    moved = np.abs(after - before)[leaves]
    assert diff.rows is not None
    assert diff.rows.mean_move == diff.rows.churn == pytest.approx(moved.mean())
    text = str(diff)
    assert "1-year survival" in text
    assert "points" in text
    leaf = diff.changes[0].old.leaf
    assert f"{100 * after[leaf]:.0f} % (was {100 * before[leaf]:.0f} %)" in text
    assert diff.rows.metric is not None
    assert diff.rows.metric.name == "concordance"


def model_survival(tree: Any) -> Any:
    return np.array([node_survival(tree, node).survival for node in range(tree.n_nodes)])


def test_pictures_of_many_leaves_and_odd_names_fit() -> None:
    random = np.random.default_rng(1)
    X = pd.DataFrame(random.uniform(0, 1, (600, 2)), columns=["<b>" + "long " * 30, "$x_1$"])
    time = random.exponential(1 + 5 * X.iloc[:, 0] + 3 * (X.iloc[:, 1] > 0.5)) + 0.01
    X.iloc[:60, 1] = np.nan
    model = SurvivalTree(max_leaf_nodes=14, min_samples_leaf=5, leaf_values="labels").fit(
        X, (time, random.uniform(size=600) < 0.3)
    )
    assert model.tree_.n_leaves >= 12
    assert "or not recorded" in str(model.tree_)
    for kind in ("all", "leaves"):
        svg = SurvivalDisplay.from_estimator(model, kind=kind, ax=LATER).to_svg()
        assert "<b>" not in svg
    assert model.tree_.to_svg().count('stroke-width="1.4"') == model.tree_.n_leaves
