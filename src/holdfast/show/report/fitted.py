"""Any fitted model as the page of a fit sees it: one view of runs, estimators, trees and ensembles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from holdfast._version import __version__
from holdfast.arrays import IntArray
from holdfast.data.schema import Label, Schema, Target
from holdfast.data.table import Table
from holdfast.distance.diff.data import compared_table
from holdfast.errors import ParameterError
from holdfast.evidence.feature_use import FeatureUse, feature_use
from holdfast.evidence.replication_table import Replications
from holdfast.evidence.split_support import SplitSupport, split_support
from holdfast.runs.run import Run
from holdfast.scoring.metric import Metric, TrueValues, metric_of
from holdfast.show.report.given import Given
from holdfast.stability.frontier import Frontier
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.positive import positive_class
from holdfast.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class RowsKnown:
    """Rows with their true values, on which a model can be judged."""

    X: Any  # a frame, or whatever a model takes
    true_values: TrueValues
    are_new: bool  # True if the model has surely not seen them

    @property
    def name(self) -> str:
        """What they are called."""
        return "test rows" if self.are_new else "rows given to this report"


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, and all that is known of it; what is not known is None or empty."""

    model: Tree | Ensemble
    positive: int | None  # the class that matters, of a tree with two
    metric: Metric
    frontier: Frontier | None = None
    chosen: int | None = None  # place of the tree among the candidates
    reason: str = ""  # why it was chosen
    candidates: Sequence[Tree] = ()
    references: Sequence[Tree] = ()
    sampled_candidates: Sequence[Tree] = ()  # those that were grown on samples of the rows
    supports: Sequence[SplitSupport] = ()
    uses: Sequence[FeatureUse] = ()
    test: RowsKnown | None = None
    training: Table | None = None
    record: Mapping[str, Any] = field(default_factory=dict)  # settings and the rest, as plain data
    replications: Replications | None = None
    noun: str = "case"  # what a row is

    @property
    def schema(self) -> Schema:
        """The schema of the model."""
        return self.model.schema

    @property
    def target(self) -> Target:
        """What the model predicts."""
        return self.model.schema.target

    @property
    def positive_label(self) -> Label | None:
        """The class that matters, as the data calls it."""
        return None if self.positive is None else self.target.classes[self.positive]

    @property
    def trees(self) -> Sequence[Tree]:
        """The trees of the model."""
        return [self.model] if isinstance(self.model, Tree) else self.model.trees

    @cached_property
    def predicted(self) -> Any:
        """What the model says of the rows known: fractions of the classes, or numbers."""
        assert self.test is not None
        return self.model.values(self.test.X)

    @cached_property
    def decided(self) -> IntArray:
        """Index of the class that the model predicts for each of the rows known."""
        assert self.test is not None
        if isinstance(self.model, Tree):
            return self.model.outcome[self.model.apply(self.test.X)]
        return self.model.decided(self.predicted)


def fitted_of(subject: Any, given: Given) -> Fitted:
    """The view of a run, a fitted estimator, a tree or an ensemble."""
    return _of_run(subject, given) if isinstance(subject, Run) else _of_model(subject, given)


def _of_run(run: Run, given: Given) -> Fitted:
    details, model = run.details, run.model
    is_stable = bool(run.references)
    sampled = () if run.facts["settings"].get("method") == "centred" else run.candidates
    stable = details if details is not None and details.is_stable else None
    return Fitted(
        model=model,
        positive=positive_class(model, given.positive),
        metric=details.metric if details is not None else _metric(run.facts["metric"]["name"], model),
        frontier=run.frontier,
        chosen=run.facts["choice"]["candidate"] if is_stable else None,
        reason=run.reason,
        candidates=run.candidates,
        references=run.references,
        sampled_candidates=sampled,
        supports=_supports(model, run.references, sampled) if stable is None else stable.split_support,
        uses=_uses(model, [*run.references, *sampled]) if stable is None else stable.uses,
        test=_given_rows(model, given) or _test_rows(run),
        training=None if details is None else details.roles.training,
        record=run.facts,
        replications=given.replications,
        noun=given.about.get("case", "case"),
    )


def _of_model(subject: Any, given: Given) -> Fitted:
    model = _model_of(subject)
    references = getattr(subject, "reference_trees_", ())
    trained = getattr(subject, "trained_", None)
    sampled = () if trained is None else trained.sampled_candidates
    choice = getattr(subject, "choice_", None)
    settings = subject.get_params(deep=False) if hasattr(subject, "get_params") else {}
    return Fitted(
        model=model,
        positive=positive_class(model, given.positive),
        metric=trained.metric if trained is not None else metric_of(None, model.schema.target),
        frontier=getattr(subject, "frontier_", None),
        chosen=None if choice is None else choice.candidate,
        reason="" if choice is None else choice.reason,
        candidates=getattr(subject, "candidate_trees_", ()),
        references=references,
        sampled_candidates=sampled,
        supports=_supports(model, references, sampled),
        uses=_uses(model, [*references, *sampled]),
        test=_given_rows(model, given),
        record={
            "holdfast": __version__,
            "settings": {
                "model": type(subject).__name__,
                **{name: _plain(each) for name, each in settings.items()},
            },
        },
        replications=given.replications,
        noun=given.about.get("case", "case"),
    )


def _model_of(subject: Any) -> Tree | Ensemble:
    if isinstance(subject, Tree | Ensemble):
        return subject
    for name in ("tree_", "ensemble_"):
        if hasattr(subject, name):
            model: Tree | Ensemble = getattr(subject, name)
            return model
    raise ParameterError(f"This {type(subject).__name__} is not fitted: call fit before you report on it.")


def _metric(name: str, model: Tree | Ensemble) -> Metric:
    try:
        return metric_of(name, model.schema.target)
    except ParameterError:  # of another library
        return metric_of(None, model.schema.target)


def _supports(
    model: Tree | Ensemble, references: Sequence[Tree], candidates: Sequence[Tree]
) -> Sequence[SplitSupport]:
    if isinstance(model, Tree) and references:
        return split_support(model, references, candidates)
    return ()


def _uses(model: Tree | Ensemble, others: Sequence[Tree]) -> Sequence[FeatureUse]:
    """The features by their use in trees of other samples, or in those of the model."""
    trees = list(others) or [model] if isinstance(model, Tree) else list(model.trees)
    return feature_use(trees)


def _test_rows(run: Run) -> RowsKnown | None:
    rows = None if run.details is None else run.details.roles.test
    return None if rows is None else RowsKnown(rows.frame, rows.true_values, are_new=True)


def _given_rows(model: Tree | Ensemble, given: Given) -> RowsKnown | None:
    if given.X is None or given.y is None:
        return None
    some = model if isinstance(model, Tree) else model.trees[0].replace(schema=model.schema)
    table = compared_table(some, some, given.X, given.y)
    return RowsKnown(given.X, TrueValues(model.schema.target, table.target, table.weight), are_new=False)


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return repr(value)
