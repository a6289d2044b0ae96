"""The update of a deployed tree: the path from it to a fresh tree, and the point of it that is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, LongArray
from holdfast._random import Branch
from holdfast._text import decimals_of_errors, fixed_text, loss_text, percent_text, pluralize
from holdfast._view import Section, TextTable, View, ViewMixin, explain_headings
from holdfast.data.folds import assign_strata, draw_positions, select_below, subset_groups
from holdfast.data.row_keys import group_copies, unit_keys
from holdfast.data.row_order import canonicalize_rows, find_fixed_order
from holdfast.data.table import Table
from holdfast.data.target import count_effective_rows
from holdfast.distance.costs import DistanceSettings
from holdfast.distance.diff import TreeDiff, tree_diff
from holdfast.distance.diff_text import split_texts
from holdfast.errors import ParameterError
from holdfast.governance.policy import ChangePolicy
from holdfast.governance.verdict import PolicyLine, PolicyVerdict
from holdfast.scoring.calibration import ObservedExpected, observed_expected
from holdfast.scoring.metric import (
    Metric,
    Score,
    TrueValues,
    make_metric,
    predict_for_metric,
    score_difference,
)
from holdfast.stable.consensus.train import distance_settings
from holdfast.stable.selection import SelectionRule
from holdfast.stable.settings import StabilitySettings
from holdfast.tree.recorded import set_recorded
from holdfast.tree.stats import format_statistic, parse_quantile, positive_class
from holdfast.tree.tree import Tree
from holdfast.update.path import (
    CANDIDATE,
    CHANGE,
    FRESH,
    KEEP,
    REFIT,
    RETRAIN,
    SLACK,
    UpdateContext,
    UpdateOption,
    allowed_loss,
    choose_option,
    fit_update_path,
)
from holdfast.update.settings import UpdateSettings

LAST_DIGITS = 1e-12  # of a score
CLEAR = 2.0  # times its error, a difference is clear


@dataclass(frozen=True, eq=False)
class UpdateStep:
    """One point of the path: a tree that could be deployed next."""

    kind: str  # "keep", "refit", "change", "fresh", "retrain" or "candidate"
    tree: Tree
    distance: float  # to the deployed tree
    loss: float  # what it loses of the teacher's variance that a fresh student explains, as a fraction
    score: float  # of a tree made alike, on rows that it did not learn from; losses are negated
    difference: float  # of that score to the one of the deployed tree as it is
    error: float  # standard error of the difference
    alike: Tree | None  # the tree made the same way without the rows that are scored on; None: not judged
    likelihood: (
        Score  # difference to the deployed tree of the mean log likelihood, or of minus the squared error
    )
    observed_expected: ObservedExpected | None  # on the same rows; None of three classes, or not judged


@dataclass(frozen=True, eq=False, repr=False)
class TreeUpdate(ViewMixin):
    """What could become of a deployed tree: the path from keeping it to growing it anew, nearest first.

    `str()` tells it in words, then step by step.
    """

    deployed: Tree
    steps: tuple[UpdateStep, ...]
    taken: int  # the step that is taken
    settings: UpdateSettings
    metric: Metric
    distances: DistanceSettings
    own_loss: float  # what the deployed tree lost on the rows that it was trained on
    n_rows: int  # learnt from
    n_behind: float  # rows that an updated tree stands for, those of before included
    n_scored: int  # held out to score by; 0: the scores are those on the rows that were learnt from
    rows: PolicyData | None  # None in another process, or after it was pickled
    verdict: PolicyVerdict | None = None  # on the step that is taken, if there is a policy
    is_forced: bool = False  # it is taken although the policy forbids it
    is_asked: bool = False  # the step was named by `take`, not chosen by the rule

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "rows": None}  # a model on disk holds no rows

    @property
    def tree(self) -> Tree:
        """The tree of the step that is taken."""
        return self.steps[self.taken].tree

    @property
    def is_taken(self) -> bool:
        """False if the policy forbids the step, so that the deployed tree stays in use."""
        return self.verdict is None or self.verdict.passed or self.is_forced

    def judged(self, policy: ChangePolicy | None, *, force: bool = False) -> TreeUpdate:
        """The same update with the verdict of a policy on the step that is taken."""
        if policy is None:
            return replace(self, verdict=None, is_forced=False)
        if self.rows is None:
            raise ParameterError("The rows that the update was judged by are gone: update the model again.")
        step = self.steps[self.taken]
        verdict = self.rows.verdict(policy, self.deployed, step.tree, step.alike)
        return replace(self, verdict=verdict, is_forced=force and not verdict.passed)

    def take(self, step: int, *, force: bool = False) -> TreeUpdate:
        """The same path with another step taken, and judged if there is a policy."""
        if not isinstance(step, Integral) or not 0 <= step < len(self.steps):
            raise ParameterError(
                f"step={step!r} is out of range: the path has the steps 0 to {len(self.steps) - 1}."
            )
        policy = None if self.verdict is None else self.verdict.policy
        return replace(self, taken=int(step), is_asked=True).judged(policy, force=force)

    def _view(self) -> View:

        return update_view(self)


class UpdateData(NamedTuple):
    """The rows that an update learns from: the new ones, and perhaps old ones."""

    table: Table
    groups: LongArray | None
    is_new: BoolArray  # scores are of new rows


def update_tree(
    deployed: Tree,
    rows: UpdateData,
    settings: StabilitySettings,
    update: UpdateSettings,
    *,
    own_loss: float = 0.0,
    more: Sequence[Tree] = (),
    rule: SelectionRule | None = None,
) -> TreeUpdate:
    """The path from a deployed tree, on the schema of the rows, and the step that the settings take.

    `own_loss` is what the tree lost on the rows that it was trained on: with new leaf values it need not fit
    the new rows better than it fitted those. `more` are further trees whose questions may be asked, such as
    the references of the last training. `rule` chooses where a tree is trained anew.
    """
    update.check_frozen(deployed)
    if parse_quantile(deployed.criterion) is not None:
        raise ParameterError(
            f"The leaves of the deployed tree say the {format_statistic(deployed.criterion)}, and an update "
            "learns from a teacher that says means: train the tree anew."
        )
    if settings.matching == "cover":
        raise ParameterError(
            "matching='cover' is not for updates, which look for near trees by the matching 'paper' or "
            "'metric'."
        )
    metric = make_metric(settings.scoring, rows.table.schema.target)
    given, rows = rows, _in_order(rows)
    distances = distance_settings(settings, [deployed])
    own_loss = allowed_loss(
        own_loss, count_effective_rows(given.table.weight, given.table.n_rows), update.prior_rows
    )
    context = UpdateContext(settings, update, distances, tuple(more), own_loss, rule or SelectionRule())
    path = fit_update_path(deployed, rows.table, rows.groups, context)
    held_out = _held_out(rows, settings, update)
    like = path
    if held_out.any():
        learnt = ~held_out
        # A change is judged by a change: they are searched even if fewer rows do not ask for any.
        changes = [point.loss for point in path.points if point.kind == CHANGE]
        alike = context._replace(loss_to_reach=max(min(changes), 0.0) if changes else None)
        like = fit_update_path(deployed, rows.table.subset(learnt), subset_groups(rows.groups, learnt), alike)
    scored_rows = held_out if held_out.any() else rows.is_new
    steps = _steps(path.points, like.found, rows, scored_rows, metric)
    helps = [is_no_worse(step, deployed) for step in steps] if held_out.any() else None
    return TreeUpdate(
        deployed,
        steps,
        choose_option(path, context, helps),
        update,
        metric,
        distances,
        own_loss,
        n_rows=given.table.n_rows,
        n_behind=path.n_behind,
        n_scored=n_scored(rows.table.subset(held_out)),
        rows=PolicyData(_new_rows(given), rows.table.subset(scored_rows)),
    )


# -- scores ---------------------------------------------------------------------------------------------


def _in_order(rows: UpdateData) -> UpdateData:
    """The rows in one order, whatever order they came in; copies of a row as one group."""
    given = [rows.is_new.astype(np.int64), *([] if rows.groups is None else [rows.groups])]
    table, in_order, copies = canonicalize_rows(rows.table, given)
    groups = in_order[1] if rows.groups is not None else group_copies(table, copies)
    return UpdateData(table, groups, in_order[0] == 1)


def _new_rows(rows: UpdateData) -> Table:
    new = rows.table.subset(rows.is_new)
    return new.subset(find_fixed_order(new))


def _held_out(rows: UpdateData, settings: StabilitySettings, update: UpdateSettings) -> BoolArray:
    """The new rows that scores are measured on; none if there are too few to hold out."""
    if update.validation is None:
        return np.zeros(rows.table.n_rows, np.bool_)
    keys = unit_keys(rows.table, rows.groups)
    position = draw_positions(assign_strata(rows.table), keys, (settings.seed, Branch.UPDATE_VALIDATION))
    held_out = select_below(position, float(update.validation)) & rows.is_new
    return held_out if not held_out.all() else np.zeros_like(held_out)


def _steps(
    path: list[UpdateOption], like: list[UpdateOption], rows: UpdateData, scored: BoolArray, metric: Metric
) -> tuple[UpdateStep, ...]:
    """The steps of the path, each with the scores of the tree made alike, against keeping the tree."""
    part = rows.table.subset(scored)
    true_values = TrueValues.of(part, subset_groups(rows.groups, scored))
    target = part.schema.target
    proper = make_metric("log_loss" if target.is_classes else "squared_error", target)
    positive = positive_class(path[0].tree)
    is_known = len(np.unique(part.target)) >= metric.least_values  # an AUC of one class is none
    kept = like[0].tree
    steps = []
    for point in path:
        told = point.tree if point.kind == KEEP else set_recorded(point.tree, rows.table, kept)
        witness = _alike(point, like)
        if witness is None:
            unknown = Score(nan, nan)
            figures = (point.kind, told, point.distance, point.loss, nan, nan, nan)
            steps.append(UpdateStep(*figures, alike=None, likelihood=unknown, observed_expected=None))
            continue
        tree = witness.tree
        old, new = (predict_for_metric(metric, each, part) for each in (kept, tree))
        difference = score_difference(metric, old, new, true_values) if is_known else Score(nan, nan)
        old_values, new_values = (each.value[each.apply(part)] for each in (kept, tree))
        steps.append(
            UpdateStep(
                point.kind,
                told,
                point.distance,
                point.loss,
                metric.value(new, true_values) if is_known else nan,
                difference.value,
                difference.error,
                tree,
                score_difference(proper, old_values, new_values, true_values),
                observed_expected(new_values, true_values, positive),
            )
        )
    return tuple(steps)


def is_no_worse(step: UpdateStep, deployed: Tree) -> bool:
    """True if a step is as good as keeping the tree, by its score on rows held out.

    The likelihood of the rows must not be lower by more than twice its error: a score such as the AUC does
    not see whether risks have the right size. Other leaf values, and splits whose score is lower by chance,
    are as good if it is clearly greater. A tree of one leaf is a constant that nothing was better than:
    splits must be better by more than twice their error. A step that no held-out tree is like is not.
    """
    if step.alike is None:
        return False
    if deployed.n_leaves == 1 and step.kind not in (KEEP, REFIT):
        return step.difference > CLEAR * step.error
    likelihood, error = step.likelihood
    if isnan(step.difference):
        return likelihood >= -LAST_DIGITS
    if step.difference >= -LAST_DIGITS:
        return likelihood >= -CLEAR * error - LAST_DIGITS
    is_by_chance = step.kind == REFIT or step.difference >= -step.error
    return is_by_chance and likelihood > error


def _alike(point: UpdateOption, like: list[UpdateOption]) -> UpdateOption | None:
    """The point of another path that was made the same way, and fits about as well; None if there is none.

    A tree of another kind would lend its score to a change that it does not make.
    """
    same = [each for each in like if each.kind == point.kind]
    fit = [each for each in same if each.loss <= point.loss] or same
    return min(fit, key=lambda each: abs(each.loss - point.loss), default=None)


# -- An update held against a change policy ------------------------------------------------------------------

BY_TRUTH = ("score_margin", "subgroups", "observed_expected", "calibration_intercept", "calibration_slope")
NO_TREE_ALIKE = "without the rows held out, no tree of this kind was found"


def n_scored(held_out: Table) -> int:
    """How many rows are held out, copies counted."""
    return round(count_effective_rows(held_out.weight, held_out.n_rows)) if held_out.n_rows else 0


@dataclass(frozen=True, eq=False)
class PolicyData:
    """The rows that an update is judged by."""

    new: Table  # all new rows
    held_out: Table  # those that scores are measured on

    def verdict(self, policy: ChangePolicy, deployed: Tree, tree: Tree, alike: Tree | None) -> PolicyVerdict:
        """How a change stands to the policy; `alike` is made as the tree is, without the rows held out.

        None: there is no such tree, and lines about scores and calibration are not judged.
        """
        by_trees = policy.check(deployed, tree, self.new)
        if alike is None:
            judged = [_not_judged(line) if line.name in BY_TRUTH else line for line in by_trees.lines]
            return replace(by_trees, lines=tuple(judged))
        by_truth = policy.check(deployed, alike, self.held_out)
        n_held_out = n_scored(self.held_out)
        places = [line.name for line in by_trees.lines]
        lines = [
            *(line for line in by_trees.lines if line.name not in BY_TRUTH),
            *(
                replace(line, words=f"{line.words}; {n_held_out:,} rows held out")
                for line in by_truth.lines
                if line.name in BY_TRUTH
            ),
        ]
        lines.sort(key=lambda line: places.index(line.name) if line.name in places else len(places))
        is_told = n_held_out != by_trees.n_rows and any(line.name in BY_TRUTH for line in lines)
        return replace(by_trees, lines=tuple(lines), n_held_out=n_held_out if is_told else None)


def _not_judged(line: PolicyLine) -> PolicyLine:
    return replace(line, figure=None, status="not judged", words=f"{line.words}: {NO_TREE_ALIKE}")


# -- An update -----------------------------------------------------------------------------------------------

WORDS = {
    KEEP: "nothing: the tree as it is",
    REFIT: "the values of the leaves",
    FRESH: "all: a fresh tree",
    RETRAIN: "all: a stable tree, retrained",
    CANDIDATE: "all: the nearest of bootstrap trees",
}
SENTENCES = {
    KEEP: "keeps the tree as it is",
    FRESH: "is a fresh tree",
    RETRAIN: "is a stable tree, retrained",
    CANDIDATE: "is the nearest of the bootstrap trees",
}


def update_view(update: TreeUpdate) -> View:
    """A few sentences, the steps as a table, what each changes, and the verdict."""
    verdict = [] if update.verdict is None else [update.verdict.summary, update.verdict.table()]
    return View(update_summary(update), *path_parts(update), *verdict)


def path_parts(update: TreeUpdate) -> list[str | TextTable | Section]:
    """The steps as a table, what each changes, and a legend."""
    lines = []
    for number in range(len(update.steps)):
        first, *changes = step_sentences(update, number)
        lines += [first, *(f"  {change}" for change in changes)]
    without = [i for i, step in enumerate(update.steps) if step.alike is None]
    if without:
        verb = "has" if len(without) == 1 else "have"
        lines.append(f"{_steps_text(without)} {verb} no score: {NO_TREE_ALIKE}.")
    table = path_table(update)
    return [table, Section("What each step changes", lines), explain_headings(table.headings)]


def update_summary(update: TreeUpdate) -> str:
    """What is taken and why, and what keeping the tree would cost."""
    taken, keep = update.steps[update.taken], update.steps[0]
    sentences = [taken_sentence(update)]
    if not update.is_taken:
        sentences = [
            "The policy forbids the update: the tree stays as it is. The proposed update:",
            *sentences,
        ]
    elif update.is_forced:
        sentences = ["The update is taken by force, against the policy.", *sentences]
    if taken is not keep:
        sentences.append(_score_sentence(update))
    if calibrated := calibration_sentence(update):
        sentences.append(calibrated)
    if update.verdict is not None and update.n_scored:
        sentences.append(f"Scores and calibration are judged by the {update.n_scored:,} rows held out.")
    return " ".join(sentences)


def _score_sentence(update: TreeUpdate) -> str:
    """What the step that is taken brings."""
    taken, decimals = update.steps[update.taken], _decimals(update)
    what = f"{update.metric.title} of {_scored_text(update)}"
    if taken.alike is None:
        return f"The {update.metric.title} is unknown: {NO_TREE_ALIKE}."
    if isnan(taken.difference):
        return f"The {what} is unknown: all rows have the same target value."
    if taken.difference == 0.0 and taken.error == 0.0:
        return f"The {what}, stays as it is."
    gain = fixed_text(update.metric.shown(taken.difference), decimals, "+")
    less = " (less is better)" if update.metric.is_loss else ""
    error = fixed_text(taken.error, decimals)
    return f"Against keeping the tree as it is, {gain} ± {error} of the {what}{less}."


def observed_expected_text(found: ObservedExpected) -> str:
    """The ratio with its interval: 0.98 (0.94 to 1.11)."""
    return f"{fixed_text(found.ratio, 2)} ({fixed_text(found.low, 2)} to {fixed_text(found.high, 2)})"


def calibration_sentence(update: TreeUpdate) -> str:
    """Observed over expected with its interval, and what to do where it is off; nothing if it is unknown."""
    taken, keep = (update.steps[place].observed_expected for place in (update.taken, 0))
    if taken is None or keep is None or isnan(taken.low) or not update.n_scored:
        return ""
    was = "" if update.taken == 0 else f"; the tree as it is: {observed_expected_text(keep)}"
    told = f"Observed over expected on {_scored_text(update)}: {observed_expected_text(taken)}{was}."
    if not taken.is_off:
        return told
    much = "little" if taken.ratio > 1 else "much"
    refit = next((i for i, step in enumerate(update.steps) if step.kind == REFIT), None)
    way_out = (
        f"step {refit} of the path gives the leaves new values"
        if update.taken == 0 and refit is not None
        else "a prior of 0 lets the new rows alone decide"
    )
    return f"{told} The tree predicts too {much}: {way_out}."


def taken_sentence(update: TreeUpdate) -> str:
    """What is taken, why that is enough, and why nearer steps that fit are passed over."""
    return " ".join([_taken_words(update), *_passed_over(update)])


def _taken_words(update: TreeUpdate) -> str:
    taken, limit = update.steps[update.taken], percent_text(update.settings.tolerance)
    within = f"within {limit} of a fresh tree"
    if taken.kind == KEEP:
        if update.settings.strategy == "keep":
            return "The tree is kept as it is, as requested."
        if not _fits(update) and not update.is_asked:
            return "The tree is kept: no change was found that is as good on the rows held out."
        return "Keeping the tree is as good: nothing changed."
    if taken.kind == REFIT:
        if update.settings.strategy == "refit":
            return "As requested, only the values of the leaves change: every split stays."
        if not _fits(update):
            return "No split changes, only the values of the leaves."
        fit = "as well as it fitted the earlier rows" if taken.loss > update.settings.tolerance else within
        return f"No split changes, only the values of the leaves: with them the tree fits {fit}."
    if taken.kind == CHANGE:
        n_kept = tree_diff(update.deployed, update.tree).split_counts.kept
        kept = f"{n_kept} of {update.deployed.n_leaves - 1} splits stay as they were"
        if not _fits(update):
            return f"The tree changes as far as it goes; {kept}, and it does not fit {within}."
        if update.is_asked:
            return f"The tree changes as requested: {kept}, and it fits {within}."
        return f"The tree changes as little as possible: {kept}, and it fits {within}."
    return {
        FRESH: "A fresh tree is taken, as requested." if update.is_asked else "A fresh tree is taken.",
        RETRAIN: "The tree is retrained, as requested.",
        CANDIDATE: "The nearest of the bootstrap trees that score well enough is taken, as requested.",
    }[taken.kind]


def _passed_over(update: TreeUpdate) -> list[str]:
    """Why each nearer step that fits is not taken, and that none fits if so."""
    taken = update.steps[update.taken]
    if update.settings.strategy != "nearest" or taken.kind == KEEP:
        return []
    nearer = [i for i, step in enumerate(update.steps[: update.taken]) if _fits(update, step)]
    if update.is_asked:
        if not nearer:
            return []
        verb, side = ("fits", "is nearer") if len(nearer) == 1 else ("fit", "are nearer")
        return [f"{_steps_text(nearer)} {verb} too, and {side} to the tree as it is."]
    told = [f"Step {i} fits too, but {_drawback(update, i)}." for i in nearer]
    return told or (["No nearer step fits as well."] if taken.kind == FRESH else [])


def _steps_text(numbers: list[int]) -> str:
    word = "Step" if len(numbers) == 1 else "Steps"
    return f"{word} {' and '.join(filter(None, [', '.join(map(str, numbers[:-1])), str(numbers[-1])]))}"


def _drawback(update: TreeUpdate, number: int) -> str:
    """Why the rule passes over a step that fits."""
    step = update.steps[number]
    if step.kind == KEEP:  # it would be kept otherwise
        return "the rates of some leaves have clearly changed"
    if step.alike is None:
        return NO_TREE_ALIKE
    if not update.n_scored or is_no_worse(step, update.deployed):
        return "it changes splits"
    if update.deployed.n_leaves == 1:
        return f"its {update.metric.title} is not clearly better than that of one leaf"
    if step.difference < -LAST_DIGITS:
        what, value, error = update.metric.title, update.metric.shown(step.difference), step.error
    else:
        what = "log likelihood" if update.deployed.schema.target.is_classes else "squared error, negated,"
        value, error = step.likelihood
    decimals = max(3, decimals_of_errors([error]) or 3)
    figures = f"{fixed_text(value, decimals, '+')} ± {fixed_text(error, decimals)}"
    return f"its {what} on the rows held out is worse than that of the tree as it is ({figures})"


def _fits(update: TreeUpdate, step: UpdateStep | None = None) -> bool:
    """True if the step, by default the one that is taken, fits well enough."""
    step = step or update.steps[update.taken]
    least = update.own_loss if step.kind in (KEEP, REFIT) else 0.0
    return step.loss <= max(update.settings.tolerance, least) + SLACK


def _scored_text(update: TreeUpdate) -> str:
    if update.n_scored:
        return f"{update.n_scored:,} new rows, by trees made alike without them"
    return "the training rows, which flatter it"


def _decimals(update: TreeUpdate) -> int:
    known = decimals_of_errors([step.error for step in update.steps])
    return 3 if known is None else max(3, known)


def path_table(update: TreeUpdate, *, changes: bool = False) -> TextTable:
    """The figures of the steps; an arrow marks the one that is taken. With `changes`, what each changes."""
    decimals = _decimals(update)
    rows = []
    for number, step in enumerate(update.steps):
        against = ""
        if number and not isnan(step.difference):
            difference = update.metric.shown(step.difference)
            against = f"{fixed_text(difference, decimals, '+')} ± {fixed_text(step.error, decimals)}"
        rows.append(
            [
                f"{'-> ' if number == update.taken else ''}{number}",
                changes_text(update, number) if changes else "",
                f"{step.distance:.2f}",
                loss_text(step.loss),
                "" if isnan(step.score) else fixed_text(update.metric.shown(step.score), decimals),
                against,
            ]
        )
    headings = ["step", "what changes", "distance", "fit lost", update.metric.title, "against keeping"]
    return TextTable(headings, rows, sides="><>>>>", marked=[update.taken])


def changes_text(update: TreeUpdate, number: int) -> str:
    """What a step changes, compared with the step before it."""
    step = update.steps[number]
    if step.kind == KEEP or step.kind not in (CHANGE, REFIT):
        return WORDS[step.kind]
    diff = tree_diff(update.steps[number - 1].tree, step.tree)
    told = [split_texts(diff, split)[1] for split in diff.splits] or [WORDS[REFIT]]
    return "; ".join([*told, *_class_texts(update, diff)])


def step_sentences(update: TreeUpdate, number: int) -> list[str]:
    """What a step does, in a sentence; for changed splits, and leaves of another class, one more for each."""
    step, name = update.steps[number], f"Step {number}"
    if step.kind in SENTENCES:
        return [f"{name} {SENTENCES[step.kind]}."]
    diff = tree_diff(update.steps[number - 1].tree, step.tree)
    told = []
    for split in diff.splits:
        where, what, size = split_texts(diff, split)
        told.append(f"{where}: {what}" + (f" ({size})" if size else ""))
    told += _class_texts(update, diff)
    if not diff.splits:
        return [f"{name} changes the values of the leaves{''.join(f'; {each}' for each in told)}."]
    before = "" if number == 1 else f", compared with step {number - 1}"
    return [f"{name} changes {pluralize(len(diff.splits), 'split')}{before}:", *told]


def _class_texts(update: TreeUpdate, diff: TreeDiff) -> list[str]:
    """How many leaves change their class, and what that adds to the distance."""
    n_leaves = len(diff.of_kind("outcome"))
    if not n_leaves:
        return []
    verb = "changes its" if n_leaves == 1 else "change their"
    times = "" if n_leaves == 1 else f"{n_leaves} times "
    weight = f"{times}the label weight of {update.distances.label_weight:g}"
    added = f", which adds {weight} to the distance" if update.distances.outcome == "label" else ""
    return [f"{pluralize(n_leaves, 'leaf', 'leaves')} {verb} class{added}"]
