"""Smaller trees: by cost and complexity, by pessimism, by rows held out."""
