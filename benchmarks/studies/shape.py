"""Can leaves and splits be defended: python -m benchmarks.studies.shape.

Of every data set, of at most 5,000 rows, consensus trees of 75 % samples are counted. Support is the share of
the reference trees with a split on the same feature of mostly the same rows: those that reach both splits are
at least half of those that reach either. It is worked out here row by row, not read from the tree.
"""

import argparse
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table as Grid

from benchmarks.studies.cases import listed_frame
from holdfast import StableTreeClassifier, StableTreeRegressor
from holdfast.tree.leaf_evidence import class_outcome
from holdfast.tree.tree import LEAF, Tree

DATA = Path(__file__).parents[3] / "shared" / "data"
SETS = (
    *("heart_cleveland", "pima_diabetes", "breast_cancer_wdbc", "german_credit", "stroke", "nhanes_diabetes"),
    *("adult_income", "titanic", "hepatitis", "breast_cancer_ljubljana", "elec2", "dermatology"),
    *("hitters_salary", "california_housing", "bike_sharing_hourly", "hypothyroid"),
)
MOST_ROWS = 5000
CLOSE, LOW = 0.03, 0.1
COUNTS = {
    "leaves": "leaves",
    "small": "leaves of fewer than 10 rows",
    "against": "leaves that predict another class than their rows, whose intervals do not meet",
    "alike": "sibling leaves of one class within .03 (numbers: .03 standard deviations)",
    "alike, weak": "those whose split has less than 10 % support",
    "reversed": "sibling leaves in the opposite order to their rows",
    "reversed, weak": "those whose split has less than 10 % support",
    "splits": "splits",
    "weak": "splits of less than 10 % support",
    "unmarked": "those that the tree does not mark",
    "weak by place": "splits that less than 10 % of the references make after the same yes and no answers",
    "outside": "thresholds outside nine tenths of those of the references that split there",
}
console = Console(width=150)


def counts_of(model: StableTreeClassifier, X: pd.DataFrame, scale: float) -> Counter[str]:
    """What there is to count in the tree of one fit; `scale` is the unit of .03."""
    tree, found = model.tree_, Counter[str]()
    leaves = np.flatnonzero(tree.feature == LEAF)
    found["leaves"] = len(leaves)
    found["small"] = int((tree.count[leaves] < 10).sum())
    found["against"] = sum(is_against_rows(tree, leaf) for leaf in leaves.tolist())
    support, marks = support_by_rows(tree, model.reference_trees_, X), tree.split_support
    found["splits"] = len(support)
    for node, share in support.items():
        is_weak = share < LOW
        found["weak"] += is_weak
        found["unmarked"] += is_weak and not (marks is not None and marks[node] < LOW)
        left, right = tree.left[node], tree.right[node]
        if tree.feature[left] == tree.feature[right] == LEAF:
            for name, is_so in zip(("alike", "reversed"), siblings(tree, left, right, scale), strict=True):
                found[name] += is_so
                found[f"{name}, weak"] += is_so and is_weak
    for each in model.split_support():
        found["weak by place"] += each.references < LOW
        if each.threshold is not None and each.thresholds is not None:
            low, _, high = each.thresholds
            found["outside"] += not low <= each.threshold <= high
    return found


def siblings(tree: Tree, left: int, right: int, scale: float) -> tuple[bool, bool]:
    """Whether two leaves predict the same, and whether they are in the opposite order to their rows."""
    apart = tree.value[left] - tree.value[right]
    observed = tree.observed_mean[left] - tree.observed_mean[right]
    most = int(np.abs(apart).argmax())
    is_one_class = not tree.schema.target.is_classes or tree.outcome[left] == tree.outcome[right]
    return bool(is_one_class and np.abs(apart).max() < CLOSE * scale), bool(apart[most] * observed[most] < 0)


def is_against_rows(tree: Tree, leaf: int) -> bool:
    """True if most rows of a leaf are of another class than it predicts, clearly."""
    if not tree.schema.target.is_classes:
        return False
    own, most = int(tree.outcome[leaf]), int(tree.observed_mean[leaf].argmax())
    ends = [class_outcome(tree, leaf, place).interval for place in (own, most)]
    return own != most and None not in ends and ends[0][1] < ends[1][0]


def support_by_rows(tree: Tree, references: tuple[Tree, ...], X: pd.DataFrame) -> dict[int, float]:
    """The support of every split, from the rows that pass it."""
    n_splitting = dict.fromkeys(np.flatnonzero(tree.feature != LEAF).tolist(), 0)
    passed = tree.decision_path(X).astype(np.int64)
    for reference in references:
        others = reference.decision_path(X).astype(np.int64)
        both = (passed.T @ others).toarray()
        either = passed.sum(axis=0).reshape(-1, 1) + others.sum(axis=0).reshape(1, -1) - both
        alike = (
            (2 * both >= either)
            & (tree.feature[:, None] == reference.feature)
            & (tree.feature[:, None] != LEAF)
        )
        for node in np.flatnonzero(np.asarray(alike).any(axis=1)).tolist():
            n_splitting[node] += 1
    return {node: n / len(references) for node, n in n_splitting.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--replications", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    grid, total = Grid("data", *COUNTS), Counter[str]()
    grid.title = f"Consensus trees of {options.replications} samples of 75 %"
    for name in options.sets.split(","):
        X, y = listed_frame(name, options.data)
        is_number = pd.api.types.is_float_dtype(y) or y.nunique() > 20
        estimator = StableTreeRegressor if is_number else StableTreeClassifier
        known, found = np.flatnonzero(y.notna()), Counter[str]()
        for number in range(options.replications):
            rows = np.random.default_rng(number).permutation(known)[:MOST_ROWS]
            rows = rows[: int(0.75 * len(rows))]
            model = estimator(validation=None).fit(X.iloc[rows], y.iloc[rows])
            scale = float(y.iloc[rows].std()) if is_number else 1.0
            found += counts_of(model, X.iloc[rows], scale)
        grid.add_row(name, *(str(found[each]) for each in COUNTS))
        console.print(name, {each: found[each] for each in COUNTS})
        total += found
    grid.add_row("all", *(str(total[each]) for each in COUNTS))
    console.print(grid)
    for name, meaning in COUNTS.items():
        console.print(f"{name}: {meaning}")


if __name__ == "__main__":
    main()
