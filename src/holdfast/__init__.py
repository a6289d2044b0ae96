"""Decision trees that hold their shape as the data changes.

The public names stand in `__init__.pyi`, each once, where type checkers read them too. They are imported when
they are first used, so that `import holdfast` costs next to nothing.
"""

from importlib import import_module
from typing import Any

with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as _names:
    # A line is: from MODULE import NAME as NAME
    _HOME = {line.split()[3]: line.split()[1] for line in _names if line.startswith("from ")}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
