"""Pruning and choosing a size against scikit-learn, side by side: python -m benchmarks.pruning [--full].

Three parts: the pruning path of one large tree; the alpha of adult_income by cross-validation against
GridSearchCV with the same alphas, folds and scores; and C4.5 and stable trees from a pruning path, which
scikit-learn does not have.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table as Grid
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import ccp_pruning_path

from holdfast import (
    C45,
    GrowthRules,
    PruningPath,
    StableTreeClassifier,
    Table,
    TreeClassifier,
    as_tree,
    grow,
    pruning_path,
    save,
)
from holdfast.errors import DataWarning
from holdfast.growth import prune_pessimistic
from holdfast.growth.size_search import MOST_SIZES, sizes_to_score, values_between

DATA = Path(__file__).parents[2] / "shared" / "data"
JOBS = 2
N_FOLDS = 5
SCORES = {"accuracy": "accuracy", "auc": "roc_auc"}  # our names and theirs
console = Console(width=150)


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """The shortest of several runs, in seconds, and what came out."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def new_grid(title: str, *heads: str) -> Grid:
    grid = Grid(title=title)
    for head in heads:
        grid.add_column(head, justify="right")
    return grid


# -- the path of one tree ---------------------------------------------------------------------------------


def made_model(n_rows: int, numbers: bool) -> DecisionTreeClassifier | DecisionTreeRegressor:
    """A large tree of scikit-learn's: labels by chance give about 27 leaves for 100 rows, numbers 100."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, 5)).astype(np.float32)
    if numbers:
        return DecisionTreeRegressor(random_state=0).fit(X, X[:, 0] + generator.normal(size=n_rows))
    return DecisionTreeClassifier(random_state=0).fit(X, generator.integers(0, 2, n_rows))


def risk_gap(path: PruningPath, theirs: dict[str, np.ndarray]) -> float:
    """The greatest difference of risk between two subtrees of one alpha; rounding parts some of theirs."""
    places = np.searchsorted(theirs["ccp_alphas"], values_between(path), side="right") - 1
    return float(np.abs(theirs["impurities"][places] - path.risks).max())


def path_row(n_rows: int, numbers: bool, by_both: bool) -> list[str]:
    model = made_model(n_rows, numbers)
    tree = as_tree(model)
    ours, path = timed(lambda: pruning_path(tree), 5)
    row = ["numbers" if numbers else "classes", f"{tree.n_leaves:,}", f"{len(path):,}", f"{1e3 * ours:.1f}"]
    if not by_both:
        return row
    theirs, found = timed(lambda: ccp_pruning_path(model.tree_))
    cells = [f"{1e3 * theirs:,.0f}", f"[bold]{theirs / ours:,.0f}x", f"{len(found['ccp_alphas']):,}"]
    return [*row, *cells, f"{risk_gap(path, found):.1g}"]


def path_grid(sizes: list[tuple[int, bool, bool]]) -> Grid:
    """One row for each number of rows, kind of target, and whether scikit-learn prunes the tree too."""
    title = "The pruning path of one tree of scikit-learn's, as as_tree reads it: milliseconds, one thread"
    heads = (
        "target",
        "leaves",
        "subtrees",
        "holdfast",
        "sklearn",
        "ratio",
        "its subtrees",
        "risks differ by",
    )
    grid = new_grid(title, *heads)
    for size in sizes:
        grid.add_row(*path_row(*size))
    return grid


CHILD = """
import sys, time
from holdfast import load, pruning_path
tree = load(sys.argv[1])
import holdfast.kernels.growth.leaf_values, scipy.special
start = time.perf_counter()
pruning_path(tree)
print(time.perf_counter() - start)
"""


def compiling_seconds() -> tuple[float, float]:
    """The first path of a new process: with an empty folder for the kernels, and with them in it."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "tree.json")
        save(grow(Table.from_arrays([[0.0], [1.0]], ["a", "b"])), file)
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", CHILD, file]
        runs = [subprocess.run(command, env=environment, capture_output=True, check=True) for _ in range(2)]
    return float(runs[0].stdout), float(runs[1].stdout)


# -- cross-validation over the path -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Adult:
    """The rows of adult_income as they are, and as the matrix that scikit-learn needs."""

    frame: pd.DataFrame
    matrix: np.ndarray  # one column for each category
    y: np.ndarray
    folds: list[tuple[np.ndarray, np.ndarray]]


