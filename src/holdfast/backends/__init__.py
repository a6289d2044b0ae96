"""Where independent tasks run: threads, processes, Dask, Ray; how far they are, and how they are stopped."""
