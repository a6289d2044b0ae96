"""
Survival of patients
====================

An oncologist wants rules that tell how long patients live without relapse, and wants to find the same rules
when the registry is analysed again next year. The data are 686 women with breast cancer (the GBSG-2 trial),
which come with scikit-survival.
"""

from sksurv.datasets import load_gbsg2

from holdfast import StableSurvivalTree, SurvivalTree, explain_row, retrain_audit
from holdfast.plots import SurvivalDisplay

X, y = load_gbsg2()
five_years = {"horizon": 1825, "time_unit": "days"}
model = StableSurvivalTree(max_leaf_nodes=6, **five_years).fit(X, y)

# %%
# Every line is a group of patients: survival without relapse for five years, the risk relative to all
# patients, and how many of the group had a relapse or died.
print(model.tree_)

# %%
# Observed (Kaplan-Meier) and predicted survival in each group, with the patients at risk below.
SurvivalDisplay.from_estimator(model)

# %%
# One patient: the path through the tree, what was observed in patients like her, how firm the answer is, and
# which small changes would lead to another group.
print(explain_row(model, X.iloc[[3]]))

# %%
# Trained again on other patients, how much would the tree change? Two samples that share half of them,
# against an ordinary survival tree of the same size:
methods = {
    "stable tree": StableSurvivalTree(max_leaf_nodes=6, **five_years),
    "ordinary tree": SurvivalTree(max_leaf_nodes=6, **five_years),
}
audit = retrain_audit(methods, X, y, n_repeats=3, changes=["overlap"], random_state=0)
print(audit)
