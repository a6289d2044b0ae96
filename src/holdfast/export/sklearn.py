"""Models become genuine models of scikit-learn: trees, forests, votes, and gradient boosting."""

import warnings
from typing import Any

import numpy as np

from holdfast.errors import ExportError
from holdfast.export.edges import Scale
from holdfast.export.plain_model import PlainModel, unwrap_model
from holdfast.export.scored import EnginePredictions, Rows, count_rows
from holdfast.export.sklearn_boosted import to_boosting
from holdfast.export.sklearn_mean import to_mean
from holdfast.export.sklearn_tree import break_ties, to_sklearn_tree
from holdfast.tree.tree import Tree


def to_sklearn(model: Any) -> Any:
    """Export as a fitted scikit-learn tree or ensemble with the same predictions.

    A tree becomes a DecisionTreeClassifier or DecisionTreeRegressor; an ensemble that takes the mean of its
    trees, or lets them vote, a RandomForestClassifier or RandomForestRegressor, or a VotingClassifier or
    VotingRegressor if its trees weigh differently. These read the columns of the schema as numbers, ordered
    categories as their positions, and round values to float32: a row can get another prediction if that makes
    a value equal to the threshold it is compared with. Of tied classes a tree predicts the first: where ours
    is another, its fraction is one last bit more. Splits on categories cannot be expressed.

    Boosting and AdaBoost become a HistGradientBoostingClassifier or HistGradientBoostingRegressor, which
    compares numbers as we do and takes columns of up to 255 categories as they are.

    An ExportError says what cannot be expressed: questions of your own, a loss matrix, and the like.
    """
    found = unwrap_model(model)
    if found.loss_matrix is not None:
        raise ExportError(
            "The model predicts by a loss matrix or a threshold, and scikit-learn's predict the most likely "
            "class. Export it without, to_sklearn(model.replace(loss_matrix=None)), and decide by "
            "its probabilities."
        )
    if isinstance(found, Tree):
        return to_sklearn_tree(break_ties(found))
    return to_mean(found) if found.link == "mean" else to_boosting(found)


# -- running it -------------------------------------------------------------------------------------------


def scale_of(exported: Any) -> Scale:
    """Return the scale of the model: scikit-learn trees and forests round to float32."""
    return Scale() if hasattr(exported, "_predictors") else Scale(_beside, is_exact=False)


def _beside(number: float, side: float) -> float:
    return float(np.nextafter(np.float32(number), np.float32(side)))


def scored(exported: Any, plain: PlainModel, rows: Rows) -> EnginePredictions:
    """Predict with the scikit-learn model; columns that it does not use are missing."""
    import sklearn

    matrix = _matrix(exported, plain, rows)
    engine = f"scikit-learn {sklearn.__version__}"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        if not plain.target.is_classes:
            return EnginePredictions(exported.predict(matrix)[:, None], None, engine)
        return EnginePredictions(exported.predict_proba(matrix), exported.predict(matrix).tolist(), engine)


def _matrix(exported: Any, plain: PlainModel, rows: Rows) -> Any:
    names = [f"x{place}" for place in range(exported.n_features_in_)]
    names = list(getattr(exported, "feature_names_in_", names))
    keeps_labels = getattr(exported, "is_categorical_", None) is not None
    matrix = np.full((count_rows(rows), len(names)), np.nan, object if keeps_labels else np.float64)
    for feature in plain.columns:
        values = list(rows[feature.name])
        if feature.categories and not keeps_labels:
            places = {label: float(place) for place, label in enumerate(feature.categories)}
            values = [places.get(value, np.nan) for value in values]
        matrix[:, names.index(feature.name)] = [np.nan if value is None else value for value in values]
    return matrix
