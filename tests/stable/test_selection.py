"""Every selection rule on frontiers made by hand: the candidate and the reason."""

import re
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as pyplot
import numpy as np
import pytest
from frontiers import dominated, frontier_of_points
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast._choices import SELECTION_RULES
from holdfast.data.schema import Target
from holdfast.errors import ParameterError
from holdfast.plots.frontier import FrontierDisplay
from holdfast.scoring.metric import make_metric
from holdfast.stable.frontier import Frontier
from holdfast.stable.selection import Choice, SelectionRule, choose, shown_order

DIED = Target("outcome", classes=("died", "lived"))
DAYS = Target("days", high=9.0)
AUC = make_metric("auc", DIED)
LOG_LOSS = make_metric("log_loss", DIED)

#            0      1     2     3     4    (4 is beaten by 2)
STEPS = frontier_of_points(
    [8.0, 2.0, 4.0, 5.0, 6.0],
    [0.90, 0.60, 0.85, 0.88, 0.84],
    n_leaves=[9, 2, 4, 5, 6],
    score_error=[0.03, 0.04, 0.02, 0.02, 0.02],
)


def chosen(rule: str, frontier: Frontier = STEPS, metric: Any = AUC, **selection_rule: Any) -> Choice:
    return choose(frontier, metric, SelectionRule(rule, **selection_rule))


# -- each rule --------------------------------------------------------------------------------------------


def test_the_best_score():
    choice = chosen("best-score")
    assert choice == Choice(
        0,
        "best-score",
        "It has the best AUC of the 5 candidates. Instability 8, AUC 0.9, 9 leaves.",
    )
    assert str(choice).startswith("Candidate 0. It has the best AUC")


def test_the_most_stable():
    # 1 - 2 / 8 = 75 % nearer, 0.90 - 0.60 = 0.3 worse.
    assert chosen("most-stable") == Choice(
        1,
        "most-stable",
        "It is the nearest to the reference trees of the 5 candidates. Instability 2, AUC 0.6, 2 leaves. "
        "Compared with the tree of the best AUC (instability 8, 9 leaves), the instability is 75.0 % lower, "
        "at a cost of 0.3 in AUC.",
    )


@pytest.mark.parametrize(("gamma", "candidate"), [(0.0, 0), (0.005, 0), (0.01, 3), (0.1, 2), (0.2, 1)])
def test_score_less_distance_at_its_price(gamma: float, candidate: int):
    # At 0.1: 0.10, 0.40, 0.45, 0.38, 0.24. At 0.2: -0.7, 0.2, 0.05, -0.12, -0.36. At 0.01: 0.82, 0.58, 0.81,
    # 0.83, 0.78. At 0.005: 0.86, 0.59, 0.83, 0.855, 0.81.
    choice = chosen("weighted", instability_weight=gamma)
    assert choice.candidate == candidate
    price = f"one unit of distance counts as much as {gamma:g} of AUC"
    assert choice.reason.startswith(f"It is the best of the 5 candidates if {price}.")


@pytest.mark.parametrize(
    ("tolerance", "candidate", "n_near", "text"),
    [
        (0.0, 0, 1, "0"),
        (0.01, 0, 1, "0.01"),
        (0.03, 3, 2, "0.03"),
        (0.055, 2, 3, "0.055"),
        (0.07, 2, 4, "0.07"),
        (1.0, 1, 5, "1"),
    ],
)
def test_the_most_stable_within_so_many_points_of_the_best(
    tolerance: float, candidate: int, n_near: int, text: str
):
    choice = chosen("within-tolerance", tolerance=tolerance, tolerance_unit="absolute")
    assert choice.candidate == candidate
    if n_near > 1:
        assert choice.reason.startswith(
            f"It is the most stable of the {n_near} candidates whose AUC is within"
        )
    assert f"within {text} of the best, 0.9." in choice.reason


@pytest.mark.parametrize("options", [{}, {"tolerance_unit": "or-standard-error"}])
def test_a_noisy_score_widens_the_tolerance_to_one_standard_error(options: dict[str, str]):
    # The error of the best is 0.03, more than the usual 0.01: candidate 3, at 0.88, is within it.
    choice = chosen("within-tolerance", **options)
    assert choice.candidate == 3
    assert "within one standard error (0.03) of the best" in choice.reason
    exact = frontier_of_points([8.0, 2.0], [0.90, 0.895], n_leaves=[9, 2], score_error=[0.001, 0.001])
    sure = chosen("within-tolerance", exact, **options)
    assert sure.candidate == 1
    assert "within 0.01 of the best" in sure.reason


