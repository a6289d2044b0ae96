"""Every export against its model on six real data sets: rows and edges that differ, by engine.

Run as `python -m benchmarks.exports FOLDER`, where FOLDER holds the data sets and their list datasets.json,
or with names of engines after it. An engine that is not installed, or that cannot read a model, says so. A
sheet computes some hundred rows and edges, and readers of PMML that round are asked about rows alone.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from benchmarks.libreoffice import by_libreoffice
from benchmarks.pmml_readers import by_pypmml, by_sklearn_pmml_model
from benchmarks.studies.cases import listed_frame
from holdfast import BoostingClassifier, ForestClassifier, ForestRegressor, TreeClassifier, export
from holdfast.exports.check import (
    Rows,
    Scale,
    count_rows,
    find_differences,
    make_edge_rows,
    make_rows,
    predict_model,
)
from holdfast.exports.plain_model import make_plain_model, unwrap_model

SHEET_ROWS = 300  # of rows, and of edges, that a spreadsheet computes


class Engine(NamedTuple):
    """What runs an export."""

    to: str
    options: dict[str, str]
    predict_rows: Callable[..., Any] | None = None  # instead of the one that verifies the format
    most_rows: int | None = None
    has_edges: bool = True


ENGINES = {
    "python": Engine("python", {}),
    "sqlite": Engine("sql", {"dialect": "sqlite"}),
    "duckdb": Engine("sql", {"dialect": "duckdb"}),
    "sqlite-views": Engine("sql", {"dialect": "sqlite", "view": "scored", "key": "row number"}),
    "duckdb-views": Engine("sql", {"dialect": "duckdb", "view": "scored", "key": "row number"}),
    "onnxruntime": Engine("onnx", {}),
    "jpmml": Engine("pmml", {}),
    "pypmml": Engine("pmml", {}, by_pypmml, has_edges=False),
    "sklearn-pmml-model": Engine("pmml", {}, by_sklearn_pmml_model, has_edges=False),
    "excel": Engine("excel", {"rows": 1}, most_rows=SHEET_ROWS),
    "libreoffice": Engine("excel", {"rows": 1}, by_libreoffice, most_rows=SHEET_ROWS),
    "sklearn": Engine("sklearn", {}),
    "json": Engine("json", {}),
}


def models(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """The name of the data, its rows, and a model fitted to them."""
    X, y = listed_frame("breast_cancer_wdbc", folder)
    yield "numbers: breast cancer, tree", X, TreeClassifier(max_depth=8).fit(X, y)
    X, y = listed_frame("adult_income", folder)
    yield "categories: adult income, tree", X, TreeClassifier(max_depth=9, min_samples_leaf=20).fit(X, y)
    X, y = listed_frame("nhanes_diabetes", folder)
    yield "missing: NHANES diabetes, tree", X, TreeClassifier(max_depth=9).fit(X, y)
    pixels, digit = load_digits(return_X_y=True)
    X = pd.DataFrame(pixels, columns=[f"pixel_{place}" for place in range(64)])
    yield "many classes: ten digits, forest", X, ForestClassifier(20, random_state=0).fit(X, digit)
    X, y = listed_frame("california_housing", folder)
    yield "regression: California, forest", X, ForestRegressor(20, max_depth=8, random_state=0).fit(X, y)
    X, y = listed_frame("hypothyroid", folder)
    yield "boosted: thyroid, 30 rounds", X, BoostingClassifier(n_estimators=30).fit(X, y)


def counted(model: Any, X: Any, engine: Engine) -> str:
    """Rows, edges, how many of each differ, and the largest gap of a number."""
    exported = export(model, engine.to, **engine.options)
    module = import_module(f"holdfast.exports.{engine.to}")
    scale = module.scale_of(exported) if hasattr(module, "scale_of") else Scale()
    found, plain = unwrap_model(model), make_plain_model(model)
    rows = make_rows(found, plain, X)
    parts = [rows, make_edge_rows(plain, rows, scale)] if engine.has_edges else [rows]
    texts, largest, name = [], 0.0, ""
    for part, what in zip(parts, ("rows", "edges"), strict=False):
        taken = _first(part, engine.most_rows)
        ours = predict_model(found, taken)
        theirs = (engine.predict_rows or module.predict_rows)(exported, plain, taken, **engine.options)
        n_differing = int(find_differences(ours, theirs).sum())
        texts.append(f"{n_differing} of {count_rows(taken):,} {what} differ")
        largest, name = max(largest, float(np.abs(ours.values - theirs.values).max())), theirs.engine
    return f"{', '.join(texts)}; largest gap {largest:.1e} ({name})"


def _first(rows: Rows, most: int | None) -> Rows:
    step = 1 if most is None else -(-count_rows(rows) // most)
    return {name: list(values)[::step] for name, values in rows.items()}


def main() -> None:
    """Print a line for each data set and engine."""
    warnings.simplefilter("ignore")
    folder, *asked = sys.argv[1:]
    for name, X, model in models(Path(folder)):
        for each, engine in ENGINES.items():
            if asked and each not in asked:
                continue
            try:
                said = counted(model, X, engine)
            except Exception as error:  # whatever a foreign reader stumbles over is told
                said = f"{type(error).__name__}: {error}".splitlines()[0][:150]
            print(f"{name:34} {each:19} {said}", flush=True)


if __name__ == "__main__":
    main()
