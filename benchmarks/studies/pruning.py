"""The size of a tree, chosen in several ways, on many data sets: python -m benchmarks.studies.pruning.

Every replication holds a third of the rows out, classes in equal shares, and all ways learn from the same
others. Shown are leaves, scores on the rows held out, and how far apart the trees of two replications are:
what a user sees who trains again. The tables are markdown.
"""

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.studies.cases import Case, load_case
from holdfast import C45, CART, GrowthRules, Table, Tree, distance_matrix, grow
from holdfast.errors import DataWarning
from holdfast.growth import SizeSearch, choose_size
from holdfast.growth.holdout_pruning import grow_reduced_error
from holdfast.scoring.metric import TrueValues, make_metric
from holdfast.stable.rows import draw_test_rows

DATA = Path(__file__).parents[3] / "shared" / "data"
NAMES = (
    "heart_cleveland",
    "pima_diabetes",
    "german_credit",
    "breast_cancer_wdbc",
    "hepatitis",
    "titanic",
    "stroke",
    "hypothyroid",
    "dermatology",
    "adult_income",
    "hitters_salary",
    "california_housing",
)
QUICK = ("heart_cleveland", "dermatology", "hitters_salary")
LABEL_WEIGHT = 10.0  # as in the other studies
MOST_LEAVES = 3_000  # of trees whose distances are measured: a matching takes the cube of them
CLASS_SCORES = ("auc", "accuracy", "log_loss")

Way = Callable[[Table], Tree]


# -- ways to choose a size --------------------------------------------------------------------------------


def rules_for(table: Table, rules: GrowthRules = CART) -> GrowthRules:
    return rules if table.schema.target.is_classes else replace(rules, criterion="squared_error")


def unpruned(table: Table) -> Tree:
    return grow(table, rules_for(table))


def by_folds(table: Table, parameter: Any = "ccp_alpha", **evidence: Any) -> Tree:
    return choose_size(table, rules_for(table), parameter, search=SizeSearch(**evidence)).tree


def by_confidence(table: Table) -> Tree:
    return grow(table, C45)


def by_validation(table: Table) -> Tree:
    return grow_reduced_error(table, rules_for(table), 0.3)


MAIN: dict[str, Way] = {
    "unpruned": unpruned,
    "cv": by_folds,
    "cv-1se": partial(by_folds, selection_rule="cv-1se"),
    "C4.5": by_confidence,
    "reduced error": by_validation,
}
FURTHER: dict[str, Way] = {
    "cv, 5 folds": partial(by_folds, cv=5),
    "cv-1se, 5 folds": partial(by_folds, selection_rule="cv-1se", cv=5),
    "cv, a third held out": partial(by_folds, cv=1 / 3),
    "cv of max_depth": partial(by_folds, parameter="max_depth"),
    "cv of max_leaf_nodes": partial(by_folds, parameter="max_leaf_nodes"),
}
OF_CLASSES: dict[str, Way] = {
    "cv by accuracy": partial(by_folds, scoring="accuracy"),
    "cv-1se by accuracy": partial(by_folds, scoring="accuracy", selection_rule="cv-1se"),
    "cv by log loss": partial(by_folds, scoring="log_loss"),
    "cv-1se by log loss": partial(by_folds, scoring="log_loss", selection_rule="cv-1se"),
    "cv by Brier score": partial(by_folds, scoring="brier"),
    "cv-1se by Brier score": partial(by_folds, scoring="brier", selection_rule="cv-1se"),
    "cv by accuracy, 5 folds": partial(by_folds, scoring="accuracy", cv=5),
    "cv by log loss, 5 folds": partial(by_folds, scoring="log_loss", cv=5),
    "cv by Brier score, 5 folds": partial(by_folds, scoring="brier", cv=5),
}
OF_NUMBERS: dict[str, Way] = {
    "cv by squared error": partial(by_folds, scoring="squared_error"),
    "cv-1se by squared error": partial(by_folds, scoring="squared_error", selection_rule="cv-1se"),
}
WAYS = MAIN | FURTHER | OF_CLASSES | OF_NUMBERS


def ways_for(table: Table) -> list[str]:
    unfit = OF_NUMBERS if table.schema.target.is_classes else {"C4.5": by_confidence, **OF_CLASSES}
    return [name for name in WAYS if name not in unfit]


