"""The settings of a run: what the data is, which rows test the model, and the parameters of its estimator."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from holdfast._choices import TASKS, TEST_ROWS, UPDATE_STRATEGIES, UPDATE_TOLERANCE
from holdfast.data.schema import Target
from holdfast.data.target import Task
from holdfast.data.target_columns import TargetColumns, choose_target_columns
from holdfast.errors import ParameterError
from holdfast.evaluate.methods import FIT_METHODS, METHODS, make_estimator
from holdfast.governance.model_card import make_model_card
from holdfast.growth.class_costs import read_loss_matrix, read_priors
from holdfast.tree.rules import format_class_names

if TYPE_CHECKING:
    from holdfast.data.read_options import ReadingOptions

MODELS = FIT_METHODS
# Parameters of a stable tree that only some of its methods use, and these methods.
METHODS_OF = {
    "teacher": ("consensus",),
    "thresholds": ("consensus",),
    "early_fraction": ("bootstrap", "pruned", "paper"),
}
# Growth rules that only one kind of target uses.
OF_TASK = {
    "loss_matrix": "classification",
    "priors": "classification",
    "class_weight": "classification",
    "monotonic_class": "classification",
    "quantile": "regression",
}
KINDS = {"classification": "classes", "regression": "a number", "survival": "a time to an event"}
# Parameters of the estimator that a run sets itself, from its data settings.
_OF_DATA = ("custom_features", "categorical_features", "verbose")
_CHOICE = (
    "selection_rule",
    "tolerance",
    "tolerance_unit",
    "instability_weight",
)  # not together with a candidate
_COLUMNS = ("target", "time", "event", "entry", "stage", "groups", "weight")
_OF_CELLS = ("missing", "date", "decimal", "thousands", "encoding", "coerce")


# -- data -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CellSettings:
    """How the cells of a file are written; of a frame only missing values and dates are read."""

    missing: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    decimal: str = "."
    thousands: str | None = None
    encoding: str | None = None
    coerce: bool = False

    def __post_init__(self) -> None:
        self._set_names("missing", "date")
        self._check_types(str, "a text", "decimal", "thousands", "encoding")
        self._check_types(bool, "True or False", "coerce")

    @property
    def reading_options(self) -> "ReadingOptions":
        """How a file is read; a DataError names an impossible mark or encoding."""
        from holdfast.data.read_options import Numerals, ReadingOptions

        return ReadingOptions(
            encoding=self.encoding,
            numerals=Numerals(self.decimal, self.thousands or ""),
            missing=self.missing,
            dates=self.date,
            coerce=self.coerce,
            keep_ids=getattr(self, "keep_ids", not isinstance(self, UpdateRunSettings)),
        )

    def to_dict(self, *, but: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
        """The settings as plain data: those of the columns, and how cells are read."""
        parts: dict[str, dict[str, Any]] = {"columns": {}, "reading": {}}
        for each in fields(self):
            if each.name not in but:
                part = "reading" if each.name in _OF_CELLS else "columns"
                parts[part][each.name] = plain(getattr(self, each.name))
        return parts

    def _check_types(self, kind: type, what: str, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise ParameterError(f"{name}={value!r} must be {what}.")

    def _set_names(self, *names: str) -> None:
        """Turn a text, or a list of texts, into a tuple."""
        for name in names:
            given = getattr(self, name)
            values = (given,) if isinstance(given, str) else given
            is_list = isinstance(values, Iterable) and not isinstance(values, Mapping)
            texts = tuple(values) if is_list else (None,)
            if not all(isinstance(text, str) for text in texts):
                raise ParameterError(f"{name}={given!r} must be a text, or a list of texts.")
            object.__setattr__(self, name, texts)


@dataclass(frozen=True, kw_only=True)
class DataSettings(CellSettings):
    """The roles of the columns, and which rows and columns are left out."""

    target: str | None = None
    time: str | None = None  # to an event, instead of a target
    event: str | None = None
    entry: str | None = None
    horizon: float | None = None
    time_unit: str | None = None
    hazard: str | None = None
    stage: str | None = None
    groups: str | None = None
    weight: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    ordered: Any = ()  # pairs of a column and its categories, or a mapping
    stage_order: Any = None
    custom_features: tuple[str, ...] = ()
    task: Any = None
    keep_ids: bool = False
    drop_missing_target: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_names("drop", "categorical", "custom_features")
        self._check_types(str, "the name of a column", *_COLUMNS)
        self._check_types(str, "a word", "time_unit", "hazard")
        self._check_types(bool, "True or False", "keep_ids", "drop_missing_target")
        check_choice("task", self.task, (None, *TASKS))
        self._check_target()
        if isinstance(self.horizon, Real) and not isinstance(self.horizon, bool):
            object.__setattr__(self, "horizon", float(self.horizon))
        pairs = self.ordered.items() if isinstance(self.ordered, Mapping) else self.ordered
        ordered = tuple((str(column), _order(f"ordered={names!r}", names)) for column, names in pairs)
        columns = [column for column, _ in ordered]
        if repeated := [column for column in columns if columns.count(column) > 1]:
            raise ParameterError(f"ordered is given twice for column {repeated[0]!r}: choose one.")
        object.__setattr__(self, "ordered", ordered)
        if self.stage_order is not None:
            order = _order(f"stage_order={self.stage_order!r}", self.stage_order)
            object.__setattr__(self, "stage_order", order)
            if self.stage is None:
                raise ParameterError("stage_order needs stage, the column that has these stages.")

    def _check_target(self) -> None:
        """Raise an error unless there is a target, or a time and an event, and the task is that of them."""
        if self.target is None and self.time is None and self.event is None:
            raise ParameterError(
                "target is missing: name the column that is to be predicted; or, for the time to an event, "
                "name the columns of time and event."
            )
        is_survival = self.targets.is_survival
        if self.task is not None and (self.task == "survival") != is_survival:
            way_out = (
                "leave it out" if is_survival else "name the columns of time and event instead of target"
            )
            raise ParameterError(
                f"task={self.task!r} does not go with {'time' if is_survival else 'target'}: {way_out}."
            )
        if not is_survival and self.hazard_options:
            name = next(iter(self.hazard_options))
            raise ParameterError(
                f"{name} is for times to an event, and {self.target!r} is a target: leave it out."
            )

    @property
    def targets(self) -> TargetColumns:
        """The columns that are predicted."""
        return choose_target_columns(self.target, self.time, self.event, self.entry)

    @property
    def hazard_options(self) -> dict[str, Any]:
        """The explicit settings of times to an event: parameters of tables and of survival estimators."""
        own = {name: getattr(self, name) for name in ("hazard", "horizon", "time_unit")}
        return {name: value for name, value in own.items() if value is not None}

    def columns_by_setting(self, known: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The columns that each setting names, except dates; `known` are those of the data."""
        single = {name: getattr(self, name) for name in ("stage", "groups", "weight")}
        single = {**self.targets.roles(known), **single}
        named = {name: (column,) for name, column in single.items() if column is not None}
        ordered = tuple(column for column, _ in self.ordered)
        return {**named, "drop": self.drop, "categorical": self.categorical, "ordered": ordered}


