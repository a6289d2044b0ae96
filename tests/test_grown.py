"""The table of what trees ask growth/ for."""

import ast
from importlib import import_module
from pathlib import Path

import holdfast
from holdfast.grown import _HOME

SOURCE = Path(holdfast.__file__).parent


def test_the_table_has_what_trees_ask_for_and_nothing_else() -> None:
    calls = [
        node
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "grown"
    ]
    named = {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}
    assert named == set(_HOME)
    for name, module in _HOME.items():
        assert callable(getattr(import_module(f"holdfast.growth.{module}"), name))
