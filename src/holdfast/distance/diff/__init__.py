"""What changed between two trees: rule by rule, split by split, and for the rows of some data."""