def _order(what: str, names: Any) -> tuple[str, ...]:
    order = tuple(map(str, names)) if isinstance(names, list | tuple) else ()
    if not all(order) or len(order) < 2:
        raise ParameterError(f"{what} must be a list of names, the first of them first.")
    if len(set(order)) < len(order):
        raise ParameterError(f"{what} has a name twice.")
    return order


# -- a fit ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The settings of a run: its data, its test rows, its model, and the parameters of the estimator."""

    data: DataSettings
    model: str = MODELS[0]
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the estimator: the explicit ones
    candidate: int | None = None
    scoring: Any = None
    test: float = 0.25
    test_rows: str | None = None
    model_card: Any = None
    random_state: int = 0
    n_jobs: int | None = -1

    def __post_init__(self) -> None:
        check_choice("model", self.model, MODELS)
        check_choice("test_rows", self.test_rows, (None, *TEST_ROWS))
        check_number("test", self.test, Real, 0 <= as_float(self.test) < 1, "at least 0 and below 1")
        seed = self.random_state
        check_number("random_state", seed, Integral, as_float(seed) >= 0, "at least 0")
        if self.candidate is not None and (rules := [name for name in _CHOICE if name in self.parameters]):
            raise ParameterError(f"candidate={self.candidate!r} is the choice itself: leave {rules[0]} out.")
        if self.candidate is not None and not self.is_stable:
            raise ParameterError(f"candidate goes with model='stable', and the model is {self.model!r}.")
        method = self.parameters.get("method", "consensus")
        for name in self.parameters if self.is_stable else ():
            if method not in METHODS_OF.get(name, (method,)):
                goes = " or ".join(map(repr, METHODS_OF[name]))
                raise ParameterError(
                    f"{name} goes with method={goes}, and the method is {method!r}: leave it out."
                )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "RunSettings":
        """Make settings from keywords; a TypeError names the setting closest to an unknown name."""
        of_data = [each.name for each in fields(DataSettings)]
        own = [each.name for each in fields(cls) if each.name not in ("data", "parameters")]
        others = [name for name in given if name not in (*of_data, *own)]
        model = check_choice("model", given.get("model", MODELS[0]), MODELS)
        known = {name for task in TASKS for name in parameters_of(model, task)}
        for name in others:
            if name not in known:
                _raise_unknown(name, model, [*of_data, *own])
        return cls(
            data=DataSettings(**{name: given[name] for name in of_data if name in given}),
            parameters={name: given[name] for name in others},
            **{name: given[name] for name in own if name in given},
        )

    @property
    def is_stable(self) -> bool:
        """True if the model is a stable tree."""
        return self.model == "stable"

    def make_estimator(self, task: Any, parameters: Mapping[str, Any], *, verbose: bool = False) -> Any:
        """Make the estimator, not fitted; a ParameterError names a parameter that is for the other task."""
        known = parameters_of(self.model, task)
        for name, value in parameters.items():
            if name not in known or (name in OF_TASK and value is not None and OF_TASK[name] != task):
                fits = [
                    kind
                    for each, kind in KINDS.items()
                    if each == OF_TASK.get(name, each) != task and name in parameters_of(self.model, each)
                ]
                raise ParameterError(
                    f"{name} is for a target of {' or '.join(fits)}, and {self.data.targets.name!r} is "
                    f"{KINDS[task]}: leave it out."
                )
        own: dict[str, Any] = {
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
            "verbose": verbose,
            "custom_features": list(self.data.custom_features) or None,
            "scoring": self.scoring,
            **self.data.hazard_options,
        }
        own = {name: value for name, value in own.items() if name in known}
        return make_estimator(self.model, task, **{**own, **parameters})


