"""The public names of the package that are not in `holdfast` itself."""

from holdfast.growth.collections import grow_bootstraps as grow_bootstraps
from holdfast.growth.collections import grow_parts as grow_parts
from holdfast.growth.collections import grow_subsamples as grow_subsamples
from holdfast.growth.constraints import expected_cost as expected_cost
from holdfast.growth.holdout_pruning import prune_reduced_error as prune_reduced_error
from holdfast.growth.pruning import error_bound as error_bound
from holdfast.growth.pruning import merge_leaves as merge_leaves
from holdfast.growth.pruning import prune_pessimistic as prune_pessimistic
from holdfast.growth.rounding import round_thresholds as round_thresholds
from holdfast.growth.size_search import SizeSearch as SizeSearch
from holdfast.growth.size_search import SizeTable as SizeTable
from holdfast.growth.size_search import choose_size as choose_size
from holdfast.growth.size_search import choose_size_and_leaf as choose_size_and_leaf
