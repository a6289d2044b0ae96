"""The audit as a whole: figures by hand, divisions of the rows, and every kind of model."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from holdfast import RetrainAudit, TreeClassifier, TreeRegressor, retrain_audit, tree_distance
from holdfast.data.folds import read_groups
from holdfast.errors import DataError, ModelError, ParameterError
from holdfast.tree.tree import Tree

CHANGES = (
    "overlap",
    "staged",
    "fewer rows",
    "another seed",
    "noise column",
    "columns permuted",
    "last digit",
)


def patients(n_rows: int = 80, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    chance = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": chance.integers(20, 90, n_rows),
            "lab": chance.normal(5, 2, n_rows).round(1),
            "ward": chance.choice(["A", "B", "C"], n_rows),
        }
    )
    risk = (frame["age"] > 60).astype(int) + (frame["lab"] > 6) + (chance.random(n_rows) < 0.2)
    return frame, np.where(risk >= 2, "died", "lived")


class Constant(ClassifierMixin, BaseEstimator):
    """Says the same of every row, whatever it learns from."""

    def fit(self, X: Any, y: Any) -> "Constant":
        self.classes_ = np.array(["died", "lived"])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.tile([0.25, 0.75], (len(X), 1))

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), "lived")


class Coin(ClassifierMixin, BaseEstimator):
    """Says one class of all rows, by its seed."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "Coin":
        self.classes_ = np.array(["died", "lived"])
        self.side_ = int(np.random.default_rng(self.random_state).integers(2))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.tile(np.eye(2)[self.side_], (len(X), 1))

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[np.full(len(X), self.side_)]


@pytest.fixture(scope="module")
def audit() -> RetrainAudit:
    X, y = patients()
    methods = {"tree": TreeClassifier(max_depth=2), "constant": Constant(), "coin": Coin()}
    return retrain_audit(methods, X, y, n_repeats=4)


def test_a_model_that_never_changes_has_no_change_at_all(audit: RetrainAudit) -> None:
    for change in CHANGES:
        for measure in ("churn", "flips", "negative_flips"):
            assert audit.mean("constant", measure, change) == 0.0
            assert audit.error("constant", measure, change) == 0.0
        assert audit.mean("constant", "identical", change) == 1.0
        assert audit.mean("constant", "rank_agreement", change) == 1.0
        assert np.isnan(audit.mean("constant", "distance", change))
        assert audit.mean("constant", "auc", change) == 0.5
    assert np.nanmax(audit.rows.churn["constant"]) == 0.0


def test_a_coin_flips_all_rows_or_none(audit: RetrainAudit) -> None:
    pairs = audit.pairs.where(method="coin")
    assert {each["flips"] for each in pairs} == {0.0, 1.0}
    for each in pairs:
        assert each["flips"] == each["churn"] == 1 - each["identical"]
        # The coin turns by its seed alone.
        if each["change"] in ("fewer rows", "noise column", "columns permuted", "last digit"):
            assert each["flips"] == 0.0


def test_a_stump_of_one_clear_question_is_the_same_every_time() -> None:
    X = pd.DataFrame({"age": np.repeat([30.0, 70.0], 20), "bp": np.tile([1.0, 2.0], 20)})
    audit = retrain_audit({"tree": TreeClassifier(max_depth=1)}, X, np.repeat(["no", "yes"], 20), n_repeats=2)
    for each in audit.pairs:
        assert each["distance"] == each["churn"] == each["flips"] == 0.0 or each["change"] == "last digit"
        assert each["leaves"] == 2.0
        assert each["same_root"] == each["auc"] == 1.0


def test_columns_in_another_order_leave_the_same_bits_and_another_seed_a_tree_without_chance(
    audit: RetrainAudit,
) -> None:
    for change in ("columns permuted", "another seed"):
        assert audit.mean("tree", "distance", change) == audit.mean("tree", "churn", change) == 0.0
        assert audit.mean("tree", "identical", change) == 1.0


def test_means_errors_and_paired_differences_are_those_of_the_pairs(audit: RetrainAudit) -> None:
    flips = {
        name: np.array([each["flips"] for each in audit.pairs.where(method=name, change="overlap")])
        for name in audit.methods
    }
    assert len(flips["tree"]) == 4
    assert audit.mean("tree", "flips") == pytest.approx(flips["tree"].mean())
    assert audit.error("tree", "flips") == pytest.approx(flips["tree"].std(ddof=1) / 2)
    (found,) = audit.paired.where(method="coin", change="overlap", measure="flips")
    difference = flips["coin"] - flips["tree"]
    assert found["baseline"] == "tree"
    assert found["difference"] == pytest.approx(difference.mean())
    assert found["error"] == pytest.approx(difference.std(ddof=1) / 2)


