"""Data with missing values."""

import numpy as np


def with_gaps(X: np.ndarray, fraction: float = 0.2) -> np.ndarray:
    """The data with some of its values missing."""
    return np.where(np.random.default_rng(0).random(X.shape) < fraction, np.nan, X)
