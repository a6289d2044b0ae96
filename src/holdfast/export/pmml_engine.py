"""The evaluator of PMML that an exported file is tried on: that of JPMML, in Java."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from holdfast.data.schema import Label
from holdfast.errors import EngineError
from holdfast.export.plain_model import PlainModel
from holdfast.export.scored import EnginePredictions, Rows
from holdfast.files import replace_file


def evaluate_pmml(exported: bytes, plain: PlainModel, rows: Rows) -> EnginePredictions:
    """Predict rows with the PMML file."""
    try:
        import jpmml_evaluator
        import pandas as pd
    except ImportError as error:
        raise EngineError(
            "the format 'pmml' is verified in Java: install it, and pip install jpmml-evaluator jpype1."
        ) from error
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.pmml"
        replace_file(path, exported)
        evaluator = jpmml_evaluator.make_evaluator(str(path)).verify()
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in rows.items()})
    said = evaluator.evaluateAll(frame, nan_as_missing=True)
    engine = f"JPMML-Evaluator {jpmml_evaluator.__version__}"
    target = plain.target
    if not target.is_classes:
        return EnginePredictions(said[[target.name]].to_numpy(np.float64), None, engine)
    names = [f"probability({_text(label)})" for label in target.classes]
    return EnginePredictions(
        said[names].to_numpy(np.float64),
        [each.item() if isinstance(each, np.generic) else each for each in said[target.name]],
        engine,
    )


def _text(label: Label) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)
