"""The data: what each column is, its range or categories, and how much of it is missing."""

from dataclasses import replace
from typing import Any

from holdfast.data.schema import Feature
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section
from holdfast.text.lines import label_text
from holdfast.text.numbers import number_text, percent_text

MOST = 30  # columns shown at once
MOST_CATEGORIES = 12


def schema_section(fitted: Fitted) -> Section:
    """A row for every column, and the target."""
    data = fitted.record.get("data", {})
    rows, missing = data.get("rows"), data.get("missing", {})
    used = {
        fitted.schema.names[index]
        for tree in fitted.trees
        for index in set(tree.feature.tolist())
        if index >= 0
    }
    facts: dict[str, Any] = {
        "source": file_name(data.get("source", "")),
        "rows": rows,
        "target": {"name": fitted.target.name, **data.get("target", _target(fitted))},
        "most": MOST,
        "n_columns": len(fitted.schema.features),
        "columns": [
            {
                "name": each.name,
                "kind": each.kind,
                "values": _values(each),
                "missing": None if rows is None else missing.get(each.name, 0) / rows,
                "missing_text": "" if not rows else percent_text(missing.get(each.name, 0) / rows),
                "used": each.name in used,
            }
            for each in fitted.schema.features
        ],
    }
    section = Section("schema", "The data", "data scientist", "schema.html", facts)
    asked = {**facts, "columns": [each for each in facts["columns"] if each["used"]]}
    told = "Only the columns that the model asks about are listed, to keep this page small."
    return replace(section, shorter=(replace(section, facts=asked, left_out=told),))


def file_name(source: str) -> str:
    """The last part of a path: the rest is the business of the machine that it was read on."""
    return source.replace("\\", "/").rsplit("/", 1)[-1]


def _target(fitted: Fitted) -> dict[str, Any]:
    if fitted.target.is_classes:
        return {"classes": {label_text(label): None for label in fitted.target.classes}}
    return {"low": fitted.target.low, "high": fitted.target.high}


def _values(feature: Feature) -> str:
    if feature.kind == "numeric":
        return f"{number_text(feature.low, 4)} to {number_text(feature.high, 4)}"
    if feature.kind == "question":
        return "yes or no"
    labels = [label_text(label) for label in feature.categories[:MOST_CATEGORIES]]
    more = len(feature.categories) - len(labels)
    joined = (" < " if feature.kind == "ordered" else ", ").join(labels)
    return f"{joined} and {more} more" if more else joined
