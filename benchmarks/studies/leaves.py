"""Do leaves keep what they say: python -m benchmarks.studies.leaves PART, one of four.

coverage: labels are drawn anew for the rows of a real set by what a forest says of each, so that the true
probability of every leaf is known. Half of the rows, at most 1,000, grow a tree of at most 12 leaves of at
least 5 rows; shown is how often the 95 % interval of a leaf holds the truth, each leaf counted by its rows.

calibration: on the real labels, 30 % of the rows held out, the four kinds of leaf values of consensus trees.

promise: the log loss that the rows held out in training promise for the best of the candidates of
method="bootstrap", and what it comes to on rows that nothing has seen, with plain and with shrunk leaves.

tolerance: what a tolerance of 0.01 of the AUC takes, and what one of a standard error, where that is more.
"""

import argparse
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

from benchmarks.studies.cases import load_case
from holdfast import GrowthRules, Table, grow
from holdfast._arrays import FloatArray
from holdfast.ensembles.bagging import grow_bagging
from holdfast.growth.leaf_values import set_honest_values, split_honest_rows
from holdfast.growth.shrinkage import choose_strength, shrink_tree
from holdfast.scoring.calibration import calibration
from holdfast.scoring.metric import TrueValues, make_metric
from holdfast.stable.rows import draw_test_rows
from holdfast.stable.selection import SelectionRule, choose
from holdfast.stable.settings import StabilitySettings
from holdfast.stable.train import train
from holdfast.tree.leaf_evidence import node_intervals
from holdfast.tree.tree import LEAF, Tree

DATA = Path(__file__).parents[3] / "shared" / "data"
SETS = (
    *("heart_cleveland", "pima_diabetes", "breast_cancer_wdbc", "german_credit", "breast_cancer_ljubljana"),
    *("hepatitis", "titanic", "stroke", "nhanes_diabetes", "adult_income"),
)
SMALL = SETS[:7]
RULES = GrowthRules(max_leaf_nodes=12, min_samples_leaf=5)
MOST_ROWS, MOST_LEARNT = 4000, 1000
KINDS = ("labels", "shrunk", "honest")
console = Console(width=130)


# -- coverage ---------------------------------------------------------------------------------------------


def trees(table: Table) -> dict[str, Tree]:
    plain = grow(table, RULES)
    strength = choose_strength(table, lambda rows, groups: grow(rows, RULES)).chosen
    rows, _, is_structure = split_honest_rows(table, None, 0)
    honest = set_honest_values(grow(rows.subset(is_structure), RULES), rows.subset(~is_structure), RULES)
    return {"labels": plain, "shrunk": shrink_tree(plain, strength), "honest": honest}


def covered(tree: Tree, table: Table, chances: FloatArray, method: str) -> tuple[float, float]:
    """The fraction of the rows whose leaf has an interval that holds the truth, and its mean width."""
    low, high = node_intervals(tree, 0.95, method)
    leaves = tree.apply(table)
    is_leaf = np.flatnonzero(tree.feature == LEAF)
    rows = np.bincount(leaves, minlength=tree.n_nodes)[is_leaf]
    truth = np.bincount(leaves, chances, tree.n_nodes)[is_leaf] / np.maximum(rows, 1)
    holds = (low[is_leaf, 1] <= truth) & (truth <= high[is_leaf, 1])
    width = high[is_leaf, 1] - low[is_leaf, 1]
    return float(np.average(holds, weights=rows)), float(np.average(width, weights=rows))


