"""`holdfast demo`, the first thing a newcomer runs: the whole story of `holdfast fit` on built-in data."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from holdfast._text import duration_text, join_parts, number_text, rounded_percent
from holdfast.cli.data_section import show_data
from holdfast.cli.fit import ready_kernels, write_to
from holdfast.cli.grids import show_grid
from holdfast.cli.sections import show_files, show_frontier, show_split_support, show_test, show_tree
from holdfast.cli.words import compiled_text, heading, paragraph, plain_warnings, verbatim
from holdfast.data.frame import Frame
from holdfast.distance.distance import distances_between
from holdfast.growth.collections import grow_bootstraps
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.runs.compile import Ready
from holdfast.runs.dataset import Rows
from holdfast.runs.fit import Fit
from holdfast.runs.folder import Place, reserved
from holdfast.runs.run import PreparedRun, prepare_rows
from holdfast.runs.settings import DataSettings, RunSettings
from holdfast.scoring.metric import make_metric
from holdfast.stable.consensus.train import MIN_ROWS, most_leaves
from holdfast.stable.rows import draw_test_rows
from holdfast.stable.selection import choose
from holdfast.stable.settings import DEPTH_5, StabilitySettings
from holdfast.stable.train import train
from holdfast.tree.rules import tree_rules
from holdfast.tree.tree import Tree

MOST_ROOTS = 6  # lines of the table of first questions
N_PLAIN = 100  # trees of the problem
N_AGAIN, LEFT_OUT = 5, 0.1  # times that trees are trained again, and the fraction of rows they go without
N_RULES = 2
PLAIN, CONSENSUS = "plain", "consensus"
MOVES = ("distance", "churn", "flips")
SURE = 0.995  # a greater probability is shown as 1


def run(folder: Path, console: Console) -> None:
    """Tell the story on the console and leave a run in the folder."""
    with reserved(folder) as place:
        _run(place, console)


def _run(place: Place, console: Console) -> None:
    with plain_warnings():
        prepared = prepare_rows(_tumours(), RunSettings(data=DataSettings(target="diagnosis")))
        ready = _ready_kernels(prepared, console)
        heading(console, "1. The data, and who may see what")
        show_data(prepared.roles, console)
        fitted = prepared.fit(verbose=True, ready=ready)
    write_to(place, fitted)
    assert fitted.details is not None
    _show_problem(fitted.details, console)
    _show_frontier(fitted.details, fitted.facts["seconds"]["fitting"], console)
    _show_choice(fitted.details, console)
    _show_again(fitted.details, console)
    _show_firmness(fitted.details, console)
    heading(console, "7. Files to keep")
    show_files(place.folder, console)
    _show_next_steps(place.folder, console)


# -- the steps --------------------------------------------------------------------------------------------


def _ready_kernels(prepared: PreparedRun, console: Console) -> Ready:
    ready = ready_kernels(prepared, console)
    verb = compiled_text().capitalize() if ready.compiled else "Loaded from disk"
    paragraph(console, f"{verb} in {duration_text(ready.seconds)}.", style="dim")
    return ready


def _show_problem(fit: Fit, console: Console) -> None:
    heading(console, "2. The problem: the same data, sampled again, gives other trees")
    trees = grow_bootstraps(fit.roles.training, _plain_rules(fit), N_PLAIN, n_jobs=fit.settings.n_jobs)
    console.print(
        f"Here are {len(trees)} plain trees of at most {_most_leaves(fit)} leaves, each grown on a bootstrap "
        f"sample of the same tumours. They begin with [bold]{_n_roots(trees)} different questions[/] about "
        f"{len(set(_roots(trees)))} of the {len(trees[0].schema.names)} measurements:\n"
    )
    _show_roots(trees, console)


def _show_frontier(fit: Fit, seconds: float, console: Console) -> None:
    heading(console, "3. A teacher, its students, and their consensus")
    n_students, weights = len(fit.trained.references.trees), _teacher_weights(fit)
    paragraph(
        console,
        f"holdfast fits five models and averages them{weights}: the teacher. {n_students} students, trees "
        f"of at most {_most_leaves(fit)} leaves, are distilled from its predictions for a bootstrap sample "
        "each: these are the reference trees. The student of all rows is then moved to where its mean "
        "distance to them is least, as long as it loses no more of the teacher's predictions than a "
        f"tolerance allows. All of it took {duration_text(seconds)}.\n",
    )
    show_frontier(fit, console)


def _show_choice(fit: Fit, console: Console) -> None:
    heading(console, "4. One tree")
    paragraph(console, f"{fit.choice}\n")
    show_tree(fit, console)
    paragraph(console, "\nIts two largest leaves as rules:\n")
    verbatim(console, "\n\n".join(_largest_rules(fit.chosen.tree, N_RULES)))
    paragraph(
        console,
        f"\nOn the {fit.roles.n_test} rows that were set aside, against the two ends of the frontier:\n",
    )
    show_test(fit, console)


def _show_again(fit: Fit, console: Console) -> None:
    heading(console, "5. Trained again")
    before = _trees_before(fit)
    scores = {kind: _test_scores(fit, tree) for kind, tree in before.items()}
    moves = [_moves(fit, before, number) for number in range(1, N_AGAIN + 1)]
    means = {kind: np.mean([move[kind] for move in moves], axis=0).tolist() for kind in before}
    root = np.sqrt(max(N_AGAIN - 1, 1))
    errors = {kind: (np.std([move[kind] for move in moves], axis=0) / root).tolist() for kind in before}
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
        f"{N_AGAIN} times, the tree is trained again without a tenth of its rows, another tenth each time, "
        "and so is a plain tree of as many leaves. On average they move by:\n",
    )
    show_grid(console, ["tree", fit.metric.title, "log loss", *MOVES], rows)
    paragraph(
        console,
        f"\n{fit.metric.title} and log loss on the test rows, before; distance between the trees, to which "
        "a rule that changes its class adds ten; churn: mean change of the probabilities; flips: test rows "
        "that get another class; ± one standard error of the mean. holdfast audit does this for your own "
        "data, more often, with more changes and more methods.",
        style="dim",
    )
    pairs = zip(MOVES, means[CONSENSUS], means[PLAIN], strict=True)
    if worse := [name for name, ours, theirs in pairs if ours > theirs]:
        paragraph(console, f"\n{_why_worse(fit, before, scores, worse)}")


def _why_worse(
    fit: Fit, before: dict[str, Tree], scores: dict[str, tuple[float, float]], worse: list[str]
) -> str:
    """Why the plain tree moves less in some respects, as far as its probabilities explain it."""
    text = f"The plain tree moves less here: {join_parts(worse)}."
    test, (plain_loss, loss) = fit.roles.test, (scores[PLAIN][1], scores[CONSENSUS][1])
    if test is None or plain_loss <= loss:
        return text
    sure = {
        kind: rounded_percent(float(np.mean(tree.predict_proba(test.frame).max(axis=1) > SURE)))
        for kind, tree in before.items()
    }
    return (
        f"{text} It gives {sure[PLAIN]} of the test rows a probability of 0 or 1 (the consensus tree "
        f"{sure[CONSENSUS]}), and such predictions hardly move, whether right or wrong: its log loss is "
        f"{number_text(plain_loss, 2)}, that of the consensus tree {number_text(loss, 2)}. Leaves of the "
        "consensus tree that are unsure have probabilities near one half, and change their class more easily."
    )


def _show_firmness(fit: Fit, console: Console) -> None:
    heading(console, "6. How firmly each question stands")
    show_split_support(fit, console)
    paragraph(
        console,
        "\nSmall shares are no fault of the tree: where several measurements say nearly the same, any of "
        "them may be asked first, and what is asked below differs with it.",
        style="dim",
    )


def _show_next_steps(folder: Path, console: Console) -> None:
    heading(console, "Next")
    paragraph(console, "Open the report in a browser: the tree, one case through it, and the evidence.\n")
    verbatim(console, f"  {folder / 'report.html'}\n")
    verbatim(console, f"  holdfast show {folder} --format rules")
    verbatim(console, "  holdfast fit your_data.csv --target your_column -o run")
    verbatim(console, "  holdfast predict run/model.json new.csv -o scored.csv\n")
    paragraph(console, "or, in Python, with an array or a frame of your own:\n")
    verbatim(console, "  from holdfast import StableTreeClassifier")
    verbatim(console, "  print(StableTreeClassifier().fit(X, y).rules())")


# -- what they are made of --------------------------------------------------------------------------------


def _tumours() -> Rows:
    """The breast cancer data of scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    names = (*map(str, data.feature_names), "diagnosis")
    diagnosis = np.array(data.target_names[data.target].tolist(), object)
    frame = Frame(names, [*data.data.T, diagnosis], len(diagnosis))
    return Rows("scikit-learn's breast cancer data", frame, "diagnosis")


