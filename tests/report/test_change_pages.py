"""The pages of updates, diffs, audits and comparisons, read without a browser."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from small_changes import MODEL_CARD, audit, comparison, diff, forbidden, kept, page_of, taken
from small_reports import ARABIC, HOSTILE, Outline

from holdfast import (
    ChangePolicy,
    Feature,
    ParameterError,
    Schema,
    Table,
    Target,
    Tree,
    tree_diff,
    write_report,
)
from holdfast.report.figures import Drawing
from holdfast.report.page import MOST_BYTES, ReportOptions
from holdfast.report.page import page_of as page_for
from snapshots import check_snapshot

PAGES = ["taken", "forbidden", "of_numbers", "diff", "audit", "comparison", "stages"]
PAIRS = ((0.2, 0.8), (0.7, 0.3))  # probabilities of two leaves
RECORD = (
    "policy",
    "performance",
    "data",
    "path",
    "use",
    "limits",
    "monitoring",
    "identity",
    "register",
    "sign-off",
)


def text_of(name: str) -> str:
    return page_of(name).read_text(encoding="utf-8")


def facts_of(name: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(page_of(name).with_suffix(".json").read_text(encoding="utf-8"))
    return facts


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_a_change_is_whole_small_and_asks_for_nothing(name: str) -> None:
    text = text_of(name)
    page = Outline(text)
    assert page.unclosed == page.open == []
    assert page.headings[:2] == [1, 2]
    assert all(after - before <= 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    assert len(page.ids) == len(set(page.ids))
    assert page_of(name).stat().st_size < MOST_BYTES / 2
    assert not re.findall(r"https?://(?!www\.w3\.org)", text)
    for tag, attributes in page.tags:
        if tag == "th":
            assert attributes["scope"] in ("col", "row")
        if tag == "svg":
            assert attributes["aria-label"]


@pytest.mark.parametrize("name", ["taken", "diff", "audit", "comparison"])
def test_names_of_others_are_text_and_nothing_else(name: str) -> None:
    text, page = text_of(name), Outline(text_of(name))
    assert "<script>alert" not in text
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert HOSTILE in page.said


def test_the_record_of_a_change_has_all_its_parts_and_its_sign_off_last() -> None:
    ids = list(facts_of("taken")["sections"])
    assert tuple(ids[-len(RECORD) :]) == RECORD
    said = Outline(text_of("taken")).said
    assert ARABIC in said  # who signs
    assert "adults only" in said
    assert "yearly review" in said


# -- the first screen of an update ------------------------------------------------------------------------


def test_the_first_screen_says_what_was_decided_why_what_and_for_whom() -> None:
    facts, run = facts_of("taken"), taken()
    assert run.is_taken
    assert facts["headline"][0].startswith("The update is accepted. The change keeps to the policy")
    answers = dict(facts["answers"])
    assert answers["Why"] == "yearly review. a new year."
    changed = run.facts["outputs"]["all"]["decisions"]["changed"]["rows"]
    assert answers["For whom"].startswith(f"{changed} of 300 new rows" if changed else "None of 300 new rows")
    assert facts["key_figures"][0][:2] == ["Yes", "May it go live?"]


def test_an_update_that_is_forbidden_says_so_first_and_what_it_breaks() -> None:
    facts = facts_of("forbidden")
    assert facts["headline"][0].startswith(
        "The update is rejected, and the deployed model stays in use: it breaks"
    )
    assert facts["key_figures"][0][0] == "No"
    assert dict(facts["answers"])["Why"].startswith("No reason was given")
    register = dict(facts["sections"]["register"]["tables"][0]["rows"])
    assert register["Record"].startswith("none")
    assert register["Rollback"].startswith("There is nothing to roll back")
    assert 'class="bad">FAIL' in text_of("forbidden")


# -- what it says of rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [taken, forbidden])
def test_the_box_has_the_fields_of_the_tree_in_use(run: Any) -> None:
    schema = run().update.deployed.schema
    first, second = [each for each in schema.features if each.kind == "numeric"][:2]

    def stump(feature: Feature) -> Tree:
        leaves = [{"value": dict(zip(schema.target.classes, p, strict=True)), "count": 9} for p in PAIRS]
        cut = {"feature": feature.name, "threshold": (feature.low + feature.high) / 2}
        return Tree.from_nodes(schema, {**cut, "left": leaves[0], "right": leaves[1]})

    changed = replace(run(), diff=tree_diff(stump(first), stump(second)))
    case = next(each for each in page_for(changed, ReportOptions()).sections if each.id == "case")
    fields = {field["name"]: field["first"] for field in case.facts["fields"]}
    assert fields == {first.name: not run().is_taken, second.name: run().is_taken}


# -- diffs, audits, comparisons ---------------------------------------------------------------------------


def test_a_diff_has_both_trees_its_rules_and_the_rows() -> None:
    facts = facts_of("diff")
    assert list(facts["sections"]) == ["trees", "rules", "case", "rows"]
    assert [tree["name"] for tree in facts["sections"]["case"]["trees"]] == ["Before", "After"]
    rules = facts["sections"]["rules"]["tables"][0]["rows"]
    assert len(rules) == len(diff().changes) + len(diff().same)


def test_what_has_no_page_is_refused() -> None:
    with pytest.raises(ParameterError, match="There is no report on a int"):
        write_report(3, "never.html")


# -- drawings ---------------------------------------------------------------------------------------------


def test_a_moved_threshold_is_marked_in_the_new_tree_with_what_it_was() -> None:
    schema = Schema((Feature("age", low=0.0, high=100.0),), Target("y", classes=("no", "yes")))
    leaves = {
        "left": {"value": {"no": 0.9, "yes": 0.1}, "count": 50},
        "right": {"value": {"no": 0.4, "yes": 0.6}, "count": 50},
    }
    old, new = (
        Tree.from_nodes(schema, {"feature": "age", "threshold": cut, **leaves}) for cut in (45.0, 50.0)
    )
    page = page_for(tree_diff(old, new))
    before, after = (part.svg for part in page.sections[0].parts if isinstance(part, Drawing))
    assert "was 45" in after
    assert "was 45" not in before
    assert "age <= 45 → 50" in page.all_facts["sections"]["trees"]["lists"][0][1][0]


def test_a_wide_table_tells_the_columns_that_moved_most_and_those_that_are_asked_about() -> None:
    run = taken()
    columns = run.facts["periods"]["columns"]
    many = [{**columns[0], "name": f"column {place}", "index": 0.0, "band": "little"} for place in range(60)]
    facts = {**run.facts, "periods": {**run.facts["periods"], "columns": [*many, *columns]}}
    page = page_for(replace(run, facts=facts))
    told = page.all_facts["sections"]["data"]
    asked = {run.diff.new.schema.names[feature] for feature in run.diff.new.feature if feature >= 0}
    rows = told["tables"][1]["rows"]
    assert asked <= {name for name, is_used, *_ in rows if is_used}
    assert f"40 of {len(many) + len(columns)} rows; update.json has all." in Outline(page.html).said


def test_the_first_screen_tells_of_the_columns_that_are_asked_about_first() -> None:
    run = taken()
    columns = [{**each, "index": 0.2, "band": "some"} for each in run.facts["periods"]["columns"]]
    asked = {run.diff.new.schema.names[feature] for feature in run.diff.new.feature if feature >= 0}
    most = next(each for each in columns if each["name"] in asked)
    other = {**columns[0], "name": "tv", "index": 9.0, "band": "much"}
    facts = {**run.facts, "periods": {**run.facts["periods"], "columns": [other, *columns]}}
    page = page_for(replace(run, facts=facts))
    note = next(each.note for each in page.key_figures if each.label == "Population")
    assert note.startswith(f"largest in the tree: {most['name']}")
    assert "not in the tree: tv" in dict(page.answers)["Watch"]


def test_a_decision_threshold_is_told_wherever_a_class_is() -> None:
    facts, run = facts_of("taken"), taken()
    decisions = run.facts["outputs"]["all"]["decisions"]
    told = f"By the decision threshold of 0.4: {decisions['swap_ins']['rows']} swap-ins"
    assert told in facts["sections"]["touched"]["paragraphs"][0]
    assert told in " ".join(str(run).split())  # and in the terminal
    acted = "Acted on means a probability of died of 0.4 or more."
    assert facts["sections"]["trees"]["paragraphs"][0].startswith(acted)
    assert "paragraphs" not in facts_of("forbidden")["sections"]["trees"]


# -- one count of what changed ----------------------------------------------------------------------------


def with_replaced_part() -> tuple[Tree, Tree]:
    """Two trees that ask about age first, and below it about other columns."""
    schema = Schema(
        (
            Feature("age", low=0.0, high=100.0),
            Feature("bmi", low=10.0, high=60.0),
            Feature("chol", high=10.0),
        ),
        Target("y", classes=("no", "yes")),
    )

    def leaf(yes: float) -> dict[str, Any]:
        return {"value": {"no": 1 - yes, "yes": yes}, "count": 25}

    def tree(first: str, cut: float) -> Tree:
        chol = {"feature": "chol", "threshold": cut, "left": leaf(0.2), "right": leaf(0.7)}
        bmi = {"feature": "bmi", "threshold": 30.0, "left": leaf(0.1), "right": chol}
        over = {"feature": "chol", "threshold": cut, "left": leaf(0.1), "right": bmi}
        part = bmi if first == "bmi" else {**over, "right": {**bmi, "right": leaf(0.7)}}
        return Tree.from_nodes(
            schema, {"feature": "age", "threshold": 50.0, "left": leaf(0.05), "right": part}
        )

    return tree("bmi", 4.45), tree("chol", 3.9)


def test_splits_below_a_replaced_one_are_new_everywhere_and_moved_nowhere() -> None:
    old, new = with_replaced_part()
    change = tree_diff(old, new)
    counts = change.split_counts
    assert (counts.kept, counts.moved, counts.gone, counts.new) == (1, 0, 2, 2)
    page = page_for(change)
    figures = {label: value for value, label, _ in page.all_facts["key_figures"]}
    assert figures["Splits that changed"] == "2"
    rules = " ".join(row[0] for row in page.all_facts["sections"]["rules"]["tables"][0]["rows"])
    assert "(new split)" in rules
    assert "(was" not in rules
    _, after = (part.svg for part in page.sections[0].parts if isinstance(part, Drawing))
    assert after.count('data-changed="true"') == counts.new


def test_the_lines_of_a_policy_count_replaced_splits_as_new_and_say_so() -> None:
    old, new = with_replaced_part()
    rows = Table.from_arrays(
        [[30.0, 20.0, 4.0], [60.0, 35.0, 5.0]], ["no", "yes"], schema=old.schema, target="y"
    )
    policy = ChangePolicy(thresholds="never", max_threshold_shift=0.0, new_splits="allowed")
    lines = {line.name: line for line in policy.check(old, new, rows).lines}
    assert lines["new_splits"].figure == tree_diff(old, new).split_counts.new
    for name in ("thresholds", "max_threshold_shift"):
        assert lines[name].words.endswith("2 splits are replaced, which counts under new_splits alone")


def test_leaves_of_one_risk_have_one_colour_in_both_drawings() -> None:
    old, new = with_replaced_part()
    values = new.value.copy()
    values[values[:, 1] == 0.7] = [0.05, 0.95]  # the highest risk is another in each tree
    parts = page_for(tree_diff(old, new.replace(value=values))).sections[0].parts
    before, after = (part.svg for part in parts if isinstance(part, Drawing))

    def fill(drawing: str, node: int) -> list[str]:
        part = drawing.split(f'data-node="{node}"')[1].split("</g>")[0]
        return re.findall(r'<rect[^>]* fill="([^"]+)"', part)

    assert fill(before, 1) == fill(after, 1) != []


def test_a_page_of_an_update_that_keeps_the_tree_says_that_it_is_unchanged() -> None:
    page = page_for(kept())
    assert page.headline[0].startswith("The tree is unchanged and stays in use.")
    assert "from now on" not in str(page.key_figures)
    assert "The update is taken" not in page.html


def test_figures_of_a_refused_update_name_the_tree_that_they_are_of() -> None:
    labels = [figure.label for figure in page_for(forbidden()).key_figures]
    assert "AUC of the proposed tree" in labels
    assert "Observed over expected of the tree in use" in labels


@pytest.mark.parametrize("name", ["taken", "forbidden", "of_numbers", "diff"])
def test_what_the_page_of_a_change_tells(name: str) -> None:
    told = ("trees", "rules", "rows", "touched", "policy", "performance", "path", "limits")
    sections = {key: each for key, each in facts_of(name)["sections"].items() if key in told}
    text = json.dumps(sections, indent=1, ensure_ascii=False)
    check_snapshot(f"page-{name}", text)


def test_the_words_of_the_owners_and_the_register_stand_on_the_page() -> None:
    record = replace(taken().change, number=7, time="2026-01-02T03:04:05+00:00", hash=f"sha256:{'a' * 64}")
    page = page_for(
        replace(taken(), record=record), ReportOptions(model_card={**MODEL_CARD, "owner": "the clinic"})
    )
    sections = page.all_facts["sections"]
    assert dict(sections["use"]["tables"][0]["rows"])["Owner"] == "the clinic"
    register = dict(sections["register"]["tables"][0]["rows"])
    assert register["Record"].startswith("7, written")
    assert register["Hash"] == record.hash


@pytest.mark.parametrize(("name", "result"), [("audit", audit), ("comparison", comparison)])
def test_the_generic_page_has_the_sentences_tables_and_pictures_of_a_result(name: str, result: Any) -> None:
    page = Outline(text_of(name))
    assert [tag for tag, _ in page.tags].count("svg") >= 1
    names = result().methods if name == "audit" else result().names
    assert all(each in page.said for each in names)
    assert facts_of(name)["headline"][0][:60] in page.said
