"""The colours of all pictures."""

INK, GREY, OUTLINE, EDGE = "#1c2733", "#586574", "#8b98a7", "#c5ced8"  # of text and lines, from dark to light
SHADE, PAPER = "#f4f6f9", "#ffffff"
# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#808890")
BLUE, RED = PALETTE[0], PALETTE[5]


def nth_colour(place: int) -> str:
    """The colour of the class at this place: past the end of the palette they come again, darker each time.

    >>> nth_colour(0), nth_colour(8)
    ('#0072b2', '#00446b')
    """
    return darker(PALETTE[place % len(PALETTE)], 0.6 ** (place // len(PALETTE)))


def risk_colour(fraction: float) -> str:
    """The colour of a risk, as a fraction of the highest: the higher the deeper, dark letters stay readable.

    >>> risk_colour(0.0), risk_colour(1.0)
    ('#f5f9fc', '#73b1d5')
    """
    return lighter(BLUE, 0.04 + 0.51 * min(max(fraction, 0.0), 1.0))


def lighter(colour: str, fraction: float) -> str:
    """So large a fraction of the colour, the rest white."""
    return _mixed(colour, 255, fraction)


def darker(colour: str, fraction: float) -> str:
    """So large a fraction of the colour, the rest black."""
    return _mixed(colour, 0, fraction)


def _mixed(colour: str, other: int, fraction: float) -> str:
    channels = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    return "#" + "".join(f"{round(other + fraction * (channel - other)):02x}" for channel in channels)
