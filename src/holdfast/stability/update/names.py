"""The ways to update a deployed tree, by name. Light, so that --help need not wait."""

HOWS = ("nearest", "keep", "refit", "retrain", "candidate")

UPDATE_TOLERANCE = 0.02  # of what a fresh tree explains of the teacher's variance
