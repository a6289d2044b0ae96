"""Every tree of depth 2 over columns of zeros and ones, tried one after the other: slow, and obvious."""

from collections.abc import Iterator

import numpy as np

Small = int | tuple[int, "Small", "Small"]  # a class, or a column with what follows a 1 and what follows a 0


def trees(answers: np.ndarray, n_classes: int, depth: int) -> Iterator[Small]:
    """All trees up to the depth whose every leaf some row reaches, whatever the leaf says."""
    yield from range(n_classes)
    if depth == 0:
        return
    for column in range(answers.shape[1]):
        is_one = answers[:, column]
        if is_one.any() and not is_one.all():
            for yes in trees(answers[is_one], n_classes, depth - 1):
                for no in trees(answers[~is_one], n_classes, depth - 1):
                    yield column, yes, no


def said(tree: Small, answers: np.ndarray) -> np.ndarray:
    """The class of every row."""
    if isinstance(tree, int):
        return np.full(len(answers), tree)
    column, yes, no = tree
    return np.where(answers[:, column], said(yes, answers), said(no, answers))


def n_leaves(tree: Small) -> int:
    return 1 if isinstance(tree, int) else n_leaves(tree[1]) + n_leaves(tree[2])


def objective(tree: Small, answers: np.ndarray, target: np.ndarray, cost: int) -> int:
    """Errors, and the cost of every leaf."""
    return int((said(tree, answers) != target).sum()) + cost * n_leaves(tree)
