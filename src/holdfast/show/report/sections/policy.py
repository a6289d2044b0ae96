"""The verdict of a change policy, line by line."""

from typing import Any

from holdfast.governance.verdict import MARKS, PolicyVerdict, figure_and_limit
from holdfast.show.report.page import Section

RISK = "risk manager"
NONE = "No policy was given: nothing says what the update may change."


def policy_section(verdict: PolicyVerdict | None) -> Section:
    """Every line with its figure, its limit and whether it passed; that there is no policy, if so."""
    facts: dict[str, Any] = {"summary": NONE, "lines": []}
    if verdict is not None:
        facts = {
            "summary": verdict.summary,
            "passed": verdict.passed,
            "lines": [
                {
                    "name": line.name,
                    "subject": line.subject,
                    "figure": figure_and_limit(line)[0],
                    "limit": figure_and_limit(line)[1],
                    "verdict": MARKS[line.status],
                    "words": line.words,
                }
                for line in verdict.lines
            ],
        }
    return Section("policy", "The policy, line by line", RISK, "policy.html", facts)
