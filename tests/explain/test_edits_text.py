"""Edits in words, in drawings and pictures: the mark at the node, and the line that it stands for."""

from xml.etree import ElementTree

import numpy as np

from holdfast import Table, grow
from holdfast.explain import EditPrice, price_of_edit
from holdfast.scoring.metric import Score, make_metric
from holdfast.tree import Node
from holdfast.tree.rules_text import node_text
from holdfast.tree.tree import KNOWN
from reference.trees import NUMERIC, ORDERED, PRICE, QUESTION, SUBSET, SURVIVED
from snapshots import check_snapshot

SVG = "{http://www.w3.org/2000/svg}"
AGES, LIVED = [[20.0], [30.0], [48.0], [60.0]], ["no", "no", "yes", "yes"]
TREE = grow(Table.from_arrays(AGES, LIVED))


def test_a_mark_stands_at_both_answers_of_an_edited_question_and_its_line_below() -> None:
    table = Table.from_arrays(AGES, LIVED)
    edited = TREE.with_threshold(0, 50, table, by="Ada", why="the guideline").with_leaf_value(1, 0.4)
    assert str(edited).splitlines() == [
        "4 rows               y    p(yes)  rows  of all",
        "├─ x0 <= 50 [1] [2]  no   0.40       3  75.0 %",
        "└─ x0 > 50 [1] ····  yes  1.00       1  25.0 %",
        "[1] x0 <= 39 became x0 <= 50 (Ada: the guideline)",
        "[2] no with p = 0.67 became no with p = 0.60",
    ]


def test_a_drawing_with_numbers_has_the_mark_at_the_node_itself() -> None:
    edited = TREE.with_threshold(0, 45)
    assert edited.numbered().splitlines() == [
        "0  x0 <= 45? [1]",
        "1  yes: y = no, p(yes) = 0.00, 2 rows",
        "2  no:  y = yes, p(yes) = 1.00, 2 rows",
        "Note: Counts and values below an edited node are from before the edit: no rows were given to fit",
        "them to.",
        "[1] x0 <= 39 became x0 <= 45",
    ]


def test_an_edit_that_holds_no_longer_says_so() -> None:
    edited = TREE.with_threshold(0, 45).with_threshold(0, 50)
    assert "[1] x0 <= 39 became x0 <= 45; changed again since" in str(edited)
    assert "├─ x0 <= 50 [2]" in str(edited)


def test_rules_tell_of_edits() -> None:
    assert TREE.prune_at(0).rules().endswith("EDIT [1] x0 <= 39 was pruned to a leaf, no with p = 0.50")


def test_a_picture_has_the_mark_and_the_line() -> None:
    edited = TREE.with_threshold(0, 45, by="<Ada & Co>").with_leaf_value(2, 0.8)
    texts = [each.text for each in ElementTree.fromstring(edited.to_svg()).iter(f"{SVG}text")]
    assert "x0 [1]" in texts
    assert "predicts yes [2]" in texts
    assert "[1] x0 <= 39 became x0 <= 45 (<Ada & Co>)" in " ".join(map(str, texts))


def test_letters_that_do_not_show_are_spelt_out() -> None:
    edited = TREE.with_threshold(0, 45, by="A\nda", why="\x1b[31m")
    assert str(edited.edits[0]) == r"x0 <= 39 became x0 <= 45 (A\nda: \x1b[31m)"


def test_nodes_in_words() -> None:
    assert node_text(Node("age", threshold=KNOWN)) == "age is recorded"
    assert node_text(Node("ward", categories=("A",))) == "ward = A"
    assert node_text(Node("ward", categories=())) == "ward in {}"
    assert node_text(Node("zip", categories=tuple(range(30)))) == "zip in {0, 1, 2, 3, 4, … 25 more}"
    assert node_text(Node(value=3.25)) == "a leaf, 3.25"


def test_trees_of_every_kind_have_numbers() -> None:
    for tree in (NUMERIC, SUBSET, ORDERED, QUESTION, PRICE):
        lines = tree.numbered().splitlines()
        assert [int(line.split()[0]) for line in lines[: tree.n_nodes]] == list(range(tree.n_nodes))
        questions = [node for node, line in enumerate(lines[: tree.n_nodes]) if line.endswith("?")]
        assert questions == np.flatnonzero(tree.feature >= 0).tolist()


# -- the price --------------------------------------------------------------------------------------------


def price(difference: Score, flips: float, scoring: str = "auc") -> EditPrice:
    metric, same = make_metric(scoring, SURVIVED), Score(0.9, 0.01)
    new = Score(0.9 + difference.value, 0.01)
    changes = Score(flips, 0.0), Score(flips / 2, 0.0)
    return EditPrice(metric, same, new, difference, Score(0.0125, 0.0), *changes, 0.5, 1234)


def test_nothing_is_said_to_change_where_nothing_does() -> None:
    text = str(price_of_edit(TREE, TREE, AGES, LIVED))
    assert text.startswith("The edit does not change the AUC: 1.000 on 4 rows.")


def test_the_price_of_an_edit_is_told() -> None:
    cases = [
        (Score(-0.004, 0.003), 0.02, "auc"),
        (Score(0.02, 0.01), 0.0, "auc"),
        (Score(-0.02, 0.01), 0.0, "log_loss"),
        (Score(0.02, 0.01), 0.0, "log_loss"),
    ]
    check_snapshot("edit-price", "\n\n\n".join(str(price(*case)) for case in cases))
