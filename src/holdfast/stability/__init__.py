"""How far apart trees are, and trees that stay where they were."""
