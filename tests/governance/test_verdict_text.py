"""The verdict on a change in words."""

from dataclasses import replace

import pytest

from holdfast import ChangePolicy
from holdfast.governance import PolicyLine, PolicyVerdict

PASSED = PolicyLine("max_churn", "", 0.021, 0.05, "at most", "passed", "mean change of the probabilities")
FLIPS = PolicyLine("max_flips", "", 0.0714, 0.05, "at most", "failed", "rows that get another class")
ROOT = PolicyLine("new_root", "", 1, "never", "permission", "failed", "the first split is on <b>")
SMALL = PolicyLine("subgroups", "sex = m", None, -0.03, "at least", "not judged", "12 rows, fewer than 100")
SLOPE = PolicyLine("calibration_slope", "", 0.7157, (0.8, 1.25), "within", "failed", "1 is right")


def verdict(*lines: PolicyLine) -> PolicyVerdict:
    return PolicyVerdict(ChangePolicy(), lines, 1500)


def test_words_first_then_the_lines_then_more_on_what_did_not_pass() -> None:
    judged = verdict(ROOT, PASSED, FLIPS, SMALL, SLOPE)
    sentences, table = str(judged).split("\n\n")
    assert sentences.replace("\n", " ") == judged.summary
    assert judged.summary == (
        "The change breaks the policy: 3 of 4 lines fail, judged by 1,500 rows: new_root is never allowed, "
        "and the first split is on <b>; max_flips is 7.1 %, and has to be at most 5.0 %; "
        "calibration_slope is 0.7157, and has to be 0.8 to 1.25. 1 line could not be judged."
    )
    assert table.splitlines() == [
        "Change policy",
        "line               of       figure  limit            verdict",
        "new_root                         1  never            FAIL",
        "max_churn                    0.021  at most 0.05     pass",
        "max_flips                    7.1 %  at most 5.0 %    FAIL",
        "subgroups          sex = m          at least -0.030  not judged",
        "calibration_slope           0.7157  0.8 to 1.25      FAIL",
        "new_root: the first split is on <b>.",
        "max_flips: rows that get another class.",
        "subgroups (sex = m): 12 rows, fewer than 100.",
        "calibration_slope: 1 is right.",
    ]


@pytest.mark.parametrize(
    ("lines", "summary"),
    [
        ((), "The policy has no lines: nothing was judged."),
        ((PASSED,), "The change keeps to the policy: the one line passes, judged by 1,500 rows."),
        (
            (PASSED, PASSED, SMALL),
            "The change keeps to the policy: all 2 lines pass, judged by 1,500 rows. 1 line could not be "
            "judged.",
        ),
        (
            (FLIPS,) * 5,
            "The change breaks the policy: 5 of 5 lines fail, judged by 1,500 rows: "
            + "; ".join(["max_flips is 7.1 %, and has to be at most 5.0 %"] * 4)
            + "; and 1 more.",
        ),
    ],
)
def test_the_summary(lines: tuple[PolicyLine, ...], summary: str) -> None:
    assert verdict(*lines).summary == summary
    assert " ".join(str(verdict(*lines)).split("\n\n")[0].split()) == summary


def test_a_figure_just_beyond_its_limit_has_the_digits_to_tell() -> None:
    close = PolicyLine("max_flips", "", 0.05000004, 0.05, "at most", "failed", "")
    assert "max_flips is 5.000004 %, and has to be at most 5 %" in verdict(close).summary


def test_names_are_no_markup_in_a_notebook() -> None:
    html = verdict(ROOT)._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert 'class="holdfast-bad">FAIL</td>' in html


def test_lines_that_were_judged_by_fewer_rows_are_told_with_their_number() -> None:
    summary = replace(verdict(PASSED), n_held_out=500).summary
    assert summary == (
        "The change keeps to the policy: the one line passes, judged by 1,500 rows "
        "(scores and calibration by 500 rows held out)."
    )
