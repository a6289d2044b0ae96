"""What decisions cost on new rows: loss matrices against plain trees with a moved threshold.

    python -m benchmarks.studies.costs FOLDER [--repetitions 10]

FOLDER holds the data sets and their list, datasets.json. A third of the rows is the test, drawn anew each
time; costs are per row, as a fraction of what it costs to predict the better of the two classes for all.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

from holdfast import ForestClassifier, TreeClassifier

# What it costs to miss a row of the rarer class; a false alarm costs 1.
COSTS = {"german_credit": 5.0, "pima_diabetes": 5.0, "heart_cleveland": 5.0, "stroke": 20.0}
TREE: dict[str, Any] = {"ccp_alpha": "cv", "min_samples_leaf": 5, "cv": 5}


class Data(NamedTuple):
    X: pd.DataFrame
    y: np.ndarray
    rare: Any
    missed: float  # what it costs to miss a row of the rare class

    @property
    def losses(self) -> dict[tuple[Any, Any], float]:
        common = next(label for label in np.unique(self.y) if label != self.rare)
        return {(self.rare, common): self.missed}

    def cost(self, truth: np.ndarray, predicted: np.ndarray) -> float:
        """The mean cost of a row, as a fraction of that of the cheaper of two constant predictions."""
        is_rare, told = truth == self.rare, predicted == self.rare
        mean = np.where(is_rare & ~told, self.missed, np.where(~is_rare & told, 1.0, 0.0)).mean()
        return float(mean / min(is_rare.mean() * self.missed, 1.0 - is_rare.mean()))


METHODS: dict[str, Callable[[Data], Any]] = {
    "plain tree": lambda data: TreeClassifier(**TREE),
    "plain, threshold of the costs": lambda data: TreeClassifier(**TREE, threshold=1 / (1 + data.missed)),
    "plain, threshold by rows held out": lambda data: moved(data),
    "class_weight by the costs": lambda data: TreeClassifier(**TREE, class_weight={data.rare: data.missed}),
    "loss_matrix": lambda data: TreeClassifier(**TREE, loss_matrix=data.losses),
    "loss_matrix, threshold='cost'": lambda data: TreeClassifier(
        **TREE, loss_matrix=data.losses, threshold="cost"
    ),
    "forest, loss_matrix": lambda data: ForestClassifier(
        min_samples_leaf=5, loss_matrix=data.losses, random_state=0
    ),
}


def moved(data: Data) -> Any:
    """A plain tree with the threshold that costs least on rows held out, by scikit-learn."""

    def saved(y_true: np.ndarray, y_pred: np.ndarray, pos_label: Any) -> float:
        return -data.cost(y_true, y_pred)

    scoring = make_scorer(saved, pos_label=data.rare)
    return TunedThresholdClassifierCV(TreeClassifier(**TREE), scoring=scoring, cv=5, random_state=0)


def load(name: str, folder: Path) -> Data:
    entry = next(each for each in json.loads((folder / "datasets.json").read_text()) if each["name"] == name)
    frame = pd.read_csv(folder / entry["file"], dtype=dict.fromkeys(entry["categorical"], "str"))
    aside = {*entry["ids"], *entry["constant"], *entry["all_missing"], entry["target"]}
    y = frame[entry["target"]].to_numpy()
    labels, counts = np.unique(y, return_counts=True)
    X = frame.drop(columns=[column for column in aside if column in frame])
    return Data(X, y, labels[counts.argmin()], COSTS[name])


def costs_of(data: Data, repetitions: int) -> dict[str, list[float]]:
    """The costs on the test rows of every method, one for each repetition."""
    found: dict[str, list[float]] = {name: [] for name in METHODS}
    for seed in range(repetitions):
        parts = train_test_split(data.X, data.y, test_size=1 / 3, stratify=data.y, random_state=seed)
        for name, method in METHODS.items():
            model = method(data).fit(parts[0], parts[2])
            found[name].append(data.cost(parts[3], model.predict(parts[1])))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=list(COSTS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    columns = {name: costs_of(load(name, given.folder), given.repetitions) for name in given.sets}
    print("| | " + " | ".join(f"{name}, {COSTS[name]:g} : 1" for name in columns) + " |")
    print("|---|" + "---|" * len(columns))
    for method in METHODS:
        cells = [
            f"{np.mean(each[method]):.2f} ± {np.std(each[method], ddof=1):.2f}" for each in columns.values()
        ]
        print(f"| {method} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
