"""The words that parameters and options take, and the defaults that `--help` names.

The modules that act on a choice import it from here, and so does the command line: this file imports nothing,
so `--help` needs neither numpy nor numba.
"""

TASKS = ("classification", "regression", "survival")
HAZARDS = ("nelson-aalen", "piecewise")  # of all rows, for survival trees

# -- Growth --------------------------------------------------------------------------------------------------

# In the order of `kernels/growth/criteria.py`.
CRITERION_NAMES = (
    *("gini", "entropy", "log_loss", "misclassification", "purity", "gain_ratio", "mutual_information"),
    *("squared_error", "poisson", "absolute_error", "quantile"),
)
CATEGORIES = ("shrunk", "exact")  # how sets of many categories are judged

# -- Stable trees --------------------------------------------------------------------------------------------

METHODS = ("consensus", "bootstrap", "pruned", "paper")
LEAF_VALUES = ("posterior", "teacher", "labels", "shrunk", "honest")
THRESHOLDS = ("round", "exact")  # of method="consensus"
MOST_LEAVES = 12  # of a consensus tree, unless held-out rows support more or another number is requested
TEACHER_NAMES = (
    "blend",
    "forest",
    "extra-trees",
    "boosting",
    "linear",
    "kernel",
)  # "blend" averages the others

SELECTION_RULES = ("within-tolerance", "best-score", "most-stable", "weighted", "knee")
NOISE_AWARE = "or-standard-error"  # the default for the metric or, if that is more, one standard error
TOLERANCE_UNITS = ("absolute", "relative", "standard-error", NOISE_AWARE, "teacher")

# -- Updates and sequences -----------------------------------------------------------------------------------

UPDATE_STRATEGIES = ("nearest", "keep", "refit", "retrain", "candidate")
UPDATE_TOLERANCE = 0.02  # of what a fresh tree explains of the teacher's variance
UPDATE, SHORTEST_PATH = "update", "shortest-path"
SEQUENCE_STRATEGIES = (UPDATE, SHORTEST_PATH)
MEMORIES = ("all", "stage")
MIN_STAGE_ROWS = 50  # a stage with fewer rows is joined with the next

# -- Runs, texts and exports ---------------------------------------------------------------------------------

TEST_ROWS = ("forward", "random")
RULE_ORDERS = ("tree", "risk")  # as they stand in the tree; those of the highest risk first
EXPORT_ENDINGS = {
    "python": (".py",),
    "sql": (".sql",),
    "onnx": (".onnx",),
    "pmml": (".pmml",),
    "excel": (".xlsx",),
    "json": (".json",),
    "mermaid": (".mmd", ".mermaid"),
    "dot": (".dot", ".gv"),
}
BINARY_EXPORTS = ("onnx", "excel")  # not text for a terminal
