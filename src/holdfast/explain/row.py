"""Explain one prediction of a tree: the path, the distance to each threshold, and counterfactuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan
from typing import Any, Literal

import numpy as np

from holdfast._arrays import BoolArray, FloatArray
from holdfast._check import check_fraction, check_integer, check_number
from holdfast._text import (
    NO_BREAK,
    distinct_texts,
    item_text,
    join_parts,
    label_text,
    number_text,
    percent_range,
    percent_text,
    pluralize,
    printable,
    quoted,
    rounded_percent,
)
from holdfast._view import Section, TextTable, View, ViewMixin
from holdfast.adapters import as_tree
from holdfast.data.encode import encode_rows, list_required_columns
from holdfast.data.frame import Frame, make_frame
from holdfast.data.schema import Label, Target
from holdfast.data.survival import join_value, name_survival, survive_horizon
from holdfast.errors import ParameterError
from holdfast.explain.counterfactuals import (
    ChangeLimits,
    Counterfactual,
    RowValues,
    Value,
    ValueChange,
    counterfactuals,
    row_frame,
)
from holdfast.explain.firmness import Firmness, ReferenceTrees
from holdfast.explain.split_support import SplitSupport, support_words
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.leaf_evidence import LeafOutcome, leaf_outcome
from holdfast.tree.rules import format_decision
from holdfast.tree.rules_text import interval_sentence, support_text
from holdfast.tree.stats import find_weak_splits, positive_class
from holdfast.tree.survival import events_text, risk_text, shown_values, survival_sentence
from holdfast.tree.tree import KNOWN, LEAF, Tree

State = Literal["known", "missing", "unseen", "unseen here"]


@dataclass(frozen=True, eq=False)
class PathStep:
    """One split on the path of a row, and the branch that it takes."""

    node: int
    feature: str
    condition: str  # of the branch, such as "age > 60"
    answer: bool  # True for the left branch
    value: Value  # of the row, or of a custom feature; None if it is missing
    # A missing value, and a category unseen in training, goes the way of missing values. A category that only
    # this node has not seen goes where the tree sends it.
    state: State
    threshold: float | None = None  # of a numeric feature
    distance: float | None = (
        None  # to the threshold, in the units of the feature; of an ordered one, in categories
    )
    share: float | None = None  # the distance as a fraction of the feature's range
    deviations: float | None = None  # the distance in standard deviations of the data, if they were given
    reads: tuple[tuple[str, Value], ...] = ()  # of a custom feature: the columns that it reads
    support: SplitSupport | None = None  # of the split, if the model has reference trees
    low_support: float | None = None  # share of the reference trees that split these rows so, where it is low


@dataclass(frozen=True, eq=False)
class RowExplanation(ViewMixin):
    """Explanation of one prediction of a tree, with the smallest changes that lead to another outcome.

    Attributes
    ----------
    target : Target
        What is predicted.
    steps : tuple of PathStep
        The splits on the path of the row.
    outcome : LeafOutcome
        Prediction and training rows of its leaf.
    counterfactuals : tuple of Counterfactual
        The smallest changes, the cheapest first; those to leaves with few known values are last.
    looked_for : str
        The outcome that the changes lead to, in words.
    n_leaves : int
        Number of leaves with that outcome.
    blocking_features : tuple of str
        Custom features that block the way to some of these leaves.
    decides : str
        The decision threshold in words, where the most likely class is not the predicted one.
    firmness : Firmness or None
        How many reference trees agree; None without reference trees, or without a column that they split on.
    """

    target: Target
    steps: tuple[PathStep, ...]
    outcome: LeafOutcome
    counterfactuals: tuple[Counterfactual, ...]
    looked_for: str
    n_leaves: int
    blocking_features: tuple[str, ...] = ()
    decides: str = ""
    firmness: Firmness | None = None

    def __repr__(self) -> str:
        return f"<RowExplanation: {len(self.steps)} splits, {self.outcome.prediction!r}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data, ready for JSON."""
        return {
            "target": self.target.name,
            **_outcome_facts(self.outcome),
            **({"decides": self.decides} if self.decides else {}),
            **({} if self.firmness is None else {"firmness": self.firmness.facts()}),
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
            "blocking_features": list(self.blocking_features),
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
    references: ReferenceTrees | None = None,
) -> RowExplanation:
    """Explain the prediction of a tree for one row, with the smallest changes that lead to another outcome.

    All leaves are searched, so no cheaper change exists.

    Parameters
    ----------
    model : Tree, estimator, or a model that `as_tree` reads
        A single tree.
    x : mapping, list, or frame of one row
        Values by column, or in the order of the columns. By name, only the columns of the splits are needed.
    wanted : label, optional
        The class, or "up" or "down" for numbers and for survival, that changes lead to. Default: any other
        outcome.
    threshold : float, optional
        Search for a probability of the `positive` class, or to survive the horizon, on the other side of this
        one.
    least_change : float, default 0.0
        Least difference of numbers, or of survival to the horizon.
    positive : label, optional
        The positive class of two. Default: that of the tree.
    fixed, only_increase, only_decrease : list of str
        Columns that do not change, or only in one direction.
    category_cost : float, default 1.0
        Cost of a change of a category, or from a missing value to a known one. The cost of a change of a
        number is its fraction of the range of the column.
    n_counterfactuals : int, default 3
        Number of changes.
    data : frame, optional
        Rows for distances in standard deviations.
    support : sequence of SplitSupport, optional
        Of the splits of the tree. A stable model has its own.
    references : ReferenceTrees, optional
        The reference trees, which measure how firm the prediction is. A stable model has its own.

    Returns
    -------
    RowExplanation
        Path, outcome and counterfactuals.

    Examples
    --------
    >>> from holdfast import TreeClassifier
    >>> model = TreeClassifier().fit([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> found = explain_row(model, [35.0])
    >>> found.outcome.prediction, found.steps[0].condition, found.steps[0].distance
    ('no', 'x0 <= 40', 5.0)
    >>> found.counterfactuals[0].values
    {'x0': 41.0}
    """
    _check_single_tree(model)
    frame, options = _matched(model, x), _encoding_options(model)
    row = RowValues.of(as_tree(model), frame, **options)
    limits = ChangeLimits(fixed, only_increase, only_decrease, category_cost)
    goal = Goal(wanted, threshold, least_change, positive)
    deviations = _deviations(row, data)
    by_node = {each.node: each for each in support or _support_of(model)}
    steps = tuple(_step(row, node, answer, deviations, by_node.get(node)) for node, answer in row.path)
    references = getattr(model, "references_", None) if references is None else references
    firmness = None if references is None else _find_firmness(references, row.tree, frame, options)
    return replace(_explain(row, goal, limits, n_counterfactuals, steps), firmness=firmness)


