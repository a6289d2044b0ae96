"""Splits against the trend of their column, in words and as a table."""

from collections.abc import Sequence

from holdfast.evidence.trend_breaks import TrendBreak
from holdfast.text.lines import printable
from holdfast.text.numbers import number_text
from holdfast.text.table import aligned


def trend_break_text(found: TrendBreak) -> str:
    """One sentence, for a warning."""
    way, side = ("rises", "fall") if found.correlation > 0 else ("falls", "rise")
    left, right = (number_text(value, 3) for value in (found.left, found.right))
    direction = 1 if found.correlation > 0 else -1
    return (
        f"Node {found.node} splits {found.feature!r} at {number_text(found.threshold)} against its trend. "
        f"Over all rows the target {way} with it (rank correlation {found.correlation:.2f}); here the two "
        f"sides {side} from {left} ({found.rows[0]} rows) to {right} ({found.rows[1]} rows). If that "
        f"cannot be, set monotonic_cst={{{found.feature!r}: {direction}}}."
    )


def trend_breaks_text(found: Sequence[TrendBreak]) -> str:
    """A table, the clearest first."""
    if not found:
        return "No split goes against the trend of its column."
    header = ["node", "split", "correlation", "left", "right", "rows", "errors"]
    lines = [
        [
            str(each.node),
            f"{printable(each.feature)} <= {number_text(each.threshold)}",
            f"{each.correlation:.2f}",
            number_text(each.left, 3),
            number_text(each.right, 3),
            f"{each.rows[0]} | {each.rows[1]}",
            f"{each.errors:.1f}",
        ]
        for each in found
    ]
    return aligned([header, *lines])
