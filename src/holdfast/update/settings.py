"""How a deployed tree is updated."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral

from holdfast._check import check_choice, check_fraction, check_number, is_integer
from holdfast._choices import UPDATE_STRATEGIES, UPDATE_TOLERANCE
from holdfast._text import quoted
from holdfast.errors import ParameterError
from holdfast.tree.edit import edited_nodes
from holdfast.tree.tree import Tree

LEAST_PRIOR = 1 / 3  # of the rows that a tree was trained on: people know it, even if all rows are given

# -- How a deployed tree is updated --------------------------------------------------------------------------


@dataclass(frozen=True)
class UpdateSettings:
    """How a deployed tree is updated: which way, how far from the best fit, and what must stay."""

    strategy: str = "nearest"  # one of UPDATE_STRATEGIES
    tolerance: float = UPDATE_TOLERANCE  # that the fit may fall short of a fresh tree's
    frozen: tuple[int, ...] = ()  # nodes of the deployed tree that must ask, or say, what they do
    validation: float | None = 1 / 3  # of the new rows: held out to score by; None: none are
    prior_rows: float = 0.0  # rows that the deployed tree stands for, besides those that are given
    carried: float | None = None  # of these, rows that leaf values and counts take over; None: all

    def __post_init__(self) -> None:
        check_choice("strategy", self.strategy, UPDATE_STRATEGIES)
        check_number("tolerance", self.tolerance)
        check_number("prior_rows", self.prior_rows)
        check_fraction("validation", self.validation, none_ok=True)

    @property
    def n_carried(self) -> float:
        """The rows behind the deployed tree that leaf values and counts take over."""
        return self.prior_rows if self.carried is None else self.carried

    def check_frozen(self, tree: Tree) -> None:
        """Raise a ParameterError unless the frozen nodes are nodes of the tree."""
        nodes = range(tree.n_nodes)
        if wrong := [node for node in self.frozen if not isinstance(node, Integral) or node not in nodes]:
            raise ParameterError(
                f"frozen={quoted(self.frozen)} holds {wrong[0]!r}, which is no node of the deployed tree: "
                f"its nodes are 0 to {tree.n_nodes - 1}, and print(tree.numbered()) shows them."
            )
        if self.frozen and self.strategy in ("retrain", "candidate"):
            raise ParameterError(
                f"strategy={self.strategy!r} makes a new tree, and cannot keep the nodes "
                f"{quoted(self.frozen)}: leave out frozen, or take strategy='nearest'."
            )


def default_prior_rows(n_behind: float, n_again: float) -> float:
    """The rows that a deployed tree stands for, of which so many are given again."""
    return max(n_behind - n_again, LEAST_PRIOR * n_behind)


def parse_frozen(frozen: int | str | Sequence[int], tree: Tree) -> tuple[int, ...]:
    """One node of the tree, or several, as numbers; "edited" are those that a person made what they are."""
    if isinstance(frozen, str):
        if frozen != "edited":
            raise ParameterError(f"frozen={frozen!r} is unknown: give nodes, or 'edited'.")
        return edited_nodes(tree)
    if is_integer(frozen):
        return (int(frozen),)
    if isinstance(frozen, bool) or not isinstance(frozen, Iterable):
        raise ParameterError(f"frozen={frozen!r} are no nodes: give numbers of nodes, or 'edited'.")
    return tuple(frozen)
