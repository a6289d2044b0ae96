"""Curves and scores of times to an event against scikit-survival, on public tables with ties."""

import numpy as np
import pytest

sksurv = pytest.importorskip("sksurv", reason="scikit-survival has the tables and the other implementation")
from sksurv import datasets, metrics, nonparametric  # noqa: E402

from holdfast import SurvivalTree, Table, compare_models, retrain_audit  # noqa: E402
from holdfast.data.survival import (  # noqa: E402
    count_events,
    cumulative_hazard,
    kaplan_meier,
    survival_function,
)
from holdfast.scoring.calibration import calibration  # noqa: E402
from holdfast.scoring.metric import TrueValues, make_metric  # noqa: E402
from holdfast.scoring.survival import brier_times  # noqa: E402

LOADERS = {
    "gbsg2": datasets.load_gbsg2,
    "whas500": datasets.load_whas500,
    "veteran": datasets.load_veterans_lung_cancer,
}


@pytest.fixture(params=LOADERS)
def scored(request):
    """Risks of a tree, with ties among rows of a leaf, on all rows of a table."""
    X, y = LOADERS[request.param]()
    table = Table.from_arrays(X, y, task="survival")
    risk = SurvivalTree(max_leaf_nodes=8).fit(X, y).predict(X)
    return y, risk, TrueValues.of(table)


def score(name, risk, rows):
    metric = make_metric(name, rows.target)
    return metric.shown(metric.score(risk[:, None], rows).value)


def test_concordances_are_those_of_scikit_survival(scored):
    y, risk, rows = scored
    event, time = y[y.dtype.names[0]], y[y.dtype.names[1]]
    harrell = metrics.concordance_index_censored(event, time, risk)[0]
    uno = metrics.concordance_index_ipcw(y, y, risk, tau=rows.target.hazard.horizon)[0]
    assert score("concordance", risk, rows) == pytest.approx(harrell, abs=1e-9)
    assert score("uno", risk, rows) == pytest.approx(uno, abs=1e-9)


def test_brier_score_and_auc_are_those_of_scikit_survival(scored):
    y, risk, rows = scored
    hazard = rows.target.hazard
    times = brier_times(hazard)
    brier = metrics.integrated_brier_score(y, y, survival_function(hazard, risk, times), times)
    assert score("brier", risk, rows) == pytest.approx(brier, abs=1e-9)
    auc = metrics.cumulative_dynamic_auc(y, y, risk, [hazard.horizon])[0][0]
    assert score("auc", risk, rows) == pytest.approx(auc, abs=1e-9)


def test_curves_with_their_bands_are_those_of_scikit_survival(scored):
    _, _, rows = scored
    time, event, _, _ = rows.survival
    curve = kaplan_meier(count_events(time, event))
    times, survival, bands = nonparametric.kaplan_meier_estimator(event, time, conf_type="log-log")
    places = np.searchsorted(times, curve.time)
    assert curve.survival == pytest.approx(survival[places], abs=1e-9)
    assert np.array([curve.low, curve.high]) == pytest.approx(bands[:, places], abs=1e-9)
    times, hazard = nonparametric.nelson_aalen_estimator(event, time)
    assert cumulative_hazard(rows.target.hazard, times) == pytest.approx(hazard, abs=1e-9)


def test_observed_events_by_the_horizon_are_those_of_the_kaplan_meier_curve(scored):
    y, risk, rows = scored
    horizon = rows.target.hazard.horizon
    times, survival = nonparametric.kaplan_meier_estimator(y[y.dtype.names[0]], y[y.dtype.names[1]])
    found = calibration(risk[:, None], rows)
    assert found.observed == pytest.approx(1 - survival[times <= horizon][-1], abs=1e-9)


def test_models_of_scikit_survival_are_compared_and_audited():
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.linear_model import CoxPHSurvivalAnalysis
    from sksurv.svm import FastSurvivalSVM

    X, y = LOADERS["gbsg2"]()
    X = X.select_dtypes("number").to_numpy()
    models = {
        "tree": SurvivalTree(max_leaf_nodes=4),
        "forest": RandomSurvivalForest(n_estimators=5, random_state=0),
        "Cox": CoxPHSurvivalAnalysis(alpha=1e-4),
    }
    fold = [(np.arange(500), np.arange(500, 686))]
    found = compare_models(models, X, y, cv=fold, scoring=["brier", "concordance", "deviance"])
    # The Brier score of another library's own probabilities, with the censoring of the held-out rows.
    cox = CoxPHSurvivalAnalysis(alpha=1e-4).fit(X[:500], y[:500])
    times = brier_times(found.target.hazard)
    steps = cox.predict_survival_function(X[500:])
    expected = metrics.integrated_brier_score(y[500:], y[500:], [step(times) for step in steps], times)
    assert -found.mean[2] == pytest.approx(expected, abs=1e-9)
    models["SVM"] = FastSurvivalSVM(max_iter=200)
    audit = retrain_audit(models, X, y, changes="overlap", n_repeats=1)
    assert [np.isnan(audit.mean(name, "churn")) for name in models] == [False, False, False, True]