class Recorder(DecisionTreeClassifier):
    """A tree of scikit-learn's that notes down what it is trained on and asked about."""

    log: ClassVar[list[tuple[str, Any]]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Recorder":
        self.trained_ = X.index.to_numpy() if hasattr(X, "index") else X[:, 0]
        super().fit(X, y, sample_weight)
        Recorder.log.append(("fit", self.trained_))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        Recorder.log.append(("test", X.index.to_numpy()))
        return super().predict_proba(X)


def numeric(n_rows: int = 80) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = patients(n_rows)
    return X[["age", "lab"]], y


def test_two_samples_of_three_quarters_share_half_and_no_test_row_is_trained_on() -> None:
    X, y = numeric(100)
    Recorder.log = []
    retrain_audit({"tree": Recorder(max_depth=2)}, X, y, n_repeats=2, changes="overlap")
    fits = [set(rows) for kind, rows in Recorder.log if kind == "fit"]
    tests = [set(rows) for kind, rows in Recorder.log if kind == "test"]
    assert len(fits) == 4  # two samples, twice
    for one, two, test in zip(fits[::2], fits[1::2], tests[::2], strict=True):
        pool = 100 - len(test)
        assert abs(len(test) - 30) <= 2
        assert abs(len(one) - 0.75 * pool) <= 1.5
        assert abs(len(two) - 0.75 * pool) <= 1.5
        assert abs(len(one & two) - 0.5 * pool) <= 1.5
        assert not test & (one | two)
        assert len(one | two | test) == 100


def test_the_first_sample_is_fitted_once_for_all_changes() -> None:
    X, y = numeric()
    Recorder.log = []
    retrain_audit({"tree": Recorder(max_depth=2)}, X, y, n_repeats=1)
    # One and two; half and all; and five changed samples.
    assert sum(kind == "fit" for kind, _ in Recorder.log) == 9


def test_figures_of_a_pair_are_those_of_two_models_by_hand() -> None:
    X, y = numeric()
    models = []

    def make(seed: int) -> DecisionTreeClassifier:
        models.append(Recorder(max_depth=3, random_state=seed))
        return models[-1]

    Recorder.log = []
    audit = retrain_audit({"tree": make}, X, y, n_repeats=1, changes="overlap", label_weight=7)
    one, two = models[-2:]
    test = next(rows for kind, rows in Recorder.log if kind == "test")
    (pair,) = audit.pairs
    values = [model.predict_proba(X.loc[test])[:, 1] for model in (one, two)]
    classes = [model.predict(X.loc[test]) for model in (one, two)]
    true = y[test]
    assert pair["churn"] == pytest.approx(np.abs(values[0] - values[1]).mean())
    assert pair["flips"] == pytest.approx((classes[0] != classes[1]).mean())
    assert pair["negative_flips"] == pytest.approx(((classes[0] == true) & (classes[1] != true)).mean())
    assert pair["leaves"] == np.mean([model.get_n_leaves() for model in (one, two)])
    from holdfast import Table, as_tree

    rest = ~np.isin(np.arange(len(X)), test)
    schema = Table.from_arrays(X[rest], y[rest]).schema
    trees = [as_tree(model, schema) for model in (one, two)]
    assert pair["distance"] == pytest.approx(tree_distance(*trees, label_weight=7).total)
    from sklearn.metrics import roc_auc_score

    assert pair["auc"] == pytest.approx(np.mean([roc_auc_score(true == "lived", each) for each in values]))
    flips = audit.rows.flips["tree"]
    assert sorted(np.flatnonzero(~np.isnan(flips))) == sorted(test)
    assert flips[test].tolist() == (classes[0] != classes[1]).astype(float).tolist()


def test_the_figures_do_not_depend_on_the_order_of_rows_and_columns_or_on_the_jobs() -> None:
    X, y = patients()
    methods = ["pruned-1se", "cart-cv"]
    order = np.random.default_rng(1).permutation(len(X))
    first = retrain_audit(methods, X, y, n_repeats=2)
    shuffled = X[["ward", "age", "lab"]].iloc[order]
    second = retrain_audit(methods, shuffled, y[order], n_repeats=2, n_jobs=2)
    for one, two in zip(first.pairs, second.pairs, strict=True):
        for name, value in one.items():
            if name != "seconds":
                assert two[name] == value or (two[name] != two[name] and value != value), name
    for name in methods:
        assert np.array_equal(first.rows.churn[name][order], second.rows.churn[name], equal_nan=True)


def test_groups_are_never_divided() -> None:
    X, y = numeric(90)
    groups = np.arange(90) // 3
    Recorder.log = []
    retrain_audit(
        {"tree": Recorder(max_depth=2)}, X, y, groups=groups, n_repeats=2, changes=["overlap", "fewer rows"]
    )
    everyone = {group: set(np.flatnonzero(groups == group)) for group in range(30)}
    for _, rows in Recorder.log:
        inside = set(rows.tolist())
        assert all(members <= inside or not members & inside for members in everyone.values())


class GroupRecorder(Recorder):
    """It notes down the groups too."""

    groups: ClassVar[list[tuple[np.ndarray, np.ndarray]]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> "GroupRecorder":
        super().fit(X, y, sample_weight)
        GroupRecorder.groups.append((self.trained_, groups))
        return self


@pytest.mark.parametrize("kind", [str, int])
def test_methods_get_groups_that_draw_what_the_labels_draw(kind: type) -> None:
    X, y = numeric(60)
    groups = np.array([kind(number) for number in np.arange(60) // 3 - 7])
    GroupRecorder.groups = []
    retrain_audit({"tree": GroupRecorder(max_depth=2)}, X, y, groups=groups, n_repeats=1, changes="overlap")
    for rows, given in GroupRecorder.groups:
        assert np.array_equal(read_groups(given, len(given)), read_groups(groups[rows], len(rows)))


def test_stages_are_trained_up_to_one_and_then_up_to_the_next() -> None:
    X, y = numeric(90)
    stage = np.repeat([2019, 2020, 2021], 30)
    Recorder.log = []
    audit = retrain_audit({"tree": Recorder(max_depth=2)}, X, y, stage=stage, n_repeats=1, changes="staged")
    fits = [set(rows.tolist()) for kind, rows in Recorder.log if kind == "fit"]
    test = set(Recorder.log[1][1].tolist())
    pool = set(range(90)) - test
    assert [each["part"] for each in audit.pairs] == [0, 1]
    assert fits == [{row for row in pool if stage[row] <= year} for year in (2019, 2020, 2021)]
    assert all(sum(stage[row] == year for row in test) in range(8, 11) for year in (2019, 2020, 2021))


def test_many_stages_are_pooled() -> None:
    X, y = numeric(100)
    audit = retrain_audit(
        {"tree": TreeClassifier(max_depth=2)}, X, y, stage=np.arange(100), n_repeats=1, changes="staged"
    )
    assert len(audit.pairs) == 4


def test_numbers_have_r2_and_churn_in_standard_deviations() -> None:
    X, _ = numeric()
    y = X["age"] + 3.0 * X["lab"]
    models = {"tree": TreeRegressor(max_depth=3), "other": DecisionTreeRegressor(max_depth=3)}
    audit = retrain_audit(models, X, y, n_repeats=2)
    assert audit.measures[0].name == "r2"
    assert "flips" not in audit.pairs[0]
    # The same trees: both libraries grow them by squared error.
    for one, two in zip(audit.pairs.where(method="tree"), audit.pairs.where(method="other"), strict=True):
        assert one["r2"] == pytest.approx(two["r2"], abs=0.05)
    assert 0.5 < audit.mean("tree", "r2") < 1
    assert 0 < audit.mean("tree", "churn") < 1
    assert np.isnan(audit.rows.flips["tree"]).all()
    assert "of the standard deviation" in audit.summary


class Shifted(RegressorMixin, BaseEstimator):
    """Predicts 0 on the first call, then what it is told."""

    def __init__(self, shift: float = 0.0, random_state: int | None = None) -> None:
        self.shift = shift
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "Shifted":
        self.n_rows_ = len(X)
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), self.shift * self.n_rows_)


def test_churn_of_numbers_by_hand() -> None:
    X, y = pd.DataFrame({"x": np.arange(40.0)}), np.tile([0.0, 2.0], 20)  # standard deviation 1
    audit = retrain_audit({"shifted": Shifted(0.5)}, X, y, changes="staged", n_repeats=1, test_size=0.5)
    # Half of 20 rows, then all: 5 and 10, 5 standard deviations apart.
    assert audit.mean("shifted", "churn", "staged") == pytest.approx(5.0, abs=0.51)


def test_several_classes_move_by_total_variation() -> None:
    X, _ = numeric()
    y = pd.cut(X["age"], [0, 40, 60, 100], labels=["young", "middle", "old"]).astype(str)
    audit = retrain_audit(
        {"tree": TreeClassifier(), "forest": "forest"}, X, y, n_repeats=2, changes="overlap"
    )
    assert audit.mean("tree", "auc") > 0.9
    assert audit.mean("tree", "churn") == pytest.approx(audit.mean("tree", "flips"))  # leaves are pure


def test_a_weight_of_nothing_is_no_row() -> None:
    X, y = patients()
    weight = np.ones(len(X))
    weight[::4] = 0.0
    whole = retrain_audit(["pruned-1se"], X, y, sample_weight=weight, n_repeats=2, changes="overlap")
    kept = retrain_audit(
        ["pruned-1se"],
        X[weight > 0],
        y[weight > 0],
        sample_weight=weight[weight > 0],
        n_repeats=2,
        changes="overlap",
    )
    assert whole.mean("pruned-1se", "churn") == kept.mean("pruned-1se", "churn")
    assert np.isnan(whole.rows.churn["pruned-1se"][::4]).all()


def test_weights_count_in_the_share_of_rows() -> None:
    X, y = patients()
    weight = np.where(np.arange(len(X)) % 2 == 0, 1.0, 3.0)
    audit = retrain_audit(
        {"t": TreeClassifier(max_depth=3)}, X, y, sample_weight=weight, n_repeats=1, changes="overlap"
    )
    flips = audit.rows.flips["t"]
    tested = ~np.isnan(flips)
    assert audit.mean("t", "flips") == pytest.approx(np.average(flips[tested], weights=weight[tested]))


def test_models_that_are_no_tree_are_audited_for_their_answers_alone() -> None:
    X, y = numeric()
    methods = {
        "forest": RandomForestClassifier(5),
        "linear": LogisticRegression(),
        "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
        "own": "forest",
    }
    audit = retrain_audit(methods, X, y, n_repeats=1)
    for name in methods:
        assert np.isnan(audit.mean(name, "distance"))
        assert np.isnan(audit.mean(name, "same_root"))
        assert audit.mean(name, "churn") > 0
    assert audit.mean("linear", "churn", "columns permuted") == pytest.approx(0, abs=1e-3)


def test_searches_and_pipelines_are_read_as_far_as_they_end_in_a_tree() -> None:
    X, y = numeric()
    methods = {
        "search": GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=3),
        "scaled": make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)),
        "own": make_pipeline(StandardScaler(), TreeClassifier(max_depth=2)),
        "plain": DecisionTreeClassifier(max_depth=2),
    }
    audit = retrain_audit(methods, X, y, n_repeats=2)
    for name in methods:
        assert 1 < audit.mean(name, "leaves") <= 4
        assert audit.mean(name, "distance", "columns permuted") < 1e-3 or name == "search"
    # Measured in ranges of the columns, so that the scale has hardly a say: the scaler learns it too.
    assert audit.mean("scaled", "distance") == pytest.approx(audit.mean("plain", "distance"), rel=0.3)


