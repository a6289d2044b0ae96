"""Estimators that are given a table instead of a frame, on disk or in memory."""

import numpy as np
import polars as pl
import pytest

from holdfast import (
    DataError,
    ForestClassifier,
    ParameterError,
    StableTreeClassifier,
    Table,
    TreeClassifier,
    TreeRegressor,
)
from holdfast.data import StoredTable, store_table


@pytest.fixture(scope="module")
def patients() -> pl.DataFrame:
    random = np.random.default_rng(0)
    age, dose = random.integers(18, 95, 400), random.normal(size=400)
    ward = random.choice(["A", "B", "C"], 400)
    risk = (age > 60) + dose + (ward == "B") + random.normal(size=400)
    return pl.DataFrame(
        {"age": age, "dose": dose, "ward": ward, "outcome": np.where(risk > 1, "died", "home")}
    )


@pytest.fixture(scope="module")
def stored(patients: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> StoredTable:
    return store_table(patients.lazy(), tmp_path_factory.mktemp("stored") / "table", "outcome")


def test_a_tree_of_a_stored_table_is_that_of_its_frame(patients: pl.DataFrame, stored: StoredTable) -> None:
    X, y = patients.drop("outcome"), patients["outcome"]
    by_frame, by_table = TreeClassifier(max_depth=3).fit(X, y), TreeClassifier(max_depth=3).fit(stored)
    assert by_table.rules() == by_frame.rules()
    assert by_table.classes_.tolist() == by_frame.classes_.tolist()
    assert by_table.feature_names_in_.tolist() == X.columns
    assert (by_table.predict(stored) == by_frame.predict(X)).all()
    assert (by_table.predict_proba(X) == by_frame.predict_proba(X)).all()


def test_a_table_in_memory_may_have_its_size_chosen_by_folds(patients: pl.DataFrame) -> None:
    table = Table.from_frame(patients, "outcome")
    X, y = patients.drop("outcome"), patients["outcome"]
    settings = {"max_depth": "cv", "cv": 3}
    assert TreeClassifier(**settings).fit(table).max_depth_ == TreeClassifier(**settings).fit(X, y).max_depth_


@pytest.mark.parametrize(
    "settings",
    [
        {"size": "auto"},
        {"ccp_alpha": "cv"},
        {"leaf_values": "honest"},
        {"merge_leaves": "similar"},
        {"reduced_error": 0.3},
        {"threshold": "cost"},
    ],
    ids=str,
)
def test_what_would_hold_rows_out_of_a_table_on_disk_is_refused(
    stored: StoredTable, settings: dict[str, object]
) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(settings))}=.* would read rows .*taken"):
        TreeClassifier(**settings).fit(stored)


def test_a_part_of_its_rows_is_a_table_in_memory(stored: StoredTable) -> None:
    model = TreeClassifier(size="auto", cv=3).fit(stored.subset(np.arange(200)))
    assert model.tree_.count[0] == 200


def test_a_table_has_a_target_of_its_own(stored: StoredTable, patients: pl.DataFrame) -> None:
    with pytest.raises(ParameterError, match="leave y and sample_weight out"):
        TreeClassifier().fit(stored, patients["outcome"])
    with pytest.raises(DataError, match=r"TreeRegressor is for regression.*'outcome'.*classes"):
        TreeRegressor().fit(stored)


def test_how_a_table_is_read_is_said_where_it_is_made(stored: StoredTable) -> None:
    with pytest.raises(ParameterError, match=r"custom_features=.*store_table"):
        TreeClassifier(custom_features=["age > 60"]).fit(stored)


@pytest.mark.parametrize("estimator", [ForestClassifier(), StableTreeClassifier()], ids=repr)
def test_other_estimators_say_what_takes_a_table(
    estimator: ForestClassifier | StableTreeClassifier, stored: StoredTable, patients: pl.DataFrame
) -> None:
    with pytest.raises(DataError, match=f"{type(estimator).__name__} takes .* TreeClassifier .*grow_bagging"):
        estimator.fit(stored, patients["outcome"])


def test_without_a_table_y_is_needed_as_ever(patients: pl.DataFrame) -> None:
    with pytest.raises(ValueError, match="y"):
        TreeClassifier().fit(patients.drop("outcome"))