@pytest.mark.parametrize(
    ("tolerance", "candidate", "text"), [(0.02, 0, "2.0 %"), (0.03, 3, "3.0 %"), (0.06, 2, "6.0 %")]
)
def test_the_most_stable_within_a_share_of_the_best(tolerance: float, candidate: int, text: str):
    # Of 0.9: 0.02 is 0.018 and allows 0.882; 0.03 allows 0.873; 0.06 allows 0.846.
    choice = chosen("within-tolerance", tolerance=tolerance, tolerance_unit="relative")
    assert choice.candidate == candidate
    assert f"within {text} of the best, 0.9" in choice.reason


@pytest.mark.parametrize(
    ("tolerance", "candidate", "text"),
    [
        (1, 3, "one standard error (0.03)"),
        (2, 2, "2 standard errors (0.06)"),
        (0.5, 0, "0.5 standard errors (0.015)"),
    ],
)
def test_the_most_stable_within_standard_errors_of_the_best(tolerance: float, candidate: int, text: str):
    # The best has the error 0.03: one of it allows 0.87, two allow 0.84, if rounding does.
    choice = chosen("within-tolerance", tolerance=tolerance, tolerance_unit="standard-error")
    assert choice.candidate == candidate
    assert f"within {text} of the best" in choice.reason


def test_losses_are_shown_as_people_know_them_and_have_a_relative_tolerance():
    losses = frontier_of_points([8.0, 2.0, 4.0], [-0.500, -0.560, -0.505], n_leaves=[9, 2, 4])
    choice = chosen("within-tolerance", losses, LOG_LOSS, tolerance=0.01)  # 1 % of 0.5 allows 0.505
    assert choice.candidate == 2
    assert choice.reason == (
        "It is the most stable of the 2 candidates whose log loss is within 1.0 % of the best, 0.5. "
        "Instability 4, log loss 0.505, 4 leaves. Compared with the tree of the best log loss (instability "
        "8, 9 leaves), the instability is 50.0 % lower, at a cost of 0.005 in log loss."
    )
    assert chosen("best-score", losses, LOG_LOSS).candidate == 0
    assert chosen("within-tolerance", losses, LOG_LOSS, tolerance=0.12).candidate == 1


@pytest.mark.parametrize("best", [0.8, 0.3])
@pytest.mark.parametrize("tolerance", [0.1, 0.01])
def test_a_score_at_the_very_edge_of_the_tolerance_is_within(best: float, tolerance: float):
    # 0.8 - 0.1 is 0.7000000000000001 to a computer, and 0.7 is within 0.1 of 0.8 to everyone else.
    edge = round(best - tolerance, 6)
    frontier = frontier_of_points([2.0, 1.0], [best, edge])
    assert chosen("within-tolerance", frontier, tolerance=tolerance).candidate == 1


# -- the knee ---------------------------------------------------------------------------------------------


def test_the_knee_stands_furthest_out_from_the_line_between_the_ends():
    # Along 1, 2, 3, 0 in fractions of the way: score 0, .833, .933, 1; distance 0, .333, .5, 1. So it is 2.
    choice = chosen("knee")
    assert choice.candidate == 2
    assert choice.reason.startswith("It is at the knee of the frontier: ")


def test_a_knee_does_not_depend_on_the_scales():
    stretched = frontier_of_points(STEPS.instability * 1000, STEPS.score / 1000)
    assert chosen("knee", stretched).candidate == 2


@pytest.mark.parametrize(
    ("d", "a", "candidate", "words"),
    [
        ([3.0], [0.5], 0, "The frontier has one point, too few"),
        ([3.0, 3.0], [0.5, 0.5], 0, "The frontier has one point, too few"),
        ([3.0, 2.0], [0.9, 0.5], 1, "The frontier has 2 "),
        ([3.0, 2.0, 2.5], [0.9, 0.5, 0.4], 1, "The frontier has 2 "),
        ([3.0, 2.0, 2.5], [0.9, 0.5, 0.8], 2, "It is at the knee"),
        (
            [3.0, 2.0, 2.5],
            [0.9, 0.5, 0.6],
            1,
            "It is at the knee",
        ),  # bent inwards: an end stands out most
    ],
)
def test_a_knee_needs_three_points(d: list[float], a: list[float], candidate: int, words: str):
    choice = chosen("knee", frontier_of_points(d, a))
    assert choice.candidate == candidate
    assert choice.reason.startswith(words)


