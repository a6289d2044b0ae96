"""The sizes that folds chose from, as a table of text."""

from holdfast.stability.centring.names import MOST_LEAVES
from holdfast.stability.centring.size_choice import SizeChoice
from holdfast.text.numbers import with_error
from holdfast.text.table import table_lines


def size_choice_text(choice: SizeChoice) -> str:
    """One line for each size, and why one of them was taken."""
    return f"{size_choice_table(choice)}\n{choice.reason}"


def size_choice_table(choice: SizeChoice) -> str:
    """One line for each size."""
    headings = ["leaves", choice.metric.title, f"better than {MOST_LEAVES} by", ""]
    rows = [headings, *(_cells(choice, place) for place in range(len(choice)))]
    return "\n".join(table_lines(rows, sides=">>><", widths=(6, 19, 19, 0)))


def _cells(choice: SizeChoice, place: int) -> list[str]:
    score = choice.metric.shown(float(choice.score[place]))
    gain, error = float(choice.difference[place]), float(choice.difference_error[place])
    return [
        str(choice.sizes[place]),
        with_error(score, float(choice.error[place]), room=7),
        "" if place == choice.usual else with_error(gain, error, room=7),
        "chosen" if place == choice.chosen else "",
    ]
