"""Priors and loss matrices against figures of rpart 4.1.19.

The children with priors of 0.65 and 0.35, and with a false alarm that costs 2, are examples of its vignette
"An Introduction to Recursive Partitioning Using the RPART Routines"; the others are calls of the same kind.
All figures are those of `fit$frame` and `fit$cptable`, with xval = 0.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from rpart_tables import KYPHOSIS, STAGE_C, frame
from sklearn.datasets import load_iris

from holdfast import GrowthRules, Table, Tree, grow, pruning_path
from holdfast.growth.pruning import PruningPath, node_risk

CP = 0.01


@dataclass(frozen=True)
class Published:
    """What rpart says: its table of complexities, its nodes, and how many rows are told the last class."""

    table: list[tuple[float, int, float]]
    nodes: set[tuple[int, float, float]]  # rows, risk of the node times all rows, fraction of the last class
    n_last: int  # rows that are told the last class


PRIORS = Published(
    [(0.3019957983, 0, 1.0), (0.2023371849, 1, 0.6980042017), (0.01, 2, 0.4956670168)],
    {
        (81, 28.35, 0.35),
        (46, 3.335294118, 0.08436911488),
        (35, 16.453125, 0.60323159785),
        (10, 1.667647059, 0.18383258104),
        (25, 9.04921875, 0.72067103298),
    },
    25,
)
MISSED = Published(
    [(0.5625, 0, 1.0), (0.078125, 1, 0.4375), (0.01, 2, 0.359375)],
    {
        (81, 64.0, 0.20987654321),
        (46, 8.0, 0.04347826087),
        (35, 20.0, 0.42857142857),
        (10, 4.0, 0.1),
        (25, 11.0, 0.56),
    },
    25,
)
BOTH = Published(
    [(0.18277310924, 0, 1.0), (0.02039565826, 1, 0.8172268908), (0.01, 4, 0.7560399160)],
    {
        (81, 28.35, 0.35),
        (62, 10.005882353, 0.1784386617),
        (29, 0.0, 0.0),
        (33, 10.005882353, 0.3105719237),
        (12, 0.0, 0.0),
        (21, 10.005882353, 0.4477761119),
        (14, 3.335294118, 0.2525366404),
        (7, 4.9359375, 0.7299389002),
        (19, 13.1625, 0.7359617682),
    },
    26,
)
STAGES = Published(
    [
        (0.27173913043, 0, 1.0),
        (0.06521739130, 1, 0.7282608696),
        (0.01086956522, 2, 0.6630434783),
        (0.01, 3, 0.6521739130),
    ],
    {
        (146, 92.0, 0.36986301370),
        (61, 27.0, 0.14754098361),
        (39, 6.0, 0.05128205128),
        (22, 15.0, 0.31818181818),
        (9, 6.0, 0.22222222222),
        (13, 8.0, 0.38461538462),
        (85, 40.0, 0.52941176471),
    },
    98,
)
IRISES = Published(
    [(0.49, 0, 1.0), (0.40, 1, 0.51), (0.01, 2, 0.11)],
    {
        (150, 100.0, 0.33333333333),
        (95, 45.0, 0.01052631579),
        (50, 0.0, 0.0),
        (45, 5.0, 0.02222222222),
        (55, 6.0, 0.89090909091),
    },
    55,
)
CASES: dict[str, tuple[Published, dict[str, Any]]] = {
    "children, priors": (PRIORS, {"priors": {"a": 0.65, "p": 0.35}}),
    "children, a missed kyphosis costs 4": (MISSED, {"loss_matrix": {("p", "a"): 4}}),
    "children, priors and losses": (BOTH, {"priors": [0.65, 0.35], "loss_matrix": [[0, 2], [1, 0]]}),
    "patients, a missed progress costs 3": (STAGES, {"loss_matrix": [[0, 1], [3, 0]]}),
    "irises, a virginica for a versicolor costs 5": (
        IRISES,
        {"loss_matrix": {("virginica", "versicolor"): 5}},
    ),
}


def rows_of(name: str) -> tuple[Any, Any]:
    if name.startswith("children"):
        rows = frame(KYPHOSIS)
        return rows[["Age", "Number", "Start"]], rows["Kyphosis"]
    if name.startswith("patients"):
        rows = frame(STAGE_C)
        return rows[["Age", "Grade", "Ploidy"]], rows["Progressed"]
    iris = load_iris()
    return iris.data, iris.target_names[iris.target]


def fitted(name: str, rules: dict[str, Any]) -> tuple[PruningPath, Tree, Any]:
    """All subtrees, the one that rpart shows, and the rows."""
    X, y = rows_of(name)
    table = Table.from_arrays(X, y, task="classification")
    tree = grow(table, GrowthRules(min_samples_split=20, min_samples_leaf=7, **rules))
    path = pruning_path(tree, "misclassification")
    return path, path.tree_at(CP * float(path.risks[-1])), X


@pytest.mark.parametrize("name", CASES)
def test_questions_rows_risks_and_fractions_are_rparts(name: str) -> None:
    published, rules = CASES[name]
    _, tree, X = fitted(name, rules)
    risks = node_risk(tree, "misclassification") * tree.count[0]
    ours = sorted(zip(tree.count.tolist(), risks.tolist(), tree.value[:, -1].tolist(), strict=True))
    assert ours == [pytest.approx(each, abs=1e-6) for each in sorted(published.nodes)]
    last = tree.schema.target.classes[-1]
    assert np.count_nonzero(tree.predict(X) == last) == published.n_last


@pytest.mark.parametrize("name", CASES)
def test_the_table_of_complexities_is_rparts(name: str) -> None:
    published, rules = CASES[name]
    path, _, _ = fitted(name, rules)
    root = float(path.risks[-1])
    kept = np.flatnonzero(path.alphas > CP * root)
    first = kept[0] - 1
    cp = np.append(CP, path.alphas[first + 1 :] / root)[::-1]
    ours = list(zip(cp, path.n_leaves[first:][::-1] - 1, path.risks[first:][::-1] / root, strict=True))
    assert ours == [pytest.approx(each, abs=1e-6) for each in published.table]


def test_where_a_false_alarm_costs_twice_rpart_and_we_leave_the_children_one_leaf() -> None:
    _, tree, _ = fitted("children", {"loss_matrix": [[0, 2], [1, 0]]})
    assert tree.n_leaves == 1


def test_losses_that_are_all_alike_change_nothing_but_the_unit_of_risk() -> None:
    X, y = rows_of("children")
    table = Table.from_arrays(X, y)
    plain, alike = grow(table), grow(table, GrowthRules(loss_matrix=[[0, 3], [3, 0]]))
    assert str(plain) == str(alike)
    assert node_risk(alike) == pytest.approx(3 * node_risk(plain, "misclassification"))
