"""Infinity is refused where a model looks, and a model looks only at the columns that it asks about."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from holdfast import DataError, DensityTree, Ensemble, Table
from holdfast._arrays import FloatArray
from reference.every_estimator import CLASSIFIERS, REGRESSORS, model_of

NAMES = ["asked", "idle"]
ALL = [("classes", name) for name in CLASSIFIERS] + [("numbers", name) for name in REGRESSORS]
FORMS: dict[str, Callable[[FloatArray], Any]] = {
    "array": lambda rows: rows,
    "single precision": lambda rows: rows.astype(np.float32),
    "array of columns": np.asfortranarray,
    "objects": lambda rows: rows.astype(object),
    "list": lambda rows: rows.tolist(),
    "pandas": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "polars": lambda rows: pl.DataFrame(rows, schema=NAMES),
    "pyarrow": lambda rows: pa.table(dict(zip(NAMES, rows.T, strict=True))),
}


def rows() -> FloatArray:
    """Two clusters along the first column, and a second column that is never asked about."""
    asked = np.concatenate([np.arange(30) / 32, 9.0 + np.arange(30) / 32])  # exact in single precision too
    return np.column_stack([asked, np.ones(60)])


def with_infinity(column: int) -> FloatArray:
    X = rows()
    X[7, column] = np.inf
    return X


def fitted(kind: str, name: str, X: Any) -> Any:
    y = rows()[:, 0]
    model = (CLASSIFIERS if kind == "classes" else REGRESSORS)[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the second column holds one value
        return model.fit(X, (y > 5).astype(int) if kind == "classes" else y)


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_infinity_matters_only_in_columns_that_are_asked_about(kind: str, name: str) -> None:
    estimators = {True: fitted(kind, name, rows()), False: fitted(kind, name, FORMS["pandas"](rows()))}
    expected = estimators[True].predict(rows())
    for form, made in FORMS.items():
        is_array = form not in ("pandas", "polars", "pyarrow")
        model = estimators[is_array]
        np.testing.assert_array_equal(model.predict(made(with_infinity(1))), expected, err_msg=form)
        with pytest.raises(DataError, match=f"column '{'x0' if is_array else 'asked'}' contains infinity"):
            model.predict(made(with_infinity(0)))


@pytest.mark.parametrize("name", ["tree", "forest", "boosting"])
def test_trees_and_ensembles_keep_the_same_rule(name: str) -> None:
    model = model_of(fitted("classes", name, rows()))
    leaves = model.leaves if isinstance(model, Ensemble) else model.apply
    np.testing.assert_array_equal(leaves(with_infinity(1)), leaves(rows()))
    with pytest.raises(DataError, match="column 'x0' contains infinity"):
        leaves(with_infinity(0))


def test_data_to_learn_from_and_a_density_look_at_every_column() -> None:
    with pytest.raises(DataError, match="column 'x1' contains infinity"):
        Table.from_arrays(with_infinity(1), rows()[:, 0])
    X = np.column_stack([rows()[:, 0], np.linspace(0.0, 1.0, 60)])
    model = DensityTree().fit(X)
    X[3, 1] = -np.inf
    with pytest.raises(DataError, match="column 'x1' contains infinity"):
        model.score_samples(X)
