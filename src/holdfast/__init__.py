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
    from holdfast.estimators.stable import StableTreeClassifier, StableTreeRegressor
    from holdfast.estimators.tree import TreeClassifier, TreeRegressor
    from holdfast.growth.bootstrap import grow_bootstraps
    from holdfast.growth.grow import grow
    from holdfast.growth.rules import CART, GrowthRules
    from holdfast.stability.choice import Choice
    from holdfast.stability.distance import distance_matrix, mean_distance, tree_distance
    from holdfast.stability.frontier import Frontier, pareto_frontier
    from holdfast.stability.matching import TreeDistance
    from holdfast.stability.paths import Path, tree_paths
    from holdfast.stability.replication_table import Replications
    from holdfast.tree.collection_file import load_trees, save_trees
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
    "StableTreeClassifier": "estimators.stable",
    "StableTreeRegressor": "estimators.stable",
    "TreeClassifier": "estimators.tree",
    "TreeRegressor": "estimators.tree",
    "grow_bootstraps": "growth.bootstrap",
    "grow": "growth.grow",
    "CART": "growth.rules",
    "GrowthRules": "growth.rules",
    "Choice": "stability.choice",
    "distance_matrix": "stability.distance",
    "mean_distance": "stability.distance",
    "tree_distance": "stability.distance",
    "Frontier": "stability.frontier",
    "pareto_frontier": "stability.frontier",
    "TreeDistance": "stability.matching",
    "Path": "stability.paths",
    "tree_paths": "stability.paths",
    "Replications": "stability.replication_table",
    "load_trees": "tree.collection_file",
    "save_trees": "tree.collection_file",
    "load": "tree.file",
    "save": "tree.file",
    "Tree": "tree.tree",
}

__all__ = [
    "CART",
    "Choice",
    "DataError",
    "DataWarning",
    "Feature",
    "Frontier",
    "GrowthRules",
    "GrowthWarning",
    "HoldfastError",
    "ModelFileError",
    "Path",
    "QuestionError",
    "Replications",
    "RulesError",
    "Schema",
    "SchemaMismatch",
    "StableTreeClassifier",
    "StableTreeRegressor",
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
    "load_trees",
    "mean_distance",
    "pareto_frontier",
    "save",
    "save_trees",
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
