"""Text, tables and pictures of results: the only place that draws."""
