"""Explain."""

from holdfast._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __path__[0])
