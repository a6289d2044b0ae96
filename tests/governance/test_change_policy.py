"""A change policy is read strictly, and comes back from its own TOML."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import ChangePolicy
from holdfast.errors import PolicyError
from holdfast.governance.judge import JUDGES

PERMISSIONS = (
    "leaf_values",
    "thresholds",
    "categories",
    "missing_sides",
    "new_splits",
    "gone_splits",
    "new_root",
)


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "change.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# -- the template -----------------------------------------------------------------------------------------


def test_the_template_loads_to_its_documented_values(tmp_path: Path) -> None:
    policy = ChangePolicy.load(written(tmp_path, ChangePolicy.template_text()))
    assert policy == ChangePolicy.template()
    assert policy == ChangePolicy(
        **dict.fromkeys(PERMISSIONS, "allowed") | {"new_root": "never"},  # type: ignore[arg-type]
        max_threshold_shift=0.1,
        max_churn=0.05,
        max_flips=0.05,
        max_negative_flips=0.02,
        score_margin=0.02,
        subgroup_margin=0.05,
        observed_expected=(0.8, 1.25),
        calibration_intercept=(-0.5, 0.5),
        calibration_slope=(0.7, 2.0),
        min_leaf_rows=5,
    )


def test_every_line_stands_in_the_template_under_a_sentence() -> None:
    rows = ChangePolicy.template_text().splitlines()
    for each in ChangePolicy.__struct_fields__:
        place = next(
            number
            for number, row in enumerate(rows)
            if row.lstrip("# ").startswith((f"{each} = ", f"[{each}]"))
        )
        assert rows[place - 1].startswith("# "), each
        assert rows[place - 1].endswith((".", "?")), each


def test_what_the_template_has_as_a_comment_is_sound_too() -> None:
    text = "\n".join(
        row.removeprefix("# ")
        for row in ChangePolicy.template_text().splitlines()
        if " = " in row or "[" in row
    )
    policy = ChangePolicy.from_dict(tomllib.loads(text))
    assert policy.max_changed_rules == 4
    assert ChangePolicy.from_dict(tomllib.loads(policy.to_toml())) == policy


def test_every_line_is_judged_or_says_how() -> None:
    how = {"scoring", "confidence", "subgroup_margin", "subgroup_bands", "min_subgroup_rows"}
    assert set(JUDGES) | how == set(ChangePolicy.__struct_fields__)
    assert not set(JUDGES) & how


# -- there and back ---------------------------------------------------------------------------------------

numbers = st.floats(0, 1e6)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
intervals = st.tuples(st.floats(-1e9, 1e9), st.floats(0, 1e9)).map(lambda pair: (pair[0], pair[0] + pair[1]))
policies = st.builds(
    ChangePolicy,
    new_root=st.sampled_from([None, "allowed", "never"]),
    max_changed_rules=st.none() | st.integers(0, 100),
    max_churn=st.none() | numbers,
    score_margin=numbers,
    scoring=st.none() | names,
    confidence=st.floats(0.5, 1.0, exclude_min=True, exclude_max=True),
    subgroups=st.lists(names, unique=True, max_size=3),
    calibration_slope=st.none() | intervals,
    threshold_intervals=st.dictionaries(names, intervals, max_size=3),
)


@given(policies)
def test_toml_gives_the_policy_back(policy: ChangePolicy) -> None:
    assert ChangePolicy.from_dict(tomllib.loads(policy.to_toml())) == policy
    assert ChangePolicy.from_dict(policy.to_dict()) == policy


# -- what cannot be ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("max_chrun = 0.05", r"no line 'max_chrun' \(= 0\.05\): did you mean 'max_churn'\?"),
        ("Max_Flips = 0.05", r"no line 'Max_Flips' .* did you mean 'max_flips'"),
        ("colour = 1", r"no line 'colour' \(= 1\): choose one of 'leaf_values', 'thresholds'"),
        ('max_churn = "0.05"', r"line max_churn must be a number of at least 0, got '0\.05'"),
        ("max_churn = true", "line max_churn must be a number of at least 0, got True"),
        ("max_churn = -0.1", r"line max_churn must be a number of at least 0, got -0\.1"),
        ("max_churn = nan", "line max_churn must be .*, got nan"),
        ("max_churn = inf", "line max_churn must be .*, got inf"),
        ("max_flips = 5", "line max_flips must be a number between 0 and 1, got 5"),
        ("max_changed_rules = 1.5", r"line max_changed_rules must be an integer of at least 0, got 1\.5"),
        ("subgroup_bands = 0", "line subgroup_bands must be an integer of at least 1, got 0"),
        ("confidence = 95", r"line confidence must be a number above 0\.5 and below 1, got 95"),
        ("confidence = 1.0", r"line confidence must be .*, got 1\.0"),
        ("new_root = false", 'line new_root must be "allowed" or "never", got False'),
        ('new_root = "Never"', "line new_root must be .*, got 'Never'"),
        ("new_root = ['never']", r"line new_root must be .*, got \['never'\]"),
        ('subgroups = "sex"', "line subgroups must be a list of columns.*, got 'sex'"),
        ('subgroups = ["sex", "sex"]', "none of them twice"),
        ("subgroups = [1]", r"line subgroups must be .*, got \[1\]"),
        ('subgroups = ["sex"]', "subgroup_margin, or score_margin"),
        ("scoring = 1", "line scoring must be a text in quotes, got 1"),
        ("calibration_slope = 1", "line calibration_slope must be two numbers.*, got 1"),
        ("calibration_slope = [1.25, 0.8]", "the lower one first"),
        ("calibration_slope = [0.8]", "two numbers"),
        ("threshold_intervals = [40, 55]", "two numbers for each column"),
        ("[threshold_intervals]\nage = 40", r"line threshold_intervals must be .*, got \{'age': 40\}"),
        ("[max_churn]\nage = 40", "line max_churn must be"),
        ("max_churn 0.05", "it is not TOML: .*line 1"),
        ("max_churn = 1\nmax_churn = 2", "it is not TOML: cannot overwrite a value"),
        (b"\xff\xfe", "it is not UTF-8"),
        ("#" * (2**20 + 1), "more than 1048576 bytes"),
    ],
)
def test_a_wrong_line_is_one_clear_error(lines: str | bytes, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, lines)
    with pytest.raises(PolicyError, match=message) as caught:
        ChangePolicy.load(path)
    assert str(caught.value).startswith(f"Cannot use the change policy '{path}': ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "lines",
    [{"max_churn": 2j}, {"confidence": None}, {"subgroups": {"sex"}}, {"threshold_intervals": {1: (0, 1)}}],
)
def test_python_can_give_no_more_than_toml(lines: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match="line"):
        ChangePolicy.from_dict(lines)


def test_a_folder_is_no_policy_and_a_mark_at_the_start_does_no_harm(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="folder"):
        ChangePolicy.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        ChangePolicy.load(tmp_path / "none.toml")
    path = written(tmp_path, b"\xef\xbb\xbfmax_churn = 0\r\n")
    assert ChangePolicy.load(path).max_churn == 0.0
