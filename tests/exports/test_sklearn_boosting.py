"""Boosting and AdaBoost become histogram gradient boosting of scikit-learn, categories and gaps included."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from exported_models import SITE, model, rows, target
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from holdfast import AdaBoostClassifier, BoostingClassifier, BoostingRegressor, check_export, to_sklearn
from holdfast.errors import DataWarning, ExportError
from reference.gaps import with_gaps

IRIS, SPECIES = load_iris(return_X_y=True)
CELLS, MALIGNANT = load_breast_cancer(return_X_y=True)
PATIENTS, PROGRESSION = load_diabetes(return_X_y=True)


@pytest.mark.parametrize(
    "name", ["boosted two", "boosted four", "boosted number", "boosted count", "adaboost", "adaboost four"]
)
def test_rows_and_edges_with_categories_and_gaps_get_the_same_prediction(name: str) -> None:
    check = check_export(model(name), "sklearn", rows())
    assert check.is_equal, str(check)
    assert (check.n_rows, check.n_edges > 10) == (160, True)


@pytest.mark.parametrize(
    ("boosted", "X", "y", "kind"),
    [
        (BoostingClassifier(n_estimators=5), with_gaps(CELLS), MALIGNANT, HistGradientBoostingClassifier),
        (BoostingClassifier(n_estimators=3, loss="exponential"), CELLS, MALIGNANT == 1, None),
        (BoostingClassifier(n_estimators=3), IRIS, SPECIES, HistGradientBoostingClassifier),
        (BoostingRegressor(n_estimators=5), with_gaps(PATIENTS), PROGRESSION, HistGradientBoostingRegressor),
        (BoostingRegressor(n_estimators=3, loss="poisson"), PATIENTS, np.round(PROGRESSION / 50), None),
        (AdaBoostClassifier(n_estimators=5), CELLS, MALIGNANT, HistGradientBoostingClassifier),
    ],
)
def test_every_loss_predicts_the_same_at_each_float(boosted, X, y, kind) -> None:  # type: ignore[no-untyped-def]
    boosted.fit(X, y)
    theirs = to_sklearn(boosted)
    assert kind is None or isinstance(theirs, kind)
    check = check_export(boosted, "sklearn", X, theirs)
    assert check.is_equal, str(check)
    assert pickle.loads(pickle.dumps(theirs)).predict(X).tolist() == theirs.predict(X).tolist()


def test_frames_of_any_library_are_taken_as_they_are() -> None:
    theirs, frame = to_sklearn(model("boosted two")), rows()
    assert theirs.feature_names_in_.tolist() == list(frame)
    expected = model("boosted two").predict(frame).tolist()
    assert theirs.predict(frame).tolist() == expected
    assert theirs.predict(pl.from_pandas(frame.astype({"zip": int}))).tolist() == expected
    assert clone(theirs).fit(frame, target("two")).score(frame, target("two")) > 0.7


def test_a_category_that_nobody_has_seen_goes_the_way_of_the_missing() -> None:
    ours, frame = model("boosted four"), rows().astype(object)
    frame.loc[::3, SITE], frame.loc[::5, "zip"], frame.loc[::7, "grade"] = "unheard of", 99, None
    with pytest.warns(DataWarning):
        expected = ours.predict(frame).tolist()
    assert to_sklearn(ours).predict(frame).tolist() == expected


def test_a_class_with_fewer_trees_than_the_others_has_leaves_of_nothing_instead() -> None:
    ensemble = BoostingClassifier(n_estimators=2).fit(IRIS, SPECIES).ensemble_
    shorter = ensemble.replace(
        trees=ensemble.trees[:-1], weights=ensemble.weights[:-1], outputs=ensemble.outputs[:-1]
    )
    assert check_export(shorter, "sklearn", IRIS).is_equal


def test_more_categories_than_it_holds_are_refused_by_name() -> None:
    frame = pd.DataFrame({"place": [f"place {row % 300}" for row in range(3000)]})
    ours = BoostingRegressor(n_estimators=1).fit(frame, np.arange(3000.0) % 300)
    with pytest.raises(ExportError, match=r"column 'place' has 300 categories, and it holds 255.*save"):
        to_sklearn(ours)


def test_a_column_of_many_categories_that_no_tree_asks_about_does_no_harm() -> None:
    frame = pd.DataFrame({"place": [f"place {row}" for row in range(300)], "age": np.arange(300.0)})
    ours = BoostingRegressor(n_estimators=1, max_depth=1).fit(frame, frame["age"] > 100)
    assert to_sklearn(ours).predict(frame).tolist() == pytest.approx(ours.predict(frame).tolist())


def test_one_class_is_refused() -> None:
    with pytest.warns(UserWarning, match="class"):
        ours = BoostingClassifier(n_estimators=1).fit(IRIS[:50], SPECIES[:50])
    with pytest.raises(ExportError, match="has one class only"):
        to_sklearn(ours)
