"""The correlation of the trees of an ensemble, as a table."""

from holdfast.ensembles.tree_correlation import TreeCorrelation
from holdfast.text.numbers import number_text
from holdfast.text.table import Table
from holdfast.text.view import View

DIGITS = 4


def tree_correlation_view(found: TreeCorrelation) -> View:
    """The correlation in a sentence, and what more trees bring."""
    what = "variance" if found.of == "predictions" else "squared error"
    rows = [
        ["1 tree", number_text(found.variance, DIGITS)],
        [f"{found.n_estimators:,} trees", number_text(found.variance_of_mean(), DIGITS)],
        ["limit of many trees", number_text(found.covariance, DIGITS)],
    ]
    said = f"The {found.of} of two trees have a correlation of {number_text(found.correlation, 3)}."
    return View(said, Table(["mean of", what], rows, marked=[1]))
