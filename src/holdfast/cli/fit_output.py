"""What `fit` and `demo` print: the roles of the rows, the frontier, the chosen model and its evidence."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from holdfast._arrays import LongArray
from holdfast._choices import NOISE_AWARE
from holdfast._text import (
    distinct_texts,
    estimate_texts,
    join_parts,
    number_text,
    percent_text,
    pluralize,
    printable,
)
from holdfast.cli.console import heading, paragraph, show_grid, verbatim
from holdfast.cli.show import WHOLE, ensemble_text
from holdfast.data.survival import time_text
from holdfast.explain.feature_use import feature_table
from holdfast.explain.split_support import split_support_view
from holdfast.runs.dataset import RowRoles
from holdfast.runs.facts import data_facts
from holdfast.runs.files import name_run
from holdfast.runs.fit import CHOSEN, Fit, disagreement, scores_disagree, stages_text
from holdfast.scoring.metric import Metric, Score
from holdfast.stable.consensus.size import size_choice_table
from holdfast.stable.selection import LOST, default_unit, leaves_text, lost_text, shown_order
from holdfast.stable.settings import SCORE_TOLERANCE
from holdfast.tree.rules import list_warnings
from holdfast.tree.text import draw_tree
from holdfast.tree.tree import Tree

MAX_CANDIDATES = 12  # lines of the frontier; the file has all
MAX_FEATURES = 8
MAX_TITLE = 15  # letters of a metric as the heading of its column
MAX_TITLE_OF_TWO = 4  # with a word after it
MAX_WIDTH = 100  # columns of a drawing
DIGITS = 3, 4  # of two scores that are compared: the fewest, and the most to tell them apart
TOO_FEW = "too few rows"  # in place of a score
KINDS = {"nominal": "categorical"}
# Other scales of the instability: the headings of their columns, and what the legend adds.
PER_RULE, FOR_SIZE = "per rule", "for size"
SCALES = {
    PER_RULE: "per rule of the larger tree",
    FOR_SIZE: "as a multiple of that of candidates of the same size",
}
ENDS = {CHOSEN: "chosen", "most-stable": "most stable", "best-score": "best score"}
TITLES = {
    "tree": "The tree",
    "pruned": "The pruned tree",
    "forest": "The forest",
    "boosting": "The boosted trees",
}
FILES = {
    "model.json": "the model, for holdfast show and holdfast predict",
    "proposal.json": "the updated model, which the policy does not allow",
    "report.html": "the report, for a browser",
    "tree.svg": "the picture of the model, for a browser",
    "diff.txt": "what changes, rule by rule",
    "path.json": "the trees of all steps, from 0 on, for holdfast show",
    "update.json": "all figures, for programs",
    "importances.csv": "the importance of every feature",
    "collections": "reference and candidate trees, without any rows of the data",
    "frontier.csv": "every candidate",
    "summary.json": "all figures, for programs",
    "report.json": "the content of the report, for programs",
}


def show_fit(fit: Fit, console: Console) -> None:
    """Print the sections of `holdfast fit`, apart from the data and the files."""
    if not fit.is_stable:
        _show_model(fit, console)
        return
    for warning in list_warnings(fit.model):
        paragraph(console, f"\n{warning}", style="bold yellow")
    if (choice := fit.trained.size_choice) is not None:
        heading(console, "The size")
        verbatim(console, size_choice_table(choice).to_text())
    heading(console, "The frontier")
    show_frontier(fit, console)
    heading(console, "The chosen tree")
    paragraph(console, f"{fit.choice}{_tolerance_hint(fit)}\n")
    show_tree(fit.chosen.tree, console)
    heading(console, "On the test rows" if fit.roles.test else "Against the ends of the frontier")
    show_test(fit, console)
    heading(console, "Split support")
    show_split_support(fit, console)
    heading(console, "Feature use")
    n_sampled = len(fit.trained.sampled_candidates)
    n_trees = len(fit.trained.references) + n_sampled
    kinds = f"{n_trees} trees, reference and candidate" if n_sampled else f"{n_trees} reference trees"
    verbatim(console, feature_table(fit.uses, MAX_FEATURES, "summary.json").to_text())
    paragraph(console, f"\nIn all {kinds}.", style="dim")


def _show_model(fit: Fit, console: Console) -> None:
    """Print the sections on a single tree or an ensemble."""
    heading(console, TITLES[fit.settings.model])
    if isinstance(fit.model, Tree):
        if hasattr(fit.estimator, "min_samples_leaf_"):
            least = pluralize(fit.estimator.min_samples_leaf_, "row")
            reason = fit.estimator.size_table_.reason
            paragraph(console, f"{reason} Leaves of at least {least} scored best.\n")
        show_tree(fit.model, console)
    else:
        verbatim(console, ensemble_text(fit.model, most=MAX_FEATURES, whole="importances.csv"))
    if fit.roles.test is None and fit.expected is None:
        return
    heading(console, "Scores")
    kind = "test" if fit.earlier_test is None else "later"
    scores = {
        "expected": fit.expected,
        f"on {fit.roles.n_test:,} {kind} rows": fit.test,
        f"on {fit.roles.n_earlier_test:,} earlier rows": fit.earlier_test,
    }
    measured = {name: score for name, score in scores.items() if score is not None}
    texts = score_texts(list(measured.values()), fit.metric)
    show_grid(console, ["", fit.metric.title], list(zip(measured, texts, strict=True)))
    source = "" if fit.expected is None else f"Expected on new rows: {fit.source}. "
    paragraph(console, f"\n{source}± one standard error.", style="dim")
    if fit.earlier_test is not None:
        paragraph(console, rows_legend(fit.roles), style="dim")
    _show_warnings(fit, fit.test, None if fit.expected is None else fit.expected.value, console)


def _show_warnings(fit: Fit, test: Score | None, expected: float | None, console: Console) -> None:
    """Print what the test scores contradict: the expected score, or each other."""
    hint = ""
    if expected is not None and not scores_disagree(fit):  # else the rows differ, which explains it
        hint = low_score_hint(fit.metric, test, expected)
    for text in filter(None, [hint, *disagreement(fit)]):
        paragraph(console, f"\n{text}")


# -- the rows ---------------------------------------------------------------------------------------------


def show_roles(roles: RowRoles, console: Console) -> None:
    """Print what was read, and which rows train, choose and test the model."""
    texts = {"data": _data_text(roles), "target": _target_text(roles), "test": _test_text(roles)}
    if roles.prepared is not None:
        texts |= {"early": _early_text(roles)} if roles.has_early else {}
        texts |= {"held out": _held_out_text(roles)}
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for title, text in texts.items():
        grid.add_row(title, Text(text))
    console.print(grid)


def _data_text(roles: RowRoles) -> str:
    facts = data_facts(roles)
    kinds = [f"{count} {KINDS.get(kind, kind)}" for kind, count in facts["columns"].items()]
    features = pluralize(roles.whole.n_features, "feature")
    text = f"{pluralize(facts['rows'], 'row')}, {features} ({', '.join(kinds)})"
    if not facts["missing"]:
        return f"{text}, no missing cells"
    worst = sorted(facts["missing"], key=lambda name: -facts["missing"][name])
    where = join_parts([f"{printable(name)} {facts['missing'][name]:,}" for name in worst], 3)
    return f"{text}; {pluralize(sum(facts['missing'].values()), 'missing cell')}: {where}"


def _target_text(roles: RowRoles) -> str:
    facts = data_facts(roles)["target"]
    name = printable(facts["name"])
    if "events" in facts:
        return _survival_text(facts, roles.whole.n_rows)
    if "classes" not in facts:
        low, mean, high = (number_text(facts[key], 4) for key in ("low", "mean", "high"))
        return f"{name}: a number from {low} to {high}, mean {mean}"
    shares = [
        f"{label} {percent_text(count / roles.whole.n_rows)}" for label, count in facts["classes"].items()
    ]
    return f"{name}: {join_parts(shares, 8)}"


def _survival_text(facts: Mapping[str, Any], n_rows: int) -> str:
    entry = "" if facts["entry"] is None else f", observed from {printable(facts['entry'])} on"
    others = "the others censored" if facts["events"] < n_rows else "none censored"
    followed = facts["median_follow_up"]
    follow_up = "" if followed is None else f"; median follow-up {time_text(followed, facts['time_unit'])}"
    return (
        f"{printable(facts['time'])} to {printable(facts['name'])}{entry}: "
        f"{pluralize(facts['events'], 'event')} in {pluralize(n_rows, 'row')} "
        f"({percent_text(facts['events'] / n_rows)}), {others}{follow_up}; horizon "
        f"{time_text(facts['horizon'], facts['time_unit'])}"
    )


def _test_text(roles: RowRoles) -> str:
    if roles.test is None:
        return "no rows are set aside, so that no score is independent of the choice of the tree"
    purpose = "set aside before any tree is grown, to test the model"
    groups = "" if roles.test.true_values.groups is None else " (whole groups)"
    if not roles.test_stages:
        return f"{pluralize(roles.n_test, 'row')}{groups}, {purpose}"
    text = f"{pluralize(roles.n_test, 'row')} of stage {stages_text(roles.test_stages)}"
    if roles.earlier_test is not None:
        text += f", and {pluralize(roles.n_earlier_test, 'random row')}{groups} of earlier stages"
    text += f", {purpose}"
    if groups:
        text += f"; {roles.n_known:,} of the {roles.n_test:,} belong to groups with earlier rows in training"
    return text


def rows_legend(roles: RowRoles) -> str:
    """Return the sentences on which rows the two test scores are of."""
    return (
        f"Later rows: stage {stages_text(roles.test_stages)}, after all training rows. Earlier rows: drawn "
        "at random from the stages before, and held out as well."
    )


def _early_text(roles: RowRoles) -> str:
    which = "drawn at random"
    if roles.early_stages:
        which = f"stage {stages_text(roles.early_stages)}"
    elif len(roles.training_stages) == 1:
        which = f"drawn at random from stage {stages_text(roles.training_stages)}, the only one left"
    rows = pluralize(roles.n_training, "row")
    others = f"the other {rows}" if roles.test is not None else rows
    return (
        f"{roles.n_early:,} of {others}, {which}: reference trees are grown on these, candidate trees on all"
    )


def _held_out_text(roles: RowRoles) -> str:
    rows = f"{roles.n_held_out:,} of the {roles.n_training:,}"
    if roles.divided.division.is_cross_fitted:
        rows = f"about {rows} at a time, in {len(roles.divided.division.validation)} ways"
    if roles.has_early:
        return f"{rows}: a tree is scored on rows that it was not grown on"
    return f"{rows}, to score trees made without them; the candidates are fitted to all {roles.n_training:,}"


# -- the frontier -----------------------------------------------------------------------------------------


def show_frontier(fit: Fit, console: Console) -> None:
    """Print the efficient candidates, or all consensus trees, the most stable first."""
    frontier, metric = fit.choice.frontier or fit.trained.frontier, fit.trained.metric
    order = _thin_out(shown_order(frontier), fit.choice.candidate)
    instability = estimate_texts(
        frontier.instability[order].tolist(), frontier.instability_error[order].tolist()
    )
    score = estimate_texts(
        [metric.shown(value) for value in frontier.score[order].tolist()],
        frontier.score_error[order].tolist(),
    )
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
    third = LOST if frontier.has_teacher else FOR_SIZE
    title = metric.title if len(metric.title) <= MAX_TITLE else "score"
    headings = ["candidate", "instability", PER_RULE, third, title, "leaves", "depth"]
    chosen = [line for line, place in enumerate(order.tolist()) if place == fit.choice.candidate]
    spare = ["depth", PER_RULE, LOST] if frontier.has_teacher else ["depth", FOR_SIZE, PER_RULE]
    shown = show_grid(console, headings, rows, bold=chosen, spare=spare)
    make_legend = _consensus_legend if frontier.has_teacher else _frontier_legend
    paragraph(console, f"\n{make_legend(fit, len(order), shown)}", style="dim")


def _thin_out(order: LongArray, chosen: int) -> LongArray:
    """Select some of the candidates, from end to end, and always the chosen one."""
    if len(order) <= MAX_CANDIDATES:
        return order
    places = set(np.linspace(0, len(order) - 1, MAX_CANDIDATES).round().astype(int).tolist())
    places.add(order.tolist().index(chosen))
    return order[sorted(places)]


def _consensus_legend(fit: Fit, n_shown: int, shown: Sequence[str]) -> str:
    combinations = fit.trained.candidates.combinations
    tolerances = [percent_text(each) for each in dict.fromkeys(each["tolerance"] for each in combinations)]
    sizes = list(map(str, reversed(fit.trained.frontier.sizes)))
    lost = f" {LOST.capitalize()}: of the fit of the student of {sizes[0]} leaves to the teacher."
    distance = f"mean distance to the {len(fit.trained.references)} bootstrap students of its size"
    return (
        f"* chosen. One tree per number of leaves (at most {join_parts(sizes)}) and tolerance "
        f"({join_parts(tolerances)}): the tree found closest to the reference trees whose fit to the teacher "
        "is within the tolerance of that of the student of its size. Duplicates are listed once."
        f"{lost if LOST in shown else ''} "
        f"Instability: {_scales_text(distance, shown)}. "
        f"{fit.metric.title}: expected on new rows, from trees made the same way without the held-out rows. "
        "± one standard error."
    )


def _frontier_legend(fit: Fit, n_shown: int, shown: Sequence[str]) -> str:
    frontier = fit.trained.frontier
    n_efficient = len(frontier.efficient_order)
    more = f" {n_shown} of them are shown." if n_shown < n_efficient else ""
    distance = f"mean distance to the {len(fit.trained.references)} reference trees"
    return (
        f"* chosen. {n_efficient} of {pluralize(len(frontier), 'candidate')}: no other is both more stable "
        f"and better.{more} Instability: {_scales_text(distance, shown)}. "
        f"{fit.trained.metric.title}: expected on new rows, from held-out rows. ± one standard error."
    )


def _scales_text(distance: str, shown: Sequence[str]) -> str:
    return "; ".join([distance, *(text for name, text in SCALES.items() if name in shown)])


# -- the chosen tree --------------------------------------------------------------------------------------


def show_tree(tree: Tree, console: Console) -> None:
    """Print the drawing of a tree."""
    verbatim(console, draw_tree(tree, width=min(MAX_WIDTH, console.width), whole=WHOLE))


def _tolerance_hint(fit: Fit) -> str:
    """A sentence if the scores are too uncertain for the tolerance; else nothing."""
    frontier, metric, rule = fit.trained.frontier, fit.metric, fit.estimator._selection_rule()
    best = fit.named("best-score").candidate
    unit = rule.tolerance_unit or default_unit(frontier, metric, rule.tolerance)
    tolerance = SCORE_TOLERANCE if rule.tolerance is None else rule.tolerance
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
        "tolerance: to choose among all trees that may be as good, use --tolerance 1 --tolerance-unit "
        "standard-error."
    )


def show_test(fit: Fit, console: Console) -> None:
    """Print the chosen tree and the ends of the frontier, with their scores on the test rows."""
    metric, frontier, scores = fit.trained.metric, fit.trained.frontier, _test_cells(fit)
    few = TOO_FEW if fit.roles.held_out_too_few else ""
    rows = [
        [
            ", ".join(ENDS[name] for name in each.names),
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
    if note := _loss_note(fit):
        paragraph(console, f"\n{note}", style="dim")
    if fit.roles.earlier_test is not None:
        paragraph(console, f"\n{rows_legend(fit.roles)}", style="dim")
    expected = None if few else float(frontier.score[fit.chosen.candidate])
    _show_warnings(fit, fit.chosen.test, expected, console)


def _test_headings(fit: Fit) -> list[str]:
    if fit.roles.test is None:
        return []
    title = fit.trained.metric.title
    expected = f"{title} expected" if len(title) <= MAX_TITLE_OF_TWO else "expected"
    if fit.roles.earlier_test is not None:
        return [expected, "later rows", "earlier rows"]
    return [expected, f"on {fit.roles.n_test:,} test rows"]


def _test_cells(fit: Fit) -> list[tuple[str, ...]]:
    """The scores of each tree on the test rows, and on earlier test rows if there are any."""
    columns = []
    for kind in ("test", "earlier_test"):
        rows = getattr(fit.roles, kind)
        scores = [score for each in fit.chosen_trees if (score := getattr(each, kind)) is not None]
        few = rows is not None and rows.too_few
        texts = score_texts(scores, fit.trained.metric)
        columns.append([TOO_FEW] * len(fit.chosen_trees) if few else texts)
    return list(zip(*filter(None, columns), strict=True))


def _loss_note(fit: Fit) -> str:
    """Explain the choice if another tree of the table is more stable and scores no worse."""
    frontier, chosen = fit.trained.frontier, fit.chosen.candidate
    for each in fit.chosen_trees if frontier.has_teacher else ():
        place = each.candidate
        beats = frontier.instability[place] <= frontier.instability[chosen]
        beats &= frontier.score[place] >= frontier.score[chosen]
        if place != chosen and beats and lost_text(frontier, place) != lost_text(frontier, chosen):
            return (
                f"The tree of {pluralize(each.tree.n_leaves, 'leaf', 'leaves')} loses "
                f"{lost_text(frontier, place)} of the student's fit to the teacher, the chosen tree "
                f"{lost_text(frontier, chosen)}."
            )
    return ""


def show_split_support(fit: Fit, console: Console) -> None:
    """Print, for every split of the chosen tree, the share of other trees that make it."""
    verbatim(console, split_support_view(fit.split_support).to_text(min(console.width, MAX_WIDTH)))


# -- scores and files -------------------------------------------------------------------------------------


def score_texts(scores: Sequence[Score], metric: Metric) -> list[str]:
    """Format scores with the sign that people expect, each with its standard error."""
    return estimate_texts([metric.shown(score.value) for score in scores], [score.error for score in scores])


def low_score_hint(metric: Metric, test: Score | None, expected: float) -> str:
    """A sentence if the test score is clearly worse than expected, and prints so; else nothing."""
    if test is None or test.value > expected - 2 * test.error:
        return ""
    measured, hoped = distinct_texts(metric.shown(test.value), metric.shown(expected), *DIGITS)
    if measured == hoped:
        return ""
    side = "higher" if metric.is_loss else "lower"
    return (
        f"The test score is {side} than expected: {metric.title} {measured} instead of {hoped}. Believe the "
        "test rows."
    )


def show_files(folder: Path, console: Console) -> None:
    """Print where the files of a run are, and what each contains."""
    verbatim(console, f"{folder}{os.sep}")  # whole, however long
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(style="dim")
    for name, what in FILES.items():
        if (folder / name).exists():
            grid.add_row(f"  {name}", what)
    console.print(grid)


def show_replaced_run(earlier: Mapping[str, Any] | None, console: Console) -> None:
    """Name the run that was in the folder before, if there was one."""
    if earlier is not None:
        paragraph(console, f"\nThis run replaced {printable(name_run(earlier))}.")
