"""The public names of the package that are not in `holdfast` itself."""

from holdfast.ensembles.importances import Importances as Importances
