"""Numba kernels: arrays in, arrays filled, nothing else."""
