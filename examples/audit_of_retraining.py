"""
Audit of retraining
===================

Retrain several methods on other samples: how many rows get another predicted class, and which are they?
"""

from sklearn.datasets import load_breast_cancer

from holdfast import TreeClassifier, retrain_audit

X, y = load_breast_cancer(return_X_y=True, as_frame=True)

methods = {
    "deep tree": TreeClassifier(),
    "six leaves": TreeClassifier(max_leaf_nodes=6, min_samples_leaf=10),
    "pruned": "pruned-1se",
}
# %%
# Two samples that share half of their rows, and one with 2 % of the rows left out.
audit = retrain_audit(methods, X, y, changes=["overlap", "fewer rows"], n_repeats=3)

print(audit.summary)
print(f"\n{audit}")

# %%
# Score against churn: up and to the left is best.
audit.plot()
