"""Other libraries' trees become ours, and ours theirs: one file per library."""
