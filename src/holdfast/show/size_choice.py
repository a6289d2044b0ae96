"""The sizes that a consensus tree was chosen from, as a table."""

from holdfast.show.html import sentences, table, view
from holdfast.stability.centring.size_choice import SizeChoice
from holdfast.text.numbers import number_text, with_error
from holdfast.text.table import table_lines


def size_choice_text(choice: SizeChoice) -> str:
    """One line for each size, and why one of them was taken."""
    return f"{size_choice_table(choice)}\n{choice.reason}"


def size_choice_html(choice: SizeChoice) -> str:
    """The same for a notebook, the reason first."""
    return view(sentences(choice.reason), table(_rows(choice), taken=[choice.chosen]))


def size_choice_table(choice: SizeChoice) -> str:
    """One line for each size."""
    return "\n".join(table_lines(_rows(choice), sides=">>><", widths=(6, 19, 19, 0)))


def _rows(choice: SizeChoice) -> list[list[str]]:
    headings = ["leaves", "held-out R²", f"more than {choice.sizes[0]} leaves", ""]
    return [headings, *(_cells(choice, place) for place in range(len(choice)))]


def _cells(choice: SizeChoice, place: int) -> list[str]:
    gain, error = float(choice.difference[place]), float(choice.difference_error[place])
    return [
        str(choice.sizes[place]),
        number_text(float(choice.explained[place]), 3),
        "" if place == 0 else with_error(gain, error, room=7),
        "chosen" if place == choice.chosen else "",
    ]