def _find_firmness(
    references: ReferenceTrees, tree: Tree, frame: Frame, options: dict[str, Any]
) -> Firmness | None:
    """Find how firm the prediction is; None if the row lacks a column that reference trees split on."""
    read = list_required_columns(references.schema, references.used)
    if frame.is_named and not {*read} <= {*frame.names}:
        return None
    return references.firmness(tree, frame, **options)


def _encoding_options(model: Any) -> dict[str, str]:
    """Return how an estimator of holdfast treats unseen categories and missing values."""
    return {
        name: getattr(model, name)
        for name in ("handle_unknown", "handle_missing")
        if hasattr(model, "_matched")
    }


def _check_single_tree(model: Any) -> None:
    ensemble = getattr(model, "ensemble_", model)
    if isinstance(ensemble, Ensemble) or (hasattr(model, "estimators_") and not hasattr(model, "tree_")):
        n_trees = len(ensemble) if isinstance(ensemble, Ensemble) else len(model.estimators_)
        raise ParameterError(
            f"explain_row follows a row through one tree, and a {type(model).__name__} has {n_trees}. "
            "Explain one member, such as model.ensemble_[0], or fit a StableTreeClassifier or a "
            "StableTreeRegressor, whose one tree represents many; feature_importances_ shows "
            "what the ensemble uses."
        )


def _matched(model: Any, x: Any) -> Frame:
    """Make a frame of the row, with the names of the tree."""
    frame = row_frame(x)
    by_name = isinstance(x, Mapping) or not hasattr(model, "_matched")
    if by_name:
        return frame
    matched: Frame = model._matched(frame)
    return matched


def _support_of(model: Any) -> Sequence[SplitSupport]:
    """Return the split support of a stable model; empty without reference trees, as after loading."""
    if not hasattr(model, "split_support") or getattr(model, "reference_trees_", None) is None:
        return ()
    support: Sequence[SplitSupport] = model.split_support()
    return support


