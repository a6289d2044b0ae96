"""Replications: which rows serve what, the figures by hand, and the table."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from statistics import mean, stdev
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from holdfast._arrays import BoolArray
from holdfast.data.row_order import find_fixed_order
from holdfast.data.table import Table
from holdfast.distance.distance import mean_distance, tree_distance
from holdfast.errors import ParameterError
from holdfast.evaluate import replications
from holdfast.evaluate.replications import MODELS, Replications, Result, replicate
from holdfast.growth.rules import GrowthRules
from holdfast.stable.settings import StabilitySettings
from holdfast.stable.train import StableTrees

N_ROWS = 150
SMALL = StabilitySettings(method="bootstrap", rules=GrowthRules(max_depth=3), n_estimators=8)
PAPER = replace(SMALL, method="paper")
TREES, FOREST = MODELS[:4], MODELS[4]


def clinic(numbers: bool = False) -> Table:
    """Patients whose first column is their number, so that a row can be recognised wherever it goes."""
    random = np.random.default_rng(5)
    X = np.column_stack([np.arange(N_ROWS), random.normal(size=(N_ROWS, 3))])
    risk = X[:, 1] + X[:, 2] + random.normal(0, 0.5, N_ROWS)
    y: Any = risk if numbers else np.where(risk > 0, "ill", "well")
    return Table.from_arrays(X, y)


CLINIC = clinic()
FOUND = replicate(CLINIC, SMALL, n_replications=3)


def patients(table: Table) -> set[int]:
    return set(table.columns[0].astype(int).tolist())


# The clinic as `replicate` sees it: in one fixed order.
ORDERED = CLINIC.subset(find_fixed_order(CLINIC))
NUMBER = ORDERED.columns[0].astype(int)


class Record:
    """The calls of a function of the module, and what came back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self.results: list[Any] = []
        self.function: Callable[..., Any] = getattr(replications, name)
        monkeypatch.setattr(replications, name, self)

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.calls.append((args, options))
        self.results.append(self.function(*args, **options))
        return self.results[-1]


def bits(found: Replications) -> list[Any]:
    trees = [result.tree for result in found.results if result.tree is not None]
    return [found.columns(), [(t.feature.tolist(), t.value.tolist(), t.threshold.tobytes()) for t in trees]]


# -- rows -------------------------------------------------------------------------------------------------


def test_nothing_is_trained_on_test_rows_and_all_other_rows_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    held_out = Record(monkeypatch, "draw_test_rows")
    learners = [Record(monkeypatch, name) for name in ("train", "cart_by_cross_validation", "grow_forest")]
    replicate(CLINIC, SMALL, n_replications=3)
    assert len(held_out.results) == 3
    for number, test in enumerate(held_out.results):
        for learner in learners:
            learnt = patients(learner.calls[number][0][0])
            assert learnt == set(range(N_ROWS)) - patients(ORDERED.subset(test))


