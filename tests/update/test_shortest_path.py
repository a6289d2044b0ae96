"""The shortest path over stages, against all sequences there are."""

from itertools import pairwise, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.update.sequence_fit import shortest_path

Lattice = tuple[np.ndarray, list[np.ndarray], np.ndarray]


@st.composite
def lattices(draw: st.DrawFn) -> Lattice:
    """Up to four stages and candidates; numbers with few values, so that there are ties."""
    n_stages, n_candidates = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    losses = rng.integers(-2, 9, (n_stages, n_candidates)) / 8
    distances = [rng.integers(0, 5, (n_candidates, n_candidates)) / 4 for _ in range(n_stages - 1)]
    allowed = rng.random((n_stages, n_candidates)) < 0.7
    allowed[:, rng.integers(n_candidates)] = True
    return losses, distances, allowed


def figures(lattice: Lattice, path: tuple[int, ...]) -> tuple[float, float]:
    losses, distances, _ = lattice
    moves = [links[pair] for links, pair in zip(distances, pairwise(path), strict=True)]
    return sum(losses[stage, each] for stage, each in enumerate(path)), sum(moves)


def best_of_all(lattice: Lattice, weight: float) -> list[int]:
    """Every sequence: the shortest, then the one that moves less, then the lowest numbers from the end."""
    losses, _, allowed = lattice
    paths = product(*(np.flatnonzero(allowed[stage]).tolist() for stage in range(len(losses))))

    def key(path: tuple[int, ...]) -> tuple[float, float, tuple[int, ...]]:
        lost, moved = figures(lattice, path)
        return lost + weight * moved, moved, path[::-1]

    return list(min(paths, key=key))


@given(lattices(), st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0]))
def test_it_is_the_best_of_all_sequences_ties_included(lattice: Lattice, weight: float) -> None:
    losses, distances, allowed = lattice
    assert shortest_path(losses, distances, weight, allowed) == best_of_all(lattice, weight)


@given(lattices(), st.floats(0, 3), st.floats(0, 3))
def test_the_more_movement_costs_the_less_there_is(lattice: Lattice, one: float, other: float) -> None:
    losses, distances, allowed = lattice
    cheap, dear = sorted((one, other))
    (lost, moved), (more_lost, less_moved) = (
        figures(lattice, tuple(shortest_path(losses, distances, weight, allowed))) for weight in (cheap, dear)
    )
    assert less_moved <= moved + 1e-9
    assert more_lost >= lost - 1e-9


@given(lattices())
def test_where_movement_costs_nothing_every_stage_has_its_least_loss(lattice: Lattice) -> None:
    losses, distances, allowed = lattice
    path = shortest_path(losses, distances, 0.0, allowed)
    least = np.where(allowed, losses, np.inf).min(axis=1)
    assert losses[np.arange(len(path)), path].tolist() == least.tolist()


def test_a_move_pays_once_it_saves_more_than_it_costs_over_the_stages_that_are_left() -> None:
    losses = np.array([[0.0, 0.9], [0.2, 0.0], [0.2, 0.0]])
    far = np.array([[0.0, 10.0], [10.0, 0.0]])
    everything = np.ones((3, 2), bool)
    assert shortest_path(losses, [far, far], 0.039, everything) == [0, 1, 1]  # .39 for .4
    assert shortest_path(losses, [far, far], 0.041, everything) == [0, 0, 0]  # .41 for .4


def test_weights_that_are_huge_are_no_trouble() -> None:
    losses, links = np.array([[0.0, 0.5], [0.5, 0.0]]), np.array([[1e-3, 300.0], [300.0, 0.0]])
    assert shortest_path(losses, [links], 1e9, np.ones((2, 2), bool)) == [1, 1]
