import pytest

from holdfast.plots.pruning import leaf_ticks


@pytest.mark.parametrize("most", [1, 2, 12, 13, 30, 31, 300, 2001, 10_000, 3_000_000])
def test_leaf_ticks_are_few_and_start_at_the_root(most: int) -> None:
    ticks = leaf_ticks(1, most)
    assert ticks == sorted(set(ticks))
    assert ticks[0] == 1
    assert most / 3.1 < ticks[-1] <= most
    assert len(ticks) <= 12
