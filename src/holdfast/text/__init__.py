"""Numbers, lists and tables as text: what messages and tables fraction."""
