"""The update of a deployed model with new rows, and its files."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from math import isnan, nan
from numbers import Integral
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from holdfast._files import replace_file
from holdfast._text import percent_text, pluralize
from holdfast._version import __version__
from holdfast._view import View, ViewMixin
from holdfast.adapters import as_tree
from holdfast.data.table import Table
from holdfast.distance.diff import TreeDiff, tree_diff
from holdfast.distance.diff_text import brief_sections, row_count
from holdfast.errors import ModelCardError, ParameterError, PolicyError
from holdfast.estimators.density import DensityTree
from holdfast.estimators.stable import StableTreeEstimator
from holdfast.evaluate.methods import make_estimator
from holdfast.governance.change_summary import (
    DecisionRule,
    RowsProfile,
    change_summary,
    make_decision_rule,
    profile_rows,
)
from holdfast.governance.model_card import ModelCard, make_model_card
from holdfast.governance.policy import ChangePolicy
from holdfast.governance.register import (
    ChangeRecord,
    content_hash,
    data_fingerprint,
    opened_register,
    software_versions,
)
from holdfast.governance.toml_form import suggest_name
from holdfast.governance.verdict import PolicyVerdict
from holdfast.io.model_file import load, load_trees, model_to_json, save_trees
from holdfast.runs.dataset import file_hash
from holdfast.runs.facts import metric_facts
from holdfast.runs.files import (
    COLLECTIONS,
    collect_notes,
    find_earlier_run,
    finite,
    timed,
    write_json,
    write_run_report,
)
from holdfast.runs.folder import model_file, new_run
from holdfast.runs.settings import UpdateRunSettings
from holdfast.runs.update_data import (
    UpdateRows,
    align_columns,
    join_groups,
    join_weights,
    read_update_rows,
)
from holdfast.scoring.calibration import UNKNOWN, ObservedExpected
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree
from holdfast.update.path import KEEP
from holdfast.update.update import TreeUpdate, changes_text, firmness_parts, path_parts, update_summary


def update_run(
    model: Any, data: Any, *, target: str | None = None, verbose: bool = False, **settings: Any
) -> UpdateRun:
    """Update a deployed model with the rows of a frame or a file.

    Parameters
    ----------
    model
        The path of a model file or a run folder, or a fitted estimator or tree, which is not changed.
    data
        A frame, or the path of a CSV or Parquet file, with the columns of the model.
    target : str, optional
        The target column of the data. Default: as in the model.
    verbose : bool
        Show progress bars.
    **settings
        The options of `holdfast update` by their names, `--half-life` as `half_life`: see
        `UpdateRunSettings`. A `policy` is a path or a `ChangePolicy`; a `register` gets one record, whether
        the update is taken or not.

    Returns
    -------
    UpdateRun
        The updated model, the path of steps to it, and the difference to the deployed one.
    """
    with collect_notes():
        prepared = prepare_update(model, data, {"target": target, **settings})
        run = prepared.update(verbose=verbose)
        if prepared.settings.register is None:
            return run
        with opened_register(prepared.settings.register) as append:
            return run.registered(append)


def prepare_update(model: Any, data: Any, given: Mapping[str, Any]) -> PreparedUpdate:
    """Read and check the model and the rows; a run also has settings of how files are read."""
    settings = UpdateRunSettings.of(given)
    policy = _load_policy(settings.policy)
    if settings.register is not None:
        with opened_register(settings.register):  # raises if it is broken or locked
            pass
    with collect_notes() as notes:
        deployed = load_deployed(model)
        settings = UpdateRunSettings.of({**deployed.reading, **given})
        model_card = make_model_card(
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
        old = None if settings.old is None else align_columns(read(settings.old), rows)
    _check_subgroups(policy, [*rows.X.names, *schema.names])
    _check_model_card(model_card, deployed.estimator.tree_, [*rows.X.names, *schema.names, *rows.others])
    return PreparedUpdate(settings, deployed, policy, model_card, rows, old, {"reading": seconds}, notes)


@dataclass(frozen=True, eq=False)
class PreparedUpdate:
    """A deployed model and new rows, ready for the update."""

    settings: UpdateRunSettings
    deployed: Deployed
    policy: ChangePolicy | None
    model_card: ModelCard
    rows: UpdateRows
    old: UpdateRows | None  # earlier rows
    seconds: dict[str, float]
    notes: list[str]  # warnings so far

    def update(self, *, verbose: bool = False) -> UpdateRun:
        """Update the model; nothing is written."""
        with collect_notes() as notes:
            proposal, seconds = timed(lambda: self._update_copy(verbose))
        update = proposal.update_
        # The new rows as they came: the update has merged copies of a row.
        table = _make_table(self.rows, update.deployed)
        old_table = None if self.old is None else _make_table(self.old, update.deployed)
        decision = make_decision_rule(
            update.deployed, self.model_card.positive, self.model_card.decision_threshold
        )
        diff, proposed = _diff(update, table, decision), model_to_json(proposal)
        change = self._change(update, table, proposed)
        if old_table is not None:
            before: RowsProfile | None = profile_rows(old_table)
            origin = "the earlier rows"
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
            text=self.rows.text,
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
        """The facts of the update, with the sources of model and rows."""
        facts = {**update_facts(update, diff, change), **self.settings.facts}
        facts["model"] |= {"source": self.deployed.source, "taken_over": self.deployed.note}
        facts["data"] |= {"source": self.rows.source, "old_source": self.old and self.old.source}
        facts["data"] |= {
            "file": file_hash(self.rows.source),
            "old_file": self.old and file_hash(self.old.source),
        }
        facts["columns"]["left_out"] = list(self.deployed.left_out)
        stated = {"by": self.settings.by, "why": self.settings.why, "trigger": self.settings.trigger}
        return facts | stated | {"time": datetime.now(UTC).isoformat(timespec="seconds")}

    def _update_copy(self, verbose: bool) -> Updating:
        """Update a copy of the estimator, whatever the verdict of the policy."""
        settings, rows, old = self.settings, self.rows, self.old
        model = copy.copy(self.deployed.estimator)
        own = {name: getattr(model, name) for name in ("n_jobs", "verbose")}
        model.set_params(n_jobs=settings.n_jobs, verbose=verbose)
        if self.model_card.positive is not None:
            model.set_params(positive=self.model_card.positive)
        model.update(
            rows.X,
            rows.y,
            join_weights(old, rows),
            strategy=settings.strategy,
            tolerance=settings.tolerance,
            frozen=settings.frozen,
            groups=join_groups(old, rows),
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
        # Judged last, so that there is a model to propose even if the policy does not allow it.
        model.update_ = model.update_.judge(self.policy, force=settings.force)
        return model

    def _change(self, update: TreeUpdate, table: Table, proposed: bytes) -> ChangeRecord:
        """The change as a register records it."""
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


def _make_table(rows: UpdateRows, deployed: Tree) -> Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all warnings have been given before
        return Table.from_arrays(
            rows.X, rows.y, rows.weight, schema=deployed.schema, handle_unknown="missing"
        )


def _load_policy(policy: Any) -> ChangePolicy | None:
    if policy is None or isinstance(policy, ChangePolicy):
        return policy
    if not isinstance(policy, str | os.PathLike):
        raise PolicyError(f"policy={policy!r} must be a ChangePolicy, or the path of its file.")
    return ChangePolicy.load(policy)


def _check_subgroups(policy: ChangePolicy | None, known: list[str]) -> None:
    """Raise a PolicyError, before any work, for a subgroup of a column that the model does not have."""
    for name in () if policy is None else policy.subgroups:
        if name not in known:
            raise PolicyError(
                f"The line subgroups names the column {name!r}, which the model does not have: "
                f"{suggest_name(name, known)}"
            )


def _check_model_card(model_card: ModelCard, tree: Tree, known: list[str]) -> None:
    """Raise a ModelCardError, before any work, for an unknown subgroup or class."""
    for name in model_card.subgroups:
        if name not in known:
            raise ModelCardError(
                f"The line subgroups names the column {name!r}, which the rows do not have: "
                f"{suggest_name(name, known)}"
            )
    make_decision_rule(tree, model_card.positive, model_card.decision_threshold)


def _diff(update: TreeUpdate, table: Table, decision: DecisionRule) -> TreeDiff:
    """Compute what changes from the deployed tree to that of the step, and for which of the new rows.

    It has no scores: the new tree was trained on these rows, and the path has scores on held-out rows.
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


