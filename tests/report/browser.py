"""A browser without a window, for tests of pages; skipped where none is installed."""

import json
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


class Browser:
    """One page at a time, with what its console and its network say."""

    def __init__(self, profile: Path) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = next(filter(None, map(which, NAMES)))
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver: Any = webdriver.Chrome(options=options, service=Service(which("chromedriver")))

    def open(self, page: Path) -> None:
        """Open the page, and forget what pages before it said."""
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(page.as_uri())

    def run(self, script: str, *arguments: Any) -> Any:
        """What the script returns."""
        return self.driver.execute_script(script, *arguments)

    def keys(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def wait_for_text(self, selector: str, text: str) -> None:
        """Wait until an element shows exactly this text; a TimeoutException after ten seconds."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 10).until(lambda _: self.find(selector).text == text)

    @property
    def errors(self) -> list[str]:
        """What the console complains of."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    @property
    def requests(self) -> list[str]:
        """The addresses that the page has asked for, but for itself and data within it."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [each["params"] for each in messages if each["method"] == "Network.requestWillBeSent"]
        asked = [each["request"]["url"] for each in sent if each["documentURL"].startswith("file:")]
        return [url for url in asked if not url.startswith(("file:", "data:"))]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    pytest.importorskip("selenium")
    if not any(map(which, NAMES)) or which("chromedriver") is None:
        pytest.skip("chromium and chromedriver are not installed: pages are not tried in a browser")
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.driver.quit()
