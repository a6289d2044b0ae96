"""Models compared fairly: every one learns from the same rows and is scored on the same others."""

import inspect
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray, FloatArray
from holdfast.backends.tasks import check_jobs, run_all
from holdfast.comparison.division import SharedFolds, shared_folds
from holdfast.comparison.rows import collected
from holdfast.comparison.table import Failure, ModelComparison
from holdfast.comparison.trial import Rows, Trial, takes, tried
from holdfast.data.input.frame import make_frame
from holdfast.data.input.target import Task, get_target_name, read_vector
from holdfast.data.split.folds import Fold
from holdfast.data.split.groups import read_groups
from holdfast.data.split.stages import read_stage
from holdfast.data.table import Table
from holdfast.errors import DataWarning, ModelError, ParameterError
from holdfast.scoring.metric import Metric, Score, make_metric
from holdfast.scoring.unscored_folds import check_unscored_folds
from holdfast.text.lists import listed

TASKS: dict[str, Task] = {"classifier": "classification", "regressor": "regression"}


def compare_models(
    models: Mapping[str, Any] | Iterable[Any],
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    scoring: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    stage: Any = None,
    strict_groups: bool = False,
    baseline: str | None = None,
    on_error: str = "raise",
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: bool = False,
) -> ModelComparison:
    """The scores of every model on the same folds, their differences, and the time that each took.

    `models` are estimators with the face of scikit-learn, ours or others', by name or as a list. Clones are
    fitted, on rows in the type in which X has them, and the models stay as they are.

    `cv` is a number of folds, a fraction of rows to hold out once, a splitter of scikit-learn's, or pairs of
    row numbers. Folds hold out whole `groups`, divide classes evenly and do not depend on the order of the
    rows. With a `stage`, each later stage is predicted by models of all earlier ones, and `cv` is the
    greatest number of folds: more stages than that are pooled. Earlier rows of a group that comes back are
    learnt from then, as they will be in use; `strict_groups=True` leaves them out, and says how many rows and
    which fractions of the classes remain.

    `scoring` is one metric or a list of them, as in `make_metric`: the first decides the order. What a model
    reports of itself, such as an out-of-bag score, has no part in it. Differences are to the `baseline`, by
    default the model with the best mean. `on_error="skip"` goes on where a model fails, and shows the reason.
    The scores are the same for any `n_jobs`, which counts fits at a time.
    """
    check_jobs(n_jobs)
    named = _named(models)
    _check_choices(named, baseline, on_error)
    X = collected(X)
    rows, table = read_rows(X, y, sample_weight, task_of(named), groups, stage)
    metrics = metrics_of(scoring, table)
    for name, model in named.items():
        _check_model(name, model, rows, metrics)
    shared = shared_folds(
        table, cv, stage=rows.stage, groups=rows.groups, strict_groups=strict_groups, seed=random_state
    )
    telling = _telling(rows, shared.folds, metrics)  # before the work
    work = _Work(named, rows, shared, metrics, on_error == "skip")
    return _comparison(work, work.done(n_jobs, verbose), telling, baseline)


@dataclass(frozen=True, eq=False)
class _Work:
    """Every model on every fold."""

    models: dict[str, Any]
    rows: Rows
    shared: SharedFolds
    metrics: tuple[Metric, ...]
    skips_errors: bool

    @property
    def folds(self) -> tuple[Fold, ...]:
        """The folds, the same for every model."""
        return self.shared.folds

    def trial(self, task: tuple[str, int]) -> Trial:
        """One model on one fold; a ModelError says which, if it fails."""
        name, place = task
        try:
            alone = len(self.folds) == 1  # then only the rows tell how far chance goes
            return tried(self.models[name], self.rows, self.folds[place], self.metrics, with_errors=alone)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            if self.skips_errors:
                return Trial((Score(np.nan, np.nan),) * len(self.metrics), None, failure=reason)
            raise ModelError(
                f"The model {name!r} failed on fold {place + 1} of {len(self.folds)}. {reason}"
            ) from error

    def done(self, n_jobs: int | None, progress: bool) -> dict[tuple[str, int], Trial]:
        """All trials.

        Every model meets the first fold before any meets the second, so that one that cannot work at all is
        known soon. Then the fastest go first.
        """
        first = [(name, 0) for name in self.models]
        trials = dict(zip(first, self._run(first, n_jobs, "First fold", progress), strict=True))
        seconds = {
            name: trials[name, 0].fit_seconds + trials[name, 0].predict_seconds for name in self.models
        }
        by_speed = sorted(self.models, key=lambda name: np.nan_to_num(seconds[name], nan=np.inf))
        rest = [(name, place) for name in by_speed for place in range(1, len(self.folds))]
        if rest:
            trials |= zip(rest, self._run(rest, n_jobs, "Other folds", progress), strict=True)
        return trials

    def _run(
        self, tasks: Sequence[tuple[str, int]], n_jobs: int | None, name: str, progress: bool
    ) -> list[Trial]:
        return run_all(self.trial, tasks, n_jobs, progress=name * progress, kept=name)


