"""`holdfast demo`, the first thing a newcomer runs: the whole story of `holdfast fit` on built-in data."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from holdfast.cli.data_section import show_data
from holdfast.cli.fit import ready_kernels, write_to
from holdfast.cli.grids import show_grid
from holdfast.cli.sections import show_files, show_frontier, show_split_support, show_test, show_tree
from holdfast.cli.words import compiled_text, heading, paragraph, plain_warnings, verbatim
from holdfast.data.input.frame import Frame
from holdfast.runs.fit_run import PreparedRun, prepare_rows
from holdfast.runs.folder import Place, reserved
from holdfast.runs.kernels import Ready
from holdfast.runs.rows import Rows
from holdfast.runs.settings import RunSettings
from holdfast.runs.stable_fit import StableFit
from holdfast.text.numbers import duration, percent_text
from holdfast.tree.rule import tree_rules
from holdfast.tree.tree import Tree

MOST_ROOTS = 6  # lines of the table of first questions
N_RULES = 2


def run(folder: Path, console: Console) -> None:
    """Tell the story on the console and leave a run in the folder."""
    with reserved(folder) as place:
        _run(place, console)


def _run(place: Place, console: Console) -> None:
    with plain_warnings():
        prepared = prepare_rows(_tumours(), RunSettings(target="diagnosis"))
        ready = _ready_kernels(prepared, console)
        heading(console, "1. The data, and who may see what")
        show_data(prepared.roles, console)
        fitted = prepared.fit(verbose=console.is_terminal, ready=ready)
    write_to(place, fitted)
    if not isinstance(fitted.details, StableFit):
        return
    _show_problem(fitted.details, console)
    _show_frontier(fitted.details, fitted.facts["seconds"]["fitting"], console)
    _show_choice(fitted.details, console)
    _show_firmness(fitted.details, console)
    heading(console, "6. Files to keep")
    show_files(place.folder, console)
    _show_next_steps(place.folder, console)


# -- the steps --------------------------------------------------------------------------------------------


def _ready_kernels(prepared: PreparedRun, console: Console) -> Ready:
    ready = ready_kernels(prepared, console)
    verb = compiled_text().capitalize() if ready.compiled else "Loaded from disk"
    paragraph(console, f"{verb} in {duration(ready.seconds)}.", style="dim")
    return ready


def _show_problem(fit: StableFit, console: Console) -> None:
    heading(console, "2. The problem: the same data, sampled again, gives other trees")
    trees = fit.trained.candidates.trees
    console.print(
        f"Each of {len(trees)} trees was grown on a bootstrap sample of the same tumours. They begin with "
        f"[bold]{_n_roots(trees)} different questions[/] about {len(set(_roots(trees)))} of the "
        f"{len(trees[0].schema.names)} measurements:\n"
    )
    _show_roots(fit, console)


def _show_frontier(fit: StableFit, seconds: float, console: Console) -> None:
    heading(console, "3. Two collections of trees, and the frontier")
    n_references, n_candidates = len(fit.trained.references), len(fit.trained.candidates)
    paragraph(
        console,
        f"{n_references} reference trees were grown on the early rows and {n_candidates} candidate trees on "
        f"all. {n_references * n_candidates:,} exact distances between them say how far each candidate is "
        f"from what the early data gave: its instability. All of it took {duration(seconds)}.\n",
    )
    show_frontier(fit, console)


def _show_choice(fit: StableFit, console: Console) -> None:
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
    paragraph(console, f"\n{_comparison(fit)}")


def _show_firmness(fit: StableFit, console: Console) -> None:
    heading(console, "5. How firmly each question stands")
    show_split_support(fit, console)
    paragraph(
        console,
        "\nSmall shares are no fault of the tree: where several measurements say nearly the same, any of "
        "them may be asked first, and what is asked below differs with it.",
        style="dim",
    )


def _show_next_steps(folder: Path, console: Console) -> None:
    heading(console, "Next")
    verbatim(console, f"  holdfast show {folder} --format rules")
    verbatim(console, "  holdfast fit your_data.csv --target your_column -o run")
    verbatim(console, "  holdfast predict run/model.json new.csv -o scored.csv\n")
    paragraph(console, "or, in Python, with an array or a frame of your own:\n")
    verbatim(console, "  from holdfast import StableTreeClassifier")
    verbatim(console, "  print(StableTreeClassifier(max_depth=5).fit(X, y).rules())")


# -- what they are made of --------------------------------------------------------------------------------


def _tumours() -> Rows:
    """The breast cancer data of scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    names = (*map(str, data.feature_names), "diagnosis")
    diagnosis = np.array(data.target_names[data.target].tolist(), object)
    frame = Frame(names, [*data.data.T, diagnosis], len(diagnosis))
    return Rows("scikit-learn's breast cancer data", frame, "diagnosis")


def _comparison(fit: StableFit) -> str:
    """The chosen tree against the one with the best score, in numbers."""
    chosen, best, metric = fit.chosen, fit.named("best-score"), fit.trained.metric
    if chosen is best or chosen.test is None or best.test is None or not best.instability:
        return "Here the chosen tree is the one with the best score."
    nearer = percent_text(1 - chosen.instability / best.instability)
    difference = f"{metric.shown(chosen.test.value) - metric.shown(best.test.value):+.3f}"
    price = f"at {difference} of {metric.title}" if float(difference) else f"at the same {metric.title}"
    text = (
        f"The chosen tree is {nearer} nearer to the reference trees than the one with the best score, "
        f"{price} on these rows."
    )
    score = fit.trained.frontier.score
    if all(each.test is not None and each.test.value < score[each.candidate] for each in (chosen, best)):
        text += f" That both score less than above is no accident: the best of {len(score)} is partly lucky."
    return text


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


def _show_roots(fit: StableFit, console: Console) -> None:
    """A line for each column that some of the trees ask about first, the most frequent one at the top."""
    trees, metric = fit.trained.candidates.trees, fit.trained.metric
    places: dict[str, list[int]] = {}
    for place, root in enumerate(_roots(trees)):
        places.setdefault(root, []).append(place)
    rows = []
    ordered = sorted(places.items(), key=lambda item: (-len(item[1]), item[0]))
    for root, group in ordered[:MOST_ROOTS]:
        score = metric.shown(float(fit.trained.frontier.score[group].mean()))
        n_thresholds = _n_roots([trees[place] for place in group])
        rows.append([root, str(len(group)), str(n_thresholds), f"{score:.3f}"])
    if rest := ordered[MOST_ROOTS:]:
        rows.append([f"{len(rest)} others", str(sum(len(group) for _, group in rest)), "", ""])
    headings = ["first question about", "trees", "different thresholds", f"mean {metric.title}"]
    show_grid(console, headings, rows)
