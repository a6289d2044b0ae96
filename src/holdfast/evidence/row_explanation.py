"""Why a tree says what it says of one row: the path, how near each threshold is, and what would change it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any, Literal

import numpy as np

from holdfast.adapters import as_tree
from holdfast.data.input.frame import Frame, make_frame
from holdfast.data.input.rows import encode_rows
from holdfast.data.schema import Label, Target
from holdfast.errors import ParameterError
from holdfast.evidence.counterfactuals import Change, ChangeLimits, Counterfactual, counterfactuals
from holdfast.evidence.goal import Goal
from holdfast.evidence.one_row import RowValues, Value, row_frame
from holdfast.evidence.outcome_at import LeafOutcome, leaf_outcome
from holdfast.evidence.split_support import SplitSupport
from holdfast.shown import shown
from holdfast.text.view import View, ViewMixin
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.support import find_weak_splits
from holdfast.tree.tree import KNOWN
from holdfast.tree.wording import format_decision

State = Literal["known", "missing", "unseen", "unseen here"]


@dataclass(frozen=True, eq=False)
class PathStep:
    """One question on the way of a row, and how it was answered."""

    node: int
    feature: str
    condition: str  # the answer as a condition, such as "age > 60"
    answer: bool  # True for yes
    value: Value  # what the row says; None if it is missing; of a question, its answer
    # A value that is missing, or a category unseen in training, goes the way of missing values. One that only
    # the training rows of this node did not have goes where the tree sends it.
    state: State
    threshold: float | None = None  # of a numeric feature
    distance: float | None = (
        None  # to the threshold, in the units of the feature; of an ordered one, in categories
    )
    share: float | None = None  # the distance as a fraction of the feature's range
    deviations: float | None = None  # the distance in standard deviations of the data, if they were given
    reads: tuple[tuple[str, Value], ...] = ()  # of a question: the columns that it reads
    support: SplitSupport | None = None  # what other trees ask at this place, if the model knows
    low_support: float | None = None  # share of the reference trees that split these rows so, where it is low


@dataclass(frozen=True, eq=False)
class RowExplanation(ViewMixin):
    """Why a tree says what it says of one row, and the smallest changes that would lead elsewhere."""

    target: Target
    steps: tuple[PathStep, ...]
    outcome: LeafOutcome
    counterfactuals: tuple[Counterfactual, ...]  # the cheapest first; last, those that few known values back
    looked_for: str  # what the changes were to lead to, in words
    n_leaves: int  # that have such an outcome
    unanswered: tuple[str, ...] = ()  # questions over columns that closed the way to some of these leaves
    decides: str = ""  # from which probability on which class is predicted, if not the most likely one

    def __repr__(self) -> str:
        return f"<RowExplanation: {len(self.steps)} questions, {self.outcome.prediction!r}>"

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON."""
        return {
            "target": self.target.name,
            **_outcome_facts(self.outcome),
            **({"decides": self.decides} if self.decides else {}),
            "path": [_step_facts(step) for step in self.steps],
            "looked_for": self.looked_for,
            "counterfactuals": [
                {
                    "changes": [_change_facts(change) for change in each.changes],
                    "cost": each.cost,
                    **_outcome_facts(each.outcome),
                }
                for each in self.counterfactuals
            ],
            "unanswered": list(self.unanswered),
        }

    def _view(self) -> View:
        from holdfast.show.row_explanation import row_explanation_view

        return row_explanation_view(self)


def explain_row(
    model: Any,
    x: Any,
    *,
    wanted: Label | None = None,
    threshold: float | None = None,
    least_change: float = 0.0,
    positive: Label | None = None,
    fixed: Sequence[str] = (),
    only_increase: Sequence[str] = (),
    only_decrease: Sequence[str] = (),
    category_cost: float = 1.0,
    n_counterfactuals: int = 3,
    data: Any = None,
    support: Sequence[SplitSupport] = (),
) -> RowExplanation:
    """The path of one row through a tree, and the smallest changes of the row that lead to another outcome.

    `model` is a tree, or a model that `as_tree` reads. `x` is a frame of one row, a mapping from column to
    value, a row of a pandas frame, or a list in the order of the columns; only the columns that the tree
    asks about are needed by name.

    Another outcome is another class, or the `wanted` one; with a `threshold`, a risk of the `positive` class
    on its other side. Of numbers it is a mean that differs by at least `least_change`, "up" or "down" if that
    is `wanted`. A change of a number costs its fraction of the column's range, a change of a category, or of
    a missing value to a known one, `category_cost`. Columns in `fixed` do not change; those in
    `only_increase` and `only_decrease` go one way. All leaves are looked at, so none is cheaper.

    `data` are rows that give distances in standard deviations as well; `support` is what `split_support`
    says of the tree, which a stable model knows by itself.

    >>> from holdfast import TreeClassifier
    >>> model = TreeClassifier().fit([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> found = explain_row(model, [35.0])
    >>> found.outcome.prediction, found.steps[0].condition, found.steps[0].distance
    ('no', 'x0 <= 40', 5.0)
    >>> found.counterfactuals[0].values
    {'x0': 41.0}
    """
    _raise_for_many(model)
    row = RowValues.of(as_tree(model), _matched(model, x), **_policies(model))
    limits = ChangeLimits(fixed, only_increase, only_decrease, category_cost)
    goal = Goal(wanted, threshold, least_change, positive)
    known = support or _support_of(model)
    return _explained(row, goal, limits, n_counterfactuals, _steps(row, data, known))


def _policies(model: Any) -> dict[str, str]:
    """What a model of ours does with categories unseen in training, and with missing values."""
    return {
        name: getattr(model, name)
        for name in ("handle_unknown", "handle_missing")
        if hasattr(model, "_matched")
    }


