"""The selection rules and the units of a tolerance by name. Light, so that --help need not wait."""

RULES = ("within-tolerance", "best-score", "most-stable", "weighted", "knee")
UNITS = ("absolute", "relative", "standard-error")
