"""Columns with many categories: what was tried, and what it brings. python -m benchmarks.studies.categories.

Three tables in markdown. Small trees in plain numpy, which differ in nothing but how they split such columns;
the library itself beside scikit-learn and LightGBM; and how often a column of pure noise is the root.
"""

import argparse
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss, mean_poisson_deviance, roc_auc_score

from benchmarks.studies.rows_of_cases import Rows, read_rows
from holdfast import (
    BoostingClassifier,
    BoostingRegressor,
    ForestClassifier,
    GrowthRules,
    Table,
    TreeClassifier,
    grow,
)
from holdfast.growth.rules import Categories

DATA = Path(__file__).parents[3] / "shared" / "data"
HOW: tuple[Categories, ...] = ("exact", "shrunk")
MANY = 9  # categories; columns of no more are split exactly by all
N_BINS = 64  # of a number, in the small trees
N_LEAVES, LEAST_ROWS = 16, 20  # of a small tree
N_PERMUTED = 5
LEAST = 1e-12


# -- small trees ------------------------------------------------------------------------------------------


class Column(NamedTuple):
    codes: np.ndarray  # of numbers, the bin; the last code is missing
    n_codes: int
    is_nominal: bool


class Counts(NamedTuple):
    """What a node knows of a column: rows and positives of each category that is there."""

    rows: np.ndarray
    positives: np.ndarray
    is_missing: np.ndarray
    node: "Node"

    @property
    def deviation(self) -> np.ndarray:
        return np.asarray(self.positives - self.rows * self.node.mean)


@dataclass
class Node:
    rows: np.ndarray
    y: np.ndarray
    codes: np.ndarray  # of the column in question

    @property
    def mean(self) -> float:
        return float(self.y.mean())

    @property
    def variance(self) -> float:
        return self.mean * (1 - self.mean)


class Found(NamedTuple):
    gain: float
    left: np.ndarray  # which of the categories that are there


Remedy = Callable[[Counts], Found]


def best_prefix(rows: np.ndarray, positives: np.ndarray, place: np.ndarray, least: int = LEAST_ROWS) -> Found:
    """The prefix in the order of `place` that gains most; equal places are not parted."""
    order = np.argsort(place, kind="stable")
    n, s = np.cumsum(rows[order])[:-1], np.cumsum(positives[order])[:-1]
    n_all, s_all = rows.sum(), positives.sum()
    allowed = (np.minimum(n, n_all - n) >= least) & (np.diff(place[order]) > LEAST)
    if not allowed.any():
        return Found(-1.0, np.zeros(len(rows), bool))
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(allowed, (s * (n_all - n) - (s_all - s) * n) ** 2 / (n_all * n * (n_all - n)), -1.0)
    cut = int(gain.argmax())
    left = np.zeros(len(rows), bool)
    left[order[: cut + 1]] = True
    return Found(float(gain[cut]), left)


def exact(counts: Counts) -> Found:
    return best_prefix(counts.rows, counts.positives, counts.positives / counts.rows)


def priced(counts: Counts) -> Found:
    """A set is one of 2^(k-1), which takes k-1 bits to name, to be paid by the likelihood."""
    gain, left = exact(counts)
    return Found(gain - 2 * counts.node.variance * math.log(2) * (len(counts.rows) - 1), left)


def smoothed_order(counts: Counts) -> Found:
    return best_prefix(counts.rows, counts.positives, counts.deviation / (counts.rows + 10))


def smoothed(counts: Counts) -> Found:
    """As if every category had ten more rows of the node's mean: LightGBM's cat_smooth and cat_l2."""
    shrunk = counts.deviation * counts.rows / (counts.rows + 10)
    positives = counts.rows * counts.node.mean + shrunk
    return best_prefix(counts.rows, positives, shrunk / counts.rows)


def rare_with_missing(counts: Counts, least: int = 10) -> Found:
    rare = (counts.rows < least) | counts.is_missing
    place = counts.positives / counts.rows
    if rare.any():
        place[rare] = counts.positives[rare].sum() / counts.rows[rare].sum()
    return best_prefix(counts.rows, counts.positives, place)


def permuted(counts: Counts) -> Found:
    """What the best set gains over what it gains where the answers are permuted."""
    generator, node = np.random.default_rng(len(counts.node.rows)), counts.node
    found, by_chance = exact(counts), 0.0
    place = np.unique(node.codes, return_inverse=True)[1]
    for _ in range(N_PERMUTED):
        positives = np.bincount(place, generator.permutation(node.y), len(counts.rows))
        by_chance += exact(counts._replace(positives=positives)).gain / N_PERMUTED
    return Found(found.gain - by_chance, found.left)


