"""The report on a fit, read without a browser: its facts, its structure, and names that could break it."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.metrics import confusion_matrix
from small_reports import (
    ARABIC,
    HOSTILE,
    Outline,
    asking_tree,
    consensus_model,
    features,
    number_tree,
    patients,
    report_of,
    small_run,
)

from holdfast import (
    AdaBoostClassifier,
    BoostingClassifier,
    DataError,
    ForestClassifier,
    ParameterError,
    Run,
    StableTreeClassifier,
    StableTreeRegressor,
    Table,
    TreeClassifier,
    fit_run,
    grow,
    load,
    open_run,
    save,
    write_report,
)
from holdfast.errors import ModelCardError, ReportWarning
from holdfast.report.page import MOST_BYTES, ReportOptions, page_of
from holdfast.scoring.intervals import t_interval, wilson_interval

PAGES = ["small_run", "asking_tree", "number_tree", "consensus_model"]


def text_of(name: str) -> str:
    return report_of(name).read_text(encoding="utf-8")


def facts_of(name: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(report_of(name).with_suffix(".json").read_text(encoding="utf-8"))
    return facts


def sections_of(subject: Any, **given: Any) -> dict[str, Any]:
    sections: dict[str, Any] = page_of(subject, ReportOptions(**given)).all_facts["sections"]
    return sections


# -- the page as a document -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_and_its_headings_and_ids_are_in_order(name: str) -> None:
    page = Outline(text_of(name))
    assert page.unclosed == page.open == []
    assert page.headings[:2] == [1, 2]
    assert page.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    assert len(page.ids) == len(set(page.ids))
    for tag, attributes in page.tags:
        for reference in ("aria-labelledby", "for", "aria-describedby"):
            assert attributes.get(reference) is None or attributes[reference] in page.ids
        if (attributes.get("href") or "").startswith("#"):
            assert (attributes["href"] or "")[1:] in page.ids
        if tag == "svg":
            assert attributes["role"] in ("img", "group")
            assert attributes["aria-label"]
        if tag == "th":
            assert attributes["scope"] in ("col", "row")
        if tag in ("input", "select"):
            assert attributes["id"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_small_loads_nothing_and_escapes_names(name: str) -> None:
    text, page = text_of(name), Outline(text_of(name))
    assert report_of(name).stat().st_size < 0.6 * MOST_BYTES
    addresses = set(re.findall(r"""(?:https?:)?//[^\s"'<>]+""", text))
    assert {each for each in addresses if "www.w3.org" not in each and "." in each.split("/")[2]} == set()
    assert "default-src 'none'" in text
    assert '<link rel="icon" href="data:,">' in text
    assert "<script>alert" not in text
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert HOSTILE in page.said
    assert ARABIC in page.said


@pytest.mark.parametrize("name", PAGES)
def test_the_facts_beside_the_page_are_those_in_it(name: str) -> None:
    inside = re.search(r'<script type="application/json" id="facts">(.*?)</script>', text_of(name), re.DOTALL)
    assert inside is not None
    whole = facts_of(name)["sections"]
    for section, facts in json.loads(inside[1])["sections"].items():  # those that the scripts read
        assert whole[section] == facts


def test_every_section_is_in_the_contents() -> None:
    page = Outline(text_of("small_run"))
    linked = [attributes["href"] for tag, attributes in page.tags if tag == "a" and "href" in attributes]
    for section in facts_of("small_run")["sections"]:
        assert f"#{section}" in linked


