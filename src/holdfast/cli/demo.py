"""`holdfast demo`, the first thing a newcomer runs: the steps of `holdfast fit` on built-in data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast._text import duration_text, join_parts, number_text, rounded_percent
from holdfast._version import __version__
from holdfast.cli.console import (
    compiled_text,
    heading,
    make_console,
    paragraph,
    plain_warnings,
    show_grid,
    verbatim,
)
from holdfast.cli.options import output_option

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.growth.rules import GrowthRules
    from holdfast.runs.dataset import Rows
    from holdfast.runs.fit import Fit
    from holdfast.tree.tree import Tree

SLOGAN = "decision trees that hold their shape as the data changes"
MAX_ROOTS = 6  # lines of the table of root splits
N_PLAIN = 100  # plain trees of section 2
N_AGAIN, LEFT_OUT = 5, 0.1  # retrainings, and the fraction of rows that each leaves out
N_RULES = 2
PLAIN, CONSENSUS = "plain", "consensus"
MEASURES = ("distance", "churn", "flips")
SURE = 0.995  # a greater probability is shown as 1


@click.command("demo")
@output_option(
    "Folder for the run: new, empty, or an earlier run, which is replaced.",
    default=Path("holdfast-demo"),
    show_default=True,
)
def command(output: Path) -> None:
    """Show on built-in data what holdfast does, in under a minute."""
    from holdfast.runs.folder import check_place, reserved

    check_place(output)  # before anything is printed
    console = make_console()
    console.print(f"[bold]holdfast {__version__}[/]: {SLOGAN}\n")
    console.print(
        "The first run compiles the kernels for this machine, which can take a minute. Later runs load "
        "them from disk."
    )
    with console.status("Starting"):
        from holdfast.cli.fit_output import show_files, show_frontier, show_roles, show_split_support
        from holdfast.runs.files import write_run_files
        from holdfast.runs.run import prepare_rows
        from holdfast.runs.settings import DataSettings, RunSettings
    with reserved(output) as place:
        with plain_warnings():
            prepared = prepare_rows(_load_tumours(), RunSettings(data=DataSettings(target="diagnosis")))
            ready = prepared.prepare_kernels()
            verb = compiled_text().capitalize() if ready.compiled else "Loaded from disk"
            paragraph(console, f"{verb} in {duration_text(ready.seconds)}.", style="dim")
            heading(console, "1. The data")
            show_roles(prepared.roles, console)
            run = prepared.fit(verbose=True, ready=ready)
        with place.new_run() as draft:
            write_run_files(run, draft)
        fit = run.details
        assert fit is not None
        heading(console, "2. The problem: the same data, sampled again, gives other trees")
        _show_plain_trees(fit, console)
        heading(console, "3. Teacher, distilled trees and the consensus tree")
        paragraph(console, _training_text(fit, run.facts["seconds"]["fitting"]))
        show_frontier(fit, console)
        heading(console, "4. One tree")
        _show_choice(fit, console)
        heading(console, "5. Retraining")
        _show_retraining(fit, console)
        heading(console, "6. Split support")
        show_split_support(fit, console)
        paragraph(
            console,
            "\nA small share is not a fault of the tree: where several measurements carry nearly the same "
            "information, any of them may be the root split, and the splits below differ with it.",
            style="dim",
        )
        heading(console, "7. Files to keep")
        show_files(place.folder, console)
    heading(console, "Next")
    paragraph(console, "Open the report in a browser: the tree, one case through it, and the evidence.\n")
    verbatim(console, f"  {output / 'report.html'}\n")
    verbatim(console, f"  holdfast show {output} --format rules")
    verbatim(console, "  holdfast fit your_data.csv --target your_column -o run")
    verbatim(console, "  holdfast predict run/model.json new.csv -o scored.csv\n")
    paragraph(console, "or, in Python, with an array or a frame of your own:\n")
    verbatim(console, "  from holdfast import StableTreeClassifier")
    verbatim(console, "  print(StableTreeClassifier().fit(X, y).rules())")


def _load_tumours() -> Rows:
    """The breast cancer data of scikit-learn."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    from holdfast.data.frame import Frame
    from holdfast.data.target_columns import TargetColumns
    from holdfast.runs.dataset import Rows

    data = load_breast_cancer()
    names = (*map(str, data.feature_names), "diagnosis")
    diagnosis = np.array(data.target_names[data.target].tolist(), object)
    frame = Frame(names, [*data.data.T, diagnosis], len(diagnosis))
    return Rows("scikit-learn's breast cancer data", frame, TargetColumns("diagnosis"))


