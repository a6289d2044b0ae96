"""The pages of the API: one for each section of reference.md, with the docstrings of the names that it lists.

So a public name is listed once. A test asks reference.md for every name, and with it this part of the site.
"""

import inspect
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
SECTION = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
# A name belongs where it is called in the first cell of a row, else where it stands in such a cell or begins
# a paragraph, else where it is named first.
CALLED = r"^\|(?:[^|]*[ `,])?{name}\("
MORE_LINES = re.compile(r"^([a-z]\w*(?:, \w+)*,)\n(?=\w+(?:, \w+)*,?\n)", re.MULTILINE)
DEFINED = r"^(?:\|[^|]*)?`{name}\b"
NAMED = r"`{name}\b"
ROUTING = re.compile(r"set_\w+_request|get_metadata_routing")
INDEX = """API
===

Every public name with its docstring, in the sections of the :doc:`reference <../reference>`.

.. toctree::
   :maxdepth: 1

"""


def home(name: str, bodies: dict[str, str]) -> tuple[str, int] | None:
    """The section that a name belongs to, and its place there."""
    for pattern in (CALLED, DEFINED, NAMED):
        for title, body in bodies.items():
            if found := re.search(pattern.format(name=name), body, re.MULTILINE):
                return title, found.end()
    return None


def sections(reference: str, public: list[str]) -> dict[str, list[str]]:
    """The public names of each section of the reference, in its order."""
    bodies = dict(SECTION.findall(reference))
    homes = {name: found for name in public if (found := home(name, bodies))}
    return {
        title: sorted(names, key=lambda name: homes[name][1])
        for title in bodies
        if (names := [name for name in homes if homes[name][0] == title])
    }


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


def slug(title: str) -> str:
    """The name of the file of a section."""
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def page(title: str, names: list[str], package: Any) -> str:
    """The page of one section, as reStructuredText."""
    parts = [f"{title}\n{'=' * len(title)}\n", ".. currentmodule:: holdfast\n"]
    for name in names:
        value = getattr(package, name)
        parts.append(f".. {directive(value)}:: holdfast.{name}\n{options(value)}")
    return "\n".join(parts)


def replace(path: Path, text: str) -> None:
    """Write a file, unless it says so already: Sphinx reads again what is new."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_pages(app: Any) -> None:
    """Write docs/api anew, before Sphinx looks for pages."""
    import holdfast

    found = sections((DOCS / "reference.md").read_text(encoding="utf-8"), holdfast.__all__)
    pages = {slug(title): page(title, names, holdfast) for title, names in found.items()}
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
