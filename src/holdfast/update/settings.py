"""Settings of the update of a deployed tree."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral

from holdfast._check import check_choice, check_fraction, check_number, is_integer
from holdfast._choices import UPDATE_STRATEGIES, UPDATE_TOLERANCE
from holdfast._text import quoted
from holdfast.errors import ParameterError
from holdfast.tree.edit import edited_nodes
from holdfast.tree.tree import Tree

LEAST_PRIOR = 1 / 3  # of the training rows of a tree, even if all are supplied again: people know it


@dataclass(frozen=True)
class UpdateSettings:
    """The strategy of an update, the fit that it must reach, and the nodes that must stay."""

    strategy: str = "nearest"  # one of UPDATE_STRATEGIES
    tolerance: float = UPDATE_TOLERANCE  # loss of fit allowed relative to a fresh tree
    frozen: tuple[int, ...] = ()  # nodes of the deployed tree whose splits or values stay
    validation: float | None = 1 / 3  # share of the new rows held out to score by; None: no rows
    prior_rows: float = 0.0  # rows behind the deployed tree, besides those supplied
    carried: float | None = None  # of these, rows that enter leaf values and counts; None: all

    def __post_init__(self) -> None:
        check_choice("strategy", self.strategy, UPDATE_STRATEGIES)
        check_number("tolerance", self.tolerance)
        check_number("prior_rows", self.prior_rows)
        check_fraction("validation", self.validation, none_ok=True)

    @property
    def n_carried(self) -> float:
        """The rows behind the deployed tree that enter leaf values and counts."""
        return self.prior_rows if self.carried is None else self.carried

    def check_frozen(self, tree: Tree) -> None:
        """Raise a ParameterError unless the frozen nodes are nodes of the tree."""
        nodes = range(tree.n_nodes)
        if wrong := [node for node in self.frozen if not isinstance(node, Integral) or node not in nodes]:
            raise ParameterError(
                f"frozen={quoted(self.frozen)} holds {wrong[0]!r}, which is not a node of the deployed tree: "
                f"its nodes are 0 to {tree.n_nodes - 1}, and print(tree.numbered()) shows them."
            )
        if self.frozen and self.strategy in ("retrain", "candidate"):
            raise ParameterError(
                f"strategy={self.strategy!r} makes a new tree, and cannot keep the nodes "
                f"{quoted(self.frozen)}: leave out frozen, or take strategy='nearest'."
            )


def default_prior_rows(n_behind: float, n_again: float) -> float:
    """The effective number of prior rows: those behind the tree that are not supplied again."""
    return max(n_behind - n_again, LEAST_PRIOR * n_behind)


def parse_frozen(frozen: int | str | Sequence[int], tree: Tree) -> tuple[int, ...]:
    """Read frozen nodes: one number, several, or "edited" for the nodes that were edited by hand."""
    if isinstance(frozen, str):
        if frozen != "edited":
            raise ParameterError(f"frozen={frozen!r} is unknown: give nodes, or 'edited'.")
        return edited_nodes(tree)
    if is_integer(frozen):
        return (int(frozen),)
    if isinstance(frozen, bool) or not isinstance(frozen, Iterable):
        raise ParameterError(f"frozen={frozen!r} are no nodes: give numbers of nodes, or 'edited'.")
    return tuple(frozen)
