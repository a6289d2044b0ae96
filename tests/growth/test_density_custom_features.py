"""Questions of the user about unlabelled rows: asked like others, and no part of the density."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from holdfast.data.table import Table
from holdfast.errors import CustomFeatureError
from holdfast.estimators.density import DensityTree
from holdfast.growth.density import DensityRules, grow_density
from holdfast.growth.density_model import prepare_rows
from reference import density as reference

SLANTED = "height - width > 1.5"


def slanted_groups(n_rows: int = 200) -> tuple[pd.DataFrame, Any]:
    """Two groups that only a slanted line divides, and the group of every row."""
    generator = np.random.default_rng(0)
    along, group = generator.uniform(0, 10, 2 * n_rows), np.repeat([0, 1], n_rows)
    height = along + 3 * group + generator.normal(0, 0.3, 2 * n_rows)
    return pd.DataFrame({"height": height, "width": along + generator.normal(0, 0.3, 2 * n_rows)}), group


def test_a_slanted_question_finds_what_no_threshold_can() -> None:
    frame, group = slanted_groups()
    without = DensityTree(covariance="full").fit(frame)
    model = DensityTree(covariance="full", custom_features=[SLANTED]).fit(frame)
    assert without.n_clusters_ != 2
    assert model.n_clusters_ == 2
    assert model.labels_.tolist() == group.tolist()
    assert f"IF   {SLANTED}\nTHEN cluster = 1" in model.rules()
    assert model.feature_importances_ == pytest.approx([0.5, 0.5])  # the question reads both
    assert model.n_features_in_ == 2
    assert model.predict(frame[["width", "height"]]).tolist() == group.tolist()


def test_the_gain_of_a_question_is_that_of_the_rows_it_divides() -> None:
    # The columns hold what the density is of: the answers are no third column.
    frame, _ = slanted_groups(30)
    asked = "height + width <= 9"
    table = Table.from_arrays(frame, np.zeros(60), task="regression", custom_features=[asked])
    data = prepare_rows(table)
    assert data.rows.numbers.shape == (60, 2)
    assert data.rows.codes.shape == (60, 0)
    density = grow_density(table, DensityRules(validation=None, max_leaf_nodes=2))
    rows = reference.Rows(
        data.rows.numbers, data.rows.codes, data.rows.weight, data.units.measurement_variance
    )
    best = max(
        [
            reference.gain(rows, data.table.columns[2] == 1.0),
            *(
                found.gain
                for column in data.table.columns[:2]
                if (found := reference.best_threshold(rows, column, 5)) is not None
            ),
        ]
    )
    goes_left = density.tree.apply(data.table) == density.tree.left[0]
    assert reference.gain(rows, goes_left) == pytest.approx(best)


def test_a_question_that_is_not_taken_changes_nothing() -> None:
    frame, _ = slanted_groups()
    useless = clone(DensityTree(custom_features=["height > 13"])).fit(frame)
    plain = DensityTree().fit(frame)
    assert useless.rules() == plain.rules()
    assert useless.score_samples(frame).tolist() == plain.score_samples(frame).tolist()
    assert [dict(cluster.mean) for cluster in useless.clusters_] == [
        dict(cluster.mean) for cluster in plain.clusters_
    ]


def test_the_density_is_the_same_mixture_with_and_without_the_answers() -> None:
    frame, _ = slanted_groups()
    model = DensityTree(covariance="full", custom_features=[SLANTED]).fit(frame)
    assert all(set(cluster.mean) == {"height", "width"} for cluster in model.clusters_)
    assert all(cluster.frequency == {} for cluster in model.clusters_)


def test_a_question_that_cannot_be_read_is_named() -> None:
    frame, _ = slanted_groups(20)
    with pytest.raises(CustomFeatureError, match="depth"):
        DensityTree(custom_features=["depth > 3"]).fit(frame)
