"""What a row does in a round of boosting."""

LEARNT, LEFT_OUT, HELD_OUT, UNUSED = range(4)  # the last has no weight
N_ROLES = 4
