"""Growing trees: criteria, rules, and the one call that turns a table into a tree."""
