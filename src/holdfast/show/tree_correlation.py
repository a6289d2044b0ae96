"""How alike the trees of an ensemble are, for a notebook."""

from holdfast.ensembles.tree_correlation import TreeCorrelation
from holdfast.show.html import sentences, table, view
from holdfast.text.numbers import number_text

DIGITS = 4


def tree_correlation_html(found: TreeCorrelation) -> str:
    """The correlation in a sentence, and what more trees bring."""
    what = "variance" if found.of == "predictions" else "squared error"
    said = f"The {found.of} of two trees have a correlation of {number_text(found.correlation, 3)}."
    rows = [
        ["mean of", what],
        ["1 tree", number_text(found.variance, DIGITS)],
        [f"{found.n_estimators:,} trees", number_text(found.variance_of_mean(), DIGITS)],
        ["ever more trees", number_text(found.covariance, DIGITS)],
    ]
    return view(sentences(said), table(rows, taken=[1]))
