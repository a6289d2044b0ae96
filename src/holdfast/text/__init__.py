"""Numbers, lines, lists and tables as text, for messages and results alike."""
