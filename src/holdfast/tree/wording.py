"""Numbers, shares, labels and outcomes as a reader wants to see them."""

from math import isfinite
from re import sub

from holdfast.data.schema import Label, Target
from holdfast.tree.tree import Tree

NO_BREAK = "\N{NO-BREAK SPACE}"
_QUOTED = r"""(?<=[{ ])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?=[,}])"""  # a category of a list, in quotes
CUT = "…"  # where a drawing, or the terminal, leaves something out


def outcome_text(tree: Tree, node: int) -> str:
    """The class, or the mean, that the node predicts."""
    if tree.schema.target.is_classes:
        return class_names(tree.schema.target)[int(tree.outcome[node])]
    return number_text(float(tree.value[node, 0]), 4)


def number_text(value: float, digits: int = 6) -> str:
    """The number to so many significant digits, or as many as its whole part and one decimal need.

    A threshold halfway between two integers is therefore never rounded to one of them.

    >>> number_text(0.1 + 0.2), number_text(1234567.5)
    ('0.3', '1234567.5')
    """
    if not isfinite(value):
        return str(value)
    whole = len(str(int(abs(value))))
    return f"{value + 0.0:.{max(digits, whole + 1) if whole <= 15 else digits}g}"


def told_apart(first: float, second: float, digits: int = 4, most: int = 12) -> tuple[str, str]:
    """Both numbers to so many digits, or as many more, up to `most`, as tell them apart.

    >>> told_apart(4.4741, 4.4739)
    ('4.4741', '4.4739')
    """
    for each in range(digits, most + 1):
        texts = number_text(first, each), number_text(second, each)
        if texts[0] != texts[1]:
            break
    return texts


def probability_text(fraction: float) -> str:
    """The share to two decimals, or to as many as tell "nearly always" from "always".

    >>> probability_text(1.0), probability_text(0.9987)
    ('1.00', '0.999')
    """
    text = f"{fraction:.2f}"
    for decimals in range(3, 7):
        if 0 < fraction < 1 and float(text) in (0, 1):
            text = f"{fraction:.{decimals}f}"
    return text


def percent_text(fraction: float) -> str:
    """The share in percent, to one decimal."""
    return "< 0.1 %" if 0 < fraction < 0.0005 else f"{100 * fraction:.1f} %"


def count_text(count: float) -> str:
    """The number of rows, which weights can make a broken one."""
    return f"{count:.0f}" if count == round(count) else number_text(count)


def rows_text(count: float) -> str:
    """The number of rows, with the word."""
    return f"{count_text(count)} {'row' if count == 1 else 'rows'}"


def class_names(target: Target) -> tuple[str, ...]:
    """The classes as text: all different, even where 1 and "1" are two classes."""
    names = tuple(label_text(label) for label in target.classes)
    return names if len(set(names)) == len(names) else tuple(map(repr, target.classes))


def label_text(label: Label) -> str:
    """A category or class as text; 1.0 and 1 read alike."""
    is_whole = isinstance(label, float) and label.is_integer() and abs(label) < 1e15
    return str(int(label)) if is_whole else printable(str(label))


def printable(text: str) -> str:
    """The text with line breaks and other invisible characters spelt out."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def unbreakable(text: str) -> str:
    """The condition with NO_BREAK for the spaces inside its categories, where no line should end."""
    whole = sub(_QUOTED, lambda found: found[0].replace(" ", NO_BREAK), text)
    return sub(r"(?<!,) (?=[^{}]*\})", NO_BREAK, whole)


def left_out_text(whole: str) -> str:
    """What a text that was shortened says of it: the sign, and where nothing is left out."""
    return f"{CUT} stands for what is left out: {whole} has all of it."


def item_text(label: Label) -> str:
    """The label as one of a list: in quotes if a comma or a brace of its own would make it read as two."""
    text = label_text(label)
    is_plain = text == text.strip() and text and not any(mark in text for mark in ",{}")
    return text if is_plain else repr(text)
