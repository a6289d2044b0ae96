"""Tables of results as text, against lines written by hand."""

from dataclasses import fields
from typing import Any

import numpy as np

from holdfast.data.schema import Target
from holdfast.ensembles.importances import Importances, Spread
from holdfast.growth.size_search import SizeTable
from holdfast.scoring.metric import make_metric
from holdfast.stable.consensus.size import SizeChoice
from holdfast.stable.frontier import Frontier, pareto_frontier
from holdfast.tree.summary import TreeSummary

ACCURACY = make_metric("accuracy", Target(classes=("no", "yes")))
LOSS = make_metric("log_loss", Target(classes=("no", "yes")))


def frontier(**changes: Any) -> Frontier:
    instability, score = np.array([5.5036, 3.25, 9.0]), np.array([0.94444, 0.9, 0.7])
    content: dict[str, Any] = dict.fromkeys(
        (field.name for field in fields(Frontier) if field.name not in ("chosen", "baseline")), np.ones(3)
    )
    content |= {
        "instability": instability,
        "instability_error": np.array([0.9163, 0.05, 1.0]),
        "size_adjusted": np.array([0.914, 1.0, 2.0]),
        "score": score,
        "score_error": np.array([0.0271, 0.012, 0.1]),
        "n_leaves": np.array([5, 12, 3]),
        "depth": np.array([3, 10, 2]),
        "efficient": pareto_frontier(instability, score),
        "metric": ACCURACY,
        **dict.fromkeys(("teacher_loss", "student_loss", "max_leaf_nodes")),
    }
    return Frontier(**(content | changes))


def sizes(n_sizes: int = 3, **changes: Any) -> SizeTable:
    scores = np.linspace(0.8, 0.9, n_sizes)[:, np.newaxis] + np.array([-0.01, 0.01])
    content: dict[str, Any] = {
        "parameter": "ccp_alpha",
        "values": np.linspace(0.0, 0.5, n_sizes),
        "n_leaves": np.arange(n_sizes, 0, -1),
        "risks": np.linspace(0.1, 0.4, n_sizes),
        "scores": scores,
        "error": np.full(n_sizes, 0.01),
        "selection_rule": "cv",
        "metric": ACCURACY,
    }
    return SizeTable(**(content | changes))


def test_the_frontier_lists_efficient_candidates_below_their_headings() -> None:
    assert repr(frontier()).splitlines() == [
        "2 of 3 candidates are efficient:",
        "candidate            instability  size-adjusted             accuracy  leaves  depth",
        "        1         3.25 ± 0.05              1.00         0.9 ± 0.012       12     10",
        "        0        5.504 ± 0.92              0.91      0.9444 ± 0.027        5      3",
    ]


def test_the_frontier_of_consensus_trees_lists_them_all_with_what_they_lose_of_the_teacher() -> None:
    assert repr(frontier(teacher_loss=np.array([-1e-17, 0.0581, 0.0001]))).splitlines() == [
        "3 candidates, one for each tolerance:",
        "candidate            instability  of the teacher lost             accuracy  leaves  depth",
        "        1         3.25 ± 0.05                   5.8 %         0.9 ± 0.012       12     10",
        "        0        5.504 ± 0.92                   0.0 %      0.9444 ± 0.027        5      3",
        "        2            9 ± 1                    < 0.1 %         0.7 ± 0.1          3      2",
    ]


def test_the_frontier_of_consensus_trees_says_how_many_leaves_each_may_have() -> None:
    columns = {"teacher_loss": np.array([0.01, 0.2, 0.02]), "max_leaf_nodes": np.array([12, 4, 12])}
    columns["n_leaves"] = np.array([8, 4, 3])
    assert repr(frontier(**columns)).splitlines() == [
        "3 candidates, one for each number of leaves (12, 4) and tolerance:",
        "candidate            instability  of the teacher lost             accuracy   leaves  depth",
        "        1         3.25 ± 0.05                  20.0 %         0.9 ± 0.012    4 of 4     10",
        "        0        5.504 ± 0.92                   1.0 %      0.9444 ± 0.027   8 of 12      3",
        "        2            9 ± 1                      2.0 %         0.7 ± 0.1     3 of 12      2",
    ]