def _settings(fit: Fit) -> StabilitySettings:
    """How the stable trees were trained, with nothing chosen by held-out rows yet."""
    settings: StabilitySettings = fit.estimator._settings()
    return settings


def _most_leaves(fit: Fit) -> int:
    return most_leaves(fit.trained.settle(_settings(fit)))


def _teacher_weights(fit: Fit) -> str:
    """The weights of the parts of the teacher, if held-out rows have chosen any; else nothing."""
    weights = fit.trained.teacher_weights
    if weights is None:
        return ""
    parts = join_parts([f"{part} {share:g}" for part, share in weights.items()])
    return f", with weights that held-out rows clearly support ({parts})"


def _plain_rules(fit: Fit) -> GrowthRules:
    """How a tree without a teacher grows that is as large as the students."""
    return GrowthRules(
        max_depth=DEPTH_5.max_depth, max_leaf_nodes=_most_leaves(fit), min_samples_leaf=MIN_ROWS
    )


def _trees_before(fit: Fit) -> dict[str, Tree]:
    return {PLAIN: grow(fit.roles.divided.table, _plain_rules(fit)), CONSENSUS: fit.chosen.tree}


def _moves(fit: Fit, before: dict[str, Tree], seed: int) -> dict[str, list[float]]:
    """What becomes of a plain and a consensus tree without some of their rows."""
    table = fit.roles.divided.table
    kept = table.subset(~draw_test_rows(table, LEFT_OUT, stage=None, groups=None, seed=seed))
    trained = train(kept, _settings(fit))
    choice = choose(trained.frontier, trained.metric, fit.estimator._selection_rule())
    after = {PLAIN: grow(kept, _plain_rules(fit)), CONSENSUS: trained.candidates.trees[choice.candidate]}
    return {kind: _move(fit, tree, after[kind]) for kind, tree in before.items()}


