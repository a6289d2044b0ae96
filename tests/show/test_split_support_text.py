"""What the text of a tree's split support says."""

from random import Random

import pytest

from holdfast.data.schema import Schema
from holdfast.errors import ParameterError
from holdfast.evidence.split_support import split_support
from holdfast.show.split_support import split_support_text
from holdfast.tree.tree import KNOWN, Tree
from reference.random_trees import FEATURES, OUTCOMES, QUESTION, random_tree
from reference.trees import AGE, FARE, HEAVY, PAIN, SEX, SLOPE, SURVIVED, Node, leaf, split, tree_of

COLUMNS = (AGE, FARE, SEX, PAIN, SLOPE, HEAVY)
NO, YES = leaf(10, 1.0, 0.0), leaf(10, 0.0, 1.0)


def made(root: Node) -> Tree:
    return tree_of(root, COLUMNS, SURVIVED)


def asking(feature: str, *answers: object) -> list[Tree]:
    """A tree of one question for each answer."""
    return [made(split(feature, answer, NO, YES)) for answer in answers]


NOTHING = made(leaf(10, 0.5, 0.5))
# age <= 50 ? (fare <= 20 ? no : yes) : (sex = male ? no : yes)
CHOSEN = made(split("age", 50.0, split("fare", 20.0, NO, YES), split("sex", ("male",), NO, YES)))


def text_of(tree: Tree, others: list[Tree], width: int = 80) -> list[str]:
    return split_support_text(split_support(tree, others, [tree]), width).splitlines()


def test_the_text_tells_who_asks_and_where_the_thresholds_lie() -> None:
    assert text_of(CHOSEN, [*asking("age", 45.25, 55.0), NOTHING]) == [
        "age <= 50          asked here by 67 % of reference and 100 % of candidate trees",
        "    threshold 45.25 to 55 (median 50) in all of them",
        "  yes: fare <= 20  asked here by  0 % of reference and 100 % of candidate trees",
        "      threshold 20 in the only one",
        "  no: sex = male   asked here by  0 % of reference and 100 % of candidate trees",
        "      each category goes the same way in all of them",
    ]


def test_from_twenty_trees_on_the_rarest_thresholds_are_left_out() -> None:
    trees = asking("fare", *(float(cut) for cut in range(1, 41)))
    text = split_support_text(split_support(trees[0], trees[:7], trees[7:]))
    assert "threshold 2 to 38 (median 20) in nine of ten of them" in text


def test_thresholds_that_differ_do_not_read_the_same() -> None:
    trees = asking("age", 50.00001, 50.00002)
    assert "threshold 50.00001 to 50.00002" in text_of(trees[0], trees[1:])[1]


def test_positions_between_ordered_categories_are_told_by_their_names() -> None:
    trees = asking("slope", 1.5, 0.5, 2.5)
    assert text_of(trees[0], trees[1:])[1] == (
        '    "at most down" to "at most up" (median "at most flat") in all of them'
    )
    below = asking("slope", -0.5)
    assert '"below down" in the only one' in text_of(below[0], [NOTHING])[1]


def test_trees_that_ask_whether_a_value_is_known_are_told_apart() -> None:
    known, fare = asking("fare", KNOWN, 20.0)
    assert "1 of them asks whether it is recorded; threshold 20 in the only one" in text_of(fare, [known])[1]
    assert text_of(known, [known])[1].strip() == "all of them ask whether it is recorded"


def test_the_categories_that_are_least_sure_of_their_side_are_named() -> None:
    chosen, *others = asking("pain", ("atypical", "none"), ("atypical",), ("atypical", "none", "other"))
    assert text_of(chosen, [*others, others[0]])[1] == (
        "    not always on the same side: none (50 %), other (75 %)"
    )


def test_a_question_of_the_user_takes_one_line() -> None:
    trees = asking(HEAVY.name, (True,))
    assert text_of(trees[0], trees) == [
        "bmi ** 2 < 900  asked here by 100 % of reference and 100 % of candidate trees"
    ]


def test_long_questions_leave_room_for_the_shares() -> None:
    lines = text_of(made(split("pain", ("atypical", "none", "other"), NO, YES)), [NOTHING])
    assert lines[0] == "pain in {atypical, none, other}  0 % of reference, 100 % of candidate trees"
    narrow = text_of(made(split("pain", ("atypical", "none", "other"), NO, YES)), [NOTHING], 72)
    assert narrow[0].startswith("pain in {atypical, none,  ")
    assert narrow[1] == "    other}"


def test_a_tree_without_splits_has_nothing_to_tell() -> None:
    assert split_support_text(split_support(NOTHING, [CHOSEN], [CHOSEN])).startswith("The tree asks nothing")


@pytest.mark.parametrize("width", [72, 80, 120])
@pytest.mark.parametrize("seed", range(4))
def test_no_line_is_longer_than_the_width(seed: int, width: int) -> None:
    schema = Schema((*FEATURES, QUESTION), OUTCOMES)
    trees = [random_tree(Random(10 * seed + number), schema, 15) for number in range(6)]
    trees = [tree for tree in trees if tree.n_nodes > 1]
    assert max(map(len, text_of(trees[0], trees[1:], width))) <= width


def test_a_text_too_narrow_to_read_is_refused() -> None:
    with pytest.raises(ParameterError, match="width=40 is out of range: it must be at least 72 columns"):
        split_support_text([], width=40)
