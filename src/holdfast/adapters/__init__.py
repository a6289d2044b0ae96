"""Convert trees of other libraries: one file per library."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from holdfast._arrays import FloatArray
from holdfast.data.schema import Schema
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

__all__ = ["as_tree", "base_score", "forest_trees", "needs_integer_classes"]

# Our file for each library that defines a model's class. It has is_tree and read_tree, is_forest and
# forest_trees, and perhaps base_score and INTEGER_CLASSES. No library is imported to recognise a model.
FILES = {
    "lightgbm": "holdfast.adapters.lightgbm",
    "pystreed": "holdfast.adapters.pystreed",
    "sklearn": "holdfast.adapters.sklearn",
    "xgboost": "holdfast.adapters.xgboost",
}

_SUPPORTED = (
    "a Tree; a fitted holdfast model that has a tree_; a fitted DecisionTreeClassifier, "
    "DecisionTreeRegressor, ExtraTreeClassifier or ExtraTreeRegressor of scikit-learn, or a member of one of "
    "its forests; a LightGBM or XGBoost model of one tree; a fitted STreeDClassifier or STreeDRegressor"
)
_FORESTS = (
    "an Ensemble; a fitted holdfast model that has an ensemble_; a fitted model of LightGBM or XGBoost, or a "
    "fitted RandomForestClassifier, RandomForestRegressor, "
    "ExtraTreesClassifier or ExtraTreesRegressor"
)


def as_tree(model: Any, schema: Schema | None = None, *, classes: Sequence[Any] | None = None) -> Tree:
    """Convert a fitted tree of scikit-learn, LightGBM, XGBoost or pystreed.

    A boosted model is read if it has one tree: fit it with `n_estimators=1` on numbers or two classes, and
    with `learning_rate=1`, or all leaves stay close to the mean. Its values are probabilities or predictions.

    Parameters
    ----------
    model : fitted model, Tree or fitted holdfast estimator
    schema : Schema, optional
        Schema of the tree. Default: the columns of the model with the ranges of its thresholds.
    classes : sequence, optional
        Names of the classes of a model that was fitted to class numbers, such as one of pystreed or a member
        of a scikit-learn forest: classes, y = np.unique(labels, return_inverse=True).

    Returns
    -------
    Tree

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> as_tree(DecisionTreeClassifier().fit([[1.0], [2.0], [4.0]], ["no", "no", "yes"])).threshold[0]
    np.float64(3.0000001192092896)
    """
    if schema is not None and not isinstance(schema, Schema):
        raise TypeError(f"schema must be a Schema, such as table.schema, got a {type(schema).__name__}.")
    own = model if isinstance(model, Tree) else getattr(model, "tree_", None)
    if isinstance(own, Tree):
        return own if schema is None else own.with_schema(schema)
    for file in _files(model):
        if file.is_tree(model):
            tree: Tree = file.read_tree(model, schema, None if classes is None else tuple(classes))
            return tree
    raise TypeError(_refusal(model))


def forest_trees(forest: Any, schema: Schema | None = None) -> list[Tree]:
    """Convert the trees of an ensemble, a scikit-learn forest or a boosted model, on one schema.

    The trees of a boosted model predict raw scores: their sum and `base_score(model)` are its raw prediction
    (LightGBM's boosting="rf" divides the sum by the number of trees). With K classes there are K trees per
    round, and a note of each tree names its class.

    Parameters
    ----------
    forest : Ensemble, fitted holdfast estimator of one, or fitted model
    schema : Schema, optional
        Schema of the trees. Default: the columns of the model with the ranges of its thresholds.

    Returns
    -------
    list of Tree

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> forest = RandomForestRegressor(n_estimators=3).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 4.0])
    >>> len(forest_trees(forest))
    3
    """
    ensemble = getattr(forest, "ensemble_", forest)
    if isinstance(ensemble, Ensemble):
        if schema is None:
            return list(ensemble)
        # A boosted tree predicts what the trees before it left over, and keeps that as its target.
        own = [tree.schema.target for tree in ensemble]
        schemas = [
            schema if target == ensemble.schema.target else replace(schema, target=target) for target in own
        ]
        return [tree.with_schema(each) for tree, each in zip(ensemble, schemas, strict=True)]
    for file in _files(forest):
        if file.is_forest(forest):
            trees: list[Tree] = file.forest_trees(forest, schema)
            return trees
    raise TypeError(
        f"forest_trees cannot read a {type(forest).__name__}. It reads {_FORESTS}; as_tree reads one tree."
    )


def base_score(model: Any) -> FloatArray:
    """Return the score that a boosted model adds to those of its trees.

    Parameters
    ----------
    model : fitted model of LightGBM or XGBoost

    Returns
    -------
    ndarray
        One number, or one per class. Zero for LightGBM, whose first trees contain it.

    Examples
    --------
    >>> from xgboost import XGBRegressor  # doctest: +SKIP
    >>> base_score(XGBRegressor().fit([[1.0], [2.0]], [1.0, 2.0]))  # doctest: +SKIP
    array([1.5])
    """
    for file in _files(model):
        if hasattr(file, "base_score") and file.is_forest(model):
            scores: FloatArray = file.base_score(model)
            return scores
    raise TypeError(
        f"base_score cannot read a {type(model).__name__}. It reads a fitted model of LightGBM or XGBoost."
    )


def needs_integer_classes(model: Any) -> bool:
    """Return True if the library needs classes numbered 0, 1, ..."""
    return any(getattr(file, "INTEGER_CLASSES", False) for file in _files(model))


def _files(model: Any) -> list[Any]:
    """List our modules for the libraries of the model's class and its parents, the nearest first."""
    return [import_module(FILES[library]) for library in _libraries(model) if library in FILES]


def _libraries(model: Any) -> list[str]:
    return list(dict.fromkeys(kind.__module__.partition(".")[0] for kind in type(model).__mro__))


def _refusal(model: Any) -> str:
    kind = type(model).__name__
    if isinstance(model, type):
        return f"as_tree needs a fitted model, and got the class {model.__name__} itself."
    ensemble = getattr(model, "ensemble_", model)
    if isinstance(ensemble, Ensemble):
        name = "ensemble" if ensemble is model else "model.ensemble_"
        return (
            f"A {kind} holds {len(ensemble)} trees, and as_tree reads one: pass a member, such as {name}[0]."
        )
    if "holdfast" in _libraries(model) and hasattr(model, "fit"):
        return f"This {kind} has no tree_ yet: call fit first."
    if hasattr(model, "estimators_") or hasattr(model, "n_estimators"):
        return (
            f"A {kind} holds many trees, and as_tree reads one. forest_trees(forest, schema) gives all trees "
            "of a scikit-learn forest; of another collection pass one member, such as model.estimators_[0], "
            "or model.estimators_[0, 0] where they stand in a table."
        )
    return (
        f"as_tree cannot read a {kind}. It reads {_SUPPORTED}. Of a pipeline or a search, pass the tree "
        "itself: pipeline[-1], search.best_estimator_."
    )