def _move(fit: Fit, before: Tree, after: Tree) -> list[float]:
    """The distance between two trees, and churn and flips on the test rows."""
    distance = float(distances_between([before], [after], fit.trained.distance_settings)[0, 0])
    if fit.roles.test is None:
        return [distance, np.nan, np.nan]
    said = [tree.predict_proba(fit.roles.test.frame) for tree in (before, after)]
    classes = [tree.predict(fit.roles.test.frame) for tree in (before, after)]
    churn, flips = np.abs(said[0] - said[1]).sum(axis=1).mean() / 2, np.mean(classes[0] != classes[1])
    return [distance, float(churn), float(flips)]


def _test_scores(fit: Fit, tree: Tree) -> tuple[float, float]:
    """The score of the tree on the test rows, and its log loss."""
    if fit.roles.test is None:
        return np.nan, np.nan
    metrics = (fit.metric, make_metric("log_loss", tree.schema.target))
    score, loss = (metric.shown(fit.roles.test.score(tree, metric).value) for metric in metrics)
    return score, loss


def _largest_rules(tree: Tree, n_rules: int) -> list[str]:
    """The texts of the rules with most rows, in the order of the tree."""
    texts, sizes = tree.rules().split("\n\n"), [rule.count for rule in tree_rules(tree)]
    by_size = sorted(range(tree.n_leaves), key=lambda place: -sizes[place])
    return [texts[place] for place in sorted(by_size[:n_rules])]


def _roots(trees: Sequence[Tree]) -> list[str]:
    """The column that each tree asks about first."""
    return [tree.schema.names[int(tree.feature[0])] if tree.n_nodes > 1 else "nothing" for tree in trees]


def _n_roots(trees: Sequence[Tree]) -> int:
    """Number of different questions, column and threshold, that the trees ask first."""
    return len({(int(tree.feature[0]), float(tree.threshold[0])) for tree in trees})


def _show_roots(trees: Sequence[Tree], console: Console) -> None:
    """A line for each column that some of the trees ask about first, the most frequent one at the top."""
    groups: dict[str, list[Tree]] = {}
    for root, tree in zip(_roots(trees), trees, strict=True):
        groups.setdefault(root, []).append(tree)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    rows = [[root, str(len(group)), str(_n_roots(group))] for root, group in ordered[:MOST_ROOTS]]
    if rest := ordered[MOST_ROOTS:]:
        rows.append([f"{len(rest)} others", str(sum(len(group) for _, group in rest)), ""])
    show_grid(console, ["first question about", "trees", "different thresholds"], rows)
