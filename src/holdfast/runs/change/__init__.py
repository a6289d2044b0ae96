"""What is recorded of a change of models: the data of both times, and what both trees say of the same rows."""
