"""The public names of the package that are not in `holdfast` itself."""

from holdfast.distance.costs import rule_distance as rule_distance
from holdfast.distance.costs import rule_weight as rule_weight
from holdfast.distance.distance import mean_distance as mean_distance
