"""Trees of boosted ensembles."""
