"""The ways to update a deployed tree, by name. Light, so that --help need not wait."""

HOWS = ("nearest", "keep", "refit", "retrain", "candidate")

LEAST_PRIOR = 1 / 3  # of the rows that a tree was trained on: people know it, even if all rows are given
UPDATE_TOLERANCE = 0.02  # of what a fresh tree explains of the teacher's variance
