"""How a line of a change policy is declared: once, as a field with all that is known of it."""

from dataclasses import dataclass, field
from typing import Any

from holdfast.stability.policy.forms import Form

KEY = "line"


@dataclass(frozen=True)
class Line:
    """What is known of a line of a policy besides its name and its default."""

    says: str  # what it asks for, in a sentence or two
    form: Form
    example: Any  # what stands in the template
    in_force: bool = True  # in the template; else it stands there as a comment


def line(default: Any, form: Form, example: Any, says: str, *, in_force: bool = True) -> Any:
    """A field of a policy, with what is known of the line."""
    known = {KEY: Line(says, form, example, in_force)}
    if default is dict:
        return field(default_factory=dict, metadata=known)
    return field(default=default, metadata=known)
