"""Small models with a bit of everything, and their reports: made once for all tests of a session."""

import random
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas

from holdfast import (
    Run,
    StableTreeClassifier,
    SurvivalTree,
    TreeClassifier,
    TreeRegressor,
    fit_run,
    write_report,
)

HOSTILE = "</script><script>alert(1)</script>"
ARABIC = "عمر المريض"
LEVELS = ["low", "middle", "high"]
QUESTION = "age // 7 % 3 < 2 and ward != 'C' or lab ** 2 > 60"
WARDS = ["A", "B", HOSTILE, "C"]


def patients(n_rows: int = 240, seed: int = 0) -> pandas.DataFrame:
    """Numbers, categories, an order and gaps; names that would break a careless page."""
    draw = random.Random(seed)
    rows = []
    for _ in range(n_rows):
        age, ward, level = draw.randint(20, 90), draw.choice(WARDS), draw.choice(LEVELS)
        lab = round(draw.gauss(5, 2), 2)
        risk = (age > 60) + (lab > 6) + (ward == HOSTILE) + (level == "high") + (draw.random() < 0.2)
        rows.append(
            {
                "age": None if draw.random() < 0.1 else age,
                "ward": None if draw.random() < 0.1 else ward,
                "level": level,
                "lab": None if draw.random() < 0.15 else lab,
                ARABIC: draw.random(),
                HOSTILE: draw.random() + risk / 4,
                "outcome": "died" if risk >= 2 else "lived",
                "days": 10.0 * risk + draw.random(),
            }
        )
    frame = pandas.DataFrame(rows)
    frame["level"] = pandas.Categorical(frame["level"], LEVELS, ordered=True)
    return frame


def features(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame.drop(columns=["outcome", "days"])


@cache
def small_run() -> Run:
    """A run of a stable tree, with test rows."""
    return fit_run(
        patients().drop(columns="days"),
        "outcome",
        method="bootstrap",
        n_estimators=15,
        max_depth=3,
        n_jobs=1,
        ordered={"level": LEVELS},
    )


@cache
def asking_tree() -> Any:
    """A larger tree that asks about everything, a question of the user's too."""
    frame = patients()
    model = TreeClassifier(max_leaf_nodes=30, custom_features=[QUESTION], random_state=0)
    return model.fit(features(frame), frame["outcome"])


@cache
def number_tree() -> Any:
    frame = patients()
    return TreeRegressor(max_leaf_nodes=6).fit(features(frame), frame["days"])


@cache
def survival_tree() -> Any:
    frame = patients()
    model = SurvivalTree(max_leaf_nodes=9, time_unit="weeks", custom_features=[QUESTION])
    return model.fit(features(frame), times(frame))


def times(frame: pandas.DataFrame) -> Any:
    """Days to a death, some of them censored."""
    return 60.0 - frame["days"], frame["lab"].fillna(0.0) > 4


@cache
def consensus_model() -> Any:
    frame = patients()
    model = StableTreeClassifier(teacher="linear", n_estimators=10, max_depth=3, n_jobs=1)
    return model.fit(features(frame), frame["outcome"])


@cache
def folder() -> TemporaryDirectory[str]:
    """It goes when the session ends."""
    return TemporaryDirectory(prefix="holdfast-reports-")


@cache
def report_of(name: str) -> Path:
    """The report on one of the models here, by the name of its function."""
    path = Path(folder().name) / f"{name}.html"
    subject = globals()[name]()
    frame = patients(seed=1)
    rows = {"asking_tree": "outcome", "number_tree": "days", "consensus_model": "outcome"}
    given: tuple[Any, ...] = (features(frame), frame[rows[name]]) if name in rows else ()
    given = (features(frame), times(frame)) if name == "survival_tree" else given
    write_report(subject, path, *given)
    return path


# -- reading a page without a browser ---------------------------------------------------------------------

VOID = frozenset(["meta", "link", "input", "br", "img", "hr"])


class Outline(HTMLParser):
    """What a page consists of: its headings, ids and tags, and whether all that opens is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.unclosed: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[int] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("h1", "h2", "h3", "h4") and "template" not in self.open:
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unclosed.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.tags if "id" in attributes]

    @property
    def said(self) -> str:
        return " ".join(" ".join(self.text).split())