def test_arrays_have_columns_by_their_places() -> None:
    X, y = numeric()
    methods = {"own": TreeClassifier(max_depth=2), "other": DecisionTreeClassifier(max_depth=2)}
    by_place = retrain_audit(methods, X.to_numpy(float), y, n_repeats=2)
    by_name = retrain_audit(methods, X, y, n_repeats=2)
    for change in ("overlap", "noise column", "columns permuted"):
        assert by_place.mean("own", "distance", change) == by_name.mean("own", "distance", change)
        assert by_place.mean("own", "same_root", change) == by_name.mean("own", "same_root", change)
        assert by_place.mean("other", "leaves", change) == by_name.mean("other", "leaves", change)
    lists = retrain_audit(methods, X.to_numpy(float).tolist(), y.tolist(), n_repeats=2)
    assert lists.mean("own", "distance") == by_place.mean("own", "distance")


def test_questions_of_the_user_are_measured_too() -> None:
    X, y = patients()
    tree = TreeClassifier(max_depth=2, custom_features=["age > 60 and lab > 6"])
    audit = retrain_audit({"tree": tree}, X, y, n_repeats=1)
    assert not np.isnan(audit.mean("tree", "distance"))


def test_optimal_trees_are_read_where_they_are_installed() -> None:
    pystreed = pytest.importorskip("pystreed")
    X, y = numeric()
    audit = retrain_audit(
        {"optimal": pystreed.STreeDClassifier(max_depth=2)}, X, y, n_repeats=1, changes="overlap"
    )
    assert audit.mean("optimal", "leaves") > 1
    assert not np.isnan(audit.mean("optimal", "distance"))


