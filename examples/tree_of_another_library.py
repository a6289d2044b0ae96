"""
A tree of another library
=========================

A scikit-learn tree: drawn, compared with a holdfast tree, and saved in a file that never executes code.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from holdfast import Table, TreeClassifier, as_tree, load, save, tree_distance
from holdfast.plots import PartitionDisplay

X, y = load_iris(return_X_y=True, as_frame=True)
schema = Table.from_arrays(X, y).schema

theirs = as_tree(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y), schema=schema)
ours = TreeClassifier(max_depth=3).fit(X, y).tree_

# %%
# Both trees are on one schema, so that they can be compared.
print(theirs)
print(f"Distance to the holdfast tree: {tree_distance(theirs, ours).total:.3f}")

with TemporaryDirectory() as folder:
    save(theirs, Path(folder) / "model.json")
    print(load(Path(folder) / "model.json").predict(X.head()))

# %%
# The regions of its rules.
PartitionDisplay.from_estimator(theirs, X, y)
