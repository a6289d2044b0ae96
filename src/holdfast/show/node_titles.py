"""What a drawn tree tells of a node when one points at it."""

from holdfast.show.node_texts import NodeTexts
from holdfast.show.support_marks import support_sentence
from holdfast.text.lines import CUT, left_out_text, printable
from holdfast.text.numbers import percent_text, probability_text, rounded_percent, rows_text
from holdfast.tree.rule import fraction_of_rows
from holdfast.tree.wording import format_class_names, format_outcome

MOST_TOLD = 24  # conditions of a leaf


def leaf_title(texts: NodeTexts, node: int, conditions: tuple[str, ...]) -> list[str]:
    """The rule of a leaf, what it says, and what stands behind it."""
    tree = texts.tree
    lines = list(conditions[:MOST_TOLD])
    if len(conditions) > MOST_TOLD:
        lines.append(f"{CUT} and more")
    lines.append(f"{printable(tree.schema.target.name)} = {format_outcome(tree, node)}")
    lines += _fraction_lines(texts, node)
    return [*lines, left_out_text("rules()")] if any(CUT in line for line in lines) else lines


def inner_title(texts: NodeTexts, node: int) -> list[str]:
    """What an inner node asks about, in full, and what stands behind it."""
    lines = [texts.feature(node), support_sentence(texts.tree, node)]
    return [*filter(None, lines), *_fraction_lines(texts, node)]


def _fraction_lines(texts: NodeTexts, node: int) -> list[str]:
    """The probabilities of the classes, the rows that were seen, and their share of all."""
    tree = texts.tree
    lines = []
    if tree.schema.target.is_classes:
        fractions = zip(format_class_names(tree.schema.target), tree.value[node].tolist(), strict=True)
        lines += [f"p({name}) = {probability_text(fraction)}" for name, fraction in fractions]
    if texts.positive is not None and len(support := texts.support(node)) >= 2:
        name = format_class_names(tree.schema.target)[texts.positive]
        found = texts.outcome(node)
        rate = rounded_percent(found.observed or 0.0)
        of_estimate = " of the estimate" if found.is_about_estimate else ""
        counts = support[0].split(":")[0]
        lines.append(f"{counts} rows were {name}: {rate}, 95 % interval{of_estimate} {support[1]}")
    return [*lines, f"{rows_text(float(tree.count[node]))}, {percent_text(fraction_of_rows(tree, node))}"]
