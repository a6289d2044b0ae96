"""Which structures a stage may use, and the losses and distances of a sequence of them."""

import numpy as np
import pytest

from holdfast.distance.costs import DistanceSettings
from holdfast.update.sequence_fit import SequenceCandidates


def made(
    losses: list[list[float]],
    origin: list[int],
    tolerance: float | None = None,
    regions: list[list[int]] | None = None,
) -> SequenceCandidates:
    """Structures without trees, each 1 away from every other."""
    table = np.array(losses)
    links = 1.0 - np.eye(table.shape[1])
    return SequenceCandidates(
        trees=(),
        origin=np.array(origin),
        losses=table,
        distances=(links,) * (len(table) - 1),
        settings=DistanceSettings("paper", "label", 10.0, 5, False),
        tolerance=tolerance,
        regions=np.zeros_like(table, np.int64) if regions is None else np.array(regions),
    )


def test_a_stage_may_use_structures_of_its_own_and_of_earlier_stages() -> None:
    found = made([[0.0] * 3] * 3, origin=[0, 1, 2])
    allowed = found.allowed(2, hindsight=False)
    assert allowed.tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_in_hindsight_every_stage_may_use_all_structures_up_to_the_last_stage() -> None:
    found = made([[0.0] * 3] * 3, origin=[0, 1, 2])
    assert found.allowed(1, hindsight=True).tolist() == [[True, True, False]] * 3
    assert found.allowed(2, hindsight=True).all()


def test_a_tolerance_leaves_out_what_loses_more_but_never_everything() -> None:
    found = made([[0.0, 0.05], [0.4, 0.3]], origin=[0, 0], tolerance=0.02)
    assert found.allowed(1, hindsight=False).tolist() == [[True, False], [False, True]]


def test_the_sequence_in_hindsight_may_be_better_and_one_decided_step_by_step_worse() -> None:
    # The second structure comes with the second stage, and is the best from then on.
    found = made([[0.0, 0.1], [0.3, 0.0], [0.3, 0.0]], origin=[0, 1])
    honest, free = (found.path(0.5, hindsight=hindsight) for hindsight in (False, True))
    assert (honest.structures, honest.loss, honest.movement) == ((0, 1, 1), 0.0, 1.0)
    assert (free.structures, free.loss, free.movement) == ((1, 1, 1), pytest.approx(0.1), 0.0)
    assert found.step_by_step(0.5) == [0, 0, 0]  # .3 of loss against .5 of movement, each time
    assert found.step_by_step(0.2) == [0, 1, 1]


def test_the_curve_has_the_requested_weight_and_falls() -> None:
    rng = np.random.default_rng(0)
    found = made(rng.random((5, 6)).tolist(), origin=[0] * 6)
    curve = found.curve(0.07, hindsight=False)
    weights, moved = [point.movement_weight for point in curve], [point.movement for point in curve]
    assert 0.07 in weights
    assert weights == sorted(weights)
    assert moved == sorted(moved, reverse=True)
    assert [point.loss for point in curve] == sorted(point.loss for point in curve)


def test_structures_follow_each_other_if_their_splits_agree_where_a_stage_has_no_rows() -> None:
    losses, regions = [[0.0, 0.1, 0.1], [0.9, 0.0, 0.5]], [[0, 0, 2], [0, 1, 0]]
    found = made(losses, origin=[0, 0, 0], regions=regions)
    assert found.allowed(1, hindsight=False).tolist() == [[True, True, False], [True, True, True]]
    assert found.step_by_step(0.01) == [0, 2]
    assert found.path(0.01, hindsight=False).structures == (1, 1)
    found = made(losses, origin=[0, 0, 0], tolerance=0.02, regions=regions)
    assert found.allowed(1, hindsight=False).tolist() == [[True, False, False], [False, True, True]]
    assert found.path(0.01, hindsight=False).structures == (0, 2)
