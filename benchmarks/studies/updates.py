"""What an update moves, and what it loses, against training again: python -m benchmarks.studies.updates.

Half of the rows that are not tested train a consensus tree. Then all of them are there: the tree is updated,
or trained again, as CART is. Distances (label weight 10) and churn are from the first tree to the second;
scores are of the second, on 30 % of the rows, which nobody has learnt from. "New rows alone" gets the other
half without the first. Printed are the means of each set and of all, and paired differences to the retrained
consensus tree, with standard errors over the repetitions.

    python -m benchmarks.studies.updates --reps 2 --sets titanic,stroke --out pairs.csv
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.studies.retraining import DATA, SETS, Rows, cart_by_cv, load
from holdfast import StableTreeClassifier, StableTreeRegressor, Table, tree_distance

BASE = "consensus, trained again"
TOLERANCES = (0.02, 0.05)


def pairs_of(rows: Rows, rep: int) -> Iterator[dict[str, Any]]:
    """The figures of every way, for one division of the rows."""
    is_classes = rows.y.dtype.kind in "biOU"
    strata = rows.y if is_classes else None
    X, X_test, y, y_test = train_test_split(
        rows.X, rows.y, test_size=0.3, random_state=100 + rep, stratify=strata
    )
    order = np.random.default_rng(rep).permutation(len(X))
    half, rest = order[: len(X) // 2], order[len(X) // 2 :]
    schema = Table.from_arrays(X, y, task="classification" if is_classes else "regression").schema
    kind = StableTreeClassifier if is_classes else StableTreeRegressor

    def timed(name: str, first: Any, act: Any) -> dict[str, Any]:
        before = first.tree_.with_schema(schema), said(first)
        start = time.perf_counter()
        second = act()
        seconds = time.perf_counter() - start
        after = second.tree_.with_schema(schema)
        return {
            "way": name,
            "rep": rep,
            "score": score(said(second)),
            "distance": tree_distance(before[0], after, label_weight=10.0).total,
            "churn": float(np.abs(before[1] - said(second)).mean() / (1.0 if is_classes else np.std(y))),
            "same root": float(before[0].feature[0] == after.feature[0]),
            "leaves": after.n_leaves,
            "seconds": seconds,
        }

    def said(model: Any) -> Any:
        if not is_classes:
            return model.predict(X_test)
        answers = model.predict_proba(X_test)
        return answers[:, 1] if answers.shape[1] == 2 else answers

    def score(answers: Any) -> float:
        if not is_classes:
            return float(r2_score(y_test, answers))
        return float(roc_auc_score(y_test, answers, multi_class="ovr"))

    first = kind(random_state=2 * rep, validation=None).fit(X.iloc[half], y[half])
    again = kind(random_state=2 * rep + 1, validation=None)
    yield timed(BASE, first, lambda: again.fit(X, y))
    cart = cart_by_cv(is_classes, 2 * rep).fit(X.iloc[half], y[half])
    yield timed("CART, trained again", cart, lambda: cart_by_cv(is_classes, 2 * rep + 1).fit(X, y))
    options: dict[str, Any] = {"validation": None, "allow_new_values": True}
    for how in ("keep", "refit"):
        yield timed(how, first, partial(copy(first).update, X, y, strategy=how, **options))
    for tolerance in TOLERANCES:
        options["tolerance"] = tolerance
        yield timed(f"update, {tolerance:g}", first, partial(copy(first).update, X, y, **options))
        alone = partial(copy(first).update, X.iloc[rest], y[rest], **options)
        yield timed(f"update, {tolerance:g}, new rows alone", first, alone)


def study(name: str, reps: int, data: Path) -> pd.DataFrame:
    """All pairs of one data set."""
    warnings.simplefilter("ignore")
    rows = load(name, data)
    found = [pair for rep in range(reps) for pair in pairs_of(rows, rep)]
    return pd.DataFrame(found).assign(set=name)


def report(pairs: pd.DataFrame) -> str:
    """The means by way, and the differences to training again."""
    figures = pairs.drop(columns=["set", "rep"]).groupby("way", sort=False).mean().round(4)
    wide = pairs.pivot_table(index=["set", "rep"], columns="way", values=["score", "distance", "churn"])
    lines = [figures.to_string(), "", f"Differences to {BASE!r}:"]
    for way in figures.index:
        parts = [f"  {way:32}"]
        for figure in ("score", "distance", "churn"):
            difference = wide[figure][way] - wide[figure][BASE]
            # The sets are what they are: errors are those over the repetitions of each.
            by_set = difference.groupby("set").agg(["var", "count"])
            error = np.sqrt((by_set["var"] / by_set["count"]).sum()) / len(by_set)
            share = difference.mean() / wide[figure][BASE].mean()
            parts.append(f"{figure} {difference.mean():+.4f} ± {error:.4f} ({share:+.0%})")
        lines.append("  ".join(parts))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=8)
    parser.add_argument("--sets", default="main")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    names = SETS.get(options.sets, options.sets.replace(",", " ")).split()
    with ProcessPoolExecutor(options.jobs) as pool:
        parts = list(pool.map(partial(study, reps=options.reps, data=options.data), names))
    for name, part in zip(names, parts, strict=True):
        print(f"\n{name}\n{report(part)}")
    pairs = pd.concat(parts)
    print(f"\nall sets\n{report(pairs)}")
    if options.out:
        pairs.to_csv(options.out, index=False)


if __name__ == "__main__":
    main()
