"""Growing and pruning."""
