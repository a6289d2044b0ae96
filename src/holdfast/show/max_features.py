"""The scores of forests that draw more or fewer features, as a table of text."""

from holdfast.ensembles.max_features import MaxFeaturesTable
from holdfast.show.html import sentences, table, view
from holdfast.text.numbers import with_error
from holdfast.text.table import table_lines


def max_features_text(scores: MaxFeaturesTable) -> str:
    """The numbers of features as lines of a table."""
    rows = [["max_features", scores.metric.title, f"({_source(scores)})"], *_rows(scores)]
    return "\n".join(table_lines(rows, sides=">><", widths=(12, 19, 0)))


def max_features_html(scores: MaxFeaturesTable) -> str:
    """The same for a notebook."""
    chosen = int(scores.max_features[scores.chosen])
    said = f"max_features={chosen} is chosen: scores {_source(scores)}."
    rows = table([["max_features", scores.metric.title, ""], *_rows(scores)], taken=[scores.chosen])
    return view(sentences(said), rows)


def _source(scores: MaxFeaturesTable) -> str:
    return "out of the bag" if scores.chosen_by == "oob" else f"in {scores.scores.shape[1]} folds"


def _rows(scores: MaxFeaturesTable) -> list[list[str]]:
    return [
        [
            str(number),
            with_error(scores.metric.shown(float(scores.score[place])), scores.error[place], room=7),
            "chosen" if place == scores.chosen else "",
        ]
        for place, number in enumerate(scores.max_features.tolist())
    ]
