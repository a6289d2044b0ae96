"""A deployed tree and new rows: keep it, or move it as little as the rows ask."""
