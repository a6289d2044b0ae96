"""The solvers against a search of every tree of depth 2: python -m benchmarks.studies.solvers.check."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.studies.solvers.binary_splits import BinarySplits
from benchmarks.studies.solvers.near_optimal import NearOptimalTreeClassifier, near_optimal_trees
from benchmarks.studies.solvers.optimal import OptimalTreeClassifier
from holdfast import Table, retrain_audit

ALPHA, N_ROWS = 0.03, 120
Small = int | tuple[int, "Small", "Small"]  # a class, or a column with what follows a 1 and what follows a 0


def trees(answers: np.ndarray, n_classes: int, depth: int) -> Iterator[Small]:
    """All trees up to the depth whose every leaf some row reaches, whatever the leaf predicts."""
    yield from range(n_classes)
    if depth == 0:
        return
    for column in range(answers.shape[1]):
        is_one = answers[:, column]
        if is_one.any() and not is_one.all():
            for yes in trees(answers[is_one], n_classes, depth - 1):
                for no in trees(answers[~is_one], n_classes, depth - 1):
                    yield column, yes, no


def predicted(tree: Small, answers: np.ndarray) -> np.ndarray:
    """The class of every row."""
    if isinstance(tree, int):
        return np.full(len(answers), tree)
    column, yes, no = tree
    return np.where(answers[:, column], predicted(yes, answers), predicted(no, answers))


def n_leaves(tree: Small) -> int:
    return 1 if isinstance(tree, int) else n_leaves(tree[1]) + n_leaves(tree[2])


def objective(tree: Small, answers: np.ndarray, target: np.ndarray, cost: int) -> int:
    """Errors, and the cost of every leaf."""
    return int((predicted(tree, answers) != target).sum()) + cost * n_leaves(tree)


def patients(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    chance = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": chance.integers(20, 90, N_ROWS).astype(float),
            "lab": chance.normal(5, 2, N_ROWS).round(1),
            "ward": chance.choice(["A", "B", "C"], N_ROWS),
        }
    )
    risk = (frame["age"] > 60).astype(int) + (frame["ward"] == "B") + (chance.random(N_ROWS) < 0.2)
    frame.loc[chance.random(N_ROWS) < 0.1, "lab"] = np.nan
    return frame, np.where(risk >= 2, "died", "lived")


def main() -> None:
    for seed in range(2):
        X, y = patients(seed)
        splits = BinarySplits.of(Table.from_arrays(X, y), 2)
        cost = round(ALPHA * N_ROWS)
        every = [
            objective(tree, splits.answers, splits.table.target, cost) for tree in trees(splits.answers, 2, 2)
        ]
        for tolerance in (0.0, 0.05, 0.2):
            found = near_optimal_trees(splits, 2, ALPHA, tolerance)
            assert len(found) == sum(each <= (1 + tolerance) * min(every) for each in every)
        for kind in (OptimalTreeClassifier, NearOptimalTreeClassifier):
            own = {"tolerance": 0.0} if kind is NearOptimalTreeClassifier else {}
            model = kind(max_depth=2, n_thresholds=2, ccp_alpha=ALPHA, **own).fit(X, y)
            assert int((model.predict(X) != y).sum()) + cost * model.get_n_leaves() == min(every)
    audit = retrain_audit({"optimal": OptimalTreeClassifier()}, X, y, n_repeats=1, changes="another seed")
    assert audit.mean("optimal", "identical") == 1.0
    print("The solvers find the best trees, and all that are nearly as good.")


if __name__ == "__main__":
    main()
