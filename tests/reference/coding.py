"""The slow way to code columns: every rank and every bin from its definition."""

import numpy as np
from numpy.typing import NDArray


def ranks_of(column: NDArray[np.float64]) -> list[int]:
    """The position of each value among the distinct values; -1 where it is missing."""
    distinct = sorted({value for value in column.tolist() if value == value})
    position = {value: place for place, value in enumerate(distinct)}
    return [position[value] if value == value else -1 for value in column.tolist()]


def bins_of(ranks: list[int], most_bins: int, repeats: list[int] | None = None) -> list[int]:
    """The bin of each row, of about equal numbers of rows; 255 where the value is missing.

    Values that occur have a bin each, if they are few enough. Else a new bin begins with the first value
    below which a further 1 / most_bins of the rows lie. Values without rows belong to the value below.
    """
    times = repeats or [1] * len(ranks)
    rows_at = [0] * (max(ranks, default=0) + 1)
    for rank, count in zip(ranks, times, strict=True):
        if rank >= 0:
            rows_at[rank] += count
    occur = [rank for rank, count in enumerate(rows_at) if count > 0]
    n_rows, below, bins, share = sum(rows_at), 0, [0] * len(rows_at), 0
    for rank, count in enumerate(rows_at):
        reached = min(below * most_bins // n_rows, most_bins - 1) if n_rows else 0
        begins = rank in occur[1:] if len(occur) <= most_bins else reached > share
        bins[rank] = (bins[rank - 1] if rank else 0) + begins
        share, below = reached, below + count
    return [bins[rank] if rank >= 0 else 255 for rank in ranks]
