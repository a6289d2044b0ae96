"""What is said about a model: every line optional, none that there is not, none of another form."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from holdfast import About, AboutError
from holdfast.runs.about import about_of, about_template


def test_a_file_is_read_and_written_as_it_was(tmp_path: Path) -> None:
    lines: dict[str, Any] = {
        "name": "Risk <1>",
        "limits": ["adults only", 'not "sure"'],
        "decision_threshold": 0.2,
        "sign_off": {"Owner": "A. Kim", "Validation": ""},
    }
    (tmp_path / "about.toml").write_text(About.from_dict(lines).to_toml(), encoding="utf-8")
    assert About.load(tmp_path / "about.toml").to_dict() == lines


def test_the_template_is_a_file_that_can_be_read_and_has_every_line() -> None:
    text = about_template()
    read = About.from_dict(tomllib.loads(text))
    assert read.name == "Diabetes risk, primary care"
    assert all(f"{name} = " in text or f"[{name}]" in text for name in About.__dataclass_fields__)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ({"ouner": "A"}, "There is no line 'ouner'.*did you mean 'owner'"),
        ({"owner": 3}, "The line owner is 3: it has to be a text in quotes"),
        ({"decision_threshold": "half"}, "has to be a number"),
        ({"subgroups": ["sex", "sex"]}, "none of them twice"),
        ({"sign_off": ["A. Kim"]}, "a name for each role"),
        ({"limits": [1]}, "a text in quotes, or a list of texts"),
        ({"owner": None}, "The line owner is None: leave it out"),
    ],
)
def test_a_line_that_cannot_be_is_named(lines: dict[str, Any], message: str) -> None:
    with pytest.raises(AboutError, match=message):
        About.from_dict(lines)


def test_a_file_that_is_none_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "about.toml").write_text("owner = ", encoding="utf-8")
    with pytest.raises(AboutError, match=r"Cannot use .*about\.toml.*it is not TOML"):
        About.load(tmp_path / "about.toml")
    with pytest.raises(AboutError, match="has to be an About"):
        about_of(3)


def test_a_text_alone_is_a_list_of_one_and_nothing_is_said_of_what_is_not_stated() -> None:
    assert About(limits="adults only").limits == ("adults only",)
    assert About().to_dict() == {}
    assert about_of(None) == About()
