"""Trees and forests against R's rpart and randomForest: python -m benchmarks.r_packages [FOLDER].

41,188 rows of adult_income, in FOLDER, five columns of numbers and seven of text or few integers; seconds
of the processor, one thread. Both start from a data frame in memory: our times hold reading and coding the
table. rpart keeps no competing and no surrogate splits. Runs take turns, and the shortest of each counts. It
needs R with both packages (Debian: r-cran-rpart, r-cran-randomforest).
"""

import argparse
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table as Grid

from holdfast import ForestClassifier, TreeClassifier

DATA = Path(__file__).parents[2] / "shared" / "data"
SCRIPT = Path(__file__).with_suffix(".R")
N_ROWS = 41_188
NUMBERS = ["age", "fnlwgt", "capital_gain", "capital_loss", "hours_per_week"]
OTHERS = ["workclass", "education_num", "marital_status", "occupation", "relationship", "race", "sex"]
CP = 0.001  # of rpart: alpha as a fraction of the errors at the root
console = Console(width=110)


def rows(folder: Path) -> tuple[pd.DataFrame, pd.Series]:
    """The columns, without gaps, which randomForest does not take, and the target."""
    frame = pd.read_csv(folder / "adult_income.csv.gz").sample(N_ROWS, random_state=0)
    return frame[NUMBERS + OTHERS].fillna("unknown").reset_index(drop=True), frame["income"].reset_index(
        drop=True
    )


def tasks(X: pd.DataFrame, y: pd.Series) -> dict[str, tuple[str, Callable[[], Any]]]:
    """What is timed: the words for it, and our part."""
    alone = {
        "min_samples_split": 20,
        "min_samples_leaf": 7,
        "ccp_risk": "misclassification",
        "categories": "exact",
    }
    alpha = CP * float(y.value_counts(normalize=True).min())
    return {
        "tree": ("one pruned tree", lambda: TreeClassifier(ccp_alpha=alpha, **alone).fit(X, y).tree_),
        "sizes": ("size by ten folds", lambda: TreeClassifier(ccp_alpha="cv", **alone).fit(X, y).tree_),
        "forest": (
            "forest of 100 trees",
            lambda: ForestClassifier(100, random_state=0, n_jobs=1).fit(X, y).ensemble_,
        ),
    }


def timed(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return min(times), result


def by_r(file: Path, task: str, repeats: int) -> tuple[float, float]:
    """Seconds, and the leaves of a tree."""
    found = subprocess.run(
        ["Rscript", str(SCRIPT), str(file), task, str(repeats)], check=True, capture_output=True, text=True
    )
    seconds, leaves = map(float, found.stdout.split()[-2:])
    return seconds, leaves


def n_leaves(found: Any) -> float:
    return found.n_leaves if hasattr(found, "n_leaves") else sum(tree.n_leaves for tree in found) / len(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each")
    options = parser.parse_args()
    if shutil.which("Rscript") is None:
        raise SystemExit("R is not there: install it with its packages rpart and randomForest.")
    X, y = rows(options.folder)
    grid = Grid(title=f"{N_ROWS:,} x {X.shape[1]}, one thread, seconds of the processor")
    for head in ("task", "R", "holdfast", "ratio", "leaves in R", "leaves here"):
        grid.add_column(head, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.csv")
        X.assign(target=y).to_csv(file, index=False)
        for name, (words, ours) in tasks(X, y).items():
            ours()  # compiles, or loads from disk
            repeats = 1 if name == "forest" else 5
            turns = [(by_r(file, name, repeats), timed(ours, repeats)) for _ in range(options.rounds)]
            theirs, own = min(turn[0][0] for turn in turns), min(turn[1][0] for turn in turns)
            (_, leaves), (_, found) = turns[0]
            cells = (f"{theirs:.3f}", f"{own:.3f}", f"[bold]{theirs / own:.1f}x", f"{leaves:.0f}")
            grid.add_row(words, *cells, f"{n_leaves(found):.0f}")
    console.print(grid)


if __name__ == "__main__":
    main()
