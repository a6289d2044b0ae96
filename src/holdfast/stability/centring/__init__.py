"""Centred trees: a teacher, a student, its bootstrap students, and the search for the tree amid them."""
