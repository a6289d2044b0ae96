"""
Distance between two trees
==========================

Two trees grown on two bootstrap samples: how far apart are they, and which rules changed?
"""

from sklearn.datasets import load_breast_cancer

from holdfast import GrowthRules, Table, tree_distance
from holdfast.growth import grow_bootstraps
from holdfast.plots import DistanceDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
table = Table.from_arrays(X, y)
trees = grow_bootstraps(table, GrowthRules(max_depth=3), n_estimators=20)
first, second = trees[:2]

# %%
# Both trees split on different features at the root.
print(first)
print(second)

# %%
# The cheapest matching of their rules shows what became of each.
distance = tree_distance(first, second)
print(f"Distance {distance.total:.3f}; of a tree to itself {tree_distance(first, first).total:.3f}\n")
print(distance)

# %%
# A map of twenty such trees: points are near each other if the trees are similar.
DistanceDisplay.from_trees(trees, kind="map")
