"""Large random tables: continuous and heavily tied columns, missing values, weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from holdfast._arrays import FloatArray
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table

NUMBERS: dict[str, Callable[[Generator, int], FloatArray]] = {
    "continuous": lambda rng, n: rng.normal(size=n),
    "shared values": lambda rng, n: np.round(rng.normal(size=n) * rng.choice([30, 100, 300])),
    "skewed": lambda rng, n: np.exp(rng.normal(size=n) * 2).round(2),
    "few values": lambda rng, n: rng.integers(0, rng.integers(2, 60), n).astype(float),
}
# Two classes and numbers: the shape of the target, from standardised scores.
TARGETS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "plain": lambda scores: scores,
    "whole": lambda scores: np.round(scores * 2),
    "far": lambda scores: scores + 1e9,
    "skewed": lambda scores: np.exp(scores * 2),
}


def numeric_column(rng: Generator, n_rows: int, name: str) -> tuple[Feature, FloatArray]:
    """A numeric feature of one of four shapes."""
    column = NUMBERS[rng.choice(list(NUMBERS))](rng, n_rows)
    return Feature(name, low=float(column.min()), high=float(column.max())), column


def nominal_column(rng: Generator, n_rows: int, name: str, n_categories: int) -> tuple[Feature, FloatArray]:
    """A nominal feature with this many categories."""
    column = rng.integers(0, n_categories, n_rows).astype(float)
    return Feature(name, "nominal", categories=tuple(range(n_categories))), column


def with_gaps(rng: Generator, column: FloatArray) -> FloatArray:
    """The column, in one case of three with missing values."""
    if rng.random() < 1 / 3:
        return np.where(rng.random(len(column)) < rng.choice([0.02, 0.2, 0.6]), np.nan, column)
    return column


def class_target(rng: Generator, scores: FloatArray, n_classes: int) -> tuple[NDArray[Any], Target]:
    """Classes of about equal size, or of very different ones."""
    is_even = rng.random() < 0.5
    shares = np.arange(1, n_classes) / n_classes if is_even else np.sort(rng.random(n_classes - 1))
    target = np.searchsorted(np.quantile(scores, shares), scores).astype(np.int32)
    return target, Target("y", classes=tuple(range(n_classes)))


def number_target(rng: Generator, scores: FloatArray, criterion: str) -> tuple[FloatArray, Target]:
    """Numbers of one of four shapes, or counts."""
    if criterion == "poisson":
        numbers = rng.poisson(np.exp(scores - 0.5)).astype(float)
    else:
        numbers = TARGETS[rng.choice(list(TARGETS))](scores)
    return numbers, Target("y", low=float(numbers.min()), high=float(numbers.max()))


def row_weights(rng: Generator, n_rows: int) -> FloatArray | None:
    """No weights, repetitions, or fractions."""
    kind = rng.choice(["none", "none", "whole", "fractions"])
    if kind == "none":
        return None
    return rng.integers(0, 4, n_rows).astype(float) if kind == "whole" else rng.random(n_rows) + 0.01


def large_table(
    rng: Generator, criterion: str, n_classes: int = 0, nominal: int = 0, n_rows: int = 0
) -> Table:
    """A table of 3,000 to 8,000 rows, or `n_rows`, and 3 to 6 features; the last of `nominal` categories."""
    n_rows, n_features = n_rows or int(rng.integers(3000, 8001)), int(rng.integers(3, 7))
    drawn = [numeric_column(rng, n_rows, f"x{position}") for position in range(n_features)]
    if nominal:
        drawn[-1] = nominal_column(rng, n_rows, f"x{n_features - 1}", nominal)
    scores = rng.choice([0.0, 0.3, 2.0]) * rng.normal(size=n_rows)
    for _, column in drawn:
        scores += rng.normal() * (column - column.mean()) / (column.std() + 1e-9)
    # Mild tails: an outlier of 1e15 would make the units of all other targets coarse.
    scores = np.clip(scores / scores.std(), -4.0, 4.0)
    target, kind = (
        class_target(rng, scores, n_classes) if n_classes else number_target(rng, scores, criterion)
    )
    features = tuple(feature for feature, _ in drawn)
    columns = tuple(with_gaps(rng, column) for _, column in drawn)
    return Table(Schema(features, kind), columns, target, row_weights(rng, n_rows))
