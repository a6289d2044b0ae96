"""The price of an edit: its effect on the score first, then the rows and rules that change."""

from holdfast.evidence.edit_price import EditPrice
from holdfast.text.numbers import counted, decimals_of_errors, fixed_text, number_text, percent_text
from holdfast.text.table import Table
from holdfast.text.view import View

USUAL, MOST = 3, 4  # decimals of a score, where nothing is known of its error, and at most
SMALL = 0.1  # a score below which more decimals tell


def edit_price_view(price: EditPrice) -> View:
    """The score in a sentence, then the figures of both trees, then the rows and the rules that change."""
    decimals = _decimals(price)
    values = [
        f"{fixed_text(price.metric.shown(each.value), decimals)} ± {fixed_text(each.error, decimals)}"
        for each in (price.old, price.new, price.difference)
    ]
    table = Table(["", "before", "after", "difference"], [[price.metric.title, *values]])
    return View(
        _score_sentence(price),
        table,
        f"{_rows_sentence(price)} The tree distance is {number_text(price.distance, 4)}.",
    )


def _score_sentence(price: EditPrice) -> str:
    title, rows = price.metric.title, counted(price.n_rows, "row")
    value, (low, high) = price.difference.value, price.interval
    decimals = _decimals(price)
    old, new = (fixed_text(price.metric.shown(each.value), decimals) for each in (price.old, price.new))
    if value == 0 and low == high:
        return f"The edit does not change the {title}: {old} on {rows}."
    ends = sorted((-low, -high) if value < 0 else (low, high))  # of a cost, as a cost
    interval = " to ".join(fixed_text(end, decimals) for end in ends)
    amount = fixed_text(abs(value), decimals)
    if price.metric.is_loss:
        what = f"{'raises' if value < 0 else 'lowers'} the {title} by {amount}"
    else:
        what = f"{'costs' if value < 0 else 'gains'} {amount} of {title}"
    return f"The edit {what} (95 % interval {interval}): {old} became {new} on {rows}."


def _decimals(price: EditPrice) -> int:
    """As many as two digits of the error need, and not more than one can read."""
    known = decimals_of_errors([price.difference.error])
    if known is None:
        return USUAL
    return min(known, MOST) if max(abs(price.old.value), abs(price.new.value)) >= SMALL else known


def _rows_sentence(price: EditPrice) -> str:
    churn = fixed_text(price.churn.value, 4)
    if price.flips is None or price.negative_flips is None:
        return f"Mean change of the predictions: {churn} standard deviations of the target."
    moved = f"Mean change of the probabilities (churn): {churn}."
    if price.flips.value == 0:
        return f"No predicted class changes. {moved}"
    flips = percent_text(price.flips.value)
    right = percent_text(price.negative_flips.value) if price.negative_flips.value else "none of them"
    return f"The predicted class of {flips} of the rows changes; {right} were right before. {moved}"
