"""What a reader finds on a plot, for tests of structure."""

from typing import Any

from matplotlib.text import Text


def texts_of(figure: Any) -> list[str]:
    """All words on a figure."""
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def are_all_plain(figure: Any) -> bool:
    """Is no text with a dollar sign taken for a formula?"""
    texts = [text for text in figure.findobj(Text) if "$" in text.get_text()]
    return bool(texts) and not any(text.get_parse_math() for text in texts)
