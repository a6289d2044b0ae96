"""Purity and normalised mutual information, by hand and against scikit-learn."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score

from holdfast.errors import DataError
from holdfast.scoring.scorers import nmi_score, purity_score

labels = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=40)


def test_purity_counts_the_most_frequent_group_of_every_cluster() -> None:
    # Cluster 0 holds x, x, o: 2. Cluster 1 holds o, o, d: 2. Cluster 2 holds d: 1. Together 5 of 7.
    assert purity_score(list("xxooodd"), [0, 0, 0, 1, 1, 1, 2]) == pytest.approx(5 / 7)


def test_information_is_a_share_of_the_mean_entropy() -> None:
    # Groups a, a, b, b and clusters 0, 0, 0, 1. Joint probabilities: a0 1/2, b0 1/4, b1 1/4.
    # I = 1/2 log(1/2 / (1/2 3/4)) + 1/4 log(1/4 / (1/2 3/4)) + 1/4 log(1/4 / (1/2 1/4)) = 0.215762; H =
    # log 2 = 0.693147 and 0.562335; I / 0.627741 = 0.343711.
    assert nmi_score(list("aabb"), [0, 0, 0, 1]) == pytest.approx(0.343711, abs=1e-6)


@given(labels)
def test_information_equals_scikit_learn(pairs: list[tuple[int, str]]) -> None:
    true, pred = [text for _, text in pairs], [number for number, _ in pairs]
    expected = normalized_mutual_info_score(true, pred, average_method="arithmetic")
    assert nmi_score(true, pred) == pytest.approx(expected, abs=1e-9)


def test_labels_of_any_kind_are_read() -> None:
    true = pd.Series(["x", "x", "y"], dtype="category")
    assert nmi_score(true, np.array([True, True, False])) == 1.0
    assert purity_score(true, [1.5, 1.5, 2.5]) == 1.0


@pytest.mark.parametrize(
    ("true", "pred", "message"),
    [
        ([0, 1], [0], "labels_true has 2 labels and labels_pred has 1"),
        ([], [], "labels_true is empty"),
        ([0, 1], ["a", None], "labels_pred has 1 missing labels, first at row 1"),
        ([[0, 1]], [0, 1], "labels_true should be a 1d array"),
    ],
)
def test_labels_that_cannot_be_compared_are_refused(true: Any, pred: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        purity_score(true, pred)
