"""The procedures that make candidates: one file each."""
