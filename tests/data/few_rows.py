"""Four rows, as an array of numbers and as columns of every kind with gaps."""

import numpy as np

X = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 5.0], [4.0, 7.0]])
Y = np.array([0, 1, 1, 0])
PATIENTS = {
    "age": [41, None, 63, 55],
    "ward": ["icu", "er", None, "icu"],
    "smoker": [True, None, False, True],
    "bmi": [22.5, 31.0, 27.25, None],
    "stage": ["I", "IV", None, "II"],
}
OUTCOME = ["lived", "died", "died", "lived"]
