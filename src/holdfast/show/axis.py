"""The round numbers to write beside an axis of leaves."""

LARGEST_EVEN = 30  # leaves; beyond it the scale is logarithmic, as differences among few leaves matter most


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
