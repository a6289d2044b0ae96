"""The methods, the selection rules and the units of a tolerance by name. Light: --help need not wait."""

METHODS = ("centred", "bootstrap", "pruned", "paper")
RULES = ("within-tolerance", "best-score", "most-stable", "weighted", "knee")
BY_NUMBER = "candidate"  # the rule of a candidate that was named
NOISE_AWARE = "or-standard-error"  # what is usual for the metric or, if that is more, one standard error
UNITS = ("absolute", "relative", "standard-error", NOISE_AWARE, "teacher")

# What a tolerance is if none is given.
SCORE_TOLERANCE = 0.01
TEACHER_TOLERANCE = 0.06  # as a fraction of what the student explains of the teacher's variance
