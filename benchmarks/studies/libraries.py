"""Trees of other libraries next to ours on one data set: python -m benchmarks.studies.libraries.

Each is read by its adapter, predicts all rows as its library does, and is compared with our tree of depth 4.
"""

from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from holdfast import Table, Tree, TreeClassifier, as_tree, tree_distance
from holdfast.adapters import forest_trees

DEPTH = 4


class Reading(NamedTuple):
    library: str
    tree: Tree
    theirs: Any  # predictions of the library


def readings(X: Any, y: Any, table: Table) -> list[Reading]:
    from lightgbm import LGBMClassifier
    from pystreed import STreeDClassifier
    from xgboost import XGBClassifier

    forest = RandomForestClassifier(20, max_depth=DEPTH, random_state=0).fit(X, y)
    member = forest.classes_[forest.estimators_[0].predict(X).astype(int)]
    models = {
        "scikit-learn": DecisionTreeClassifier(max_depth=DEPTH, random_state=0),
        "LightGBM": LGBMClassifier(
            n_estimators=1, num_leaves=2**DEPTH, max_depth=DEPTH, learning_rate=1.0, verbose=-1
        ),
        "XGBoost": XGBClassifier(n_estimators=1, max_depth=DEPTH, learning_rate=1.0),
        "pystreed, optimal, depth 3": STreeDClassifier("accuracy", max_depth=3, n_thresholds=4),
    }
    found = [Reading("scikit-learn forest, first of 20", forest_trees(forest, table.schema)[0], member)]
    for library, model in models.items():
        model.fit(X, y)
        found.append(Reading(library, as_tree(model, table.schema), np.asarray(model.predict(X))))
    return found


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    table = Table.from_arrays(X, y)
    ours = TreeClassifier(max_depth=DEPTH).fit(X, y).tree_.with_schema(table.schema)
    grid = Grid(
        title=f"breast cancer, {len(y)} rows: distance to our tree of depth {DEPTH}, label weight {2 * DEPTH}"
    )
    for head in ("library", "leaves", "depth", "same predictions", "accuracy", "paper", "cover", "metric"):
        grid.add_column(head, justify="left" if head == "library" else "right")
    for library, tree, theirs in [Reading("holdfast", ours, ours.predict(X)), *readings(X, y, table)]:
        same = int((tree.predict(X) == theirs).sum())
        options = {"label_weight": 2.0 * DEPTH}
        distances = [
            tree_distance(ours, tree, matching=name, **options).total for name in ("paper", "cover", "metric")
        ]
        shown = [f"{distance:.2f}" for distance in distances]
        accuracy = f"{(tree.predict(X) == y).mean():.3f}"
        grid.add_row(library, str(tree.n_leaves), str(tree.depth), f"{same} of {len(y)}", accuracy, *shown)
        if same != len(y):
            raise SystemExit(f"{library}: {len(y) - same} rows are predicted otherwise")
    Console(width=140).print(grid)


if __name__ == "__main__":
    main()
