"""Packages that import a public name when it is first used, so that importing them costs next to nothing."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def attach(package: str, folder: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose names stand in its `__init__.pyi`.

    A line of that file is `from MODULE import NAME as NAME`, which type checkers read too.
    """
    with open(f"{folder}/__init__.pyi", encoding="utf-8") as file:
        homes = {line.split()[3]: line.split()[1] for line in file if line.startswith("from ")}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(import_module(package), name, value)
        return value

    return find, lambda: sorted(homes), sorted(homes)
