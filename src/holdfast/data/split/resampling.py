"""Samples of the rows, with or without replacement, as repetitions of rows."""

import numpy as np

from holdfast.arrays import IntArray, LongArray
from holdfast.random_streams import generator

MOST_DRAWS = 16  # for each row; of more repetitions the counts are drawn, not the repetitions


def bootstrap_counts(
    repeats: IntArray,
    seed: int,
    index: int | tuple[int, ...],
    groups: LongArray | None = None,
    *,
    n_draws: int | None = None,
    replacement: bool = True,
) -> IntArray:
    """How often each row is drawn in sample `index`; by default as many draws as there are rows.

    A row that stands for several is drawn as often; one that stands for none is never drawn. With groups,
    whole groups are drawn, as many as there are. Sample i depends on the seed and on i alone, never on where
    or in what order the samples are drawn.

    >>> bootstrap_counts(np.ones(5, np.int32), seed=0, index=0)
    array([1, 1, 0, 1, 2], dtype=int32)
    """
    key = index if isinstance(index, tuple) else (index,)
    if groups is None:
        return _times_drawn(generator(seed, *key), repeats, n_draws, replacement)
    times = _times_drawn(generator(seed, *key), groups_there(repeats, groups), n_draws, replacement)
    return (repeats * times[groups]).astype(np.int32)


def groups_there(repeats: IntArray, groups: LongArray) -> IntArray:
    """For every group 1 if one of its rows counts, else 0.

    >>> groups_there(np.array([1, 0, 2, 0]), np.array([0, 0, 1, 2]))
    array([1, 1, 0], dtype=int32)
    """
    return (np.bincount(groups, repeats > 0) > 0).astype(np.int32)


def _times_drawn(
    chance: np.random.Generator, repeats: IntArray, n_draws: int | None, replacement: bool
) -> IntArray:
    counted = np.flatnonzero(repeats)
    if len(counted) < len(repeats):  # rows that stand for none take no part in the draws
        spread = np.zeros(len(repeats), np.int32)
        spread[counted] = _times_drawn(chance, repeats[counted], n_draws, replacement)
        return spread
    n_rows, n_all = len(repeats), int(repeats.sum(dtype=np.int64))
    n_draws = n_all if n_draws is None else n_draws
    if not replacement and n_draws == n_all:
        return repeats.astype(np.int32)
    if n_all > MOST_DRAWS * n_rows:
        if replacement:
            return chance.multinomial(n_draws, repeats / n_all).astype(np.int32)
        times = chance.multivariate_hypergeometric(repeats, n_draws, method="marginals")
        return times.astype(np.int32)
    if replacement:
        drawn = chance.integers(0, n_all, n_draws)
    else:
        drawn = chance.choice(n_all, n_draws, replace=False, shuffle=False)
    if n_all > n_rows or repeats.min() != 1:
        drawn = np.repeat(np.arange(n_rows), repeats)[drawn]
    return np.bincount(drawn, minlength=n_rows).astype(np.int32)
