"""The selection rules and the units of a tolerance by name. Light, so that --help need not wait."""

RULES = ("within-tolerance", "best-score", "most-stable", "weighted", "knee")
UNITS = ("absolute", "relative", "standard-error", "teacher")

# What a tolerance is if none is given.
SCORE_TOLERANCE = 0.01
TEACHER_TOLERANCE = 0.06  # as a fraction of what the student explains of the teacher's variance
