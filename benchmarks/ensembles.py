"""Forests and boosting against others, side by side in one run: python -m benchmarks.ensembles [--quick].

Each model is fitted from the data as a user has it: our times hold the reading and coding of the table. The
runs of the libraries take turns. Of forests and predictions the shortest counts; of boosting the median, once
on one thread and once on as many as `--threads` says, two by default: the table in docs/studies.md.
GradientBoosting, exact and on one thread, is timed with `--exact`. `--only boosting` leaves the forests out.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier, LGBMRegressor
from rich.console import Console
from rich.table import Table as Grid
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import log_loss, mean_poisson_deviance, r2_score
from threadpoolctl import threadpool_limits

from holdfast import (
    BoostingClassifier,
    BoostingRegressor,
    ForestClassifier,
    ForestRegressor,
    Table,
)
from holdfast.errors import DataWarning
from holdfast.growth.rules import GrowthRules

DATA = Path(__file__).parents[2] / "shared" / "data"
N_TREES = 100
OURS = "holdfast"
FOREST = {"n_estimators": N_TREES, "random_state": 0}
TREE = {"max_leaf_nodes": 31, "min_samples_leaf": 20, "learning_rate": 0.1}
OUR_BOOSTING = {"n_estimators": N_TREES, "max_depth": None, **TREE}
HIST = {"max_iter": N_TREES, "max_depth": None, "early_stopping": False, **TREE}
LIGHT = {"n_estimators": N_TREES, "num_leaves": 31, "min_child_samples": 20, "learning_rate": 0.1}
LIGHT |= {"verbose": -1}
SETTINGS = (
    "Forests: whole trees, the square root of the features at a split; of numbers a third of them, and "
    "leaves of 5 rows or more (a row drawn twice counts twice for ours, once for theirs). Boosting: 31 "
    "leaves of 20 rows or more, learning rate 0.1, all rows and features, no early stopping; "
    "GradientBoosting sorts, all others bin. For counts LightGBM takes shorter steps (its "
    "poisson_max_delta_step), and we shorten those that would overshoot."
)
console = Console(width=150)


@dataclass(frozen=True, eq=False)
class Data:
    """Rows to learn from and rows to predict, for us as they are where others need them as numbers."""

    name: str
    rows: Any
    target: np.ndarray
    new_rows: Any
    new_target: np.ndarray
    own_rows: Any = None  # text and gaps as they are, for holdfast alone
    own_new_rows: Any = None
    is_new: bool = True  # False: the rows to predict are those that were learnt from

    def rows_for(self, library: str) -> Any:
        return self.rows if library != OURS or self.own_rows is None else self.own_rows

    def new_rows_for(self, library: str) -> Any:
        return self.new_rows if library != OURS or self.own_new_rows is None else self.own_new_rows


@dataclass(frozen=True, eq=False)
class Contest:
    """The same task for several libraries; holdfast comes first."""

    name: str
    data: Data
    models: Mapping[str, Any]
    loss_name: str
    loss: Callable[[np.ndarray, np.ndarray], float]  # of the target and what is predicted

    @property
    def predicts(self) -> str:
        return "predict_proba" if hasattr(self.models[OURS], "predict_proba") else "predict"


# -- data -------------------------------------------------------------------------------------------------


def made_classes(n_rows: int, n_new: int) -> Data:
    X, y = make_classification(n_rows + n_new, 30, n_informative=15, random_state=0)
    return Data(f"{n_rows:,} x 30, two classes", X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def made_numbers(n_rows: int, n_new: int) -> Data:
    X, y = make_regression(n_rows + n_new, 30, n_informative=15, noise=50.0, random_state=0)
    return Data(f"{n_rows:,} x 30, numbers", X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def adult(folder: Path, n_rows: int | None) -> Data:
    """A tenth of the rows is new."""
    frame = pd.read_csv(folder / "adult_income.csv.gz").drop(columns="fnlwgt")
    frame = frame.sample(n_rows or len(frame), random_state=0)
    y = frame.pop("income").to_numpy().astype(str)
    matrix = pd.get_dummies(frame, dtype=np.float32).fillna(-1).to_numpy(np.float32)
    n = len(y) - len(y) // 10
    name = f"adult_income, {n:,} x {frame.shape[1]} (for sklearn {matrix.shape[1]})"
    return Data(name, matrix[:n], y[:n], matrix[n:], y[n:], frame.iloc[:n], frame.iloc[n:])


def claims(folder: Path, n_rows: int | None) -> Data:
    """All libraries read the categories as pandas has them."""
    frame = pd.read_csv(folder / "fremtpl_claims.csv.gz")
    if n_rows is not None:
        frame = frame.sample(n_rows, random_state=0)
    y = frame.pop("ClaimNb").to_numpy(np.float64)
    texts = frame.select_dtypes(exclude="number").columns
    frame = frame.astype(dict.fromkeys(texts, "category"))
    name = f"fremtpl_claims, {len(y):,} x {frame.shape[1]}, {len(texts)} of categories"
    return Data(name, frame, y, frame, y, is_new=False)


# -- tasks ------------------------------------------------------------------------------------------------


def one_minus_r2(y: np.ndarray, predicted: np.ndarray) -> float:
    return 1.0 - float(r2_score(y, predicted))


def class_forests(data: Data) -> Contest:
    models = {OURS: ForestClassifier(**FOREST), "sklearn": RandomForestClassifier(**FOREST)}
    return Contest("forest", data, models, "log loss", log_loss)


def extra_forests(data: Data) -> Contest:
    """Extra-random trees."""
    ours = ForestClassifier(growth_rules=GrowthRules(splitter="random"), bootstrap=False, **FOREST)
    models = {OURS: ours, "sklearn": ExtraTreesClassifier(**FOREST)}
    return Contest("extra-random trees", data, models, "log loss", log_loss)


def number_forests(data: Data) -> Contest:
    """Our defaults, and theirs set to them."""
    theirs = RandomForestRegressor(max_features=1 / 3, min_samples_leaf=5, **FOREST)
    models = {OURS: ForestRegressor(**FOREST), "sklearn": theirs}
    return Contest("forest, leaves of 5 rows", data, models, "1 - R²", one_minus_r2)


def class_boosting(data: Data) -> Contest:
    models = {
        OURS: BoostingClassifier(**OUR_BOOSTING),
        "LightGBM": LGBMClassifier(**LIGHT),
        "HistGradientBoosting": HistGradientBoostingClassifier(**HIST),
    }
    return Contest("log loss", data, models, "log loss", log_loss)


def exact_boosting(data: Data) -> Contest:
    """Our binned splits against sorted values."""
    theirs = GradientBoostingClassifier(n_estimators=N_TREES, max_depth=None, random_state=0, **TREE)
    models = {OURS: BoostingClassifier(**OUR_BOOSTING), "GradientBoosting, 1 thread": theirs}
    return Contest("boosting by log loss", data, models, "log loss", log_loss)


def number_boosting(data: Data) -> Contest:
    models = {
        OURS: BoostingRegressor(**OUR_BOOSTING),
        "LightGBM": LGBMRegressor(**LIGHT),
        "HistGradientBoosting": HistGradientBoostingRegressor(**HIST),
    }
    return Contest("squared error", data, models, "1 - R²", one_minus_r2)


def count_boosting(data: Data) -> Contest:
    models = {
        OURS: BoostingRegressor(loss="poisson", **OUR_BOOSTING),
        "LightGBM": LGBMRegressor(objective="poisson", **LIGHT),
        "HistGradientBoosting": HistGradientBoostingRegressor(loss="poisson", **HIST),
    }
    return Contest("Poisson loss", data, models, "Poisson deviance", mean_poisson_deviance)


# -- runs -------------------------------------------------------------------------------------------------


def runs_of(works: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """The seconds of several runs of each, in turns."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for number in range(repeats):
        for name, work in works.items():
            if number > 0 and min(taken[name]) > 30.0:
                continue  # so slow that noise matters little
            start = time.perf_counter()
            work()
            taken[name].append(time.perf_counter() - start)
    return taken


