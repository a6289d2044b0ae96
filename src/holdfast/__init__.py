"""Decision trees that hold their shape as the data changes.

Names are imported when they are first used, so that `import holdfast` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast._version import __version__

# At once, and before its folder is imported, which has the same name.
from holdfast.export.formats import export

if TYPE_CHECKING:
    from holdfast.adapters import as_tree, base_score, forest_trees
    from holdfast.comparison.compare import compare_models
    from holdfast.comparison.table import ModelComparison
    from holdfast.data.schema import Feature, Schema, Target
    from holdfast.data.table import Table
    from holdfast.distance.costs import rule_distance, rule_weight
    from holdfast.distance.distances import distance_matrix, mean_distance, tree_distance
    from holdfast.distance.matching import TreeDistance
    from holdfast.ensembles.importance_table import Importances
    from holdfast.ensembles.tree_correlation import TreeCorrelation, tree_correlation
    from holdfast.errors import (
        BrokenTreeError,
        CacheWarning,
        DataError,
        DataWarning,
        ExportError,
        GrowthWarning,
        HoldfastError,
        ModelError,
        ModelFileError,
        ModelFileWarning,
        ParameterError,
        QuestionError,
        SchemaMismatch,
    )
    from holdfast.estimators.adaboost import AdaBoostClassifier
    from holdfast.estimators.bagging import BaggingClassifier, BaggingRegressor
    from holdfast.estimators.boosting import BoostingClassifier, BoostingRegressor
    from holdfast.estimators.density import DensityTree
    from holdfast.estimators.forest import ForestClassifier, ForestRegressor
    from holdfast.estimators.stable import StableTreeClassifier, StableTreeRegressor
    from holdfast.estimators.tree import TreeClassifier, TreeRegressor
    from holdfast.evidence.replication_table import Replications
    from holdfast.export.sklearn import to_sklearn
    from holdfast.growth.bootstrap import grow_bootstraps
    from holdfast.growth.grow import grow
    from holdfast.growth.pruning.merging import merge_leaves
    from holdfast.growth.pruning.path import PruningPath, prune, pruning_path
    from holdfast.growth.pruning.pessimistic import error_bound, prune_pessimistic
    from holdfast.growth.pruning.reduced_error import prune_reduced_error
    from holdfast.growth.rules import C45, CART, GrowthRules
    from holdfast.growth.size.search import SizeSearch, choose_size
    from holdfast.growth.size.table import SizeTable
    from holdfast.runs.fit_run import fit_run
    from holdfast.runs.run import Run, open_run
    from holdfast.scoring.clusters import nmi_score, purity_score
    from holdfast.stability.choice import Choice
    from holdfast.stability.frontier import Frontier, pareto_frontier
    from holdfast.storage.collection_file import load_trees, save_trees
    from holdfast.storage.model_file import load, load_model, save
    from holdfast.tree.ensemble import Ensemble
    from holdfast.tree.node import Node
    from holdfast.tree.rule import Condition, Rule, tree_rules
    from holdfast.tree.tree import Tree

_HOME = {
    "as_tree": "adapters",
    "base_score": "adapters",
    "forest_trees": "adapters",
    "to_sklearn": "export.sklearn",
    "Feature": "data.schema",
    "Schema": "data.schema",
    "Target": "data.schema",
    "Table": "data.table",
    "BrokenTreeError": "errors",
    "CacheWarning": "errors",
    "DataError": "errors",
    "DataWarning": "errors",
    "GrowthWarning": "errors",
    "HoldfastError": "errors",
    "ModelFileError": "errors",
    "ModelFileWarning": "errors",
    "ExportError": "errors",
    "QuestionError": "errors",
    "ParameterError": "errors",
    "SchemaMismatch": "errors",
    "StableTreeClassifier": "estimators.stable",
    "StableTreeRegressor": "estimators.stable",
    "TreeClassifier": "estimators.tree",
    "TreeRegressor": "estimators.tree",
    "grow_bootstraps": "growth.bootstrap",
    "grow": "growth.grow",
    "PruningPath": "growth.pruning.path",
    "prune": "growth.pruning.path",
    "pruning_path": "growth.pruning.path",
    "prune_pessimistic": "growth.pruning.pessimistic",
    "error_bound": "growth.pruning.pessimistic",
    "prune_reduced_error": "growth.pruning.reduced_error",
    "merge_leaves": "growth.pruning.merging",
    "choose_size": "growth.size.search",
    "SizeSearch": "growth.size.search",
    "SizeTable": "growth.size.table",
    "C45": "growth.rules",
    "CART": "growth.rules",
    "fit_run": "runs.fit_run",
    "Run": "runs.run",
    "open_run": "runs.run",
    "nmi_score": "scoring.clusters",
    "purity_score": "scoring.clusters",
    "DensityTree": "estimators.density",
    "GrowthRules": "growth.rules",
    "Choice": "stability.choice",
    "distance_matrix": "distance.distances",
    "mean_distance": "distance.distances",
    "tree_distance": "distance.distances",
    "Frontier": "stability.frontier",
    "pareto_frontier": "stability.frontier",
    "TreeDistance": "distance.matching",
    "rule_distance": "distance.costs",
    "rule_weight": "distance.costs",
    "Node": "tree.node",
    "Condition": "tree.rule",
    "Rule": "tree.rule",
    "tree_rules": "tree.rule",
    "Replications": "evidence.replication_table",
    "load_trees": "storage.collection_file",
    "save_trees": "storage.collection_file",
    "load": "storage.model_file",
    "load_model": "storage.model_file",
    "save": "storage.model_file",
    "Tree": "tree.tree",
    "compare_models": "comparison.compare",
    "ModelComparison": "comparison.table",
    "Importances": "ensembles.importance_table",
    "TreeCorrelation": "ensembles.tree_correlation",
    "tree_correlation": "ensembles.tree_correlation",
    "ModelError": "errors",
    "AdaBoostClassifier": "estimators.adaboost",
    "BaggingClassifier": "estimators.bagging",
    "BaggingRegressor": "estimators.bagging",
    "BoostingClassifier": "estimators.boosting",
    "BoostingRegressor": "estimators.boosting",
    "ForestClassifier": "estimators.forest",
    "ForestRegressor": "estimators.forest",
    "Ensemble": "tree.ensemble",
}

__all__ = [
    "C45",
    "CART",
    "AdaBoostClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "BoostingClassifier",
    "BoostingRegressor",
    "BrokenTreeError",
    "CacheWarning",
    "Choice",
    "Condition",
    "DataError",
    "DataWarning",
    "DensityTree",
    "Ensemble",
    "ExportError",
    "Feature",
    "ForestClassifier",
    "ForestRegressor",
    "Frontier",
    "GrowthRules",
    "GrowthWarning",
    "HoldfastError",
    "Importances",
    "ModelComparison",
    "ModelError",
    "ModelFileError",
    "ModelFileWarning",
    "Node",
    "ParameterError",
    "PruningPath",
    "QuestionError",
    "Replications",
    "Rule",
    "Run",
    "Schema",
    "SchemaMismatch",
    "SizeSearch",
    "SizeTable",
    "StableTreeClassifier",
    "StableTreeRegressor",
    "Table",
    "Target",
    "Tree",
    "TreeClassifier",
    "TreeCorrelation",
    "TreeDistance",
    "TreeRegressor",
    "__version__",
    "as_tree",
    "base_score",
    "choose_size",
    "compare_models",
    "distance_matrix",
    "error_bound",
    "export",
    "fit_run",
    "forest_trees",
    "grow",
    "grow_bootstraps",
    "load",
    "load_model",
    "load_trees",
    "mean_distance",
    "merge_leaves",
    "nmi_score",
    "open_run",
    "pareto_frontier",
    "prune",
    "prune_pessimistic",
    "prune_reduced_error",
    "pruning_path",
    "purity_score",
    "rule_distance",
    "rule_weight",
    "save",
    "save_trees",
    "to_sklearn",
    "tree_correlation",
    "tree_distance",
    "tree_rules",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    value = getattr(import_module(f"holdfast.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
