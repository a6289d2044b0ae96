"""Edits by hand on small trees: what changes, what stays, what is refused, and what is kept on record."""

from typing import Any

import numpy as np
import pytest

from holdfast import Edit, Node, Schema, Table, Target, Tree, edited_nodes, grow
from holdfast.data.schema import Feature
from holdfast.errors import EditError, SchemaMismatch
from holdfast.growth.rules import GrowthRules
from holdfast.tree.check import check_tree
from holdfast.tree.edit import STALE

AGE = Feature("age", low=18.0, high=90.0)
WARD = Feature("ward", "nominal", categories=("A", "B", "C"))
GRADE = Feature("grade", "ordered", high=2.0, categories=("low", "middle", "high"))
OLD = Feature("age > 60", "question", categories=(False, True))
SCHEMA = Schema((AGE, WARD, GRADE, OLD), Target("lived", classes=("no", "yes")))

# age <= 50 ? (age <= 30 ? yes : no) : (ward in {A, B} ? no : yes)
NODES = [
    {"feature": "age", "threshold": 50, "left": 1, "right": 4},
    {"feature": "age", "threshold": 30, "left": 2, "right": 3, "missing_left": True},
    {"value": [1, 9], "count": 10},
    {"value": [6, 4], "count": 10},
    {"feature": "ward", "categories": ["A", "B"], "left": 5, "right": 6},
    {"value": [12, 8], "count": 20},
    {"value": [1, 4], "count": 5},
]
TREE = Tree.from_nodes(SCHEMA, NODES)
ROWS = [[25.0, "A", "low"], [40.0, "B", "low"], [60.0, "C", "high"], [70.0, "A", "high"]]


# -- questions --------------------------------------------------------------------------------------------


def test_a_threshold_moves_and_nothing_else_does() -> None:
    edited = TREE.with_threshold(1, 45)
    check_tree(edited)
    assert edited.threshold[1] == 45.0
    assert edited.missing_left[1]
    assert np.array_equal(np.delete(edited.threshold, 1), np.delete(TREE.threshold, 1), equal_nan=True)
    assert np.array_equal(edited.value, TREE.value)
    assert edited.predict(ROWS).tolist() == ["yes", "yes", "yes", "no"]


def test_categories_that_go_left_are_replaced() -> None:
    edited = TREE.with_categories(4, ["C"])
    check_tree(edited)
    assert edited.left_categories(4).tolist() == [False, False, True]
    assert edited.predict(ROWS[2:]).tolist() == ["no", "yes"]


def test_another_question_keeps_the_children() -> None:
    edited = TREE.with_split(0, "grade", categories=["low", "middle"], missing_left=True)
    check_tree(edited)
    assert (edited.feature[0], edited.threshold[0], edited.missing_left[0]) == (2, 1.5, True)
    assert edited.n_leaves == TREE.n_leaves
    asked = TREE.with_split(4, "age > 60")  # of a question, yes is what goes left
    check_tree(asked)
    assert asked.left_categories(4).tolist() == [False, True]
    numeric = TREE.with_split(4, "age", threshold=75)
    assert (numeric.set_start[4], len(numeric.in_set)) == (-1, 0)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda: TREE.with_threshold(0, 95), ["'age' from 18 to 90", "go to no"]),
        (lambda: TREE.with_threshold(0, 90), ["'age' from 18 to 90"]),
        (lambda: TREE.with_threshold(0, 17), ["go to yes"]),
        (lambda: TREE.with_threshold(1, 50), ["'age' from 18 to 50"]),
        (lambda: TREE.with_threshold(0, 25), ["node 1 below it has the split 'age <= 30'"]),
        (lambda: TREE.with_threshold(2, 25), ["Node 2 is a leaf"]),
        (lambda: TREE.with_threshold(7, 25), ["no node 7", "0 to 6"]),
        (lambda: TREE.with_threshold(-1, 25), ["no node -1"]),
        (lambda: TREE.with_threshold("1", 25), ["The node is '1'"]),  # type: ignore[arg-type]
        (lambda: TREE.with_threshold(0, float("nan")), ["threshold on 'age' is nan"]),
        (lambda: TREE.with_threshold(4, 1), ["'ward' is nominal"]),
        (lambda: TREE.with_categories(0, ["A"]), ["'age' is numeric"]),
        (lambda: TREE.with_categories(4, ["D"]), ["no categories 'D'", "'A', 'B', 'C'"]),
        (lambda: TREE.with_categories(4, []), ["go to yes", "'A', 'B', 'C'"]),
        (lambda: TREE.with_categories(4, "A"), ["it is a list"]),
        (lambda: TREE.with_split(0, "weight", threshold=1), ["no 'weight'"]),
        (lambda: TREE.with_split(0, "grade", categories=["high"]), ["are not the first of"]),
        (lambda: TREE.prune_at(2), ["Node 2 is a leaf"]),
        (lambda: TREE.with_threshold(0, 45, by=7), ["by=7"]),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(edit: Any, words: list[str]) -> None:
    with pytest.raises(EditError) as refused:
        edit()
    assert all(word in str(refused.value) for word in words), refused.value


