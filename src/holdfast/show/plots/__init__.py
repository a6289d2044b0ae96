"""Pictures of results on matplotlib, in scikit-learn's Display convention: one file each."""
