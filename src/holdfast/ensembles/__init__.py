"""Ensembles of trees: bagging, forests, out-of-bag estimates, boosting and AdaBoost."""

from holdfast._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __path__[0])
