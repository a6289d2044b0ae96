"""The finished tree: one immutable type for trees of any origin, and everything that is read off it."""

from holdfast._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __path__[0])
