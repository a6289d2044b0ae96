"""Every use of chance, named in one place: a seed has branches, and no two uses draw from the same one.

A stream is the seed, a branch, and numbers further down, such as that of the tree. So what is drawn for
tree i depends on the seed and on i alone, never on where or in what order the trees are grown.
"""

from enum import IntEnum, unique

import numpy as np

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
    # Centred trees: bootstrap samples of the students, and the parts of the teacher
    STUDENTS = 13
    TEACHER_FOREST = 14
    TEACHER_EXTRA_TREES = 15
    TEACHER_BOOSTING = 16
    TEACHER_LANDMARKS = 17
    TEACHER_ESTIMATOR = 18
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
    CENTRED_SIZE_FOLDS = 42
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


def generator(seed: int, *key: int) -> np.random.Generator:
    """A generator of this branch of the seed, and of the numbers further down.

    >>> [int(generator(0, Branch.BAGS, tree).integers(100)) for tree in (7, 8, 7)]
    [30, 38, 30]
    """
    return np.random.default_rng(_sequence(seed, key))


def derived_seed(seed: int, *key: int) -> int:
    """A seed of 32 bits for this branch of the seed, and for the numbers further down."""
    return int(_sequence(seed, key).generate_state(1)[0])


def stream_key(seed: int, *key: int) -> int:
    """A number of 64 bits for this branch of the seed, and for the numbers further down.

    What is drawn for a row comes from it and from the key of the row.
    """
    return int(_sequence(seed, key).generate_state(1, np.uint64)[0])


def _sequence(seed: int, key: tuple[int, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=tuple(map(int, key)))