# -- replications -----------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """What one way gave in one replication."""

    tree: Tree
    scores: tuple[float, ...]  # on the rows held out, as people expect their sign
    seconds: float


@dataclass(frozen=True, eq=False)
class Figures:
    """What one way gave in all replications on one data set."""

    table: Table
    outcomes: Sequence[Outcome]

    @cached_property
    def scores(self) -> np.ndarray:
        """(replications, scores)."""
        return np.array([outcome.scores for outcome in self.outcomes])

    @cached_property
    def n_leaves(self) -> np.ndarray:
        return np.array([outcome.tree.n_leaves for outcome in self.outcomes])

    @property
    def seconds(self) -> float:
        return float(np.median([outcome.seconds for outcome in self.outcomes]))

    @cached_property
    def distances(self) -> np.ndarray:
        """Between the trees of every two replications; not a number where they are too large."""
        pairs = np.triu_indices(len(self.outcomes), 1)
        if self.n_leaves.max() > MOST_LEAVES:
            return np.full(len(pairs[0]), np.nan)
        trees = [outcome.tree for outcome in self.outcomes]
        return np.asarray(distance_matrix(trees, label_weight=LABEL_WEIGHT, n_jobs=2)[pairs])

    @property
    def distances_per_leaf(self) -> np.ndarray:
        """The same, divided by the leaves of the larger tree."""
        first, second = np.triu_indices(len(self.outcomes), 1)
        return self.distances / np.maximum(self.n_leaves[first], self.n_leaves[second])

    @cached_property
    def churn(self) -> float:
        """Fraction of all rows for which the trees of two replications predict different classes."""
        predicted = [outcome.tree.outcome[outcome.tree.apply(self.table)] for outcome in self.outcomes]
        return float(np.mean([(a != b).mean() for a, b in itertools.combinations(predicted, 2)]))


class Study(NamedTuple):
    case: Case
    ways: Mapping[str, Figures]


def study(case: Case, n_replications: int, n_jobs: int) -> Study:
    names = ways_for(case.table)
    found = Parallel(n_jobs=n_jobs)(
        delayed(replication)(case.table, names, seed) for seed in range(n_replications)
    )
    return Study(case, {name: Figures(case.table, [each[name] for each in found]) for name in names})


def replication(table: Table, names: Sequence[str], seed: int) -> dict[str, Outcome]:
    warnings.simplefilter("ignore", DataWarning)
    test = draw_test_rows(table, 1 / 3, stage=None, groups=None, seed=seed)
    training, held_out = table.subset(~test), table.subset(test)
    return {name: outcome_of(WAYS[name], training, held_out) for name in names}


def outcome_of(way: Way, training: Table, held_out: Table) -> Outcome:
    started = time.perf_counter()
    tree = way(training)
    seconds = time.perf_counter() - started
    target, predicted = training.schema.target, tree.value[tree.apply(held_out)]
    metrics = [make_metric(name, target) for name in (CLASS_SCORES if target.is_classes else ("r2",))]
    true_values = TrueValues.of(held_out)
    scores = tuple(metric.shown(metric.value(predicted, true_values)) for metric in metrics)
    return Outcome(tree, scores, seconds)


# -- tables -----------------------------------------------------------------------------------------------

Figure = Callable[[Figures], np.ndarray | float]

# What is shown, and with how many digits.
SHOWN: dict[str, tuple[Figure, int]] = {
    "leaves": (lambda figures: figures.n_leaves, 1),
    "score": (lambda figures: figures.scores[:, 0], 3),
    "accuracy": (lambda figures: figures.scores[:, 1], 3),
    "log loss": (lambda figures: figures.scores[:, 2], 3),
    "distance": (lambda figures: figures.distances, 1),
    "per leaf": (lambda figures: figures.distances_per_leaf, 2),
    "churn": (lambda figures: figures.churn, 3),
    "seconds": (lambda figures: figures.seconds, 3),
}


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def classes(studies: Sequence[Study]) -> list[Study]:
    return [each for each in studies if each.case.is_classes]


