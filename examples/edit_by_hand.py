"""
Edit a tree by hand
===================

A clinician moves a threshold and removes a branch: the edited tree, and the price of the edit.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from holdfast import GrowthRules, Table, grow
from holdfast.explain import price_of_edit
from holdfast.growth import round_thresholds
from holdfast.plots import CalibrationDisplay
from holdfast.tree import edited_nodes

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
table = Table.from_arrays(X_train, y_train)
tree = round_thresholds(grow(table, GrowthRules(max_leaf_nodes=5, min_samples_leaf=10)), table)
print(tree.numbered())

# %%
# Edits are kept with the tree, with author and reason.
edited = tree.edit(table, by="Dr Ada", why="review of May").with_threshold(2, 850).prune_at(6).tree
print(f"\n{edited}\n")

# %%
# The price, on rows that were held out.
print(price_of_edit(tree, edited, X_test, y_test))
print(f"Nodes that an update should keep: {edited_nodes(edited)}")

# %%
# Calibration of the edited tree, leaf by leaf.
CalibrationDisplay.from_estimator(edited, X_test, y_test)
