"""The pages of a change in a real browser: no error, no request, and one case through both trees."""

import math
import warnings
from typing import Any

import pytest
from browser import Browser
from selenium.webdriver.support.ui import WebDriverWait
from small_changes import page_of, taken
from small_reports import features, patients


@pytest.mark.parametrize("name", ["taken", "forbidden", "diff", "audit", "comparison"])
def test_a_page_of_a_change_opens_without_an_error_and_without_a_request(browser: Browser, name: str) -> None:
    browser.open(page_of(name))
    assert browser.errors == []
    assert browser.requests == []
    assert browser.run("return window.alerted") is None


@pytest.mark.parametrize("name", ["taken", "comparison"])
def test_no_page_of_a_change_is_wider_than_a_phone(browser: Browser, name: str) -> None:
    window = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
    browser.open(page_of(name))
    assert browser.run("return document.documentElement.scrollWidth") <= 400
    ends = (
        "return [...document.querySelectorAll('.stacked')].map((each) => each.getBoundingClientRect().right)"
    )
    assert max(browser.run(ends), default=0) <= 400
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if value is None or (isinstance(value, float) and math.isnan(value)) else value
        for name, value in row.items()
    }


def test_one_case_goes_through_both_trees_as_python_sends_it(browser: Browser) -> None:
    run, frame = taken(), features(patients(60, seed=9)).astype({"level": object, "ward": object})
    frame.loc[::7, "ward"] = "a new ward"
    browser.open(page_of("taken"))
    rows = [plain(row) for row in frame.to_dict("records")]
    for place, tree in enumerate((run.diff.old, run.diff.new)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of unseen categories
            said = tree.predict_proba(frame).tolist()
        script = "return arguments[0].map((row) => cases.predict(row, arguments[1]))"
        assert browser.run(script, rows, place) == said


def test_the_path_is_lit_in_both_drawings(browser: Browser) -> None:
    browser.open(page_of("diff"))
    waiting = WebDriverWait(browser.driver, 10)  # a busy machine may take its time
    waiting.until(lambda driver: driver.find_elements("css selector", "#case-form input"))[0].send_keys("55")
    lit = "return document.querySelectorAll(`#drawing-${arguments[0]} [data-node].on`).length"
    assert browser.run(lit, 0) > 1
    assert browser.run(lit, 1) > 1
    assert len(browser.driver.find_elements("css selector", "#case-result .answer")) == 2
