"""The scores of forests that draw more or fewer features, as a table of text."""

from holdfast.ensembles.max_features import MaxFeaturesTable
from holdfast.text.numbers import with_error
from holdfast.text.table import table_lines


def max_features_text(table: MaxFeaturesTable) -> str:
    """The numbers of features as lines of a table."""
    source = "out of the bag" if table.chosen_by == "oob" else f"in {table.scores.shape[1]} folds"
    rows = [["max_features", table.metric.title, f"({source})"]]
    for place, number in enumerate(table.max_features.tolist()):
        score = table.metric.shown(float(table.score[place]))
        mark = "chosen" if place == table.chosen else ""
        rows.append([str(number), with_error(score, table.error[place], room=7), mark])
    return "\n".join(table_lines(rows, sides=">><", widths=(12, 19, 0)))
