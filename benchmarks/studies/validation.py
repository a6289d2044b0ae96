"""Which rows to choose a tree by, and whether to shrink its score: python -m benchmarks.studies.validation.

For every data set and replication, 30 % of the rows are held out. Stable trees are trained on the others in
six ways: choosing by one third of the rows or by cross-fitting, with scores as measured or shrunk. Shown are
the score by which a tree was chosen and the score of the delivered tree on the rows held out, for the best
score and for the most stable within 0.02 of it, and how far apart the trees of different replications are.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table as Grid

from holdfast import Table, distance_matrix
from holdfast.scoring.metric import TrueValues
from holdfast.stable.rows import draw_test_rows
from holdfast.stable.selection import SelectionRule, choose
from holdfast.stable.settings import StabilitySettings
from holdfast.stable.train import train

DATA = Path(__file__).parents[3] / "shared" / "data"
TARGETS = {
    "heart_cleveland": "heart_disease",
    "pima_diabetes": "diabetes",
    "breast_cancer_wdbc": "diagnosis",
    "german_credit": "credit_risk",
    "breast_cancer_ljubljana": "recurrence",
    "hepatitis": "outcome",
    "titanic": "survived",
    "stroke": "stroke",
}
WAYS = {
    "a third, measured": StabilitySettings(method="bootstrap", validation=1 / 3, shrink_scores=False),
    "a third, shrunk": StabilitySettings(method="bootstrap", validation=1 / 3),
    "3 folds, measured": StabilitySettings(method="bootstrap", validation=3, shrink_scores=False),
    "3 folds, shrunk": StabilitySettings(method="bootstrap", validation=3),
    "5 folds, measured": StabilitySettings(method="bootstrap", validation=5, shrink_scores=False),
    "5 folds, shrunk": StabilitySettings(method="bootstrap", validation=5),
}
WISHES = (SelectionRule("best-score"), SelectionRule(tolerance=0.02))
console = Console(width=150)


def figures(table: Table, way: StabilitySettings, n_replications: int) -> np.ndarray:
    """For each rule: score chosen by, score on the rows held out, instability, leaves; then between trees."""
    rows, trees, reliabilities = [], [], []
    for number in range(n_replications):
        test = draw_test_rows(table, 0.3, stage=None, groups=None, seed=number)
        settings = StabilitySettings(**{**vars(way), "seed": number, "n_jobs": 2})
        trained = train(table.subset(~test), settings)
        held_out = table.subset(test)
        row = []
        for selection_rule in WISHES:
            place = choose(trained.frontier, trained.metric, selection_rule).candidate
            tree = trained.candidates.trees[place]
            score = trained.metric.score(tree.value[tree.apply(held_out)], TrueValues.of(held_out))
            row += [
                trained.frontier.score[place],
                score.value,
                trained.frontier.instability[place],
                tree.n_leaves,
            ]
        rows.append(row)
        trees.append(tree)
        reliabilities.append(trained.reliability)
    between = distance_matrix(trees, label_weight=10.0, depth=5)[np.triu_indices(len(trees), 1)].mean()
    return np.array([*np.mean(rows, axis=0), between, np.mean(reliabilities)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--replications", type=int, default=20)
    options = parser.parse_args()
    if not options.data.is_dir():
        console.print(f"There is no folder '{options.data}': give one with --data.")
        return
    warnings.simplefilter("ignore")
    grid = Grid(title=f"AUC, {options.replications} replications")
    for column in ("data", "way", "best: by", "test", "d", "leaves", "within .02: by", "test", "d", "leaves"):
        grid.add_column(column, justify="left" if column in ("data", "way") else "right")
    grid.add_column("between")
    grid.add_column("reliability")
    found: dict[str, list[np.ndarray]] = {way: [] for way in WAYS}
    for name, target in TARGETS.items():
        table = Table.from_frame(pd.read_csv(options.data / f"{name}.csv"), target=target)
        for way, settings in WAYS.items():
            row = figures(table, settings, options.replications)
            found[way].append(row)
            console.print(f"{name}, {way}: " + " ".join(texts(row)))
            grid.add_row(name, way, *texts(row))
    for way, rows in found.items():
        grid.add_row("[bold]mean", way, *texts(np.mean(rows, axis=0)))
    console.print(grid)


def texts(row: np.ndarray) -> list[str]:
    forms = (".4f", ".4f", ".2f", ".1f") * 2 + (".2f", ".2f")
    return [format(number, form) for number, form in zip(row, forms, strict=True)]


if __name__ == "__main__":
    main()
