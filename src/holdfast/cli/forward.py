"""The forward test in words: which rows it is made by."""

from holdfast._text import pluralize
from holdfast.runs.dataset import RowRoles
from holdfast.runs.fit import stages_text


def forward_text(roles: RowRoles) -> str:
    """Which rows are later than all that is learnt from, and which are earlier ones."""
    later = f"{pluralize(roles.n_test, 'row')} of stage {stages_text(roles.test_stages)}"
    if roles.earlier_test is None:
        return later
    groups = " (whole groups)" if roles.test is not None and roles.test.true_values.groups is not None else ""
    return f"{later}, and {pluralize(roles.n_earlier_test, 'random row')}{groups} of the stages before"


def known_text(roles: RowRoles) -> str:
    """How many of the later rows belong to groups that are known; nothing without groups."""
    if roles.test is None or roles.test.true_values.groups is None:
        return ""
    return (
        f"; {roles.n_known:,} of the {roles.n_test:,} belong to groups of which earlier rows are learnt from"
    )


def both_legend(roles: RowRoles) -> str:
    """Which rows the two scores are of."""
    return (
        f"Later rows: stage {stages_text(roles.test_stages)}, after all that the trees have learnt from. "
        "Earlier rows: drawn at random from the stages before, and held out as well."
    )
