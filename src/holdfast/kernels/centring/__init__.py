"""The search for the centre of a collection of trees."""
