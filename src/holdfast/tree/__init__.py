"""The finished tree: one immutable type for trees of any origin, and everything that is read off it."""
