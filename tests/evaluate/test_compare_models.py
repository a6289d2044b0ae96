import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from holdfast import (
    DataError,
    DataWarning,
    HoldfastError,
    ModelError,
    ParameterError,
    Target,
    TreeClassifier,
    TreeRegressor,
    compare_models,
)
from holdfast.evaluate.folds import is_shifted


def two_classes(n_rows: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The row number, which tells nothing, and two columns that tell something of the class."""
    draw = np.random.default_rng(seed)
    X = np.column_stack([np.arange(n_rows, dtype=float), draw.normal(size=(n_rows, 2)).round(3)])
    y = np.where(X[:, 1] + X[:, 2] + draw.normal(size=n_rows) > 0, "yes", "no")
    return X, y


class Spy(ClassifierMixin, BaseEstimator):
    """A classifier that writes down what it is given; the first column of X holds the row numbers."""

    def __init__(self, log: Any = None) -> None:
        self.log = log

    def __sklearn_clone__(self) -> "Spy":
        return Spy(self.log)

    def fit(self, X: Any, y: Any) -> "Spy":
        self.classes_ = np.unique(np.asarray(y))
        self.rows = ids(X)
        self.kind = type(X)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        self.log.append((self.rows, ids(X), self.kind))
        return np.full((len(ids(X)), len(self.classes_)), 1 / len(self.classes_))

    def predict(self, X: Any) -> np.ndarray:
        return np.repeat(self.classes_[:1], len(ids(X)))


class MarkedSpy(Spy):
    """A spy whose fit takes all that is known of rows."""

    def __sklearn_clone__(self) -> "MarkedSpy":
        return MarkedSpy(self.log)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, stage: Any = None) -> Any:
        self.log.append((sample_weight, groups, stage))
        return super().fit(X, y)


def ids(X: Any) -> tuple[int, ...]:
    first = X[:, 0] if isinstance(X, np.ndarray) else X.iloc[:, 0] if hasattr(X, "iloc") else X["id"]
    return tuple(int(number) for number in np.asarray(first))


def parts(X: Any, y: Any, **options: Any) -> list[tuple[set[int], set[int]]]:
    """The rows to learn from and those held out, fold by fold."""
    log: list[Any] = []
    compare_models({"spy": Spy(log)}, X, y, scoring="accuracy", **options)
    return [(set(learnt), set(held_out)) for learnt, held_out, _ in log]


# -- scores -----------------------------------------------------------------------------------------------


def test_scores_are_those_of_a_loop_written_by_hand() -> None:
    X, y = two_classes()
    folds = list(StratifiedKFold(4, shuffle=True, random_state=1).split(X, y))
    found = compare_models({"tree": TreeClassifier(max_depth=3)}, X, y, cv=folds, scoring=["auc", "accuracy"])
    for number, (learnt, held_out) in enumerate(folds):
        model = TreeClassifier(max_depth=3).fit(X[learnt], y[learnt])
        auc = roc_auc_score(y[held_out], model.predict_proba(X[held_out])[:, 1])
        assert found.all_scores[0, 0, number] == pytest.approx(auc)
        accuracy = accuracy_score(y[held_out], model.predict(X[held_out]))
        assert found.all_scores[1, 0, number] == pytest.approx(accuracy)


def test_scores_of_classifiers_are_those_of_cross_validate() -> None:
    X, y = load_iris(return_X_y=True)
    models = {"tree": DecisionTreeClassifier(random_state=0), "logistic": LogisticRegression(max_iter=2000)}
    scoring = ["neg_log_loss", "accuracy", "f1_macro", "roc_auc_ovr"]
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    found = compare_models(models, X, y, cv=cv, scoring=scoring)
    for place, model in enumerate(models.values()):
        theirs = cross_validate(model, X, y, cv=cv, scoring=scoring)
        for number, name in enumerate(scoring):
            assert found.all_scores[number, place] == pytest.approx(theirs[f"test_{name}"])


def test_scores_of_regressors_are_those_of_cross_validate() -> None:
    X, y = load_diabetes(return_X_y=True)
    models = [DecisionTreeRegressor(max_depth=3, random_state=0), LinearRegression()]
    cv = KFold(5, shuffle=True, random_state=0)
    found = compare_models(models, X, y, cv=cv, scoring=["r2", "neg_mean_absolute_error", "neg_max_error"])
    assert found.names == ("DecisionTreeRegressor", "LinearRegression")
    for place, model in enumerate(models):
        theirs = cross_validate(
            model, X, y, cv=cv, scoring=["r2", "neg_mean_absolute_error", "neg_max_error"]
        )
        assert found.all_scores[0, place] == pytest.approx(theirs["test_r2"])
        assert found.all_scores[1, place] == pytest.approx(theirs["test_neg_mean_absolute_error"])


def test_weights_count_in_fit_and_in_the_scores() -> None:
    X, y = two_classes()
    weight = np.random.default_rng(3).uniform(0.5, 3, len(y))
    folds = list(KFold(3, shuffle=True, random_state=1).split(X))
    found = compare_models([LogisticRegression()], X, y, cv=folds, scoring="log_loss", sample_weight=weight)
    for number, (learnt, held_out) in enumerate(folds):
        model = LogisticRegression().fit(X[learnt], y[learnt], sample_weight=weight[learnt])
        loss = log_loss(y[held_out], model.predict_proba(X[held_out]), sample_weight=weight[held_out])
        assert found.scores[0, number] == pytest.approx(-loss)


def test_a_row_named_twice_to_learn_from_is_learnt_twice() -> None:
    X, y = two_classes(20)
    log: list[Any] = []
    compare_models([Spy(log)], X, y, cv=[([0, 3, 3, 9], [5, 6])], scoring="accuracy")
    assert log[0][:2] == ((0, 3, 3, 9), (5, 6))


def test_predictions_out_of_fold_are_those_of_cross_val_predict() -> None:
    X, y = load_iris(return_X_y=True)
    cv = StratifiedKFold(5, shuffle=True, random_state=2)
    found = compare_models([GaussianTree()], X, y, cv=cv, scoring="accuracy")
    theirs = cross_val_predict(GaussianTree(), X, y, cv=cv, method="predict_proba")
    assert found.predictions["GaussianTree"] == pytest.approx(theirs)


class GaussianTree(DecisionTreeClassifier):
    """A tree of scikit-learn's under a name that no list of ours knows."""

    def __init__(self, max_depth: int = 3, random_state: int = 0) -> None:
        super().__init__(max_depth=max_depth, random_state=random_state)


def test_a_row_held_out_twice_has_the_mean_of_both_predictions_and_one_never_held_out_has_none() -> None:
    X = np.arange(8.0)[:, np.newaxis]
    y = np.array([0.0, 0.0, 4.0, 4.0, 8.0, 8.0, 8.0, 8.5])
    folds = [([0, 1], [6]), ([2, 3], [6, 7])]  # a root alone predicts the mean: 0, then 4
    found = compare_models([TreeRegressor(max_depth=1)], X, y, cv=folds, scoring="squared_error")
    predicted = found.predictions["TreeRegressor"][:, 0]
    assert predicted[6] == 2.0
    assert predicted[7] == 4.0
    assert np.isnan(predicted[:6]).all()


# -- folds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [5, 0.3, KFold(3), RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)])
def test_every_model_sees_the_same_rows(cv: Any) -> None:
    X, y = two_classes()
    logs: list[list[Any]] = [[], [], []]
    models = {f"spy {number}": Spy(log) for number, log in enumerate(logs)}
    found = compare_models(models, X, y, cv=cv, scoring="accuracy", n_jobs=2)
    seen = [{(learnt, held_out) for learnt, held_out, _ in log} for log in logs]
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == len(found.folds)
    for fold in found.folds:
        assert (tuple(np.flatnonzero(fold.training)), tuple(np.flatnonzero(fold.held_out))) in seen[0]


def test_folds_hold_out_every_row_once_and_divide_the_classes_evenly() -> None:
    X, y = two_classes(97)
    found = parts(X, y, cv=5)
    assert sorted(row for _, held_out in found for row in held_out) == list(range(97))
    for learnt, held_out in found:
        assert learnt == set(range(97)) - held_out
    of_yes = [sum(y[row] == "yes" for row in held_out) for _, held_out in found]
    assert max(of_yes) - min(of_yes) <= 2


def test_folds_do_not_depend_on_the_order_of_the_rows_but_on_the_seed() -> None:
    X, y = two_classes()
    order = np.random.default_rng(5).permutation(len(y))
    assert {frozenset(held) for _, held in parts(X, y)} == {
        frozenset(held) for _, held in parts(X[order], y[order])
    }
    assert parts(X, y) != parts(X, y, random_state=1)


def test_copies_of_a_row_are_held_out_together() -> None:
    X, y = two_classes(60)
    X, y = np.r_[X, X[:30]], np.r_[y, y[:30]]  # the row number is copied as well
    for learnt, held_out in parts(X, y):
        assert not learnt & held_out


@pytest.mark.parametrize("cv", [4, 0.25, GroupKFold(4)])
def test_groups_are_never_divided(cv: Any) -> None:
    X, y = two_classes()
    patient = np.array([f"P{number}" for number in np.random.default_rng(0).integers(0, 25, len(y))])
    for learnt, held_out in parts(X, y, cv=cv, groups=patient):
        assert not {patient[row] for row in learnt} & {patient[row] for row in held_out}


def test_each_later_stage_is_predicted_from_all_before_it() -> None:
    X, y = two_classes(12)
    year = np.array([2021, 2019, 2020] * 4)
    found = parts(X, y, stage=year)
    assert found == [
        (set(np.flatnonzero(year == 2019)), set(np.flatnonzero(year == 2020))),
        (set(np.flatnonzero(year < 2021)), set(np.flatnonzero(year == 2021))),
    ]


def test_many_stages_are_pooled_into_one_more_than_the_folds() -> None:
    X, y = two_classes(60)
    found = parts(X, y, stage=np.arange(60) // 2, cv=4)  # 30 stages: five runs of six, 12 rows each
    assert [sorted(held_out) for _, held_out in found] == [
        list(range(start, start + 12)) for start in (12, 24, 36, 48)
    ]
    assert [sorted(learnt) for learnt, _ in found] == [list(range(end)) for end in (12, 24, 36, 48)]


def test_a_last_stage_with_most_of_the_rows_is_still_held_out() -> None:
    X, y = two_classes(60)
    stage = np.r_[[0, 1, 2], np.full(57, 3)]
    assert parts(X, y, stage=stage, cv=1) == [({0, 1, 2}, set(range(3, 60)))]


def test_going_forward_earlier_rows_of_the_same_group_are_learnt_from() -> None:
    X, y = two_classes(6)
    marks = {"stage": [1, 1, 1, 2, 2, 2], "groups": ["a", "b", "c", "a", "d", "d"]}
    assert parts(X, y, **marks) == [({0, 1, 2}, {3, 4, 5})]
    found = compare_models([TreeClassifier()], X, y, scoring="accuracy", **marks)
    assert (
        "1 of the 3 rows that are held out belong to groups that are used for training too" in found.notes[0]
    )
    assert found.notes[0] in repr(found)
    assert found.notes[0] in found._repr_html_()


@pytest.mark.filterwarnings("ignore:Of the earlier rows")
def test_strictly_no_earlier_row_of_a_group_held_out_is_learnt_from() -> None:
    X, y = two_classes(6)
    stage = [1, 1, 1, 2, 2, 2]
    strict = parts(X, y, stage=stage, groups=["a", "b", "c", "a", "d", "d"], strict_groups=True)
    assert strict == [({1, 2}, {3, 4, 5})]
    with pytest.raises(DataError, match="strictly apart, no row is left for training"):
        parts(X, y, stage=stage, groups=["a", "b", "c"] * 2, strict_groups=True)


def repeated_exams(n_persons: int = 200, sick: int = 20, lost: int = 30) -> dict[str, Any]:
    """All are examined twice, but for the last 30 of the first exam: 18 of the 20 sick are among them."""
    person = np.r_[np.arange(n_persons), np.arange(n_persons - lost)]
    is_sick = np.arange(n_persons) >= n_persons - lost + 2
    is_sick &= np.arange(n_persons) < n_persons - lost + sick
    is_sick[:2] = True
    X = np.column_stack([np.arange(len(person), dtype=float), is_sick[person] + 0.0])
    return {
        "X": X,
        "y": np.where(is_sick[person], "yes", "no"),
        "stage": np.repeat([2019, 2021], [n_persons, n_persons - lost]),
        "groups": person,
    }


def test_a_strict_division_says_how_many_rows_and_which_class_shares_remain() -> None:
    exams = repeated_exams()
    forward = compare_models([TreeClassifier()], **exams)
    (fold,) = forward.folds
    assert (fold.training.sum(), fold.held_out.sum()) == (200, 170)
    assert (
        "170 of the 170 rows that are held out belong to groups that are used for training"
        in forward.notes[0]
    )
    with pytest.warns(DataWarning, match=r"30 of 200 remain.*not like the others.*Without strict_groups"):
        strict = compare_models([TreeClassifier()], **exams, strict_groups=True)
    # 18 of the 30 who never come back, and 20 of all 200, are sick.
    assert strict.folds[0].training.sum() == 30
    assert "30 of the 200 earlier rows are used for training" in strict.notes[0]
    assert "no 40.0 % instead of 90.0 %, yes 60.0 % instead of 10.0 %" in strict.notes[0]


def test_a_strict_division_that_changes_little_is_no_warning_but_still_told() -> None:
    X, y = two_classes(90)
    groups = np.r_[np.arange(60), np.arange(10), np.arange(60, 80)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compare_models(
            [TreeClassifier()], X, y, stage=np.arange(90) // 60, groups=groups, strict_groups=True
        )
    assert "50 of the 60 earlier rows are used for training" in found.notes[0]


def test_a_strict_division_of_numbers_tells_the_means() -> None:
    X = np.arange(60.0)[:, np.newaxis]
    y = np.r_[np.zeros(20), np.full(20, 10.0), np.tile([0.0, 1.0], 10)]
    groups = np.r_[np.arange(40), np.arange(20)]
    with pytest.warns(DataWarning, match="mean 10 instead of 5"):
        compare_models([TreeRegressor()], X, y, stage=np.arange(60) // 40, groups=groups, strict_groups=True)


def test_a_shift_of_the_classes_is_marked_by_cohens_h_beyond_chance() -> None:
    def targets(n_rows: int, n_sick: int) -> np.ndarray:
        return np.repeat([0, 1], [n_rows - n_sick, n_sick])

    target, before = Target("sick", classes=("no", "yes")), targets(1000, 100)
    assert is_shifted(target, before, targets(600, 102))  # 17 %, h = 0.207
    assert not is_shifted(target, before, targets(600, 96))
    assert not is_shifted(target, before, targets(60, 10))  # ± 0.26 may be chance


def test_a_row_without_weight_is_in_no_fold() -> None:
    X, y = two_classes()
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    log: list[Any] = []
    found = compare_models([MarkedSpy(log)], X, y, sample_weight=weight, scoring="accuracy")
    seen = [entry for entry in log if isinstance(entry[0], tuple)]
    assert all(row % 3 for learnt, held_out, _ in seen for row in (*learnt, *held_out))
    assert np.isnan(found.predictions["MarkedSpy"][weight == 0]).all()


def test_models_that_take_groups_and_stages_get_those_of_their_rows() -> None:
    X, y = two_classes(30)
    groups, stage = np.arange(30) // 2, np.arange(30) // 10
    log: list[Any] = []
    compare_models([MarkedSpy(log)], X, y, groups=groups, stage=stage, scoring="accuracy")
    (weight, own_groups, own_stage), (learnt, _, _), (_, _, later_stage), _ = log
    assert weight is None
    assert own_groups.tolist() == groups[list(learnt)].tolist()
    assert own_stage is None  # the first model learns from one stage, of which none is early
    assert later_stage.tolist() == [0] * 10 + [1] * 10


# -- the data as it is ------------------------------------------------------------------------------------


def test_models_get_rows_in_the_type_in_which_they_were_given() -> None:
    X, y = two_classes(30)
    columns = {"id": X[:, 0], "a": X[:, 1], "ward": np.array(list("AB") * 15)}
    frames = [pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns), pl.DataFrame(columns).lazy()]
    seen = []
    for frame, kind in zip(frames, [pd.DataFrame, pl.DataFrame, pa.Table, pl.DataFrame], strict=True):
        log: list[Any] = []
        compare_models([Spy(log)], frame, y, cv=3, scoring="accuracy")
        assert {each[2] for each in log} == {kind}
        seen.append([each[:2] for each in log])
    assert seen[0] == seen[1] == seen[2] == seen[3]


def test_categories_stay_categories_in_any_frame() -> None:
    X, y = two_classes()
    ward = np.where(y == "yes", "A", np.where(np.arange(len(y)) % 2, "B", "C"))
    frame = pd.DataFrame({"a": X[:, 1], "ward": pd.Categorical(ward)})
    rows = [list(row) for row in zip(X[:, 1].tolist(), ward.tolist(), strict=True)]
    for data, target in [
        (frame, pd.Series(y)),
        (pl.DataFrame(frame.astype({"ward": str})), pl.Series(y)),
        (rows, y.tolist()),
        (pa.Table.from_pandas(frame).to_batches()[0], y),
    ]:
        found = compare_models([TreeClassifier(max_depth=1)], data, target, cv=3)
        assert (found.scores == 1.0).all()  # ward A, and no other, is yes


def test_the_given_models_stay_unfitted() -> None:
    X, y = two_classes()
    models = [TreeClassifier(), DecisionTreeClassifier()]
    compare_models(models, X, y)
    for model in models:
        with pytest.raises(NotFittedError):
            model.predict(X)


def test_the_same_for_any_number_of_jobs() -> None:
    X, y = two_classes()
    models = {"tree": TreeClassifier(), "pruned": TreeClassifier(ccp_alpha="cv", cv=3)}
    one, two = (compare_models(models, X, y, scoring=["auc", "brier"], n_jobs=jobs) for jobs in (1, 2))
    assert one == two


# -- classes ----------------------------------------------------------------------------------------------


class Backwards(ClassifierMixin, BaseEstimator):
    """A classifier that has the classes from last to first, and always settles on the last."""

    def fit(self, X: Any, y: Any) -> "Backwards":
        self.classes_ = np.unique(y)[::-1]
        self.tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.tree.predict_proba(X)[:, ::-1]

    def predict(self, X: Any) -> np.ndarray:
        return np.repeat(self.classes_[:1], len(X))


def test_shares_are_put_in_the_order_of_the_classes_and_labels_are_the_models_own() -> None:
    X, y = load_iris(return_X_y=True)
    models = {"forwards": DecisionTreeClassifier(max_depth=2, random_state=0), "backwards": Backwards()}
    found = compare_models(models, X, y, cv=StratifiedKFold(5), scoring=["log_loss", "accuracy"])
    assert found.scores[0] == pytest.approx(found.scores[1])
    assert found.predictions["forwards"] == pytest.approx(found.predictions["backwards"])
    assert found.all_scores[1, 1] == pytest.approx(np.full(5, 1 / 3))  # always the last of three classes


@pytest.mark.parametrize("labels", [["a", "b", "c"], [False, True], [1.5, 2.5], [-1, 3, 20]])
def test_classes_of_any_type_are_told_apart(labels: list[Any]) -> None:
    X = np.arange(30.0)[:, np.newaxis] % len(labels)
    y = np.array(labels)[X[:, 0].astype(int)]
    if labels == [1.5, 2.5]:
        y = np.array(["1.5", "2.5"])[X[:, 0].astype(int)]
    found = compare_models(
        [DecisionTreeClassifier(), TreeClassifier()], X, y, cv=3, scoring=["auc", "accuracy"]
    )
    assert (found.all_scores == 1.0).all()


def test_a_class_that_a_model_never_met_has_the_share_0() -> None:
    X, y = load_iris(return_X_y=True)
    folds = [(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(50))]
    found = compare_models([DecisionTreeClassifier()], X, y, cv=folds, scoring="accuracy")
    assert (found.scores == 0.0).all()
    shares = found.predictions["DecisionTreeClassifier"]
    assert (shares[100:, 2] == 0).all()
    assert (shares[:50, 0] == 0).all()
    assert shares[100:].sum(axis=1) == pytest.approx(np.ones(50))


def test_a_model_without_shares_counts_where_labels_are_all_that_is_needed() -> None:
    X, y = two_classes()
    cv = StratifiedKFold(3)
    found = compare_models([LinearSVC()], X, y, cv=cv, scoring=["accuracy", "balanced_accuracy", "f1_macro"])
    theirs = cross_validate(LinearSVC(), X, y, cv=cv, scoring=["accuracy", "balanced_accuracy", "f1_macro"])
    for number, name in enumerate(("accuracy", "balanced_accuracy", "f1_macro")):
        assert found.all_scores[number, 0] == pytest.approx(theirs[f"test_{name}"])
    with pytest.raises(ParameterError, match=r"The model 'machine' has no predict_proba, and scoring='auc'"):
        compare_models({"machine": LinearSVC()}, X, y)


# -- failures ---------------------------------------------------------------------------------------------


class Fragile(RegressorMixin, BaseEstimator):
    """A regressor that breaks where it must learn from row 0, or predicts nothing that is a number."""

    def __init__(self, *, predicts_gaps: bool = False) -> None:
        self.predicts_gaps = predicts_gaps

    def fit(self, X: Any, y: Any) -> "Fragile":
        if 0.0 in X[:, 0] and not self.predicts_gaps:
            raise ZeroDivisionError("row 0 is poison")
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), np.nan if self.predicts_gaps else self.mean_)


NUMBERS = np.arange(12.0)[:, np.newaxis]
FOLDS = [(np.arange(6), np.arange(6, 12)), (np.arange(6, 12), np.arange(6))]


def test_a_model_that_fails_is_named_with_the_fold() -> None:
    with pytest.raises(
        ModelError, match=r"'fragile' failed on fold 1 of 2.*ZeroDivisionError: row 0 is poison"
    ):
        compare_models({"fragile": Fragile()}, NUMBERS, NUMBERS[:, 0], cv=FOLDS)
    with pytest.raises(ModelError, match=r"'gaps' failed on fold 1 of 2.*missing or infinite"):
        compare_models({"gaps": Fragile(predicts_gaps=True)}, NUMBERS, NUMBERS[:, 0], cv=FOLDS)


def test_a_model_that_fails_can_be_skipped_and_has_no_mean_of_the_folds_it_survived() -> None:
    models = {"fragile": Fragile(), "tree": TreeRegressor()}
    found = compare_models(models, NUMBERS, NUMBERS[:, 0], cv=FOLDS, on_error="skip")
    assert [(failure.model, failure.fold) for failure in found.failures] == [("fragile", 0)]
    assert np.isnan(found.scores[0]).tolist() == [True, False]
    assert np.isnan(found.mean).tolist() == [True, False]
    assert found.best == "tree"
    assert "fragile failed on 1 of 2 folds: ZeroDivisionError: row 0 is poison" in str(found)
    with pytest.raises(ModelError, match="Every model failed"):
        compare_models({"fragile": Fragile()}, NUMBERS, NUMBERS[:, 0], cv=FOLDS, on_error="skip")


def test_a_fold_of_one_class_says_nothing_by_auc_and_does_not_count() -> None:
    X, y = two_classes(40)
    alone = np.flatnonzero(y == "yes")[:5]
    folds = [(np.setdiff1d(np.arange(40), alone), alone), (np.arange(20), np.arange(20, 40))]
    with pytest.warns(DataWarning, match="1 of 2 folds hold out but one"):
        found = compare_models([TreeClassifier()], X, y, cv=folds)
    assert np.isnan(found.scores[0]).tolist() == [True, False]
    assert found.mean[0] == found.scores[0, 1]
    with pytest.raises(DataError, match="1 of 1 folds"):
        compare_models([TreeClassifier()], X, y, cv=folds[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare_models([TreeClassifier()], X, y, cv=folds, scoring="accuracy")


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ([], {}, "models is empty"),
        (3, {}, "neither a mapping"),
        ({"tree": TreeClassifier}, {}, r"'tree' is a class: write TreeClassifier\(\)"),
        ({"number": 3}, {}, "'number' is neither an estimator"),
        ([KMeans()], {}, "'KMeans' is a clusterer"),
        (
            [TreeClassifier(), TreeRegressor()],
            {},
            "classifiers, 'TreeClassifier', with regressors, 'TreeRegressor'",
        ),
        (
            [TreeClassifier()],
            {"baseline": "tree"},
            "baseline='tree' is not one of the models.*'TreeClassifier'",
        ),
        ([TreeClassifier()], {"on_error": "stop"}, "on_error='stop' is unknown"),
        ([TreeClassifier()], {"scoring": []}, "scoring is empty"),
        ([TreeClassifier()], {"scoring": ["auc", "roc_auc"]}, "scoring names 'auc' more than once"),
        ([TreeClassifier()], {"scoring": "r2"}, "scoring='r2' is for numbers"),
        ([TreeClassifier()], {"cv": 1}, "cv=1 is out of range"),
        ([TreeClassifier()], {"cv": None}, "cv=None does not define folds"),
        ([TreeClassifier()], {"n_jobs": 0}, "n_jobs=0 is out of range"),
        ([TreeClassifier()], {"stage": np.zeros(90)}, "stage has one value for all rows"),
        ([TreeClassifier()], {"strict_groups": True}, "strict_groups=True .* needs groups"),
        ([TreeClassifier()], {"stage": np.arange(90), "cv": KFold(3)}, "does not go with stage"),
        ([TreeClassifier()], {"stage": np.arange(7)}, "stage has 7 values, and the data has 90 rows"),
        ([TreeClassifier()], {"groups": np.arange(7)}, "groups has 7 values, and the data has 90 rows"),
        ({"near": KNeighborsClassifier()}, {"sample_weight": np.arange(90)}, "'near' cannot take weights"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_way_out(models: Any, options: Any, message: str) -> None:
    with pytest.raises(HoldfastError, match=message):
        compare_models(models, *two_classes(), **options)


def test_models_of_a_list_are_called_by_their_class_and_numbered() -> None:
    found = compare_models([TreeClassifier(max_depth=depth) for depth in (1, 2, 3)], *two_classes(), cv=2)
    assert found.names == ("TreeClassifier", "TreeClassifier 2", "TreeClassifier 3")
