"""Ensembles and their counterparts elsewhere on the same folds: python -m benchmarks.studies.ensembles.

Every pair has matched settings, and all learn from one matrix of numbers: categories as columns of their own,
gaps below all values. What is left is the algorithm, and chance. The tables are markdown.
"""

import argparse
import time
import warnings
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn import ensemble as peers
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import holdfast
from benchmarks.studies.cases import load_case
from holdfast import Table, compare_models
from holdfast.errors import DataWarning

DATA = Path(__file__).parents[3] / "shared" / "data"
NAMES = (
    "pima_diabetes",
    "heart_cleveland",
    "german_credit",
    "breast_cancer_wdbc",
    "hepatitis",
    "titanic",
    "stroke",
    "dermatology",
    "wine",
    "digits",
    "hitters_salary",
    "california_housing",
    "bike_sharing_hourly",
)
QUICK = ("heart_cleveland", "wine", "hitters_salary")
MADE = {"wine": load_wine, "digits": load_digits}  # come with scikit-learn
N_TREES = 100
N_FOLDS = 5
SMALL = {"min_samples_leaf": 20, "learning_rate": 0.1}  # trees of eight leaves at most, the best split first
DEPTH_3 = {"max_depth": 3, "min_samples_leaf": 10, "learning_rate": 0.1}
CLASS_SCORES = ("accuracy", "log_loss")
NUMBER_SCORES = ("r2",)


class Data(NamedTuple):
    name: str
    X: np.ndarray
    y: np.ndarray
    is_classes: bool


class Pair(NamedTuple):
    """Two models that should learn the same."""

    name: str
    ours: Any
    theirs: Any


class Line(NamedTuple):
    """What the folds say of a pair by one score, with the sign that people expect."""

    data: str
    pair: str
    score: str
    ours: float
    theirs: float
    difference: float  # above 0: ours is better
    error: float

    @property
    def in_errors(self) -> float:
        """The difference in standard errors; 0 where the models agree in all."""
        return self.difference / self.error if self.error > 0 else 0.0


# -- data -------------------------------------------------------------------------------------------------


def read(name: str, folder: Path, most_rows: int) -> Data:
    """The data set as numbers, or a random part of its rows."""
    if name in MADE:
        X, y = MADE[name](return_X_y=True)
        data = Data(name, X, y, is_classes=True)
    else:
        table = load_case(name, folder).table
        data = Data(name, matrix_of(table), table.target, table.schema.target.is_classes)
    rows = np.sort(np.random.default_rng(0).permutation(len(data.y))[:most_rows])
    return data._replace(X=data.X[rows], y=data.y[rows])


def matrix_of(table: Table) -> np.ndarray:
    """A column for every category, one for a number or an order; a gap is a step below the least value."""
    columns: list[np.ndarray] = []
    for feature, column in zip(table.schema.features, table.columns, strict=True):
        if feature.is_subset:
            columns += [column == place for place in range(len(feature.categories))]
        else:
            columns.append(np.where(np.isnan(column), np.nanmin(column) - 1, column))
    return np.column_stack(columns).astype(np.float64)


def folds_of(data: Data, n_repeats: int) -> list[tuple[np.ndarray, np.ndarray]]:
    kind = StratifiedKFold if data.is_classes else KFold
    return [
        fold
        for seed in range(n_repeats)
        for fold in kind(N_FOLDS, shuffle=True, random_state=seed).split(data.X, data.y)
    ]


# -- models -----------------------------------------------------------------------------------------------