def _explain(
    row: RowValues, goal: Goal, limits: ChangeLimits, n_counterfactuals: int, steps: tuple[PathStep, ...]
) -> RowExplanation:
    tree, leaf = row.tree, row.leaf
    check_integer("n_counterfactuals", n_counterfactuals, 0)
    limits.check(tree.schema)
    leaves = goal.leaves(tree, leaf)
    found, blocking = counterfactuals(row, leaves, limits, n_counterfactuals, goal.positive)
    return RowExplanation(
        target=tree.schema.target,
        steps=steps,
        outcome=leaf_outcome(tree, leaf, goal.positive),
        counterfactuals=found,
        looked_for=goal.words(tree, leaf),
        n_leaves=len(leaves),
        blocking_features=blocking,
        decides=format_decision(tree, goal.positive),
    )


# -- the path ---------------------------------------------------------------------------------------------


def _step(
    row: RowValues, node: int, answer: bool, deviations: Mapping[int, float], support: SplitSupport | None
) -> PathStep:
    from holdfast.tree.rules_text import branch_text

    tree, place = row.tree, int(row.tree.feature[node])
    feature, code, cut = tree.schema.features[place], row.code(place), float(tree.threshold[node])
    is_cut = not feature.is_subset and cut < KNOWN
    distance = abs(code - cut) if is_cut and not isnan(code) else None
    reads = row.custom_features[place].columns if place in row.custom_features else ()
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
    """Compute the standard deviation of each numeric column of the row in the data."""
    schema = row.tree.schema
    numeric = [each for each in row.codes if schema.features[each].kind == "numeric"]
    if data is None or not numeric:
        return {}
    rows = encode_rows(make_frame(data), schema, numeric)
    known = [column[~np.isnan(column)] for column in rows.T]
    return {each: float(column.std()) for each, column in zip(numeric, known, strict=True) if len(column)}


# -- plain data -------------------------------------------------------------------------------------------


def _change_facts(change: ValueChange) -> dict[str, Any]:
    is_counted = change.n_recorded is not None and not isnan(change.n_recorded)
    return {**asdict(change), "n_recorded": change.n_recorded if is_counted else None}


def _outcome_facts(outcome: LeafOutcome) -> dict[str, Any]:
    facts = asdict(outcome)
    if outcome.survival is None:
        del facts["survival"]
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
    """The outcome that a change of a row should lead to; by default any other outcome."""

    wanted: Label | None = None  # a class; of numbers, "up" or "down"
    threshold: float | None = None  # of the risk of the positive class: the other side of it is wanted
    least_change: float = 0.0  # of numbers
    positive: Label | None = None  # of two classes; None: that of the tree

    def leaves(self, tree: Tree, leaf: int) -> list[int]:
        """Find the leaves with the wanted outcome, which this leaf does not have."""
        leaves, shown = np.flatnonzero(tree.feature == LEAF), shown_values(tree)[:, 0]
        if self.threshold is not None:
            is_survival = tree.schema.target.is_survival
            values = shown if is_survival else tree.value[:, self._risk_column(tree)]
            risk = values >= check_fraction("threshold", self.threshold)
            taken = risk[leaves] != risk[leaf]
        elif tree.schema.target.is_classes:
            taken = (tree.outcome[leaves] != tree.outcome[leaf]) & self._is_wanted(tree)[leaves]
        else:
            taken = self._moved(shown[leaves] - shown[leaf])
        return [int(each) for each in leaves[taken].tolist()]

    def words(self, tree: Tree, leaf: int) -> str:
        """Describe the wanted outcome, as seen from this leaf."""
        target = tree.schema.target
        name = printable(target.name) if target.hazard is None else name_survival(target.hazard)
        if self.threshold is not None and target.hazard is not None:
            is_above = survive_horizon(target.hazard, float(tree.value[leaf, 0])) >= self.threshold
            side = "below" if is_above else "of at least"
            return f"{name} {side} {percent_text(self.threshold)}"
        if self.threshold is not None:
            place = self._risk_column(tree)
            side = "below" if tree.value[leaf, place] >= self.threshold else "of at least"
            return f"a risk of {label_text(target.classes[place])} {side} {number_text(self.threshold)}"
        if target.is_classes:
            return "another outcome" if self.wanted is None else f"the outcome {label_text(self.wanted)}"
        way = {"up": "a higher", "down": "a lower"}.get(str(self.wanted), "another")
        amount = f", by at least {number_text(self.least_change)}" if self.least_change else ""
        return f"{way} {name}{amount}"

    def _risk_column(self, tree: Tree) -> int:
        place = positive_class(tree, self.positive)
        if place is None:
            raise ParameterError(
                f"threshold={self.threshold!r} needs a target of two classes, and "
                f"{tree.schema.target.name!r} does not have two: leave it out."
            )
        check_fraction("threshold", self.threshold)
        return place

    def _is_wanted(self, tree: Tree) -> BoolArray:
        target = tree.schema.target
        if self.wanted is None:
            return np.ones(tree.n_nodes, np.bool_)
        if self.wanted not in target.classes:
            raise ParameterError(
                f"wanted={self.wanted!r} is not a class of {target.name!r}: choose one of "
                f"{quoted(target.classes)}."
            )
        return np.asarray(tree.outcome == target.classes.index(self.wanted), np.bool_)

    def _moved(self, differences: FloatArray) -> BoolArray:
        if self.wanted not in (None, "up", "down"):
            raise ParameterError(
                f"wanted={self.wanted!r} is unknown: for numbers, choose 'up', 'down' or None."
            )
        check_number("least_change", self.least_change)
        way = -1.0 if self.wanted == "down" else 1.0
        sizes = np.abs(differences) if self.wanted is None else way * differences
        return np.asarray((sizes > 0) & (sizes >= self.least_change), np.bool_)