def test_the_sizes_of_a_consensus_tree_have_a_line_each_and_a_reason() -> None:
    choice = SizeChoice(
        sizes=np.array([12, 24, 48]),
        explained=np.array([0.61, 0.67, 0.68]),
        difference=np.array([0.0, 0.06, 0.07]),
        difference_error=np.array([0.0, 0.01, 0.012]),
    )
    assert repr(choice).splitlines() == [
        "leaves          held-out R²  more than 12 leaves",
        "    12                 0.61",
        "    24                 0.67       0.06 ± 0.01     chosen",
        "    48                 0.68       0.07 ± 0.012",
        "24 leaves instead of 12: R² on held-out rows 0.61 -> 0.67; 48 leaves would add 0.01.",
    ]


def test_the_frontier_shows_losses_as_people_know_them_and_cuts_long_titles() -> None:
    lines = repr(frontier(score=-np.array([0.1, 0.2, 0.3]), metric=LOSS)).splitlines()
    assert "log loss" in lines[1]
    assert " 0.1 ± " in lines[3]
    assert "score" in repr(frontier(metric=None)).splitlines()[1]


def test_sizes_have_a_line_each_and_the_chosen_is_marked() -> None:
    assert repr(sizes()).splitlines() == [
        "     ccp_alpha  leaves  relative error             accuracy",
        "             0       3           0.250        0.8 ± 0.01",
        "          0.25       2           0.625       0.85 ± 0.01",
        "           0.5       1           1.000        0.9 ± 0.01     chosen",
        "It has the best mean accuracy of all 3 sizes: 0.9 ± 0.01.",
    ]


def test_of_many_sizes_some_are_shown_with_both_ends_and_the_best() -> None:
    lines = repr(sizes(100)).splitlines()
    assert lines[-2] == "(18 of 100 sizes; to_frame() has them all)"
    assert lines[1].split()[1] == "100"
    assert lines[-3].split()[1] == "1"
    assert lines[-3].endswith("chosen")


def importances(names: tuple[str, ...], **changes: Any) -> Importances:
    n = len(names)
    spread = Spread(np.linspace(1.0, 0.5, n), np.full(n, 0.1), np.full(n, 0.05))
    return Importances(names, 4, np.arange(n), spread, spread, **changes)


def test_importances_have_a_line_for_each_feature() -> None:
    assert repr(importances(("age", "bmi"))).splitlines() == [
        "feature   splits       total decrease   decrease per split",
        "age            0          1 ± 0.05             1 ± 0.05",
        "bmi            1        0.5 ± 0.05           0.5 ± 0.05",
        "± is one standard error over 4 trees.",
    ]


def test_names_of_features_take_one_line_however_long() -> None:
    lines = repr(importances(("a\nb", "very " * 20 + "long"))).splitlines()
    assert len(lines) == 4
    assert lines[1].startswith("a\\nb ")
    assert lines[2][:32].endswith("y long")
    assert "…" in lines[2]


def test_what_permutation_costs_is_a_loss_of_score_or_a_rise_of_the_loss() -> None:
    figures = Spread(np.ones(1), np.ones(1), np.ones(1))
    assert "loss of accuracy" in repr(importances(("age",), permutation=figures, metric=ACCURACY))
    assert "rise of log loss" in repr(importances(("age",), permutation=figures, metric=LOSS))


def test_a_summary_wraps_many_features() -> None:
    names = tuple(f"a rather long name {number}" for number in range(12))
    summary = TreeSummary(names, 13, 5, 100.0, 12.5, 10.0, by_weight=True)
    lines = str(summary).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[1].startswith("  ")
    assert lines[-2:] == [
        "Residual mean deviance: 0.1437 = 12.5 / 87, by weight",
        "Misclassification rate: 0.1 = 10 / 100, by weight",
    ]
