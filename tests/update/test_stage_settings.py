"""Settings of a sequence that are refused, and defaults."""

from typing import Any

import pytest

from holdfast.errors import ParameterError
from holdfast.update.sequence import StageSettings


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"strategy": "best"}, "strategy='best' is unknown"),
        ({"memory": "none"}, "memory='none' is unknown"),
        ({"half_life": 0}, "half_life=0 is out of range"),
        ({"half_life": 2, "memory": "stage"}, "memory='stage' leaves them out"),
        ({"tolerance": -0.1}, "tolerance=-0.1 is out of range"),
        ({"prior_rows": float("inf")}, "prior_rows=inf is out of range"),
        ({"movement_weight": 0.1}, "movement_weight=0.1 is for strategy='shortest-path'"),
        ({"hindsight": True}, "hindsight=True is for strategy='shortest-path'"),
        ({"strategy": "shortest-path", "movement_weight": "much"}, "movement_weight='much' is out of range"),
        ({"strategy": "shortest-path", "prior_rows": 10}, "prior_rows=10 is for strategy='update'"),
        ({"min_rows": 0}, "min_rows=0 is out of range"),
    ],
)
def test_an_error_names_the_setting_and_the_way_out(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words.replace("(", r"\(")):
        StageSettings(**given)


def test_settings_have_the_defaults_of_the_strategy() -> None:
    settings = StageSettings(strategy="shortest-path")
    assert (settings.weight, settings.update_tolerance) == (0.02, 0.02)
    assert StageSettings(strategy="shortest-path", movement_weight=0).weight == 0.0