def data_table(studies: Sequence[Study], name: str) -> str:
    """One row for each data set: mean and standard deviation of the figure for each of the main ways."""
    figure, digits = SHOWN[name]
    rows = [
        [
            f"{case.name}, {case.table.n_rows:,} rows{'' if case.is_classes else ', numbers'}",
            *(spread_text(figure(ways[way]), digits) if way in ways else "-" for way in MAIN),
        ]
        for case, ways in studies
    ]
    means = [f"{means_of(studies, way, name).mean():.{digits}f}" for way in MAIN]
    return markdown(["data", *MAIN], [*rows, ["**mean of classes**", *means]])


def spread_text(values: np.ndarray | float, digits: int) -> str:
    if np.isnan(values).all():
        return "-"
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def means_of(studies: Sequence[Study], way: str, name: str) -> np.ndarray:
    """The mean over the replications for each data set with classes."""
    return np.array([np.mean(SHOWN[name][0](each.ways[way])) for each in classes(studies)])


def way_table(studies: Sequence[Study]) -> str:
    """One row for each way: means over the data sets with classes, and the gain over "cv" of two scores."""
    rows = []
    for way in (way for way in WAYS if way not in OF_NUMBERS):
        means = [f"{means_of(studies, way, name).mean():.{digits}f}" for name, (_, digits) in SHOWN.items()]
        gains = [
            means_of(studies, way, name) - means_of(studies, "cv", name) for name in ("score", "accuracy")
        ]
        errors = [np.std(gain, ddof=1) / np.sqrt(len(gain)) for gain in gains]
        pairs = zip(gains, errors, strict=True)
        rows.append([way, *means, *(f"{gain.mean():+.4f} ± {error:.4f}" for gain, error in pairs)])
    return markdown(["way", *SHOWN, "score against cv", "accuracy against cv"], rows)


def number_table(studies: Sequence[Study]) -> str:
    """R², leaves and distances of all ways, for data sets of numbers."""
    names = ("score", "leaves", "distance")
    rows = [
        [case.name, way, *(spread_text(SHOWN[name][0](figures), SHOWN[name][1]) for name in names)]
        for case, ways in studies
        if not case.is_classes
        for way, figures in ways.items()
    ]
    return markdown(["data", "way", *names], rows)


def tables(studies: Sequence[Study]) -> Iterator[tuple[str, str]]:
    """Titles and tables."""
    yield "Score on the rows held out: AUC, or R² of numbers", data_table(studies, "score")
    yield "Leaves", data_table(studies, "leaves")
    yield (
        f"Distance between the trees of two replications, not normalised, lambda {LABEL_WEIGHT:g}",
        data_table(studies, "distance"),
    )
    yield "Accuracy", data_table(classes(studies), "accuracy")
    yield "Log loss", data_table(classes(studies), "log loss")
    yield "All ways, means over the data sets with classes", way_table(studies)
    yield "All ways, numbers", number_table(studies)


# -- running ----------------------------------------------------------------------------------------------


def progress_line(found: Study, seconds: float) -> str:
    case, ways = found
    note = f" ({case.note})" if case.note else ""
    scores = ", ".join(
        f"{way} {ways[way].scores[:, 0].mean():.3f} with {ways[way].n_leaves.mean():.0f}"
        for way in MAIN
        if way in ways
    )
    return f"{case.name}: {case.table.n_rows:,} rows{note}, {seconds:.0f} s: {scores}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three small sets, 3 replications")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with datasets.json")
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--n-jobs", type=int, default=2)
    options = parser.parse_args()
    if not (options.data / "datasets.json").exists():
        raise SystemExit(
            f"There is no datasets.json in {options.data}: give the folder of the data with --data."
        )
    n_replications = 3 if options.quick else options.replications
    print(f"{n_replications} replications, a third of the rows held out in each; mean ± standard deviation.")
    warnings.simplefilter("ignore", DataWarning)
    studies = []
    for name in QUICK if options.quick else NAMES:
        started = time.perf_counter()
        studies.append(study(load_case(name, options.data), n_replications, options.n_jobs))
        print(progress_line(studies[-1], time.perf_counter() - started), flush=True)
    for title, table in tables(studies):
        print(f"\n### {title}\n\n{table}", flush=True)


if __name__ == "__main__":
    main()
