"""The columns that matter: importances with their spread, and which are asked first."""

from typing import Any

from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section

MOST = 15  # columns shown at once


def features_section(fitted: Fitted) -> Section | None:
    """A bar per column, the most important first; None for a tree that asks nothing."""
    asked = [each for each in fitted.uses if each.anywhere > 0]
    if not asked:
        return None
    others = len(fitted.references) + len(fitted.sampled_candidates)
    top = max(each.importance + each.spread for each in asked) or 1.0
    used = {
        fitted.schema.names[index]
        for tree in fitted.trees
        for index in set(tree.feature.tolist())
        if index >= 0
    }
    rows: list[dict[str, Any]] = [
        {
            "name": each.name,
            "importance": each.importance,
            "spread": each.spread,
            "first": list(each.first),
            "anywhere": each.anywhere,
            "used": each.name in used,
            "bar": [
                each.importance / top,
                max(each.importance - each.spread, 0) / top,
                (each.importance + each.spread) / top,
            ],
        }
        for each in asked
    ]
    facts = {
        "trees": others or len(fitted.trees),
        "are_others": others > 0,
        "most": MOST,
        "features": rows,
        "never": len(fitted.uses) - len(asked),
    }
    return Section("features", "The columns that matter", "data scientist", "features.html", facts)
