"""Frontiers made by hand: what matters is given, the rest is filled in."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from holdfast.stable.frontier import Frontier, pareto_frontier

LEFT_OUT = (
    "teacher_loss",
    "student_loss",
    "max_leaf_nodes",
    "size_reason",
    "chosen",
    "compared",
    "baseline",
)  # unless given


def frontier_of_points(
    instability: Sequence[float],
    score: Sequence[float],
    n_leaves: Sequence[int] | None = None,
    score_error: Sequence[float] | None = None,
    **consensus: Any,
) -> Frontier:
    """The frontier of candidates with these instabilities and scores, each of 4 leaves by default.

    `consensus` has the columns that consensus trees alone have.
    """
    d, a = np.array(instability, float), np.array(score, float)
    ones = np.ones(len(d))
    filled_in = {field.name: ones for field in fields(Frontier) if field.name not in LEFT_OUT}
    given = {
        "instability": d,
        "score": a,
        "score_error": ones * 0.02 if score_error is None else np.array(score_error),
        "n_leaves": np.full(len(d), 4) if n_leaves is None else np.array(n_leaves),
        "depth": np.full(len(d), 2),
        "combination": np.arange(len(d)) % 2,
        "division": np.arange(len(d)) % 3,
        "efficient": pareto_frontier(d, a),
    }
    return Frontier(**(filled_in | given), **{name: np.array(line) for name, line in consensus.items()})


def dominated(instability: Sequence[float], score: Sequence[float]) -> list[bool]:
    """By definition: is there another with at most the instability and at least the score, one strictly?"""
    points = list(zip(instability, score, strict=True))
    return [any(e <= d and b >= a and (e < d or b > a) for e, b in points) for d, a in points]
