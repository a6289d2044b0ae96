"""
A stable tree
=============

Fit a stable tree and read it: its rules, its accuracy, and the other candidates.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from holdfast import StableTreeClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

model = StableTreeClassifier().fit(X_train, y_train)

# %%
# The rules of the tree.
print(model.rules())
print(f"\nAccuracy on held-out rows: {model.score(X_test, y_test):.3f}")

# %%
# The frontier: every point is a tree, and ``model.choose`` selects another one.
print(model.frontier_)
model.frontier_.plot()
