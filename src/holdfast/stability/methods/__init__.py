"""The procedures that make candidates."""
