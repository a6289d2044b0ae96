"""Which questions about unlabelled rows stand: those by which rows held out become more likely."""

from dataclasses import dataclass

from holdfast.arrays import FloatArray
from holdfast.growth.density.groups import Group, held_out_gain, join_likelihoods, list_groups
from holdfast.growth.density.search import Search


@dataclass(frozen=True)
class HeldOutGain:
    """Gain in held-out log likelihood of the split at a node with those below it."""

    node: int
    count: float  # rows held out
    gain: float
    standard_error: float


def groups_to_divide(search: Search, root: Group, least: float) -> set[Group]:
    """Select the groups whose split, with those kept below, gains more than this many standard errors.

    A question stands only if those that lead to it do.
    """
    standing: set[Group] = set()
    fitted: dict[Group, FloatArray] = {}
    for group in reversed(list(list_groups(root))):  # sides before what they are sides of
        fitted[group] = group.log_density
        if group.sides is None:
            continue
        together = join_likelihoods(group, [fitted.pop(side) for side in group.sides])
        gain, error = held_out_gain(search.data.rows, group, together)
        if gain > least * error:
            fitted[group] = together
            standing.add(group)
    return _reached(root, standing)


def _reached(root: Group, standing: set[Group]) -> set[Group]:
    reached, waiting = set(), [root]
    while waiting:
        group = waiting.pop()
        if group in standing:
            reached.add(group)
            waiting += group.sides or ()
    return reached


def measure_evidence(search: Search, root: Group) -> tuple[HeldOutGain, ...]:
    """Measure what every split that is kept gains on held-out rows, nodes from left to right."""
    found = []
    fitted: dict[Group, FloatArray] = {}
    groups = list(list_groups(root))
    for node, group in reversed(list(enumerate(groups))):
        fitted[group] = group.log_density
        if group.sides is not None and len(group.held):
            fitted[group] = join_likelihoods(group, [fitted.pop(side) for side in group.sides])
            count = float(search.data.rows.repeats[group.held].sum())
            found.append(HeldOutGain(node, count, *held_out_gain(search.data.rows, group, fitted[group])))
    return tuple(reversed(found))
