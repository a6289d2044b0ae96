"""Stable."""
