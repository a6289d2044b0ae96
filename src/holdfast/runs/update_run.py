"""From a model in use and new rows to an update run, in steps that the terminal tells of."""

import copy
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from math import nan
from numbers import Integral
from typing import Any

from holdfast.data.table import Table
from holdfast.distance.diff.tree_diff import TreeDiff, tree_diff
from holdfast.errors import ModelCardError, ParameterError, PolicyError
from holdfast.governance.change_summary import (
    Decision,
    RowsProfile,
    change_summary,
    decision_of,
    rows_profile,
)
from holdfast.governance.form import nearest
from holdfast.governance.model_card import ModelCard, model_card_of
from holdfast.governance.policy import ChangePolicy
from holdfast.governance.register import ChangeRecord, content_hash, data_fingerprint, opened_register
from holdfast.runs.data_file import file_hash
from holdfast.runs.deployed import Deployed, Updating, deployed_model
from holdfast.runs.json_file import finite
from holdfast.runs.notes import collect_notes, timed, warnings_once
from holdfast.runs.settings import UpdateRunSettings
from holdfast.runs.update_data import (
    UpdateRows,
    joined_groups,
    joined_weights,
    read_update_rows,
    with_columns_of,
)
from holdfast.runs.update_facts import update_facts
from holdfast.runs.update_result import UpdateRun
from holdfast.scoring.calibration import UNKNOWN
from holdfast.stability.update.path import KEEP
from holdfast.stability.update.update import TreeUpdate
from holdfast.storage.model_file import model_to_json
from holdfast.tree.tree import Tree


def update_run(
    model: Any, data: Any, *, target: str | None = None, verbose: bool = False, **settings: Any
) -> UpdateRun:
    """The update of a model in use by the rows of a frame, or of a CSV or Parquet file.

    The model is the path of a model file or of a run folder, or a fitted estimator or tree, which stays as it
    is. Rows are read on its schema, and `target` is what they call what it predicts. All options of `holdfast
    update` are taken by their names, `--half-life` as `half_life`: see `UpdateRunSettings`. A `policy` is a
    path or a `ChangePolicy`, and a `register` gets one record, whether the update is taken or not.
    """
    with warnings_once():
        prepared = prepare_update(model, data, {"target": target, **settings})
        run = prepared.update(verbose=verbose)
        if prepared.settings.register is None:
            return run
        with opened_register(prepared.settings.register) as append:
            return run.registered(append)


def prepare_update(model: Any, data: Any, given: Mapping[str, Any]) -> "PreparedUpdate":
    """All that an update needs, read and checked; what the settings do not say of files, a run may."""
    settings = UpdateRunSettings.of(given)
    policy = _policy(settings.policy)
    if settings.register is not None:
        with opened_register(settings.register):  # which must be sound, and not in use
            pass
    with collect_notes() as notes:
        deployed = deployed_model(model)
        settings = UpdateRunSettings.of({**deployed.reading, **given})
        model_card = model_card_of(
            deployed.model_card if settings.model_card is None else settings.model_card
        )
        schema = deployed.estimator.tree_.schema
        read = partial(
            read_update_rows,
            schema=schema,
            settings=settings,
            left_out=deployed.left_out,
            others=model_card.subgroups,
        )
        rows, seconds = timed(lambda: read(data))
        old = None if settings.old is None else with_columns_of(read(settings.old), rows)
    _check_subgroups(policy, [*rows.X.names, *schema.names])
    _check_model_card(model_card, deployed.estimator.tree_, [*rows.X.names, *schema.names, *rows.others])
    return PreparedUpdate(settings, deployed, policy, model_card, rows, old, {"reading": seconds}, notes)