# -- 2. plain trees ---------------------------------------------------------------------------------------


def _show_plain_trees(fit: Fit, console: Console) -> None:
    """Print the root splits of plain trees, each grown on a bootstrap sample of the same rows."""
    from holdfast.growth.collections import grow_bootstraps

    trees = grow_bootstraps(fit.roles.training, _plain_rules(fit), N_PLAIN, n_jobs=fit.settings.n_jobs)
    by_root: dict[str, list[Tree]] = {}
    for tree in trees:
        root = tree.schema.names[int(tree.feature[0])] if tree.n_nodes > 1 else "none"
        by_root.setdefault(root, []).append(tree)
    console.print(
        f"Here are {len(trees)} plain trees of at most {_most_leaves(fit)} leaves, each grown on a bootstrap "
        f"sample of the same tumours. They have [bold]{_count_roots(trees)} different root splits[/] on "
        f"{len(by_root)} of the {len(trees[0].schema.names)} measurements:\n"
    )
    ordered = sorted(by_root.items(), key=lambda item: (-len(item[1]), item[0]))
    rows = [[root, str(len(group)), str(_count_roots(group))] for root, group in ordered[:MAX_ROOTS]]
    if rest := ordered[MAX_ROOTS:]:
        rows.append([f"{len(rest)} others", str(sum(len(group) for _, group in rest)), ""])
    show_grid(console, ["root split on", "trees", "different thresholds"], rows)


def _count_roots(trees: Sequence[Tree]) -> int:
    """Count the different root splits, by column and threshold."""
    return len({(int(tree.feature[0]), float(tree.threshold[0])) for tree in trees})


def _most_leaves(fit: Fit) -> int:
    from holdfast.stable.consensus.train import most_leaves

    return most_leaves(fit.trained.settle(fit.estimator._settings()))


def _plain_rules(fit: Fit) -> GrowthRules:
    """Growth rules of a tree without a teacher that is as large as the students."""
    from holdfast.growth.rules import GrowthRules
    from holdfast.stable.consensus.train import MIN_ROWS
    from holdfast.stable.settings import DEPTH_5

    return GrowthRules(
        max_depth=DEPTH_5.max_depth, max_leaf_nodes=_most_leaves(fit), min_samples_leaf=MIN_ROWS
    )


# -- 3. and 4. training and the choice --------------------------------------------------------------------


def _training_text(fit: Fit, seconds: float) -> str:
    weights = ""
    if fit.trained.teacher_weights is not None:
        parts = join_parts([f"{part} {share:g}" for part, share in fit.trained.teacher_weights.items()])
        weights = f", with weights that held-out rows clearly support ({parts})"
    return (
        f"holdfast fits five models and averages them{weights}: the teacher. "
        f"{len(fit.trained.references.trees)} students, trees of at most {_most_leaves(fit)} leaves, are "
        "distilled from its predictions on a bootstrap sample each: these are the reference trees. The "
        "student of all rows is then changed to minimise its mean distance to them, while its fit to the "
        f"teacher stays within a tolerance. All of it took {duration_text(seconds)}.\n"
    )


def _show_choice(fit: Fit, console: Console) -> None:
    from holdfast.cli.fit_output import show_test, show_tree
    from holdfast.tree.rules import tree_rules

    tree = fit.chosen.tree
    paragraph(console, f"{fit.choice}\n")
    show_tree(tree, console)
    paragraph(console, "\nIts two largest leaves as rules:\n")
    texts, sizes = tree.rules().split("\n\n"), [rule.count for rule in tree_rules(tree)]
    largest = sorted(range(tree.n_leaves), key=lambda place: -sizes[place])[:N_RULES]
    verbatim(console, "\n\n".join(texts[place] for place in sorted(largest)))
    paragraph(
        console,
        f"\nOn the {fit.roles.n_test} test rows, with the two ends of the frontier:\n",
    )
    show_test(fit, console)


# -- 5. retraining ----------------------------------------------------------------------------------------


