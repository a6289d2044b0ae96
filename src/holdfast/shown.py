"""The door to show/: results ask here for their text, their pictures, their plots and their reports.

`show/` stands above the results that it draws, so they name what they want, and it is imported when it is
first asked for. To add a form of a result is to add a file to `show/` and a line here; of a plot,
to `show/plots/`.
"""

from importlib import import_module
from typing import Any

# name of a function in show/: the module that has it
_HOME: dict[str, str] = {
    "answer_text": "conditions",
    "change_record_html": "register",
    "changes_text": "update",
    "choice_html": "frontier",
    "condition_text": "conditions",
    "density_size_text": "density",
    "diff_html": "diff",
    "diff_summary": "diff_words",
    "diff_text": "diff",
    "distance_html": "distance_text",
    "distance_text": "distance_text",
    "drawing": "tree_text",
    "edit_price_html": "edit_price",
    "edit_price_text": "edit_price",
    "edit_text": "edits",
    "export_check_text": "export_check",
    "feature_table": "feature_use",
    "feature_use_html": "feature_use",
    "frontier_html": "frontier",
    "frontier_text": "frontier",
    "importances_html": "importances",
    "importances_text": "importances",
    "max_features_html": "max_features",
    "max_features_text": "max_features",
    "numbered_drawing": "numbered_drawing",
    "question_text": "conditions",
    "register_check_html": "register",
    "register_check_text": "register",
    "row_explanation_html": "row_explanation",
    "row_explanation_text": "row_explanation",
    "rule_text": "rules",
    "rules_text": "rules",
    "run_html": "run",
    "run_status_text": "run_status",
    "size_choice_html": "size_choice",
    "size_choice_text": "size_choice",
    "size_table_html": "size_table",
    "size_table_text": "size_table",
    "split_support_html": "split_support",
    "split_support_text": "split_support",
    "stages_html": "stages",
    "stages_summary": "stages",
    "stages_text": "stages",
    "summary_text": "summary",
    "tree_correlation_html": "tree_correlation",
    "tree_svg": "tree_svg",
    "trend_break_text": "trend_breaks",
    "trend_breaks_text": "trend_breaks",
    "update_html": "update",
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
_PLOTS: dict[str, str] = {
    "BoostingDisplay": "boosting",
    "DecisionCurveDisplay": "decision_curve",
    "DistanceDisplay": "distance",
    "FrontierDisplay": "frontier",
    "ImportanceDisplay": "importance",
    "OutOfBagDisplay": "out_of_bag",
    "PruningDisplay": "pruning",
    "SplitSupportDisplay": "split_support",
    "StagesDisplay": "stages",
}


def plotted(name: str, result: Any, *, ax: Any = None, **options: Any) -> Any:
    """The display `name` of show/plots/ made from the result, and drawn on the axes or on a new figure."""
    return display_class(name).from_result(result, ax=ax, **options)


def plotted_svg(name: str, result: Any, **options: Any) -> str:
    """The same as the text of an SVG file, which no window or notebook shows."""
    later = import_module("holdfast.show.plots.display").LATER
    text: str = display_class(name).from_result(result, ax=later, **options).to_svg()
    return text


def display_class(name: str) -> Any:
    """The class of this name in show/plots/."""
    return getattr(import_module(f"holdfast.show.plots.{_PLOTS[name]}"), name)


def reported(subject: Any, path: Any, **options: Any) -> None:
    """Write the report on a result: a page at the path, and its facts beside it."""
    import_module("holdfast.show.report.write").write_report(subject, path, **options)
