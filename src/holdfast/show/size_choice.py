"""The sizes that a consensus tree was chosen from, as a table."""

from holdfast.stability.centring.size_choice import SizeChoice
from holdfast.text.numbers import number_text, with_error
from holdfast.text.table import Table
from holdfast.text.view import View


def size_choice_view(choice: SizeChoice) -> View:
    """One line for each size, and why one of them was chosen."""
    return View(size_choice_table(choice, choice.reason))


def size_choice_table(choice: SizeChoice, note: str = "") -> Table:
    """One line for each size."""
    headings = ["leaves", "held-out R²", f"more than {choice.sizes[0]} leaves", ""]
    rows = [_cells(choice, place) for place in range(len(choice))]
    return Table(headings, rows, note=note, sides=">>><", widths=(6, 19, 19, 0), marked=[choice.chosen])


def _cells(choice: SizeChoice, place: int) -> list[str]:
    gain, error = float(choice.difference[place]), float(choice.difference_error[place])
    return [
        str(choice.sizes[place]),
        number_text(float(choice.explained[place]), 3),
        "" if place == 0 else with_error(gain, error, room=7),
        "chosen" if place == choice.chosen else "",
    ]
