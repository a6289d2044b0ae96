"""The scores of forests that draw more or fewer features at each split, as a table."""

from holdfast.ensembles.max_features import MaxFeaturesTable
from holdfast.text.numbers import with_error
from holdfast.text.table import Table
from holdfast.text.view import View


def max_features_view(scores: MaxFeaturesTable) -> View:
    """The numbers of features, one to a line."""
    source = "out of the bag" if scores.chosen_by == "oob" else f"in {scores.scores.shape[1]} folds"
    rows = [
        [
            str(number),
            with_error(scores.metric.shown(float(scores.score[place])), scores.error[place], room=7),
            "chosen" if place == scores.chosen else "",
        ]
        for place, number in enumerate(scores.max_features.tolist())
    ]
    headings = ["max_features", scores.metric.title, f"({source})"]
    return View(Table(headings, rows, sides=">><", widths=(12, 19, 0), marked=[scores.chosen]))
