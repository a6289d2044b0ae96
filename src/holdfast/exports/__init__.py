"""Our models for others: one file per format, listed in `formats`."""