def honest(counts: Counts) -> Found:
    """The order from one half of the rows, judged by the other, and the other way round."""
    node = counts.node
    place = np.unique(node.codes, return_inverse=True)[1]
    half, n, gain = np.random.default_rng(len(node.rows)).permutation(len(node.y)) % 2, len(counts.rows), 0.0
    for side in (0, 1):
        own, other = half == side, half != side
        rows, positives = np.bincount(place[own], minlength=n), np.bincount(place[own], node.y[own], n)
        order = np.where(rows > 0, positives / np.maximum(rows, 1), node.y[own].mean())
        judged = np.bincount(place[other], minlength=n), np.bincount(place[other], node.y[other], n)
        gain += max(best_prefix(*judged, order, LEAST_ROWS // 2).gain, 0.0)
    return Found(gain, exact(counts).left)


def shrunk(counts: Counts, least: int = 1, times: float = math.inf) -> Found:
    """Random effects: deviations are shrunk as far as chance explains their spread.

    Rare categories are one group, unless they clearly differ so many times as much as by chance.
    """
    rare = (counts.rows < least) | counts.is_missing
    if rare.any() and are_clear(counts, rare, times):
        rare[:] = False
    group = np.where(rare, 0, np.cumsum(~rare))
    group = np.unique(group, return_inverse=True)[1]
    rows, deviation = np.bincount(group, counts.rows), np.bincount(group, counts.deviation)
    whole, n = rows.sum(), len(rows)
    prior = 0.0
    if n > 2 and counts.node.variance > 0:
        excess = (deviation**2 / rows).sum() / counts.node.variance - (n - 1)
        prior = (whole - (rows**2).sum() / whole) / max(excess, 0.01)
    mean = (deviation / (rows + prior))[group]
    return best_prefix(counts.rows, counts.rows * (counts.node.mean + mean), mean)


def are_clear(counts: Counts, rare: np.ndarray, times: float) -> bool:
    """True if the rare categories differ by three standard errors more than so many times chance."""
    rows, deviation, n = counts.rows[rare], counts.deviation[rare], rare.sum()
    if n < 2 or times == math.inf:
        return False
    spread = (deviation**2 / rows).sum() - deviation.sum() ** 2 / rows.sum()
    return bool(spread > counts.node.variance * (times * (n - 1) + 3 * math.sqrt(2 * (n - 1))))


def shrunk_without_rare(counts: Counts) -> Found:
    return shrunk(counts, 10)


def shrunk_without_chance(counts: Counts) -> Found:
    return shrunk(counts, 10, 2.0)


REMEDIES: dict[str, Remedy] = {
    "exact best set": exact,
    "price of log2 of the sets": priced,
    "order by smoothed means, plain gain": smoothed_order,
    "smoothed means, as LightGBM": smoothed,
    "rare join the missing": rare_with_missing,
    "gain over permutations": permuted,
    "order by one half, gain by the other": honest,
    "shrunk means": shrunk,
    "shrunk means, rare join the missing": shrunk_without_rare,
    "**shrunk means, rare join the missing unless they differ clearly**": shrunk_without_chance,
}


def coded(rows: Rows) -> list[Column]:
    """Categories as numbers, and numbers in bins of about equal numbers of rows."""
    columns = []
    for name in rows.X:
        if name in rows.nominal:
            codes, found = pd.factorize(rows.X[name], sort=True)
            n_codes = len(found)
        else:
            values = rows.X[name]
            values = values.cat.codes.where(values.notna()) if hasattr(values, "cat") else values
            borders = np.unique(np.nanquantile(values.to_numpy(float), np.linspace(0, 1, N_BINS + 1)[1:-1]))
            codes = np.where(values.isna(), -1, np.searchsorted(borders, values))
            n_codes = len(borders) + 1
        columns.append(Column(np.where(codes < 0, n_codes, codes), n_codes, name in rows.nominal))
    return columns


def split_of(column: Column, rows: np.ndarray, y: np.ndarray, remedy: Remedy) -> tuple[float, np.ndarray]:
    """What the best split of a column gains, and the codes that go left; unseen ones go with the missing."""
    own = column.codes[rows]
    n, s = np.bincount(own, minlength=column.n_codes + 1), np.bincount(own, y, column.n_codes + 1)
    there = np.flatnonzero(n)
    if len(there) < 2:
        return -1.0, there
    counts = Counts(n[there], s[there], there == column.n_codes, Node(rows, y, own))
    if not column.is_nominal:
        found = best_prefix(counts.rows, counts.positives, there.astype(float))
    else:
        found = (remedy if column.n_codes > MANY else exact)(counts)
    goes_left = np.full(column.n_codes + 1, n[there[found.left]].sum() * 2 >= len(rows))
    if n[-1]:
        goes_left[:] = found.left[-1]
    goes_left[there] = found.left
    return found.gain, goes_left


def scores(columns: Sequence[Column], y: np.ndarray, learnt: np.ndarray, remedy: Remedy) -> np.ndarray:
    """What a tree of N_LEAVES, the most useful splits first, says of all rows."""
    score, everyone = np.full(len(y), y[learnt].mean()), np.arange(len(y))

    def offer(rows: np.ndarray, everyone: np.ndarray) -> Any:
        offers = [(*split_of(column, rows, y[rows], remedy), i) for i, column in enumerate(columns)]
        return *max(offers, key=lambda one: one[0]), rows, everyone

    waiting = [offer(np.flatnonzero(learnt), everyone)]
    for _ in range(N_LEAVES - 1):
        gain, goes_left, which, rows, everyone = waiting.pop(int(np.argmax([one[0] for one in waiting])))
        if gain <= LEAST:
            break
        for side in (True, False):
            own = rows[goes_left[columns[which].codes[rows]] == side]
            there = everyone[goes_left[columns[which].codes[everyone]] == side]
            score[there] = y[own].mean()
            waiting.append(offer(own, there))
    return score


def small_trees(cases: Sequence[Rows]) -> Iterator[str]:
    """The first table: AUC of small trees on rows held out."""
    yield "| | " + " | ".join(case.name for case in cases) + " | mean |"
    yield "|---" * (len(cases) + 2) + "|"
    prepared = [(case, coded(case)) for case in cases]
    for name, remedy in REMEDIES.items():
        found = []
        for case, columns in prepared:
            own = []
            for learnt, tested in case.parts():
                said = scores(columns, case.y, learnt, remedy)
                own.append(roc_auc_score(case.y[tested], said[tested]))
            found.append(float(np.mean(own)))
        line = " | ".join(f"{value:.3f}"[1:] for value in [*found, float(np.mean(found))])
        yield f"| {name} | {line} |"


# -- the library ------------------------------------------------------------------------------------------


def trees(cases: Sequence[Rows]) -> Iterator[str]:
    """Single trees, pruned by five folds."""
    yield "| | exact | shrunk | leaves | |"
    yield "|---|---|---|---|---|"
    for case in cases:
        found: dict[str, list[float]] = {how: [] for how in HOW}
        leaves: dict[str, list[int]] = {how: [] for how in HOW}
        for learnt, tested in case.parts():
            for how in HOW:
                groups = None if case.groups is None else case.groups[learnt]
                model = TreeClassifier(ccp_alpha="cv", cv=5, growth_rules=GrowthRules(categories=how))
                model.fit(case.X[learnt], case.y[learnt], groups=groups)
                said = model.predict_proba(case.X[tested])[:, 1]
                found[how].append(roc_auc_score(case.y[tested], said))
                leaves[how].append(model.get_n_leaves())
        means = " | ".join(f"{np.mean(found[how]):.4f}"[1:] for how in HOW)
        sizes = " and ".join(f"{np.mean(leaves[how]):.0f}" for how in HOW)
        yield f"| {case.name} | {means} | {sizes} | {case.note} |"


def forests(case: Rows) -> Iterator[str]:
    """Forests of 100 trees beside scikit-learn's on one-hot columns."""
    yield "| rows in a leaf | scikit-learn, one-hot | exact | shrunk |"
    yield "|---|---|---|---|"
    one_hot = case.one_hot()
    learnt, tested = next(case.parts())
    for least in (1, 5):
        theirs, ours = [], {how: [] for how in HOW}
        for seed in range(3):
            rival = RandomForestClassifier(100, min_samples_leaf=least, random_state=seed)
            rival.fit(one_hot[learnt], case.y[learnt])
            theirs.append(scored(case.y[tested], rival.predict_proba(one_hot[tested])[:, 1]))
            for how in HOW:
                own = ForestClassifier(
                    100, min_samples_leaf=least, random_state=seed, growth_rules=GrowthRules(categories=how)
                )
                own.fit(case.X[learnt], case.y[learnt])
                ours[how].append(scored(case.y[tested], own.predict_proba(case.X[tested])[:, 1]))
        cells = [np.mean(each, axis=0) for each in (theirs, *ours.values())]
        yield f"| {least} | " + " | ".join(f"{lost:.4f} ({auc:.4f})" for lost, auc in cells) + " |"


def scored(y: np.ndarray, said: np.ndarray) -> tuple[float, float]:
    return float(log_loss(y, said)), float(roc_auc_score(y, said))


BOOSTING = {"n_estimators": 100, "max_leaf_nodes": 31, "max_depth": None, "min_samples_leaf": 20}
RIVAL = {"n_estimators": 100, "num_leaves": 31, "min_child_samples": 20, "verbose": -1, "n_jobs": 1}


def boosted(cases: Sequence[Rows], claims: Rows | None) -> Iterator[str]:
    """Boosting of 31 leaves beside LightGBM: log loss of classes, Poisson deviance of counts."""
    import lightgbm

    yield "| | LightGBM | exact | shrunk |"
    yield "|---|---|---|---|"
    for case in cases:
        theirs = case.as_categories()
        learnt, tested = next(case.parts())
        rival = lightgbm.LGBMClassifier(learning_rate=0.1, **RIVAL).fit(theirs[learnt], case.y[learnt])
        lost = [log_loss(case.y[tested], rival.predict_proba(theirs[tested])[:, 1])]
        for how in HOW:
            own = BoostingClassifier(growth_rules=GrowthRules(categories=how), splits="binned", **BOOSTING)  # type: ignore[arg-type]
            own.fit(case.X[learnt], case.y[learnt])
            lost.append(log_loss(case.y[tested], own.predict_proba(case.X[tested])[:, 1]))
        yield f"| {case.name} | " + " | ".join(f"{each:.4f}" for each in lost) + " |"
    if claims is None:
        return
    theirs, (learnt, tested) = claims.as_categories(), next(claims.parts())
    y, weight = claims.y / claims.weight, claims.weight
    for words, step, rate in (("", 0.7, 0.1), (", rate .05", 0.7, 0.05), (", plain steps", 1e-6, 0.1)):
        rival = lightgbm.LGBMRegressor(
            objective="poisson", poisson_max_delta_step=step, learning_rate=rate, **RIVAL
        )
        rival.fit(theirs[learnt], y[learnt], sample_weight=weight[learnt])
        said = [rival.predict(theirs[tested])]
        for how in HOW:
            own = BoostingRegressor(
                loss="poisson",
                learning_rate=rate,
                growth_rules=GrowthRules(categories=how),
                splits="binned",
                **BOOSTING,
            )
            own.fit(claims.X[learnt], y[learnt], sample_weight=weight[learnt])
            said.append(own.predict(claims.X[tested]))
        lost = [mean_poisson_deviance(y[tested], each, sample_weight=weight[tested]) for each in said]
        yield f"| {claims.name}{words} | " + " | ".join(f"{each:.4f}" for each in lost) + " |"


def noise(n_samples: int, n_rows: int = 2000) -> Iterator[str]:
    """How often a column of noise is the root, beside nine others of noise and one that says a little."""
    yield "| categories | exact | shrunk | shrunk, nothing but noise |"
    yield "|---|---|---|---|"
    for n_categories in (1000, 300, 100, 30, 12):
        chosen = np.zeros(3)
        for sample in range(n_samples):
            generator = np.random.default_rng([n_categories, sample])
            frame = pd.DataFrame({f"x{i}": generator.normal(size=n_rows) for i in range(10)})
            frame["noise"] = generator.integers(0, n_categories, n_rows).astype(str)
            p = 1 / (1 + np.exp(-0.25 * frame["x0"]))
            chance = generator.random(n_rows)
            for i, (how, share) in enumerate((("exact", p), ("shrunk", p), ("shrunk", 0.3))):
                table = Table.from_arrays(frame, chance < share)
                tree = grow(table, GrowthRules(max_depth=1, categories=how))  # type: ignore[arg-type]
                chosen[i] += table.schema.features[tree.feature[0]].name == "noise"
        yield f"| {n_categories} | " + " | ".join(f"{each / n_samples:.1%}" for each in chosen) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--most", type=int, default=15_000, help="rows of a set to learn from")
    parser.add_argument("--samples", type=int, default=200, help="samples of noise")
    parser.add_argument("--parts", nargs="*", default=["small", "trees", "forests", "boosting", "noise"])
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    names = ("titanic", "german_credit", "nhanes_diabetes", "adult_income", "diabetic_readmission")
    cases = {name: read_rows(name, given.data, given.most) for name in names}
    tables: dict[str, Callable[[], Iterator[str]]] = {
        "small": lambda: small_trees(list(cases.values())),
        "trees": lambda: trees(
            [*cases.values(), read_rows("diabetic_readmission", given.data, 10**6, "all rows")]
        ),
        "forests": lambda: forests(cases["adult_income"]),
        "boosting": lambda: boosted(
            [cases["adult_income"], read_rows("diabetic_readmission", given.data, 10**6)],
            read_rows("fremtpl_claims", given.data, 120_000),
        ),
        "noise": lambda: noise(given.samples),
    }
    for name in given.parts:
        print(f"\n{name}\n", flush=True)
        for line in tables[name]():
            print(line, flush=True)


if __name__ == "__main__":
    main()
