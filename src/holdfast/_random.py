"""Random streams: every use of randomness has its own branch of the seed.

A stream is the seed, a branch, and further numbers, such as the index of the tree. So the draws for tree i
depend on the seed and on i only, not on where or in what order trees are grown.
"""

from collections.abc import Sequence
from enum import IntEnum, unique

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import KeyArray

Stream = tuple[int, ...]  # the seed, the branch, and further numbers


@unique
class Branch(IntEnum):
    """The branches of a seed. Their numbers never change: other numbers would give other trees.

    Two uses have no branch: sample i of `grow_bootstraps` is the stream (seed, i), and the held-out rows of a
    density tree are the stream (seed,).
    """

    # Stable trees: the roles of the rows
    EARLY_ROWS = 0
    VALIDATION_ROWS = 1
    TEST_ROWS = 2
    # Stable trees: bootstrap samples and, with a further number, the features drawn at splits
    REFERENCE_TREES = 10
    CANDIDATE_TREES = 11
    # Consensus trees: bootstrap samples of the students, and the parts of the teacher
    STUDENTS = 13
    TEACHER_FOREST = 14
    TEACHER_EXTRA_TREES = 15
    TEACHER_BOOSTING = 16
    TEACHER_LANDMARKS = 17
    TEACHER_ESTIMATOR = 18
    TEACHER_ROWS = 19
    # Stable trees: halves of the held-out rows, for the chance variation of scores
    VALIDATION_HALVES = 12
    # The baselines of replications
    BASELINE_FOLDS = 20
    BASELINE_FOREST = 21
    # Replications: the seed of each, and the row split of the paper
    REPLICATIONS = 30
    PAPER_TEST_ROWS = 31
    PAPER_EARLY_ROWS = 32
    # Single trees: folds to choose the size, and held-out rows to prune
    SIZE_FOLDS = 40
    REDUCED_ERROR_ROWS = 41
    CONSENSUS_SIZE_FOLDS = 42
    BASELINE_TEST_FOLDS = 46
    # Honest leaves: the rows that choose the splits; held-out rows to compare leaves
    HONEST_ROWS = 43
    SIMILAR_LEAVES = 44
    # Intervals of leaves: bootstrap samples
    LEAF_MEANS = 45
    # Ensembles: bags and, with a further number, the features drawn at splits; permutations of columns
    BAGS = 50
    PERMUTATIONS = 51
    # Trees on few rows of a large table: these rows and, with a further number, the features drawn at splits
    SUBSAMPLES = 58
    # Boosting: the rows and features of each round, and the held-out rows for early stopping
    BOOSTING_SAMPLES = 52
    BOOSTING_VALIDATION = 53
    # Boosting with honest leaves: the rows of each round that choose the splits
    BOOSTING_HONEST_ROWS = 57
    # Folds to compare models
    COMPARISON_FOLDS = 54
    # Folds to choose max_features
    MAX_FEATURES_FOLDS = 55
    # AdaBoost: the features drawn at splits, in each round
    ADABOOST_ROUNDS = 56
    # Audits of retraining: test rows, samples of the others, small changes, and seeds of the models
    AUDIT_TEST_ROWS = 80
    AUDIT_SAMPLES = 81
    AUDIT_CHANGES = 82
    AUDIT_SEEDS = 83
    # Updates of a deployed tree: new rows to score
    UPDATE_VALIDATION = 90
    # Exports: rows at the edges of regions for verification
    EXPORT_EDGES = 95


def make_generator(seed: int, *key: int) -> np.random.Generator:
    """Make the generator of this branch of the seed and the further numbers.

    >>> [int(make_generator(0, Branch.BAGS, tree).integers(100)) for tree in (7, 8, 7)]
    [30, 38, 30]
    """
    return np.random.default_rng(_sequence(seed, key))


def derive_seed(seed: int, *key: int) -> int:
    """Derive a seed of 32 bits from this branch of the seed and the further numbers."""
    return int(_sequence(seed, key).generate_state(1)[0])


def stream_key(seed: int, *key: int) -> int:
    """Return a number of 64 bits for this branch of the seed and the further numbers.

    Draws for a row depend on it and on the key of the row.
    """
    return int(_sequence(seed, key).generate_state(1, np.uint64)[0])


def stream_keys(streams: Sequence[Stream]) -> KeyArray:
    """Return the `stream_key` of each stream.

    >>> stream_keys([(0, 5), (0, 6)]).tolist() == [stream_key(0, 5), stream_key(0, 6)]
    True
    """
    low, high = _states(streams, 2).astype(np.uint64).T
    keys: KeyArray = low | high << np.uint64(32)
    return keys


def derive_seeds(streams: Sequence[Stream]) -> list[int]:
    """Return the `derive_seed` of each stream."""
    seeds: list[int] = _states(streams, 1)[:, 0].tolist()
    return seeds


def _sequence(seed: int, key: tuple[int, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=tuple(map(int, key)))


# -- many streams at once ------------------------------------------------------------------------------------

# The constants of SeedSequence, whose stream numpy promises not to change.
_POOL = 4  # words
_ABSORB, _ABSORB_STEP = 0x43B0D7E5, 0x931E8875
_EMIT, _EMIT_STEP = 0x8B51F9DD, 0x58F38DED
_KEEP, _ADD = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_WORD = 2**32
_FEW = 4  # streams, which are made one by one as fast


def _states(streams: Sequence[Stream], n_words: int) -> NDArray[np.uint32]:
    """Generate words of each stream as SeedSequence does; many streams of one seed at once.

    Making a SeedSequence takes 20 microseconds, growing a small tree about 300.
    """
    seeds, lengths = {stream[0] for stream in streams}, {len(stream) for stream in streams}
    are_words = all(0 <= number < _WORD for stream in streams for number in stream[1:])
    if len(streams) > _FEW and len(seeds) == len(lengths) == 1 and are_words:
        return _generate_words(_pools(seeds.pop(), [stream[1:] for stream in streams]), n_words)
    states = [_sequence(stream[0], stream[1:]).generate_state(n_words) for stream in streams]
    return np.array(states, np.uint32).reshape(len(streams), n_words)


def _pools(seed: int, keys: Sequence[Stream]) -> list[NDArray[np.uint32]]:
    """Return the four words of entropy of every stream, as SeedSequence mixes them."""
    pools = [np.full(len(keys), word, np.uint32) for word in _sequence(seed, ()).pool]
    n_seed_words = max(-(-int(seed).bit_length() // 32), _POOL)
    # Each word of the seed was hashed four times.
    factor = _ABSORB * pow(_ABSORB_STEP, _POOL * n_seed_words, _WORD) % _WORD
    for word in np.array(keys, np.uint32).T:
        for place in range(_POOL):
            hashed, factor = _hash_word(word, factor, _ABSORB_STEP)
            pools[place] = pools[place] * _KEEP - hashed * _ADD
            pools[place] ^= pools[place] >> np.uint32(16)
    return pools


def _generate_words(pools: list[NDArray[np.uint32]], n_words: int) -> NDArray[np.uint32]:
    words, factor = np.empty((len(pools[0]), n_words), np.uint32), _EMIT
    for i in range(n_words):
        words[:, i], factor = _hash_word(pools[i % _POOL], factor, _EMIT_STEP)
    return words


def _hash_word(word: NDArray[np.uint32], factor: int, step: int) -> tuple[NDArray[np.uint32], int]:
    """Hash a word by a factor; return the factor for the next one, too."""
    following = factor * step % _WORD
    hashed = (word ^ np.uint32(factor)) * np.uint32(following)
    return hashed ^ (hashed >> np.uint32(16)), following
