"""The public names of the package that are not in `holdfast` itself."""

from holdfast.scoring.scorers import nmi_score as nmi_score
from holdfast.scoring.scorers import purity_score as purity_score
