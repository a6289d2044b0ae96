"""Comparisons and audits of models that predict times to an event."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from holdfast import (
    ParameterError,
    SurvivalForest,
    SurvivalTree,
    Table,
    TreeClassifier,
    compare_models,
    retrain_audit,
)
from holdfast.data.folds import draw_stable_folds
from holdfast.errors import DataError, DataWarning, ModelError
from holdfast.evaluate.fit import FittedModel
from holdfast.evaluate.measures import Retraining, measures_for
from holdfast.scoring.metric import TrueValues

NAMES = ["concordance", "uno", "auc", "brier", "deviance"]


def some_rows(n_rows=200, *, late=False):
    """Ages with missing values, wards, and times with ties that depend on both."""
    random = np.random.default_rng(0)
    age, ward = random.integers(20, 90, n_rows).astype(float), random.integers(0, 3, n_rows)
    time = np.ceil(random.exponential(20 / np.exp((age - 50) / 25 + (ward == 1))))
    age[random.random(n_rows) < 0.1] = np.nan
    columns = {"time": time, "died": random.random(n_rows) < 0.6}
    if late:
        columns["entry"] = np.where(random.random(n_rows) < 0.3, time / 2, 0.0)
    return np.column_stack([age, ward]), tuple(columns.values())


class OldestFirst(BaseEstimator):
    """Ranks rows by the first column, as a model of another library that predicts no survival."""

    def fit(self, X, y):
        assert y.dtype.names == ("event", "time")
        return self

    def predict(self, X):
        return np.nan_to_num(X[:, 0], nan=50.0)


class Steps(OldestFirst):
    """Predicts a step function for each row, as scikit-survival does."""

    def predict_survival_function(self, X):
        return [lambda times, risk=risk: np.exp(-risk / 1000 * np.asarray(times)) for risk in self.predict(X)]


MODELS = {"tree": SurvivalTree(max_leaf_nodes=4), "forest": SurvivalForest(n_estimators=10, random_state=0)}


def test_all_metrics_compare_our_models_with_others_on_any_number_of_jobs():
    X, y = some_rows()
    models = {**MODELS, "steps": Steps()}
    found = compare_models(models, X, y, scoring=NAMES, cv=3)
    assert np.isfinite(found.all_scores).all()
    assert "concordance" in found.reading
    assert found == compare_models(models, X, y, scoring=NAMES, cv=3, n_jobs=2)


def test_scores_do_not_depend_on_the_order_of_the_rows_or_on_rows_without_weight():
    X, (time, died) = some_rows()
    order = np.random.default_rng(1).permutation(len(X))
    whole = compare_models(MODELS, X, (time, died), cv=3, scoring=NAMES)
    moved = compare_models(MODELS, X[order], (time[order], died[order]), cv=3, scoring=NAMES)
    # The columns of a forest's sums change places, and with them their last bits.
    assert moved.all_scores == pytest.approx(whole.all_scores, rel=1e-9)
    more = [np.append(line, line[:40], axis=0) for line in (X, time, died)]
    weight = np.repeat([1.0, 0.0], [len(X), 40])
    padded = compare_models(MODELS, more[0], (more[1], more[2]), cv=3, scoring=NAMES, sample_weight=weight)
    assert padded.all_scores == pytest.approx(whole.all_scores, rel=1e-9)


def test_named_models_are_those_of_survival_where_y_has_times_and_events():
    X, (time, died) = some_rows()
    y = np.array(list(zip(died, time, strict=True)), [("died", bool), ("time", float)])
    frame = pd.DataFrame({"died": died, "time": time})
    for each in (y, frame, (time, died)):
        assert compare_models(["tree", "forest"], X, each, cv=2).target.task == "survival"
    with pytest.raises(ParameterError, match="models of survival, 'tree'"):
        compare_models({"tree": SurvivalTree(), "classes": TreeClassifier()}, X, y)


def test_a_model_without_survival_functions_is_ranked_and_not_scored_by_probabilities():
    X, y = some_rows()
    models = {"oldest": OldestFirst(), "tree": SurvivalTree(max_leaf_nodes=4)}
    assert compare_models(models, X, y, cv=3).mean.min() > 0.5
    with pytest.raises(ParameterError, match="'oldest' has no predict_survival_function"):
        compare_models(models, X, y, scoring="brier")
    audit = retrain_audit(models, X, y, changes="overlap", n_repeats=1)
    assert np.isnan(audit.mean("oldest", "churn"))
    assert audit.mean("oldest", "rank_agreement") == 1
    assert "oldest" not in audit.summary
    assert "Retrained, tree changes its predicted survival to" in str(audit)


def test_late_entries_are_compared_and_audited():
    X, y = some_rows(late=True)
    assert np.isfinite(compare_models(MODELS, X, y, cv=3, scoring=["concordance", "deviance"]).mean).all()
    audit = retrain_audit(MODELS, X, y, changes="overlap", n_repeats=1)
    assert 0 < audit.mean("tree", "churn") < 1


def test_churn_is_the_mean_change_of_survival_and_rank_that_of_the_risks():
    table = Table.from_arrays([[1.0], [2.0]], ([1.0, 2.0], [1, 1]), [3.0, 1.0], task="survival")
    risks = np.array([[1.0], [2.0]])
    before, after = (
        FittedModel(risk, survival=np.array(survival)[:, None])
        for risk, survival in ((risks, [0.9, 0.5]), (2 - risks, [0.8, 0.1]))
    )
    pair = Retraining(before, after, TrueValues.of(table), label_weight=10.0, spread=0.0)
    found = {each.name: each.formula(pair) for each in measures_for("survival")}
    assert found["churn"] == pytest.approx((3 * 0.1 + 0.4) / 4)
    assert found["rank_agreement"] == -1
    assert "flips" not in found


def test_an_audit_to_a_horizon_is_the_same_on_any_number_of_jobs():
    X, y = some_rows()
    audit = retrain_audit(MODELS, X, y, n_repeats=2, horizon=10.0)
    assert audit.target.hazard.horizon == 10
    assert 0 < audit.mean("tree", "churn") < 1
    assert "predicted survival to 10 by" in audit.summary
    again = retrain_audit(MODELS, X, y, n_repeats=2, horizon=10.0, n_jobs=2)
    assert again.text(times=False) == audit.text(times=False)


def test_a_horizon_is_for_times_to_an_event():
    with pytest.raises(ParameterError, match="horizon is for times"):
        compare_models(["tree"], [[1.0], [2.0]], [0, 1], horizon=3)
    with pytest.raises(ParameterError, match="before the last time of y, 2:"):
        compare_models(["tree"], [[1.0], [2.0]], ([1.0, 2.0], [1, 1]), horizon=3)


def test_folds_hold_out_events_in_equal_shares():
    X, (time, _) = some_rows()
    died = np.arange(len(X)) % 10 == 0
    table = Table.from_arrays(X, (time, died), task="survival")
    folds = draw_stable_folds(table, None, 5, (0,))
    assert [int(died[fold.held_out].sum()) for fold in folds] == [4] * 5


def test_folds_without_events_are_named_and_do_not_count():
    X, (time, died) = some_rows()
    died[:40] = False
    rows = np.arange(len(X))
    censored, others = (rows[40:], rows[:40]), (rows[:120], rows[120:])
    with pytest.warns(DataWarning, match="needs events, and 1 of 2 folds hold out none"):
        found = compare_models(MODELS, X, (time, died), cv=[censored, others])
    assert found.is_scored.tolist() == [[False, True]]
    assert np.isfinite(found.mean).all()
    with pytest.raises(DataError, match="needs events"):
        compare_models(MODELS, X, (time, died), cv=[censored])
    with pytest.raises(ModelError, match="no event"):
        compare_models(MODELS, X, (time, died), cv=[censored[::-1]])


def test_a_fold_that_trains_without_events_fails_and_a_single_event_is_fitted():
    X, (time, died) = some_rows(60)
    died[:] = False
    died[5] = True
    models = {"tree": SurvivalTree(max_leaf_nodes=2)}
    assert np.isfinite(models["tree"].fit(X, (time, died)).predict(X)).all()
    with pytest.warns(DataWarning, match="hold out none"), pytest.raises(ModelError, match="no event"):
        compare_models(models, X, (time, died), cv=3)


def test_a_forest_has_scores_and_importances_by_the_concordance_out_of_bag():
    X, y = some_rows()
    forest = SurvivalForest(n_estimators=20, oob_score=True, permutation_importance=True, random_state=0)
    forest.fit(X, y)
    found = forest.importances_
    assert 0.55 < forest.oob_score_ < forest.score(X, y)
    assert "concordance" in str(found)
    assert found.permutation.mean[0] > 0.02