def test_a_method_that_fails_is_named() -> None:
    X, y = patients()  # with text, which scikit-learn does not read
    with pytest.raises(
        ModelError, match=r"The method 'sk' failed on sample 'one' of repetition 1\. ValueError"
    ):
        retrain_audit({"sk": DecisionTreeClassifier()}, X, y, n_repeats=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"changes": ["overlap", "weather"]}, "changes has 'weather'"),
        ({"changes": []}, "changes has nothing"),
        ({"n_repeats": 0}, "n_repeats=0 is out of range"),
        ({"test_size": 1.0}, "test_size=1.0 is out of range"),
        ({"label_weight": -1}, "label_weight=-1 is out of range"),
        ({"random_state": None}, "random_state=None is out of range"),
        ({"n_jobs": 0}, "n_jobs=0 is out of range"),
        ({"methods": []}, "methods is empty"),
        ({"methods": ["oracle"]}, "The method 'oracle' is unknown"),
        ({"methods": [TreeClassifier]}, r"is a class: write TreeClassifier\(\)"),
        ({"methods": {"x": 3}}, "neither an estimator nor a function"),
        ({"methods": 3}, "methods=3 is neither a mapping"),
        ({"methods": {"a": TreeClassifier(), "b": TreeRegressor()}}, "No metric compares"),
    ],
)
def test_what_is_out_of_range_is_refused_before_any_work(options: dict[str, Any], message: str) -> None:
    X, y = patients()
    with pytest.raises(ParameterError, match=message):
        retrain_audit(**{"methods": ["pruned-1se"], "X": X, "y": y, **options})