# -- ties -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", SELECTION_RULES)
def test_of_alike_candidates_the_smallest_then_the_first_is_taken(rule: str):
    frontier = frontier_of_points([1.0] * 4, [0.8] * 4, n_leaves=[7, 3, 3, 5])
    assert chosen(rule, frontier, instability_weight=0.1).candidate == 1


def test_worth_that_differs_in_its_last_bits_is_equal():
    # 0.9 - 0.1 * 3 and 0.7 - 0.1 * 1 are both 0.6 by their meaning, and neither is in floats.
    for bits in (-1, 0, 1):
        frontier = frontier_of_points([3.0, 1.0], [0.9 + bits * 2.0**-53, 0.7])
        assert chosen("weighted", frontier, instability_weight=0.1).candidate == 1


# -- properties -------------------------------------------------------------------------------------------

few_values = st.sampled_from((0.0, 1e-17, 0.1, 0.3, 0.5, 1.0, 2.0, 1e9))
points = st.lists(st.tuples(few_values, few_values), min_size=1, max_size=10)
sizes = st.lists(st.integers(1, 3), min_size=10, max_size=10)
tolerances = st.sampled_from((0.0, 1e-18, 0.01, 0.5, 3.0))


@given(
    points,
    sizes,
    st.sampled_from(SELECTION_RULES),
    tolerances,
    st.sampled_from((None, "absolute", "relative", "standard-error")),
    st.sampled_from((0.0, 1e-300, 1e-9, 0.1, 1.0, 1e200, 1e308)),
    st.sampled_from((AUC, LOG_LOSS)),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_choice_is_efficient(
    drawn: Any, n_leaves: list[int], rule: str, tolerance: float, unit: str | None, gamma: float, metric: Any
):
    d, a = zip(*drawn, strict=True)
    frontier = frontier_of_points(d, a, n_leaves[: len(d)])
    choice = chosen(
        rule, frontier, metric, tolerance=tolerance, tolerance_unit=unit, instability_weight=gamma
    )
    assert not dominated(d, a)[choice.candidate]
    assert choice.selection_rule == rule
    assert "nan" not in choice.reason


@given(points, tolerances)
def test_more_tolerance_never_makes_the_choice_less_stable(drawn: Any, tolerance: float):
    frontier = frontier_of_points(*zip(*drawn, strict=True))
    strict = chosen("within-tolerance", frontier, tolerance=tolerance).candidate
    loose = chosen("within-tolerance", frontier, tolerance=tolerance * 2 + 0.1).candidate
    assert frontier.instability[loose] <= frontier.instability[strict]


@given(points, sizes, st.sampled_from(SELECTION_RULES), st.randoms())
def test_the_order_of_the_candidates_changes_no_choice(
    drawn: Any, n_leaves: list[int], rule: str, random: Any
):
    assume(len(set(drawn)) == len(drawn))
    order = random.sample(range(len(drawn)), len(drawn))
    d, a = map(np.array, zip(*drawn, strict=True))
    leaves = np.array(n_leaves[: len(drawn)])
    one = chosen(rule, frontier_of_points(d, a, leaves), instability_weight=0.1)
    other = chosen(rule, frontier_of_points(d[order], a[order], leaves[order]), instability_weight=0.1)
    assert order[other.candidate] == one.candidate
    assert other.reason == one.reason


# -- words ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", SELECTION_RULES)
def test_one_is_not_many(rule: str):
    reason = chosen(rule, frontier_of_points([1.0], [0.5], [1]), instability_weight=0.1).reason
    assert not re.search(r"\b1 (candidates|leaves|different points)", reason), reason


def test_numbers_that_are_compared_do_not_print_alike():
    near = choose(frontier_of_points([4.4741, 4.4739], [0.8, 0.799]), AUC, SelectionRule("most-stable"))
    assert "Instability 4.4739" in near.reason
    assert "(instability 4.4741, " in near.reason
    same = choose(frontier_of_points([4.474, 4.474 - 1e-13], [0.8, 0.799]), AUC, SelectionRule("most-stable"))
    assert same.reason.endswith("Instability 4.474, AUC 0.799, 4 leaves.")


# -- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selection_rule", "message"),
    [
        ({"selection_rule": "best"}, "selection_rule='best' is unknown: choose one of 'within-tolerance'"),
        ({"tolerance": -0.1}, "tolerance=-0.1 is out of range"),
        ({"tolerance": float("nan")}, "tolerance=nan is out of range"),
        ({"tolerance": True}, "tolerance=True is out of range"),
        ({"tolerance": "1"}, "tolerance='1' is out of range"),
        ({"tolerance_unit": "percent"}, "tolerance_unit='percent' is unknown: choose one of 'absolute'"),
        ({"selection_rule": "weighted"}, "selection_rule='weighted' needs instability_weight"),
        (
            {"selection_rule": "weighted", "instability_weight": -1.0},
            "instability_weight=-1.0 is out of range",
        ),
        ({"selection_rule": "weighted", "instability_weight": "1"}, "instability_weight='1' is out of range"),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(selection_rule: dict[str, Any], message: str):
    with pytest.raises(ParameterError, match=message.replace("(", r"\(")):
        SelectionRule(**selection_rule)


def test_numpy_numbers_are_numbers():
    selection_rule = SelectionRule("weighted", tolerance=np.float32(0.5), instability_weight=np.int64(1))
    assert choose(STEPS, AUC, selection_rule).candidate == 1


# -- consensus trees of several sizes -----------------------------------------------------------------------

#            0      1     2     3     4     5
SIZED = frontier_of_points(
    [9.0, 8.0, 5.0, 4.0, 1.0, 0.5],
    [0.90, 0.89, 0.91, 0.86, 0.80, 0.70],
    n_leaves=[12, 10, 8, 7, 4, 3],
    max_leaf_nodes=[12, 12, 8, 8, 4, 4],
    # The student of 8 leaves explains .98 of what that of 12 does, and that of 4 leaves .8.
    teacher_loss=[0.0, 0.05, 0.02, 0.0592, 0.2, 0.28],
    student_loss=[0.0, 0.05, 0.0, 0.04, 0.0, 0.1],
)


@pytest.mark.parametrize(
    ("limit", "candidates"),
    [
        # 2 beats 1, but has a limit of 8 leaves.
        (None, {"within-tolerance": 1, "best-score": 2, "most-stable": 5}),
        (12, {"within-tolerance": 1, "best-score": 2, "most-stable": 5}),
        (8, {"within-tolerance": 3, "best-score": 2, "most-stable": 5}),
        (4, {"within-tolerance": 4, "best-score": 4, "most-stable": 5}),
    ],
)
def test_every_rule_takes_a_tree_up_to_the_limit(limit: int | None, candidates: dict[str, int]):
    found = {rule: chosen(rule, SIZED, max_leaf_nodes=limit).candidate for rule in candidates}
    assert found == candidates


def test_a_tolerance_is_counted_from_the_student_of_the_largest_limit():
    assert chosen("within-tolerance", SIZED, max_leaf_nodes=4, tolerance=0.1).candidate == 5
    assert chosen("within-tolerance", SIZED, max_leaf_nodes=8, tolerance=0.03).candidate == 2


consensus_points = st.lists(
    st.tuples(
        st.sampled_from((0.0, 0.5, 1.0, 2.0, 2.5, 8.0)),  # instability
        st.sampled_from((0.5, 0.6, 0.61, 0.7, 0.9)),  # score
        st.sampled_from((0.0, 0.01, 0.05, 0.06, 0.1, 0.4)),  # lost
        st.sampled_from((4, 8, 12)),  # limit
    ),
    min_size=1,
    max_size=12,
)


@given(consensus_points, tolerances)
def test_rule_sentence_table_and_plot_agree_on_a_tree_that_none_in_the_table_beats(
    drawn: Any, tolerance: float
):
    d, a, lost, limit = map(list, zip(*drawn, strict=True))
    columns = {"teacher_loss": lost, "student_loss": lost, "max_leaf_nodes": limit}
    frontier = replace(frontier_of_points(d, a, **columns), metric=AUC)
    choice = chosen("within-tolerance", frontier, tolerance=tolerance)
    table = choice.frontier
    assert table is not None
    place = choice.candidate
    order = shown_order(table).tolist()
    assert place in order
    # The rule, slowly: of the largest limit, within the tolerance, the most stable.
    largest = [i for i in range(len(d)) if limit[i] == max(limit)]
    most = max(tolerance, min(lost[i] for i in largest)) + 1e-9
    near = [i for i in largest if lost[i] <= most]
    expected = min(near, key=lambda i: (d[i], -a[i]))
    assert (limit[place], d[place], a[place]) == (limit[expected], d[expected], a[expected])
    as_good = [i for i in order if d[i] <= d[place] and a[i] >= a[place] and i in near]
    assert all((d[i], a[i]) == (d[place], a[place]) for i in as_good)
    is_dominated = dominated(d, a)[place]  # by trees of another size, or that lose more than is allowed
    assert ("is more stable and better" in choice.reason) == is_dominated
    assert "beats it" not in choice.reason
    marked = [line for line in repr(table).splitlines() if line.split()[1:2] == ["*"]]
    assert [int(line.split()[0]) for line in marked] == [place]
    display = FrontierDisplay.from_result(table)
    pyplot.close(display.figure_)
    names = display.names
    assert [at for at, name in names.items() if name.startswith("chosen")] == [place]
    # The line of the plot goes through the trees that are compared, the chosen one among them.
    free = [
        i
        for i, out in zip(near, dominated([d[i] for i in near], [a[i] for i in near]), strict=True)
        if not out
    ]
    line = [(d[i], a[i]) for i in display.efficient.tolist()]
    assert set(line) == {(d[i], a[i]) for i in free}
    assert (d[place], a[place]) in line
    assert (display.left_out != "") == (len(near) < len(d))
    # The same tree by its number: the sentence is that of the rule.
    named = chosen("within-tolerance", frontier, tolerance=tolerance, candidate=place)
    assert named.frontier.unbeaten.tolist() == table.unbeaten.tolist()
    assert ("is more stable and better" in named.reason) == is_dominated


@given(consensus_points, tolerances, st.integers(0, 11))
def test_a_named_tree_is_beaten_by_trees_of_its_size_and_tolerance(drawn: Any, tolerance: float, number: int):
    d, a, lost, limit = map(list, zip(*drawn, strict=True))
    number %= len(d)
    columns = {"teacher_loss": lost, "student_loss": lost, "max_leaf_nodes": limit}
    reason = chosen(
        "within-tolerance", frontier_of_points(d, a, **columns), tolerance=tolerance, candidate=number
    ).reason
    same = [i for i in range(len(d)) if limit[i] == limit[number]]
    most = max(tolerance, min(lost[i] for i in same)) + 1e-9
    better = [
        i
        for i in range(len(d))
        if d[i] <= d[number] and a[i] >= a[number] and (d[i], a[i]) != (d[number], a[number])
    ]
    beating = [i for i in better if i in same and lost[i] <= most]
    found = re.search(r"Candidate (\d+) beats it", reason)
    assert (found is not None) == bool(beating)
    assert found is None or int(found[1]) in beating
    other = re.search(r"Candidate (\d+), which (has|loses) .* is more stable and better", reason)
    assert (other is not None) == bool(better and not beating)


# -- a candidate by its number ------------------------------------------------------------------------------


@given(points, st.integers(0, 9))
def test_any_candidate_can_be_taken_and_the_reason_names_one_that_beats_it(drawn: Any, number: int):
    d, a = zip(*drawn, strict=True)
    frontier = frontier_of_points(d, a)
    number %= len(d)
    choice = choose(frontier, AUC, SelectionRule(candidate=number))
    assert (choice.candidate, choice.selection_rule) == (number, "candidate")
    assert ("beats it" in choice.reason) == dominated(d, a)[number]
    assert number in shown_order(choice.frontier).tolist()


@pytest.mark.parametrize(
    ("number", "words"), [(5, "candidates 0 to 4"), (-1, "0 to 4"), (1.5, "must be an integer")]
)
def test_a_candidate_that_is_not_there_is_refused(number: Any, words: str):
    with pytest.raises(ParameterError, match=words):
        choose(STEPS, AUC, SelectionRule(candidate=number))


def test_within_a_tolerance_of_the_score_smaller_trees_are_as_welcome():
    choice = chosen("within-tolerance", SIZED, tolerance=0.06, tolerance_unit="absolute")
    assert choice.candidate == 3  # 0.86 is within 0.06 of 0.91


def test_some_of_the_candidates_are_compared_among_themselves_alone():
    small = SIZED.subset(np.array([0, 1, 3]))
    assert small.efficient.tolist() == [True, True, True]
    assert SIZED.efficient.tolist() == [False, False, True, True, True, True]
    assert small.sizes == [8, 12]
    assert small.size_adjusted == pytest.approx(np.ones(3))


@pytest.mark.parametrize(
    ("limit", "words"), [(6, "at most 4, 8, 12 leaves: choose one"), (2.5, "must be an integer")]
)
def test_a_size_that_is_not_there_is_refused(limit: Any, words: str):
    with pytest.raises(ParameterError, match=words):
        chosen("best-score", SIZED, max_leaf_nodes=limit)
    with pytest.raises(ParameterError, match="fit again with max_leaf_nodes=4"):
        chosen("best-score", max_leaf_nodes=4)
