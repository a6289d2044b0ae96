"""Results in a notebook: a sentence, then tables in one style, and nothing that a browser would run."""

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from test_result_tables import ACCURACY, frontier, sizes

from holdfast import BaggingClassifier, Table, TreeClassifier, explain_row, grow, tree_diff, tree_distance
from holdfast._view import MOST_ROWS, TextTable
from holdfast.ensembles.tree_correlation import tree_correlation
from holdfast.explain import price_of_edit
from holdfast.explain.feature_use import feature_use
from holdfast.explain.split_support import split_support
from holdfast.governance import ChangeRecord
from holdfast.governance.register import RegisterCheck
from holdfast.growth import grow_bootstraps
from holdfast.growth.rules import GrowthRules
from holdfast.stable.selection import SelectionRule, choose
from holdfast.tree.tree import Tree

EVIL = "<script>alert(1)</script>"
VOID = {"br", "meta", "rect", "line", "circle", "path", "polyline"}


class Tags(HTMLParser):
    """The tags of a view, each of which must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.found.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def data() -> Table:
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(90, 2))
    classes = np.where(rows[:, 0] + draw.normal(size=90) > 0, EVIL, "lived")
    import pandas as pd

    return Table.from_arrays(pd.DataFrame(rows, columns=[EVIL, "age"]), classes)


@pytest.fixture(scope="module")
def trees(data: Table) -> list[Tree]:
    return grow_bootstraps(data, GrowthRules(max_depth=2), 4)


def views(data: Table, trees: list[Tree]) -> dict[str, str]:
    """Every kind of result that needs no long fit."""
    tree = grow(data, GrowthRules(max_depth=2))
    forest = BaggingClassifier(n_estimators=3, random_state=0).fit(np.c_[np.arange(9.0)], [0, 1, 0] * 3)
    record = ChangeRecord(old_model=None, new_model="sha256:0123", who=EVIL, why="new ward", forced=True)
    found = {
        "frontier": frontier(),
        "choice": choose(frontier(), ACCURACY, SelectionRule("best-score")),
        "sizes": sizes(),
        "split support": split_support(tree, trees, []),
        "feature use": feature_use(trees),
        "correlation": tree_correlation(forest, np.c_[np.arange(9.0)]),
        "distance": tree_distance(tree, trees[0]),
        "diff": tree_diff(tree, trees[0], data),
        "price": price_of_edit(tree, trees[0], data),
        "record": record,
        "register": RegisterCheck("changes.jsonl", (record,)),
        "row": explain_row(tree, {EVIL: 0.1, "age": 0.2}),
    }
    return {name: each._repr_html_() for name, each in found.items()}


def test_every_view_is_one_block_with_a_head_over_each_table_and_no_script(
    data: Table, trees: list[Tree]
) -> None:
    for name, text in views(data, trees).items():
        tags = Tags(text)
        assert tags.open == [], name
        assert text.startswith('<div class="holdfast"><style>'), name
        assert "script" not in tags.found, name
        assert tags.found.count("table") == tags.found.count("thead") > 0, name
        assert text.count("<style>") == 1, name


def test_names_out_of_the_data_are_text(data: Table, trees: list[Tree]) -> None:
    told = views(data, trees)
    for name in ("split support", "feature use", "distance", "record", "register", "row"):
        assert "&lt;script&gt;" in told[name], name


def test_numbers_stand_on_the_right_and_words_on_the_left() -> None:
    rows = [["a tree", "0.9 ± 0.01", "9 of 12"], ["", "< 0.1 %", "-> 3"]]
    text = TextTable(["model", "score", "size"], rows).to_html()
    assert "<th>model</th>" in text
    assert re.findall(r'<th style="text-align:(\w+)', text) == ["right", "right"]


def test_a_heading_says_on_hover_what_it_means_and_the_taken_row_is_marked() -> None:
    table = TextTable(["tree", "instability"], [["a", "1"], ["b", "2"]], marked=[1], title="Two <trees>")
    text = table.to_html()
    assert 'title="mean distance to the reference trees' in text
    assert re.findall(r'<tr class="holdfast-marked"><td[^>]*>(\w)', text) == ["b"]
    assert "<caption>Two &lt;trees&gt;</caption>" in text


def test_the_choice_tells_its_reason_first_and_marks_its_candidate() -> None:
    chosen = choose(frontier(), ACCURACY, SelectionRule("best-score"))
    text = chosen._repr_html_()
    assert text.index(chosen.reason[:30]) < text.index("<table>")
    assert re.findall(r'<tr class="holdfast-marked"><td[^>]*>(\d+)', text) == [str(chosen.candidate)]


def test_a_choice_without_its_frontier_is_a_sentence() -> None:
    from dataclasses import replace

    chosen = replace(choose(frontier(), ACCURACY, SelectionRule("best-score")), frontier=None)
    assert "<table>" not in chosen._repr_html_()


def test_a_long_table_is_cut_and_says_how_to_have_it_all() -> None:
    text = sizes(60)._repr_html_()
    assert text.count("<tr") <= MOST_ROWS + 1
    assert "of 60 sizes; to_frame() has them all)" in text


def test_the_picture_of_the_sizes_stays() -> None:
    assert sizes().to_svg() in sizes()._repr_html_()


def test_an_estimator_keeps_the_view_of_scikit_learn() -> None:
    assert "sk-" in TreeClassifier()._repr_html_()
