"""Compare models on the same folds: all are fitted on the same rows and scored on the same held-out rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, LongArray, freeze, round_last_digits
from holdfast._check import check_choice
from holdfast._text import quoted
from holdfast._view import View
from holdfast.data.folds import Fold
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.data.target import Task
from holdfast.errors import ModelError, ParameterError
from holdfast.evaluate.fit import (
    EvaluationData,
    FittedModel,
    check_weights,
    describe_error,
    find_task,
    fit_and_predict,
)
from holdfast.evaluate.folds import make_folds
from holdfast.evaluate.methods import make_seeded, read_models
from holdfast.parallel.tasks import check_jobs, run_all
from holdfast.scoring.metric import Metric, Score, TrueValues, check_unscored_folds, make_metric
from holdfast.scoring.survival import brier_times

CONFIDENCE = 0.95  # of the test that separates a difference from noise
FEW = 2.0  # ratio of the quantile to the normal one from which folds are few: 6.5 for two, 2.2 for three


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
    horizon: float | None = None,
    baseline: str | None = None,
    on_error: str = "raise",
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: bool = False,
) -> "ModelComparison":
    """Score every model on the same folds, with differences and times.

    Clones of the models are fitted to rows in the type of X. Scores that a model computes itself, such as
    out-of-bag scores, are not used. The scores are the same for any `n_jobs`.

    Parameters
    ----------
    models : mapping of names to models, or list of models
        A model is an estimator with the interface of scikit-learn, a name of the registry ("tree", "forest",
        "stable", ...: see `make_estimator`), or a function of a seed that makes an estimator.
    X : array or frame of shape (n_rows, n_features)
        The features.
    y : array of shape (n_rows,)
        The target: classes or numbers; or times to an event, see `read_survival`.
    cv : int, float, splitter or list of pairs, default 5
        A number of folds, a fraction of rows to hold out once, a splitter of scikit-learn, or pairs of row
        numbers. Folds hold out whole `groups`, divide classes evenly and do not depend on the order of rows.
        With a `stage`, each later stage is predicted by models of all earlier ones, and `cv` is the greatest
        number of folds: if there are more stages, some are pooled.
    scoring : str, callable or list of them, optional
        Metrics, as in `make_metric`; the first decides the order. Default: "auc", "r2" or "concordance".
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows, for training and for scores.
    groups : array of shape (n_rows,), optional
        Rows of one group are never divided between training and scoring, except by stages.
    stage : array of shape (n_rows,), optional
        Years or cohorts in their order.
    strict_groups : bool, default False
        With `stage` and `groups`: also leave out earlier rows of a group that is held out, and report how
        many rows, and which fractions of the classes, remain.
    horizon : float, optional
        Of times to an event, the time up to which "uno", "auc" and "brier" score. Default: that
        of the models, if they agree, or as of `SurvivalTree`.
    baseline : str, optional
        The model that others are compared with. Default: the one with the best mean.
    on_error : {"raise", "skip"}, default "raise"
        With "skip", a model that fails is left out, and the reason is shown.
    n_jobs : int, optional
        Fits at a time; -1 for all cores.
    random_state : int, default 0
        Seed of the folds, and of models that are given by name or as functions.
    verbose : bool, default False
        Whether to show a progress bar.

    Returns
    -------
    ModelComparison
        Scores, differences, times, sizes and predictions of the rows held out.

    Examples
    --------
    >>> X = [[float(age), float(age % 7)] for age in range(20, 80)]
    >>> y = ["no" if age < 50 else "yes" for age, _ in X]
    >>> compare_models(["tree", "bagging"], X, y, cv=3, scoring="accuracy").best
    'tree'
    """
    check_jobs(n_jobs)
    named = read_models(models)
    _check_choices(named, baseline, on_error)
    own = {name: each for name, each in named.items() if hasattr(each, "fit")}
    data = EvaluationData.read(
        X,
        y,
        sample_weight,
        find_task(own),
        groups=groups,
        stage=stage,
        horizon=horizon,
        models=own.values(),
    )
    metrics = make_metrics(scoring, data.table)
    task: Task = data.target.task
    for name, model in named.items():
        if not hasattr(model, "fit"):
            named[name] = make_seeded(model, task, random_state)
        _check_model(name, named[name], data, metrics)
    folds, notes = make_folds(
        data.table, cv, stage=data.stage, groups=data.groups, strict_groups=strict_groups, seed=random_state
    )
    is_scored = _find_scored_folds(data, folds, metrics)  # before the work
    run = partial(_run_fold, named, data, folds, metrics, on_error == "skip")
    results = _run_folds(run, tuple(named), len(folds), n_jobs, verbose)
    return _make_comparison(results, data, folds, metrics, is_scored, notes=notes, baseline=baseline)


def _check_choices(named: dict[str, Any], baseline: str | None, on_error: str) -> None:
    if baseline is not None and baseline not in named:
        raise ParameterError(
            f"baseline={baseline!r} is not one of the models: choose one of {quoted(named)}."
        )
    check_choice("on_error", on_error, ("raise", "skip"))


def make_metrics(scoring: Any, table: Table) -> tuple[Metric, ...]:
    """Make the metrics of `scoring`: one, or a list of distinct ones."""
    several = scoring if isinstance(scoring, list | tuple) else [scoring]
    metrics = tuple(make_metric(each, table.schema.target) for each in several)
    if not metrics:
        raise ParameterError("scoring is empty: name at least one metric, or leave it out.")
    names = [metric.name for metric in metrics]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ParameterError(f"scoring names {quoted(repeated)} more than once.")
    return metrics


def _check_model(name: str, model: Any, data: EvaluationData, metrics: Sequence[Metric]) -> None:
    check_weights(name, model, data, "model")
    kind = type(model).__name__
    in_need = [metric.name for metric in metrics if not metric.by_labels]
    if data.target.is_classes and in_need and not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"The model {name!r} has no predict_proba, and scoring={in_need[0]!r} needs class "
            f"probabilities: score by 'accuracy', or add them by CalibratedClassifierCV({kind}())."
        )
    by_survival = [metric.name for metric in metrics if metric.by_survival]
    if by_survival and not hasattr(model, "predict_survival_function"):
        raise ParameterError(
            f"The model {name!r} has no predict_survival_function, and scoring={by_survival[0]!r} needs "
            f"probabilities to survive: score by 'concordance', or leave {kind} out."
        )


def _find_scored_folds(data: EvaluationData, folds: Sequence[Fold], metrics: Sequence[Metric]) -> BoolArray:
    """Flag the (metrics, folds) whose metric is defined on the held-out rows; an AUC needs two classes."""
    n_values = np.array([len(np.unique(data.table.target[fold.held_out])) for fold in folds])
    least = np.array([metric.least_values for metric in metrics])
    is_scored = np.asarray(n_values >= least[:, np.newaxis], np.bool_)
    for metric, flags in zip(metrics, is_scored, strict=True):
        if not flags.all():
            check_unscored_folds(metric, int(flags.sum()), len(folds))
    return is_scored


# -- the fits ---------------------------------------------------------------------------------------------


class FoldResult(NamedTuple):
    """One model on one fold."""

    scores: tuple[Score, ...]  # one for each metric; NaN where it failed
    fitted: FittedModel | None = None  # None if it failed
    failure: str = ""  # the error in words


FoldResults = dict[tuple[str, int], FoldResult]  # by the name of the model and the number of the fold


def _run_folds(
    run: Any, names: Sequence[str], n_folds: int, n_jobs: int | None, verbose: bool
) -> FoldResults:
    """Evaluate all models on all folds.

    All models run on the first fold before any on the second, so that one that always fails is known soon.
    Then the fastest models go first.
    """
    first = [(name, 0) for name in names]
    text = "First fold"
    results = dict(
        zip(first, run_all(run, first, n_jobs, progress=text * verbose, cache_name=text), strict=True)
    )
    seconds = {name: sum(fitted[3:5]) if (fitted := results[name, 0].fitted) else np.nan for name in names}
    by_speed = sorted(names, key=lambda name: np.nan_to_num(seconds[name], nan=np.inf))
    rest = [(name, place) for name in by_speed for place in range(1, n_folds)]
    if rest:
        text = "Other folds"
        results |= zip(
            rest, run_all(run, rest, n_jobs, progress=text * verbose, cache_name=text), strict=True
        )
    return results


def _run_fold(
    models: Mapping[str, Any],
    data: EvaluationData,
    folds: Sequence[Fold],
    metrics: Sequence[Metric],
    skips_errors: bool,
    task: tuple[str, int],
) -> FoldResult:
    """Evaluate a model on a fold; a ModelError names both if it fails."""
    from sklearn.base import clone

    name, place = task
    fold = folds[place]
    training, held_out = np.repeat(np.arange(len(fold.times)), fold.times), np.flatnonzero(fold.held_out)
    by_classes = any(metric.by_labels for metric in metrics)
    hazard = data.target.hazard if any(metric.by_survival for metric in metrics) else None
    times = None if hazard is None else brier_times(hazard)
    try:
        fitted = fit_and_predict(
            clone(models[name]), data, training, held_out, with_classes=by_classes, times=times
        )._replace(model=None)
        scores = tuple(_score(metric, fitted, data.true_values(held_out), len(folds)) for metric in metrics)
    except Exception as error:
        reason = describe_error(error)
        if skips_errors:
            return FoldResult((Score(np.nan, np.nan),) * len(metrics), failure=reason)
        raise ModelError(
            f"The model {name!r} failed on fold {place + 1} of {len(folds)}. {reason}"
        ) from error
    return FoldResult(scores, fitted._replace(survival=None))


def _score(metric: Metric, fitted: FittedModel, true_values: TrueValues, n_folds: int) -> Score:
    """Score the predictions of a fold; with its error by the rows, if the fold is the only one."""
    predicted = fitted.one_hot() if metric.by_labels and fitted.classes is not None else fitted.values
    predicted = fitted.survival if metric.by_survival and fitted.survival is not None else predicted
    if n_folds == 1:
        return metric.score(predicted, true_values)
    return Score(metric.value(predicted, true_values), 0.0)


def _make_comparison(
    results: FoldResults,
    data: EvaluationData,
    folds: tuple[Fold, ...],
    metrics: tuple[Metric, ...],
    is_scored: BoolArray,
    *,
    notes: tuple[str, ...],
    baseline: str | None,
) -> "ModelComparison":
    names, places = tuple(dict.fromkeys(name for name, _ in results)), range(len(folds))

    def by_fold(figure: str) -> FloatArray:
        return np.array(
            [[getattr(results[name, place].fitted, figure, np.nan) for place in places] for name in names]
        )

    scores = np.array(
        [[[s.value for s in results[name, place].scores] for place in places] for name in names]
    )
    errors = np.array([[s.error for s in results[name, 0].scores] for name in names])
    failures = tuple(
        Failure(name, place, results[name, place].failure)
        for name in names
        for place in places
        if results[name, place].failure
    )
    if len({failure.model for failure in failures}) == len(names):
        raise ModelError(f"Every model failed on some fold. {failures[0]}")
    return ModelComparison(
        names=names,
        metrics=metrics,
        all_scores=np.where(is_scored[:, np.newaxis], np.moveaxis(scores, 2, 0), np.nan),
        is_scored=is_scored,
        row_errors=errors.T if len(folds) == 1 else None,
        folds=folds,
        notes=notes,
        target=data.target,
        predictions={
            name: _join_predictions(data, folds, [results[name, place] for place in places]) for name in names
        },
        fit_seconds=by_fold("fit_seconds"),
        predict_seconds=by_fold("predict_seconds"),
        leaves=by_fold("leaves"),
        trees=by_fold("trees"),
        failures=failures,
        given_baseline=baseline,
    )


def _join_predictions(
    data: EvaluationData, folds: Sequence[Fold], results: Sequence[FoldResult]
) -> FloatArray:
    """Average the predictions of every row while it was held out; NaN if it never was."""
    total = np.zeros((data.n_rows, max(len(data.target.classes), 1)))
    times = np.zeros((data.n_rows, 1))
    for fold, result in zip(folds, results, strict=True):
        if result.fitted is not None:
            total[fold.held_out] += result.fitted.values
            times[fold.held_out] += 1
    return np.asarray(total / np.where(times > 0, times, np.nan), np.float64)


# -- the result -------------------------------------------------------------------------------------------


class Failure(NamedTuple):
    """An error of a model on a fold."""

    model: str
    fold: int  # counted from 0
    reason: str

    def __str__(self) -> str:
        return f"{self.model!r} failed on fold {self.fold + 1}. {self.reason}"


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison:
    """Scores, differences, times and held-out predictions of models on the same folds.

    Greater scores are better: losses are negated. The first metric decides; `by` puts another first.

    Attributes
    ----------
    names : tuple of str
        The models.
    metrics : tuple of Metric
    all_scores : array of shape (n_metrics, n_models, n_folds)
        NaN where a model failed, or a metric is undefined on a fold.
    is_scored : array of shape (n_metrics, n_folds)
        False where a metric is undefined, as an AUC of one class.
    row_errors : array of shape (n_metrics, n_models), or None
        Standard errors by the rows, of a single split.
    folds : tuple of Fold
    target : Target
    predictions : dict of str
        Held-out predictions by model: (n_rows, n_classes) probabilities, or (n_rows, 1) numbers.
    fit_seconds, predict_seconds : array of shape (n_models, n_folds)
    leaves, trees : array of shape (n_models, n_folds)
        Leaves of single trees, and trees of ensembles; else NaN.
    notes : tuple of str
        On the folds.
    failures : tuple of Failure
    given_baseline : str or None
    """

    names: tuple[str, ...]
    metrics: tuple[Metric, ...]
    all_scores: FloatArray
    is_scored: BoolArray
    row_errors: FloatArray | None
    folds: tuple[Fold, ...]
    target: Target
    predictions: dict[str, FloatArray]
    fit_seconds: FloatArray
    predict_seconds: FloatArray
    leaves: FloatArray
    trees: FloatArray
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    given_baseline: str | None = None

    def __post_init__(self) -> None:
        for name in ("all_scores", "is_scored", "fit_seconds", "predict_seconds", "leaves", "trees"):
            object.__setattr__(self, name, freeze(getattr(self, name)))
        frozen_predictions = {name: freeze(values) for name, values in self.predictions.items()}
        object.__setattr__(self, "predictions", frozen_predictions)

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        """True for the same models, scores, predictions and folds; times do not count."""
        if not isinstance(other, ModelComparison):
            return NotImplemented
        if (self.names, self.metrics, self.failures) != (other.names, other.metrics, other.failures):
            return False
        if len(self.folds) != len(other.folds):
            return False
        pairs: list[tuple[NDArray[Any], NDArray[Any]]] = [(self.all_scores, other.all_scores)]
        pairs += [(self.predictions[name], other.predictions[name]) for name in self.names]
        pairs += [
            both for folds in zip(self.folds, other.folds, strict=True) for both in zip(*folds, strict=True)
        ]
        return all(np.array_equal(one, two, equal_nan=one.dtype.kind == "f") for one, two in pairs)

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    # -- scores ---------------------------------------------------------------------------------------

    @property
    def metric(self) -> Metric:
        """The metric that decides."""
        return self.metrics[0]

    @property
    def scores(self) -> FloatArray:
        """(models, folds) by the metric that decides."""
        scores: FloatArray = self.all_scores[0]
        return scores

    @cached_property
    def mean(self) -> FloatArray:
        """The mean over the folds; NaN for a model that failed on one, as means are over the same folds."""
        return freeze(self._counted.mean(axis=1))

    @cached_property
    def error(self) -> FloatArray:
        """The standard error of the mean over the folds; of a single split, by its rows."""
        if self.row_errors is not None:
            return freeze(self.row_errors[0])
        n_folds = self._counted.shape[1]
        return freeze(self._counted.std(axis=1, ddof=min(1, n_folds - 1)) / np.sqrt(n_folds))

    @cached_property
    def order(self) -> LongArray:
        """The models, the best first and those that failed last."""
        return freeze(np.argsort(-round_last_digits(self.mean), kind="stable").astype(np.int64))

    @property
    def best(self) -> str:
        """The model with the best mean."""
        return self.names[int(self.order[0])]

    @property
    def baseline(self) -> str:
        """The model that others are compared with: the given one, or else the best."""
        return self.given_baseline or self.best

    @property
    def _counted(self) -> FloatArray:
        """The scores on the folds where the metric is defined."""
        return np.asarray(self.scores[:, self.is_scored[0]], np.float64)

    def by(self, metric: str) -> "ModelComparison":
        """Return the same comparison with another metric first."""
        known = [each.name for each in self.metrics]
        if metric not in known:
            raise ParameterError(f"metric={metric!r} was not computed: choose one of {quoted(known)}.")
        place = known.index(metric)
        order = [place, *(each for each in range(len(known)) if each != place)]
        return replace(
            self,
            metrics=tuple(self.metrics[each] for each in order),
            all_scores=self.all_scores[order],
            is_scored=self.is_scored[order],
            row_errors=None if self.row_errors is None else self.row_errors[order],
        )

    def differences(self, baseline: str | None = None) -> "Differences":
        """Return the score differences to a baseline on the same folds."""
        name = self.baseline if baseline is None else baseline
        if name not in self.names:
            raise ParameterError(
                f"baseline={name!r} is not one of the models: choose one of {quoted(self.names)}."
            )
        values = self._counted - self._counted[self.names.index(name)]
        counted = [fold for fold, flag in zip(self.folds, self.is_scored[0], strict=True) if flag]
        return Differences(name, self.names, self.metric, values, held_out_ratio(counted))

    # -- tables ---------------------------------------------------------------------------------------

    def columns(self) -> dict[str, list[Any]]:
        """Return the table by column, one entry per model, the best first."""
        differences = self.differences()
        others = [self.by(metric.name) for metric in self.metrics[1:]]
        reason = {failure.model: str(failure) for failure in reversed(self.failures)}
        figures: dict[str, Any] = {
            "score": self.mean,
            "score_error": self.error,
            "difference": differences.mean,
            "difference_error": differences.error,
            "within_noise": differences.within_noise,
            "cannot_tell": differences.cannot_tell,
            "noise": differences.noise,
            **{other.metric.name: other.mean for other in others},
            **{f"{other.metric.name}_error": other.error for other in others},
            "n_leaves": nan_mean(self.leaves),
            "n_estimators": nan_mean(self.trees),
            "fit_seconds": nan_median(self.fit_seconds),
            "predict_seconds": nan_median(self.predict_seconds),
            **{f"fold_{number + 1}": scores for number, scores in enumerate(self.scores.T)},
        }
        names = [self.names[place] for place in self.order]
        return {
            "model": names,
            "metric": [self.metric.name] * len(self),
            **{name: figure[self.order].tolist() for name, figure in figures.items()},
            "failure": [reason.get(name) for name in names],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per model, as a pandas, polars or pyarrow frame (the first that is installed)."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        types |= dict.fromkeys(("model", "metric", "failure"), nw.String)
        types |= dict.fromkeys(("within_noise", "cannot_tell"), nw.Boolean)
        return frame_from(columns, types, backend)

    @property
    def reading(self) -> str:
        """The sentences in one paragraph."""
        return " ".join(self.sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The protocol, the models within noise of the best, readable trees, and what noise is."""
        from holdfast.evaluate.compare_text import comparison_sentences

        return tuple(comparison_sentences(self))

    def tables(self) -> list[tuple[str, list[list[str]]]]:
        """Return a title and the cells, headings first, of every table."""
        from holdfast.evaluate.compare_text import comparison_tables

        return comparison_tables(self)

    def text(self, *, times: bool = True, width: int | None = None) -> str:
        """Return the table as text, one line per model, the best first; without times, the same in every run.

        If lines are longer than `width`, times are left out.
        """
        from holdfast.evaluate.compare_text import comparison_text

        return comparison_text(self, times=times, width=width)

    def __repr__(self) -> str:
        return "\n".join([self.text(), " ".join([self.reading, *self.notes])])

    def plot(self, ax: Any = None) -> Any:
        """Draw the score of every model with its standard error, and return the `ComparisonDisplay`."""
        from holdfast.plots.evaluation import ComparisonDisplay

        return ComparisonDisplay.from_result(self, ax=ax)

    def to_svg(self) -> str:
        """Return the plot as SVG."""
        from holdfast.plots.display import LATER
        from holdfast.plots.evaluation import ComparisonDisplay

        return ComparisonDisplay.from_result(self, ax=LATER).to_svg()

    def _view(self) -> View:
        from holdfast.evaluate.compare_text import comparison_view

        return comparison_view(self)

    def _repr_html_(self) -> str:
        return self._view().to_html()


