"""Rows of a real data set as a frame, and how they are divided: for studies beside other libraries."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from benchmarks.studies.cases import ASIDE, _ordered

FORWARD = 0.7  # of the rows come first where a set is divided by time
Part = tuple[np.ndarray, np.ndarray]  # flags of the rows to learn from, and of those to test by


@dataclass(frozen=True)
class Rows:
    """A data set as it is read, with the answers as numbers."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    nominal: list[str]
    groups: np.ndarray | None
    weight: np.ndarray
    most: int  # rows to learn from
    is_forward: bool
    note: str = ""

    def parts(self) -> Iterator[Part]:
        """Five folds of a small set, one part of a large one; the future of a staged one, and new groups."""
        n, generator = len(self.y), np.random.default_rng(0)
        place = np.arange(n) if self.is_forward else generator.permutation(n)
        if n <= self.most and not self.is_forward:
            for learnt, tested in StratifiedKFold(5, shuffle=True, random_state=0).split(self.X, self.y):
                yield np.isin(np.arange(n), learnt), np.isin(np.arange(n), tested)
            return
        first = int(FORWARD * n) if self.is_forward else min(self.most, n // 2)
        learnt, tested = place < first, (place >= first) & (place < max(2 * first, n))
        if self.groups is not None:
            tested &= ~np.isin(self.groups, self.groups[learnt])
        if learnt.sum() > self.most:
            learnt &= np.isin(
                np.arange(n), generator.choice(np.flatnonzero(learnt), self.most, replace=False)
            )
        yield learnt, tested

    def one_hot(self) -> pd.DataFrame:
        """Nominal columns as one of True or False for each category, for scikit-learn."""
        frame = self.X.copy()
        for name in frame.columns.difference(self.nominal):
            if isinstance(frame[name].dtype, pd.CategoricalDtype):
                frame[name] = frame[name].cat.codes
        return pd.get_dummies(frame, columns=self.nominal).astype(float).fillna(-1.0)

    def as_categories(self) -> pd.DataFrame:
        """Nominal columns as categories, for LightGBM."""
        return self.X.astype(dict.fromkeys(self.nominal, "category"))


def read_rows(name: str, folder: Path, most: int, note: str = "") -> Rows:
    """The rows of a set in the list datasets.json."""
    entry = {each["name"]: each for each in json.loads((folder / "datasets.json").read_text())}[name]
    frame = pd.read_csv(
        folder / entry["file"], dtype=dict.fromkeys(entry["categorical"], "str"), low_memory=False
    )
    target = frame[entry["target"]]
    is_class = (entry["task"] != "regression" and target.dtype == object) or target.dtype == "str"
    y = (target == entry["positive"]).to_numpy(int) if is_class else target.to_numpy(float)
    groups = None if entry["group_column"] is None else pd.factorize(frame[entry["group_column"]])[0]
    weight = frame["Exposure"].to_numpy(float) if "Exposure" in frame else np.ones(len(frame))
    aside = {*entry["ids"], *ASIDE.get(name, ()), *entry["constant"], *entry["all_missing"]}
    aside |= {entry["target"], entry["time_column"], "Exposure"}
    X = frame.drop(columns=[column for column in frame if column in aside])
    for column in entry["ordinal"]:
        X[column] = _ordered(X[column])
    nominal = [column for column in entry["categorical"] if column in X and column not in entry["ordinal"]]
    return Rows(name, X, y, nominal, groups, weight, most, groups is not None, note)
