"""The orders that rules can be shown in. The module is light: `--help` waits for it."""

ORDERS = ("tree", "risk")  # as they stand in the tree; those of the highest risk first