def test_whether_a_value_is_known_may_be_asked_if_missing_values_go_the_other_way() -> None:
    stump = Tree.from_nodes(SCHEMA, [NODES[0] | {"right": 2}, *NODES[2:4]])
    edited = stump.with_threshold(0, float("inf"))
    assert edited.apply([[20.0, "A", "low"], [None, "A", "low"]]).tolist() == [1, 2]
    with pytest.raises(EditError, match="go to no"):
        stump.with_split(0, "age", threshold=float("inf"), missing_left=True)


# -- subtrees and values ----------------------------------------------------------------------------------


def test_a_pruned_node_says_what_it_said() -> None:
    edited = TREE.prune_at(4)
    check_tree(edited)
    assert edited.n_leaves == 3
    assert edited.value[4].tolist() == TREE.value[4].tolist()
    assert edited.notes == ()  # its numbers are true


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.3, [0.3, 0.7]), ({"yes": 0.3}, [0.7, 0.3]), ({"no": 0.2, "yes": 0.8}, [0.2, 0.8]), (1, [1.0, 0.0])],
)
def test_a_leaf_is_given_a_value(value: Any, expected: list[float]) -> None:
    assert TREE.schema.target.positive == "no"  # whose probability a number is
    edited = TREE.with_leaf_value(3, value)
    check_tree(edited)
    assert edited.value[3] == pytest.approx(expected)
    assert np.array_equal(np.delete(edited.value, 3, 0), np.delete(TREE.value, 3, 0))


@pytest.mark.parametrize(
    "value", [1.5, -0.1, "yes", None, float("nan"), {"maybe": 1}, {"no": 0.5, "yes": 0.6}, {}, True]
)
def test_a_value_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(EditError):
        TREE.with_leaf_value(3, value)


def test_values_of_numbers_and_of_three_classes() -> None:
    number = Tree.from_nodes(Schema((AGE,), Target("stay")), [{"value": 3.0, "count": 5}])
    assert number.with_leaf_value(0, 4.5).value[0, 0] == 4.5
    three = Schema((AGE,), Target("ward", classes=("A", "B", "C")))
    leaf = Tree.from_nodes(three, [{"value": [1, 1, 2], "count": 4}])
    assert leaf.with_leaf_value(0, {"A": 0.5, "B": 0.25}).value[0] == pytest.approx([0.5, 0.25, 0.25])
    with pytest.raises(EditError, match="3 classes"):
        leaf.with_leaf_value(0, 0.3)


def test_a_tied_class_that_was_given_stays_at_other_nodes() -> None:
    tied = Tree.from_nodes(
        SCHEMA, [NODES[0] | {"right": 2}, {"value": [5, 5], "count": 10}, {"value": [1, 1], "count": 2}]
    )
    given = tied.replace(given_outcome=np.array([0, 1, 1], np.int32))
    edited = given.with_leaf_value(1, 0.3)
    check_tree(edited)
    assert edited.outcome.tolist() == [0, 0, 1]
    table = Table.from_arrays([*ROWS, *ROWS], ["no", "yes"] * 4, schema=SCHEMA)
    grown = given.grow_at(1, table, GrowthRules(max_depth=1))
    check_tree(grown)
    assert grown.outcome[[0, -1]].tolist() == [0, 1]


# -- on record --------------------------------------------------------------------------------------------


def test_every_edit_is_on_record_with_name_and_reason() -> None:
    edited = TREE.with_threshold(1, 35, by="Ada", why="the guideline", when="2026-05-01")
    before = Node("age", threshold=30.0, missing_left=True)
    after = Node("age", threshold=35.0, missing_left=True)
    record = Edit("threshold", "L", before, after, "Ada", "the guideline", "2026-05-01", stale=True)
    assert edited.edits == (record,)
    assert edited_nodes(edited) == (1,)
    assert edited.notes == (STALE,)
    assert str(edited.edits[0]) == "age <= 30 became age <= 35 (Ada, 2026-05-01: the guideline)"


def test_edits_in_several_steps_share_a_name() -> None:
    edited = TREE.edit(by="Ada").with_threshold(1, 35).prune_at(4).with_leaf_value(2, 0.5).tree
    assert [(edit.kind, edit.path, edit.by) for edit in edited.edits] == [
        ("threshold", "L", "Ada"),
        ("pruned", "R", "Ada"),
        ("value", "LL", "Ada"),
    ]
    assert edited_nodes(edited) == (1, 2, 4)


