"""Rows ready for growing: schema, table, questions, and the one door for every kind of input."""
