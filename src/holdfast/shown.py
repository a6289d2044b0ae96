"""The door to show/: results ask here for their text and their pictures.

`show/` stands above the results that it draws, so they name what they want, and it is imported when it is
first asked for.
"""

from importlib import import_module
from typing import Any

# name of a function in show/: the module that has it
_HOME: dict[str, str] = {
    "answer_text": "conditions",
    "audit_html": "audit",
    "audit_summary": "audit",
    "audit_text": "audit",
    "change_record_html": "register",
    "changes_text": "update",
    "comparison_html": "comparison",
    "comparison_text": "comparison",
    "condition_text": "conditions",
    "density_size_text": "density",
    "diff_summary": "diff_words",
    "difference_text": "comparison",
    "drawing": "tree_text",
    "edit_text": "edits",
    "export_check_text": "export_check",
    "moving_rows_text": "audit",
    "numbered_drawing": "numbered_drawing",
    "question_text": "conditions",
    "reading": "comparison",
    "records_html": "audit",
    "register_check_html": "register",
    "register_check_text": "register",
    "replications_html": "replications",
    "replications_text": "replications",
    "rule_text": "rules",
    "rules_text": "rules",
    "run_status_text": "run_status",
    "stages_summary": "stages",
    "summary_text": "summary",
    "tree_svg": "tree_svg",
    "update_summary": "update",
    "verdict_html": "policy",
    "verdict_summary": "policy",
    "verdict_text": "policy",
}


def shown(name: str, *args: Any, **options: Any) -> str:
    """What the function `name` of show/ makes of a result: text, HTML or SVG."""
    text: str = getattr(import_module(f"holdfast.show.{_HOME[name]}"), name)(*args, **options)
    return text
