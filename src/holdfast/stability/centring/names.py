"""Names for method="centred", for all who list them: the module is light, and `--help` waits for it."""

# What teachers are called: first those of several parts, then the parts. `teacher.py` has what they are.
TEACHER_NAMES = ("blend", "forest", "extra-trees", "boosting", "linear", "kernel")
LEAF_VALUES = ("posterior", "teacher", "labels", "shrunk", "honest")
TAUGHT = ("posterior", "teacher")  # leaf values in which a teacher has a say
THRESHOLDS = ("round", "exact")
MOST_LEAVES = 12  # of a consensus tree, unless held-out rows support more or another number is asked for
DEFAULT_TEACHER = TEACHER_NAMES[0]
