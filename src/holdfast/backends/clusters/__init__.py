"""Tasks on a cluster: what they share is sent once, and they go out in tiles of some length."""