def pairs_for(data: Data) -> list[Pair]:
    """The pairs; only trees that see the same rows and ties alike can be the same to the bit."""
    kind = "Classifier" if data.is_classes else "Regressor"
    one_tree = DecisionTreeClassifier if data.is_classes else DecisionTreeRegressor
    own = {
        name: partial(getattr(holdfast, name + kind), n_estimators=N_TREES)
        for name in ("Forest", "Bagging", "Boosting")
    }
    n_columns = data.X.shape[1]
    drawn = max(int(np.sqrt(n_columns)) if data.is_classes else n_columns // 3, 1)
    # Rows drawn twice count twice for our min_samples_leaf and once for theirs: 1 row is the same for both.
    forest = {"max_features": drawn, "min_samples_leaf": 1, "random_state": 0}
    binned = own["Boosting"](splits="binned", max_depth=None, max_leaf_nodes=8, **SMALL)
    pairs = [
        Pair("forest", own["Forest"](**forest), sklearn_s("RandomForest", kind, **forest)),
        Pair("bagging", own["Bagging"](random_state=0), sklearn_s("Bagging", kind, one_tree(random_state=0))),
        Pair(
            "boosting / GradientBoosting",
            own["Boosting"](splits="exact", second_order=False, **DEPTH_3),
            sklearn_s("GradientBoosting", kind, **DEPTH_3),
        ),
        Pair("boosting / HistGradientBoosting", binned, hist_boosting(kind)),
        Pair("boosting / LightGBM", binned, lightgbm(kind)),
    ]
    if data.is_classes:
        stumps = one_tree(max_depth=1, random_state=0)
        ours = holdfast.AdaBoostClassifier(n_estimators=N_TREES)
        pairs.append(Pair("AdaBoost", ours, sklearn_s("AdaBoost", kind, stumps)))
    return pairs


def sklearn_s(name: str, kind: str, *tree: Any, **settings: Any) -> Any:
    model = getattr(peers, name + kind)(*tree, n_estimators=N_TREES, **settings)
    return model.set_params(random_state=0)


def hist_boosting(kind: str) -> Any:
    model = getattr(peers, f"HistGradientBoosting{kind}")
    return model(max_iter=N_TREES, max_leaf_nodes=8, early_stopping=False, **SMALL)


def lightgbm(kind: str) -> Any:
    import lightgbm

    model = getattr(lightgbm, f"LGBM{kind}")
    return model(
        n_estimators=N_TREES, num_leaves=8, min_child_samples=20, learning_rate=0.1, n_jobs=1, verbose=-1
    )


# -- comparison -------------------------------------------------------------------------------------------


def lines_of(data: Data, n_repeats: int) -> list[Line]:
    warnings.simplefilter("ignore", DataWarning)
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    pairs, scores = pairs_for(data), CLASS_SCORES if data.is_classes else NUMBER_SCORES
    models = {f"our {pair.name}": pair.ours for pair in pairs}
    models |= {f"their {pair.name}": pair.theirs for pair in pairs}
    found = compare_models(models, data.X, data.y, cv=folds_of(data, n_repeats), scoring=list(scores))
    lines = []
    for score in scores:
        by_score = found.by(score)
        shown = dict(zip(found.names, map(by_score.metric.shown, by_score.mean.tolist()), strict=True))
        for pair in pairs:
            ours, theirs = f"our {pair.name}", f"their {pair.name}"
            apart, place = by_score.differences(theirs), found.names.index(ours)
            figures = shown[ours], shown[theirs], float(apart.mean[place]), float(apart.error[place])
            lines.append(Line(data.name, pair.name, score, *figures))
    return lines


def print_table(found: Iterable[list[Line]]) -> list[Line]:
    """Print the lines of every data set as they come; all of them come back."""
    print("\n| data | pair | score | ours | theirs | difference | standard error | in errors |")
    print("|---|---|---|--:|--:|--:|--:|--:|", flush=True)
    lines = []
    for own in found:
        lines += own
        print("\n".join(map(row_text, own)), flush=True)
    return lines


def row_text(line: Line) -> str:
    mark = " !" if abs(line.in_errors) > 3 else ""
    return (
        f"| {line.data} | {line.pair} | {line.score} | {line.ours:.4f} | {line.theirs:.4f} "
        f"| {line.difference:+.4f} | {line.error:.4f} | {line.in_errors:+.1f}{mark} |"
    )


def print_summary(lines: list[Line]) -> None:
    """How many differences are within 2 standard errors, by pair and in all."""
    print("\n| pair | score | differences | within 2 errors | above | below | median |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for pair, score in dict.fromkeys((line.pair, line.score) for line in lines):
        own = np.array([line.in_errors for line in lines if (line.pair, line.score) == (pair, score)])
        counts = [len(own), (np.abs(own) <= 2).sum(), (own > 2).sum(), (own < -2).sum()]
        print(f"| {pair} | {score} | {' | '.join(map(str, counts))} | {np.median(own):+.1f} |")
    n_within = sum(abs(line.in_errors) <= 2 for line in lines)
    print(f"\n{n_within} of {len(lines)} differences are within 2 standard errors.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three small data sets")
    parser.add_argument("--names", help="data sets, comma-separated")
    parser.add_argument("--rows", type=int, default=2_000, help="most rows of a data set")
    parser.add_argument("--repeats", type=int, default=2, help="divisions into folds")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the data sets")
    options = parser.parse_args()
    names = options.names.split(",") if options.names else QUICK if options.quick else NAMES
    warnings.simplefilter("ignore", DataWarning)
    started = time.perf_counter()
    sets = [read(name, options.data, options.rows) for name in names]
    print(f"{N_TREES} trees, {options.repeats} times {N_FOLDS} folds, {options.rows:,} rows at most")
    print("Above 0 ours is better. Standard errors are corrected for what the folds have in common.")
    # In processes: threads of HistGradientBoosting and of others would get in each other's way.
    work = Parallel(n_jobs=options.n_jobs, return_as="generator")
    lines = print_table(work(delayed(lines_of)(data, options.repeats) for data in sets))
    print_summary(lines)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