def _raise_for_many(model: Any) -> None:
    ensemble = getattr(model, "ensemble_", model)
    if isinstance(ensemble, Ensemble) or (hasattr(model, "estimators_") and not hasattr(model, "tree_")):
        n_trees = len(ensemble) if isinstance(ensemble, Ensemble) else len(model.estimators_)
        raise ParameterError(
            f"explain_row follows a row through one tree, and a {type(model).__name__} has {n_trees}. "
            "Explain one member, such as model.ensemble_[0], or fit a StableTreeClassifier or a "
            "StableTreeRegressor, whose one tree stands for many; feature_importances_ says what "
            "the ensemble goes by."
        )


def _matched(model: Any, x: Any) -> Frame:
    """The row as a frame with the names that the tree has; of names given with it, those alone are needed."""
    frame = row_frame(x)
    by_name = isinstance(x, Mapping) or not hasattr(model, "_matched")
    if by_name:
        return frame
    matched: Frame = model._matched(frame)
    return matched


def _support_of(model: Any) -> Sequence[SplitSupport]:
    """What a stable model knows of its splits; nothing of any other, or of one that was loaded or updated."""
    if not hasattr(model, "split_support") or getattr(model, "reference_trees_", None) is None:
        return ()
    support: Sequence[SplitSupport] = model.split_support()
    return support


def _explained(
    row: RowValues, goal: Goal, limits: ChangeLimits, n_counterfactuals: int, steps: tuple[PathStep, ...]
) -> RowExplanation:
    tree, leaf = row.tree, row.leaf
    if not (isinstance(n_counterfactuals, int) and n_counterfactuals >= 0):
        raise ParameterError(f"n_counterfactuals={n_counterfactuals!r} is out of range: it is 0 or more.")
    limits.check(tree.schema)
    leaves = goal.leaves(tree, leaf)
    found = counterfactuals(row, leaves, limits, n_counterfactuals, goal.positive)
    return RowExplanation(
        target=tree.schema.target,
        steps=steps,
        outcome=leaf_outcome(tree, leaf, goal.positive),
        counterfactuals=found.counterfactuals,
        looked_for=goal.words(tree, leaf),
        n_leaves=len(leaves),
        unanswered=found.unanswered,
        decides=format_decision(tree, goal.positive),
    )


# -- the path ---------------------------------------------------------------------------------------------


def _steps(row: RowValues, data: Any, support: Sequence[SplitSupport]) -> tuple[PathStep, ...]:
    deviations = _deviations(row, data)
    by_node = {each.node: each for each in support}
    return tuple(_step(row, node, answer, deviations, by_node.get(node)) for node, answer in row.path)


def _step(
    row: RowValues, node: int, answer: bool, deviations: Mapping[int, float], support: SplitSupport | None
) -> PathStep:
    tree, place = row.tree, int(row.tree.feature[node])
    feature, code, cut = tree.schema.features[place], row.code(place), float(tree.threshold[node])
    is_cut = not feature.is_subset and cut < KNOWN
    distance = abs(code - cut) if is_cut and not isnan(code) else None
    reads = row.questions[place].columns if place in row.questions else ()
    return PathStep(
        node=node,
        feature=feature.name,
        condition=shown("answer_text", tree, node, answer, counts=True),
        answer=answer,
        value=row.value(place),
        state=_state(row, node, place, code),
        threshold=cut if is_cut and feature.kind == "numeric" else None,
        distance=distance,
        share=None if distance is None else distance / (feature.high - feature.low or 1.0),
        deviations=distance / deviations[place] if distance is not None and deviations.get(place) else None,
        reads=tuple((tree.schema.features[each].name, row.value(each)) for each in reads),
        support=support,
        low_support=find_weak_splits(tree).get(node),
    )


def _state(row: RowValues, node: int, place: int, code: float) -> State:
    tree = row.tree
    if place in row.unseen:
        return "unseen"
    if isnan(code):
        return "missing"
    start = int(tree.set_start[node])
    is_unseen = tree.seen is not None and start >= 0 and not tree.seen[start + int(code)]
    return "unseen here" if is_unseen else "known"


def _deviations(row: RowValues, data: Any) -> dict[int, float]:
    """The standard deviation of each numeric column of the row in the data, if there are any."""
    schema = row.tree.schema
    numeric = [each for each in row.codes if schema.features[each].kind == "numeric"]
    if data is None or not numeric:
        return {}
    rows = encode_rows(make_frame(data), schema, numeric)
    known = [column[~np.isnan(column)] for column in rows.T]
    return {each: float(column.std()) for each, column in zip(numeric, known, strict=True) if len(column)}


# -- plain data -------------------------------------------------------------------------------------------


def _change_facts(change: Change) -> dict[str, Any]:
    is_counted = change.n_recorded is not None and not isnan(change.n_recorded)
    return {**asdict(change), "n_recorded": change.n_recorded if is_counted else None}


def _outcome_facts(outcome: LeafOutcome) -> dict[str, Any]:
    facts = asdict(outcome)
    return {**facts, "interval": None if outcome.interval is None else list(outcome.interval)}


def _step_facts(step: PathStep) -> dict[str, Any]:
    hidden = ("support", "reads", *(["low_support"] if step.low_support is None else []))
    facts = {name: each for name, each in vars(step).items() if name not in hidden}
    facts["reads"] = dict(step.reads)
    if step.support is not None:
        facts["support"] = {
            "references": step.support.references,
            "candidates": step.support.candidates,
            "thresholds": None if step.support.thresholds is None else list(step.support.thresholds),
        }
    return facts
