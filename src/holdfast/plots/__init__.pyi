"""The public names of the package that are not in `holdfast` itself."""

from holdfast.plots.distance import DistanceDisplay as DistanceDisplay
from holdfast.plots.evaluation import AuditDisplay as AuditDisplay
from holdfast.plots.evaluation import ComparisonDisplay as ComparisonDisplay
from holdfast.plots.evaluation import ReplicationsDisplay as ReplicationsDisplay
from holdfast.plots.frontier import FrontierDisplay as FrontierDisplay
from holdfast.plots.frontier import SplitSupportDisplay as SplitSupportDisplay
from holdfast.plots.importance import ImportanceDisplay as ImportanceDisplay
from holdfast.plots.partition import PartitionDisplay as PartitionDisplay
from holdfast.plots.performance import BoostingDisplay as BoostingDisplay
from holdfast.plots.performance import CalibrationDisplay as CalibrationDisplay
from holdfast.plots.performance import DecisionCurveDisplay as DecisionCurveDisplay
from holdfast.plots.performance import OutOfBagDisplay as OutOfBagDisplay
from holdfast.plots.performance import RocDisplay as RocDisplay
from holdfast.plots.pruning import PruningDisplay as PruningDisplay
from holdfast.plots.survival import SurvivalDisplay as SurvivalDisplay
from holdfast.plots.tree import StagesDisplay as StagesDisplay
from holdfast.plots.tree import TreeDisplay as TreeDisplay
from holdfast.plots.tree import plot_tree as plot_tree
