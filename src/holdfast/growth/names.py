"""Names of what growth offers, for all who list them: the module is light, and `--help` waits for it."""

# In the order of `criteria.py`, which has what they are.
CRITERIA = (
    *("gini", "entropy", "log_loss", "misclassification", "purity", "gain_ratio", "mutual_information"),
    *("squared_error", "poisson", "absolute_error", "quantile"),
)
CATEGORIES = ("shrunk", "exact")  # how sets of many categories are judged