# -- what is given ----------------------------------------------------------------------------------------


def _named(models: Any) -> dict[str, Any]:
    """The models by name; those of a list are called by their class, and numbered if it has several."""
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
        if len(named) < len(models):
            raise ParameterError(f"models has names that are alike as text: {listed(map(str, models))}.")
    elif isinstance(models, Iterable) and not hasattr(models, "fit"):
        named = {}
        for model in models:
            name = type(model).__name__
            number = sum(each == name or each.startswith(f"{name} ") for each in named)
            named[f"{name} {number + 1}" if number else name] = model
    else:
        raise ParameterError(
            "models is neither a mapping of names to estimators nor a list of estimators: write [model] for "
            "a single one."
        )
    if not named:
        raise ParameterError("models is empty: give at least one estimator.")
    for name, model in named.items():
        if inspect.isclass(model):
            raise ParameterError(f"The model {name!r} is a class: write {model.__name__}().")
        if not hasattr(model, "fit") or not hasattr(model, "predict"):
            raise ParameterError(
                f"The model {name!r} is no estimator: {type(model).__name__} has no fit and predict."
            )
    return named


def _check_choices(named: dict[str, Any], baseline: str | None, on_error: str) -> None:
    if baseline is not None and baseline not in named:
        raise ParameterError(f"baseline={baseline!r} is none of the models: choose one of {listed(named)}.")
    if on_error not in ("raise", "skip"):
        raise ParameterError(f"on_error={on_error!r} is unknown: choose 'raise' or 'skip'.")


def task_of(named: dict[str, Any]) -> Task | None:
    """What the models are made for; None if no model says."""
    kinds = {name: _kind(model) for name, model in named.items()}
    for name, kind in kinds.items():
        if kind is not None and kind not in TASKS:
            raise ParameterError(f"The model {name!r} is a {kind}: give classifiers or regressors.")
    said = {kind for kind in kinds.values() if kind is not None}
    if len(said) > 1:
        one, other = ([name for name, kind in kinds.items() if kind == each] for each in sorted(said))
        raise ParameterError(
            f"No metric compares models of classes, {listed(one)}, with models of numbers, {listed(other)}."
        )
    return TASKS[said.pop()] if said else None


def _kind(model: Any) -> str | None:
    from sklearn.utils import get_tags

    try:
        return str(get_tags(model).estimator_type or "") or None
    except Exception:  # written before scikit-learn 1.6, say
        kind: str | None = getattr(model, "_estimator_type", None)
        return kind


