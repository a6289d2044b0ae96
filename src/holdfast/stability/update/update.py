"""The update of a deployed tree: the path from it to a fresh tree, and the point of it that is taken."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, LongArray
from holdfast.data.canonical_order import canonical, fixed_order
from holdfast.data.input.weight import count_effective_rows
from holdfast.data.split.groups import subset_groups
from holdfast.data.split.row_keys import copies_as_groups, unit_keys
from holdfast.data.split.row_positions import assign_strata, random_positions, select_below
from holdfast.data.table import Table
from holdfast.distance.settings import DistanceSettings
from holdfast.errors import ParameterError
from holdfast.governance.policy import ChangePolicy
from holdfast.governance.verdict import PolicyVerdict
from holdfast.random_streams import Branch
from holdfast.scoring.calibration import ObservedExpected, observed_expected
from holdfast.scoring.differences import score_difference
from holdfast.scoring.metric import Metric, Score, TrueValues, make_metric
from holdfast.scoring.predictions import predict_for_metric
from holdfast.stability.choice import SelectionRule
from holdfast.stability.methods.centred import (
    distance_settings,
)
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.update.judged import JudgedRows, n_scored
from holdfast.stability.update.path import (
    CHANGE,
    KEEP,
    REFIT,
    Context,
    Point,
    allowed_loss,
    taken_point,
    update_path,
)
from holdfast.stability.update.settings import UpdateSettings
from holdfast.text.view import View, ViewMixin
from holdfast.tree.positive import positive_class
from holdfast.tree.quantile import format_statistic, parse_quantile
from holdfast.tree.recorded import set_recorded
from holdfast.tree.tree import Tree

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
    rows: JudgedRows | None  # None in another process, or after it was pickled
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

    def judged(self, policy: ChangePolicy | None, *, force: bool = False) -> "TreeUpdate":
        """The same update with the verdict of a policy on the step that is taken."""
        if policy is None:
            return replace(self, verdict=None, is_forced=False)
        if self.rows is None:
            raise ParameterError("The rows that the update was judged by are gone: update the model again.")
        step = self.steps[self.taken]
        verdict = self.rows.verdict(policy, self.deployed, step.tree, step.alike)
        return replace(self, verdict=verdict, is_forced=force and not verdict.passed)

    def take(self, step: int, *, force: bool = False) -> "TreeUpdate":
        """The same path with another step taken, and judged if there is a policy."""
        if not isinstance(step, Integral) or not 0 <= step < len(self.steps):
            raise ParameterError(
                f"step={step!r} is out of range: the path has the steps 0 to {len(self.steps) - 1}."
            )
        policy = None if self.verdict is None else self.verdict.policy
        return replace(self, taken=int(step), is_asked=True).judged(policy, force=force)

    def _view(self) -> View:
        from holdfast.show.update import update_view

        return update_view(self)


class NewRows(NamedTuple):
    """The rows that an update learns from: the new ones, and perhaps old ones."""

    table: Table
    groups: LongArray | None
    is_new: BoolArray  # scores are of new rows


def update_tree(
    deployed: Tree,
    rows: NewRows,
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
    context = Context(settings, update, distances, tuple(more), own_loss, rule or SelectionRule())
    path = update_path(deployed, rows.table, rows.groups, context)
    held_out = _held_out(rows, settings, update)
    like = path
    if held_out.any():
        learnt = ~held_out
        # A change is judged by a change: they are searched even if fewer rows do not ask for any.
        changes = [point.loss for point in path.points if point.kind == CHANGE]
        alike = context._replace(loss_to_reach=max(min(changes), 0.0) if changes else None)
        like = update_path(deployed, rows.table.subset(learnt), subset_groups(rows.groups, learnt), alike)
    scored_rows = held_out if held_out.any() else rows.is_new
    steps = _steps(path.points, like.found, rows, scored_rows, metric)
    helps = [is_no_worse(step, deployed) for step in steps] if held_out.any() else None
    return TreeUpdate(
        deployed,
        steps,
        taken_point(path, context, helps),
        update,
        metric,
        distances,
        own_loss,
        n_rows=given.table.n_rows,
        n_behind=path.n_behind,
        n_scored=n_scored(rows.table.subset(held_out)),
        rows=JudgedRows(_new_rows(given), rows.table.subset(scored_rows)),
    )


# -- scores ---------------------------------------------------------------------------------------------


def _in_order(rows: NewRows) -> NewRows:
    """The rows in one order, whatever order they came in; copies of a row as one group."""
    given = [rows.is_new.astype(np.int64), *([] if rows.groups is None else [rows.groups])]
    table, in_order, copies = canonical(rows.table, given)
    groups = in_order[1] if rows.groups is not None else copies_as_groups(table, copies)
    return NewRows(table, groups, in_order[0] == 1)


def _new_rows(rows: NewRows) -> Table:
    new = rows.table.subset(rows.is_new)
    return new.subset(fixed_order(new))


def _held_out(rows: NewRows, settings: StabilitySettings, update: UpdateSettings) -> BoolArray:
    """The new rows that scores are measured on; none if there are too few to hold out."""
    if update.validation is None:
        return np.zeros(rows.table.n_rows, np.bool_)
    keys = unit_keys(rows.table, rows.groups)
    position = random_positions(assign_strata(rows.table), keys, (settings.seed, Branch.UPDATE_VALIDATION))
    held_out = select_below(position, float(update.validation)) & rows.is_new
    return held_out if not held_out.all() else np.zeros_like(held_out)


def _steps(
    path: list[Point], like: list[Point], rows: NewRows, scored: BoolArray, metric: Metric
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


def _alike(point: Point, like: list[Point]) -> Point | None:
    """The point of another path that was made the same way, and fits about as well; None if there is none.

    A tree of another kind would lend its score to a change that it does not make.
    """
    same = [each for each in like if each.kind == point.kind]
    fit = [each for each in same if each.loss <= point.loss] or same
    return min(fit, key=lambda each: abs(each.loss - point.loss), default=None)
