"""Where independent tasks run, and how they are stopped."""
