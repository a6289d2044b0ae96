"""Every use of chance, named in one place: a seed has branches, and no two uses draw from the same one.

A stream is the seed, a branch, and numbers further down, such as that of the tree. So what is drawn for
tree i depends on the seed and on i alone, never on where or in what order the trees are grown.
"""

from collections.abc import Sequence
from enum import IntEnum, unique

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import KeyArray

Stream = tuple[int, ...]  # the seed, the branch, and numbers further down


@unique
class Branch(IntEnum):
    """The branches of a seed. A number never changes: other numbers would give other trees.

    Two uses are older than the branches: sample i of `grow_bootstraps` is the stream (seed, i), and the rows
    that a density tree holds out are the stream (seed,).
    """

    # Stable trees: the roles of the rows
    EARLY_ROWS = 0
    VALIDATION_ROWS = 1
    TEST_ROWS = 2
    # Stable trees: bootstrap samples and, one step further down, the features drawn at splits
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
    # Stable trees: rows held out, divided in two to see how far scores are chance
    VALIDATION_HALVES = 12
    # The baselines of replications
    BASELINE_FOLDS = 20
    BASELINE_FOREST = 21
    # Replications: the seed of each, and the rows that the protocol of the paper divides
    REPLICATIONS = 30
    PAPER_TEST_ROWS = 31
    PAPER_EARLY_ROWS = 32
    # One tree: folds that choose its size, and rows held out to prune it
    SIZE_FOLDS = 40
    REDUCED_ERROR_ROWS = 41
    CONSENSUS_SIZE_FOLDS = 42
    BASELINE_TEST_FOLDS = 46
    # Honest leaves: the rows that choose the questions; and rows that tell leaves apart
    HONEST_ROWS = 43
    SIMILAR_LEAVES = 44
    # Intervals of leaves: rows drawn again
    LEAF_MEANS = 45
    # Ensembles: bags and, one step further down, the features drawn at splits; columns permuted among rows
    BAGS = 50
    PERMUTATIONS = 51
    # Trees on few rows of a large table: these rows and, one step further down, the features drawn at splits
    SUBSAMPLES = 58
    # Boosting: the rows and features of each round, and the rows held out to stop by
    BOOSTING_SAMPLES = 52
    BOOSTING_VALIDATION = 53
    # Boosting with honest leaves: the rows of each round that choose the questions
    BOOSTING_HONEST_ROWS = 57
    # Folds that models are compared on
    COMPARISON_FOLDS = 54
    # Folds that choose the number of features drawn at a split
    MAX_FEATURES_FOLDS = 55
    # AdaBoost: the features drawn at splits, in each round
    ADABOOST_ROUNDS = 56
    # Audits of retraining: rows to test by, samples of the others, small changes, and seeds of the models
    AUDIT_TEST_ROWS = 80
    AUDIT_SAMPLES = 81
    AUDIT_CHANGES = 82
    AUDIT_SEEDS = 83
    # Updates of a deployed tree: new rows to score by
    UPDATE_VALIDATION = 90
    # Exports: the rows at the edges of regions that they are verified on
    EXPORT_EDGES = 95


def make_generator(seed: int, *key: int) -> np.random.Generator:
    """A generator of this branch of the seed, and of the numbers further down.

    >>> [int(make_generator(0, Branch.BAGS, tree).integers(100)) for tree in (7, 8, 7)]
    [30, 38, 30]
    """
    return np.random.default_rng(_sequence(seed, key))


def derive_seed(seed: int, *key: int) -> int:
    """A seed of 32 bits for this branch of the seed, and for the numbers further down."""
    return int(_sequence(seed, key).generate_state(1)[0])


def stream_key(seed: int, *key: int) -> int:
    """A number of 64 bits for this branch of the seed, and for the numbers further down.

    What is drawn for a row comes from it and from the key of the row.
    """
    return int(_sequence(seed, key).generate_state(1, np.uint64)[0])


def stream_keys(streams: Sequence[Stream]) -> KeyArray:
    """The `stream_key` of each stream.

    >>> stream_keys([(0, 5), (0, 6)]).tolist() == [stream_key(0, 5), stream_key(0, 6)]
    True
    """
    low, high = _states(streams, 2).astype(np.uint64).T
    keys: KeyArray = low | high << np.uint64(32)
    return keys


def derive_seeds(streams: Sequence[Stream]) -> list[int]:
    """The `derive_seed` of each stream."""
    seeds: list[int] = _states(streams, 1)[:, 0].tolist()
    return seeds


def _sequence(seed: int, key: tuple[int, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=tuple(map(int, key)))


# -- many streams at once ------------------------------------------------------------------------------------

# The constants of SeedSequence, whose numbers numpy promises never to change.
_POOL = 4  # words
_TAKE_IN, _TAKE_IN_STEP = 0x43B0D7E5, 0x931E8875
_GIVE_OUT, _GIVE_OUT_STEP = 0x8B51F9DD, 0x58F38DED
_KEEP, _ADD = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_WORD = 2**32
_FEW = 4  # streams: one by one they are made as fast


def _states(streams: Sequence[Stream], n_words: int) -> NDArray[np.uint32]:
    """So many words of each stream, as SeedSequence makes them: of many with one seed, all at once.

    A sequence takes 20 microseconds to be made, a tree of a small table some 300 to be grown.
    """
    seeds, lengths = {stream[0] for stream in streams}, {len(stream) for stream in streams}
    are_words = all(0 <= number < _WORD for stream in streams for number in stream[1:])
    if len(streams) > _FEW and len(seeds) == len(lengths) == 1 and are_words:
        return _given_out(_pools(seeds.pop(), [stream[1:] for stream in streams]), n_words)
    states = [_sequence(stream[0], stream[1:]).generate_state(n_words) for stream in streams]
    return np.array(states, np.uint32).reshape(len(streams), n_words)


def _pools(seed: int, keys: Sequence[Stream]) -> list[NDArray[np.uint32]]:
    """The four words, each of all streams, that a sequence keeps of its seed and of its key."""
    pools = [np.full(len(keys), word, np.uint32) for word in _sequence(seed, ()).pool]
    n_taken_in = max(-(-int(seed).bit_length() // 32), _POOL)  # words of the seed
    # Each of the first words was hashed for its own place and for the three others, all later ones for four.
    factor = _TAKE_IN * pow(_TAKE_IN_STEP, _POOL * n_taken_in, _WORD) % _WORD
    for word in np.array(keys, np.uint32).T:
        for place in range(_POOL):
            hashed, factor = _hashed(word, factor, _TAKE_IN_STEP)
            pools[place] = pools[place] * _KEEP - hashed * _ADD
            pools[place] ^= pools[place] >> np.uint32(16)
    return pools


def _given_out(pools: list[NDArray[np.uint32]], n_words: int) -> NDArray[np.uint32]:
    words, factor = np.empty((len(pools[0]), n_words), np.uint32), _GIVE_OUT
    for i in range(n_words):
        words[:, i], factor = _hashed(pools[i % _POOL], factor, _GIVE_OUT_STEP)
    return words


def _hashed(word: NDArray[np.uint32], factor: int, step: int) -> tuple[NDArray[np.uint32], int]:
    """A word hashed by a factor, and the factor for the next."""
    following = factor * step % _WORD
    hashed = (word ^ np.uint32(factor)) * np.uint32(following)
    return hashed ^ (hashed >> np.uint32(16)), following
