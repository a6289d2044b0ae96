"""Decision trees that hold their shape as the data changes.

The public names stand in `__init__.pyi`, each once. More for special tasks is in the packages: displays in
`holdfast.plots`, formats in `holdfast.exports`, the register in `holdfast.governance`, growing and pruning in
`holdfast.growth`, exceptions in `holdfast.errors`.
"""

from holdfast._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __path__[0])
