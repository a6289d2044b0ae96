"""Measures of a pair, each by hand."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast import Table, grow
from holdfast.data.schema import Feature, Schema, Target
from holdfast.evaluate.audit import Records, mean_and_error
from holdfast.evaluate.fit import FittedModel
from holdfast.evaluate.measures import Retraining, join_schemas, measures_for
from holdfast.scoring.metric import TrueValues

TARGET = Target(classes=("no", "yes"))
BEFORE = np.array([0.9, 0.8, 0.4, 0.1])  # of "yes"
AFTER = np.array([0.7, 0.2, 0.6, 0.1])
TRUE = np.array([1, 1, 0, 0], np.int32)


def model(yes: np.ndarray, tree: object = None, seconds: float = 1.0) -> FittedModel:
    return FittedModel(np.column_stack([1 - yes, yes]), (yes > 0.5).astype(np.int32), tree, seconds)  # type: ignore[arg-type]


def measured(pair: Retraining) -> dict[str, float]:
    return {each.name: each.formula(pair) for each in measures_for(pair.truth.target.task)}


def test_four_rows_by_hand() -> None:
    found = measured(
        Retraining(model(BEFORE), model(AFTER, seconds=3.0), TrueValues(TARGET, TRUE), 10.0, 0.0)
    )
    assert found["churn"] == pytest.approx((0.2 + 0.6 + 0.2 + 0.0) / 4)
    assert found["flips"] == 2 / 4  # the second and the third
    assert found["negative_flips"] == 2 / 4  # both were right
    assert found["auc"] == pytest.approx((1.0 + 3 / 4) / 2)
    assert found["brier"] == pytest.approx(np.mean([np.mean((each - TRUE) ** 2) for each in (BEFORE, AFTER)]))
    # Of six pairs of rows one changes its order, that of the second and the third.
    assert found["rank_agreement"] == pytest.approx((5 - 1) / 6)
    assert found["seconds"] == 2.0
    assert found["identical"] == 0.0
    assert np.isnan(found["distance"])
    assert np.isnan(found["same_root"])


def test_weights_count_rows() -> None:
    weight = np.array([1.0, 0.0, 3.0, 0.0])
    found = measured(Retraining(model(BEFORE), model(AFTER), TrueValues(TARGET, TRUE, weight), 10.0, 0.0))
    assert found["flips"] == 3 / 4
    assert found["churn"] == pytest.approx(0.2)


def test_rows_of_one_class_have_no_auc() -> None:
    found = measured(
        Retraining(model(BEFORE), model(AFTER), TrueValues(TARGET, np.zeros(4, np.int32)), 10.0, 0.0)
    )
    assert np.isnan(found["auc"])
    assert found["flips"] == 0.5


def test_numbers_move_in_standard_deviations() -> None:
    truth = TrueValues(Target(), np.array([0.0, 2.0, 4.0]))
    one, two = (
        FittedModel(np.array([values]).T, None, None, 1.0) for values in ([0.0, 2.0, 4.0], [1.0, 2.0, 2.0])
    )
    found = measured(Retraining(one, two, truth, 10.0, 2.0))
    assert found["churn"] == pytest.approx((1 + 0 + 2) / 3 / 2)
    assert found["r2"] == pytest.approx((1 + (1 - 5 / 8)) / 2)
    assert "flips" not in found


def test_trees_by_hand() -> None:
    table = Table.from_arrays([[0.0], [30.0], [50.0], [100.0]], ["no", "no", "yes", "yes"])
    at_40 = grow(table)
    at_45 = at_40.replace(threshold=at_40.threshold + 5)
    truth = TrueValues(table.schema.target, table.target)
    found = measured(Retraining(model(BEFORE, at_40), model(BEFORE, at_45), truth, 10.0, 0.0))
    assert found["distance"] == pytest.approx(0.05)  # each of two leaves: 5 / (2 * 100)
    assert found["distance_per_leaf"] == pytest.approx(0.025)
    assert found["leaves"] == 2.0
    assert found["same_root"] == 1.0
    assert (found["identical"], found["same_rules"]) == (0.0, 0.0)
    same = measured(Retraining(model(BEFORE, at_40), model(BEFORE, at_40), truth, 10.0, 0.0))
    assert (same["identical"], same["same_rules"], same["distance"]) == (1.0, 1.0, 0.0)
    refilled = measured(Retraining(model(BEFORE, at_40), model(AFTER, at_40), truth, 10.0, 0.0))
    assert (refilled["identical"], refilled["same_rules"]) == (0.0, 1.0)


def test_two_schemas_are_joined_column_by_column() -> None:
    age, wide = Feature("age", low=20.0, high=60.0), Feature("age", low=30.0, high=90.0)
    ward = Feature("ward", "nominal", categories=("A",))
    joined = join_schemas(Schema((age,), TARGET), Schema((ward, wide), TARGET))
    assert joined.features == (replace(age, high=90.0), ward)


def test_the_error_of_one_is_not_known() -> None:
    assert mean_and_error(np.array([3.0]))[0] == 3.0
    assert np.isnan(mean_and_error(np.array([3.0]))[1])
    assert np.isnan(mean_and_error(np.array([np.nan])))[0]


def test_records_are_rows_of_a_frame() -> None:
    records = Records(({"name": "a", "n": 1, "x": 0.5}, {"name": "b", "n": 2, "x": float("nan")}))
    assert records[0]["name"] == "a"
    assert len(records[1:]) == 1
    assert list(records.to_frame()["n"]) == [1, 2]
    assert ">0.5</td>" in records._repr_html_()
    assert repr(Records(())) == "no records"
