"""The price of an edit in a few lines: what it costs first, and whom it touches."""

from holdfast.evidence.edit_price import EditPrice
from holdfast.show.html import sentences, table, view
from holdfast.text.lines import NO_BREAK, wrapped_lines
from holdfast.text.numbers import counted, decimals_of_errors, fixed_text, number_text, percent_text

WIDTH = 100  # columns
USUAL, MOST = 3, 4  # decimals of a score, where nothing is known of its error, and at most
SMALL = 0.1  # a score below which more decimals tell


def edit_price_text(price: EditPrice, *, width: int = WIDTH) -> str:
    """A sentence on the score, one on the rows that get another answer, one on the rules."""
    sentences = [_score_sentence(price), _answers_sentence(price), _distance_sentence(price)]
    lines = [wrapped_lines(each.replace(" %", f"{NO_BREAK}%"), width) for each in sentences]
    return "\n".join(line for each in lines for line in each)


def edit_price_html(price: EditPrice) -> str:
    """The score in a sentence, then the figures of both trees, then whom it touches."""
    decimals = _decimals(price)
    scores = [price.old, price.new, price.difference]
    values = [
        f"{fixed_text(price.metric.shown(each.value), decimals)} ± {fixed_text(each.error, decimals)}"
        for each in scores
    ]
    rows = [["", "before", "after", "difference"], [price.metric.title, *values]]
    after = sentences(_answers_sentence(price), _distance_sentence(price))
    return view(sentences(_score_sentence(price)), table(rows), after)


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


def _answers_sentence(price: EditPrice) -> str:
    churn = fixed_text(price.churn.value, 4)
    if price.flips is None or price.negative_flips is None:
        return f"Predictions move by {churn} standard deviations of the target on average."
    moved = f"Probabilities move by {churn} on average"
    if price.flips.value == 0:
        return f"No row gets another class. {moved}."
    flips = percent_text(price.flips.value)
    right = percent_text(price.negative_flips.value) if price.negative_flips.value else "none of them"
    return f"{flips} of the rows get another class; {right} had the right one. {moved}."


def _distance_sentence(price: EditPrice) -> str:
    return f"The distance between the trees is {number_text(price.distance, 4)}."