def _show_retraining(fit: Fit, console: Console) -> None:
    """Print how much the consensus tree and a plain tree change when they are retrained."""
    import numpy as np

    from holdfast.growth.grow import grow
    from holdfast.scoring.metric import make_metric

    before = {PLAIN: grow(fit.roles.divided.table, _plain_rules(fit)), CONSENSUS: fit.chosen.tree}
    metrics = (fit.metric, make_metric("log_loss", fit.chosen.tree.schema.target))
    scores = {kind: [np.nan, np.nan] for kind in before}
    if (test := fit.roles.test) is not None:
        scores = {
            kind: [metric.shown(test.score(tree, metric).value) for metric in metrics]
            for kind, tree in before.items()
        }
    changes = [_measure_changes(fit, before, seed) for seed in range(1, N_AGAIN + 1)]
    means = {kind: np.mean([change[kind] for change in changes], axis=0).tolist() for kind in before}
    root = np.sqrt(max(N_AGAIN - 1, 1))
    errors = {kind: (np.std([each[kind] for each in changes], axis=0) / root).tolist() for kind in before}
    rows = [
        [
            kind,
            *(f"{score:.3f}" for score in scores[kind]),
            *(f"{means[kind][i]:.{1 + 2 * i}f} ± {errors[kind][i]:.{1 + 2 * i}f}" for i in range(2)),
            f"{100 * means[kind][2]:.1f} ± {100 * errors[kind][2]:.1f} %",
        ]
        for kind in before
    ]
    paragraph(
        console,
        f"The tree is retrained {N_AGAIN} times without a tenth of its rows, another tenth each time, and so "
        "is a plain tree of as many leaves. The mean changes are:\n",
    )
    show_grid(console, ["tree", fit.metric.title, "log loss", *MEASURES], rows)
    paragraph(
        console,
        f"\n{fit.metric.title} and log loss: on the test rows, before retraining. Distance: between the "
        "trees; a rule that changes its class adds ten. Churn: mean change of the probabilities. Flips: test "
        "rows whose class changes. ± one standard error of the mean. holdfast audit does this for your own "
        "data, more often, with more changes and more methods.",
        style="dim",
    )
    pairs = zip(MEASURES, means[CONSENSUS], means[PLAIN], strict=True)
    if worse := [name for name, ours, theirs in pairs if ours > theirs]:
        paragraph(console, f"\n{_explain_worse(fit, before, scores, worse)}")


def _measure_changes(fit: Fit, before: dict[str, Tree], seed: int) -> dict[str, list[float]]:
    """Retrain both trees without some of their rows, and measure distance, churn and flips."""
    import numpy as np

    from holdfast.distance.distance import distances_between
    from holdfast.growth.grow import grow
    from holdfast.stable.rows import draw_test_rows
    from holdfast.stable.selection import choose
    from holdfast.stable.train import train

    table, test = fit.roles.divided.table, fit.roles.test
    kept = table.subset(~draw_test_rows(table, LEFT_OUT, stage=None, groups=None, seed=seed))
    trained = train(kept, fit.estimator._settings())
    choice = choose(trained.frontier, trained.metric, fit.estimator._selection_rule())
    after = {PLAIN: grow(kept, _plain_rules(fit)), CONSENSUS: trained.candidates.trees[choice.candidate]}
    changes = {}
    for kind, old in before.items():
        distance = float(distances_between([old], [after[kind]], fit.trained.distance_settings)[0, 0])
        churn = flips = np.nan
        if test is not None:
            old_p, new_p = (tree.predict_proba(test.frame) for tree in (old, after[kind]))
            churn = float(np.abs(old_p - new_p).sum(axis=1).mean() / 2)
            flips = float(np.mean(old.predict(test.frame) != after[kind].predict(test.frame)))
        changes[kind] = [distance, churn, flips]
    return changes


def _explain_worse(
    fit: Fit, before: dict[str, Tree], scores: dict[str, list[float]], worse: list[str]
) -> str:
    """Why the plain tree changes less in some respects, as far as its probabilities explain it."""
    import numpy as np

    text = f"The plain tree changes less here: {join_parts(worse)}."
    test, plain_loss, loss = fit.roles.test, scores[PLAIN][1], scores[CONSENSUS][1]
    if test is None or plain_loss <= loss:
        return text
    sure = {
        kind: rounded_percent(float(np.mean(tree.predict_proba(test.frame).max(axis=1) > SURE)))
        for kind, tree in before.items()
    }
    return (
        f"{text} It gives {sure[PLAIN]} of the test rows a probability of 0 or 1 (the consensus tree "
        f"{sure[CONSENSUS]}), and such predictions hardly change, whether right or wrong: its log loss is "
        f"{number_text(plain_loss, 2)}, that of the consensus tree {number_text(loss, 2)}. Leaves of the "
        "consensus tree that are unsure have probabilities near one half, and change their class more easily."
    )
