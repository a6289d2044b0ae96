"""Rows through finished trees."""
