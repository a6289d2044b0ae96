"""Stable trees on many data sets, tested on rows they never saw: python -m benchmarks.studies.honest.

Every replication holds a third of the rows out, trains on the others with cross-fitting or validation rows of
its own, and reports the test rows: the best score, the most stable and the chosen tree of the frontier, CART
by cross-validation and a random forest of 200 trees.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

from rich.console import Console
from rich.table import Table as Grid

from benchmarks.studies.cases import Case, load_case
from holdfast import GrowthRules
from holdfast.errors import DataWarning
from holdfast.evaluate.replications import Replications, Summary, replicate
from holdfast.stable.settings import StabilitySettings

DATA = Path(__file__).parents[3] / "shared" / "data"
NAMES = (
    "heart_cleveland",
    "pima_diabetes",
    "breast_cancer_wdbc",
    "breast_cancer_ljubljana",
    "german_credit",
    "titanic",
    "dermatology",
    "stroke",
    "adult_income",
    "nhanes_diabetes",
    "diabetic_readmission",
    "hitters_salary",
    "california_housing",
)
QUICK = ("heart_cleveland", "breast_cancer_ljubljana", "hitters_salary")
HEADS = ("best", "stable", "chosen", "CART", "forest")

Study = tuple[Case, Replications]
Figure = Callable[[Summary], float | None]


def study(case: Case, n_replications: int, n_estimators: int, n_jobs: int) -> Replications:
    rules = GrowthRules(criterion="gini" if case.is_classes else "squared_error", max_depth=5)
    settings = StabilitySettings(method="bootstrap", rules=rules, n_estimators=n_estimators, n_jobs=n_jobs)
    return replicate(
        case.table, settings, stage=case.stage, groups=case.groups, n_replications=n_replications
    )


# -- tables -----------------------------------------------------------------------------------------------


def score_grid(studies: Sequence[Study]) -> Grid:
    grid = Grid(
        title="Score on the test rows (AUC, or R² of numbers), and how much better it looked before: "
        "measured on validation rows, and expected of new rows"
    )
    for head in ("data", "rows", *HEADS, "best, measured", "expected", "chosen, expected"):
        grid.add_column(head, justify="left" if head == "data" else "right", no_wrap=True)
    for case, found in studies:
        cells = [f"{row.score.mean:.3f} ± {row.score.deviation:.3f}" for row in found.rows]
        grid.add_row(case.name, f"{case.table.n_rows:,}", *cells, *(f"{x:+.3f}" for x in optimism(found)))
    if classes(studies):
        grid.add_section()
        means = columns_of(studies, [lambda row: row.score.mean])
        excess = [
            mean(each) for each in zip(*(optimism(found) for _, found in classes(studies)), strict=True)
        ]
        grid.add_row("mean of classes", "", *(f"{x:.3f}" for x in means), *(f"{x:+.3f}" for x in excess))
    return grid


def optimism(found: Replications) -> list[float]:
    """By how much the best and the chosen tree looked better before than on the test rows."""
    best, _, chosen = found.rows[:3]
    return [
        best.measured_score.mean - best.score.mean,
        best.choosing_score.mean - best.score.mean,
        chosen.choosing_score.mean - chosen.score.mean,
    ]


def shape_grid(studies: Sequence[Study]) -> Grid:
    grid = Grid(
        title="Distance to the reference trees, distance between the trees of two replications, leaves"
    )
    grid.add_column("data")
    for group in ("to references", "between", "leaves"):
        for head in HEADS[:4]:
            grid.add_column(f"{group}\n{head}" if head == "best" else f"\n{head}", justify="right")
    figures: list[Figure] = [
        lambda row: row.instability and row.instability.mean,
        lambda row: row.between,
        lambda row: row.n_leaves and row.n_leaves.mean,
    ]
    for case, found in studies:
        cells = [figure(row) for figure in figures for row in found.rows[:4]]
        grid.add_row(case.name, *(f"{x:.1f}" for x in cells))
    if classes(studies):
        grid.add_section()
        grid.add_row("mean of classes", *(f"{x:.1f}" for x in columns_of(studies, figures)))
    return grid


def gain_grid(studies: Sequence[Study]) -> Grid:
    grid = Grid(title="How much nearer to the reference trees, for how much of the test score")
    grid.add_column("data")
    for ours in ("most stable", "chosen"):
        for theirs in ("best score", "CART by CV"):
            grid.add_column(f"{ours}\nvs {theirs}", justify="right")
    pairs = [(ours, theirs) for ours in (1, 2) for theirs in (0, 3)]
    rows = {case.name: [gain(found, *pair) for pair in pairs] for case, found in studies}
    for name, gains in rows.items():
        grid.add_row(name, *map(gain_text, gains))
    of_classes = [rows[case.name] for case, _ in classes(studies)]
    if of_classes:
        grid.add_section()
        means = [tuple(map(mean, zip(*column, strict=True))) for column in zip(*of_classes, strict=True)]
        grid.add_row("mean of classes", *map(gain_text, means))
    return grid


def gain(found: Replications, ours: int, theirs: int) -> tuple[float, float]:
    """Fraction of their mean distance that ours is nearer, and the mean score that it costs."""
    a, b = found.rows[ours], found.rows[theirs]
    return 1 - a.instability.mean / b.instability.mean, b.score.mean - a.score.mean


def gain_text(pair: tuple[float, float]) -> str:
    nearer, cost = pair
    return f"{100 * nearer:.0f} % for {cost:+.3f}"


def classes(studies: Sequence[Study]) -> list[Study]:
    return [each for each in studies if each[0].is_classes]


def columns_of(studies: Sequence[Study], figures: Sequence[Figure]) -> list[float]:
    """Means over the classification sets, one for every figure and model that has it."""
    found = []
    for figure in figures:
        by_model = zip(*([figure(row) for row in each.rows] for _, each in classes(studies)), strict=True)
        found += [mean(values) for values in by_model if None not in values]
    return found


# -- running ----------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three small sets, 3 replications, 50 trees")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with datasets.json")
    parser.add_argument("--n-jobs", type=int, default=2)
    options = parser.parse_args()
    if not (options.data / "datasets.json").exists():
        raise SystemExit(
            f"There is no datasets.json in {options.data}: give the folder of the data with --data."
        )
    n_replications, n_estimators = (3, 50) if options.quick else (10, 300)
    console = Console(width=170)
    console.print(
        f"{n_replications} replications, a third of the rows for the test; "
        f"{n_estimators} + {n_estimators} trees of depth at most 5, lambda 10;\n"
        "chosen: the most stable within 0.01 of the best score."
    )
    warnings.simplefilter("ignore", DataWarning)
    studies = []
    for name in QUICK if options.quick else NAMES:
        case = load_case(name, options.data)
        started = time.perf_counter()
        studies.append((case, study(case, n_replications, n_estimators, options.n_jobs)))
        seconds = time.perf_counter() - started
        note = f" ({case.note})" if case.note else ""
        found = ", ".join(
            f"{head} {row.score.mean:.3f}" for head, row in zip(HEADS, studies[-1][1].rows, strict=True)
        )
        print(f"{name}: {case.table.n_rows:,} rows{note}, {seconds:.0f} s: {found}", flush=True)
    console.print("", score_grid(studies), shape_grid(studies), gain_grid(studies), sep="\n")


if __name__ == "__main__":
    main()