def read_adult(folder: Path, n_rows: int | None) -> Adult:
    frame = pd.read_csv(folder / "adult_income.csv.gz")
    if n_rows is not None:
        frame = frame.sample(n_rows, random_state=0)
    y = frame.pop("income").to_numpy().astype(str)
    frame = frame.drop(columns="fnlwgt")
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    matrix = pd.get_dummies(frame, dtype=np.float32).to_numpy(np.float32)
    return Adult(frame, matrix, y, list(splitter.split(matrix, y)))


class Sizing(NamedTuple):
    """An alpha chosen by cross-validation."""

    seconds: float
    alphas: np.ndarray  # that were scored
    scores: np.ndarray  # mean over the folds
    n_leaves: int

    @property
    def best(self) -> int:
        """The greatest of the alphas with the best score."""
        return int(np.flatnonzero(self.scores == self.scores.max())[-1])


def our_sizing(X: Any, adult: Adult, scoring: str) -> Sizing:
    model = TreeClassifier(ccp_alpha="cv", cv=adult.folds, scoring=scoring, n_jobs=JOBS)
    seconds, _ = timed(lambda: model.fit(X, adult.y))
    path = pruning_path(TreeClassifier().fit(X, adult.y).tree_)
    alphas = values_between(path)[sizes_to_score(path, MOST_SIZES)]
    return Sizing(seconds, alphas, model.size_table_.score, model.get_n_leaves())


class Search(NamedTuple):
    """What GridSearchCV found with some of the alphas."""

    alphas: np.ndarray
    seconds: float
    scores: dict[str, np.ndarray]  # by our names, means over the folds


def their_search(adult: Adult, alphas: np.ndarray) -> Search:
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"ccp_alpha": alphas},
        cv=adult.folds,
        scoring=list(SCORES.values()),
        refit=False,
        n_jobs=JOBS,
    )
    seconds, _ = timed(lambda: search.fit(adult.matrix, adult.y))
    scores = {ours: search.cv_results_[f"mean_test_{theirs}"] for ours, theirs in SCORES.items()}
    return Search(alphas, seconds, scores)


def their_sizing(adult: Adult, search: Search, scoring: str, n_alphas: int) -> Sizing:
    """What it would have taken with so many alphas, and the tree of the best alpha."""
    found = Sizing(0.0, search.alphas, search.scores[scoring], 0)
    model = DecisionTreeClassifier(random_state=0, ccp_alpha=found.alphas[found.best])
    fitting, _ = timed(lambda: model.fit(adult.matrix, adult.y))
    seconds = search.seconds * n_alphas / len(search.alphas) + fitting
    return found._replace(seconds=seconds, n_leaves=model.get_n_leaves())


def sizing_grid(adult: Adult, n_alphas: int | None) -> Grid:
    """Both side by side; GridSearchCV with so many of the alphas, or all of them."""
    both = {scoring: our_sizing(adult.matrix, adult, scoring) for scoring in SCORES}
    alphas = both["auc"].alphas[:-1]  # the last one is infinite, for the root alone
    places = np.unique(np.linspace(0, len(alphas) - 1, n_alphas or len(alphas)).round().astype(int))
    their_search(adult, alphas[-2:])  # starts the processes
    search = their_search(adult, alphas[places])
    how = "all of them" if len(places) == len(alphas) else f"{len(places)} of them, and multiplied"
    title = f"adult_income, {len(adult.y):,} rows: best of {len(alphas)} alphas, {N_FOLDS} folds, {JOBS} jobs"
    note = f"GridSearchCV with {how}: {search.seconds:.1f} s for both scores"
    heads = ("score", "by", "columns", "seconds", "ratio", "alpha", "leaves", "mean score", "gap at most")
    grid = new_grid(f"{title}\n{note}", *heads)
    width = f"{adult.matrix.shape[1]}"
    for scoring, ours in both.items():
        theirs = their_sizing(adult, search, scoring, len(alphas))
        native = our_sizing(adult.frame, adult, scoring)
        gap = np.abs(theirs.scores - ours.scores[places]).max()
        grid.add_row(scoring, "sklearn", width, *sizing_cells(theirs, theirs))
        grid.add_row("", "holdfast", width, *sizing_cells(ours, theirs), f"{gap:.4f}")
        grid.add_row("", "holdfast", f"{adult.frame.shape[1]}, as they are", *sizing_cells(native, theirs))
        grid.add_section()
    return grid


