"""Text that fits: invisible letters spelt out, lines shortened or wrapped, labels as items of a list."""

from re import sub
from textwrap import wrap

NO_BREAK = "\N{NO-BREAK SPACE}"
CUT = "…"  # where a drawing, or the terminal, leaves something out
_QUOTED = r"""(?<=[{ ])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?=[,}])"""  # a category of a list, in quotes


def printable(text: str) -> str:
    """The text with line breaks and other invisible characters spelt out."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def shortened(text: str, width: int) -> str:
    """The text in at most `width` letters: its middle gives way, as name and threshold stand at the ends."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 3
    return f"{text[: width - 1 - tail]}{CUT}{text[len(text) - tail :]}"


def left_out_text(whole: str) -> str:
    """What a text that was shortened says of it: the sign, and where nothing is left out."""
    return f"{CUT} stands for what is left out: {whole} has all of it."


def unbreakable(text: str) -> str:
    """The condition with NO_BREAK for the spaces inside its categories, where no line should end."""
    whole = sub(_QUOTED, lambda found: found[0].replace(" ", NO_BREAK), text)
    return sub(r"(?<!,) (?=[^{}]*\})", NO_BREAK, whole)


def wrapped_lines(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """The text in lines of at most `width` letters, which begin with `first` and then with `rest`.

    No line ends at a hyphen or at a NO_BREAK, which becomes a space.
    """
    lines = wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]


def label_text(label: object) -> str:
    """A category or class as text; 1.0 and 1 read alike."""
    if isinstance(label, float) and label.is_integer() and abs(label) < 1e15:
        return str(int(label))
    return printable(str(label))


def item_text(label: object) -> str:
    """The label as one of a list: in quotes if a comma or a brace of its own would make it read as two."""
    text = label_text(label)
    is_plain = text == text.strip() and text and not any(mark in text for mark in ",{}")
    return text if is_plain else repr(text)
