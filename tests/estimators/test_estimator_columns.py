from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from patients import NUMBERS, PATIENTS, STAY

from holdfast.errors import DataError, DataWarning, SchemaMismatch
from holdfast.estimators.tree import TreeClassifier

FRAMES = {
    "pandas": PATIENTS,
    "polars": pl.from_pandas(PATIENTS),
    "lazy polars": pl.from_pandas(PATIENTS).lazy(),
    "pyarrow": pa.Table.from_pandas(PATIENTS, preserve_index=False),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_of_all_libraries_give_one_tree_and_the_names_of_the_columns(frame: Any):
    model = TreeClassifier().fit(frame, STAY)
    assert str(model.tree_) == str(TreeClassifier().fit(PATIENTS, STAY).tree_)
    assert model.feature_names_in_.tolist() == ["age", "ward", "bmi"]
    assert model.feature_names_in_.dtype == object
    assert model.n_features_in_ == 3
    assert model.score(frame, STAY) == 1.0


def test_an_array_leaves_no_names_behind():
    model = TreeClassifier().fit(PATIENTS, STAY).fit(NUMBERS, STAY)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2


def test_numbered_columns_have_no_names():
    model = TreeClassifier().fit(pd.DataFrame(NUMBERS), STAY)
    assert not hasattr(model, "feature_names_in_")
    assert model.score(NUMBERS, STAY) == model.score(pd.DataFrame(NUMBERS)[[1, 0]], STAY)


@pytest.mark.filterwarnings("error")
def test_columns_in_another_order_are_found_by_name():
    model = TreeClassifier().fit(PATIENTS, STAY)
    assert model.score(PATIENTS[["bmi", "age", "ward"]], STAY) == 1.0


def test_other_columns_are_refused_with_those_missing_and_those_extra():
    model = TreeClassifier().fit(PATIENTS, STAY)
    with pytest.raises(SchemaMismatch, match=r"(?s)missing.*'bmi'.*not in the schema.*'weight'"):
        model.predict(PATIENTS.rename(columns={"bmi": "weight"}))


def test_an_array_for_a_model_fitted_with_names_goes_by_position_with_a_warning():
    model = TreeClassifier().fit(PATIENTS, STAY)
    with pytest.warns(DataWarning, match="X does not have valid feature names, but TreeClassifier was"):
        assert model.score(PATIENTS.to_numpy(), STAY) == 1.0


def test_a_frame_for_a_model_fitted_without_names_goes_by_position_with_a_warning():
    model = TreeClassifier().fit(NUMBERS, STAY)
    with pytest.warns(DataWarning, match="X has feature names, but TreeClassifier was fitted without"):
        predicted = model.predict(PATIENTS[["age", "bmi"]])
    assert (predicted == model.predict(NUMBERS)).all()


def test_a_wrong_number_of_columns_is_refused():
    model = TreeClassifier().fit(NUMBERS, STAY)
    with pytest.raises(SchemaMismatch, match="X has 1 features, but Tree is expecting 2 features"):
        model.predict(NUMBERS[:, :1])
    with pytest.raises(SchemaMismatch, match="columns missing"):
        model.predict(PATIENTS)


# -- categories and missing values ------------------------------------------------------------------------

BY_WARD = TreeClassifier().fit(pd.DataFrame({"ward": list("AABB")}), ["no", "no", "yes", "yes"])
STRANGE = pd.DataFrame({"ward": ["A", "Z"]})


def test_an_unknown_category_counts_as_missing_with_a_warning():
    with pytest.warns(DataWarning, match="'Z'"):
        BY_WARD.predict(STRANGE)


def test_an_unknown_category_is_refused_on_request():
    model = TreeClassifier(handle_unknown="error").fit(pd.DataFrame({"ward": list("AABB")}), [0, 0, 1, 1])
    with pytest.raises(SchemaMismatch, match="'Z'"):
        model.predict(STRANGE)


def test_a_missing_value_is_refused_on_request_but_only_at_prediction():
    model = TreeClassifier(handle_missing="error").fit(PATIENTS, STAY)
    with pytest.raises(DataError, match="'bmi' has"):
        model.predict(PATIENTS)
    assert (model.set_params(handle_missing="learned").predict(PATIENTS) == STAY).all()


def test_numbers_are_read_as_categories_on_request():
    codes = pd.DataFrame({"code": [1, 2, 3, 1, 2, 3]})
    model = TreeClassifier(categorical_features=["code"]).fit(codes, [0, 1, 0, 0, 1, 0])
    assert model.schema_.features[0].kind == "nominal"
    assert model.get_n_leaves() == 2


def test_a_question_is_asked_of_new_rows_too():
    model = TreeClassifier(max_depth=1, custom_features=["bmi > 30 or (age > 60 and ward != 'C')"])
    model.fit(PATIENTS, STAY)
    assert model.score(PATIENTS, STAY) > 0.9
    assert model.n_features_in_ == 3
    assert model.tree_.feature[0] == 3
    assert np.array_equal(model.predict(PATIENTS), model.tree_.predict(PATIENTS))
