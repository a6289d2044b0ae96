"""The table of what results ask show/ for."""

import ast
from importlib import import_module
from pathlib import Path

import holdfast
from holdfast.show.plots.display import Display
from holdfast.shown import _HOME, _PLOTS, display_class

SOURCE = Path(holdfast.__file__).parent


def names_asked_for(*functions: str) -> set[str]:
    """The first arguments of all calls of these functions in the source."""
    paths = [path for path in SOURCE.rglob("*.py") if "holdfast.shown" in path.read_text(encoding="utf-8")]
    calls = [
        node
        for path in paths
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions
    ]
    return {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}


def test_every_name_of_the_table_is_a_function_of_its_module() -> None:
    for name, module in _HOME.items():
        assert callable(getattr(import_module(f"holdfast.show.{module}"), name))


def test_the_table_has_what_results_ask_for_and_nothing_else() -> None:
    assert names_asked_for("shown") == set(_HOME)
    assert list(_HOME) == sorted(_HOME)


def test_every_plot_of_the_table_is_a_display_with_a_public_name() -> None:
    for name in _PLOTS:
        display = display_class(name)
        assert getattr(holdfast, name) is display
        assert issubclass(display, Display)
        assert callable(display.from_result)


def test_the_table_of_plots_has_what_results_ask_for_and_little_else() -> None:
    assert names_asked_for("plotted", "plotted_svg") <= set(_PLOTS)
    assert list(_PLOTS) == sorted(_PLOTS)
