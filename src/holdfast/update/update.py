"""The update of a deployed tree: the path to a fresh tree, its scores, the chosen step, and the text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
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
from holdfast.errors import ParameterError, SchemaMismatch
from holdfast.explain.firmness import Firmness, ReferenceTrees, compare_firmness
from holdfast.governance.policy import ChangePolicy
from holdfast.governance.verdict import PolicyLine, PolicyVerdict
from holdfast.growth.shrinkage import loss_of
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
from holdfast.stable.settings import N_STUDENTS, StabilitySettings
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
    choose_step,
    fit_update_path,
)
from holdfast.update.settings import UpdateSettings

LAST_DIGITS = 1e-12  # of a score
CLEAR = 2.0  # times its error, a difference is clear


@dataclass(frozen=True, eq=False)
class UpdateStep:
    """One step of the path: a tree that could be deployed next."""

    kind: str  # "keep", "refit", "change", "fresh", "retrain" or "candidate"
    tree: Tree
    distance: float  # to the deployed tree
    loss: float  # of its splits, as a fraction of the teacher's variance that a fresh student explains
    score: float  # of `holdout_tree` on the rows held out; losses are negated
    difference: float  # of that score to the one of the deployed tree as it is
    error: float  # standard error of the difference
    holdout_tree: Tree | None  # trained the same way without the rows held out; None: none was found
    likelihood: Score  # difference to the deployed tree in mean log likelihood, or negated squared error
    observed_expected: ObservedExpected | None  # on the same rows; None for three classes, or if not judged


@dataclass(frozen=True, eq=False, repr=False)
class TreeUpdate(ViewMixin):
    """The path from keeping a deployed tree to a fresh tree, nearest first, and the step that is taken.

    `str()` summarises the update, and lists the steps and what they change.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import StableTreeClassifier
    >>> X = np.arange(240.0).reshape(-1, 2) % 40
    >>> model = StableTreeClassifier(teacher="linear", n_estimators=5).fit(X, X[:, 0] > 20)
    >>> update = model.update(X, X[:, 0] > 22).update_
    >>> update.steps[0].kind, update.steps[0].distance
    ('keep', 0.0)
    """

    deployed: Tree
    steps: tuple[UpdateStep, ...]
    taken: int  # the step that is taken
    settings: UpdateSettings
    metric: Metric
    distances: DistanceSettings
    own_loss: float  # that the deployed tree may have without changing a split
    n_rows: int  # training rows
    n_behind: float  # rows that an updated tree stands for, those of before included
    n_scored: int  # rows held out to score by; 0: the scores are those on the training rows
    rows: PolicyData | None  # None in another process, or after pickling
    references: ReferenceTrees | None = None  # trees of resampled new rows; None for other strategies
    verdict: PolicyVerdict | None = None  # on the step that is taken, if there is a policy
    is_forced: bool = False  # the step is taken although the policy forbids it
    is_selected: bool = False  # the step was named in `select_step`, not chosen by the rule

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

    @cached_property
    def firmness(self) -> tuple[Firmness, Firmness] | None:
        """How firm the answers for the new rows are: of the deployed tree, and of the step that is taken.

        None if either has no reference trees, or if the tree is kept.
        """
        before = None if self.rows is None else self.rows.references
        if before is None or self.rows is None or self.references is None:
            return None
        if self.steps[self.taken].kind == KEEP:
            return None
        with suppress(SchemaMismatch):  # a reference tree splits on a column that is of another kind now
            old, new = before.firmness(self.deployed, self.rows.new), self.references
            return old, new.firmness(self.tree, self.rows.new)
        return None

    def judge(self, policy: ChangePolicy | None, *, force: bool = False) -> TreeUpdate:
        """Judge the step that is taken by a policy.

        Parameters
        ----------
        policy : ChangePolicy or None
            What the update may change; None removes the verdict.
        force : bool
            Take the step even if the policy forbids it.

        Returns
        -------
        TreeUpdate
            The same update with the verdict.
        """
        if policy is None:
            return replace(self, verdict=None, is_forced=False)
        if self.rows is None:
            raise ParameterError("The update no longer has the rows to judge it by: update the model again.")
        step = self.steps[self.taken]
        verdict = self.rows.judge(policy, self.deployed, step.tree, step.holdout_tree)
        return replace(self, verdict=verdict, is_forced=force and not verdict.passed)

    def select_step(self, step: int, *, force: bool = False) -> TreeUpdate:
        """Take another step of the path, and judge it if there is a policy.

        Parameters
        ----------
        step : int
            Its place on the path, from 0.
        force : bool
            Take the step even if the policy forbids it.

        Returns
        -------
        TreeUpdate
            The same path with that step taken.
        """
        if not isinstance(step, Integral) or not 0 <= step < len(self.steps):
            raise ParameterError(
                f"step={step!r} is out of range: the path has the steps 0 to {len(self.steps) - 1}."
            )
        policy = None if self.verdict is None else self.verdict.policy
        return replace(self, taken=int(step), is_selected=True).judge(policy, force=force)

    def _view(self) -> View:
        verdict = [] if self.verdict is None else [self.verdict.summary, self.verdict.table()]
        return View(update_summary(self), *path_parts(self), *firmness_parts(self), *verdict)


class UpdateData(NamedTuple):
    """The training rows of an update: the new ones, and perhaps old ones."""

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
    references: ReferenceTrees | None = None,
) -> TreeUpdate:
    """Make the path from a deployed tree, on the schema of the rows, and choose a step by the settings.

    `own_loss` is the loss of the tree on its training rows: with new leaf values it need not fit the new rows
    better than those. `more` are further trees whose splits may be used, such as the references of the last
    training. `rule` chooses a candidate where a tree is retrained. `references` measure how firm the deployed
    tree is.
    """
    update.check_frozen(deployed)
    if parse_quantile(deployed.criterion) is not None:
        raise ParameterError(
            f"The leaves of the deployed tree predict the {format_statistic(deployed.criterion)}, and the "
            "teacher of an update predicts means: train a new tree."
        )
    if settings.matching == "cover":
        raise ParameterError(
            "matching='cover' is not for updates, whose search has the matchings 'paper' and 'metric'."
        )
    metric = make_metric(settings.scoring, rows.table.schema.target)
    ordered = _order_rows(rows)
    n_rows = count_effective_rows(rows.table.weight, rows.table.n_rows)
    own_loss = allowed_loss(own_loss, n_rows, update.prior_rows)
    distances = distance_settings(settings, [deployed])
    context = UpdateContext(settings, update, distances, tuple(more), own_loss, rule or SelectionRule())
    n_references = min(settings.n_trees, N_STUDENTS)
    path = fit_update_path(
        deployed, ordered.table, ordered.groups, context._replace(n_references=n_references)
    )
    held_out = _hold_out(ordered, settings, update)
    holdout_path = path
    if held_out.any():
        # A change is judged by a change: it is searched for even if fewer rows do not require any.
        changes = [option.loss for option in path.options if option.kind == CHANGE]
        holdout_path = fit_update_path(
            deployed,
            ordered.table.subset(~held_out),
            subset_groups(ordered.groups, ~held_out),
            context._replace(loss_to_reach=max(min(changes), 0.0) if changes else None),
        )
    scored = held_out if held_out.any() else ordered.is_new
    steps = _score_steps(path.options, holdout_path.all_options, ordered, scored, metric)
    new_rows = rows.table.subset(rows.is_new)
    return TreeUpdate(
        deployed,
        steps,
        choose_step(
            path, context, [is_no_worse(step, deployed) for step in steps] if held_out.any() else None
        ),
        update,
        metric,
        distances,
        own_loss,
        n_rows=rows.table.n_rows,
        n_behind=path.n_behind,
        n_scored=n_scored(ordered.table.subset(held_out)),
        rows=PolicyData(
            new_rows.subset(find_fixed_order(new_rows)), ordered.table.subset(scored), references
        ),
        references=path.references,
    )


# -- scores ---------------------------------------------------------------------------------------------


def _order_rows(rows: UpdateData) -> UpdateData:
    """Put the rows in canonical order, copies of a row as one group."""
    columns = [rows.is_new.astype(np.int64), *([] if rows.groups is None else [rows.groups])]
    table, in_order, copies = canonicalize_rows(rows.table, columns)
    groups = in_order[1] if rows.groups is not None else group_copies(table, copies)
    return UpdateData(table, groups, in_order[0] == 1)


def _hold_out(rows: UpdateData, settings: StabilitySettings, update: UpdateSettings) -> BoolArray:
    """Hold out new rows to score on; none if there are too few."""
    if update.validation is None:
        return np.zeros(rows.table.n_rows, np.bool_)
    keys = unit_keys(rows.table, rows.groups)
    position = draw_positions(assign_strata(rows.table), keys, (settings.seed, Branch.UPDATE_VALIDATION))
    held_out = select_below(position, float(update.validation)) & rows.is_new
    return held_out if not held_out.all() else np.zeros_like(held_out)


def _score_steps(
    options: list[UpdateOption],
    holdout_options: list[UpdateOption],
    rows: UpdateData,
    scored: BoolArray,
    metric: Metric,
) -> tuple[UpdateStep, ...]:
    """Score each option by the tree made the same way without the rows held out."""
    part = rows.table.subset(scored)
    true_values = TrueValues.of(part, subset_groups(rows.groups, scored))
    proper = loss_of(part)
    positive = positive_class(options[0].tree)
    has_score = len(np.unique(part.target)) >= metric.least_values  # an AUC needs two classes
    kept = holdout_options[0].tree
    steps = []
    for option in options:
        tree = option.tree if option.kind == KEEP else set_recorded(option.tree, rows.table, kept)
        step = UpdateStep(
            option.kind, tree, option.distance, option.loss, nan, nan, nan, None, Score(nan, nan), None
        )
        similar = _find_similar(option, holdout_options)
        if similar is not None:
            old, new = (predict_for_metric(metric, each, part) for each in (kept, similar.tree))
            difference = score_difference(metric, old, new, true_values) if has_score else Score(nan, nan)
            old_values, new_values = (each.value[each.apply(part)] for each in (kept, similar.tree))
            step = replace(
                step,
                score=metric.value(new, true_values) if has_score else nan,
                difference=difference.value,
                error=difference.error,
                holdout_tree=similar.tree,
                likelihood=score_difference(proper, old_values, new_values, true_values),
                observed_expected=observed_expected(new_values, true_values, positive),
            )
        steps.append(step)
    return tuple(steps)


def is_no_worse(step: UpdateStep, deployed: Tree) -> bool:
    """True if a step is as good as keeping the tree, by its score on held-out rows.

    The likelihood of the rows must not be lower by more than twice its error, because a score such as the AUC
    is blind to calibration. New leaf values, and splits whose score is lower by chance, are as good if the
    likelihood is clearly greater. Splits in place of a tree of one leaf must be better by more than twice
    their error. A step without a holdout tree is not as good.
    """
    if step.holdout_tree is None:
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


def _find_similar(option: UpdateOption, others: list[UpdateOption]) -> UpdateOption | None:
    """Find the option of the same kind on another path that fits about as well, or None."""
    same = [each for each in others if each.kind == option.kind]
    fit = [each for each in same if each.loss <= option.loss] or same
    return min(fit, key=lambda each: abs(each.loss - option.loss), default=None)


# -- An update judged by a change policy ---------------------------------------------------------------------

NEED_TARGETS = (
    "score_margin",
    "subgroups",
    "observed_expected",
    "calibration_intercept",
    "calibration_slope",
)
NO_HOLDOUT_TREE = "without the rows held out, no tree of this kind was found"


def n_scored(held_out: Table) -> int:
    """Count the rows held out, with copies."""
    return round(count_effective_rows(held_out.weight, held_out.n_rows)) if held_out.n_rows else 0


@dataclass(frozen=True, eq=False)
class PolicyData:
    """The rows that an update is judged by."""

    new: Table  # all new rows
    held_out: Table  # those that scores are measured on
    references: ReferenceTrees | None = None  # of the deployed tree

    def judge(
        self, policy: ChangePolicy, deployed: Tree, tree: Tree, holdout_tree: Tree | None
    ) -> PolicyVerdict:
        """Judge a change by the policy; `holdout_tree` is made as the tree is, without the rows held out.

        Without such a tree, lines about scores and calibration are not judged.
        """
        by_trees = policy.check(deployed, tree, self.new, references=self.references)
        if holdout_tree is None:
            judged = [_not_judged(line) if line.name in NEED_TARGETS else line for line in by_trees.lines]
            return replace(by_trees, lines=tuple(judged))
        by_targets = policy.check(deployed, holdout_tree, self.held_out)
        n_held_out = n_scored(self.held_out)
        places = [line.name for line in by_trees.lines]
        lines = [
            *(line for line in by_trees.lines if line.name not in NEED_TARGETS),
            *(
                replace(line, words=f"{line.words}; {n_held_out:,} rows held out")
                for line in by_targets.lines
                if line.name in NEED_TARGETS
            ),
        ]
        lines.sort(key=lambda line: places.index(line.name) if line.name in places else len(places))
        is_reported = n_held_out != by_trees.n_rows and any(line.name in NEED_TARGETS for line in lines)
        return replace(by_trees, lines=tuple(lines), n_held_out=n_held_out if is_reported else None)


def _not_judged(line: PolicyLine) -> PolicyLine:
    return replace(line, figure=None, status="not judged", words=f"{line.words}: {NO_HOLDOUT_TREE}")


# -- An update as text ---------------------------------------------------------------------------------------

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


def path_parts(update: TreeUpdate) -> list[str | TextTable | Section]:
    """Show the steps as a table, the changes of each, and a legend."""
    lines = []
    for number in range(len(update.steps)):
        first, *changes = step_sentences(update, number)
        lines += [first, *(f"  {change}" for change in changes)]
    without = [i for i, step in enumerate(update.steps) if step.holdout_tree is None]
    if without:
        verb = "has" if len(without) == 1 else "have"
        lines.append(f"{_steps_text(without)} {verb} no score: {NO_HOLDOUT_TREE}.")
    table = path_table(update)
    return [table, Section("What each step changes", lines), explain_headings(table.headings)]


def firmness_parts(update: TreeUpdate) -> list[TextTable]:
    """Show whose answers are less firm than before, if reference trees tell."""
    return [] if update.firmness is None else [compare_firmness(*update.firmness)]


def update_summary(update: TreeUpdate) -> str:
    """Summarise the step that is taken, the reason, and its score relative to keeping the tree."""
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
    """Compare the score of the step that is taken with keeping the tree."""
    taken, decimals = update.steps[update.taken], _decimals(update)
    title = update.metric.title
    if taken.holdout_tree is None:
        return f"The {title} is unknown: {NO_HOLDOUT_TREE}."
    if isnan(taken.difference):
        return f"The {title} is unknown: all scored rows have the same target value."
    if taken.difference == 0.0 and taken.error == 0.0:
        return f"The {title} stays as it is, on {_scored_text(update)}."
    gain = fixed_text(update.metric.shown(taken.difference), decimals, "+")
    less = " (lower is better)" if update.metric.is_loss else ""
    error = fixed_text(taken.error, decimals)
    scored = _scored_text(update)
    return f"{title} relative to keeping the tree as it is: {gain} ± {error}{less}, on {scored}."


def observed_expected_text(found: ObservedExpected) -> str:
    """Format the ratio with its interval: 0.98 (0.94 to 1.11)."""
    return f"{fixed_text(found.ratio, 2)} ({fixed_text(found.low, 2)} to {fixed_text(found.high, 2)})"


def calibration_sentence(update: TreeUpdate) -> str:
    """Report observed over expected, and what to do where it is off; empty if it is unknown."""
    taken, keep = (update.steps[place].observed_expected for place in (update.taken, 0))
    if taken is None or keep is None or isnan(taken.low) or not update.n_scored:
        return ""
    was = "" if update.taken == 0 else f"; the tree as it is: {observed_expected_text(keep)}"
    text = f"Observed over expected on {_scored_text(update)}: {observed_expected_text(taken)}{was}."
    if not taken.is_off:
        return text
    much = "little" if taken.ratio > 1 else "much"
    refit = next((i for i, step in enumerate(update.steps) if step.kind == REFIT), None)
    way_out = (
        f"step {refit} of the path gives the leaves new values"
        if update.taken == 0 and refit is not None
        else "a prior of 0 lets the new rows alone decide"
    )
    return f"{text} The tree predicts too {much}: {way_out}."


def taken_sentence(update: TreeUpdate) -> str:
    """Name the step that is taken, and why nearer steps that fit are not."""
    return " ".join([_describe_taken(update), *_explain_skipped(update)])


def _describe_taken(update: TreeUpdate) -> str:
    taken, limit = update.steps[update.taken], percent_text(update.settings.tolerance)
    within = f"within {limit} of a fresh tree"
    if taken.kind == KEEP:
        if update.settings.strategy == "keep":
            return "The tree is kept as it is, as requested."
        if not _fits(update) and not update.is_selected:
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
        if update.is_selected:
            return f"The tree changes as requested: {kept}, and it fits {within}."
        return f"The tree changes as little as possible: {kept}, and it fits {within}."
    return {
        FRESH: "A fresh tree is taken, as requested." if update.is_selected else "A fresh tree is taken.",
        RETRAIN: "The tree is retrained, as requested.",
        CANDIDATE: "The nearest of the bootstrap trees that score well enough is taken, as requested.",
    }[taken.kind]


def _explain_skipped(update: TreeUpdate) -> list[str]:
    """Explain for each nearer step that fits why it is not taken, or that none fits."""
    taken = update.steps[update.taken]
    if update.settings.strategy != "nearest" or taken.kind == KEEP:
        return []
    nearer = [i for i, step in enumerate(update.steps[: update.taken]) if _fits(update, step)]
    if update.is_selected:
        if not nearer:
            return []
        verb, side = ("fits", "is nearer") if len(nearer) == 1 else ("fit", "are nearer")
        return [f"{_steps_text(nearer)} {verb} too, and {side} to the tree as it is."]
    reasons = [f"Step {i} fits too, but {_describe_drawback(update, i)}." for i in nearer]
    return reasons or (["No nearer step fits as well."] if taken.kind == FRESH else [])


def _steps_text(numbers: list[int]) -> str:
    word = "Step" if len(numbers) == 1 else "Steps"
    return f"{word} {' and '.join(filter(None, [', '.join(map(str, numbers[:-1])), str(numbers[-1])]))}"


def _describe_drawback(update: TreeUpdate, number: int) -> str:
    """Describe why the rule does not take a step that fits."""
    step = update.steps[number]
    if step.kind == KEEP:  # it would be kept otherwise
        return "the rates of some leaves have clearly changed"
    if step.holdout_tree is None:
        return NO_HOLDOUT_TREE
    if not update.n_scored or is_no_worse(step, update.deployed):
        return "it changes splits"
    if update.deployed.n_leaves == 1:
        return f"its {update.metric.title} is not clearly better than that of one leaf"
    if step.difference < -LAST_DIGITS:
        what, value, error = update.metric.title, update.metric.shown(step.difference), step.error
    else:
        target = update.deployed.schema.target
        what = "log likelihood" if target.is_classes else "squared error, negated,"
        what = "deviance, negated," if target.is_survival else what
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
        return f"{update.n_scored:,} new rows, for trees trained without them"
    return "the training rows, which is optimistic"


def _decimals(update: TreeUpdate) -> int:
    known = decimals_of_errors([step.error for step in update.steps])
    return 3 if known is None else max(3, known)


def path_table(update: TreeUpdate, *, changes: bool = False) -> TextTable:
    """Make the table of the steps; an arrow marks the one that is taken."""
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
    """Describe what a step changes relative to the step before it."""
    step = update.steps[number]
    if step.kind == KEEP or step.kind not in (CHANGE, REFIT):
        return WORDS[step.kind]
    diff = tree_diff(update.steps[number - 1].tree, step.tree)
    changes = [split_texts(diff, split)[1] for split in diff.splits] or [WORDS[REFIT]]
    return "; ".join([*changes, *_class_texts(update, diff)])


def step_sentences(update: TreeUpdate, number: int) -> list[str]:
    """Describe a step in a sentence, with a line for each changed split and for leaves of another class."""
    step, name = update.steps[number], f"Step {number}"
    if step.kind in SENTENCES:
        return [f"{name} {SENTENCES[step.kind]}."]
    diff = tree_diff(update.steps[number - 1].tree, step.tree)
    lines = []
    for split in diff.splits:
        where, what, size = split_texts(diff, split)
        lines.append(f"{where}: {what}" + (f" ({size})" if size else ""))
    lines += _class_texts(update, diff)
    if not diff.splits:
        return [f"{name} changes the values of the leaves{''.join(f'; {each}' for each in lines)}."]
    before = "" if number == 1 else f", compared with step {number - 1}"
    return [f"{name} changes {pluralize(len(diff.splits), 'split')}{before}:", *lines]


def _class_texts(update: TreeUpdate, diff: TreeDiff) -> list[str]:
    """Count the leaves that change their class, and what that adds to the distance."""
    n_leaves = len(diff.of_kind("outcome"))
    if not n_leaves:
        return []
    verb = "changes its" if n_leaves == 1 else "change their"
    times = "" if n_leaves == 1 else f"{n_leaves} times "
    weight = f"{times}the label weight of {update.distances.label_weight:g}"
    added = f", which adds {weight} to the distance" if update.distances.outcome == "label" else ""
    return [f"{pluralize(n_leaves, 'leaf', 'leaves')} {verb} class{added}"]