def test_the_same_model_gives_the_same_page(tmp_path: Path) -> None:
    write_report(small_run(), tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == report_of("small_run").read_bytes()


# -- what it says -----------------------------------------------------------------------------------------


def test_each_rule_tells_how_many_rows_like_this_there_were_and_how_many_had_it() -> None:
    model, frame = asking_tree(), patients()
    leaves, died = model.apply(features(frame)), (frame["outcome"] == "died").to_numpy()
    rules = facts_of("asking_tree")["sections"]["rules"]["rules"]
    assert len(rules) == model.tree_.n_leaves
    for rule in rules:
        here = leaves == rule["leaf"]
        n, seen = int(here.sum()), int(died[here].sum())
        assert rule["sentence"].startswith(
            f"Of {n} case{'s' * (n > 1)} like this, {seen} had outcome = died: "
        )
        assert rule["interval"] == pytest.approx(wilson_interval(seen, n))
    values = [rule["value"] for rule in rules]
    assert values == sorted(values, reverse=True)


def test_of_numbers_each_rule_tells_the_mean() -> None:
    rules = facts_of("number_tree")["sections"]["rules"]["rules"]
    assert sum(rule["rows"] for rule in rules) == len(patients())
    assert all(f"mean days {rule['prediction']}" in rule["sentence"] for rule in rules)
    assert all(rule["interval"][0] < rule["observed"] < rule["interval"][1] for rule in rules)


@cache
def taught_run() -> Run:
    """Leaf values of a teacher, which are not the means of the rows."""
    frame = patients()[["age", "lab", "days"]].dropna()
    return fit_run(frame, "days", teacher="linear", n_estimators=6, max_depth=2, n_jobs=1)


def test_of_numbers_the_sentence_tells_the_mean_of_the_rows_and_the_figure_what_the_tree_says() -> None:
    run = taught_run()
    assert run.details is not None
    training = run.details.roles.training
    leaves = run.model.apply(training)
    page = page_of(run)
    section = page.all_facts["sections"]["rules"]
    assert section["by_teacher"]
    assert "the tree's estimate" in Outline(page.html).said
    for rule in section["rules"]:
        own = training.target[leaves == rule["leaf"]]
        assert rule["value"] == run.model.value[rule["leaf"], 0]
        assert (rule["seen"], rule["observed"]) == pytest.approx((own.mean(), own.mean()))
        assert rule["interval"] == pytest.approx(t_interval(rule["value"], own.std(), 0.8 * len(own)))
        assert rule["interval"][0] <= rule["value"] <= rule["interval"][1]
        assert rule["outside"].startswith("The 95 % interval of the tree's estimate is ")
        assert rule["sentence"].startswith(f"{len(own)} cases like this: mean days {own.mean():.4g}")
    values = run.model.value[run.model.feature < 0, 0]
    assert f"from {values.min():.3g} in the lowest group to {values.max():.3g} in the" in page.headline[0]
    assert "mean" not in page.headline[0]


def test_of_many_classes_figure_interval_and_sentence_are_of_the_class_that_the_tree_says() -> None:
    wards = [["A"] * 5 + ["B"] * 4 + ["C"], ["B"] * 10, ["C"] * 10]
    X = [[float(place)] for place, own in enumerate(wards) for _ in own]
    tree = grow(Table.from_arrays(X, [ward for own in wards for ward in own]))
    leaf = int(tree.apply([[0.0]])[0])
    taught = tree.with_leaf_value(leaf, {"A": 0.3, "B": 0.6, "C": 0.1})
    rule = next(each for each in sections_of(taught)["rules"]["rules"] if each["leaf"] == leaf)
    assert (rule["class"], rule["prediction"], rule["seen"]) == ("B", "60 %", 4)
    assert rule["interval"] == pytest.approx(wilson_interval(4, 10))
    assert rule["sentence"].startswith("Of 10 cases like this, 4 had y = B: 40 % (17 to 69 %)")
    assert "the others: 5 A, 1 C" in rule["sentence"]
    assert rule["warning"] == "Most of these rows had A; the tree predicts B. Based on few rows."


def test_the_headline_says_what_the_tree_says_how_good_it_is_and_how_firmly_it_stands() -> None:
    says, good, stands = facts_of("small_run")["headline"]
    run = small_run()
    risks = run.model.value[run.model.feature < 0, 0]
    assert f"from {100 * risks.min():.0f} % in the lowest group to {100 * risks.max():.0f} %" in says
    assert f"AUC {run.facts['trees']['chosen']['test']['score']:.3f}" in good
    first = run.facts["split_support"][0]
    assert f"{100 * first['references']:.0f} % have {first['feature']} as their first split" in stands


def test_the_class_that_matters_can_be_named() -> None:
    assert page_of(asking_tree()).title == "Risk of outcome = died"
    write = facts_of("asking_tree")["sections"]["rules"]
    other = sections_of(asking_tree(), positive="lived")["rules"]
    assert (write["positive"], other["positive"]) == ("died", "lived")
    assert [rule["leaf"] for rule in other["rules"]] != [rule["leaf"] for rule in write["rules"]]


def test_the_class_that_matters_can_stand_in_about() -> None:
    assert (
        page_of(asking_tree(), ReportOptions(model_card={"positive": "lived"})).title
        == "Risk of outcome = lived"
    )
    assert page_of(
        asking_tree(), ReportOptions(model_card={"positive": "lived"}, positive="died")
    ).title.endswith("died")
    with pytest.raises(ParameterError, match="'maybe' is no class of 'outcome'"):
        page_of(asking_tree(), ReportOptions(model_card={"positive": "maybe"}))


def test_a_fit_goes_by_the_class_in_about_and_refuses_one_that_is_none_before_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = patients(80)[["age", "lab", "outcome"]]
    run = fit_run(frame, "outcome", model="tree", max_depth=2, model_card={"positive": "lived"})
    assert run.model.schema.target.positive == "lived"
    assert page_of(run).title == "Risk of outcome = lived"
    monkeypatch.setattr("holdfast.runs.run.fit", lambda *_, **__: pytest.fail("work was done"))
    with pytest.raises(ParameterError, match="'maybe' is no class of 'outcome'"):
        fit_run(frame, "outcome", model="tree", model_card={"positive": "maybe"})


@pytest.mark.parametrize("kind", [ForestClassifier, BoostingClassifier, AdaBoostClassifier])
@pytest.mark.parametrize("rare", ["a", "b"])
def test_of_an_ensemble_the_rarer_class_matters(kind: Any, rare: str) -> None:
    common = "ab".replace(rare, "")
    X = np.arange(60.0)[:, None]
    y = np.where((np.arange(60) % 10 < 3) & (np.arange(60) < 40), rare, common)
    model = kind(n_estimators=3).fit(X, y)
    assert page_of(model).title == f"Risk of y = {rare}"


def test_a_row_is_called_what_the_user_calls_it() -> None:
    rules = sections_of(asking_tree(), model_card={"case": "patient"})["rules"]["rules"]
    assert all("patient" in rule["sentence"] for rule in rules)


def test_of_more_classes_than_two_the_table_is_that_of_scikit_learn() -> None:
    frame = patients()
    model = TreeClassifier(max_leaf_nodes=5).fit(frame[["age", "lab"]], frame["ward"].fillna("none"))
    new = patients(seed=1)
    truth = new["ward"].fillna("none")
    facts = sections_of(model, X=new[["age", "lab"]], y=truth)["calibration"]
    said = model.predict(new[["age", "lab"]])
    table = facts["tables"][0]
    counts = [[int(cell) for cell in row[1:-1]] for row in table["rows"]]
    assert counts == confusion_matrix(truth, said, labels=table["headings"][1:-1]).tolist()


def test_a_name_cannot_take_the_place_of_the_style_of_the_page() -> None:
    page = page_of(asking_tree(), ReportOptions(title="/*colours*/ {{ colours }}"))
    assert page.html.count("/*colours*/ {{ colours }}</") == 2, "in the title and in the heading"
    style = page.html[page.html.index("<style>") : page.html.index("</style>")]
    assert set(re.findall(r"var\((--c-[0-9a-f]{6})\)", page.html)) <= set(
        re.findall(r"--c-[0-9a-f]{6}", style)
    )


def test_names_from_right_to_left_do_not_turn_a_rule_around() -> None:
    frame = patients().rename(columns={"age": ARABIC, ARABIC: "other"})
    model = TreeClassifier(max_leaf_nodes=3).fit(frame[[ARABIC]], frame["outcome"])
    text = page_of(model).html
    rules = text[text.index('<ol class="rules">') : text.index("</ol>")]
    assert f"<bdi>{ARABIC}</bdi> " in rules
    assert 'class="conditions" dir' not in rules


def test_one_class_is_never_said_and_two_are() -> None:
    wards = ["A"] * 10 + ["B"] * 10 + ["C"]
    tree = grow(Table.from_arrays([[float(place // 10)] for place in range(20)] + [[0.0]], wards))
    assert "one of three classes is never predicted." in page_of(tree).headline[0]


# -- subjects of all kinds --------------------------------------------------------------------------------


def test_a_run_from_disk_has_all_but_what_only_rows_can_tell(tmp_path: Path) -> None:
    small_run().save(tmp_path / "run", report=False)
    found = sections_of(open_run(tmp_path / "run"))
    fresh = facts_of("small_run")["sections"]
    assert set(fresh) - set(found) == {"calibration", "firmness", "spread"}
    assert found["frontier"] == fresh["frontier"]
    assert found["support"] == fresh["support"]


def test_without_rows_an_estimator_has_a_page_without_scores() -> None:
    assert set(sections_of(number_tree())) == {"tree", "case", "rules", "features", "schema", "settings"}
    assert {"support", "frontier", "sizes", "scores"} <= set(sections_of(consensus_model()))


def test_rows_that_are_given_are_not_said_to_be_unseen() -> None:
    page = Outline(text_of("asking_tree"))
    assert "rows given to this report" in page.said
    assert "new rows" not in page.said


def test_an_ensemble_has_importances_scores_and_settings() -> None:
    frame = patients()
    model = ForestClassifier(n_estimators=5, random_state=0).fit(features(frame), frame["outcome"])
    found = sections_of(model, X=features(patients(seed=1)), y=patients(seed=1)["outcome"])
    assert set(found) == {"scores", "features", "calibration", "schema", "settings"}


def test_a_tree_that_asks_nothing_has_a_page() -> None:
    tree = grow(Table.from_arrays([[1.0], [1.0]], ["no", "yes"]))
    page = page_of(tree)
    assert "has no split" in page.headline[0]
    assert "case" not in page.all_facts["sections"]
    assert Outline(page.html).unclosed == []


@pytest.mark.slow
def test_a_wide_table_of_many_classes_and_long_names_has_a_page_within_its_size() -> None:
    draw = np.random.default_rng(0)
    names = [f"{'a long name of a column, ' * 4}{number}" for number in range(200)]
    X = pandas.DataFrame(draw.normal(size=(800, 200)), columns=names)
    y = [f"class {each} of the twenty, in many words" for each in draw.integers(0, 20, 800)]
    model = StableTreeClassifier(
        method="bootstrap", n_estimators=4, max_depth=7, max_leaf_nodes=40, n_jobs=1, random_state=0
    ).fit(X, y)
    page = page_of(model)
    assert len(page.html.encode()) < MOST_BYTES
    assert Outline(page.html).unclosed == []


def test_a_plain_tree_on_long_names_and_many_categories_has_a_page_within_its_size_that_says_so() -> None:
    draw = np.random.default_rng(0)
    numbers = draw.normal(size=(700, 40))
    X = pandas.DataFrame(numbers, columns=[f"{'a long name of a column, ' * 9}{each}" for each in range(40)])
    X["category"] = [f"{'a long name of a category, ' * 2}{each}" for each in draw.integers(0, 600, 700)]
    y = [f"class {each} of the twenty, in many words" for each in draw.integers(0, 20, 700)]
    page = page_of(TreeClassifier(max_leaf_nodes=36, random_state=0).fit(X, y))
    text = page.html
    found = Outline(text)
    assert len(text.encode()) <= MOST_BYTES
    assert found.unclosed == []
    assert "41 columns" in found.said
    inside = re.search(r'<script type="application/json" id="facts">(.*?)</script>', text, re.DOTALL)
    assert inside is not None
    assert set(json.loads(inside[1])["sections"]) <= set(page.all_facts["sections"])


@pytest.mark.parametrize(
    ("subject", "given", "says"),
    [
        (7, {}, "There is no report on a int"),
        (TreeClassifier(), {}, "is not fitted"),
        (grow(Table.from_arrays([[1.0], [2.0]], ["no", "yes"])), {"y": [1]}, "y without X"),
        (grow(Table.from_arrays([[1.0], [2.0]], ["no", "yes"])), {"X": [[1.0]]}, "X without y"),
        (
            grow(Table.from_arrays([[1.0], [2.0]], ["no", "yes"])),
            {"positive": "maybe"},
            "'maybe' is no class",
        ),
        (
            grow(Table.from_arrays([[1.0], [2.0]], ["no", "yes"])),
            {"model_card": {"case": 7}},
            "must be a text in quotes",
        ),
    ],
)
def test_what_cannot_be_reported_is_refused(
    subject: Any, given: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises((ModelCardError, ParameterError), match=says):
        write_report(subject, tmp_path / "report.html", **given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "says"), [("page.json", "ends in .html"), ("page", "ends in"), ("away/page.html", "no folder")]
)
def test_a_page_is_html_in_a_folder_that_there_is(name: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=says):
        write_report(asking_tree(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_saved_even_if_its_report_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> None:
        raise KeyError("a flaw")

    monkeypatch.setattr("holdfast.report.page.page_of", failing)
    with pytest.warns(ReportWarning, match="could not be written"):
        small_run().save(tmp_path / "run")
    assert open_run(tmp_path / "run").model.n_leaves == small_run().model.n_leaves
    assert not (tmp_path / "run" / "report.html").exists()


def test_replications_and_baselines_stand_in_the_page_if_they_are_given() -> None:
    frame = patients()
    model = StableTreeClassifier(method="bootstrap", n_estimators=4, max_depth=2, n_jobs=1)
    found = model.replicate(features(frame), frame["outcome"], n_replications=1)
    facts = sections_of(asking_tree(), replications=found)["replications"]
    assert facts["tables"][0]["headings"][1:] == [
        "best score",
        "most stable",
        "chosen tree",
        "CART by CV",
        "random forest",
    ]
    forest = next(row for row in found.rows if row.model == "random forest")
    assert f"{forest.score.mean:.3f}" in facts["tables"][0]["rows"][0][-1]


def test_a_rule_that_says_another_class_than_most_rows_had_is_marked() -> None:
    tree = grow(Table.from_arrays([[1.0], [1.0], [2.0]], ["no", "no", "yes"]))
    leaf = int(tree.apply([[1.0]])[0])
    other = tree.with_leaf_value(leaf, 0.6)  # of yes, by hand
    marked = {rule["leaf"]: rule["warning"] for rule in sections_of(other)["rules"]["rules"]}
    assert marked.pop(leaf).startswith("Most of these rows had no; the tree predicts yes.")
    assert set(marked.values()) == {"Based on few rows."}


def test_each_rule_tells_what_came_true_of_the_rows_given() -> None:
    frame = patients(seed=1)
    leaves = asking_tree().apply(features(frame))
    died = (frame["outcome"] == "died").to_numpy()
    for rule in facts_of("asking_tree")["sections"]["rules"]["rules"]:
        here = leaves == rule["leaf"]
        told = f"{died[here].sum()} of {here.sum()} had died" if here.any() else "None of the rows given"
        assert told in rule["tested"]


def test_a_form_of_too_many_categories_gives_way_to_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.report.rules.MOST_LETTERS", 1000)
    page = page_of(asking_tree())
    assert "too many" in page.all_facts["sections"]["case"]["paragraphs"][0]
    assert "case.js" not in page.scripts
    assert Outline(page.html).unclosed == []


def test_the_title_of_a_node_with_thousands_of_categories_is_cut() -> None:
    draw = np.random.default_rng(0)
    zips = np.array([f"zip & <code> {number}" for number in range(600)])
    place = draw.integers(0, 600, 3000)
    model = TreeClassifier(max_leaf_nodes=4).fit(zips[place][:, None], place % 7 < 3)
    page = page_of(model)
    titles = re.findall(r"<title>([^<]*)</title>", page.html)
    assert len(titles) > 5
    assert max(map(len, titles)) < 700
    assert len(page.html) < 150_000


def test_the_tables_tell_scores_sizes_and_settings() -> None:
    sections, run = facts_of("small_run")["sections"], small_run()
    frontier = run.frontier
    assert frontier is not None
    for leaves, trees, *_ in sections["sizes"]["tables"][0]["rows"]:
        places = np.flatnonzero(frontier.n_leaves == int(leaves)).tolist()  # copies count once
        assert int(trees) == len({run.candidates[place].rules(missing=True) for place in places})
    chosen = next(row for row in sections["scores"]["tables"][0]["rows"] if row[0] == "chosen tree")
    assert f"{run.facts['trees']['chosen']['test']['score']:.3f}" in chosen[3]
    shares = {row[0]: row[-1] for row in sections["schema"]["tables"][0]["rows"]}
    assert shares["lab"] == f"{100 * patients()['lab'].isna().mean():.1f} %"
    told = {name: value for table in sections["settings"]["tables"] for name, value in table["rows"]}
    assert set(run.facts["settings"]) <= set(told)
    assert told["random_state"] == "0"


def test_the_section_on_firmness_counts_the_rows_that_a_person_looks_at() -> None:
    run = small_run()
    section = facts_of("small_run")["sections"]["firmness"]
    training = run.details.roles.training
    share = run.estimator.references_.firmness(run.model, training).share
    n_other = int((share < 0.95).sum())
    assert section["firmness"] == {"rows": len(share), "not_firm": n_other, "least": 0.95}
    assert f"This rule refers {n_other} of {len(share)} cases" in section["paragraphs"][1]
    groups, levels = (table["rows"] for table in section["tables"])
    assert 2 <= len(groups) <= 4
    by_group = sum(float(percent.split()[0]) * int(n) for _, n, percent in groups) / 100
    assert by_group == pytest.approx(n_other, abs=0.5)
    assert sum(int(n) for _, n, _ in levels) == len(share)
    assert "firmness" not in facts_of("asking_tree")["sections"]  # it has no reference trees


def test_numbers_have_a_section_on_the_width_of_the_interval() -> None:
    frame = patients()
    model = StableTreeRegressor(teacher="linear", n_estimators=8).fit(features(frame), frame["days"])
    section = sections_of(model, X=features(frame), y=frame["days"])["firmness"]
    width = np.median(model.predict_firmness(features(frame)).spread)
    assert section["firmness"]["median_width"] == pytest.approx(width)


def test_a_form_without_room_for_reference_trees_is_the_form_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("holdfast.report.rules.MOST_WITH_REFERENCES", 100)
    case = sections_of(consensus_model())["case"]
    assert case["references"] is None
    assert case["fields"]


def test_a_loaded_model_has_a_page_without_its_candidates(tmp_path: Path) -> None:
    model = consensus_model()
    save(model, tmp_path / "model.json")
    write_report(load(tmp_path / "model.json"), tmp_path / "page.html")
    sections = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))["sections"]
    assert "rules" in sections
    assert "frontier" not in sections
