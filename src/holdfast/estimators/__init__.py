"""The scikit-learn face: each fit reads like the pipeline it runs."""
