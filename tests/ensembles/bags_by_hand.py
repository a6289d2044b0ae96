"""Tables with weights and groups, and the trees of their bags grown one by one."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from holdfast._arrays import IntArray, LongArray
from holdfast.data.table import Table
from holdfast.ensembles.bagging import Bagging
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.tree.tree import Tree
from reference.tables import class_tables, fractional_weights, number_tables, real_numbers, whole_weights

some_tables = st.one_of(
    class_tables(12, whole_weights),
    class_tables(12, fractional_weights),
    number_tables(real_numbers, 12, whole_weights),
    number_tables(real_numbers, 12, fractional_weights),
)


@st.composite
def groupings(draw: Any, n_rows: int) -> LongArray | None:
    """No groups, or one of a few for every row, numbered without gaps."""
    if draw(st.booleans()):
        return None
    marks = draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows))
    return np.unique(marks, return_inverse=True)[1].astype(np.int64)


def rules_for(table: Table, **limits: Any) -> GrowthRules:
    return GrowthRules("gini" if table.schema.target.is_classes else "squared_error", **limits)


def written_out(table: Table, counts: IntArray) -> Table:
    """Every row as often as it was drawn; whole weights are in the counts already."""
    rows = np.repeat(np.arange(table.n_rows), counts)
    weight = table.weight
    is_whole = weight is None or np.array_equal(weight, np.rint(weight))
    columns = tuple(column[rows] for column in table.columns)
    return Table(table.schema, columns, table.target[rows], None if is_whole else weight[rows])


def tree_by_hand(bagging: Bagging, index: int, table: Table, rules: GrowthRules) -> Tree:
    """The tree of one bag, grown alone on the rows of the bag."""
    return grow(
        written_out(table, bagging.bags[index]), rules, random_state=bagging.bags.tree_seeds([index])[0]
    )


def same_tree(one: Tree, other: Tree) -> bool:
    names = ("feature", "left", "right", "missing_left", "in_set", "count")
    figures = ("threshold", "value", "weight", "impurity")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names) and all(
        np.allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-9, equal_nan=True)
        for name in figures
    )


def people(n_rows: int = 150, seed: int = 0, numbers: bool = False) -> Table:
    """Columns of numbers, some missing, and of categories; the target depends on three of the four."""
    random = np.random.default_rng(seed)
    age, noise = random.normal(50, 15, n_rows), random.normal(size=n_rows)
    ward = random.choice(["A", "B", "C"], n_rows)
    dose = np.where(random.random(n_rows) < 0.1, np.nan, random.normal(size=n_rows))
    risk = (age - 50) / 15 + (ward == "B") + np.nan_to_num(dose) + random.normal(0, 0.5, n_rows)
    X = {"age": age, "ward": ward, "dose": dose, "noise": noise}
    y: Any = risk if numbers else np.where(risk > 1, "ill", np.where(risk > 0, "well", "fit"))
    return Table.from_arrays(_frame(X), y)


def _frame(columns: dict[str, Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)
