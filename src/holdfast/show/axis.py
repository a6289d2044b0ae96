"""Scales of a picture: numbers as pixels, and the round numbers to write beside an axis."""

from dataclasses import dataclass
from math import ceil, floor, log10

LARGEST_EVEN = 30  # leaves; beyond it the scale is logarithmic, as differences among few leaves matter most


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high` as pixels from `start` to `end`; a single number stands in the middle."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """The pixel of the number.

        >>> Scale(1, 100, 20, 40, is_log=True).at(10)
        30.0
        """
        low, high, value = (
            map(log10, (self.low, self.high, value)) if self.is_log else (self.low, self.high, value)
        )
        fraction = (value - low) / (high - low) if high > low else 0.5
        return self.start + fraction * (self.end - self.start)


def widened(low: float, high: float) -> tuple[float, float]:
    """The two ends, apart from each other even where all scores are alike."""
    greatest = max(abs(low), abs(high))
    if high - low > 1e-9 * greatest:
        return low, high
    return low - (0.1 * greatest or 1.0), high + (0.1 * greatest or 1.0)


def score_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Some four to ten round numbers between the two, with their texts.

    >>> [text for _, text in score_ticks(0.48, 0.93)]
    ['0.5', '0.6', '0.7', '0.8', '0.9']
    """
    widest = (high - low) / 4
    power = floor(log10(widest))
    step = max(
        float(f"{factor}e{power}") for factor in (1, 2, 5) if factor * 10.0**power <= widest or factor == 1
    )
    ticks = [number * step + 0.0 for number in range(ceil(low / step), floor(high / step) + 1)]
    greatest = max(abs(low), abs(high))
    if greatest < 1e6 and step >= 1e-6:
        decimals = max(0, -floor(log10(step) + 1e-9))
        return [(tick, f"{tick:.{decimals}f}") for tick in ticks]
    digits = floor(log10(greatest)) - floor(log10(step) + 1e-9) + 1
    return [(tick, f"{tick:.{digits}g}") for tick in ticks]


def leaf_ticks(fewest: int, most: int) -> list[int]:
    """Round numbers of leaves, few enough to stand side by side.

    >>> leaf_ticks(1, 8), leaf_ticks(1, 22), leaf_ticks(1, 5000)
    ([1, 2, 3, 4, 5, 6, 7, 8], [1, 5, 10, 15, 20], [1, 3, 10, 30, 100, 300, 1000, 3000])
    """
    if most <= 12:
        return list(range(fewest, most + 1))
    if most <= LARGEST_EVEN:
        ticks = [1, *range(5, most + 1, 5)]
    else:
        factors = (1, 2, 5) if most <= 2000 else (1, 3) if most <= 100_000 else (1,)
        ticks = [factor * 10**power for power in range(len(str(most))) for factor in factors]
    return [tick for tick in ticks if fewest <= tick <= most]
