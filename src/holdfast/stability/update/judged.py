"""An update held against a change policy.

What concerns the trees and who gets another answer is judged by the tree that would be deployed, on all new
rows. Scores and calibration are judged on rows held out, by a tree made the same way without them: a tree
looks too good on rows that it has learnt from.
"""

from dataclasses import dataclass, replace

from holdfast.data.input.weight import count_effective_rows
from holdfast.data.table import Table
from holdfast.governance.policy import ChangePolicy
from holdfast.governance.verdict import PolicyLine, PolicyVerdict
from holdfast.tree.tree import Tree

BY_TRUTH = ("score_margin", "subgroups", "observed_expected", "calibration_intercept", "calibration_slope")
NO_TREE_ALIKE = "without the rows held out, no tree of this kind was found"


def n_scored(held_out: Table) -> int:
    """How many rows are held out, copies counted."""
    return round(count_effective_rows(held_out.weight, held_out.n_rows)) if held_out.n_rows else 0


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """The rows that an update is judged by."""

    new: Table  # all new rows
    held_out: Table  # those that scores are measured on

    def verdict(self, policy: ChangePolicy, deployed: Tree, tree: Tree, alike: Tree | None) -> PolicyVerdict:
        """How a change stands to the policy; `alike` is made as the tree is, without the rows held out.

        None: there is no such tree, and lines about scores and calibration are not judged.
        """
        by_trees = policy.check(deployed, tree, self.new)
        if alike is None:
            judged = [_not_judged(line) if line.name in BY_TRUTH else line for line in by_trees.lines]
            return replace(by_trees, lines=tuple(judged))
        by_truth = policy.check(deployed, alike, self.held_out)
        n_held_out = n_scored(self.held_out)
        places = [line.name for line in by_trees.lines]
        lines = [
            *(line for line in by_trees.lines if line.name not in BY_TRUTH),
            *(
                replace(line, words=f"{line.words}; {n_held_out:,} rows held out")
                for line in by_truth.lines
                if line.name in BY_TRUTH
            ),
        ]
        lines.sort(key=lambda line: places.index(line.name) if line.name in places else len(places))
        is_told = n_held_out != by_trees.n_rows and any(line.name in BY_TRUTH for line in lines)
        return replace(by_trees, lines=tuple(lines), n_held_out=n_held_out if is_told else None)


def _not_judged(line: PolicyLine) -> PolicyLine:
    return replace(line, figure=None, status="not judged", words=f"{line.words}: {NO_TREE_ALIKE}")