def test_test_rows_are_a_third_with_equal_shares_of_the_classes_and_differ_between_replications(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held_out = Record(monkeypatch, "draw_test_rows")
    replicate(CLINIC, SMALL, n_replications=3)
    ill = ORDERED.target == 0
    for test in held_out.results:
        assert test.sum() == pytest.approx(N_ROWS / 3, abs=2)
        assert (test & ill).sum() == pytest.approx(ill.sum() / 3, abs=1)
    assert len({test.tobytes() for test in held_out.results}) == 3


def test_groups_are_tested_as_a_whole_and_known_to_all_learners(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = np.arange(N_ROWS) // 3
    held_out = Record(monkeypatch, "draw_test_rows")
    learners = [Record(monkeypatch, name) for name in ("train", "cart_by_cross_validation", "grow_forest")]
    replicate(CLINIC, SMALL, n_replications=2, groups=[f"family {number}" for number in groups])
    for number, test in enumerate(held_out.results):
        family = NUMBER // 3
        assert not set(family[test]) & set(family[~test])
        for learner in learners:
            (table, _), options = learner.calls[number]
            families = np.unique(table.columns[0].astype(int) // 3, return_inverse=True)[1]
            assert [len(set(options["groups"][families == family])) for family in set(families)] == [1] * len(
                set(families)
            )


def test_stages_reach_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = Record(monkeypatch, "train")
    replicate(CLINIC, SMALL, n_replications=1, stage=np.where(np.arange(N_ROWS) < 60, 2009, 2011))
    (table, _), options = trained.calls[0]
    assert np.array_equal(options["stage"], table.columns[0] >= 60)


# -- figures ----------------------------------------------------------------------------------------------


def recorded(
    monkeypatch: pytest.MonkeyPatch, settings: StabilitySettings
) -> tuple[Any, StableTrees, BoolArray]:
    held_out, trained = Record(monkeypatch, "draw_test_rows"), Record(monkeypatch, "train")
    found = replicate(CLINIC, settings, n_replications=1)
    return found, trained.results[0], held_out.results[0]


def test_scores_are_those_of_scikit_learn_on_the_test_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _, test = recorded(monkeypatch, SMALL)
    rows = ORDERED.subset(test)
    for result in found.results[:4]:
        shares = result.tree.value[result.tree.apply(rows), 1]
        assert result.score == pytest.approx(roc_auc_score(rows.target == 1, shares))
    assert found.results[4].score > 0.85


def test_instability_is_the_mean_distance_of_the_delivered_tree_to_the_reference_trees(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, trained, _ = recorded(monkeypatch, SMALL)
    terms = {"label_weight": trained.distance_settings.label_weight, "depth": trained.distance_settings.depth}
    trees = [result.tree for result in found.results[:4]]
    by_hand = mean_distance(trees, trained.references.trees, **terms)
    assert [result.instability for result in found.results[:4]] == pytest.approx(by_hand.tolist())
    # Two to the power of the depth 3 paths, each at most 2 * 3 and the label weight 2 * 3 away.
    assert [result.normalised for result in found.results[:4]] == pytest.approx(by_hand / (8 * 12))
    one = trees[0]
    each = [
        tree_distance(one, other, **terms).total / max(one.n_leaves, other.n_leaves)
        for other in trained.references.trees
    ]
    assert found.results[0].per_rule == pytest.approx(mean(each))


def test_the_three_trees_of_the_frontier_are_what_their_names_say(monkeypatch: pytest.MonkeyPatch) -> None:
    found, trained, _ = recorded(monkeypatch, SMALL)
    best, stable, chosen = found.results[:3]
    frontier = trained.frontier
    assert best.choosing_score == frontier.score.max()
    assert stable.instability == pytest.approx(frontier.instability.min())
    assert chosen.choosing_score >= best.choosing_score - 0.01
    for result in (best, stable, chosen):
        (place,) = [i for i, tree in enumerate(trained.candidates.trees) if tree is result.tree]
        assert result.measured_score == frontier.measured_score[place]
    assert {result.frontier_size for result in found.results[:3]} == {len(frontier.efficient_order)}


def test_the_table_has_means_and_deviations_of_the_results() -> None:
    for row in FOUND.rows:
        results = FOUND.of(row.model)
        for name in ("score", "choosing_score", "instability", "normalised", "n_leaves", "frontier_size"):
            values = [getattr(result, name) for result in results]
            spread = getattr(row, name)
            assert (spread is None) == (None in values)
            if spread is not None:
                assert spread == (pytest.approx(mean(values)), pytest.approx(stdev(values)))


def test_the_trade_off_is_what_the_chosen_tree_brings_and_costs_in_each_replication() -> None:
    chosen = FOUND.of("chosen")
    assert [each.model for each in FOUND.trade_offs] == ["best score", "CART by cross-validation"]
    for each in FOUND.trade_offs:
        others = FOUND.of(each.model)
        nearer = [b.instability - a.instability for a, b in zip(chosen, others, strict=True)]
        lost = [b.score - a.score for a, b in zip(chosen, others, strict=True)]
        assert each.nearer == (pytest.approx(mean(nearer)), pytest.approx(stdev(nearer)))
        assert each.score_lost == (pytest.approx(mean(lost)), pytest.approx(stdev(lost)))
        assert each.fraction == pytest.approx(sum(nearer) / sum(b.instability for b in others))


# Score and instability of the chosen tree and of the others in each replication, and what is said of them.
SENTENCES: dict[str, tuple[list[tuple[float, float]], list[tuple[float, float]]]] = {
    "lower by 1.0 ± 0.0 (20.0 %), and its AUC is worse by 0.10 ± 0.00.": (
        [(0.8, 3.0), (0.7, 5.0)],
        [(0.9, 4.0), (0.8, 6.0)],
    ),
    "lower by 2.0 ± 1.4 (33.3 %), and its AUC is better by 0.10 ± 0.00.": (
        [(0.9, 3.0), (0.8, 5.0)],
        [(0.8, 4.0), (0.7, 8.0)],
    ),
    "higher by 1.0 ± 0.0 (25.0 %), and its AUC is worse by 0.10 ± 0.00.": (
        [(0.8, 4.0), (0.8, 6.0)],
        [(0.9, 3.0), (0.9, 5.0)],
    ),
    "lower by 1.0 (20.0 %), and its AUC is worse by 0.10.": ([(0.8, 4.0)], [(0.9, 5.0)]),
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_trade_off_in_a_sentence(sentence: str) -> None:
    chosen, others = SENTENCES[sentence]
    results = [
        Result(number, model, score, instability=instability)
        for number in range(len(chosen))
        for model in MODELS
        for score, instability in [(chosen if model == "chosen" else others)[number]]
    ]
    found = Replications(tuple(results), FOUND.metric, FOUND.distance_settings, {})
    assert found.sentences == (
        f"Compared with the tree of the best score, the instability of the chosen tree is {sentence}",
        f"Compared with CART by cross-validation, the instability of the chosen tree is {sentence}",
    )


def test_equal_trees_in_a_sentence() -> None:
    results = [
        Result(number, model, score, instability=instability)
        for number, (score, instability) in enumerate([(0.8, 4.0), (0.7, 5.0)])
        for model in MODELS
    ]
    found = Replications(tuple(results), FOUND.metric, FOUND.distance_settings, {})
    assert found.sentences == (
        "Compared with the tree of the best score, the chosen tree has the same instability and AUC.",
        "Compared with CART by cross-validation, the chosen tree has the same instability and AUC.",
    )


def test_between_is_the_mean_distance_of_trees_of_different_replications() -> None:
    for row in FOUND.rows[:4]:
        trees = [result.tree for result in FOUND.of(row.model)]
        each = [tree_distance(a, b, label_weight=6.0, depth=3).total for a, b in combinations(trees, 2)]
        assert row.between == pytest.approx(mean(each))


def test_importances_and_first_features_by_hand() -> None:
    for row in FOUND.rows:
        results = FOUND.of(row.model)
        by_feature = [values for values in zip(*(r.importances for r in results), strict=True) if any(values)]
        assert row.importance_spread == pytest.approx(mean(map(stdev, by_feature)))
    for row in FOUND.rows[:4]:
        roots = {int(result.tree.feature[0]) for result in FOUND.of(row.model)}
        assert row.first_features == len(roots)
        assert row.first_two_levels >= row.first_features


def test_a_forest_has_no_figure_of_a_single_tree() -> None:
    forest = FOUND.rows[4]
    assert forest.model == FOREST
    names = ("choosing_score", "instability", "normalised", "per_rule", "n_leaves", "depth", "between")
    assert [getattr(forest, name) for name in names] == [None] * len(names)
    assert forest.first_features is None


# -- the same bits ----------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bits_for_any_number_of_jobs() -> None:
    again, shared = (replicate(CLINIC, replace(SMALL, n_jobs=n), n_replications=3) for n in (None, 2))
    assert bits(FOUND) == bits(again) == bits(shared)


def test_a_replication_does_not_depend_on_how_many_there_are() -> None:
    fewer = replicate(CLINIC, SMALL, n_replications=2)
    assert [result.score for result in fewer.results] == [result.score for result in FOUND.results[:10]]


# -- the paper's protocol ---------------------------------------------------------------------------------


def test_the_paper_chooses_and_reports_on_the_same_third(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = Record(monkeypatch, "train_on_split")
    found = replicate(CLINIC, PAPER, n_replications=2)
    for (table, division, _), _ in trained.calls:
        (test,) = division.validation
        assert table.n_rows == N_ROWS
        assert test.sum() == N_ROWS / 3
        assert not (division.early & test).any()
        assert division.early.sum() == N_ROWS / 3  # half of the two thirds that are trained on
    for result in found.results:
        if result.choosing_score is not None:
            assert result.choosing_score == result.measured_score
            assert result.score == pytest.approx(result.choosing_score, rel=1e-11)


def test_the_paper_reports_the_best_score_of_all_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = Record(monkeypatch, "train_on_split")
    found = replicate(CLINIC, PAPER, n_replications=2)
    best = [each.frontier.score.max() for each in trained.results]
    assert [result.score for result in found.of("best score")] == pytest.approx(best, rel=1e-11)


def test_in_the_paper_s_protocol_stages_say_which_rows_are_early(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = Record(monkeypatch, "train_on_split")
    replicate(CLINIC, PAPER, n_replications=1, stage=np.arange(N_ROWS) >= 80)
    division = trained.calls[0][0][1]
    assert np.array_equal(division.early, NUMBER < 80)


# -- numbers, and the text --------------------------------------------------------------------------------


def test_numbers_have_replications_too() -> None:
    settings = StabilitySettings(
        method="bootstrap", rules=GrowthRules("squared_error", max_depth=3), n_estimators=8
    )
    found = replicate(clinic(numbers=True), settings, n_replications=2, groups=np.arange(N_ROWS) // 2)
    assert found.metric.name == "r2"
    assert found.rows[4].score.mean > 0.4  # the forest


def test_the_text_has_a_mean_and_a_deviation_of_every_figure_and_blanks_for_the_forest() -> None:
    lines = str(FOUND).splitlines()
    assert max(map(len, lines)) <= 100
    shown = next(line for line in lines if line.startswith("leaves")).replace("±", "").split()
    assert shown == ["leaves", *(f"{each:.2f}" for row in FOUND.rows[:4] for each in row.n_leaves)]


def test_a_single_replication_has_no_deviations() -> None:
    found = replicate(CLINIC, SMALL, n_replications=1)
    assert "±" not in str(found)
    assert found.rows[0].score.deviation == 0.0
    assert found.rows[0].between is None


def test_the_frame_has_one_row_per_model() -> None:
    frame = FOUND.to_frame("pandas")
    assert frame["model"].tolist() == list(MODELS)
    assert frame["score_deviation"].tolist() == [row.score.deviation for row in FOUND.rows]
    assert frame["n_leaves"].isna().tolist() == [False] * 4 + [True]


# -- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"n_replications": 0}, "n_replications=0 is out of range: it must be an integer of at least 1."),
        ({"test_fraction": 1.0}, "test_fraction=1.0 is out of range: it must be a fraction between 0 and 1."),
    ],
)
def test_what_makes_no_sense_is_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        replicate(CLINIC, SMALL, **option)
    assert str(caught.value) == message
