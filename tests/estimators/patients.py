"""Sixty made-up patients: who stays long depends on age, ward and, now and then, on the body mass index."""

import numpy as np
import pandas as pd

_random = np.random.default_rng(7)

WARDS = ("A", "B", "C")
PATIENTS = pd.DataFrame(
    {
        "age": _random.integers(18, 90, 60).astype(float),
        "ward": _random.choice(WARDS, 60),
        "bmi": np.where(_random.random(60) < 0.1, np.nan, _random.normal(26.0, 4.0, 60).round(1)),
    }
)
_is_long = (PATIENTS["age"] > 60) & (PATIENTS["ward"] != "C") | (PATIENTS["bmi"] > 30)
STAY = pd.Series(np.where(_is_long, "long", "short"), name="stay")
DAYS = pd.Series(2.0 + 5.0 * _is_long + (PATIENTS["age"] / 30).round(), name="days")

NUMBERS = PATIENTS[["age", "bmi"]].to_numpy()
