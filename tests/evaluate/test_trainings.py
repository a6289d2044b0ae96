"""Methods that know the model before: which one they get, and when."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from holdfast import TreeClassifier, retrain_audit
from holdfast.errors import ModelError
from holdfast.evaluate.audit import AuditedMethod, order_trainings, plan_trainings
from holdfast.evaluate.changes import SamplePair, TrainingSample

PLAIN = AuditedMethod("plain", "plain", int)
FOLLOWING = AuditedMethod("following", "following", int, is_updated=True)


def pair(change: str, before: str, after: str, part: int = 0) -> SamplePair:
    return SamplePair(change, part, *(TrainingSample(key, np.arange(3), 0) for key in (before, after)))


def test_a_sample_is_trained_on_once_by_a_method_that_forgets() -> None:
    pairs = [pair("overlap", "one", "two"), pair("fewer rows", "one", "fewer")]
    (round_,) = order_trainings(plan_trainings(pairs, [PLAIN], number=4))
    assert [each.key for each in round_] == [
        (4, "plain", ("one",)),
        (4, "plain", ("two",)),
        (4, "plain", ("fewer",)),
    ]


def test_one_that_knows_the_model_before_comes_after_it() -> None:
    pairs = [pair("overlap", "one", "two"), pair("fewer rows", "one", "fewer")]
    first, second = order_trainings(plan_trainings(pairs, [PLAIN, FOLLOWING], number=0))
    assert [each.key[1:] for each in first if each.method is FOLLOWING] == [("following", ("one",))]
    assert [each.key[1:] for each in second] == [
        ("following", ("one", "two")),
        ("following", ("one", "fewer")),
    ]


def test_with_stages_each_goes_on_from_the_last() -> None:
    pairs = [pair("staged", f"stage {last}", f"stage {last + 1}", last) for last in range(3)]
    trained = plan_trainings(pairs, [FOLLOWING], number=0)
    assert trained[2].before == trained[1].after
    assert [len(round_) for round_ in order_trainings(trained)] == [1, 1, 1, 1]
    assert trained[2].after.key[2] == ("stage 0", "stage 1", "stage 2", "stage 3")


def test_other_changes_do_not_lend_their_models() -> None:
    pairs = [pair("staged", "half", "all"), pair("other", "all", "more")]
    trained = plan_trainings(pairs, [FOLLOWING], number=0)
    assert len(trained[1].before.samples) == 1


# -- in an audit ------------------------------------------------------------------------------------------


class Chain(ClassifierMixin, BaseEstimator):
    """Counts how often it was trained again, and says so as a probability."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any, stage: Any = None) -> "Chain":
        self.classes_, self.n_times_, self.n_rows_ = np.array(["no", "yes"]), 0, len(X)
        return self

    def fit_again(self, previous: "Chain", X: Any, y: Any, stage: Any = None) -> "Chain":
        self.fit(X, y)
        assert previous.n_rows_ <= len(X)
        assert stage is None or len(stage) == len(X)
        self.n_times_ = previous.n_times_ + 1
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.tile([1 - self.n_times_ / 10, self.n_times_ / 10], (len(X), 1))

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), "no")


def rows(n_rows: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    chance = np.random.default_rng(0)
    return pd.DataFrame({"age": chance.normal(size=n_rows)}), chance.choice(["no", "yes"], n_rows)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_estimator_is_trained_again_by_its_own_method(n_jobs: int | None) -> None:
    X, y = rows()
    methods = {"chain": Chain(), "tree": TreeClassifier(max_depth=1)}
    audit = retrain_audit(methods, X, y, changes="staged", n_repeats=2, n_jobs=n_jobs)
    assert audit.mean("chain", "churn") == pytest.approx(0.1)  # from 0 times to 1


def test_the_chain_grows_with_the_stages() -> None:
    X, y = rows()
    stage = np.arange(len(y)) % 3
    audit = retrain_audit({"chain": Chain()}, X, y, stage=stage, changes="staged", n_repeats=1)
    assert [record["part"] for record in audit.pairs] == [0, 1]
    assert audit.mean("chain", "churn") == pytest.approx(0.1)  # 0 to 1, and 1 to 2
    both = [record["log_loss"] for record in audit.pairs]
    assert both[1] < both[0]  # further from saying "never", which half of the rows belie


def test_an_error_of_training_again_names_the_method_and_the_sample() -> None:
    class Refusing(Chain):
        def fit_again(self, previous: Chain, X: Any, y: Any, stage: Any = None) -> "Chain":
            raise RuntimeError("not again")

    with pytest.raises(ModelError, match="'once' failed on sample 'all' of repetition 1"):
        retrain_audit({"once": Refusing()}, *rows(), changes="staged", n_repeats=1)
