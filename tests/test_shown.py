"""The table of what results ask show/ for."""

import ast
from importlib import import_module
from pathlib import Path

import holdfast
from holdfast.shown import _HOME

SOURCE = Path(holdfast.__file__).parent


def names_asked_for() -> set[str]:
    """The first arguments of all calls of shown() in the source."""
    calls = [
        node
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "shown"
    ]
    return {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}


def test_every_name_of_the_table_is_a_function_of_its_module() -> None:
    for name, module in _HOME.items():
        assert callable(getattr(import_module(f"holdfast.show.{module}"), name))


def test_the_table_has_what_results_ask_for_and_nothing_else() -> None:
    assert names_asked_for() == set(_HOME)
    assert list(_HOME) == sorted(_HOME)
