"""The report on a fit, in a real browser: what it says, what one can do with it, and what it must not do."""

import json
import math
import warnings
from typing import Any

import numpy as np
import pandas
import pytest
from browser import Browser
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from small_reports import (
    asking_tree,
    consensus_model,
    features,
    number_tree,
    patients,
    report_of,
    small_run,
    survival_tree,
)

N_ROWS = 200
LIT = "return [...document.querySelectorAll('#drawing-0 [data-node].on')].map((each) => +each.dataset.node)"


def strange_rows() -> pandas.DataFrame:
    """New rows, some with gaps and some with categories that nobody has seen."""
    frame = features(patients(N_ROWS, seed=7)).astype({"level": object, "ward": object})
    frame.loc[::11, "ward"] = "a new ward"
    frame.loc[::13, "level"] = "unheard of"
    frame.loc[::17, "level"] = None
    frame.loc[5, ["age", "ward", "level", "lab"]] = None
    frame.loc[6, "age"] = 1e9
    return frame


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row as JSON has it: nothing for what is missing."""
    return {
        name: None if value is None or (isinstance(value, float) and math.isnan(value)) else value
        for name, value in row.items()
    }


@pytest.mark.parametrize(
    "name", ["small_run", "asking_tree", "number_tree", "consensus_model", "survival_tree"]
)
def test_a_page_opens_without_an_error_and_without_a_request(browser: Browser, name: str) -> None:
    browser.open(report_of(name))
    assert browser.run("return document.readyState") == "complete"
    assert browser.errors == []
    assert browser.requests == []
    assert browser.run("return window.alerted") is None
    assert browser.run("return document.querySelectorAll('script').length") == 2


@pytest.mark.parametrize("name", ["small_run", "asking_tree", "consensus_model", "survival_tree"])
@pytest.mark.parametrize("width", [400, 1400])
def test_no_page_is_wider_than_its_window(browser: Browser, name: str, width: int) -> None:
    browser.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.open(report_of(name))
    assert browser.run("return document.documentElement.scrollWidth") <= width
    ends = (
        "return [...document.querySelectorAll('.stacked')].map((each) => each.getBoundingClientRect().right)"
    )
    assert max(browser.run(ends), default=0) <= width
    boxes = "return [...document.querySelectorAll('.drawn')].map((each) => getComputedStyle(each).display)"
    assert set(browser.run(boxes)) <= ({"none"} if width == 400 else {"block"})
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# -- one case through the tree ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["asking_tree", "small_run", "number_tree", "survival_tree"])
def test_the_script_says_what_the_model_says(browser: Browser, name: str) -> None:
    models = {"asking_tree": asking_tree, "small_run": small_run, "number_tree": number_tree}
    model = {**models, "survival_tree": survival_tree}[name]()
    frame = strange_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of unseen categories
        is_number = name in ("number_tree", "survival_tree")
        said = model.predict(frame)[:, None] if is_number else model.predict_proba(frame)
    browser.open(report_of(name))
    rows = [plain(row) for row in frame.to_dict("records")]
    script = "return arguments[0].map((row) => cases.predict(row))"
    assert browser.run(script, rows) == np.asarray(said).tolist()  # to the last bit


@pytest.mark.parametrize("name", ["small_run", "consensus_model"])
def test_the_script_counts_the_trees_that_agree_as_the_model_does(browser: Browser, name: str) -> None:
    model = small_run().estimator if name == "small_run" else consensus_model()
    frame = strange_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of unseen categories
        found, leaves = model.predict_firmness(frame), model.apply(frame)
    browser.open(report_of(name))
    rows = [plain(row) for row in frame.to_dict("records")]
    script = "return arguments[0].map((row, i) => cases.firmness(cases.encoded(row), arguments[1][i]))"
    told = browser.run(script, rows, leaves.tolist())
    assert [each["agree"] / each["n"] for each in told] == found.share.tolist()
    for end in ("low", "high"):
        assert np.allclose([each[end] for each in told], getattr(found, end), atol=1e-4)
    browser.run("document.querySelectorAll('#case-form details').forEach((each) => { each.open = true; })")
    entered(browser, rows[0])
    assert "trees trained on resampled data agree" in browser.find("#case-result").text


def entered(browser: Browser, row: dict[str, Any]) -> None:
    """Type the row into the form, as a person would."""
    browser.find("#case-form button[type=reset]").click()
    for field in browser.run("return cases.box.fields"):
        value, element = row[field["name"]], browser.find(f"#field-{field['index']}")
        if value is None:
            continue
        if field["kind"] == "numeric":
            element.send_keys(repr(value))
        elif value in field["categories"]:
            Select(element).select_by_index(field["categories"].index(value) + 1)


def test_a_case_that_is_typed_in_gets_the_answer_of_the_model_and_lights_its_path(
    browser: Browser,
) -> None:
    model, frame = asking_tree(), strange_rows()
    browser.open(report_of("asking_tree"))
    for number in (0, 1, 11, 17, 22):
        row = plain(frame.iloc[number].to_dict())
        entered(browser, row)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            leaf = int(model.apply(frame.iloc[[number]])[0])
        lit = browser.run(LIT)
        passed = {leaf}
        while (parent := int(model.tree_.parent[min(passed)])) != -1:
            passed.add(parent)
        assert set(lit) == passed
        told = browser.run("return cases.box.trees[0].leaves[arguments[0]]", str(leaf))
        result = browser.find("#case-result").text
        assert told["prediction"] in result
        assert told["sentence"] in result
    browser.find("#case-form button[type=reset]").click()
    browser.wait_for_text("#case-result", "")  # the page answers after the form is empty


def test_a_typical_case_is_one_click_away(browser: Browser) -> None:
    browser.open(report_of("small_run"))
    browser.find("#case-typical").click()
    assert "outcome = " in browser.find("#case-result").text


def test_a_number_beyond_what_was_seen_is_told(browser: Browser) -> None:
    browser.open(report_of("asking_tree"))
    age = browser.run("return cases.box.fields.find((field) => field.name === 'age').index")
    browser.find(f"#field-{age}").send_keys("500")
    assert "outside the range of the training rows" in browser.find(f"#hint-{age}").text


# -- the frontier -----------------------------------------------------------------------------------------


def marks(browser: Browser) -> list[Any]:
    return browser.driver.find_elements("css selector", "#frontier [data-shown]")


def test_a_click_on_an_efficient_tree_shows_its_drawing_its_rules_and_its_diff(browser: Browser) -> None:
    browser.open(report_of("small_run"))
    facts = json.loads(report_of("small_run").with_suffix(".json").read_text())["sections"]["frontier"]
    trees = {str(tree["candidate"]): tree for tree in facts["trees"]}
    assert len(trees) >= 2
    drawings = set()
    for mark in marks(browser):
        browser.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", mark)
        tree = trees[mark.get_attribute("data-candidate")]
        panel = browser.find("#frontier-tree")
        assert tree["title"] in panel.text
        assert tree["diff"] in panel.text
        for rule in tree["rules"]:
            assert rule["sentence"] in panel.text
        drawings.add(browser.run("return document.querySelector('#frontier-tree svg')?.outerHTML ?? ''"))
    assert len(drawings) == len(trees)


def test_the_frontier_works_with_the_keyboard_alone(browser: Browser) -> None:
    browser.open(report_of("small_run"))
    browser.run("document.querySelector('#frontier [tabindex=\"0\"]').focus()")
    browser.keys(Keys.ARROW_RIGHT)
    place = browser.run("return document.activeElement.dataset.candidate")
    assert f"Candidate {place}" in browser.find("#frontier-figures").text
    browser.keys(Keys.ENTER)
    assert browser.find("#frontier-tree").get_attribute("data-candidate") == place
    assert browser.run("return document.activeElement.getAttribute('aria-pressed')") == "true"
    browser.keys(Keys.ARROW_LEFT)
    assert browser.run("return document.activeElement.dataset.candidate") != place


def test_the_first_stop_of_the_keyboard_skips_to_the_content(browser: Browser) -> None:
    browser.open(report_of("small_run"))
    browser.find("body").send_keys(Keys.TAB)
    assert browser.run("return document.activeElement.className") == "skip"
    browser.keys(Keys.ENTER)
    assert browser.run("return location.hash") == "#main"


# -- the theme, and paper -----------------------------------------------------------------------------------


def test_the_theme_follows_the_system_and_the_button(browser: Browser) -> None:
    def ground() -> str:
        return str(browser.run("return getComputedStyle(document.body).backgroundColor"))

    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.open(report_of("small_run"))
        before = ground()
        browser.find("#theme").click()
        assert ground() != before
        browser.find("#theme").click()
        assert ground() == before
        browser.run("localStorage.clear()")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_in_print_all_parts_are_open_and_closed_again_after(browser: Browser) -> None:
    browser.open(report_of("small_run"))
    closed = "return document.querySelectorAll('details:not([open])').length"
    before = browser.run(closed)
    assert before > 0
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run(closed) == 0
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run(closed) == before


CONTRAST = """
const linear = (c) => { c /= 255; return c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; };
const light = (rgb) => .2126 * linear(rgb[0]) + .7152 * linear(rgb[1]) + .0722 * linear(rgb[2]);
const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const rgb = numbers(getComputedStyle(at).backgroundColor);
    if (rgb.length < 4 || rgb[3] > 0) return rgb;
  }
  return [255, 255, 255];
};
const poor = [];
const words = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
for (const element of document.querySelectorAll("main *, nav *")) {
  if (!element.offsetParent || !words(element)) continue;
  const [a, b] = [light(numbers(getComputedStyle(element).color)), light(ground(element))];
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) poor.push([element.outerHTML.slice(0, 80), ratio]);
}
return poor;
"""


@pytest.mark.parametrize("name", ["small_run", "survival_tree"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_a_contrast_of_at_least_four_and_a_half(
    browser: Browser, scheme: str, name: str
) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.open(report_of(name))
    if name == "small_run":
        browser.find("#case-typical").click()
    assert browser.run(CONTRAST) == []
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
