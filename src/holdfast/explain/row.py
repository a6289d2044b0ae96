"""Why a tree says what it says of one row: the path, how near each threshold is, and what would change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any, Literal

import numpy as np

from holdfast._arrays import BoolArray, FloatArray
from holdfast._text import (
    NO_BREAK,
    distinct_texts,
    item_text,
    join_parts,
    label_text,
    number_text,
    percent_range,
    pluralize,
    printable,
    rounded_percent,
)
from holdfast._view import Section, TextTable, View, ViewMixin
from holdfast.adapters import as_tree
from holdfast.data.encode import encode_rows
from holdfast.data.frame import Frame, make_frame
from holdfast.data.schema import Label, Target
from holdfast.errors import ParameterError
from holdfast.explain.counterfactuals import (
    Change,
    ChangeLimits,
    Counterfactual,
    RowValues,
    Value,
    counterfactuals,
    row_frame,
)
from holdfast.explain.leaf_evidence import LeafOutcome, leaf_outcome
from holdfast.explain.split_support import SplitSupport, support_words
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.rules import format_decision
from holdfast.tree.rules_text import interval_sentence, support_text
from holdfast.tree.stats import find_weak_splits, positive_class
from holdfast.tree.tree import KNOWN, LEAF, Tree

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
    from holdfast.tree.rules_text import branch_text

    tree, place = row.tree, int(row.tree.feature[node])
    feature, code, cut = tree.schema.features[place], row.code(place), float(tree.threshold[node])
    is_cut = not feature.is_subset and cut < KNOWN
    distance = abs(code - cut) if is_cut and not isnan(code) else None
    reads = row.questions[place].columns if place in row.questions else ()
    return PathStep(
        node=node,
        feature=feature.name,
        condition=branch_text(tree, node, answer, counts=True),
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


# -- What another outcome is ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Goal:
    """The outcome that a change of a row is to lead to. Without any, every other outcome will do."""

    wanted: Label | None = None  # a class; of numbers, "up" or "down"
    threshold: float | None = None  # of the risk of the positive class: the other side of it is wanted
    least_change: float = 0.0  # of numbers
    positive: Label | None = None  # of two classes; None: that of the tree

    def leaves(self, tree: Tree, leaf: int) -> list[int]:
        """The leaves that have the outcome that is wanted, which this leaf has not."""
        leaves = np.flatnonzero(tree.feature == LEAF)
        if self.threshold is not None:
            risk = tree.value[:, self._risk_column(tree)] >= self.threshold
            taken = risk[leaves] != risk[leaf]
        elif tree.schema.target.is_classes:
            taken = (tree.outcome[leaves] != tree.outcome[leaf]) & self._is_wanted(tree)[leaves]
        else:
            taken = self._moved(tree.value[leaves, 0] - tree.value[leaf, 0])
        return [int(each) for each in leaves[taken].tolist()]

    def words(self, tree: Tree, leaf: int) -> str:
        """What is looked for, from where this leaf is."""
        target = tree.schema.target
        if self.threshold is not None:
            place = self._risk_column(tree)
            side = "below" if tree.value[leaf, place] >= self.threshold else "of at least"
            return f"a risk of {label_text(target.classes[place])} {side} {number_text(self.threshold)}"
        if target.is_classes:
            return "another outcome" if self.wanted is None else f"the outcome {label_text(self.wanted)}"
        way = {"up": "a higher", "down": "a lower"}.get(str(self.wanted), "another")
        amount = f", by at least {number_text(self.least_change)}" if self.least_change else ""
        return f"{way} {printable(target.name)}{amount}"

    def _risk_column(self, tree: Tree) -> int:
        place = positive_class(tree, self.positive)
        if place is None:
            raise ParameterError(
                f"threshold={self.threshold!r} is one of the risk of one of two classes, and the target "
                f"{tree.schema.target.name!r} has not two: leave it out."
            )
        if self.threshold is None or not 0 < self.threshold < 1:
            raise ParameterError(f"threshold={self.threshold!r} is out of range: a risk is between 0 and 1.")
        return place

    def _is_wanted(self, tree: Tree) -> BoolArray:
        target = tree.schema.target
        if self.wanted is None:
            return np.ones(tree.n_nodes, np.bool_)
        if self.wanted not in target.classes:
            raise ParameterError(
                f"wanted={self.wanted!r} is no class of {target.name!r}: {list(target.classes)}."
            )
        return np.asarray(tree.outcome == target.classes.index(self.wanted), np.bool_)

    def _moved(self, differences: FloatArray) -> BoolArray:
        if self.wanted not in (None, "up", "down"):
            raise ParameterError(
                f"wanted={self.wanted!r} is unknown: of a number, 'up' or 'down' is wanted, or None."
            )
        if not self.least_change >= 0:
            raise ParameterError(f"least_change={self.least_change!r} is out of range: it is 0 or more.")
        way = -1.0 if self.wanted == "down" else 1.0
        sizes = np.abs(differences) if self.wanted is None else way * differences
        return np.asarray((sizes > 0) & (sizes >= self.least_change), np.bool_)


# -- Why a tree predicts what it predicts for one row --------------------------------------------------------

WIDEST = 36  # columns of a condition
NEAR = 0.02  # of the range: a threshold that is this near is worth a word
DIGITS = 4  # of a number that was measured or computed
MOST_ALTERNATIVES = 4  # categories named


def row_explanation_view(found: RowExplanation) -> View:
    """The prediction, the path split by split, and what would change the prediction."""
    path: TextTable | str = ""
    if found.steps:
        rows = [[printable(each.condition), _step_words(each)] for each in found.steps]
        path = TextTable(["the path", "this row, and the split"], rows, sides="<<", wrap=(WIDEST, 60))
    changes = [
        f"{number}. {_changes_words(each.changes)}: {_leads_to(each, found.target)}"
        for number, each in enumerate(found.counterfactuals, 1)
    ]
    return View(
        " ".join(_outcome_sentences(found)),
        path,
        Section(_changes_title(found), changes) if changes else "",
        *_remarks(found),
    )


# -- the outcome ------------------------------------------------------------------------------------------


def _outcome_sentences(found: RowExplanation) -> list[str]:
    """The outcome, what its interval is about, and how the tree decides where that needs a word."""
    texts = [_outcome_sentence(found), interval_sentence(found.outcome), printable(found.decides)]
    return [*filter(None, texts)]


def _outcome_sentence(found: RowExplanation) -> str:
    outcome, name = found.outcome, printable(found.target.name)
    said = f"Prediction of {name}: {_prediction(outcome)}"
    rows = f"{pluralize(outcome.n_rows, 'row')} like this one"
    if outcome.label is None:
        return f"{said}. In training there were {rows}{_mean_words(outcome)}."
    if outcome.observed is None or outcome.interval is None:
        return f"{said}, {_risk(outcome)}."
    interval = "" if outcome.is_about_estimate else f" (95 % interval {percent_range(*outcome.interval)})"
    if outcome.is_as_observed and not outcome.is_weighted:
        return f"{said}, {_risk(outcome)}: {_frequency(outcome)} rows like this one{interval}."
    label, by_weight = label_text(outcome.label), "by weight " if outcome.is_weighted else ""
    return (
        f"{said}. The tree's estimate for {label} is {rounded_percent(outcome.estimate)}. Of {rows}, "
        f"{_count(outcome)} {'was' if round(outcome.count or 0.0) == 1 else 'were'} {label}: "
        f"{by_weight}{rounded_percent(outcome.observed)}{interval}."
    )


def _mean_words(outcome: LeafOutcome) -> str:
    """The mean of the rows and its interval, as far as they are known."""
    if outcome.observed is None or (outcome.interval is None and outcome.is_as_observed):
        return ""
    ends = ""
    if outcome.interval is not None and not outcome.is_about_estimate:
        ends = f" (95 % interval {' to '.join(distinct_texts(*outcome.interval))})"
    return f", with mean {number_text(outcome.observed, DIGITS)}{ends}"


def _prediction(outcome: LeafOutcome) -> str:
    if outcome.label is None:
        return f"{outcome.statistic} {number_text(float(outcome.prediction), DIGITS)}".strip()
    return label_text(outcome.prediction)


def _risk(outcome: LeafOutcome) -> str:
    return f"probability of {label_text(outcome.label)} {rounded_percent(outcome.probability or 0.0)}"


def _frequency(outcome: LeafOutcome) -> str:
    return f"{_count(outcome)} of {outcome.n_rows:,.0f}"


def _count(outcome: LeafOutcome) -> str:
    """The rows of the class; shrunk or weighted values have no whole counts."""
    count = outcome.count or 0.0
    about = "" if abs(count - round(count)) < 1e-6 else "about "
    return f"{about}{round(count):,}"


# -- the path ---------------------------------------------------------------------------------------------


def _step_words(step: PathStep) -> str:
    """The value of the row and how near it is to the other branch; then the support of the split."""
    words = [", ".join(filter(None, [_value_words(step), _nearness(step)]))]
    if step.support is not None:
        words.append(support_words(step.support))
    elif step.low_support is not None:
        words.append(support_text(step.low_support))
    return "; ".join(words).replace(" %", f"{NO_BREAK}%")


def _value_words(step: PathStep) -> str:
    name = printable(step.feature)
    if step.reads:
        told = ", ".join(f"{printable(column)} is {_value(value)}" for column, value in step.reads)
        return (
            told
            if step.state == "known"
            else f"{told}, so the split is undecided: it goes with missing values"
        )
    if step.state == "unseen":
        return f"{name} is {_value(step.value)}, unseen in training: it goes with missing values"
    if step.state == "unseen here":
        return f"{name} is {_value(step.value)}, which no training row here had: the tree sends it this way"
    if step.state == "missing":
        return f"{name} is not recorded, and missing values go this way"
    return f"{name} is {_value(step.value)}"


def _value(value: Value) -> str:
    if value is None:
        return "not recorded"
    is_number = isinstance(value, float | int) and not isinstance(value, bool)
    return number_text(float(value)) if is_number else item_text(value)


def _nearness(step: PathStep) -> str:
    """How far the row is from the other answer, and a word if that is near."""
    if step.distance is None or step.share is None:
        return ""
    share = f"{rounded_percent(step.share)} of its range"
    if step.deviations is not None:
        share = f"{share}, {number_text(step.deviations, 2)} standard deviations"
    near = ": near" if step.share <= NEAR else ""
    if step.threshold is None:
        return ""  # between two categories of an ordered feature: the value itself says it
    side = "below" if step.answer else "above"
    return f"{number_text(step.distance, DIGITS)} {side} ({share}){near}"


# -- what would change it ---------------------------------------------------------------------------------


def _changes_title(found: RowExplanation) -> str:
    one = len(found.counterfactuals) == 1
    return f"The smallest change{'' if one else 's'} that would lead to {found.looked_for}"


def _changes_words(changes: Sequence[Change]) -> str:
    return " and ".join(map(_change_words, changes))


def _change_words(change: Change) -> str:
    new, old = _value(change.new), _value(change.old)
    told = [_value(label) for label in change.alternatives]
    also = f" (or {join_parts(told, MOST_ALTERNATIVES)})" if told else ""
    return f"{printable(change.column)} from {old} to {new}{also}"


def _leads_to(each: Counterfactual, target: Target) -> str:
    outcome = each.outcome
    recorded = "".join(_recorded_words(change, outcome.n_rows) for change in each.changes)
    if outcome.label is None:
        rows = pluralize(outcome.n_rows, "row")
        return f"{printable(target.name)} {_prediction(outcome)} ({rows}){recorded}"
    words = "" if outcome.is_as_observed else "observed: "
    seen = f" ({words}{_frequency(outcome)})" if outcome.n_rows else ""
    return f"{_prediction(outcome)}, {_risk(outcome)}{seen}{recorded}"


def _recorded_words(change: Change, n_rows: float) -> str:
    """How many of the rows there had a value of the column, where some had none."""
    name = printable(change.column)
    if change.n_recorded is None:
        return ""
    if isnan(change.n_recorded):
        return f"; not all of these rows had {name} recorded"
    return f"; {change.n_recorded:,.0f} of {n_rows:,.0f} had {name} recorded"


def _remarks(found: RowExplanation) -> list[str]:
    """What the reader must know of changes that were not found."""
    remarks = []
    if not found.n_leaves:
        remarks.append(f"No leaf of the tree has {found.looked_for}.")
    elif not found.counterfactuals and not found.unanswered:
        remarks.append(f"No change that is allowed leads to {found.looked_for}.")
    if found.unanswered:
        asked = join_parts([f"({printable(text)})" for text in found.unanswered], 3)
        remarks.append(
            f"Leaves that need another value of {asked} were left out: a custom feature cannot be "
            "changed directly."
        )
    return remarks
