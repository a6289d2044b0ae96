"""Models in the formats of other programs: the only place that writes for them."""
