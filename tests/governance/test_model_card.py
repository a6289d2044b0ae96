"""What is said about a model: every line optional, none that there is not, none of another form."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from holdfast import ModelCard
from holdfast.errors import ModelCardError
from holdfast.governance.model_card import make_model_card


def test_a_file_is_read_and_written_as_it_was(tmp_path: Path) -> None:
    lines: dict[str, Any] = {
        "name": "Risk <1>",
        "limits": ["adults only", 'not "sure"'],
        "decision_threshold": 0.2,
        "sign_off": {"Owner": "A. Kim", "Validation": ""},
    }
    (tmp_path / "model-card.toml").write_text(ModelCard.from_dict(lines).to_toml(), encoding="utf-8")
    assert ModelCard.load(tmp_path / "model-card.toml").to_dict() == lines


def test_the_template_is_a_file_that_can_be_read_and_has_every_line() -> None:
    text = ModelCard.template_text()
    read = ModelCard.from_dict(tomllib.loads(text))
    assert read.name == "Diabetes risk, primary care"
    assert all(f"{name} = " in text or f"[{name}]" in text for name in ModelCard.__struct_fields__)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ({"ouner": "A"}, "There is no line 'ouner'.*did you mean 'owner'"),
        ({"owner": 3}, "The line owner must be a text in quotes, got 3"),
        ({"decision_threshold": "half"}, "must be a number, got .half"),
        ({"subgroups": ["sex", "sex"]}, "none of them twice"),
        ({"sign_off": ["A. Kim"]}, "a name for each role"),
        ({"limits": [1]}, "a text in quotes, or a list of texts"),
    ],
)
def test_a_line_that_cannot_be_is_named(lines: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelCardError, match=message):
        ModelCard.from_dict(lines)


def test_a_file_that_is_none_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "model-card.toml").write_text("owner = ", encoding="utf-8")
    with pytest.raises(ModelCardError, match=r"Cannot use .*model-card\.toml.*it is not TOML"):
        ModelCard.load(tmp_path / "model-card.toml")
    with pytest.raises(ModelCardError, match="must be a ModelCard"):
        make_model_card(3)


def test_a_text_alone_is_a_list_of_one_and_nothing_is_said_of_what_is_not_stated() -> None:
    assert ModelCard(limits="adults only").limits == ("adults only",)
    assert ModelCard().to_dict() == {}
    assert make_model_card(None) == ModelCard()
