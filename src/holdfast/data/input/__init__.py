"""Frames, arrays and columns of any library, read to arrays of numbers."""
