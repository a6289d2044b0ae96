"""Survival at the nodes of a tree: Kaplan-Meier curves of the rows, and what the tree predicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, fsum, log

import numpy as np

from holdfast._arrays import FloatArray, round_last_digits
from holdfast._text import count_text, number_text, percent_range, plural, pluralize, rounded_percent
from holdfast.data.schema import Hazard, Target
from holdfast.data.survival import (
    EventTable,
    SurvivalCurve,
    SurvivalTimes,
    count_events,
    count_years,
    cumulative_hazard,
    find_median,
    join_value,
    kaplan_meier,
    lost_fraction,
    name_survival,
    pool_times,
    read_curve,
    survival_function,
    survive_horizon,
    time_text,
)
from holdfast.data.table import Table
from holdfast.tree.tree import LEAF, Tree

MOST_TIMES = 300  # of the curve of a node
INTERVALS = (4, 5, 3, 6)  # of an axis of time, the best first
BETWEEN = 3  # parts of an interval: rows at risk are counted at the ends of each
MOST_EXPECTED = -log(0.025)  # events that rows without an event may have been expected to have


def set_curves(tree: Tree, table: Table) -> Tree:
    """Count events and rows at risk at every node of a survival tree.

    Weights are scaled at every node, so that there are as many rows as the node counts.
    """
    survival, hazard = table.survival, tree.schema.target.hazard
    if survival is None or hazard is None:
        return tree
    leaves = tree.apply(table)
    order = np.argsort(leaves, kind="stable")
    starts = np.searchsorted(leaves[order], np.arange(tree.n_nodes))
    ends = np.searchsorted(leaves[order], tree.subtree_end)
    ticks = list_ticks(hazard)
    curves = []
    for start, end, count in zip(starts.tolist(), ends.tolist(), tree.count.tolist(), strict=True):
        own = order[start:end]
        lines = survival.subset(own)
        weight = None if table.weight is None else table.weight[own]
        if weight is not None and (total := fsum(weight.tolist())) > 0:
            weight = weight * (count / total)
        pooled = pool_times(count_events(lines.time, lines.event, lines.entry, weight), MOST_TIMES)
        extra = np.setdiff1d(ticks, pooled.time)
        at_ticks = count_events(lines.time, lines.event, lines.entry, weight, extra)
        times = np.append(pooled.time, extra)
        place = np.argsort(times, kind="stable")
        at_risk = np.append(pooled.at_risk, at_ticks.at_risk)[place]
        events = np.append(pooled.events, np.zeros(len(extra)))[place]
        curves.append(EventTable(times[place], round_last_digits(at_risk), round_last_digits(events)))
    return tree.replace(curves=tuple(curves))


def merge_curves(
    tree: Tree, old: Sequence[EventTable], shares: FloatArray, dropped: Sequence[int] = ()
) -> Tree:
    """Add shares of old curves to those of the leaves of a tree, (nodes, old nodes), and sum them above.

    The rows of the tree do not count in the leaves `dropped`.
    """
    assert tree.curves is not None
    parts: list[list[tuple[float, EventTable]]] = []
    for leaf, own in enumerate(tree.curves):
        found = [] if leaf in dropped else [(1.0, own)]
        found += [(float(shares[leaf, place]), old[place]) for place in np.flatnonzero(shares[leaf]).tolist()]
        parts.append(found if tree.feature[leaf] == LEAF else [])
    curves = []
    for node, end in enumerate(tree.subtree_end.tolist()):
        within = [part for own in parts[node:end] for part in own]
        times = np.unique(np.concatenate([table.time for _, table in within]))
        at_risk, events = np.zeros(len(times)), np.zeros(len(times))
        for share, table in within:
            place = np.searchsorted(table.time, times)  # the number at risk holds since the time before
            at_risk += share * np.append(table.at_risk, 0.0)[place]
            events[np.searchsorted(times, table.time)] += share * table.events
        curves.append(pool_times(EventTable(times, *map(round_last_digits, (at_risk, events))), MOST_TIMES))
    return tree.replace(curves=tuple(curves))


def list_ticks(hazard: Hazard) -> FloatArray:
    """List evenly spaced times from 0 to the horizon; every third is a tick, at whole years if possible.

    >>> list_ticks(Hazard((), (), 1825.0, unit="days"))[::3]
    array([   0.,  365.,  730., 1095., 1460., 1825.])
    """
    years = count_years(hazard.horizon, hazard.unit)
    intervals = next((each for each in INTERVALS if years and years % each == 0), INTERVALS[0])
    return np.linspace(0.0, hazard.horizon, BETWEEN * intervals + 1)


@dataclass(frozen=True)
class NodeSurvival:
    """Predicted and observed survival of the rows at a node.

    Parameters
    ----------
    node : int
    n_rows, n_events : float
        Training rows and, by weight, events.
    risk : float
        Relative risk that the tree predicts: events by events expected from the hazard of all rows.
    horizon : float
    survival : float
        Predicted probability to survive the horizon.
    observed : float, optional
        Kaplan-Meier estimate at the horizon; None if no row was observed so long.
    interval : tuple of float, optional
        Its 95 % interval.
    median : float, optional
        Observed median survival time; None if more than half of the rows survive their observation.
    restricted_mean : float
        Predicted mean survival time up to the horizon.
    """

    node: int
    n_rows: float
    n_events: float
    risk: float
    horizon: float
    survival: float
    observed: float | None
    interval: tuple[float, float] | None
    median: float | None
    restricted_mean: float

    @cached_property
    def is_outside(self) -> bool:
        """True if the prediction lies outside the interval of the observed survival, in whole percent."""
        if self.interval is None:
            return False
        low, own, high = (round(100 * each) for each in (self.interval[0], self.survival, self.interval[1]))
        return not low <= own <= high


def node_survival(tree: Tree, node: int, level: float = 0.95) -> NodeSurvival:
    """Summarise predicted and observed survival at a node."""
    hazard = get_hazard(tree)
    risk = float(tree.value[node, 0])
    curve = node_curve(tree, node, level)
    observed, interval, median = None, None, None
    n_events = float(tree.weight[node] * tree.observed_mean[node, 0])
    if curve is not None and tree.count[node] > 0:
        n_events, median = float(curve.events.sum()), find_median(curve)
        observed, interval = observe_horizon(curve, hazard, float(tree.weight[node]))
    return NodeSurvival(
        node,
        float(tree.count[node]),
        n_events,
        risk,
        hazard.horizon,
        survive_horizon(hazard, risk),
        observed,
        interval,
        median,
        hazard.horizon * (1.0 - float(lost_fraction(hazard, risk))),
    )


def observe_horizon(
    curve: SurvivalCurve, hazard: Hazard, expected: float
) -> tuple[float | None, tuple[float, float] | None]:
    """Return observed survival to the horizon and its interval; None if no row was observed so long.

    `expected` is the number of events expected in these rows.
    """
    observed, low, high = read_curve(curve, hazard.horizon)
    later = int(np.searchsorted(curve.time, hazard.horizon))
    if observed > 0 and not (later < len(curve.time) and curve.at_risk[later] > 0):
        return None, None  # the last of the rows was censored before
    if observed == 1.0 and expected > 0:  # no event so far: a band of no width
        reach = MOST_EXPECTED / expected * float(cumulative_hazard(hazard, hazard.horizon))
        return observed, (exp(-reach), 1.0)
    if observed == 0.0:
        inside = curve.high[curve.survival > 0]
        return observed, (0.0, float(inside[-1]) if len(inside) else 1.0)
    return observed, (low, high)


def describe_observed(times: SurvivalTimes, weight: FloatArray | None, hazard: Hazard) -> str:
    """Format observed survival of rows to the horizon with its interval: "54 % (42 to 64 %)"."""
    ends = np.unique(np.append(times.time[times.event], hazard.horizon))
    counts = count_events(times.time, times.event, times.entry, weight, ends)
    own = times.exposure if weight is None else times.exposure * weight
    observed, interval = observe_horizon(kaplan_meier(counts), hazard, fsum(own.tolist()))
    if observed is None or interval is None:
        return "not observed so long"
    return f"{rounded_percent(observed)} ({percent_range(*interval)})"


def node_curve(tree: Tree, node: int, level: float = 0.95) -> SurvivalCurve | None:
    """Return the Kaplan-Meier curve of a node with its bands; None if the tree has no curves."""
    return None if tree.curves is None else kaplan_meier(tree.curves[node], level)


def shown_values(tree: Tree, by: Hazard | None = None) -> FloatArray:
    """Return the values of the nodes; of relative risks, survival to the horizon, or that of another tree."""
    hazard = tree.schema.target.hazard
    if hazard is None:
        return tree.value
    return survival_function(hazard, tree.value[:, 0], [(by or hazard).horizon])


def get_hazard(tree: Tree) -> Hazard:
    """Return the hazard of all rows of a survival tree."""
    hazard = tree.schema.target.hazard
    assert hazard is not None, "the target is no time to an event"
    return hazard


# -- texts ---------------------------------------------------------------------------------------------------


def survival_text(found: NodeSurvival) -> str:
    """Format the predicted survival with the interval of the observed one: "83 % (76 to 88)"."""
    text = rounded_percent(found.survival)
    if found.interval is None:
        return text
    ends = percent_range(*found.interval).removesuffix(" %")
    own = f"observed {rounded_percent(found.observed or 0.0)}, " if found.is_outside else ""
    return f"{text} ({own}{ends})"


def risk_text(risk: float) -> str:
    """Format a relative risk to two decimals, or to two digits if it is smaller.

    >>> risk_text(0.2637), risk_text(0.0012), risk_text(12.345)
    ('0.26', '0.0012', '12.35')
    """
    return number_text(risk, 2) if 0 < risk < 0.005 else f"{risk:.2f}"


def events_text(found: NodeSurvival, in_words: bool = True) -> str:
    """Format events and rows: "7 events in 33 rows", or "7 of 33"."""
    number, by_weight = _events_number(found)
    if not in_words:
        return f"{number} of {count_text(found.n_rows)}"
    return f"{number} event{'s' * (number != '1')}{by_weight} in {pluralize(found.n_rows, 'row')}"


def _events_number(found: NodeSurvival) -> tuple[str, str]:
    """Format the number of events, with a remark if weights make it a fraction."""
    if is_counted(found):
        return count_text(round(found.n_events)), ""
    return number_text(round(found.n_events, 1)), " by weight"


def is_counted(found: NodeSurvival) -> bool:
    """Return True unless weights make the number of events a fraction."""
    return abs(found.n_events - round(found.n_events)) < 1e-3


def median_text(tree: Tree, found: NodeSurvival) -> str:
    """Format the observed median survival time with its unit; empty if more than half survive."""
    return "" if found.median is None else time_text(found.median, get_hazard(tree).unit, in_years=False)


def survival_sentence(target: Target, found: NodeSurvival, noun: str = "row") -> str:
    """Describe the events at a node, observed survival and median, and the risk.

    >>> target = Target("died", hazard=Hazard((1.0,), (0.5,), 5.0, unit="years"))
    >>> found = NodeSurvival(1, 40.0, 10.0, 0.5, 5.0, 0.78, 0.75, (0.6, 0.86), None, 4.2)
    >>> survival_sentence(target, found, "patient")[:75]
    'Of 40 patients like this, 10 had the event; observed 5-year survival 75 % ('
    """
    assert target.hazard is not None
    risk = f"The risk is {risk_text(found.risk)} times that of all {plural(noun)}."
    if not found.n_rows:
        return f"There is no known {noun} like this. {risk}"
    number, by_weight = _events_number(found)
    number = "none" if number == "0" else f"{number}{by_weight}"
    text = f"Of {pluralize(found.n_rows, noun)} like this, {number} had the event"
    if found.observed is None or found.interval is None:
        return f"{text}; none was observed for {time_text(found.horizon, target.hazard.unit)}. {risk}"
    median = "not reached" if found.median is None else time_text(found.median, target.hazard.unit)
    ends = f"{rounded_percent(found.observed)} ({percent_range(*found.interval)})"
    observed = join_value(name_survival(target.hazard), ends)
    return f"{text}; observed {observed}, median {median}. {risk}"


def survival_lines(tree: Tree) -> list[str]:
    """Explain the figures of a survival tree; empty for another tree."""
    if not tree.schema.target.is_survival:
        return []
    leaves = [node_survival(tree, leaf) for leaf in np.flatnonzero(tree.feature == LEAF).tolist()]
    own = f"{name_survival(get_hazard(tree))}: the prediction"
    if any(each.interval for each in leaves):
        own += ", with the 95 % interval of the observed survival (Kaplan-Meier) in parentheses"
    own += "; risk: the hazard relative to that of all rows"
    own += "; median: of the observed survival" if any(each.median is not None for each in leaves) else ""
    lines = [f"{own}."]
    if any(each.is_outside for each in leaves):
        lines.append(
            "Where a prediction lies outside its interval, the observed survival is shown, too: predictions "
            "also draw on the nodes above, and the hazards of all leaves are proportional."
        )
    return lines
