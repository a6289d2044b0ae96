"""Is size="auto" worth having: python -m benchmarks.studies.sizes.

For every data set and replication, 30 % of the rows are held out. Trees are grown on the others: to the end,
pruned by folds with leaves of one row, the same with leaves of 20, and with size="auto", which chooses alpha
and the smallest leaf by the same folds. Shown are AUC, or R2, on the rows held out, and the leaves.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

from benchmarks.studies.cases import load_case
from holdfast import CART, GrowthRules, grow
from holdfast.data.table import Table
from holdfast.growth import SizeSearch, choose_size
from holdfast.growth.size_search import choose_size_and_leaf
from holdfast.scoring.metric import TrueValues, make_metric
from holdfast.stable.rows import draw_test_rows
from holdfast.tree.tree import Tree

DATA = Path(__file__).parents[3] / "shared" / "data"
SETS = (
    *("heart_cleveland", "pima_diabetes", "breast_cancer_wdbc", "german_credit"),
    *("breast_cancer_ljubljana", "hepatitis", "titanic", "hitters_salary"),
)
WAYS = ("to the end", "pruned, leaves of 1", "pruned, leaves of 20", "size='auto'")
console = Console(width=130)


def trees(table: Table, seed: int) -> list[Tree]:
    rules = CART if table.schema.target.is_classes else GrowthRules("squared_error")
    search = SizeSearch(random_state=seed)
    return [
        grow(table, rules),
        choose_size(table, rules, search=search).tree,
        choose_size(table, rules.replace(min_samples_leaf=20), search=search).tree,
        choose_size_and_leaf(table, rules, search=search).tree,
    ]


def figures(table: Table, n_replications: int) -> np.ndarray:
    """(ways, 2): mean score on the rows held out, mean number of leaves."""
    found = []
    metric = make_metric(None, table.schema.target)
    for number in range(n_replications):
        test = draw_test_rows(table, 0.3, stage=None, groups=None, seed=number)
        held_out = table.subset(test)
        truth = TrueValues.of(held_out)
        grown = trees(table.subset(~test), number)
        found.append(
            [(metric.value(tree.value[tree.apply(held_out)], truth), tree.n_leaves) for tree in grown]
        )
    return np.mean(found, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--replications", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    grid = Grid("data", *WAYS, title=f"Score on rows held out (leaves), {options.replications} replications")
    means = []
    for name in SETS:
        found = figures(load_case(name, options.data).table, options.replications)
        means.append(found[:, 0])
        grid.add_row(name, *(f"{score:.3f} ({leaves:.0f})" for score, leaves in found))
    grid.add_row("mean", *(f"{score:.3f}" for score in np.mean(means, axis=0)))
    console.print(grid)


if __name__ == "__main__":
    main()
