"""A sequence of stages as a picture."""

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from holdfast import Feature, Schema, StableTreeClassifier, Target, Tree
from holdfast.plots.tree import GONE, MOVED, OTHER, SAME, StageCell, _columns
from holdfast.update.sequence import StageSequence
from reference.staged_rows import QUICK, split, years

SCHEMA = Schema(
    (
        Feature("age", low=0, high=100),
        Feature("bmi", low=10, high=60),
        Feature("ward", "nominal", categories=("A", "B", "C")),
    ),
    Target("outcome", ("died", "home")),
)


def leaf(fraction: float) -> dict[str, Any]:
    return {"value": [1 - fraction, fraction], "count": 10}


def asks(left: Any, right: Any, **question: Any) -> dict[str, Any]:
    return {**question, "left": left, "right": right}


@pytest.fixture(scope="module")
def known() -> StageSequence:
    data = years(3)
    model = StableTreeClassifier(**QUICK)
    return model.fit_stages(*split(data), stage=data["year"], strategy="shortest-path").stages_


def columns_of(sequence: StageSequence, *roots: Any) -> list[dict[int, StageCell]]:
    trees = [Tree.from_nodes(SCHEMA, root) for root in roots]
    stages = [replace(sequence.stages[min(number, 1)], tree=tree) for number, tree in enumerate(trees)]
    return _columns(replace(sequence, stages=tuple(stages)))


def states(column: dict[int, StageCell]) -> dict[int, tuple[str, str]]:
    return {place: (cell.text, cell.state) for place, cell in column.items()}


def test_it_is_well_formed_and_names_every_stage(known: StageSequence) -> None:
    root = ElementTree.fromstring(known.to_svg())
    texts = [each.text for each in root.iter() if each.tag.endswith("text")]
    assert {*known.labels} <= {*texts}
    assert all(f"{stage.distance:.2f}" in texts for stage in known.stages[1:])


def test_a_place_says_what_became_of_its_question(known: StageSequence) -> None:
    below = asks(leaf(0.1), leaf(0.9), feature="bmi", threshold=30)
    at_40 = asks(below, leaf(0.5), feature="age", threshold=40)
    at_45 = asks(below, leaf(0.5), feature="age", threshold=45)
    only = asks(leaf(0.4), leaf(0.5), feature="age", threshold=45)
    wards = asks(leaf(0.4), below, feature="ward", categories=["A"])
    first, second, third, fourth, fifth = columns_of(known, at_40, at_45, only, wards, wards)
    assert states(first) == {1: ("age <= 40", SAME), 2: ("bmi <= 30", SAME)}
    assert states(second) == {1: ("age <= 45", MOVED), 2: ("bmi <= 30", SAME)}
    assert states(third) == {1: ("age <= 45", SAME), 2: ("bmi <= 30", GONE)}
    assert states(fourth) == {1: ("ward = A", OTHER), 3: ("bmi <= 30", OTHER)}
    assert states(fifth) == {1: ("ward = A", SAME), 3: ("bmi <= 30", SAME)}


def test_a_set_of_categories_that_is_told_from_its_other_side_moves_no_place(known: StageSequence) -> None:
    below = asks(leaf(0.1), leaf(0.9), feature="bmi", threshold=30)
    one = asks(below, leaf(0.5), feature="ward", categories=["A"], missing_left=True)
    other = asks(leaf(0.5), below, feature="ward", categories=["B", "C"], missing_left=False)
    first, second = columns_of(known, one, other)
    assert second[2] == first[2] == StageCell("bmi <= 30", SAME, 1)
    assert second[1].state == SAME
