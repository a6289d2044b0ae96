"""Models side by side: every one on the same folds."""
