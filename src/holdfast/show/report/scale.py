"""Scales of a chart: numbers as pixels, and the round numbers to write beside an axis."""

from dataclasses import dataclass
from math import ceil, floor, log10

FACTORS = (1, 2, 5)  # of a power of ten between two numbers of an axis


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high` as pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of the number.

        >>> Scale(0, 10, 20, 40).at(5)
        30.0
        """
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def widened(low: float, high: float) -> tuple[float, float]:
    """The two ends, apart from each other even where all numbers are alike."""
    greatest = max(abs(low), abs(high))
    if high - low > 1e-9 * greatest:
        return low, high
    return low - (0.1 * greatest or 1.0), high + (0.1 * greatest or 1.0)


def round_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Some four to ten round numbers between the two, with their texts.

    >>> [text for _, text in round_ticks(0.48, 0.93)]
    ['0.5', '0.6', '0.7', '0.8', '0.9']
    """
    widest = (high - low) / 4
    power = floor(log10(widest))
    step = max(float(f"{each}e{power}") for each in FACTORS if each * 10.0**power <= widest or each == 1)
    ticks = [number * step + 0.0 for number in range(ceil(low / step), floor(high / step) + 1)]
    greatest = max(abs(low), abs(high))
    if greatest < 1e6 and step >= 1e-6:
        decimals = max(0, -floor(log10(step) + 1e-9))
        return [(tick, f"{tick:.{decimals}f}") for tick in ticks]
    digits = floor(log10(greatest)) - floor(log10(step) + 1e-9) + 1
    return [(tick, f"{tick:.{digits}g}") for tick in ticks]
