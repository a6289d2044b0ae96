"""The pages of the API, made from public names and their docstrings: one for each folder of the package."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).parents[1]
# Modules whose public names are documented: each belongs to the page of the folder in which it is defined.
FACES = sorted((DOCS.parent / "src" / "holdfast").glob("*/__init__.pyi"))
MODULES = (
    "holdfast",
    *(f"holdfast.{face.parent.name}" for face in FACES),
    "holdfast.adapters",
    "holdfast.errors",
)
TITLES = {
    "estimators": "Estimators",
    "stable": "Stable trees",
    "update": "Updates and sequences",
    "governance": "Governance",
    "evaluate": "Evaluation",
    "explain": "Explanation",
    "distance": "Distances and diffs",
    "tree": "Trees and rules",
    "growth": "Growing and pruning",
    "ensembles": "Ensembles",
    "scoring": "Scores",
    "data": "Data",
    "plots": "Plots",
    "report": "Reports",
    "io": "Model files",
    "exports": "Exports",
    "adapters": "Models of other libraries",
    "runs": "Runs",
    "parallel": "Parallel work",
    "errors": "Exceptions and warnings",
}
MORE_LINES = re.compile(r"^([a-z]\w*(?:, \w+)*,)\n(?=\w+(?:, \w+)*,?\n)", re.MULTILINE)
TOP = import_module("holdfast").__all__
ROUTING = re.compile(r"set_\w+_request|get_metadata_routing")
INDEX = """API reference
=============

Every public name with its docstring.

.. toctree::
   :maxdepth: 1

"""


def public_names() -> Iterator[tuple[ModuleType, str]]:
    """The documented names, each with the module that exports it."""
    for name in MODULES:
        module = import_module(name)
        names = getattr(module, "__all__", None) or [
            each for each in vars(module) if inspect.isclass(vars(module)[each])
        ]
        yield from (
            (module, public) for public in names if module.__name__ == "holdfast" or public not in TOP
        )


def sections() -> dict[str, list[tuple[ModuleType, str]]]:
    """The public names by the folder in which they are defined, in the order of the titles."""
    found: dict[str, list[tuple[ModuleType, str]]] = {folder: [] for folder in TITLES}
    for module, name in public_names():
        home = getattr(getattr(module, name), "__module__", "holdfast.package")
        found.setdefault(home.split(".")[1], []).append((module, name))
    return {folder: names for folder, names in found.items() if names}


def directive(value: object) -> str:
    """The directive of autodoc for a value."""
    if inspect.isclass(value):
        return "autoexception" if issubclass(value, BaseException) else "autoclass"
    return "autofunction" if inspect.isroutine(value) else "autodata"


def options(value: object) -> str:
    """What autodoc shows of a value: of a class its methods, but for those it has from others."""
    if inspect.isclass(value) and not issubclass(value, BaseException):
        hidden = "BaseEstimator, ClassifierMixin, RegressorMixin, tuple, Table"
        return f"   :members:\n   :inherited-members: {hidden}\n"
    return "   :no-value:\n" if directive(value) == "autodata" else ""


def page(title: str, names: list[tuple[ModuleType, str]]) -> str:
    """The page of one section, as reStructuredText."""
    parts = [f"{title}\n{'=' * len(title)}\n"]
    for module, name in names:
        value = getattr(module, name)
        parts.append(f".. {directive(value)}:: {module.__name__}.{name}\n{options(value)}")
    return "\n".join(parts)


def replace(path: Path, text: str) -> None:
    """Write a file, unless it says so already: Sphinx reads again what is new."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_pages(app: Any) -> None:
    """Write docs/api anew, before Sphinx looks for pages."""
    pages = {
        folder: page(TITLES.get(folder, folder.capitalize()), names) for folder, names in sections().items()
    }
    pages["index"] = INDEX + "".join(f"   {name}\n" for name in pages)
    folder = DOCS / "api"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        replace(folder / f"{name}.rst", text)


def is_left_out(app: Any, what: str, name: str, value: object, skip: bool, options: Any) -> bool | None:
    """Leave out what others wrote: fields of named tuples, and scikit-learn's routing of metadata."""
    is_alias = (inspect.getdoc(value) or "").startswith("Alias for field number")
    return True if is_alias or ROUTING.fullmatch(name.rpartition(".")[2]) else None


def join_names(app: Any, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    """Names of parameters that take several lines become one: napoleon reads one."""
    lines[:] = MORE_LINES.sub(r"\1 ", "\n".join(lines)).split("\n")


def setup(app: Any) -> dict[str, bool]:
    """Join Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-skip-member", is_left_out)
    app.connect("autodoc-process-docstring", join_names, priority=400)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