def seconds_of(works: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The shortest of several runs of each: noise only ever adds."""
    return {name: min(taken) for name, taken in runs_of(works, repeats).items()}


def fit_works(contest: Contest) -> dict[str, Callable[[], Any]]:
    data = contest.data
    return {
        name: lambda name=name, model=model: model.fit(data.rows_for(name), data.target)
        for name, model in contest.models.items()
    }


def predict_all(contest: Contest, repeats: int) -> dict[str, float]:
    works = {name: lambda name=name: predicted_by(contest, name) for name in contest.models}
    return seconds_of(works, repeats)


def predicted_by(contest: Contest, name: str) -> np.ndarray:
    model = contest.models[name]
    return getattr(model, contest.predicts)(contest.data.new_rows_for(name))


# -- tables -----------------------------------------------------------------------------------------------


def new_grid(title: str, *heads: str) -> Grid:
    grid = Grid(title=title)
    for place, head in enumerate(heads):
        grid.add_column(head, justify="left" if place < 2 else "right")
    return grid


def add_rows(grid: Grid, seconds: Mapping[str, float], figures: Mapping[str, list[str]], task: str) -> None:
    """A row for each library; the ratio of holdfast is that of the fastest other, in bold."""
    ours = seconds[OURS]
    fastest = min(taken for name, taken in seconds.items() if name != OURS)
    for name, taken in seconds.items():
        ratio = f"[bold]{fastest / ours:.2f}x" if name == OURS else f"{taken / ours:.2f}"
        grid.add_row(task if name == OURS else "", name, f"{taken:.3f}", ratio, *figures[name])
    grid.add_section()


def fit_grid(contests: list[Contest], threads: int, repeats: int) -> Grid:
    title = f"Fitting {N_TREES} trees, {threads} threads, best of {repeats}; bold = fastest other / holdfast"
    grid = new_grid(title, "task", "by", "seconds", "ratio", "loss", "", "on")
    grid.caption = SETTINGS
    for contest in contests:
        seconds = seconds_of(fit_works(contest), repeats)
        rows = "new rows" if contest.data.is_new else "rows learnt from"
        figures = {
            name: [f"{contest.loss(contest.data.new_target, predicted_by(contest, name)):.4f}"]
            for name in seconds
        }
        figures = {name: [*cells, contest.loss_name, rows] for name, cells in figures.items()}
        add_rows(grid, seconds, figures, f"{contest.name}: {contest.data.name}")
        console.print(f"  {contest.name}: {contest.data.name}: done", style="dim")
    return grid


def boosting_grid(contests: list[Contest], threads: int, repeats: int) -> Grid:
    """A row for each task and number of threads: medians, with the shortest and the longest run."""
    others = ["LightGBM", "HistGradientBoosting"]
    grid = new_grid(
        f"Boosting {N_TREES} trees, seconds: median of {repeats} runs in turns (shortest, longest)",
        *("task", "threads", *others, OURS, f"LightGBM / {OURS}", "loss: LightGBM", OURS),
    )
    grid.caption = SETTINGS
    for contest in contests:
        for n_threads in sorted({1, threads}):
            for name in (OURS, "LightGBM"):
                contest.models[name].set_params(n_jobs=n_threads)
            with threads_of_openmp(n_threads):
                taken = runs_of(fit_works(contest), repeats)
            middle = {name: float(np.median(runs)) for name, runs in taken.items()}
            cells = [
                f"{middle[name]:.2f} ({min(taken[name]):.2f}, {max(taken[name]):.2f})"
                for name in (*others, OURS)
            ]
            losses = [
                f"{contest.loss(contest.data.new_target, predicted_by(contest, name)):.4f}"
                for name in ("LightGBM", OURS)
            ]
            task = f"{contest.name}: {contest.data.name}" if n_threads == 1 else ""
            ratio = f"[bold]{middle['LightGBM'] / middle[OURS]:.2f}"
            grid.add_row(task, str(n_threads), *cells, ratio, *losses)
        grid.add_section()
        console.print(f"  {contest.name}: {contest.data.name}: done", style="dim")
    return grid


@contextmanager
def threads_of_openmp(n_threads: int) -> Iterator[None]:
    """So many threads for scikit-learn: as many as cores at most, and half where each has two, unless set."""
    os.environ["OMP_NUM_THREADS"] = str(n_threads)
    with threadpool_limits(n_threads):
        yield


def prediction_grid(contests: list[Contest], threads: int, repeats: int) -> Grid:
    title = f"Predicting by {N_TREES} trees, {threads} threads, best of {repeats}"
    grid = new_grid(title, "task", "by", "seconds", "ratio", "microseconds a row")
    for contest in contests:
        seconds = predict_all(contest, repeats)
        n_rows = len(contest.data.new_target)
        figures = {name: [f"{1e6 * taken / n_rows:.2f}"] for name, taken in seconds.items()}
        add_rows(grid, seconds, figures, f"{contest.name}, {contest.predicts} of {n_rows:,} rows")
    return grid


def print_coding(data: Data, repeats: int) -> None:
    X = data.rows_for(OURS)
    seconds = seconds_of({OURS: lambda: Table.from_arrays(X, data.target).coded}, repeats)[OURS]
    console.print(f"reading and coding the table once, part of our times: {data.name}: {seconds:.3f} s")


# -- the first call ---------------------------------------------------------------------------------------

CHILD = """
import sys, time
import numpy as np
from holdfast import BoostingClassifier, ForestClassifier
X = np.random.default_rng(0).normal(size=(500, 5))
model = {"forest": ForestClassifier(10), "boosting": BoostingClassifier(n_estimators=10, splits="binned")}
start = time.perf_counter()
model[sys.argv[1]].fit(X, X[:, 0] > 0).predict_proba(X)
print(time.perf_counter() - start)
"""


def print_first_calls() -> None:
    """The first model of a new process: with an empty folder for the kernels, and with them in it."""
    for kind in ("forest", "boosting"):
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"NUMBA_CACHE_DIR": folder}
            command = [sys.executable, "-c", CHILD, kind]
            runs = [
                subprocess.run(command, env=environment, capture_output=True, check=True) for _ in range(2)
            ]
        cold, warm = (float(run.stdout) for run in runs)
        console.print(
            f"first fit and prediction of a new process, {kind}: {cold:.1f} s with compiling, {warm:.2f} s "
            "with the kernels on disk"
        )


# -- running ----------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows, and nothing is compiled anew")
    parser.add_argument("--exact", action="store_true", help="also scikit-learn's exact boosting: a minute")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=["forests", "boosting"], help="one of the two")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of adult_income and fremtpl")
    options = parser.parse_args()
    for file in ("adult_income.csv.gz", "fremtpl_claims.csv.gz"):
        if not (options.data / file).exists():
            raise SystemExit(f"There is no {file} in {options.data}: give its folder with --data.")
    warnings.simplefilter("ignore", DataWarning)
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    if not options.quick:
        print_first_calls()
    FOREST["n_jobs"] = OUR_BOOSTING["n_jobs"] = options.threads
    n_rows, n_new = (11_000, 20_000) if options.quick else (20_000, 200_000)
    classes, numbers = made_classes(n_rows, n_new), made_numbers(n_rows, n_new)
    people = adult(options.data, 12_000 if options.quick else None)
    drivers = claims(options.data, 50_000 if options.quick else None)
    boosting, counts = class_boosting(classes), count_boosting(drivers)
    forest, number_forest = class_forests(classes), number_forests(numbers)
    forests, boosted, predicting = [], [], []
    if options.only != "boosting":
        forests += [forest, class_forests(people), extra_forests(classes), number_forest]
        predicting += [forest, number_forest]
    if options.only != "forests":
        boosted += [boosting, number_boosting(numbers), class_boosting(people), counts]
        predicting += [boosting, counts]
    if options.exact:
        forests.append(exact_boosting(classes))
    for contest in forests + boosted:  # compiles, or loads from disk
        few = contest.data.rows_for(OURS)[:11_000]
        contest.models[OURS].fit(few, contest.data.target[:11_000])
    for data in (classes, people, drivers):
        print_coding(data, options.repeats)
    with threads_of_openmp(options.threads):
        if forests:
            console.print(fit_grid(forests, options.threads, options.repeats))
    if boosted:
        console.print(boosting_grid(boosted, options.threads, options.repeats))
    with threads_of_openmp(options.threads):
        console.print(prediction_grid(predicting, options.threads, options.repeats))


if __name__ == "__main__":
    main()
