"""
How far apart two trees are
===========================

Two trees of the same patients, sampled twice: how far apart are they, and which rules moved?
"""

from sklearn.datasets import load_breast_cancer

from holdfast import DistanceDisplay, GrowthRules, Table, grow_bootstraps, tree_distance

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
table = Table.from_arrays(X, y)
trees = grow_bootstraps(table, GrowthRules(max_depth=3), n_estimators=20)
first, second = trees[:2]

# %%
# The root of both asks about another column.
print(first)
print(second)

# %%
# The cheapest matching of their rules says what became of each.
distance = tree_distance(first, second)
print(f"Distance {distance.total:.3f}; of a tree to itself {tree_distance(first, first).total:.3f}\n")
print(distance)

# %%
# Twenty such trees on a map: near each other if their rules are alike.
DistanceDisplay.from_trees(trees, kind="map")
