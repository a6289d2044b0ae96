"""Bootstrap samples as repetitions of rows."""

import numpy as np

from holdfast.arrays import IntArray, LongArray

MOST_DRAWS = 16  # for each row; of more repetitions the counts are drawn, not the repetitions


def bootstrap_counts(
    repeats: IntArray, seed: int, index: int | tuple[int, ...], groups: LongArray | None = None
) -> IntArray:
    """How often each row is drawn in sample `index`, as many draws with replacement as there are rows.

    A row that stands for several is drawn as often; one that stands for none is never drawn. With groups,
    whole groups are drawn, as many as there are. Sample i depends on the seed and on i alone, never on where
    or in what order the samples are drawn.

    >>> bootstrap_counts(np.ones(5, np.int32), seed=0, index=0)
    array([1, 1, 0, 1, 2], dtype=int32)
    """
    key = index if isinstance(index, tuple) else (index,)
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    if groups is not None:
        there = np.unique(groups[repeats > 0])
        drawn = there[generator.integers(0, len(there), len(there))]
        times = np.bincount(drawn, minlength=int(groups.max()) + 1)
        return (repeats * times[groups]).astype(np.int32)
    n_rows = len(repeats)
    n_draws = int(repeats.sum(dtype=np.int64))
    if n_draws > MOST_DRAWS * n_rows:
        return generator.multinomial(n_draws, repeats / n_draws).astype(np.int32)
    if n_draws == n_rows and repeats.min() == 1:
        drawn = generator.integers(0, n_rows, n_rows)
    else:
        drawn = np.repeat(np.arange(n_rows), repeats)[generator.integers(0, n_draws, n_draws)]
    return np.bincount(drawn, minlength=n_rows).astype(np.int32)