def parameters_of(model: str, task: Any) -> tuple[str, ...]:
    """List the parameters of the estimator of a named model, and the fields of its groups of rules.

    It has none for a task that the model is not for.
    """
    from holdfast.stable.settings import GROUPS

    if not METHODS[model].is_for(task):
        return ()
    own = make_estimator(model, task).get_params(deep=False)
    return (*own, *(each.name for group, usual in GROUPS.items() if group in own for each in fields(usual)))


def _raise_unknown(name: str, model: str, own: list[str]) -> None:
    """Raise an error for a name that the model does not have, though another model may."""
    every = {other: {each for task in TASKS for each in parameters_of(other, task)} for other in MODELS}
    if name not in _OF_DATA and (models := [other for other in MODELS if name in every[other]]):
        goes = " or ".join(map(repr, models))
        raise ParameterError(f"{name} goes with model={goes}, and the model is {model!r}: leave it out.")
    known = [*own, *sorted(every[model] - set(_OF_DATA))]
    near = get_close_matches(name, known, 1, 0.7)
    guess = f"did you mean {near[0]!r}?" if near else f"the settings are {', '.join(known)}."
    raise TypeError(f"There is no setting {name!r}: {guess}")


# -- an update --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class UpdateRunSettings(CellSettings):
    """The settings of an update, apart from the model and the new rows: see `StableTreeClassifier.update`."""

    target: str | None = None
    time: str | None = None  # to the event of a survival tree
    event: str | None = None
    entry: str | None = None
    strategy: str = UPDATE_STRATEGIES[0]
    tolerance: float = UPDATE_TOLERANCE
    take: int | None = None
    frozen: Any = ()
    allow_new_values: bool = False
    drop: tuple[str, ...] = ()
    groups: str | None = None
    weight: str | None = None
    drop_missing_target: bool = False
    old: Any = None
    half_life: float | None = None
    prior_rows: float | None = None
    validation: float | None = 1 / 3
    policy: Any = None
    force: bool = False
    register: Any = None
    by: str | None = None
    why: str | None = None
    trigger: str | None = None
    model_card: Any = None
    n_jobs: int | None = -1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_names("drop")
        self._check_types(str, "the name of a column", "target", "time", "event", "entry", "groups", "weight")
        self._check_types(str, "a text", "by", "why", "trigger")
        self._check_types(bool, "True or False", "allow_new_values", "force", "drop_missing_target")
        if self.drop and not self.allow_new_values:
            raise ParameterError(
                "drop goes with allow_new_values: without it, columns that are new stay out anyway."
            )
        if self.validation == 0:
            object.__setattr__(self, "validation", None)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "UpdateRunSettings":
        """Make settings from keywords; a TypeError names the setting closest to an unknown name."""
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                near = get_close_matches(name, known, 1, 0.7)
                guess = f"did you mean {near[0]!r}?" if near else f"the settings are {', '.join(known)}."
                raise TypeError(f"There is no setting {name!r}: {guess}")
        return cls(**given)

    def target_columns(self, target: Target) -> TargetColumns:
        """The columns of the new rows that a model with this target is updated by."""
        return choose_target_columns(self.target, self.time, self.event, self.entry, target)

    @property
    def facts(self) -> dict[str, dict[str, Any]]:
        """The settings as plain data, in three parts, without those that change no result."""
        parts = self.to_dict(but=("n_jobs", "register", "by", "why", "trigger", "model_card"))
        of_columns = ("target", "time", "event", "entry", "groups", "weight", "drop", "drop_missing_target")
        columns = {name: parts["columns"][name] for name in of_columns}
        settings = {name: value for name, value in parts["columns"].items() if name not in of_columns}
        return {"settings": settings, "columns": columns, "reading": parts["reading"]}


