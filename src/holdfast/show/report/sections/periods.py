"""The data of both times: rows, the target, missing values, the schema, and how far each column has moved."""

from typing import Any

from holdfast.runs.update_result import UpdateRun
from holdfast.scoring.population import LITTLE, MUCH
from holdfast.show.report.page import Section
from holdfast.show.report.sections.policy import RISK
from holdfast.text.lines import label_text
from holdfast.tree.tree import LEAF

MOST_COLUMNS = 40  # of a page, besides those that are asked about; update.json has all
UNKNOWN = (
    "Nothing is known of the rows of before but their ranges and categories: update the folder of a run, "
    "which knows more of its rows, or give them by --old."
)


def periods_section(run: UpdateRun) -> Section:
    """Both times side by side, and column by column, those that the trees ask about marked."""
    periods = run.facts["periods"]
    asked = asked_columns(run)
    rows = run.diff.rows
    columns = [{**each, "is_asked": each["name"] in asked} for each in periods["columns"]]
    told = [each for place, each in enumerate(columns) if place < MOST_COLUMNS or each["is_asked"]]
    facts: dict[str, Any] = {
        **periods,
        "columns": told,
        "left_out": len(columns) - len(told),
        "schema": _schema_lines(periods["schema"]),
        "leaf_index": None if rows is None or not rows.leaf_shares else rows.leaf_index,
        "limits": [LITTLE, MUCH],
        "rows_behind": run.facts["rows_behind"],
        "unknown": "" if periods["before"] else UNKNOWN,
        "sources": {"before": run.facts["model"]["source"], "now": run.facts["data"]["source"]},
    }
    return Section("data", "The data of both periods", RISK, "periods.html", facts)


def asked_columns(run: UpdateRun) -> set[str]:
    """What the old or the new tree asks about."""
    return {
        tree.schema.names[feature]
        for tree in (run.update.deployed, run.update.tree)
        for feature in tree.feature.tolist()
        if feature != LEAF
    }


def _schema_lines(schema: Any) -> list[str]:
    """What the schema gained or lost, one sentence each; none if nothing."""
    named = (
        ("new_columns", "New columns"),
        ("gone_columns", "Columns that are gone"),
        ("other_kinds", "Columns of another kind"),
        ("new_classes", "New classes"),
    )
    lines = [f"{title}: {', '.join(map(label_text, schema[name]))}." for name, title in named if schema[name]]
    for column, labels in schema["new_categories"].items():
        lines.append(f"New categories of {column}: {', '.join(map(label_text, labels))}.")
    return lines
