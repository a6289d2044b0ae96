"""Decision trees that hold their shape as the data changes.

Names are imported when they are first used, so that `import holdfast` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast._version import __version__

if TYPE_CHECKING:
    from holdfast.adapters import as_tree, base_score, forest_trees, to_sklearn
    from holdfast.data.schema import Feature, Schema, Target
    from holdfast.data.table import Table
    from holdfast.errors import (
        DataError,
        DataWarning,
        GrowthWarning,
        HoldfastError,
        ModelFileError,
        QuestionError,
        RulesError,
        SchemaMismatch,
    )
    from holdfast.estimators.tree import TreeClassifier, TreeRegressor
    from holdfast.growth.bootstrap import grow_bootstraps
    from holdfast.growth.grow import grow
    from holdfast.growth.rules import CART, GrowthRules
    from holdfast.stability.distance import distance_matrix, mean_distance, tree_distance
    from holdfast.stability.matching import TreeDistance
    from holdfast.stability.paths import Path, tree_paths
    from holdfast.tree.file import load, save
    from holdfast.tree.tree import Tree

_HOME = {
    "as_tree": "adapters",
    "base_score": "adapters",
    "forest_trees": "adapters",
    "to_sklearn": "adapters",
    "Feature": "data.schema",
    "Schema": "data.schema",
    "Target": "data.schema",
    "Table": "data.table",
    "DataError": "errors",
    "DataWarning": "errors",
    "GrowthWarning": "errors",
    "HoldfastError": "errors",
    "ModelFileError": "errors",
    "QuestionError": "errors",
    "RulesError": "errors",
    "SchemaMismatch": "errors",
    "TreeClassifier": "estimators.tree",
    "TreeRegressor": "estimators.tree",
    "grow_bootstraps": "growth.bootstrap",
    "grow": "growth.grow",
    "CART": "growth.rules",
    "GrowthRules": "growth.rules",
    "distance_matrix": "stability.distance",
    "mean_distance": "stability.distance",
    "tree_distance": "stability.distance",
    "TreeDistance": "stability.matching",
    "Path": "stability.paths",
    "tree_paths": "stability.paths",
    "load": "tree.file",
    "save": "tree.file",
    "Tree": "tree.tree",
}

__all__ = [
    "CART",
    "DataError",
    "DataWarning",
    "Feature",
    "GrowthRules",
    "GrowthWarning",
    "HoldfastError",
    "ModelFileError",
    "Path",
    "QuestionError",
    "RulesError",
    "Schema",
    "SchemaMismatch",
    "Table",
    "Target",
    "Tree",
    "TreeClassifier",
    "TreeDistance",
    "TreeRegressor",
    "__version__",
    "as_tree",
    "base_score",
    "distance_matrix",
    "forest_trees",
    "grow",
    "grow_bootstraps",
    "load",
    "mean_distance",
    "save",
    "to_sklearn",
    "tree_distance",
    "tree_paths",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    value = getattr(import_module(f"holdfast.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