@dataclass(frozen=True, eq=False)
class PreparedUpdate:
    """A model in use and new rows, ready for the update."""

    settings: UpdateRunSettings
    deployed: Deployed
    policy: ChangePolicy | None
    model_card: ModelCard
    rows: UpdateRows
    old: UpdateRows | None  # rows of before
    seconds: dict[str, float]
    notes: list[str]  # warnings so far

    def update(self, *, verbose: bool = False) -> UpdateRun:
        """The run; nothing is written."""
        with collect_notes() as notes:
            proposal, seconds = timed(lambda: self._proposal(verbose))
        update = proposal.update_
        table = self._new_rows(update.deployed)
        old_table, text = self._old_rows(update.deployed), self.rows.text
        decision = decision_of(update.deployed, self.model_card.positive, self.model_card.decision_threshold)
        diff, proposed = _diff(update, table, decision), model_to_json(proposal)
        change = self._change(update, table, proposed)
        if old_table is not None:
            before: RowsProfile | None = rows_profile(old_table)
            origin = "the rows of before"
        else:
            known = self.deployed.profile
            before = None if known is None else RowsProfile.from_dict(known)
            origin = "the run of the model"
        old_tree = self.deployed.estimator.tree_
        facts = self._facts(update, diff, change) | change_summary(
            update,
            self.model_card,
            decision,
            table,
            schema=old_tree.schema,
            before=before,
            origin=origin,
            text=text,
            others=self.rows.others,
        )
        facts["rows_behind"] = float(getattr(self.deployed.estimator, "n_rows_effective_", old_tree.count[0]))
        facts["seconds"] = {**self.seconds, "updating": seconds}
        facts["notes"] = list(dict.fromkeys([*self.notes, *notes]))
        is_taken = update.is_taken
        return UpdateRun(
            facts=finite(facts),
            model=proposal if is_taken else self.deployed.estimator,
            update=update,
            diff=diff,
            change=change,
            model_content=proposed if is_taken else self.deployed.content,
            proposal_content=None if is_taken else proposed,
        )

    def _facts(self, update: TreeUpdate, diff: TreeDiff, change: ChangeRecord) -> dict[str, Any]:
        """What is known of the update, and where all of it comes from."""
        facts = {**update_facts(update, diff, change), **self.settings.facts}
        facts["model"] |= {"source": self.deployed.source, "taken_over": self.deployed.note}
        facts["data"] |= {"source": self.rows.source, "old_source": self.old and self.old.source}
        facts["data"] |= {
            "file": file_hash(self.rows.source),
            "old_file": self.old and file_hash(self.old.source),
        }
        facts["columns"]["left_out"] = list(self.deployed.left_out)
        told = {"by": self.settings.by, "why": self.settings.why, "trigger": self.settings.trigger}
        return facts | told | {"time": datetime.now(UTC).isoformat(timespec="seconds")}

    def _proposal(self, verbose: bool) -> Updating:
        """The updated model, whether the policy lets it pass or not."""
        settings, rows, old = self.settings, self.rows, self.old
        model = copy.copy(self.deployed.estimator)
        own = {name: getattr(model, name) for name in ("n_jobs", "verbose")}
        model.set_params(n_jobs=settings.n_jobs, verbose=verbose)
        if self.model_card.positive is not None:
            model.set_params(positive=self.model_card.positive)
        model.update(
            rows.X,
            rows.y,
            joined_weights(old, rows),
            strategy=settings.strategy,
            tolerance=settings.tolerance,
            frozen=settings.frozen,
            groups=joined_groups(old, rows),
            X_old=None if old is None else old.X,
            y_old=None if old is None else old.y,
            half_life=settings.half_life,
            prior_rows=settings.prior_rows,
            allow_new_values=settings.allow_new_values,
            validation=settings.validation,
            force=settings.force,
        )
        if settings.take is not None:
            n_steps = len(model.update_.steps)
            if settings.take >= n_steps:
                raise ParameterError(
                    f"take={settings.take} is out of range: the path has the steps 0 to {n_steps - 1}."
                )
            model.select_step(settings.take)
        model.set_params(**own)
        # Judged last: so there is a model to propose, whatever the policy says of it.
        model.update_ = model.update_.judged(self.policy, force=settings.force)
        return model

    def _change(self, update: TreeUpdate, table: Table, proposed: bytes) -> ChangeRecord:
        """What a register is told of the update."""
        seed = self.deployed.estimator.random_state
        return ChangeRecord(
            old_model=content_hash(self.deployed.content),
            new_model=content_hash(proposed),
            data=data_fingerprint(table),
            n_rows=table.n_rows,
            policy=None if update.verdict is None else update.verdict.policy.to_dict(),
            verdict=None if update.verdict is None else update.verdict.to_dict(),
            taken=update.is_taken,
            forced=update.is_forced,
            who=self.settings.by,
            why=self.settings.why,
            seed=int(seed) if isinstance(seed, Integral) else None,
        )

    def _new_rows(self, deployed: Tree) -> Table:
        """The new rows as they came: the update has taken copies of a row for one."""
        return _table(self.rows, deployed)

    def _old_rows(self, deployed: Tree) -> Table | None:
        return None if self.old is None else _table(self.old, deployed)


def _table(rows: UpdateRows, deployed: Tree) -> Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all that there is to say has been said
        return Table.from_arrays(
            rows.X, rows.y, rows.weight, schema=deployed.schema, handle_unknown="missing"
        )


def _policy(policy: Any) -> ChangePolicy | None:
    if policy is None or isinstance(policy, ChangePolicy):
        return policy
    if not isinstance(policy, str | os.PathLike):
        raise PolicyError(f"policy={policy!r} must be a ChangePolicy, or the path of its file.")
    return ChangePolicy.load(policy)


def _check_subgroups(policy: ChangePolicy | None, known: list[str]) -> None:
    """Before the work: raise a PolicyError for a subgroup of a column that the model does not have."""
    for name in () if policy is None else policy.subgroups:
        if name not in known:
            raise PolicyError(
                f"The line subgroups names the column {name!r}, which the model does not have: "
                f"{nearest(name, known)}"
            )


def _check_model_card(model_card: ModelCard, tree: Tree, known: list[str]) -> None:
    """Before the work: raise a ModelCardError for a subgroup, or a class, that there is not."""
    for name in model_card.subgroups:
        if name not in known:
            raise ModelCardError(
                f"The line subgroups names the column {name!r}, which the rows do not have: "
                f"{nearest(name, known)}"
            )
    decision_of(tree, model_card.positive, model_card.decision_threshold)


def _diff(update: TreeUpdate, table: Table, decision: Decision) -> TreeDiff:
    """What changes from the deployed tree to that of the step, and for whom among the new rows.

    It tells no scores: the new tree has learnt from these rows, and the path has honest ones.
    """
    diff = tree_diff(
        update.deployed,
        update.tree,
        table,
        matching=update.distances.matching,
        label_weight=update.distances.label_weight,
        outcome=update.distances.outcome,
        positive=None if decision.place is None else update.deployed.schema.target.classes[decision.place],
    )
    if diff.rows is None:
        return diff
    rows = replace(
        diff.rows,
        metric=None,
        old_score=nan,
        old_error=nan,
        new_score=nan,
        new_error=nan,
        score_difference=nan,
        score_error=nan,
        old_calibration=UNKNOWN,
        new_calibration=UNKNOWN,
        new_learned=None if update.steps[update.taken].kind == KEEP else 1.0,
    )
    return replace(diff, rows=rows)