# -- Why a tree predicts what it predicts for one row --------------------------------------------------------

WIDEST = 36  # columns of a condition
NEAR = 0.02  # of the range: a threshold this near is pointed out
DIGITS = 4  # of a number that was measured or computed
MOST_ALTERNATIVES = 4  # categories named


def row_explanation_view(found: RowExplanation) -> View:
    """The prediction, the path split by split, and what would change the prediction."""
    path: TextTable | str = ""
    if found.steps:
        rows = [[printable(each.condition), _step_words(each)] for each in found.steps]
        path = TextTable(["the path", "this row, and the split"], rows, sides="<<", wrap=(WIDEST, 60))
    changes = [
        f"{number}. {' and '.join(map(_change_words, each.changes))}: {_leads_to(each, found.target)}"
        for number, each in enumerate(found.counterfactuals, 1)
    ]
    return View(
        " ".join(_outcome_sentences(found)),
        "" if found.firmness is None else " ".join(found.firmness.sentences()),
        path,
        Section(_changes_title(found), changes) if changes else "",
        *_remarks(found),
    )


# -- the outcome ------------------------------------------------------------------------------------------


def _outcome_sentences(found: RowExplanation) -> list[str]:
    """Describe the outcome, its interval, and the decision threshold."""
    texts = [_outcome_sentence(found), interval_sentence(found.outcome), printable(found.decides)]
    return [*filter(None, texts)]


def _outcome_sentence(found: RowExplanation) -> str:
    outcome, name = found.outcome, printable(found.target.name)
    prediction = f"Prediction of {name}: {_prediction(outcome)}"
    if outcome.survival is not None:
        return f"Predicted {_prediction(outcome)}. {survival_sentence(found.target, outcome.survival)}"
    rows = f"{pluralize(outcome.n_rows, 'row')} like this one"
    if outcome.label is None:
        return f"{prediction}. In training there were {rows}{_mean_words(outcome)}."
    if outcome.observed is None or outcome.interval is None:
        return f"{prediction}, {_risk(outcome)}."
    interval = "" if outcome.is_about_estimate else f" (95 % interval {percent_range(*outcome.interval)})"
    if outcome.is_as_observed and not outcome.is_weighted:
        return f"{prediction}, {_risk(outcome)}: {_frequency(outcome)} rows like this one{interval}."
    label, by_weight = label_text(outcome.label), "by weight " if outcome.is_weighted else ""
    return (
        f"{prediction}. The tree's estimate for {label} is {rounded_percent(outcome.estimate)}. Of {rows}, "
        f"{_count(outcome)} {'was' if round(outcome.count or 0.0) == 1 else 'were'} {label}: "
        f"{by_weight}{rounded_percent(outcome.observed)}{interval}."
    )


def _mean_words(outcome: LeafOutcome) -> str:
    """Describe the mean of the rows and its interval, if they are known."""
    if outcome.observed is None or (outcome.interval is None and outcome.is_as_observed):
        return ""
    ends = ""
    if outcome.interval is not None and not outcome.is_about_estimate:
        ends = f" (95 % interval {' to '.join(distinct_texts(*outcome.interval))})"
    return f", with mean {number_text(outcome.observed, DIGITS)}{ends}"


