"""Real data sets, read as their list datasets.json describes them."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from holdfast import Table

MOST_ROWS = 15_000  # of larger sets a random part is taken, by whole groups
N_STAGES = 10  # of a time column that is a number

# What no sorting by the first number in the text would find.
SCHOOLING = "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc Assoc-acdm"
ORDERS = {
    "slope": ["upsloping", "flat", "downsloping"],
    "education": [*SCHOOLING.split(), "Bachelors", "Masters", "Prof-school", "Doctorate"],
    "Education": ["8th Grade", "9 - 11th Grade", "High School", "Some College", "College Grad"],
    "HealthGen": ["Poor", "Fair", "Good", "Vgood", "Excellent"],
    "LittleInterest": ["NoDays", "Several", "Most"],
    "Depressed": ["NoDays", "Several", "Most"],
    "TVHrsDay": ["0_hrs", "0_to_1_hr", "1_hr", "2_hr", "3_hr", "4_hr", "More_4_hr"],
    "CompHrsDay": ["0_hrs", "0_to_1_hr", "1_hr", "2_hr", "3_hr", "4_hr", "More_4_hr"],
    "checking_status": ["no checking", "<0", "0<=X<200", ">=200"],
    "savings_status": ["no known savings", "<100", "100<=X<500", "500<=X<1000", ">=1000"],
    "employment": ["unemployed", "<1", "1<=X<4", "4<=X<7", ">=7"],
}
ASIDE = {"adult_income": ["fnlwgt"]}  # a survey weight, no feature


class Case(NamedTuple):
    name: str
    table: Table
    stage: Any  # None: no stages
    groups: Any
    note: str

    @property
    def is_classes(self) -> bool:
        return self.table.schema.target.is_classes


def load_case(name: str, folder: Path) -> Case:
    entry, frame = _listed(name, folder)
    frame, note = _part(frame, entry["group_column"])
    stage, groups = _stage(frame, entry), _column(frame, entry["group_column"])
    if stage is not None:
        note = f"staged by {entry['time_column']}{note}"
    features = _features(frame, entry, stage is not None)
    nominal = [
        column for column in entry["categorical"] if column in features and column not in entry["ordinal"]
    ]
    task = "regression" if entry["task"] == "regression" else "classification"
    table = Table.from_arrays(
        features, frame[entry["target"]], task=task, categorical_features=nominal, target=entry["target"]
    )
    return Case(name, table, stage, groups, note.removeprefix(", "))


def listed_frame(name: str, folder: Path) -> tuple[pd.DataFrame, pd.Series]:
    """All rows of the features, and the target."""
    entry, frame = _listed(name, folder)
    return _features(frame, entry, has_stages=False), frame[entry["target"]]


def _listed(name: str, folder: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    entries = {entry["name"]: entry for entry in json.loads((folder / "datasets.json").read_text())}
    entry = entries[name]
    kinds = dict.fromkeys(entry["categorical"], "str")
    return entry, pd.read_csv(folder / entry["file"], dtype=kinds, low_memory=False)


def _features(frame: pd.DataFrame, entry: dict[str, Any], has_stages: bool) -> pd.DataFrame:
    aside = {*entry["ids"], *ASIDE.get(entry["name"], ()), *entry["constant"], *entry["all_missing"]}
    if has_stages:
        aside.add(entry["time_column"])
    features = frame.drop(columns=[*aside & set(frame.columns), entry["target"]])
    for column in entry["ordinal"]:
        features[column] = _ordered(features[column])
    return features


def _part(frame: pd.DataFrame, group: str | None) -> tuple[pd.DataFrame, str]:
    """The rows of groups drawn at random until there are MOST_ROWS."""
    if len(frame) <= MOST_ROWS:
        return frame, ""
    unit = np.arange(len(frame)) if group is None else pd.factorize(frame[group])[0]
    place = np.random.default_rng(0).permutation(unit.max() + 1)[unit]
    limit = np.sort(place)[MOST_ROWS]
    note = f", {MOST_ROWS:,} of {len(frame):,} rows"
    return frame[place < limit], note if group is None else f"{note}, grouped by {group}"


def _stage(frame: pd.DataFrame, entry: dict[str, Any]) -> Any:
    """Stages where the list has a time column; numbers by deciles."""
    time = _column(frame, entry["time_column"])
    if time is None or not pd.api.types.is_numeric_dtype(time):
        return time
    return pd.qcut(time, N_STAGES, labels=False)


def _column(frame: pd.DataFrame, name: str | None) -> Any:
    return None if name is None else frame[name]


def _ordered(column: pd.Series) -> pd.Categorical:
    present = column.dropna().unique().tolist()
    order = ORDERS.get(str(column.name)) or sorted(present, key=_first_number)
    if unplaced := set(present) - set(order):
        raise SystemExit(f"column {column.name!r} has categories without a place in its order: {unplaced}")
    return pd.Categorical(column, [each for each in order if each in present], ordered=True)


def _first_number(text: str) -> float:
    found = re.search(r"\d+", text)
    return float(found.group()) if found else -1.0
