"""Trees for unlabelled rows: clusters and densities."""
