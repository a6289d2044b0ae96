"""A split that parts the classes ends the search of a node: those that come later could only tie."""

import numpy as np
import pandas as pd
import pytest

from holdfast import GrowthRules, Table, grow
from reference.drawing import column_order

NAMES = [f"c{i}" for i in range(9)]
CRITERIA = ["gini", "entropy", "misclassification", "gain_ratio"]


def parting(n_rows: int, names: list[str], *, blind: tuple[str, ...] = ()) -> Table:
    """Columns of which each alone parts the classes, but for the blind ones, which tell nothing."""
    label = np.arange(n_rows) % 2
    columns = {name: label + 10.0 * i for i, name in enumerate(names)}
    columns |= dict.fromkeys(blind, np.arange(n_rows) // 2 % 2)
    return Table.from_frame(pd.DataFrame(columns | {"y": label.astype(str)}), target="y")


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_rows", [4, 40, 400, 4000])
def test_the_first_column_that_parts_the_classes_is_asked(criterion: str, n_rows: int) -> None:
    tree = grow(parting(n_rows, NAMES, blind=("a", "z")), GrowthRules(criterion))
    assert (tree.schema.names[tree.feature[0]], tree.n_leaves) == ("c0", 2)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_rows", [4, 40, 400])
def test_of_drawn_columns_the_first_drawn_is_asked(criterion: str, n_rows: int) -> None:
    rows = parting(n_rows, NAMES)
    for seed in range(5):
        tree = grow(rows, GrowthRules(criterion, max_features=4), random_state=seed)
        assert tree.schema.names[tree.feature[0]] == column_order(NAMES, seed)[0]


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
@pytest.mark.parametrize("weight", [2, 2**9, 2**15, 2**16 - 1, 2**16, 2**17, 2**20, 2**24])
def test_one_light_row_on_the_wrong_side_is_not_overlooked(criterion: str, weight: int) -> None:
    frame = pd.DataFrame(
        {"nearly": [0, 1, 1], "wholly": [0, 1, 0], "y": ["a", "b", "a"], "weight": [weight, weight, 1]}
    )
    table = Table.from_frame(frame, target="y", sample_weight="weight")
    for rules in (GrowthRules(criterion), GrowthRules(criterion, max_features=2)):
        tree = grow(table, rules)
        assert (tree.schema.names[tree.feature[0]], tree.n_leaves) == ("wholly", 2)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_rows", [12, 120, 1200])
def test_thresholds_sets_and_missing_values_part_alike(criterion: str, n_classes: int, n_rows: int) -> None:
    """The class of the third kind has no weight: two are there to be parted."""
    label = np.arange(n_rows) % 2
    ways = {
        "number": label * 1.0,
        "set": np.where(label == 1, "yes", "no"),
        "known": np.where(label == 1, np.nan, 3.0),
        "many": np.array([f"{one} {i % 12}" for i, one in enumerate(label)]),  # means of many are shrunk
    }
    weight, last = np.ones(n_rows), pd.DataFrame({"y": ["c"], "weight": [0.0]})
    for first in ways:
        columns = {("a" if name == first else "b") + name: column for name, column in ways.items()}
        frame = pd.DataFrame(columns | {"y": np.array(["p", "q"])[label], "weight": weight})
        if n_classes == 3:
            frame = pd.concat([frame, last], ignore_index=True)
        table = Table.from_frame(frame, target="y", sample_weight="weight")
        tree = grow(table, GrowthRules(criterion, categories="exact"))
        assert (tree.schema.names[tree.feature[0]], tree.n_leaves) == ("a" + first, 2)
        shrunk = grow(table, GrowthRules(criterion))
        assert tree.schema.names[shrunk.feature[0]] == ("a" + first if first != "many" else "bknown")
        assert shrunk.n_leaves == 2
