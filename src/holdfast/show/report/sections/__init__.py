"""The sections: each takes a result and returns its facts, plain data that a template of its name shows."""