# -- the update run ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class UpdateRun(ViewMixin):
    """An update of a deployed model with new rows, made by `update_run`; `str()` summarises it."""

    facts: dict[str, Any]  # plain data, as in update.json
    model: Updating  # to use from now on: the updated one, or the deployed one if a policy forbids the update
    update: TreeUpdate  # the path, and the step that is taken
    diff: TreeDiff  # from the deployed tree to that of the step, on the new rows
    change: ChangeRecord  # as a register records it
    model_content: bytes  # of the model file; of a deployed model that stays, unchanged
    proposal_content: bytes | None  # of the model that a policy forbids
    record: ChangeRecord | None = None  # the change as it stands in the register, if there is one

    @property
    def verdict(self) -> PolicyVerdict | None:
        """The verdict of the policy, if there is one."""
        return self.update.verdict

    @property
    def is_taken(self) -> bool:
        """False if the policy forbids the update, so that the deployed model stays in use."""
        return self.update.is_taken

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the run to a folder, all or nothing: a new one, an empty one, or an earlier run.

        `model.json` is the model to use from now on. An earlier run is replaced in one step; other files in
        its folder stay.
        """
        with new_run(Path(folder)) as draft:
            write_update_files(self, draft)

    def registered(self, append: Callable[[ChangeRecord], ChangeRecord]) -> UpdateRun:
        """Append the change to a register, and return the run with its record."""
        return replace(self, record=append(self.change))

    def __repr__(self) -> str:
        steps = f"step {self.update.taken} of 0 to {len(self.update.steps) - 1}"
        return f"<UpdateRun: {steps}, {'taken' if self.is_taken else 'not taken'}>"

    def _view(self) -> View:

        return update_run_view(self)


# -- facts ------------------------------------------------------------------------------------------------


def update_facts(update: TreeUpdate, diff: TreeDiff, change: ChangeRecord) -> dict[str, Any]:
    """Return versions, hashes, the figures of every step, the diff and the verdict as plain data."""
    return {
        "holdfast": __version__,
        "software": software_versions(),
        "seed": change.seed,
        "model": {
            "old": change.old_model,
            "new": change.new_model,
            "in_use": change.new_model if update.is_taken else change.old_model,
        },
        "data": {
            "fingerprint": change.data,
            "rows": change.n_rows,
            "rows_learnt_from": update.n_rows,
            "rows_scored": update.n_scored,
            "prior_rows": update.settings.prior_rows,
        },
        "metric": metric_facts(update.metric),
        "distance": {
            "matching": update.distances.matching,
            "label_weight": update.distances.label_weight,
            "outcome": update.distances.outcome,
        },
        "summary": update_summary(update),
        "taken": update.is_taken,
        "forced": update.is_forced,
        "step": update.taken,
        "own_loss": update.own_loss,
        "path": [_step_facts(update, number) for number in range(len(update.steps))],
        "diff": diff.to_dict(),
        "policy": None if update.verdict is None else update.verdict.policy.to_dict(),
        "verdict": None if update.verdict is None else update.verdict.to_dict(),
    }


def _step_facts(update: TreeUpdate, number: int) -> dict[str, Any]:
    step = update.steps[number]
    return {
        "step": number,
        "kind": step.kind,
        "changes": changes_text(update, number),
        "distance": step.distance,
        "fit_lost": max(step.loss, 0.0),
        "score": _known(update.metric.shown(step.score)),
        "against_keeping": _known(update.metric.shown(step.difference)),
        "standard_error": _known(step.error),
        "observed_expected": _ratio_facts(step.observed_expected),
        "leaves": step.tree.n_leaves,
        "depth": step.tree.depth,
    }


def _ratio_facts(found: ObservedExpected | None) -> dict[str, float | None] | None:
    """The ratio of observed to expected on the scored rows, with its interval."""
    if found is None:
        return None
    figures = {"ratio": found.ratio, "low": found.low, "high": found.high}
    return {name: _known(figure) for name, figure in figures.items()}


def _known(figure: float) -> float | None:
    """Replace NaN by None, as JSON needs it."""
    return None if isnan(figure) else figure


# -- files ------------------------------------------------------------------------------------------------


def write_update_files(run: UpdateRun, folder: Path) -> None:
    """Write all files to the folder."""
    replace_file(folder / "model.json", run.model_content)
    if run.proposal_content is not None:
        replace_file(folder / "proposal.json", run.proposal_content)
    replace_file(folder / "tree.svg", run.model.tree_.to_svg().encode())
    save_trees([step.tree for step in run.update.steps], folder / "path.json")
    replace_file(folder / "diff.txt", f"{run.diff}\n".encode())
    write_json(run.facts, folder / "update.json")
    write_page(run, folder)


def write_page(run: UpdateRun, folder: Path) -> None:
    """Write the report; it is written again once the run has a record in a register."""
    write_run_report(run, folder / "report.html")


# -- the deployed model -----------------------------------------------------------------------------------

Updating = StableTreeEstimator
ROLES = ("stage", "groups", "weight")  # of columns that are not features


@dataclass(frozen=True, eq=False)
class Deployed:
    """A deployed model."""

    source: str  # its path, or its type
    content: bytes  # of its file
    estimator: Updating
    reading: Mapping[str, Any] = field(default_factory=dict)  # settings of how the files of its run were read
    left_out: tuple[str, ...] = ()  # columns of its run that were not features
    note: str = ""  # on default settings, if the file has a tree alone
    profile: Mapping[str, Any] | None = None  # of the training rows of its run
    model_card: Mapping[str, Any] | None = None  # of its run


def load_deployed(model: Any) -> Deployed:
    """Load the model of a file or a run folder, or take a fitted estimator or tree.

    A model of one tree that cannot update itself is adopted by a stable tree with default settings.
    """
    if not isinstance(model, str | os.PathLike):
        estimator, note = _make_updating(model, "the model")
        content = model_to_json(model if isinstance(model, Updating) else estimator.tree_)
        return Deployed(f"a {type(model).__name__}", content, estimator, note=note)
    path = model_file(Path(model))
    loaded = load(path)
    estimator, note = _make_updating(loaded, f"'{os.fspath(model)}'")
    facts = (find_earlier_run(path.parent) if path.name == "model.json" else None) or {}
    references = path.parent / "collections" / f"{COLLECTIONS[0]}.json"
    if facts and references.is_file() and isinstance(loaded, Updating):
        estimator.reference_trees_ = load_trees(references)
    columns = facts.get("columns", {})
    named = [*columns.get("drop", ()), *(columns.get(role) for role in ROLES)]
    return Deployed(
        os.fspath(model),
        path.read_bytes(),
        estimator,
        facts.get("reading", {}),
        tuple(columns.get("left_out", [name for name in named if name])),
        note,
        profile=facts.get("profile"),
        model_card=facts.get("model_card"),
    )


def _make_updating(model: Any, name: str) -> tuple[Updating, str]:
    """Return a copy of the estimator, or one that adopts the tree, with a note."""
    ensemble = getattr(model, "ensemble_", model)
    if isinstance(ensemble, Ensemble):
        raise ParameterError(
            f"Cannot update {name}: it is an ensemble of {pluralize(len(ensemble.trees), 'tree')}, and an "
            "update is for a model of one tree."
        )
    if isinstance(model, DensityTree):
        raise ParameterError(
            f"Cannot update {name}: it is a density tree, which predicts nothing, and an update is for a "
            "tree that predicts."
        )
    if isinstance(model, Updating):
        check_is_fitted(model)
        return copy.copy(model), ""
    tree = as_tree(model)
    estimator: Updating = make_estimator("stable", tree.schema.target.task)
    estimator.from_tree(tree)
    for attribute in ("decision_threshold_", "positive_class_"):
        if hasattr(model, attribute):
            setattr(estimator, attribute, getattr(model, attribute))
    what = "contains a tree alone" if isinstance(model, Tree) else f"is a {type(model).__name__}"
    return estimator, f"{name} {what}: a {type(estimator).__name__} with default settings adopts it."


# -- views ------------------------------------------------------------------------------------------------


def update_run_view(run: UpdateRun) -> View:
    """Make the view of an update: summary, path, changes, and the verdict of the policy."""
    policy = "" if run.verdict is None else run.verdict.table()
    parts = [*path_parts(run.update), *brief_sections(run.diff), *firmness_parts(run.update)]
    return View(*summary_sentences(run), *parts, policy)


def summary_sentences(run: UpdateRun) -> list[str]:
    """Return the paragraphs of the summary."""
    step = run.facts["settings"]["take"]
    requested = "" if step is None else f"Step {step} of the path was requested. "
    parts = [f"{requested}{update_summary(run.update)}"]
    if not run.diff.is_empty:
        parts.append(run.diff.summary)
    if two := by_threshold_and_class(run):
        parts.append(two)
    if run.verdict is not None:
        parts.append(run.verdict.summary)
    return parts + [f"Note: {note}" for note in [run.facts["model"]["taken_over"]] if note]


def by_threshold_and_class(run: UpdateRun) -> str:
    """Swap-ins and swap-outs by the decision threshold and by class; empty without a threshold."""
    outputs, rows = run.facts["outputs"], run.diff.rows
    if outputs["threshold"] is None or outputs["positive"] is None or rows is None or isnan(rows.swap_ins):
        return ""
    decisions = outputs["all"]["decisions"]
    by_threshold = [f"{decisions[name]['rows']:,}" for name in ("swap_ins", "swap_outs")]
    by_class = [
        row_count(each, rows.n_rows) or percent_text(each) for each in (rows.swap_ins, rows.swap_outs)
    ]
    return (
        f"By the decision threshold of {outputs['threshold']:g}: {by_threshold[0]} swap-ins, "
        f"{by_threshold[1]} swap-outs. By the predicted class: {by_class[0]} swap-ins, {by_class[1]} "
        "swap-outs."
    )
