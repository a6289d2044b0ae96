"""Two more readers of PMML: pypmml, which runs PMML4S in Java, and sklearn-pmml-model, in Python.

Both round what they read (pypmml the last digits, sklearn-pmml-model to float32), so that a row whose value
all but equals a threshold may come out otherwise. Of classes the probabilities are compared.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from holdfast.exports.check import EnginePredictions, Rows
from holdfast.exports.plain_model import PlainModel


def by_pypmml(exported: bytes, plain: PlainModel, rows: Rows) -> EnginePredictions:
    """What pypmml says of the rows."""
    from pypmml import Model

    with TemporaryDirectory() as folder:
        said = Model.load(_written(folder, exported)).predict(pd.DataFrame(rows))
    if not plain.target.is_classes:
        name = next(column for column in said if column.startswith("predicted"))
        return EnginePredictions(said[[name]].to_numpy(np.float64), None, "pypmml")
    names = [f"probability({label})" for label in plain.target.classes]
    return EnginePredictions(said[names].to_numpy(np.float64), None, "pypmml")


def by_sklearn_pmml_model(exported: bytes, plain: PlainModel, rows: Rows) -> EnginePredictions:
    """What sklearn-pmml-model says of the rows."""
    from sklearn_pmml_model.auto_detect import auto_detect_estimator

    with TemporaryDirectory() as folder:
        model = auto_detect_estimator(_written(folder, exported))
    frame = pd.DataFrame(rows)
    if not plain.target.is_classes:
        return EnginePredictions(
            np.asarray(model.predict(frame), np.float64)[:, None], None, "sklearn-pmml-model"
        )
    order = [[str(label) for label in model.classes_].index(str(label)) for label in plain.target.classes]
    return EnginePredictions(model.predict_proba(frame)[:, order], None, "sklearn-pmml-model")


def _written(folder: str, exported: bytes) -> str:
    path = Path(folder) / "model.pmml"
    path.write_bytes(exported)
    return str(path)
