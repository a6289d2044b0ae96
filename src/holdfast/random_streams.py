"""Every branch of the seed, named in one place."""
