"""What sequences of stages go by, by name. Light, so that --help need not wait."""

UPDATE, SHORTEST_PATH = "update", "shortest-path"
STAGE_HOWS = (UPDATE, SHORTEST_PATH)
MEMORIES = ("all", "stage")

MOVEMENT_WEIGHT = 0.02  # fit that one unit of distance is worth, as a fraction of what a student explains
MIN_ROWS = 50  # of a stage; one that has fewer is joined with the next