def read_rows(X: Any, y: Any, weight: Any, task: Task | None, groups: Any, stage: Any) -> tuple[Rows, Table]:
    """The rows as the models get them, and as a table that says how they can be divided."""
    n_rows = make_frame(X).n_rows
    line = read_vector(y, n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # models have their own view of the columns
        table = Table.from_arrays(X, line, weight, task=task, target=get_target_name(y))
    rows = Rows(
        X=X,
        y=line if isinstance(line, np.ndarray) else line.to_native(),
        target=table.schema.target,
        values=table.target,
        weight=table.weight,
        groups=None if groups is None else read_groups(groups, n_rows),
        stage=None if stage is None else read_stage(stage, n_rows),
    )
    return rows, table


def metrics_of(scoring: Any, table: Table) -> tuple[Metric, ...]:
    """The metrics that `scoring` names, each once: one of them, or several in a list."""
    several = scoring if isinstance(scoring, list | tuple) else [scoring]
    metrics = tuple(make_metric(each, table.schema.target) for each in several)
    if not metrics:
        raise ParameterError("scoring is empty: name at least one metric, or leave it out.")
    names = [metric.name for metric in metrics]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ParameterError(f"scoring names {listed(repeated)} more than once.")
    return metrics


def _check_model(name: str, model: Any, rows: Rows, metrics: Sequence[Metric]) -> None:
    kind = type(model).__name__
    if rows.weight is not None and not takes(model, "sample_weight"):
        raise ParameterError(
            f"The model {name!r} cannot take weights: the fit of {kind} has no sample_weight. Leave the "
            "model or the weights out."
        )
    in_need = [metric.name for metric in metrics if not metric.by_labels]
    if rows.target.is_classes and in_need and not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"The model {name!r} has no predict_proba, and scoring={in_need[0]!r} needs fractions of the "
            f"classes: score by 'accuracy', or give the model some, as CalibratedClassifierCV({kind}()) does."
        )


# -- what comes of it -------------------------------------------------------------------------------------


def _telling(rows: Rows, folds: Sequence[Fold], metrics: Sequence[Metric]) -> BoolArray:
    """(metrics, folds) False if the metric means nothing on the rows held out, as an AUC of one class."""
    n_values = np.array([len(np.unique(rows.values[fold.held_out])) for fold in folds])
    least = np.array([metric.least_values for metric in metrics])
    telling = np.asarray(n_values >= least[:, np.newaxis], np.bool_)
    for metric, tells in zip(metrics, telling, strict=True):
        if not tells.all():
            check_unscored_folds(metric, int(tells.sum()), len(folds))
    return telling


def _comparison(
    work: _Work, trials: dict[tuple[str, int], Trial], telling: BoolArray, baseline: str | None
) -> ModelComparison:
    names, places = tuple(work.models), range(len(work.folds))

    def by_fold(figure: str) -> FloatArray:
        return np.array([[getattr(trials[name, place], figure) for place in places] for name in names])

    scores = np.array([[[s.value for s in trials[name, place].scores] for place in places] for name in names])
    errors = np.array([[s.error for s in trials[name, 0].scores] for name in names])
    failures = tuple(
        Failure(name, place, trials[name, place].failure)
        for name in names
        for place in places
        if trials[name, place].failure
    )
    if len({failure.model for failure in failures}) == len(names):
        raise ModelError(f"Every model failed on some fold. {failures[0]}")
    return ModelComparison(
        names=names,
        metrics=work.metrics,
        all_scores=np.where(telling[:, np.newaxis], np.moveaxis(scores, 2, 0), np.nan),
        telling=telling,
        row_errors=errors.T if len(work.folds) == 1 else None,
        folds=work.folds,
        notes=work.shared.notes,
        target=work.rows.target,
        predictions={name: _out_of_fold(work, [trials[name, place] for place in places]) for name in names},
        fit_seconds=by_fold("fit_seconds"),
        predict_seconds=by_fold("predict_seconds"),
        leaves=by_fold("leaves"),
        trees=by_fold("trees"),
        failures=failures,
        given_baseline=baseline,
    )


def _out_of_fold(work: _Work, trials: Sequence[Trial]) -> FloatArray:
    """What was predicted of every row while it was held out; the mean of several times, NaN of none."""
    n_rows, n_columns = len(work.rows.values), max(len(work.rows.target.classes), 1)
    total, times = np.zeros((n_rows, n_columns)), np.zeros((n_rows, 1))
    for fold, trial in zip(work.folds, trials, strict=True):
        if trial.predicted is not None:
            total[fold.held_out] += trial.predicted
            times[fold.held_out] += 1
    return np.asarray(total / np.where(times > 0, times, np.nan), np.float64)
