"""Students grow the most useful split first, so that fewer leaves are the beginning of more."""

import numpy as np
import pytest

from holdfast import GrowthRules
from holdfast.data.resampling import Units
from holdfast.stable.consensus.distil import DistillationTask
from reference.consensus_search import small_task

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_a_student_cut_to_fewer_leaves_is_the_one_that_grows_no_further(n_classes: int) -> None:
    table, predictions = small_task(np.random.default_rng(n_classes), 120, n_classes)
    ones = np.ones(120, np.int32)

    def grown(most_leaves: int):
        rules = GrowthRules(max_leaf_nodes=most_leaves, min_samples_leaf=3)
        task = DistillationTask.of(table, predictions, ones, np.ones(120), rules)
        return [task.grow_student(), *task.grow_students(Units.of(table), (0, 10), 12, 1)]

    largest = grown(12)
    for size in (2, 5, 9, 12):
        for student, other in zip(largest, grown(size), strict=True):
            cut = student.prune_to_leaves(size)
            assert cut.n_leaves <= size
            for name in ("feature", "left", "right", "missing_left", "in_set", "count"):
                assert np.array_equal(getattr(cut, name), getattr(other.tree, name))
            assert np.array_equal(cut.threshold, other.tree.threshold, equal_nan=True)
            assert cut.value == pytest.approx(other.tree.value)


def test_a_student_is_cut_to_no_more_than_it_has() -> None:
    table, predictions = small_task(np.random.default_rng(1), 60, 2)
    task = DistillationTask.of(
        table, predictions, np.ones(60, np.int32), np.ones(60), GrowthRules(max_leaf_nodes=4)
    )
    student = task.grow_student()
    assert student.prune_to_leaves(9) is student.tree
    assert student.prune_to_leaves(1).n_leaves == 1
