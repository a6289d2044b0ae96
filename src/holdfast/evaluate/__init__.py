"""Models evaluated: on the same folds, and trained again on other samples."""
