"""The size of a consensus tree: twelve leaves, unless rows that it has not seen clearly support more."""

import numpy as np
import pytest

from holdfast import CART, SizeChoice, Table, grow
from holdfast.stable.consensus.size import SIZES, choose_size
from holdfast.stable.settings import StabilitySettings
from holdfast.stable.train import prepare_training_set


def choice_of(explained: list[float], error: list[float]) -> SizeChoice:
    """The choice among the sizes, which explain so much of held-out rows."""
    values = np.array(explained)
    return SizeChoice(np.array(SIZES), values, values - values[0], np.array(error))


@pytest.mark.parametrize(
    ("explained", "error", "size", "words"),
    [
        ([0.50, 0.50, 0.49], [0.0, 0.01, 0.01], 12, "do not fit held-out rows better"),
        ([0.50, 0.51, 0.515], [0.0, 0.001, 0.001], 12, "little better"),  # 97 % of .515 is .49955
        ([0.50, 0.60, 0.61], [0.0, 0.02, 0.02], 24, "48 leaves would add 0.01"),  # five standard errors
        ([0.50, 0.60, 0.61], [0.0, 0.04, 0.04], 12, "not clearly better"),  # 2.5 standard errors
        ([0.50, 0.60, 0.70], [0.0, 0.02, 0.02], 48, "0.5 -> 0.7"),
        ([-0.02, -0.03, -0.05], [0.0, 0.02, 0.02], 12, "do not fit held-out rows better"),
    ],
)
def test_more_leaves_must_explain_clearly_more(
    explained: list[float], error: list[float], size: int, words: str
):
    choice = choice_of(explained, error)
    assert choice.max_leaf_nodes == size
    assert words in choice.reason


def test_the_choice_is_a_table():
    frame = choice_of([0.5, 0.6, 0.7], [0.0, 0.01, 0.01]).to_frame("pandas")
    assert frame["max_leaf_nodes"].tolist() == [12, 24, 48]
    assert frame["chosen"].tolist() == [False, False, True]
    assert frame["difference"].tolist() == pytest.approx([0.0, 0.1, 0.2])


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_explained_and_its_paired_error_are_those_of_rows_not_seen(weighted: bool):
    """Against the squared errors of single rows, and the standard error of their mean difference."""
    chance = np.random.default_rng(0)
    X = chance.normal(size=(300, 2)).round(2)
    y = np.where(X[:, 0] + chance.normal(size=300) > 0, "yes", "no")
    weight = np.where(X[:, 1] > 0, 2.0, 1.0) if weighted else None
    rows = prepare_training_set(Table.from_arrays(X, y, weight), StabilitySettings())
    held_out = rows.division.validation[0]
    trees = [grow(rows.table.subset(~held_out), CART.replace(max_leaf_nodes=size)) for size in SIZES]
    choice = choose_size(rows, [(held_out, trees)])
    part, training = rows.table.subset(held_out), rows.table.subset(~held_out)
    counts = np.ones(part.n_rows) if part.weight is None else part.weight
    base = np.average(training.target, weights=training.weight)
    squares = [(tree.value[tree.apply(part), 1] - part.target) ** 2 for tree in trees]
    constant = np.average((base - part.target) ** 2, weights=counts)
    explained = [1 - np.average(each, weights=counts) / constant for each in squares]
    assert choice.explained == pytest.approx(explained)
    assert choice.difference == pytest.approx(np.array(explained) - explained[0])
    if not weighted:
        gains = [(squares[0] - each) / constant for each in squares]
        errors = [each.std(ddof=1) / np.sqrt(len(each)) for each in gains]
        assert choice.difference_error == pytest.approx(errors)
