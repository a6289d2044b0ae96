"""The door to growth/: a tree that is edited asks here for what rows make of it.

`growth/` stands above trees, so they name what they want, and it is imported when it is first asked for.
"""

from importlib import import_module
from typing import Any

# name of a function in growth/: the module that has it
_HOME: dict[str, str] = {"refitted_at": "editing", "subtree_at": "editing"}


def grown(name: str, *args: Any) -> Any:
    """What the function `name` of growth/ makes of a tree and rows."""
    return getattr(import_module(f"holdfast.growth.{_HOME[name]}"), name)(*args)
