"""The paper's method: one holdout, candidates as they were grown, scores as they were measured there."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from holdfast._random import Branch
from holdfast.data.resampling import Units
from holdfast.data.row_order import canonicalize_rows
from holdfast.data.table import Table
from holdfast.distance.distance import tree_distance
from holdfast.errors import ParameterError
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.stable.settings import StabilitySettings
from holdfast.stable.train import StableTrees, prepare_training_set, train
from holdfast.tree.tree import Tree
from reference.resampling import draw_counts

N_ROWS = 120
RULES = GrowthRules(max_depth=2)
PAPER = StabilitySettings(RULES, {"max_depth": [2]}, method="paper", n_estimators=6, seed=3)

random = np.random.default_rng(7)
X = random.normal(size=(N_ROWS, 3))
ILL = np.where(X[:, 0] + 0.8 * random.normal(size=N_ROWS) > 0, "ill", "well")
DAYS = X[:, 0] + 0.5 * random.normal(size=N_ROWS)
TABLE = Table.from_arrays(X, ILL)
HOLDOUT = np.arange(N_ROWS) % 4 == 1


def tree_bits(tree: Tree) -> tuple[bytes, ...]:
    names = ("feature", "threshold", "left", "right", "value", "weight")
    return tuple(getattr(tree, name).tobytes() for name in names)


def all_bits(trained: StableTrees) -> list[Any]:
    trees = [*trained.references.trees, *trained.candidates.trees]
    return [[tree_bits(tree) for tree in trees], trained.frontier.columns()]


def by_hand(table: Table, rows: np.ndarray, branch: int, number: int) -> Tree:
    """Tree `number` of a collection: grown on a table of the rows that were drawn for it."""
    counts = draw_counts(rows.astype(np.int32), Units.of(table), (PAPER.seed, branch, number))
    return grow(table.subset(np.repeat(np.arange(table.n_rows), counts)), RULES)


def in_order(holdout: np.ndarray) -> tuple[Table, np.ndarray]:
    """The table and the holdout in the order that training gives them."""
    table, (flags,), _ = canonicalize_rows(TABLE, [holdout.astype(np.int64)])
    return table, flags == 1


# -- every step by hand -----------------------------------------------------------------------------------


def test_trees_distances_and_scores_are_the_seed_s_on_a_holdout_of_one_s_own():
    trained = train(TABLE, PAPER, holdout=HOLDOUT)
    table, holdout = in_order(HOLDOUT)
    early = prepare_training_set(TABLE, PAPER, holdout=HOLDOUT).division.early
    references = [by_hand(table, early, Branch.REFERENCE_TREES, number) for number in range(6)]
    candidates = [by_hand(table, ~holdout, Branch.CANDIDATE_TREES, number) for number in range(6)]
    assert list(map(tree_bits, trained.references.trees)) == list(map(tree_bits, references))
    assert list(map(tree_bits, trained.candidates.trees)) == list(map(tree_bits, candidates))
    for place, tree in enumerate(candidates):
        distances = [tree_distance(tree, each, depth=2, label_weight=4.0).total for each in references]
        assert trained.frontier.instability[place] == pytest.approx(np.mean(distances))
        score = roc_auc_score(ILL[HOLDOUT] == "well", tree.predict_proba(X[HOLDOUT])[:, 1])
        assert trained.frontier.score[place] == pytest.approx(score)


def test_numbers_are_scored_on_the_holdout_too():
    settings = replace(PAPER, rules=GrowthRules("squared_error", max_depth=2))
    trained = train(Table.from_arrays(X, DAYS), settings, holdout=HOLDOUT)
    scores = [r2_score(DAYS[HOLDOUT], tree.predict(X[HOLDOUT])) for tree in trained.candidates.trees]
    assert trained.frontier.score == pytest.approx(np.array(scores))


def test_scores_are_as_measured_with_the_error_that_they_were_measured_with():
    trained = train(TABLE, replace(PAPER, n_estimators=40))
    assert trained.frontier.score.tolist() == trained.frontier.measured_score.tolist()
    assert trained.frontier.score_error.tolist() == trained.frontier.measured_error.tolist()
    assert trained.reliability == 1.0


def test_refitting_and_shrinking_are_not_the_paper_s_business():
    plain = all_bits(train(TABLE, PAPER))
    for change in ({"refit_leaves": False}, {"shrink_scores": False}):
        assert all_bits(train(TABLE, replace(PAPER, **change))) == plain


# -- which rows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("validation", "n_held_out"), [("auto", 40), (0.25, 30)])
def test_one_part_of_the_rows_is_held_out_and_half_of_the_others_are_early(validation: Any, n_held_out: int):
    division = prepare_training_set(TABLE, replace(PAPER, validation=validation)).division
    (holdout,) = division.validation
    assert holdout.sum() == n_held_out
    assert not (holdout & division.early).any()
    assert division.early.sum() == (N_ROWS - n_held_out) / 2


def test_the_holdout_is_plainly_random_so_that_shares_of_the_classes_vary():
    shares = set()
    for seed in range(10):
        rows = prepare_training_set(TABLE, replace(PAPER, seed=seed))
        shares.add(int(rows.table.target[rows.division.validation[0]].sum()))
    assert len(shares) > 2


def test_groups_are_held_out_as_a_whole():
    rows = prepare_training_set(TABLE, PAPER, groups=np.arange(N_ROWS) // 4)
    (holdout,) = rows.division.validation
    assert rows.groups is not None
    assert not set(rows.groups[holdout]) & set(rows.groups[~holdout])


def test_stages_say_which_rows_are_early():
    rows = prepare_training_set(TABLE, PAPER, stage=np.arange(N_ROWS) // 40)
    assert rows.stage is not None
    assert np.array_equal(rows.division.early, rows.stage < 2)  # two of three equal stages hold a half


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(1).permutation(N_ROWS)
    turned = train(TABLE.subset(order), PAPER, holdout=HOLDOUT[order])
    assert all_bits(turned) == all_bits(train(TABLE, PAPER, holdout=HOLDOUT))


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
@pytest.mark.parametrize("n_rows", [1, 2, 3, 5])
def test_a_few_rows_are_enough(n_rows: int):
    table = Table.from_arrays(X[:n_rows], ILL[:n_rows])
    assert len(train(table, PAPER).frontier) == 6


# -- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("validation", [5, 0.0, 1.0, "half", True, None])
def test_folds_and_what_is_no_fraction_are_refused(validation: Any):
    with pytest.raises(ParameterError, match="is not for method='paper', which scores on one holdout"):
        train(TABLE, replace(PAPER, validation=validation))


def test_a_holdout_and_a_fraction_to_hold_out_are_one_too_many():
    with pytest.raises(ParameterError, match=r"validation=0\.25 and X_holdout both determine"):
        train(TABLE, replace(PAPER, validation=0.25), holdout=HOLDOUT)
