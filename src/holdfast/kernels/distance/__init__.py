"""Distances of trees."""
