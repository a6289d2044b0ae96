"""Choosing a tree that holds: the roles of the rows, methods, scores, the frontier, and the choice."""
