"""Its presence puts `tests` on the path, where they find the slow twins: `from reference.walk import ...`."""