def _prediction(outcome: LeafOutcome) -> str:
    if outcome.survival is not None:
        return join_value(outcome.statistic, rounded_percent(outcome.survival.survival))
    if outcome.label is None:
        return f"{outcome.statistic} {number_text(float(outcome.prediction), DIGITS)}".strip()
    return label_text(outcome.prediction)


def _risk(outcome: LeafOutcome) -> str:
    return f"probability of {label_text(outcome.label)} {rounded_percent(outcome.probability or 0.0)}"


def _frequency(outcome: LeafOutcome) -> str:
    return f"{_count(outcome)} of {outcome.n_rows:,.0f}"


def _count(outcome: LeafOutcome) -> str:
    """Format the rows of the class; shrunk or weighted values have no whole counts."""
    count = outcome.count or 0.0
    about = "" if abs(count - round(count)) < 1e-6 else "about "
    return f"{about}{round(count):,}"


# -- the path ---------------------------------------------------------------------------------------------


def _step_words(step: PathStep) -> str:
    """Describe the value, its distance to the other branch, and the support of the split."""
    words = [", ".join(filter(None, [_value_words(step), _nearness(step)]))]
    if step.support is not None:
        words.append(support_words(step.support))
    elif step.low_support is not None:
        words.append(support_text(step.low_support))
    return "; ".join(words).replace(" %", f"{NO_BREAK}%")


def _value_words(step: PathStep) -> str:
    name = printable(step.feature)
    if step.reads:
        values = ", ".join(f"{printable(column)} is {_value(value)}" for column, value in step.reads)
        return (
            values
            if step.state == "known"
            else f"{values}, so the split is undecided: it goes with missing values"
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
    """Describe the distance to the other branch, and whether it is near."""
    if step.distance is None or step.share is None:
        return ""
    share = f"{rounded_percent(step.share)} of its range"
    if step.deviations is not None:
        share = f"{share}, {number_text(step.deviations, 2)} standard deviations"
    near = ": near" if step.share <= NEAR else ""
    if step.threshold is None:
        return ""  # between two categories of an ordered feature: the value itself shows it
    side = "below" if step.answer else "above"
    return f"{number_text(step.distance, DIGITS)} {side} ({share}){near}"


# -- what would change it ---------------------------------------------------------------------------------


def _changes_title(found: RowExplanation) -> str:
    one = len(found.counterfactuals) == 1
    return f"The smallest change{'' if one else 's'} that would lead to {found.looked_for}"


def _change_words(change: ValueChange) -> str:
    new, old = _value(change.new), _value(change.old)
    others = [_value(label) for label in change.alternatives]
    also = f" (or {join_parts(others, MOST_ALTERNATIVES)})" if others else ""
    return f"{printable(change.column)} from {old} to {new}{also}"


def _leads_to(each: Counterfactual, target: Target) -> str:
    outcome = each.outcome
    recorded = "".join(_recorded_words(change, outcome.n_rows) for change in each.changes)
    if outcome.survival is not None:
        risk, events = risk_text(outcome.survival.risk), events_text(outcome.survival)
        return f"{_prediction(outcome)}, risk {risk} ({events}){recorded}"
    if outcome.label is None:
        rows = pluralize(outcome.n_rows, "row")
        return f"{printable(target.name)} {_prediction(outcome)} ({rows}){recorded}"
    words = "" if outcome.is_as_observed else "observed: "
    seen = f" ({words}{_frequency(outcome)})" if outcome.n_rows else ""
    return f"{_prediction(outcome)}, {_risk(outcome)}{seen}{recorded}"


def _recorded_words(change: ValueChange, n_rows: float) -> str:
    """Describe how many rows of the leaf had a value of the column, where some had none."""
    name = printable(change.column)
    if change.n_recorded is None:
        return ""
    if isnan(change.n_recorded):
        return f"; not all of these rows had {name} recorded"
    return f"; {change.n_recorded:,.0f} of {n_rows:,.0f} had {name} recorded"


def _remarks(found: RowExplanation) -> list[str]:
    """Explain why there are no changes, or fewer."""
    remarks = []
    if not found.n_leaves:
        remarks.append(f"No leaf of the tree has {found.looked_for}.")
    elif not found.counterfactuals and not found.blocking_features:
        remarks.append(f"No change that is allowed leads to {found.looked_for}.")
    if found.blocking_features:
        features = join_parts([f"({printable(text)})" for text in found.blocking_features], 3)
        remarks.append(
            f"Leaves that need another value of {features} were left out: a custom feature cannot be "
            "changed directly."
        )
    return remarks
