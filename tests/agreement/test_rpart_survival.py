"""Survival trees against rpart with method="exp", whose trees `rpart_survival.R` has written.

It ran in R 4.2.2 with rpart 4.1.19. To run it again, write the tables: python test_rpart_survival.py FOLDER.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from holdfast import GrowthRules, Table, grow, pruning_path

RESULTS = Path(__file__).with_name("rpart_survival.json")


def simulated(seed: int, longest: float) -> pd.DataFrame:
    """Ages, doses with ties and wards; times with ties, of which more are censored if `longest` is short."""
    random = np.random.RandomState(seed)
    rows = pd.DataFrame(
        {
            "age": random.randint(20, 90, 300),
            "dose": random.uniform(0, 10, 300).round(1),
            "ward": random.choice(["A", "B", "C", "D"], 300),
        }
    )
    hazard = np.exp(0.03 * (rows["age"] - 50) + 0.8 * (rows["ward"] == "C")) / 40
    event, censored = random.exponential(1 / hazard), random.uniform(1, longest, 300)
    rows["time"] = np.ceil(np.minimum(event, censored) * 4) / 4
    rows["event"] = (event <= censored).astype(int)
    return rows


def public(name: str) -> pd.DataFrame:
    """A public table that scikit-survival brings along, with its categories as text."""
    datasets = pytest.importorskip("sksurv.datasets", reason="scikit-survival has the tables")
    X, y = getattr(datasets, name)()
    labels = {column: "is " + X[column].astype(str) for column in X.select_dtypes("category")}
    event, time = y.dtype.names
    return X.assign(**labels, time=y[time], event=y[event].astype(int))


# rpart 4.1.19 cannot read late entries: its table(index2, levels = ...) is an error.
TABLES = {
    "long": lambda: simulated(1, 80),
    "middle": lambda: simulated(2, 40),
    "short": lambda: simulated(3, 15),
    "gbsg2": lambda: public("load_gbsg2"),
    "whas500": lambda: public("load_whas500"),
    "veteran": lambda: public("load_veterans_lung_cancer"),
}


@pytest.mark.parametrize("name", TABLES)
def test_nodes_risks_and_pruning_are_those_of_rpart(name):
    rows, expected = TABLES[name](), json.loads(RESULTS.read_text())[name]
    X, y = rows.drop(columns=["time", "event"]), (rows["time"], rows["event"])
    table = Table.from_arrays(X, y, task="survival", hazard="piecewise")
    tree = grow(table, GrowthRules("poisson", min_samples_split=20, min_samples_leaf=10))
    risk, deviance = tree.value[:, 0], 2 * tree.weight * tree.impurity
    # rpart has the lower risk on the left: nodes are matched by rows and events.
    ours = sorted(zip(tree.count, (tree.weight * risk).round(), risk, deviance, strict=True))
    theirs = sorted(zip(*(expected[key] for key in ("rows", "events", "risk", "deviance")), strict=True))
    assert np.array(ours) == pytest.approx(np.array(theirs), rel=1e-9, abs=1e-9)
    path = pruning_path(tree)
    assert (path.n_leaves[::-1] - 1).tolist() == expected["splits"]
    # Its errors, not its column CP, which contradicts them where several splits go at once ("short").
    assert path.risks[::-1] / path.risks[-1] == pytest.approx(expected["error"], rel=1e-9)


if __name__ == "__main__":
    for name, make in TABLES.items():
        make().to_csv(Path(sys.argv[1]) / f"{name}.csv", index=False)
