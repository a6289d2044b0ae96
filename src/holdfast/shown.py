"""The door to show/: results ask here for their text, their pictures and their plots.

`show/` stands above the results that it draws, so they name what they want, and it is imported when it is
first asked for. To add a form of a result is to add a file to `show/` and a line here; of a plot,
to `show/plots/`.
"""

from importlib import import_module
from typing import Any

# name of a function in show/: the module that has it
_HOME: dict[str, str] = {
    "answer_text": "conditions",
    "audit_html": "audit",
    "audit_summary": "audit",
    "audit_svg": "audit_picture",
    "audit_text": "audit",
    "changes_text": "update",
    "comparison_html": "comparison",
    "comparison_text": "comparison",
    "condition_text": "conditions",
    "density_size_text": "density",
    "diff_html": "diff",
    "diff_summary": "diff_words",
    "diff_text": "diff",
    "difference_text": "comparison",
    "distance_text": "distance_text",
    "drawing": "tree_text",
    "edit_price_text": "edit_price",
    "edit_text": "edits",
    "feature_table": "feature_use",
    "frontier_text": "frontier",
    "importances_text": "importances",
    "max_features_text": "max_features",
    "moving_rows_text": "audit",
    "numbered_drawing": "numbered_drawing",
    "reading": "comparison",
    "register_check_text": "register",
    "replications_text": "replications",
    "rule_text": "rules",
    "rules_text": "rules",
    "size_choice_text": "size_choice",
    "size_svg": "size_picture",
    "size_table_text": "size_table",
    "split_support_text": "split_support",
    "stages_html": "stages",
    "stages_summary": "stages",
    "stages_svg": "stages_picture",
    "stages_text": "stages",
    "summary_text": "summary",
    "tree_svg": "tree_svg",
    "trend_break_text": "trend_breaks",
    "trend_breaks_text": "trend_breaks",
    "update_html": "update",
    "update_page": "update_run",
    "update_run_html": "update_run",
    "update_run_text": "update_run",
    "update_summary": "update",
    "update_text": "update",
    "verdict_html": "policy",
    "verdict_summary": "policy",
    "verdict_text": "policy",
}


def shown(name: str, *args: Any, **options: Any) -> str:
    """What the function `name` of show/ makes of a result: text, HTML or SVG."""
    text: str = getattr(import_module(f"holdfast.show.{_HOME[name]}"), name)(*args, **options)
    return text


# name of a display in show/plots/: the module that has it
_PLOTS: dict[str, str] = {}


def plotted(name: str, result: Any, *, ax: Any = None, **options: Any) -> Any:
    """The display `name` of show/plots/ made from the result, and drawn on the axes or on a new figure."""
    display = getattr(import_module(f"holdfast.show.plots.{_PLOTS[name]}"), name)
    return display.from_result(result, **options).plot(ax=ax)