def nan_mean(figures: FloatArray) -> FloatArray:
    """Average every row without its NaN; NaN if there is nothing else."""
    known = ~np.isnan(figures)
    total = np.where(known, figures, 0.0).sum(axis=1)
    return np.asarray(total / np.where(known.any(axis=1), known.sum(axis=1), np.nan), np.float64)


def nan_median(seconds: FloatArray) -> FloatArray:
    """Compute the median of every row without NaN, which ignores a fold that compiled kernels."""
    return np.array([np.median(own[~np.isnan(own)]) if (own == own).any() else np.nan for own in seconds])


# -- differences ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Differences:
    """The score of each model minus that of the baseline on the same folds; above 0 is better.

    Losses are negated.
    """

    baseline: str
    names: tuple[str, ...]
    metric: Metric
    values: FloatArray  # (models, folds): only folds that count; NaN where a model failed
    ratio: float  # rows held out for each row trained on

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", freeze(self.values))

    @property
    def n_folds(self) -> int:
        """Number of folds that count."""
        return int(self.values.shape[1])

    @cached_property
    def mean(self) -> FloatArray:
        """The mean over the folds; NaN for a model that failed on one of them."""
        return freeze(self.values.mean(axis=1))

    @cached_property
    def plain_error(self) -> FloatArray:
        """The standard error of the mean if folds were independent, which they are not; NaN of one fold."""
        return freeze(self._deviation / np.sqrt(self.n_folds))

    @cached_property
    def error(self) -> FloatArray:
        """The standard error of the mean, corrected for what the folds have in common; NaN of one fold."""
        # Two of five training sets share three quarters of their rows, so that models, and with them the
        # differences, are correlated: the plain error is too small, with far more than 5 % false positives.
        # Nadeau and Bengio (2003) add the ratio of held-out to training rows for that correlation: with five
        # folds errors become 1.5 times as large. This can be conservative, which suits a choice of models.
        return freeze(self._deviation * np.sqrt(1 / self.n_folds + self.ratio))

    @cached_property
    def quantile(self) -> float:
        """Half width of the interval in standard errors, by Student's distribution; NaN of one fold."""
        from scipy.special import stdtrit

        return float(stdtrit(self.n_folds - 1, (1 + CONFIDENCE) / 2)) if self.n_folds > 1 else np.nan

    @cached_property
    def noise(self) -> FloatArray:
        """The greatest difference within chance: smaller ones cannot be detected."""
        return freeze(self.quantile * self.error)

    @property
    def has_few_folds(self) -> bool:
        """True if at most three folds count, so that intervals are very wide."""
        from scipy.special import ndtri

        return not self.quantile <= FEW * float(ndtri((1 + CONFIDENCE) / 2))

    @cached_property
    def cannot_tell(self) -> BoolArray:
        """True for models that cannot be distinguished from the baseline by so few folds."""
        # With two folds everything is within noise, as a deviation of two numbers has one degree of freedom.
        # Only a difference that is equal on every fold has no noise.
        is_open = ~(np.abs(self.mean) > self.noise) & ~(self.noise == 0) & ~np.isnan(self.mean)
        return freeze(is_open & ~self._is_baseline & self.has_few_folds)

    @cached_property
    def within_noise(self) -> BoolArray:
        """True for models whose difference to the baseline is within chance, and for the baseline itself.

        False for models in `cannot_tell`.
        """
        is_small = np.abs(self.mean) <= self.noise
        return freeze(self._is_baseline | (is_small & ~self.cannot_tell))

    @property
    def _is_baseline(self) -> BoolArray:
        return np.array([name == self.baseline for name in self.names])

    @cached_property
    def _deviation(self) -> FloatArray:
        if self.n_folds < 2:
            return np.full(len(self.names), np.nan)
        return np.asarray(self.values.std(axis=1, ddof=1), np.float64)

    def columns(self) -> dict[str, list[object]]:
        """Return the differences by column, one entry per model."""
        return {
            "model": list(self.names),
            "difference": self.mean.tolist(),
            "difference_error": self.error.tolist(),
            "plain_error": self.plain_error.tolist(),
            "noise": self.noise.tolist(),
            "within_noise": self.within_noise.tolist(),
            "cannot_tell": self.cannot_tell.tolist(),
            **{f"fold_{number + 1}": values.tolist() for number, values in enumerate(self.values.T)},
        }

    def __repr__(self) -> str:
        from holdfast.evaluate.compare_text import difference_text

        return difference_text(self)


def held_out_ratio(folds: Sequence[Fold]) -> float:
    """Compute the mean ratio of held-out rows to training rows over the folds.

    >>> held_out_ratio([Fold(np.array([1, 1, 1, 1, 0]), np.array([False, False, False, False, True]))])
    0.25
    """
    return float(np.mean([fold.held_out.sum() / fold.times.sum() for fold in folds]))
