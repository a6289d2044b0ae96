"""Small random tables and rules, rich in ties, for the tests of everything that grows trees."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast._arrays import FloatArray
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.growth.rules import CLASS_CRITERIA, GrowthRules

LABELS = ("a", "b", "c", "d", "e", "f")
VALUES = (-3.0, -0.5, 0.0, 0.25, 1.0, 7.0, 1e6)  # few, so that rows share them

whole_weights = st.sampled_from((0.0, 1.0, 1.0, 2.0, 3.0))
fractional_weights = st.sampled_from((0.0, 0.1, 0.3, 0.7, 1.0, 2.25)) | st.floats(0.01, 10.0)


@st.composite
def columns(draw: Any, n_rows: int, position: int) -> tuple[Feature, FloatArray]:
    """A feature and its values."""
    kind = draw(st.sampled_from(("numeric", "numeric", "ordered", "nominal", "bool")))
    name = f"x{position}"
    if kind == "numeric":
        feature, values = Feature(name, low=-3.0, high=1e6), list(VALUES[: draw(st.integers(1, len(VALUES)))])
    elif kind == "bool":
        feature, values = Feature(name, "nominal", categories=(False, True)), [0.0, 1.0]
    else:
        labels = LABELS[: draw(st.integers(1, len(LABELS)))]
        high = float(len(labels) - 1) if kind == "ordered" else 1.0
        feature = Feature(name, kind, high=high, categories=labels)
        values = [float(code) for code in range(len(labels))]
    if draw(st.booleans()):
        values.append(np.nan)
    return feature, np.array(draw(st.lists(st.sampled_from(values), min_size=n_rows, max_size=n_rows)))


@st.composite
def questions(draw: Any, n_rows: int) -> tuple[Feature, FloatArray]:
    """A question of the user and its answers, as if the columns had given them."""
    answers = st.lists(st.sampled_from((0.0, 1.0, np.nan)), min_size=n_rows, max_size=n_rows)
    return Feature("x0 == x0", "custom", categories=(False, True)), np.array(draw(answers))


@st.composite
def features(draw: Any, n_rows: int) -> tuple[tuple[Feature, ...], tuple[FloatArray, ...]]:
    """One to five features and their columns."""
    drawn = [draw(columns(n_rows, position)) for position in range(draw(st.integers(1, 4)))]
    if draw(st.booleans()):
        drawn.append(draw(questions(n_rows)))
    return tuple(feature for feature, _ in drawn), tuple(column for _, column in drawn)


@st.composite
def weights(draw: Any, n_rows: int, of_a_row: Any) -> FloatArray | None:
    """No weights, or weights of which one at least is above zero."""
    if of_a_row is None or draw(st.booleans()):
        return None
    given = draw(st.lists(of_a_row, min_size=n_rows, max_size=n_rows))
    given[draw(st.integers(0, n_rows - 1))] = 1.0
    return np.array(given)


@st.composite
def class_tables(draw: Any, most_rows: int = 40, of_a_row: Any = None, most_classes: int = 4) -> Table:
    """Tables whose target is a class; `of_a_row` are the weights a row may have, none where it is None."""
    n_rows, n_classes = draw(st.integers(1, most_rows)), draw(st.integers(1, most_classes))
    target = draw(st.lists(st.integers(0, n_classes - 1), min_size=n_rows, max_size=n_rows))
    schema_features, values = draw(features(n_rows))
    schema = Schema(schema_features, Target("y", LABELS[:n_classes]))
    return Table(schema, values, np.array(target, np.int32), draw(weights(n_rows, of_a_row)))


small_counts = st.integers(0, 4).map(float)
real_numbers = st.floats(-10.0, 10.0).map(lambda number: round(number, 6))
far_numbers = st.integers(0, 6).map(lambda step: 1e9 + step / 1024)  # a large offset and a tiny spread


@st.composite
def number_tables(draw: Any, target: Any = small_counts, most_rows: int = 40, of_a_row: Any = None) -> Table:
    """Tables whose target is a number."""
    n_rows = draw(st.integers(1, most_rows))
    numbers: NDArray[Any] = np.array(draw(st.lists(target, min_size=n_rows, max_size=n_rows)))
    schema_features, values = draw(features(n_rows))
    schema = Schema(schema_features, Target("y", low=float(numbers.min()), high=float(numbers.max())))
    return Table(schema, values, numbers, draw(weights(n_rows, of_a_row)))


@st.composite
def rules(draw: Any, /, criteria: tuple[str, ...] = tuple(CLASS_CRITERIA), **fixed: Any) -> GrowthRules:
    """Rules that say something about every limit but best-first growth."""
    limits = {
        "criterion": draw(st.sampled_from(criteria)),
        "max_depth": draw(st.none() | st.integers(1, 4)),
        "min_samples_split": draw(st.just(2) | st.integers(2, 8) | st.sampled_from((0.1, 0.5))),
        "min_samples_leaf": draw(st.just(1) | st.integers(1, 5) | st.sampled_from((0.05, 0.25))),
        "min_weight_fraction_leaf": draw(st.just(0.0) | st.sampled_from((0.03, 0.125, 0.25))),
        "min_impurity_decrease": draw(st.just(0.0) | st.sampled_from((0.0, 0.013, 0.1))),
        "min_relative_gain": draw(st.just(0.0) | st.sampled_from((0.0, 0.017, 0.3))),
    }
    return GrowthRules(**limits | fixed)
