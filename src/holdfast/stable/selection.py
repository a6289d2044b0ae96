"""Choose one tree of the frontier by a rule, state the reason, and show the frontier as a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from holdfast._arrays import LongArray, round_last_digits
from holdfast._check import check_choice, check_number, is_integer
from holdfast._choices import NOISE_AWARE, SELECTION_RULES, TOLERANCE_UNITS
from holdfast._text import (
    distinct_texts,
    estimate_text,
    join_parts,
    loss_text,
    number_text,
    percent_text,
    pluralize,
    shorten,
)
from holdfast._view import TextTable, View, ViewMixin
from holdfast.errors import ParameterError
from holdfast.scoring.metric import Metric
from holdfast.stable.frontier import ComparisonSet, Frontier, pareto_frontier
from holdfast.stable.settings import BY_NUMBER, SCORE_TOLERANCE, TEACHER_TOLERANCE


@dataclass(frozen=True, repr=False)
class Choice(ViewMixin):
    """The chosen candidate and the reason.

    Examples
    --------
    >>> print(Choice(3, "knee", "It stands at the knee of the frontier."))
    Candidate 3. It stands at the knee of the frontier.
    """

    candidate: int  # its place among the candidates
    selection_rule: str
    reason: str
    frontier: Frontier | None = field(default=None, compare=False)  # that it was chosen from

    def __repr__(self) -> str:
        return f"Candidate {self.candidate}. {self.reason}"

    __str__ = __repr__

    def _view(self) -> View:
        reason = f"Candidate {self.candidate} is chosen. {self.reason}"
        return View(reason) if self.frontier is None else View(reason, _make_table(self.frontier))


@dataclass(frozen=True)
class SelectionRule:
    """The rule by which a tree of the frontier is chosen, and its parameters."""

    selection_rule: str = "within-tolerance"
    tolerance: float | None = None  # None: the default of the unit
    tolerance_unit: str | None = None  # None: the default of the method and the metric
    instability_weight: float | None = None  # score that one unit of instability is worth, for "weighted"
    max_leaf_nodes: int | None = None  # for consensus trees: only those with at most this limit of leaves
    candidate: int | None = None  # choose this one instead of applying the rule

    def __post_init__(self) -> None:
        check_choice("selection_rule", self.selection_rule, SELECTION_RULES)
        check_choice("tolerance_unit", self.tolerance_unit, TOLERANCE_UNITS, none_ok=True)
        check_number("tolerance", self.tolerance, none_ok=True)
        for name, what in (("max_leaf_nodes", "size"), ("candidate", "row")):
            number = getattr(self, name)
            if number is not None and not is_integer(number):
                raise ParameterError(
                    f"{name}={number!r} must be an integer: choose a {what} of the frontier."
                )
        if self.selection_rule == "weighted":
            if self.instability_weight is None:
                raise ParameterError(
                    "selection_rule='weighted' needs instability_weight, the score that one unit of "
                    "instability is worth: choose('weighted', instability_weight=0.001)."
                )
            check_number("instability_weight", self.instability_weight)


def make_selection_rule(parameters: Mapping[str, Any], **changes: Any) -> SelectionRule:
    """Make the selection rule of the parameters of a stable tree, with changes."""
    rule = {each.name: parameters[each.name] for each in fields(SelectionRule) if each.name in parameters}
    if parameters.get("method", "consensus") != "consensus" or isinstance(rule.get("max_leaf_nodes"), str):
        rule["max_leaf_nodes"] = None  # no limit for the choice
    return SelectionRule(**{**rule, **changes})


def choose(frontier: Frontier, metric: Metric, rule: SelectionRule) -> Choice:
    """Choose a candidate by the rule.

    It is efficient, unless one is named or the rule allows a loss to the teacher; in the latter case no
    candidate within that loss beats it. With a limit of leaves, only candidates within it are compared.
    """
    if rule.candidate is not None:
        return _choose_named(frontier, metric, rule)
    if (constant := _choose_constant(frontier, rule)) is not None:
        return constant
    places, whole = _select_sizes(frontier, rule), frontier
    if len(places) < len(frontier):
        frontier = frontier.subset(places)
    rules = {
        "best-score": _best_score,
        "most-stable": _most_stable,
        "weighted": _weighted,
        "within-tolerance": _within_tolerance,
        "knee": _knee,
    }
    candidate, reason = rules[rule.selection_rule](frontier, metric, rule)
    place = int(places[candidate])
    marked = mark_choice(whole, rule, place)
    among = np.flatnonzero(np.isin(places, _compared_places(marked)))
    beaten = "" if marked.compared is None else _describe_better(marked, metric, rule, places)
    sentences = [reason, _describe_figures(frontier, metric, candidate, among), beaten]
    return Choice(place, rule.selection_rule, " ".join(filter(None, sentences)), marked)


def mark_choice(frontier: Frontier, rule: SelectionRule, candidate: int) -> Frontier:
    """Mark on the frontier the chosen candidate and those that the rule compares it with.

    A rule with a tolerance of the teacher compares consensus trees with those of their own size within the
    tolerance; a tree of one leaf is compared with every candidate.
    """
    marked = replace(frontier, chosen=candidate, compared=None)
    limits = frontier.max_leaf_nodes
    by_teacher = rule.selection_rule == "within-tolerance" and rule.tolerance_unit in (None, "teacher")
    if not by_teacher or limits is None or limits[candidate] == 1:
        return marked
    near, tolerance = _near_teacher(frontier, rule, int(limits[candidate]))
    if len(near) == len(frontier):
        return marked
    left_out = f"loses more than {percent_text(tolerance)}"
    if (limits != limits[candidate]).any():
        left_out = f"is of another size, or {left_out}"
    return replace(marked, compared=ComparisonSet(tuple(near.tolist()), left_out))


def _choose_named(frontier: Frontier, metric: Metric, rule: SelectionRule) -> Choice:
    """Choose the candidate that the rule names."""
    assert rule.candidate is not None
    place = int(rule.candidate)
    if not 0 <= place < len(frontier):
        raise ParameterError(
            f"candidate={place} is not on the frontier, which has the candidates 0 to {len(frontier) - 1}."
        )
    rule = replace(rule, max_leaf_nodes=None)  # all sizes are compared
    marked = mark_choice(frontier, rule, place)
    sentences = [
        "It was requested by its number.",
        _describe_figures(frontier, metric, place, _compared_places(marked)),
        _describe_better(marked, metric, rule, np.arange(len(frontier))),
    ]
    return Choice(place, BY_NUMBER, " ".join(filter(None, sentences)), marked)


def _compared_places(frontier: Frontier) -> LongArray:
    """The candidates that are compared."""
    return np.arange(len(frontier)) if frontier.compared is None else np.array(frontier.compared.places)


def _choose_constant(frontier: Frontier, rule: SelectionRule) -> Choice | None:
    """Choose the tree of one leaf if none is clearly better and the rule names no size; else None."""
    test = frontier.baseline
    if (
        test is None
        or test.is_better
        or 1 not in frontier.sizes
        or rule.max_leaf_nodes
        or rule.selection_rule != SELECTION_RULES[0]
    ):
        return None
    place = len(frontier) - 1
    reason = (
        f"It is one leaf, because larger trees are {test.finding} Name a number of leaves or a candidate to "
        "see a tree all the same."
    )
    return Choice(place, rule.selection_rule, reason, mark_choice(frontier, rule, place))


def _describe_better(frontier: Frontier, metric: Metric, rule: SelectionRule, among: LongArray) -> str:
    """Describe the most stable candidate that beats the chosen one in both; empty if none does.

    Consensus trees of its own size and tolerance come first, then all.
    """
    place = frontier.chosen
    assert place is not None
    if frontier.efficient[place]:
        return ""
    d, a = frontier.instability, frontier.score
    better = (d <= d[place]) & (a >= a[place]) & ((d < d[place]) | (a > a[place]))
    better &= np.isin(np.arange(len(frontier)), among)
    if not better.any():
        return ""
    comparable = better & np.isin(np.arange(len(frontier)), _compared_places(frontier))
    places = np.flatnonzero(comparable if comparable.any() else better)
    other = _nearest(frontier, places[pareto_frontier(d[places], a[places])])
    figures = (
        f"instability {number_text(float(d[other]), 4)}, {metric.title} "
        f"{score_text(metric, float(a[other]))}, {_leaves_text(frontier, other)}"
    )
    if comparable.any():
        return f"Candidate {other} beats it: {figures}."
    return (
        f"Candidate {other}, which {_describe_exclusion(frontier, rule, other)}, is more stable and better: "
        f"{figures}."
    )


def _describe_exclusion(frontier: Frontier, rule: SelectionRule, other: int) -> str:
    """Describe why a candidate is not compared with the chosen one."""
    limits, losses = frontier.max_leaf_nodes, frontier.student_loss
    assert limits is not None
    assert losses is not None
    assert frontier.chosen is not None
    if limits[other] != limits[frontier.chosen]:
        return f"has a limit of {limits[other]} leaves"
    tolerance = _near_teacher(frontier, rule, int(limits[other]))[1]
    return f"loses {loss_text(float(losses[other]))} of the teacher (allowed: {percent_text(tolerance)})"


def _select_sizes(frontier: Frontier, rule: SelectionRule) -> LongArray:
    """Select the candidates whose limit of leaves the rule allows."""
    size, places = rule.max_leaf_nodes, np.arange(len(frontier))
    if size is None:
        return places
    if frontier.max_leaf_nodes is None:
        raise ParameterError(
            f"max_leaf_nodes={size} chooses among consensus trees of several sizes, which this "
            f"method does not make: fit again with max_leaf_nodes={size}."
        )
    if size not in frontier.sizes:
        raise ParameterError(
            f"max_leaf_nodes={size} is not on the frontier, which has trees of at most "
            f"{join_parts(list(map(str, frontier.sizes)))} leaves: choose one of these, or fit again with "
            f"max_leaf_nodes={size}."
        )
    limits = frontier.max_leaf_nodes
    # A greater size is requested although one leaf would do: the tree of one leaf is left out.
    return places[(limits <= size) & ((limits > 1) | (size == 1))]


# -- the rules ------------------------------------------------------------------------------------------


def _best_score(frontier: Frontier, metric: Metric, rule: SelectionRule) -> tuple[int, str]:
    return _best(frontier), f"It has the best {metric.title} of {_candidates_text(frontier)}."


def _most_stable(frontier: Frontier, metric: Metric, rule: SelectionRule) -> tuple[int, str]:
    candidate = _nearest(frontier, np.arange(len(frontier)))
    return candidate, f"It is the nearest to the reference trees of {_candidates_text(frontier)}."


def _weighted(frontier: Frontier, metric: Metric, rule: SelectionRule) -> tuple[int, str]:
    gamma = float(rule.instability_weight or 0.0)
    worth = round_last_digits(frontier.score - gamma * frontier.instability)
    best = np.flatnonzero(worth == worth.max())
    reason = (
        f"It is the best of {_candidates_text(frontier)} if one unit of distance counts as much as "
        f"{number_text(gamma)} of {metric.title}."
    )
    return _nearest(frontier, best), reason


def _within_tolerance(frontier: Frontier, metric: Metric, rule: SelectionRule) -> tuple[int, str]:
    if (rule.tolerance_unit or default_unit(frontier, metric, rule.tolerance)) == "teacher":
        return _within_teacher(frontier, metric, rule)
    best = _best(frontier)
    top = float(frontier.score[best])
    loss, unit = _loss_allowed(frontier, metric, rule, best)
    slack = 1e-12 * max(abs(top), loss)  # 0.7 is within 0.1 of 0.8, in spite of rounding
    near = np.flatnonzero(frontier.score >= top - loss - slack)
    of_them = f"of the {len(near)} candidates" if len(near) > 1 else "and the only one of the candidates"
    reason = (
        f"It is the most stable {of_them} whose {metric.title} is within {unit} of the best, "
        f"{score_text(metric, top)}."
    )
    return _nearest(frontier, near), reason


def _within_teacher(frontier: Frontier, metric: Metric, rule: SelectionRule) -> tuple[int, str]:
    """Choose the most stable tree of the greatest size within the tolerance of the teacher.

    Scores do not choose between sizes: on one sample of rows their differences are mostly noise.
    """
    if frontier.max_leaf_nodes is None:
        raise ParameterError(
            "tolerance_unit='teacher' is for method='consensus': other methods have no teacher."
        )
    limit = int(frontier.max_leaf_nodes.max())
    near, tolerance = _near_teacher(frontier, rule, limit)
    candidate = _nearest(frontier, near)
    with_limit = f" with a limit of {limit} leaves" if len(frontier.sizes) > 1 else ""
    reason = (
        f"It is the most stable tree{with_limit} that loses at most {percent_text(tolerance)} of the "
        "student's fit to the teacher."
    )
    size = frontier.size_reason if rule.max_leaf_nodes is None else ""
    return candidate, " ".join(filter(None, [reason, size]))


def _near_teacher(frontier: Frontier, rule: SelectionRule, limit: int) -> tuple[LongArray, float]:
    """Find the candidates of a size within the tolerance, which is raised to the least loss if none is."""
    losses, limits = frontier.student_loss, frontier.max_leaf_nodes
    assert losses is not None
    assert limits is not None
    tolerance = TEACHER_TOLERANCE if rule.tolerance is None else rule.tolerance
    tolerance = max(tolerance, float(losses[limits == limit].min()))
    return np.flatnonzero((limits == limit) & (losses <= tolerance + 1e-9)), tolerance


def _knee(frontier: Frontier, metric: Metric, rule: SelectionRule) -> tuple[int, str]:
    """Choose the efficient tree farthest from the line between the two ends of the frontier."""
    order = frontier.efficient_order
    d, a = frontier.instability[order], frontier.score[order]
    if len(order) < 3:
        points = "one point" if len(order) == 1 else f"{len(order)} different points"
        return int(order[0]), f"The frontier has {points}, too few for a knee: it is the most stable."
    beyond = (a - a[0]) / (a[-1] - a[0]) - (d - d[0]) / (d[-1] - d[0])
    reason = (
        "It is at the knee of the frontier: beyond it, a better score costs more instability than before it."
    )
    return int(order[int(round_last_digits(beyond).argmax())]), reason


def _loss_allowed(frontier: Frontier, metric: Metric, rule: SelectionRule, best: int) -> tuple[float, str]:
    """Compute the loss of score that the tolerance allows, and format the tolerance."""
    unit = rule.tolerance_unit or default_unit(frontier, metric, rule.tolerance)
    if unit == NOISE_AWARE:
        return _loss_or_error(frontier, metric, rule, best)
    tolerance = SCORE_TOLERANCE if rule.tolerance is None else rule.tolerance
    if unit == "relative":
        top = abs(float(frontier.score[best]))
        return tolerance * top, percent_text(tolerance)
    if unit == "standard-error":
        error = float(frontier.score_error[best])
        errors = "one standard error" if tolerance == 1 else f"{tolerance:g} standard errors"
        return tolerance * error, f"{errors} ({number_text(tolerance * error, 3)})"
    return tolerance, number_text(tolerance)


def _loss_or_error(frontier: Frontier, metric: Metric, rule: SelectionRule, best: int) -> tuple[float, str]:
    """Compute the default loss of the metric or, if that is more, one standard error."""
    usual = replace(rule, tolerance_unit=metric.default_tolerance_unit)
    error = replace(rule, tolerance=1.0, tolerance_unit="standard-error")
    ways = [_loss_allowed(frontier, metric, each, best) for each in (usual, error)]
    return max(ways, key=lambda way: way[0])


def default_unit(frontier: Frontier, metric: Metric, tolerance: float | None) -> str:
    """The default unit of a tolerance."""
    if frontier.has_teacher:
        return "teacher"
    return NOISE_AWARE if tolerance is None else metric.default_tolerance_unit


# -- ties -----------------------------------------------------------------------------------------------


def _best(frontier: Frontier) -> int:
    """The best score; ties go to the most stable, then to the smallest tree, then to the first."""
    return int(np.lexsort((frontier.n_leaves, frontier.instability, -frontier.score))[0])


def _nearest(frontier: Frontier, among: LongArray) -> int:
    """The most stable; ties go to the best score, then to the smallest tree, then to the first."""
    keys = (frontier.n_leaves[among], -frontier.score[among], frontier.instability[among])
    return int(among[np.lexsort(keys)[0]])


# -- words ----------------------------------------------------------------------------------------------


def score_text(metric: Metric, value: float) -> str:
    """Format a score, losses as positive numbers."""
    return number_text(metric.shown(value), 4)


def _describe_figures(frontier: Frontier, metric: Metric, candidate: int, among: LongArray) -> str:
    """Describe the figures of the candidate, and the trade-off to the best score of those compared."""
    best, within = _best(frontier), ""
    if best not in among and candidate in among:
        best, within = int(among[_best(frontier.subset(among))]), " within the tolerance"
    d, a = float(frontier.instability[candidate]), float(frontier.score[candidate])
    top_d = float(frontier.instability[best])
    known = f"{metric.title} {score_text(metric, a)}, {_leaves_text(frontier, candidate)}"
    own, top = distinct_texts(d, top_d)
    if not d < top_d or own == top:
        return f"Instability {number_text(d, 4)}, {known}."
    return (
        f"Instability {own}, {known}. Compared with the tree of the best {metric.title}{within} (instability "
        f"{top}, {_leaves_text(frontier, best)}), the instability is {percent_text(1 - d / top_d)} lower, at "
        f"a cost of {number_text(abs(float(frontier.score[best]) - a), 3)} in {metric.title}."
    )


def _leaves_text(frontier: Frontier, candidate: int) -> str:
    return pluralize(int(frontier.n_leaves[candidate]), "leaf", "leaves")


def _candidates_text(frontier: Frontier) -> str:
    return "one candidate" if len(frontier) == 1 else f"the {len(frontier)} candidates"


# -- The frontier as a table ---------------------------------------------------------------------------------

WIDEST_TITLE = 19  # of the score
LOST = "of the teacher lost"  # heading of the loss of consensus trees


def frontier_view(frontier: Frontier) -> View:
    """Show the efficient candidates, the most stable first; of consensus trees all candidates.

    The chosen one is marked, and is listed even if it is not efficient.
    """
    return View(_make_table(frontier))


def _make_table(frontier: Frontier) -> TextTable:
    order, chosen = shown_order(frontier).tolist(), frontier.chosen
    title = "score" if frontier.metric is None else frontier.metric.title
    lost = LOST if frontier.has_teacher else "size-adjusted"
    headings = ["candidate", "instability", lost, shorten(title, WIDEST_TITLE), "leaves", "depth"]
    return TextTable(
        headings,
        [_cells(frontier, place) for place in order],
        title=_make_title(frontier),
        note="" if chosen is None else "* chosen",
        sides=">>>>>>",
        widths=(9, 21, len(lost), 19, 6, 5),
        marked=[] if chosen is None else [order.index(chosen)],
        whole="to_frame() of the frontier",
    )


def unbeaten_places(frontier: Frontier) -> set[int]:
    """Find the candidates that none of those compared beats, with all that are equal in both."""
    d, a = frontier.instability, frontier.score
    points = {(d[place], a[place]) for place in frontier.unbeaten}
    among = range(len(frontier)) if frontier.compared is None else frontier.compared.places
    return {place for place in among if (d[place], a[place]) in points}


def _make_title(frontier: Frontier) -> str:
    if frontier.has_teacher:
        sizes = ", ".join(map(str, reversed(frontier.sizes)))
        each = f"number of leaves ({sizes}) and tolerance" if sizes else "tolerance"
        return f"{pluralize(len(frontier), 'candidate')}, one for each {each}:"
    n_efficient = frontier.efficient.sum()
    verb = "is" if n_efficient == 1 else "are"
    return f"{n_efficient} of {pluralize(len(frontier), 'candidate')} {verb} efficient:"


def shown_order(frontier: Frontier) -> LongArray:
    """Order the candidates of tables, the most stable first: the efficient ones, or all consensus trees.

    Candidates equal in all columns, such as one tree found with several tolerances, are listed once. The
    chosen one is always listed.
    """
    chosen = [] if frontier.chosen is None else [frontier.chosen]
    listed = range(len(frontier)) if frontier.has_teacher else frontier.efficient_order.tolist()
    losses = [] if frontier.teacher_loss is None else [frontier.teacher_loss]
    known = (frontier.n_leaves, *losses, -frontier.score, frontier.instability)
    lines: dict[tuple[float, ...], int] = {}
    for place in (*chosen, *listed):
        lines.setdefault(tuple(float(column[place]) for column in known), place)
    places = np.array(list(lines.values()), np.int64)
    return places[np.lexsort(tuple(column[places] for column in known))]


def lost_text(frontier: Frontier, place: int) -> str:
    """Format the loss of a consensus tree relative to the teacher; empty without a teacher."""
    if frontier.teacher_loss is None:
        return ""
    return loss_text(float(frontier.teacher_loss[place]))


def leaves_text(frontier: Frontier, place: int) -> str:
    """Format the number of leaves, for a consensus tree with its limit: 9 of 12."""
    n_leaves = str(frontier.n_leaves[place])
    return n_leaves if frontier.max_leaf_nodes is None else f"{n_leaves} of {frontier.max_leaf_nodes[place]}"


def _cells(frontier: Frontier, place: int) -> list[str]:
    score = float(frontier.score[place])
    read = score if frontier.metric is None else frontier.metric.shown(score)
    return [
        f"{place} *" if place == frontier.chosen else str(place),
        estimate_text(frontier.instability[place], frontier.instability_error[place], room=7),
        lost_text(frontier, place) or f"{frontier.size_adjusted[place]:.2f}",
        estimate_text(read, frontier.score_error[place], room=6),
        leaves_text(frontier, place),
        str(frontier.depth[place]),
    ]
