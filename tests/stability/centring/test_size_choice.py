"""The size of a centred tree: the usual one, unless another clearly wins on rows that nobody has seen."""

from typing import Any

import numpy as np
import pytest
from holdfast.stability.centring.size_folds import N_FOLDS, SIZES, choose_size

from holdfast import CART, DataError, DataWarning, SizeChoice, Table, Tree, grow
from holdfast.data.schema import Target
from holdfast.scoring.metric import metric_of
from holdfast.scoring.predictions import predictions_for
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.training import prepare

ACCURACY = metric_of("accuracy", Target(classes=("no", "yes")))


def choice_of(difference: list[float], error: list[float]) -> SizeChoice:
    """The choice among sizes with these differences to the third, which has a score of 0.8."""
    scores = 0.8 + np.array(difference)[:, None] + np.array([-0.01, 0.01])
    return SizeChoice(
        sizes=np.array([4, 8, 12, 16]),
        scores=scores,
        error=np.full(4, 0.02),
        difference=np.array(difference),
        difference_error=np.array(error),
        metric=ACCURACY,
    )


@pytest.mark.parametrize(
    ("difference", "error", "size", "words"),
    [
        ([-0.1, -0.05, 0.0, -0.01], [0.01] * 4, 12, "no other size has a better mean accuracy."),
        (
            [-0.1, -0.05, 0.0, 0.01],
            [0.02, 0.02, 0.0, 0.02],
            12,
            "of 16 leaves is better by 0.01, which is no",
        ),
        ([-0.1, -0.05, 0.0, 0.03], [0.02, 0.02, 0.0, 0.02], 16, "16 leaves instead of the usual 12"),
        ([-0.1, 0.03, 0.0, 0.05], [0.02, 0.02, 0.0, 0.08], 8, "is better by 0.03, more than one"),
        ([0.05, 0.05, 0.0, 0.03], [0.02, 0.02, 0.0, 0.02], 4, "4 leaves instead"),  # the smaller of two
        ([0.0, 0.0, 0.0, 1e-14], [0.0, 0.0, 0.0, 0.0], 12, "no other size"),  # rounding is no difference
    ],
)
def test_another_size_must_win_by_more_than_one_standard_error(
    difference: list[float], error: list[float], size: int, words: str
):
    choice = choice_of(difference, error)
    assert choice.max_leaf_nodes == size
    assert words in choice.reason


def test_the_choice_is_a_table():
    frame = choice_of([-0.1, -0.05, 0.0, 0.03], [0.01] * 4).to_frame("pandas")
    assert frame["max_leaf_nodes"].tolist() == [4, 8, 12, 16]
    assert frame["chosen"].tolist() == [False, False, False, True]
    assert frame["score"].tolist() == pytest.approx(frame[["fold_1", "fold_2"]].mean(axis=1).tolist())


# -- folds ------------------------------------------------------------------------------------------------


def made_rows(n_rows: int = 120, **info: Any):
    chance = np.random.default_rng(0)
    X = chance.normal(size=(n_rows, 2)).round(2)
    y = np.where(X[:, 0] + chance.normal(size=n_rows) > 0, "yes", "no")
    return prepare(Table.from_arrays(X, y), StabilitySettings(), **info)


class Recorded:
    """Trees of each size, and the rows that they were grown on."""

    def __init__(self) -> None:
        self.tables: list[Table] = []
        self.trees: list[list[Tree]] = []

    def __call__(self, sizes: Any, table: Table, groups: Any) -> list[Tree]:
        self.tables.append(table)
        self.trees.append([grow(table, CART.replace(max_leaf_nodes=size)) for size in sizes])
        return self.trees[-1]


def test_scores_and_paired_errors_are_those_of_rows_not_seen():
    """Against the mean of what single rows gain, and its standard error, worked out by hand for accuracy."""
    rows, students = made_rows(), Recorded()
    choice = choose_size(rows, ACCURACY, students, StabilitySettings())
    assert len(students.trees) == N_FOLDS
    whole = list(zip(*(column.tolist() for column in rows.table.columns), strict=True))
    gains, squares = np.zeros((len(SIZES), N_FOLDS)), np.zeros((len(SIZES), N_FOLDS))
    seen = []
    for fold, (table, trees) in enumerate(zip(students.tables, students.trees, strict=True)):
        learnt = set(zip(*(column.tolist() for column in table.columns), strict=True))
        out = np.array([point not in learnt for point in whole])
        seen.append(out)
        part = rows.table.taken(out)
        hits = [predictions_for(ACCURACY, tree, part).argmax(axis=1) == part.target for tree in trees]
        for place, own in enumerate(hits):
            gain = own.astype(float) - hits[SIZES.index(12)]
            gains[place, fold] = gain.mean()
            squares[place, fold] = gain.var(ddof=1) / len(gain)
            assert choice.scores[place, fold] == pytest.approx(own.mean())
    assert (np.sum(seen, axis=0) == 1).all()  # every row is held out once
    assert choice.difference == pytest.approx(gains.mean(axis=1))
    assert choice.difference_error == pytest.approx(np.sqrt(squares.sum(axis=1)) / N_FOLDS)


def test_groups_are_never_divided():
    groups = np.repeat(np.arange(40), 3)
    rows, students = made_rows(groups=groups), Recorded()
    choose_size(rows, ACCURACY, students, StabilitySettings())
    places = {point: i for i, point in enumerate(zip(*(c.tolist() for c in rows.table.columns), strict=True))}
    for table in students.tables:
        learnt = [places[point] for point in zip(*(c.tolist() for c in table.columns), strict=True)]
        held_out = np.setdiff1d(np.arange(120), learnt)
        assert not set(rows.groups[learnt].tolist()) & set(rows.groups[held_out].tolist())


def test_a_scorer_of_others_is_paired_too():
    rows = made_rows()
    metric = metric_of("f1_macro", rows.table.schema.target)
    choice = choose_size(rows, metric, Recorded(), StabilitySettings())
    assert choice.difference == pytest.approx(choice.score - choice.score[choice.usual])
    assert choice.difference_error[choice.usual] == 0.0
    assert (choice.difference_error >= 0.0).all()


def test_folds_of_one_class_do_not_count_for_the_auc():
    y = np.array(["no"] * 27 + ["yes"] * 3)
    table = Table.from_arrays(np.arange(30.0)[:, None], y)
    rows, metric = prepare(table, StabilitySettings()), metric_of("auc", table.schema.target)
    with pytest.warns(DataWarning, match="2 of 5 folds hold out but one"):
        choice = choose_size(rows, metric, Recorded(), StabilitySettings())
    assert choice.scores.shape == (4, 3)


@pytest.mark.filterwarnings("ignore:the target has one class")
def test_of_one_class_the_usual_size_is_taken():
    table = Table.from_arrays(np.arange(30.0)[:, None], np.full(30, "yes"))
    rows, metric = prepare(table, StabilitySettings()), metric_of("auc", table.schema.target)
    assert choose_size(rows, metric, Recorded(), StabilitySettings()).max_leaf_nodes == 12


def test_one_row_has_no_folds():
    rows = prepare(Table.from_arrays([[1.0], [2.0]], ["no", "yes"]), StabilitySettings())
    one = prepare(rows.table.taken(np.array([True, False])), StabilitySettings(validation=None))
    with pytest.raises(DataError, match="one row only"):
        choose_size(one, ACCURACY, Recorded(), StabilitySettings())
