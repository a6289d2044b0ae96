"""Rows ready for growing: schema, table, questions, and the reading of every kind of input."""
