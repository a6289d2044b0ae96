"""All chance comes from one place, and no two uses of it share a stream."""

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast._random import Branch, derive_seed, derive_seeds, make_generator, stream_key, stream_keys

SOURCE = Path(__file__).parents[1] / "src" / "holdfast"
MAKERS = {"SeedSequence", "default_rng", "RandomState", "seed", "PCG64", "Philox"}


def chance_made_in(path: Path) -> list[str]:
    """Where a file makes a source of random numbers of its own."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        f"{path.relative_to(SOURCE).as_posix()}:{node.lineno}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in MAKERS
        and ast.unparse(node.value) in ("np.random", "numpy.random", "random")
    ]


def test_chance_is_made_in_one_module_only() -> None:
    found = [place for path in sorted(SOURCE.rglob("*.py")) for place in chance_made_in(path)]
    assert {place.split(":")[0] for place in found} == {"_random.py"}, found


def test_no_two_branches_share_a_number() -> None:
    assert len({int(branch) for branch in Branch.__members__.values()}) == len(Branch.__members__)


def test_the_numbers_of_branches_are_the_published_ones() -> None:
    """Models that were fitted before must come out the same again."""
    assert {0, 1, 2, 10, 11, 12, 20, 21, 30, 31, 32, 40, 41, *range(50, 57)} <= set(map(int, Branch))
    assert (Branch.EARLY_ROWS, Branch.REFERENCE_TREES, Branch.BAGS, Branch.ADABOOST_ROUNDS) == (0, 10, 50, 56)


@pytest.mark.parametrize("key", [(), (3,), (Branch.BAGS, 0), (Branch.BAGS, 0, 0)])
def test_streams_are_those_of_numpy(key: tuple[int, ...]) -> None:
    sequence = np.random.SeedSequence(7, spawn_key=tuple(int(number) for number in key))
    assert derive_seed(7, *key) == int(sequence.generate_state(1)[0])
    assert make_generator(7, *key).random() == np.random.Generator(np.random.PCG64(sequence)).random()


def test_every_step_down_a_branch_draws_other_numbers() -> None:
    keys = [(), (0,), (0, 0), (1,), (Branch.BAGS,), (Branch.BAGS, 0), (Branch.BAGS, 1), (Branch.BAGS, 0, 0)]
    assert len({derive_seed(0, *key) for key in keys}) == len(keys)


@given(
    st.integers(0, 2**200),
    st.integers(0, 3).flatmap(
        lambda length: st.lists(st.tuples(*[st.integers(0, 2**32 - 1)] * length), min_size=1, max_size=12)
    ),
)
def test_many_streams_are_those_of_numpy(seed: int, keys: list[tuple[int, ...]]) -> None:
    streams = [(seed, *key) for key in keys]
    sequences = [np.random.SeedSequence(seed, spawn_key=key) for key in keys]
    assert stream_keys(streams).tolist() == [int(s.generate_state(1, np.uint64)[0]) for s in sequences]
    assert derive_seeds(streams) == [int(s.generate_state(1)[0]) for s in sequences]


def test_streams_of_all_kinds_may_stand_in_one_list() -> None:
    streams = [(0,), (1, 2), (1, Branch.BAGS, 2**40), (2, 3), (2, 4), (2, 5)]
    assert stream_keys(streams).tolist() == [stream_key(*stream) for stream in streams]
    assert derive_seeds(streams) == [derive_seed(*stream) for stream in streams]
    assert stream_keys([]).tolist() == derive_seeds([]) == []