def sizing_cells(found: Sizing, theirs: Sizing) -> list[str]:
    ratio = "" if found is theirs else f"[bold]{theirs.seconds / found.seconds:.0f}x"
    alpha, score = found.alphas[found.best], found.scores[found.best]
    return [f"{found.seconds:.2f}", ratio, f"{alpha:.3g}", f"{found.n_leaves}", f"{score:.4f}"]


# -- what scikit-learn does not have ----------------------------------------------------------------------


def pessimistic_grid(adult: Adult) -> Grid:
    title = f"C4.5 on adult_income, {len(adult.y):,} rows, columns as they are, one thread"
    grid = new_grid(title, "what", "seconds", "leaves")
    table = Table.from_arrays(adult.frame, adult.y)
    grow(table, C45)  # codes the columns, and compiles or loads the kernels
    whole = replace(C45, pruning_confidence=None)
    seconds, tree = timed(lambda: grow(table, whole), 3)
    grid.add_row("grown by gain ratio", f"{seconds:.3f}", f"{tree.n_leaves:,}")
    seconds, smaller = timed(lambda: prune_pessimistic(tree), 3)
    grid.add_row("  pruned: leaves only", f"{seconds:.3f}", f"{smaller.n_leaves:,}")
    seconds, smaller = timed(lambda: prune_pessimistic(tree, table=table), 3)
    grid.add_row("  pruned: leaves and raised branches", f"{seconds:.3f}", f"{smaller.n_leaves:,}")
    for name, rules in (("C45, all together", C45), ("CART, for comparison", GrowthRules())):
        seconds, tree = timed(lambda rules=rules: grow(table, rules), 3)
        grid.add_row(name, f"{seconds:.3f}", f"{tree.n_leaves:,}")
    return grid


def stable_grid(adult: Adult, n_estimators: int) -> Grid:
    title = (
        f"Stable trees of adult_income, {len(adult.y):,} rows, {n_estimators} candidates at most, {JOBS} jobs"
    )
    heads = ("method", "seconds", "trees", "on the frontier", "leaves", "AUC", "instability")
    grid = new_grid(title, *heads)
    for method in ("bootstrap", "pruned"):
        model = StableTreeClassifier(method=method, n_estimators=n_estimators, n_jobs=JOBS)
        seconds, _ = timed(lambda model=model: model.fit(adult.frame, adult.y))
        score = model.frontier_.score[model.choice_.candidate]
        cells = [len(model.candidate_trees_), int(model.frontier_.efficient.sum()), model.get_n_leaves()]
        figures = [f"{score:.4f}", f"{model.instability_:.2f}"]
        grid.add_row(method, f"{seconds:.2f}", *map(str, cells), *figures)
    return grid


# -- running ----------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller trees, and 5,000 rows of adult_income")
    parser.add_argument("--full", action="store_true", help="GridSearchCV with all alphas: some five minutes")
    parser.add_argument("--alphas", type=int, default=12, help="alphas that GridSearchCV is timed with")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with adult_income.csv.gz")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    cold, warm = compiling_seconds()
    console.print(
        f"first path of a new process: {cold:.2f} s with compiling, {warm:.2f} s with the kernel on disk, in "
        "which numba makes itself ready"
    )
    if options.quick:
        sizes = [(20_000, False, True), (5_000, True, True)]
    else:
        sizes = [(20_000, False, True), (200_000, False, True), (5_000, True, True), (20_000, True, True)]
        sizes.append((100_000, True, False))
    console.print(path_grid(sizes))
    if not (options.data / "adult_income.csv.gz").exists():
        raise SystemExit(f"There is no adult_income.csv.gz in {options.data}: give its folder with --data.")
    adult = read_adult(options.data, 5_000 if options.quick else None)
    small = read_adult(options.data, 500)
    our_sizing(small.frame, small, "auc")  # compiles, or loads from disk
    console.print(sizing_grid(adult, None if options.full else options.alphas))
    console.print(pessimistic_grid(adult))
    console.print(stable_grid(adult, 50 if options.quick else 300))


if __name__ == "__main__":
    main()
