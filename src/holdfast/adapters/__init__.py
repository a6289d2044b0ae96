"""Other libraries' trees become ours, and ours theirs: one file per library."""

from importlib import import_module
from typing import Any

from holdfast.adapters.sklearn import forest_trees, to_sklearn
from holdfast.data.schema import Schema
from holdfast.tree.tree import Tree

__all__ = ["as_tree", "forest_trees", "to_sklearn"]

# From the library that a model's class comes from to our file on it, which has is_tree and read_tree.
_FILES = {"sklearn": "holdfast.adapters.sklearn"}

_SUPPORTED = (
    "a Tree; a fitted holdfast model that has a tree_; a fitted DecisionTreeClassifier, "
    "DecisionTreeRegressor, ExtraTreeClassifier or ExtraTreeRegressor of scikit-learn, or a member of one of "
    "its forests"
)


def as_tree(model: Any, schema: Schema | None = None) -> Tree:
    """The tree that a model of any library holds, measured on the schema if one is given.

    With a schema, columns are found by name, or by position if the model has no names, and classes by value.
    Without one the model itself must do: a scikit-learn tree does not know the range of its data, so that a
    feature reaches from its lowest to its highest threshold. For distances give the ruler: as_tree(model,
    schema=table.schema). A member of a scikit-learn forest calls its classes 0, 1, ...: use forest_trees.
    """
    own = model if isinstance(model, Tree) else getattr(model, "tree_", None)
    if isinstance(own, Tree):
        return own if schema is None else own.on(schema)
    for library in _libraries(model):
        if library in _FILES:
            file = import_module(_FILES[library])
            if file.is_tree(model):
                tree: Tree = file.read_tree(model, schema)
                return tree
    raise TypeError(_refusal(model))


def _libraries(model: Any) -> list[str]:
    """The libraries that the model's class and its parents come from, the nearest first."""
    return list(dict.fromkeys(kind.__module__.partition(".")[0] for kind in type(model).__mro__))


def _refusal(model: Any) -> str:
    kind = type(model).__name__
    if isinstance(model, type):
        return f"as_tree needs a fitted model, and got the class {model.__name__} itself."
    if "holdfast" in _libraries(model):
        return f"This {kind} has no tree_ yet: call fit first."
    if hasattr(model, "estimators_") or hasattr(model, "n_estimators"):
        return (
            f"A {kind} holds many trees, and as_tree reads one. forest_trees(forest, schema) gives all trees "
            "of a scikit-learn forest; of another collection pass one member, such as model.estimators_[0]."
        )
    return (
        f"as_tree cannot read a {kind}. It reads {_SUPPORTED}. Of a pipeline or a search, pass the tree "
        "itself: pipeline[-1], search.best_estimator_."
    )