# -- values -----------------------------------------------------------------------------------------------


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """Return the value; a ParameterError unless it is one of the choices."""
    if value not in choices:
        texts = ", ".join(str(each) for each in choices if each is not None)
        raise ParameterError(f"{name}={value!r} is unknown: choose one of {texts}.")
    return value


def check_number(name: str, value: Any, kind: Any, is_in_range: bool, limits: str) -> None:
    """Raise a ParameterError unless the value is a number of this kind in its range."""
    if not isinstance(value, kind) or isinstance(value, bool) or not is_in_range:
        noun = "an integer" if kind is Integral else "a number"
        raise ParameterError(f"{name}={value!r} is out of range: it must be {noun} of {limits}.")


def as_float(value: Any) -> float:
    """Return the number; NaN for any other value."""
    return float(value) if isinstance(value, Real) else float("nan")


def plain(value: Any) -> Any:
    """Return the value as JSON has it; of an object, its name or type."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {_key(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        is_mapping = bool(value) and all(isinstance(each, tuple) and len(each) == 2 for each in value)
        return {_key(name): plain(part) for name, part in value} if is_mapping else list(map(plain, value))
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return getattr(value, "__name__", None) or str(value)


def _key(name: Any) -> str:
    return ":".join(map(str, name)) if isinstance(name, tuple) else str(name)


# -- The estimator of a run ----------------------------------------------------------------------------------


def make_run_estimator(settings: RunSettings, target: Target, *, verbose: bool = False) -> Any:
    """Make the estimator of a run for this target, not fitted."""
    task: Task = target.task
    parameters = with_labels(settings.parameters, target)
    stated = make_model_card(settings.model_card).positive
    if stated is not None and parameters.get("positive") is None:
        parameters["positive"] = stated
    estimator = settings.make_estimator(task, parameters, verbose=verbose)
    _check(estimator, target)
    return estimator


def _check(estimator: Any, target: Target) -> None:
    """Raise a ParameterError, before any work, for a parameter that does not fit the target."""
    rules = estimator._boosting_settings() if hasattr(estimator, "loss") else estimator._rules()
    read_loss_matrix(rules.loss_matrix, target.classes)
    read_priors(rules.priors, target.classes)
    if getattr(estimator, "threshold", None) is not None:
        from holdfast.estimators.base import check_threshold

        check_threshold(estimator.threshold, len(target.classes))


def with_labels(parameters: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """Return the parameters with the classes of the target in place of their texts.

    A file has the class 1 where the terminal has the text "1", and the pair "bad:good" of a loss is two
    classes. An unknown name stays, and the estimator refuses it.

    >>> with_labels({"class_weight": {"1": 5}, "max_depth": 3}, Target("died", (0, 1)))
    {'class_weight': {1: 5}, 'max_depth': 3}
    """
    labels = dict(zip(format_class_names(target), target.classes, strict=True))
    pairs = {f"{one}:{other}": (labels[one], labels[other]) for one in labels for other in labels}

    def pair(key: Any) -> Any:
        return pairs.get(":".join(map(str, key)) if isinstance(key, tuple) else str(key), key)

    found = dict(parameters)
    for name in ("class_weight", "priors"):
        if isinstance(found.get(name), Mapping):
            found[name] = {labels.get(str(key), key): value for key, value in found[name].items()}
    if isinstance(found.get("loss_matrix"), Mapping):
        found["loss_matrix"] = {pair(key): loss for key, loss in found["loss_matrix"].items()}
    if found.get("monotonic_class") is not None:
        found["monotonic_class"] = labels.get(str(found["monotonic_class"]), found["monotonic_class"])
    return found