def coverage(table: Table, n_replications: int) -> FloatArray:
    """(kinds, 2): coverage and width, by Wilson; then the same by Jeffreys."""
    rng = np.random.default_rng(0)
    if table.n_rows > MOST_ROWS:
        table = table.subset(rng.permutation(table.n_rows)[:MOST_ROWS])
    forest = grow_bagging(table, GrowthRules(min_samples_leaf=5, max_features="sqrt"), 100).ensemble
    said = forest.values(table)
    said = np.column_stack([1 - said[:, -1], said[:, -1]])
    target = replace(table.schema.target, classes=table.schema.target.classes[-2:])
    table = replace(table, schema=replace(table.schema, target=target), target=table.target.clip(0, 1))
    found = []
    for _ in range(n_replications):
        labels = (rng.random(table.n_rows) < said[:, 1]).astype(table.target.dtype)
        learnt = rng.permutation(table.n_rows)[: min(MOST_LEARNT, table.n_rows // 2)]
        grown = trees(replace(table, target=labels).subset(learnt))
        found.append(
            [
                covered(grown[kind], table, said[:, 1], method)
                for method in ("wilson", "jeffreys")
                for kind in KINDS
            ]
        )
    return np.mean(found, axis=0)


def show_coverage(folder: Path, n_replications: int) -> None:
    grid = Grid("data", *(f"{kind}" for kind in KINDS), *(f"{kind}, Jeffreys" for kind in KINDS))
    grid.title = f"Coverage of 95 % intervals (mean width), {n_replications} replications"
    every = []
    for name in SETS:
        found = coverage(load_case(name, folder).table, n_replications)
        every.append(found)
        grid.add_row(name, *(f"{100 * hit:.1f} ({width:.2f})" for hit, width in found))
        console.print(name, *(f"{100 * hit:.1f} ({width:.2f})" for hit, width in found))
    grid.add_row("mean", *(f"{100 * hit:.1f} ({width:.2f})" for hit, width in np.mean(every, axis=0)))
    console.print(grid)


# -- calibration ------------------------------------------------------------------------------------------


def calibration_error(said: FloatArray, truth: FloatArray) -> float:
    """Mean distance between what was said and what came true, in ten parts of as many rows."""
    parts = np.array_split(np.argsort(said, kind="stable"), 10)
    return float(sum(len(part) * abs(said[part].mean() - truth[part].mean()) for part in parts) / len(said))


def figures(table: Table, kind: str, n_replications: int) -> FloatArray:
    """Log loss, calibration error and slope, AUC on the rows held out."""
    found = []
    for number in range(n_replications):
        test = draw_test_rows(table, 0.3, stage=None, groups=None, seed=number)
        settings = StabilitySettings(leaf_values=kind, n_estimators=20, teacher="forest", seed=number)
        trained = train(table.subset(~test), settings)
        tree = trained.candidates.trees[choose(trained.frontier, trained.metric, SelectionRule()).candidate]
        held_out = table.subset(test)
        said, truth = tree.value[tree.apply(held_out)], TrueValues.of(held_out)
        scores = [make_metric(name, table.schema.target).value(said, truth) for name in ("log_loss", "auc")]
        positive = said[:, 1]
        found.append(
            [
                -scores[0],
                calibration_error(positive, held_out.target.astype(float)),
                calibration(said, truth, 1).slope,
                scores[1],
            ]
        )
    return np.nanmean(found, axis=0)


def show_calibration(folder: Path, n_replications: int) -> None:
    grid = Grid("leaf values", "log loss", "calibration error", "slope", "AUC")
    grid.title = f"Consensus trees on rows held out, {len(SMALL)} sets, {n_replications} replications"
    for kind in ("teacher", "labels", "shrunk", "honest"):
        tables = [load_case(name, folder).table for name in SMALL]
        mean = np.mean([figures(table, kind, n_replications) for table in tables], axis=0)
        grid.add_row(kind, *(f"{figure:.3f}" for figure in mean))
    console.print(grid)


# -- the promise ------------------------------------------------------------------------------------------


def show_promise(folder: Path, n_replications: int) -> None:
    grid = Grid("data", "labels: promised", "came to", "shrunk: promised", "came to")
    every = []
    for name in SMALL:
        table, found = load_case(name, folder).table, []
        for number in range(n_replications):
            test = draw_test_rows(table, 0.3, stage=None, groups=None, seed=number)
            found.append(
                [
                    figure
                    for kind in ("labels", "shrunk")
                    for figure in promise(table.subset(~test), table.subset(test), kind, number)
                ]
            )
        every.append(np.mean(found, axis=0))
        grid.add_row(name, *(f"{figure:.3f}" for figure in every[-1]))
    grid.add_row("mean", *(f"{figure:.3f}" for figure in np.mean(every, axis=0)))
    console.print(grid)


def promise(learnt: Table, untouched: Table, kind: str, seed: int) -> tuple[float, float]:
    settings = StabilitySettings(
        method="bootstrap", scoring="log_loss", leaf_values=kind, n_estimators=60, seed=seed
    )
    trained = train(learnt, settings)
    place = choose(trained.frontier, trained.metric, SelectionRule()).candidate
    tree = trained.candidates.trees[place]
    loss = trained.metric.value(tree.value[tree.apply(untouched)], TrueValues.of(untouched))
    return -float(trained.frontier.score[place]), -loss


# -- the tolerance of the choice --------------------------------------------------------------------------


def show_tolerance(folder: Path, n_replications: int) -> None:
    """AUC on untouched rows, instability and leaves of the tree that either unit of the tolerance takes."""
    rules = (SelectionRule(tolerance_unit="absolute"), SelectionRule(tolerance_unit="or-standard-error"))
    names = ("AUC", "instability", "leaves")
    grid = Grid("data", *(f"{name}, {unit}" for unit in ("0.01", "or one error") for name in names))
    every = []
    for name in SMALL:
        table, found = load_case(name, folder).table, []
        for number in range(n_replications):
            test = draw_test_rows(table, 0.3, stage=None, groups=None, seed=number)
            trained = train(
                table.subset(~test), StabilitySettings(method="bootstrap", n_estimators=60, seed=number)
            )
            untouched = table.subset(test)
            row = []
            for rule in rules:
                place = choose(trained.frontier, trained.metric, rule).candidate
                tree = trained.candidates.trees[place]
                score = trained.metric.value(tree.value[tree.apply(untouched)], TrueValues.of(untouched))
                row += [score, float(trained.frontier.instability[place]), tree.n_leaves]
            found.append(row)
        every.append(np.mean(found, axis=0))
        grid.add_row(name, *(f"{figure:.3f}" for figure in every[-1]))
    grid.add_row("mean", *(f"{figure:.3f}" for figure in np.mean(every, axis=0)))
    console.print(grid)


PARTS = {
    "coverage": show_coverage,
    "calibration": show_calibration,
    "promise": show_promise,
    "tolerance": show_tolerance,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS, nargs="?", default="coverage")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--replications", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    PARTS[options.part](options.data, options.replications)


if __name__ == "__main__":
    main()
