"""How far apart trees are: the cheapest matching of their rules."""
