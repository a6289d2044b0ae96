"""What a change is recorded by: its use, its path, its identity, its limits, what comes next, who signs."""

from collections.abc import Iterator
from typing import Any

from holdfast.runs.update_result import UpdateRun
from holdfast.show.report.page import Section
from holdfast.show.report.sections.policy import RISK
from holdfast.show.update import path_rows
from holdfast.text.numbers import counted

USES = {
    "intended_use": "Intended use",
    "not_for": "Not for",
    "population": "Population",
    "outcome": "Outcome",
    "decision": "Decision",
    "owner": "Owner",
    "contacts": "Contacts",
}
ROLES = ("Model owner", "Independent validation", "Approved for use")  # who sign where nobody is named
NOT_STATED = "not stated"


def use_section(model_card: dict[str, Any]) -> Section:
    """What the model is for and who answers for it, in the words of its owners."""
    lines = [{"title": title, "text": _texts(model_card.get(name))} for name, title in USES.items()]
    return Section("use", "What the model is for", RISK, "use.html", {"lines": lines})


def path_section(run: UpdateRun) -> Section:
    """The steps that could have been taken, from the tree as it is to a fresh one."""
    headings, *rows = (list(row) for row in path_rows(run.update))
    taken = run.update.taken
    cells = [[str(number), *row[1:]] for number, row in enumerate(rows)]
    facts = {"headings": headings, "rows": cells, "taken": taken, "is_taken": run.is_taken}
    return Section("path", "What else could have been done", RISK, "path.html", facts)


def identity_section(run: UpdateRun) -> Section:
    """Hashes of both models and of the data, versions, settings, edits by hand."""
    facts = run.facts
    settings = {**facts["settings"], **{name: each for name, each in facts["columns"].items() if each}}
    kept = {name: value for name, value in settings.items() if value not in (None, [], False)}
    lines = [
        ("Model before", facts["model"]["old"]),
        ("Model after" if run.is_taken else "Model proposed", facts["model"]["new"]),
        ("Model in use from now on", facts["model"]["in_use"]),
        ("New rows", facts["data"]["fingerprint"]),
        ("Policy", run.change.policy_hash),
    ]
    content: dict[str, Any] = {
        "hashes": [[title, text] for title, text in lines if text],
        "files": [["Model before", facts["model"]["source"]], ["New rows", facts["data"]["source"]]]
        + ([["Rows of before", facts["data"]["old_source"]]] if facts["data"]["old_source"] else []),
        "software": facts["software"],
        "seed": facts["seed"],
        "settings": {name: _text(value) for name, value in kept.items()},
        "note": facts["model"]["taken_over"],
        "edits": facts["edits"],
    }
    return Section("identity", "Identity of models, data and software", RISK, "identity.html", content)


def limits_section(run: UpdateRun, model_card: dict[str, Any]) -> Section:
    """What the owners say it cannot do, and what this page cannot tell."""
    facts = {
        "stated": _texts(model_card.get("limits")),
        "found": list(_found_limits(run)),
        "notes": run.facts["notes"],
    }
    return Section("limits", "Limits", RISK, "limits.html", facts)


def _found_limits(run: UpdateRun) -> Iterator[str]:
    outputs, subgroups = run.facts["outputs"], run.facts["subgroups"]
    if not outputs["scored_on_rows_held_out"]:
        yield "No rows were held out: scores and calibration are of rows learnt from, and too good."
    if small := [each["name"] for each in subgroups if each["is_small"]]:
        yield f"Too few rows to say much of {counted(len(small), 'subgroup')}: {', '.join(small)}."
    if not subgroups:
        yield "No subgroups are named: model-card.toml or a policy can name columns."
    if run.facts["periods"]["before"] is None:
        yield "Nothing is known of the rows of before, so how far the population has moved cannot be told."
    if run.verdict is None:
        yield "No policy was stated before the update."
    elif run.verdict.not_judged:
        lines = ", ".join(dict.fromkeys(line.name for line in run.verdict.not_judged))
        yield f"{counted(len(run.verdict.not_judged), 'line')} of the policy could not be judged: {lines}."


def monitoring_section(model_card: dict[str, Any]) -> Section:
    """What is watched from now on, and what leads to the next review."""
    lines = [
        {"title": "Monitoring", "text": _texts(model_card.get("monitoring"))},
        {"title": "Next triggers", "text": _texts(model_card.get("triggers"))},
        {"title": "Next review", "text": _texts(model_card.get("next_review"))},
    ]
    return Section("monitoring", "What is watched from now on", RISK, "use.html", {"lines": lines})


def register_section(run: UpdateRun) -> Section:
    """The entry in the change register, and the way back."""
    record, model = run.record, run.facts["model"]
    facts: dict[str, Any] = {
        "record": None
        if record is None
        else {
            "number": record.number,
            "time": record.time,
            "hash": record.hash,
            "previous": record.previous,
            "who": record.who,
            "why": record.why,
        },
        "taken": run.is_taken,
        "forced": run.facts["forced"],
        "rollback": model["old"],
        "source": model["source"],
        "in_use": model["in_use"],
    }
    return Section("register", "Register entry and rollback", RISK, "register.html", facts)


def sign_off_section(model_card: dict[str, Any]) -> Section:
    """A line to sign for each role."""
    people = model_card.get("sign_off") or dict.fromkeys(ROLES, "")
    facts = {"people": [[role, name] for role, name in people.items()]}
    return Section("sign-off", "Sign-off", RISK, "sign_off.html", facts)


def _texts(value: Any) -> list[str]:
    if not value:
        return []
    return [value] if isinstance(value, str) else [str(each) for each in value]


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
