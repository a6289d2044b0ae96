"""The public names of the package that are not in `holdfast` itself."""

from holdfast.ensembles.importances import Importances as Importances
from holdfast.ensembles.tree_correlation import TreeCorrelation as TreeCorrelation
from holdfast.ensembles.tree_correlation import tree_correlation as tree_correlation
