"""The public names of the package that are not in `holdfast` itself."""

from holdfast.explain.counterfactuals import Counterfactual as Counterfactual
from holdfast.explain.edit_price import EditPrice as EditPrice
from holdfast.explain.edit_price import price_of_edit as price_of_edit
from holdfast.explain.firmness import Firmness as Firmness
