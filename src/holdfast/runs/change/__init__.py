"""What is recorded of a change of models: the data of both times, and both trees on the same rows."""
