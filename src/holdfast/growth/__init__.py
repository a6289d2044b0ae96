"""Growing trees: criteria, rules, and the one call that turns a table into a tree."""

from holdfast._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __path__[0])
