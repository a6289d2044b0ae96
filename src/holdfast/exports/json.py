"""The model file itself, and the JSON Schema of it."""

from typing import Any

from holdfast.exports.check import EnginePredictions, Rows
from holdfast.exports.plain_model import PlainModel, unwrap_model
from holdfast.io.model_file import model_from_json, model_to_json


def to_json(model: Any) -> bytes:
    """Export as a model file, which `holdfast.load` reads and `model_file_schema()` describes.

    Parameters
    ----------
    model : Tree, Ensemble or fitted estimator

    Returns
    -------
    bytes

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0]], ["no", "no", "yes"]))
    >>> to_json(tree).splitlines()[1]
    b'  "format": "holdfast-model",'
    """
    unwrap_model(model)
    return model_to_json(model)


def predict_rows(exported: bytes, plain: PlainModel, rows: Rows) -> EnginePredictions:
    """Predict with the model in the file."""
    from holdfast.exports.check import predict_model

    return predict_model(unwrap_model(model_from_json(exported)), rows)