def test_an_edit_holds_until_its_node_is_changed_or_gone() -> None:
    once = TREE.with_threshold(1, 35)
    twice = once.with_threshold(1, 40)
    assert edited_nodes(twice) == (1,)
    assert [str(edit) for edit in twice.edits] == [
        "age <= 30 became age <= 35",
        "age <= 35 became age <= 40",
    ]
    gone = twice.prune_at(1)
    assert edited_nodes(gone) == (1,)
    assert gone.notes == ()  # no number is left behind any more
    assert edited_nodes(gone.prune_at(0)) == (0,)
    assert len(gone.prune_at(0).edits) == 4
    assert edited_nodes(twice.replace(threshold=TREE.threshold)) == ()


def test_edits_hold_on_another_schema() -> None:
    edited = TREE.with_categories(4, ["C"]).with_leaf_value(2, 0.5).prune_at(4)
    ward = Feature("ward", "nominal", categories=("0", "A", "B", "C", "D"))
    wider = Schema((ward, GRADE, AGE, OLD), Target("lived", classes=("?", "no", "yes")))
    moved = edited.with_schema(wider)
    check_tree(moved)
    assert edited_nodes(moved) == edited_nodes(edited) == (2, 4)
    categories = TREE.with_categories(4, ["C"])
    assert edited_nodes(categories.with_schema(wider)) == (4,)


# -- rows -------------------------------------------------------------------------------------------------


def test_rows_give_counts_everywhere_and_values_below_the_edit() -> None:
    table = Table.from_arrays(ROWS, ["no", "no", "yes", "no"], schema=SCHEMA)
    edited = TREE.with_threshold(1, 45, table)
    check_tree(edited)
    assert edited.count.tolist() == [4, 2, 2, 0, 2, 1, 1]
    assert edited.value[2].tolist() == [1.0, 0.0]  # both young ones died
    assert edited.value[3].tolist() == [0.6, 0.4]  # nobody is left there
    assert np.array_equal(edited.value[4:], TREE.value[4:])  # no question changed there
    assert (edited.notes, edited.edits[0].stale) == ((), False)


def test_rows_that_come_later_make_up_for_edits_without_rows() -> None:
    table = Table.from_arrays(ROWS, ["no", "no", "yes", "no"], schema=SCHEMA)
    edited = TREE.with_threshold(1, 45).with_categories(4, ["C"], table)
    assert edited.value[2].tolist() == [1.0, 0.0]
    assert edited.notes == ()
    assert not any(edit.stale for edit in edited.edits)
    assert edited_nodes(edited) == (1, 4)


def test_a_value_that_a_person_gave_outlasts_rows() -> None:
    table = Table.from_arrays(ROWS, ["no", "no", "yes", "no"], schema=SCHEMA)
    edited = TREE.with_leaf_value(2, 0.5, by="Ada").with_threshold(1, 45, table)
    assert edited.value[2].tolist() == [0.5, 0.5]
    assert edited.count[2] == 2
    assert edited_nodes(edited) == (1, 2)


def test_values_can_stay_where_rows_give_counts() -> None:
    table = Table.from_arrays(ROWS, ["no", "no", "yes", "no"], schema=SCHEMA)
    edited = TREE.edit(table, keep_values=True).with_threshold(1, 45).tree
    assert np.array_equal(edited.value, TREE.value)
    assert edited.count.tolist() == [4, 2, 2, 0, 2, 1, 1]
    assert edited.notes == ()


def test_rows_of_another_kind_are_refused() -> None:
    with pytest.raises(TypeError, match="make a table of them"):
        TREE.with_threshold(1, 45, ROWS)  # type: ignore[arg-type]
    other = Table.from_arrays(ROWS, ["no", "no", "yes", "no"])
    with pytest.raises(SchemaMismatch, match=r"schema=tree\.schema"):
        TREE.with_threshold(1, 45, other)
    classes = Table.from_arrays(
        ROWS, ["a", "b", "c", "c"], schema=Schema(SCHEMA.features, Target("y", ("a", "b", "c")))
    )
    with pytest.raises(SchemaMismatch, match="the classes"):
        TREE.with_threshold(1, 45, classes)


def test_growing_needs_rows_that_reach_the_node_and_can_be_split() -> None:
    table = Table.from_arrays(ROWS, ["no", "no", "yes", "no"], schema=SCHEMA)
    with pytest.raises(EditError, match="without rows"):
        TREE.edit().grow_at(1)
    with pytest.raises(EditError, match="none of the 1 rows"):
        TREE.grow_at(4, table.subset(np.array([0])))
    with pytest.raises(EditError, match="find no split"):
        TREE.grow_at(2, table)


def test_a_tree_without_edits_has_none() -> None:
    tree = grow(Table.from_arrays([[1.0], [2.0]], ["a", "b"]))
    assert (tree.edits, edited_nodes(tree)) == ((), ())
