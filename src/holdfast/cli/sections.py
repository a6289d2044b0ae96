"""What `fit` and `demo` print of a stable tree: the frontier, the chosen tree, and how firmly it stands."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

from holdfast._arrays import LongArray
from holdfast._choices import NOISE_AWARE
from holdfast._text import distinct_texts, estimate_texts, join_parts, number_text, percent_text, pluralize
from holdfast.cli.forward import both_legend
from holdfast.cli.grids import show_grid
from holdfast.cli.show import WHOLE
from holdfast.cli.words import heading, paragraph, verbatim
from holdfast.explain.feature_use import feature_table
from holdfast.explain.split_support import split_support_view
from holdfast.runs.fit import CHOSEN, ChosenTree, Fit, disagreement, scores_disagree
from holdfast.scoring.metric import Metric, Score
from holdfast.stable.consensus.size import size_choice_table
from holdfast.stable.selection import LOST, default_unit, leaves_text, lost_text, shown_order
from holdfast.stable.settings import SCORE_TOLERANCE
from holdfast.tree.rules import list_warnings
from holdfast.tree.text import draw_tree
from holdfast.tree.tree import Tree

MOST_LINES = 12  # of the frontier; the file has all
MOST_FEATURES = 8
WIDEST_TITLE = 15  # of a metric over its column
NARROW_TITLE = 4  # of one with a word after it
TOO_FEW = "too few rows"  # in place of a score
WIDEST = 100  # columns of a drawing
# Other scales of the instability: the headings of their columns, and what the legend says of them.
SCALED = {
    "per rule": "per rule of the larger tree",
    "for size": "and as a multiple of what candidates of that size have",
}
TITLES = {CHOSEN: "chosen", "most-stable": "most stable", "best-score": "best score"}
FILES = {
    "model.json": "the model, for holdfast show and holdfast predict",
    "proposal.json": "the model that the policy forbids",
    "report.html": "all of it on one page, for a browser",
    "tree.svg": "the picture of the model, for a browser",
    "diff.txt": "what changes, rule by rule",
    "path.json": "the trees of all steps, from 0 on, for holdfast show",
    "update.json": "all figures, for programs",
    "importances.csv": "the importance of every feature",
    "collections": "reference and candidate trees: they hold no rows of the data",
    "frontier.csv": "every candidate",
    "summary.json": "all figures, for programs",
    "report.json": "what the page says, for programs",
}


# -- the frontier -----------------------------------------------------------------------------------------


def show_frontier(fit: Fit, console: Console) -> None:
    """The efficient candidates, of a consensus tree all of them, the most stable first."""
    frontier, metric = fit.choice.frontier or fit.trained.frontier, fit.trained.metric
    order = _shown(shown_order(frontier), fit.choice.candidate)
    instability = estimate_texts(
        frontier.instability[order].tolist(), frontier.instability_error[order].tolist()
    )
    score = estimate_texts(
        [metric.shown(value) for value in frontier.score[order].tolist()],
        frontier.score_error[order].tolist(),
    )
    title = metric.title if len(metric.title) <= WIDEST_TITLE else "score"
    rows = [
        [
            f"{place} *" if place == fit.choice.candidate else f"{place}",
            instability[line],
            f"{frontier.per_rule[place]:.3f}",
            lost_text(frontier, place) or f"{frontier.size_adjusted[place]:.2f}",
            score[line],
            leaves_text(frontier, place),
            str(frontier.depth[place]),
        ]
        for line, place in enumerate(order.tolist())
    ]
    per_rule, for_size = SCALED
    third = LOST if frontier.has_teacher else for_size
    headings = ["candidate", "instability", per_rule, third, title, "leaves", "depth"]
    chosen = [line for line, place in enumerate(order.tolist()) if place == fit.choice.candidate]
    spare = ["depth", per_rule, LOST] if frontier.has_teacher else ["depth", for_size, per_rule]
    shown = show_grid(console, headings, rows, bold=chosen, spare=spare)
    scales = [text for heading, text in SCALED.items() if heading in shown]
    legend = (
        _consensus_legend(fit, scales, shown) if frontier.has_teacher else _legend(fit, len(order), scales)
    )
    paragraph(console, f"\n{legend}", style="dim")


def _consensus_legend(fit: Fit, scales: list[str], shown: Sequence[str]) -> str:
    references = f"the {len(fit.trained.references)} bootstrap students of its size"
    asked = fit.trained.candidates.combinations
    tolerances = [percent_text(each) for each in dict.fromkeys(each["tolerance"] for each in asked)]
    sizes = list(map(str, reversed(fit.trained.frontier.sizes)))
    lost = f" {LOST.capitalize()}: of what the student of {sizes[0]} leaves has learnt."
    return (
        f"* chosen. One tree for each number of leaves (at most {join_parts(sizes)}) and tolerance "
        f"({join_parts(tolerances)}): the most central one found that loses at most so much of what the "
        "student "
        "of its size has learnt from the teacher; one that is found several times is listed once."
        f"{lost if LOST in shown else ''} "
        f"Instability: {'; '.join([f'mean distance to {references}', *scales])}. "
        f"{fit.metric.title}: expected on new rows, from trees made the same way without the rows held out. "
        "± one standard error."
    )


def _legend(fit: Fit, n_shown: int, scales: list[str]) -> str:
    frontier = fit.trained.frontier
    n_efficient, n_references = len(frontier.efficient_order), len(fit.trained.references)
    more = f" {n_shown} of them are shown." if n_shown < n_efficient else ""
    candidates = pluralize(len(frontier), "candidate")
    return (
        f"* chosen. {n_efficient} of {candidates}: no other is both nearer and better.{more} "
        f"Instability: {'; '.join([f'mean distance to the {n_references} reference trees', *scales])}. "
        f"{fit.trained.metric.title}: expected on new rows, from rows held out. ± one standard error."
    )


def _shown(order: LongArray, chosen: int) -> LongArray:
    """Some of the efficient candidates, from end to end, and always the chosen one."""
    if len(order) <= MOST_LINES:
        return order
    places = set(np.linspace(0, len(order) - 1, MOST_LINES).round().astype(int).tolist())
    places.add(order.tolist().index(chosen))
    return order[sorted(places)]


# -- the chosen tree --------------------------------------------------------------------------------------


def show_tree(fit: Fit, console: Console) -> None:
    """The drawing of the chosen tree."""
    show_drawing(fit.chosen.tree, console)


def show_drawing(tree: Tree, console: Console) -> None:
    """The drawing of a tree, which says how to see what it leaves out."""
    verbatim(console, draw_tree(tree, width=min(WIDEST, console.width), whole=WHOLE))


def _caution(fit: Fit) -> str:
    """A sentence more if the scores are too uncertain for the tolerance; else nothing."""
    frontier, metric, given = fit.trained.frontier, fit.metric, fit.estimator._selection_rule()
    best = fit.named("best-score").candidate
    unit = given.tolerance_unit or default_unit(frontier, metric, given.tolerance)
    tolerance = SCORE_TOLERANCE if given.tolerance is None else given.tolerance
    loss = tolerance * (abs(float(frontier.score[best])) if unit == "relative" else 1.0)
    error = float(frontier.score_error[best])
    if (
        fit.choice.selection_rule != "within-tolerance"
        or unit in ("standard-error", NOISE_AWARE, "teacher")
        or loss >= error
    ):
        return ""
    return (
        f" The best {metric.title} has a standard error of {number_text(error, 2)}, which is more than the "
        "tolerance: to choose among all that may be as good, say --tolerance 1 --tolerance-unit "
        "standard-error."
    )


def show_test(fit: Fit, console: Console) -> None:
    """The chosen tree against the ends of the frontier, on the test rows if there are any."""
    metric, frontier, scores = fit.trained.metric, fit.trained.frontier, _test_cells(fit)
    few = TOO_FEW if fit.roles.held_out_too_few else ""
    rows = [
        [
            _title(each),
            *([few or f"{metric.shown(float(frontier.score[each.candidate])):.4g}"] if scores else []),
            *(scores[place] if scores else []),
            f"{each.instability:.2f}",
            str(each.tree.n_leaves),
            str(each.tree.depth),
        ]
        for place, each in enumerate(fit.chosen_trees)
    ]
    headings = ["tree", *_test_headings(fit), "instability", "leaves", "depth"]
    chosen = [place for place, each in enumerate(fit.chosen_trees) if CHOSEN in each.names]
    show_grid(console, headings, rows, bold=chosen, spare=["depth", "leaves", "instability"])
    if note := _lost_note(fit):
        paragraph(console, f"\n{note}", style="dim")
    if fit.roles.earlier_test is not None:
        paragraph(console, f"\n{both_legend(fit.roles)}", style="dim")
    # That later rows are others says why they give less than was expected.
    expected = float(frontier.score[fit.chosen.candidate])
    less = "" if few or scores_disagree(fit) else disappointment(metric, fit.chosen.test, expected)
    for text in filter(None, [less, *disagreement(fit)]):
        paragraph(console, f"\n{text}")


def _lost_note(fit: Fit) -> str:
    """Why the chosen tree is taken although another one of the table is more stable and no worse."""
    frontier, chosen = fit.trained.frontier, fit.chosen.candidate
    for each in fit.chosen_trees if frontier.has_teacher else ():
        place = each.candidate
        beats = frontier.instability[place] <= frontier.instability[chosen]
        beats &= frontier.score[place] >= frontier.score[chosen]
        if place != chosen and beats and lost_text(frontier, place) != lost_text(frontier, chosen):
            return (
                f"The tree of {pluralize(each.tree.n_leaves, 'leaf', 'leaves')} loses "
                f"{lost_text(frontier, place)} of what the student has learned from the teacher, the chosen "
                f"tree {lost_text(frontier, chosen)}."
            )
    return ""


def _title(each: ChosenTree) -> str:
    return ", ".join(TITLES[name] for name in each.names)


def _test_headings(fit: Fit) -> list[str]:
    if fit.roles.test is None:
        return []
    title = fit.trained.metric.title
    expected = f"{title} expected" if len(title) <= NARROW_TITLE else "expected"
    if fit.roles.earlier_test is not None:
        return [expected, "later rows", "earlier rows"]
    return [expected, f"on {fit.roles.n_test:,} test rows"]


def _test_cells(fit: Fit) -> list[tuple[str, ...]]:
    """The scores of each tree: on the test rows, and on earlier ones if there are such."""
    columns = []
    for kind in ("test", "earlier_test"):
        rows = getattr(fit.roles, kind)
        scores = [score for each in fit.chosen_trees if (score := getattr(each, kind)) is not None]
        few = rows is not None and rows.too_few
        texts = score_texts(scores, fit.trained.metric)
        columns.append([TOO_FEW] * len(fit.chosen_trees) if few else texts)
    return list(zip(*filter(None, columns), strict=True))


# -- how firmly it stands ---------------------------------------------------------------------------------


def show_split_support(fit: Fit, console: Console) -> None:
    """For every split of the chosen tree, how many of the other trees ask the same there."""
    verbatim(console, split_support_view(fit.split_support).to_text(min(console.width, WIDEST)))


def show_features(fit: Fit, console: Console) -> None:
    """The features that the trees of all samples ask about most."""
    n_sampled = len(fit.trained.sampled_candidates)
    n_trees = len(fit.trained.references) + n_sampled
    kinds = f"{n_trees} trees, reference and candidate" if n_sampled else f"{n_trees} reference trees"
    verbatim(console, feature_table(fit.uses, MOST_FEATURES, "summary.json").to_text())
    paragraph(console, f"\nIn all {kinds}.", style="dim")


def show_files(folder: Path, console: Console) -> None:
    """Where the files are, and what each of them holds."""
    files = {name: what for name, what in FILES.items() if (folder / name).exists()}
    verbatim(console, f"{folder}{os.sep}")  # whole, however long
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(style="dim")
    for name, what in files.items():
        grid.add_row(f"  {name}", what)
    console.print(grid)


# -- all of it --------------------------------------------------------------------------------------------


def show_fit(fit: Fit, console: Console) -> None:
    """The sections of `holdfast fit`, apart from the data and the files."""
    for warning in list_warnings(fit.model):
        paragraph(console, f"\n{warning}", style="bold yellow")
    if (choice := fit.trained.size_choice) is not None:
        heading(console, "The size")
        verbatim(console, size_choice_table(choice).to_text())
    heading(console, "The frontier")
    show_frontier(fit, console)
    heading(console, "The chosen tree")
    paragraph(console, f"{fit.choice}{_caution(fit)}\n")
    show_tree(fit, console)
    heading(console, "On the test rows" if fit.roles.test else "Against the ends of the frontier")
    show_test(fit, console)
    heading(console, "How firmly each question stands")
    show_split_support(fit, console)
    heading(console, "The features that are asked about")
    show_features(fit, console)


# -- Scores as the terminal shows them -----------------------------------------------------------------------

DIGITS = 3, 4  # of two scores that are compared: the fewest, and the most to tell them apart


def score_texts(scores: Sequence[Score], metric: Metric) -> list[str]:
    """The scores with the sign that people expect, each with its standard error."""
    return estimate_texts([metric.shown(score.value) for score in scores], [score.error for score in scores])


def disappointment(metric: Metric, test: Score | None, expected: float) -> str:
    """A sentence if the test rows give clearly less than was expected, and print so; else nothing."""
    if test is None or test.value > expected - 2 * test.error:
        return ""
    given, hoped = distinct_texts(metric.shown(test.value), metric.shown(expected), *DIGITS)
    if given == hoped:
        return ""
    side = "more" if metric.is_loss else "less"
    return (
        f"The test rows give {side} than was expected: {metric.title} {given} instead of {hoped}. Believe "
        "the test rows."
    )
