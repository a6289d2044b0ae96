"""The door to show/: results ask here for their text and their pictures.

`show/` stands above the results that it draws, so they name what they want, and it is imported when it is
first asked for.
"""

from importlib import import_module
from typing import Any

# name of a function in show/: the module that has it
_HOME: dict[str, str] = {
    "answer_text": "conditions",
    "changes_text": "update",
    "condition_text": "conditions",
    "density_size_text": "density",
    "diff_summary": "diff_words",
    "drawing": "tree_text",
    "edit_text": "edits",
    "export_check_text": "export_check",
    "numbered_drawing": "numbered_drawing",
    "question_text": "conditions",
    "rule_text": "rules",
    "rules_text": "rules",
    "run_status_text": "run_status",
    "stages_summary": "stages",
    "summary_text": "summary",
    "tree_svg": "tree_svg",
    "update_summary": "update",
}


def shown(name: str, *args: Any, **options: Any) -> str:
    """What the function `name` of show/ makes of a result: text, HTML or SVG."""
    text: str = getattr(import_module(f"holdfast.show.{_HOME[name]}"), name)(*args, **options)
    return text