def test_weights_need_a_fit_that_takes_them() -> None:
    X, y = patients()
    with pytest.raises(ParameterError, match="'constant' cannot take weights"):
        retrain_audit({"constant": Constant()}, X, y, sample_weight=np.ones(len(y)) * 2, n_repeats=1)


def test_one_group_cannot_be_divided() -> None:
    X, y = patients()
    with pytest.raises(DataError, match="only one row or one group"):
        retrain_audit(["pruned-1se"], X, y, groups=np.zeros(len(y)), n_repeats=1)


def test_c45_is_for_classes() -> None:
    X, _ = numeric()
    with pytest.raises(ParameterError, match=r"'c4.5' is for classes"):
        retrain_audit(["c4.5"], X, X["lab"], n_repeats=1)


def test_unknown_names_of_figures_are_refused(audit: RetrainAudit) -> None:
    with pytest.raises(ParameterError, match="The measure 'beauty' is unknown"):
        audit.mean("tree", "beauty")
    with pytest.raises(ParameterError, match="The method 'oak' was not audited"):
        audit.mean("oak", "churn")
    with pytest.raises(ParameterError, match="The change 'weather' was not audited"):
        audit.mean("tree", "churn", "weather")


def test_rows_that_move_are_told_by_a_small_tree() -> None:
    chance = np.random.default_rng(0)
    X = pd.DataFrame({"age": np.arange(200.0) % 100, "noise": chance.normal(size=200)})
    y = np.where(X["age"] >= 50, "yes", "no")

    class OldAreTossed(Coin):
        def fit(self, X: Any, y: Any) -> "OldAreTossed":
            super().fit(X, y)
            self.classes_ = np.array(["no", "yes"])
            return self

        def predict_proba(self, X: Any) -> np.ndarray:
            return np.eye(2)[np.where(X["age"] > 80, self.side_, 0)]

        def predict(self, X: Any) -> np.ndarray:
            return self.classes_[np.where(X["age"] > 80, self.side_, 0)]

    audit = retrain_audit({"coin": OldAreTossed()}, X, y, n_repeats=6, changes="overlap")
    tree = audit.rows.trees["coin"]
    assert isinstance(tree, Tree)
    assert tree.schema.features[int(tree.feature[0])].name == "age"
    assert 79 < tree.threshold[0] < 82
    frame = audit.rows.to_frame()
    assert (frame[X["age"].to_numpy()[frame["row"]] <= 80]["flips"] == 0).all()
