"""What is recorded of an update besides the change: data, outputs, edits, the words of its owners."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray, FloatArray
from holdfast.data.input.columns import Column, read_column
from holdfast.data.split.row_keys import labelled_hashes
from holdfast.data.table import Table
from holdfast.runs.about import About
from holdfast.runs.change.decisions import Decision, decision_of
from holdfast.runs.change.outputs import Outputs
from holdfast.runs.change.periods import period_facts
from holdfast.runs.change.profile import RowsProfile, rows_profile
from holdfast.runs.deployed import Deployed
from holdfast.shown import shown
from holdfast.stability.update.path import KEEP
from holdfast.stability.update.update import TreeUpdate
from holdfast.tree.edit import held_edits
from holdfast.tree.tree import Tree

BANDS = 4  # of a number that makes subgroups, unless a policy says otherwise


@dataclass(frozen=True, eq=False)
class ChangeEvidence:
    """An update, the rows that it came from, and what is said about the model."""

    deployed: Deployed
    update: TreeUpdate
    about: About
    table: Table  # the new rows, as they came
    old_table: Table | None  # rows of before, if they were given
    text: Mapping[str, float] = field(default_factory=dict)  # columns of text that the model has numbers of:
    # the fraction of rows without any

    @cached_property
    def decision(self) -> Decision:
        """What is done with the answers of the model."""
        return decision_of(self.update.deployed, self.about.positive, self.about.decision_threshold)

    def facts(self, others: Mapping[str, Any]) -> dict[str, Any]:
        """All of it as plain data. `others` are columns of the new rows that are no features."""
        return {
            "about": self.about.to_dict(),
            "periods": period_facts(self._before, self._schema, self.table, self._origin, self.text),
            "outputs": self._outputs.facts(),
            "subgroups": self._outputs.subgroup_facts(
                self._subgroup_columns(others), self._n_bands, self.about.min_subgroup_rows
            ),
            "edits": {name: edit_facts(tree) for name, tree in self._trees.items()},
            "rows_behind": float(getattr(self.deployed.estimator, "n_rows_effective_", self._tree.count[0])),
            "profile": self._profile,
        }

    # -- data -----------------------------------------------------------------------------------------------

    @property
    def _tree(self) -> Tree:
        return self.deployed.estimator.tree_

    @property
    def _schema(self) -> Any:
        """The schema of the model as it was deployed, before it was widened."""
        return self._tree.schema

    @cached_property
    def _before(self) -> RowsProfile | None:
        """The rows of before: those that were given, or what the run of the model knows of its own."""
        if self.old_table is not None:
            return rows_profile(self.old_table)
        return None if self.deployed.profile is None else RowsProfile.from_dict(self.deployed.profile)

    @property
    def _origin(self) -> str:
        return "the rows of before" if self.old_table is not None else "the run of the model"

    @property
    def _profile(self) -> dict[str, Any] | None:
        """Of the rows that the model in use has learnt from last: the next update is held against it."""
        update = self.update
        if update.is_taken and update.steps[update.taken].kind != KEEP:
            profile = rows_profile(self.table)
            known = {name: each for name, each in profile.columns.items() if name not in self.text}
            return replace(profile, columns=known).to_dict()
        return None if self._before is None else self._before.to_dict()

    # -- outputs --------------------------------------------------------------------------------------------

    @cached_property
    def _outputs(self) -> Outputs:
        update = self.update
        step = update.steps[update.taken]
        return Outputs(
            deployed=update.deployed,
            proposed=step.tree,
            alike=step.alike,
            table=self.table,
            held_out=self._held_out,
            is_held_out=update.n_scored > 0,
            decision=self.decision,
            metric=update.metric,
        )

    @property
    def _held_out(self) -> BoolArray:
        """The new rows that the proposed tree's scores are measured on.

        Rows that look alike may stand on both sides, and which of them is which is of no account: as many
        as were held out are, and the first of them were learnt from.
        """
        assert self.update.rows is not None
        held_out, keys = self.update.rows.held_out, labelled_hashes(self.table)
        kinds, kind = np.unique(keys, return_inverse=True)
        at = np.searchsorted(kinds, labelled_hashes(held_out))
        n_held_out = np.bincount(at, _weights(held_out), len(kinds))
        # Of each kind, the weight of a row and of those after it: the last ones, as many as were held out.
        backwards = np.lexsort((-np.arange(len(keys)), kind))
        weight = _weights(self.table)[backwards]
        since = np.cumsum(weight) - weight
        begins = np.append(True, np.diff(kind[backwards]) != 0)
        since -= np.maximum.accumulate(np.where(begins, since, 0.0))
        is_held_out = np.empty(len(keys), np.bool_)
        is_held_out[backwards] = since < n_held_out[kind[backwards]] * (1 - 1e-9)
        return is_held_out

    @property
    def _n_bands(self) -> int:
        verdict = self.update.verdict
        return BANDS if verdict is None else verdict.policy.subgroup_bands

    def _subgroup_columns(self, others: Mapping[str, Any]) -> dict[str, Column]:
        """The columns that are asked for, by the user's words or by the policy."""
        verdict = self.update.verdict
        names = dict.fromkeys([*self.about.subgroups, *(verdict.policy.subgroups if verdict else ())])
        known = {
            feature.name: (feature, values)
            for feature, values in zip(self.table.schema.features, self.table.columns, strict=True)
        }
        found = {}
        for name in names:
            if name in others:
                found[name] = read_column(others[name], f"column {name!r}")
            elif name in known:
                feature, values = known[name]
                kind = "nominal" if feature.kind == "question" else feature.kind
                found[name] = Column(kind, values, feature.categories)
        return found

    # -- edits ----------------------------------------------------------------------------------------------

    @property
    def _trees(self) -> dict[str, Tree]:
        return {"old": self.update.deployed, "new": self.update.tree}


def _weights(table: Table) -> FloatArray:
    return np.ones(table.n_rows) if table.weight is None else table.weight


def edit_facts(tree: Tree) -> list[dict[str, Any]]:
    """What was edited by hand: what, by whom, why and when, and whether it still holds."""
    held = {id(edit) for _, edit in held_edits(tree)}
    return [
        {
            "text": shown("edit_text", edit),
            "kind": edit.kind,
            "by": edit.by,
            "why": edit.why,
            "when": edit.when,
            "holds": id(edit) in held,
        }
        for edit in tree.edits
    ]
