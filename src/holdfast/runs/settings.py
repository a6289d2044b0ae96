"""The settings of a run, each declared once: what `holdfast fit` and `fit_run` take by the same names."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from holdfast.errors import ParameterError
from holdfast.growth.names import CATEGORIES, CRITERIA
from holdfast.runs.data_settings import CellSettings, ColumnSettings, DataSettings
from holdfast.runs.parsing import (
    ClassWeights,
    Directions,
    Pairs,
    as_it_is,
    class_weights,
    class_weights_of,
    directions,
    directions_of,
    leaf_size,
    leaf_size_of,
    losses,
    losses_of,
    most_leaves,
    most_leaves_of,
    number_or_text,
    priors,
    priors_of,
    threshold,
    threshold_of,
)
from holdfast.runs.setting import Range, Setting, check_names, option, setting, setting_of
from holdfast.stability.centring.names import LEAF_VALUES, TEACHER_NAMES, THRESHOLDS
from holdfast.stability.selection import METHODS, RULES, UNITS

MODELS = ("stable", "tree", "pruned", "forest", "boosting")
GROWTH = ("cart", "c4.5")
TEST_ROWS = ("forward", "random")
AUTO = "auto"
DEPTHS = {"stable": 5, "boosting": 3}  # greatest depth by default; of other models there is none
N_TREES = 300  # of each collection of a stable tree, by default, but for "centred"
N_MEMBERS = 100  # of an ensemble, or students of a centred tree, by default
_STABLE, _CENTRED = ("stable",), ("centred",)
_IF_SAID = ("criterion", "quantile", "candidate")  # facts of a run only where they are given
_RULE = ("selection_rule", "tolerance", "tolerance_unit", "instability_weight")  # how a candidate is chosen
_SAMPLED = tuple(name for name in METHODS if name not in _CENTRED)  # reference trees on the early rows


def jobs(value: Any) -> Any:
    """The number of jobs; a ValueError if it is none."""
    if value == 0:
        raise ValueError("0 jobs do no work: give at least 1, or -1 for all cores.")
    if not isinstance(value, int) or isinstance(value, bool) or value < -1:
        raise ValueError(f"{value!r} has to be an integer of at least 1, or -1 for all cores.")
    return value


@dataclass(frozen=True, kw_only=True)
class LearningSettings(DataSettings):
    """What every model has, besides the data."""

    min_samples_leaf: int | float | None = setting(
        None,
        help="Fewest rows of a leaf: a number, or a fraction of all.",
        metavar="ROWS",
        from_text=leaf_size,
        from_python=leaf_size_of,
    )
    class_weight: ClassWeights = setting(
        None,
        help="balanced, or weights of classes: died=5,lived=1.",
        metavar="WEIGHTS",
        from_text=class_weights,
        from_python=class_weights_of,
    )
    scoring: Any = setting(
        None,
        help="auc, accuracy, log_loss, ...; r2, absolute_error, ... [default: auc, r2]",
        from_python=as_it_is,
    )
    random_state: int = setting(0, kind=int, range=Range(0), help="Same data, same seed, same tree.")
    n_jobs: int = setting(
        -1,
        kind=int,
        range=Range(-1),
        help="Threads, -1 for all cores: the tree is the same.",
        from_python=jobs,
    )


@dataclass(frozen=True, kw_only=True)
class RunSettings(LearningSettings):
    """All that a run depends on, but for the data."""

    model: str = setting(
        MODELS[0],
        help="A stable tree, a tree, a tree whose size folds choose, or many trees.",
        choices=MODELS,
    )
    loss: Pairs = setting(
        None,
        help="What it costs to take a row of one class for another: bad:good=5. Others cost 1.",
        metavar="LOSSES",
        from_text=losses,
        from_python=losses_of,
    )
    priors: Pairs = setting(
        None,
        help="Fractions of the classes where the model is used: bad=0.1,good=0.9.",
        metavar="FRACTIONS",
        from_text=priors,
        from_python=priors_of,
    )
    threshold: float | str | None = setting(
        None,
        help="Probability of the class of --positive, or the rarer of two, from which on it is predicted, or "
        "cost: what costs least by --loss on rows held out.",
        metavar="PROBABILITY",
        from_text=threshold,
        from_python=threshold_of,
    )
    positive: Any = setting(
        None,
        help="The class that matters: drawings and rules show its probability.  [default: the rarer of two]",
        metavar="CLASS",
        from_python=as_it_is,
    )
    max_depth: int | None = setting(
        None,
        kind=int,
        range=Range(1, 1000),
        help="Most splits on a path.  [default: 5, no limit with --max-leaf-nodes above 12; of boosting 3, "
        "else no limit]",
    )
    monotonic_cst: Directions = setting(
        None,
        help="Which way the outcome goes with columns: age=+1,dose=-1.",
        metavar="SIGNS",
        from_text=directions,
        from_python=directions_of,
    )
    monotonic_class: str | None = setting(
        None,
        help="Of --monotonic-cst: the class whose probability it is. [default: the second of two]",
        metavar="CLASS",
    )
    criterion: str | None = setting(
        None,
        help="What splits gain, and leaves of numbers say: absolute_error the median, quantile another one.  "
        "[default: gini, squared_error]",
        choices=CRITERIA,
    )
    quantile: float | None = setting(
        None,
        kind=float,
        range=Range(0, 1, low_open=True, high_open=True),
        help="Of --criterion quantile: the fraction of a leaf's rows at or below what it says.",
    )
    categories: str = setting(
        CATEGORIES[0],
        help="Columns of more than 9 categories: by shrunk means, or by the best set for the rows.",
        choices=CATEGORIES,
    )
    growth: str = setting(
        GROWTH[0],
        help="How trees are grown, but for centred ones.",
        choices=GROWTH,
        models=("stable", "tree", "forest"),
        methods=_SAMPLED,
    )
    method: str = setting(
        METHODS[0],
        help="A tree amid those of other samples; or chosen from trees of many samples, from the subtrees "
        "of one tree, or as the paper does it.",
        choices=METHODS,
        models=_STABLE,
    )
    max_leaf_nodes: int | str | None = setting(
        None,
        metavar="LEAVES",
        from_text=most_leaves,
        from_python=most_leaves_of,
        help="Most leaves, or auto: 12, or 24 or 48 where held-out rows clearly support more.  "
        "[default: of --method centred auto, else no limit]",
        models=("stable", "tree", "forest"),
    )
    teacher: str = setting(
        TEACHER_NAMES[0],
        help="The models that a centred tree learns from: all of those named here, or one.",
        choices=TEACHER_NAMES,
        models=_STABLE,
        methods=_CENTRED,
    )
    thresholds: str = setting(
        THRESHOLDS[0],
        help="Where a consensus tree may split numbers: at few round thresholds, or anywhere.",
        choices=THRESHOLDS,
        models=_STABLE,
        methods=_CENTRED,
    )
    leaf_values: str = setting(
        LEAF_VALUES[0],
        help="How the leaves of a consensus tree predict: from their rows and the teacher together, the "
        "teacher alone, the rows alone, the rows drawn towards the nodes above, or rows that chose no split.",
        choices=LEAF_VALUES,
        models=_STABLE,
        methods=_CENTRED,
    )
    n_estimators: int | None = setting(
        None,
        kind=int,
        range=Range(1),
        help="Reference trees, or trees of each collection or of the ensemble.  [default: 100, of --method "
        "bootstrap, pruned and paper 300]",
        models=("stable", "forest", "boosting"),
    )
    selection_rule: str = setting(RULES[0], help="Which tree to choose.", choices=RULES, models=_STABLE)
    tolerance: float | None = setting(
        None,
        kind=float,
        range=Range(0),
        help="What a tree may lose to be more stable: of what it learnt from the teacher, or of the score.  "
        "[default: 0.06, of the score 0.01 or one standard error]",
        models=_STABLE,
    )
    tolerance_unit: str | None = setting(
        None,
        help="Without it, of --method centred teacher; else relative for losses, or absolute.",
        choices=UNITS,
        models=_STABLE,
    )
    instability_weight: float | None = setting(
        None,
        kind=float,
        range=Range(0),
        help="For --selection-rule weighted: score per unit of distance.",
        models=_STABLE,
    )
    candidate: int | None = setting(
        None,
        kind=int,
        range=Range(0),
        help="Take this candidate of the frontier, by its number, instead of a rule.",
        models=_STABLE,
    )
    early_fraction: float = setting(
        0.5,
        kind=float,
        range=Range(0, 1, low_open=True, high_open=True),
        help="Fraction of the rows that are early, which reference trees learn from; a centred tree's learn "
        "from all.",
        models=_STABLE,
        methods=_SAMPLED,
    )
    validation: float | str = setting(
        "auto",
        help="Rows to score candidates by: a fraction, or a number of folds held out in turn.",
        from_text=number_or_text,
        from_python=as_it_is,
        models=_STABLE,
    )
    test: float = setting(
        0.25,
        kind=float,
        range=Range(0, 1, high_open=True),
        help="Fraction of the rows set aside to test the chosen tree by; 0 for none.",
    )
    test_rows: str | None = setting(
        None,
        help="The last stages and some random rows before, or random rows of all. [default: forward with "
        "--stage]",
        choices=TEST_ROWS,
    )
    model_card: Any = setting(
        None,
        help="What the model is for and who answers for it, for the page: see holdfast model-card init.",
        metavar="TOML",
        from_python=as_it_is,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_leaf_nodes == AUTO and not self.is_consensus:
            what = f"the method is {self.method}" if self.is_stable else f"the model is {self.model}"
            raise ParameterError(
                f"--max-leaf-nodes auto goes with --method centred, and {what}: give a number, or leave it "
                "out."
            )
        if (self.criterion == "quantile") != (self.quantile is not None):
            raise ParameterError(
                "--criterion quantile and --quantile go together: write --criterion quantile --quantile 0.9."
            )
        if self.priors is not None and self.class_weight is not None:
            raise ParameterError("--priors and --class-weight both weigh the classes: leave one of them out.")
        if self.selection_rule == "weighted" and self.instability_weight is None:
            raise ParameterError(
                "--selection-rule weighted needs --instability-weight: what one unit of distance is worth."
            )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "RunSettings":
        """The settings with these values, and the defaults of the others.

        A TypeError names the nearest setting to one that there is not; a ParameterError a value out of range,
        or a setting that the model has no use for.
        """
        check_names(cls, given)
        if "target" not in given:
            raise TypeError("target is missing: name the column that is to be predicted.")
        settings = cls(**given)
        if settings.candidate is not None and (rule := [name for name in _RULE if name in given]):
            raise ParameterError(f"--candidate is the choice itself: leave out {option(rule[0])}.")
        for each in fields(cls):
            if each.name in given and not settings._uses(setting_of(each)):
                raise ParameterError(f"{option(each.name)} {settings._use(setting_of(each))}: leave it out.")
        return settings

    def _uses(self, known: Setting) -> bool:
        """True if the model, and the method of a stable tree, have a use for the setting."""
        for_model = not known.models or self.model in known.models
        return for_model and (not self.is_stable or not known.methods or self.method in known.methods)

    def _use(self, known: Setting) -> str:
        """What a setting without a use here goes with, in words."""
        if known.models and self.model not in known.models:
            return f"goes with --model {' or '.join(known.models)}, and the model is {self.model}"
        return f"goes with --method {' or '.join(known.methods)}, and the method is {self.method}"

    @property
    def is_stable(self) -> bool:
        """True if the model is a stable tree."""
        return self.model == "stable"

    @property
    def is_consensus(self) -> bool:
        """True if the model is a centred tree, the stable tree by default."""
        return self.is_stable and self.method == "centred"

    @property
    def is_size_open(self) -> bool:
        """True if held-out rows are to choose the most leaves of a consensus tree."""
        return self.is_consensus and self.max_leaf_nodes in (None, AUTO)

    @property
    def growth_given(self) -> dict[str, Any]:
        """The growth rules that the user has set."""
        names = ("criterion", "quantile", "max_depth", "max_leaf_nodes", "min_samples_leaf", "categories")
        given = {name: getattr(self, name) for name in names}
        return {name: value for name, value in given.items() if value is not None and value != AUTO}

    @property
    def depth(self) -> int | None:
        """The greatest depth that trees may have; None: no limit."""
        return DEPTHS.get(self.model) if self.max_depth is None else self.max_depth

    @property
    def n_trees(self) -> int:
        """Number of trees of each collection, or of the ensemble."""
        if self.is_stable and not self.is_consensus:
            return self.n_estimators or N_TREES
        return self.n_estimators or N_MEMBERS

    @property
    def facts(self) -> dict[str, dict[str, Any]]:
        """The settings as plain data, in three parts.

        Not the threads, on which nothing depends, nor what is said about the model, a fact of its own.
        Those that the model or its method has no use for are left out, and defaults that depend on it are
        worked out.
        """
        cells, columns = ({each.name for each in fields(part)} for part in (CellSettings, ColumnSettings))
        parts: dict[str, dict[str, Any]] = {"settings": {}, "columns": {}, "reading": {}}
        for each in fields(self):
            part = "reading" if each.name in cells else "columns" if each.name in columns else "settings"
            if each.name not in ("n_jobs", "model_card") and self._uses(setting_of(each)):
                if each.name in _IF_SAID and getattr(self, each.name) is None:
                    continue
                parts[part][each.name] = _plain(getattr(self, each.name))
        is_open = self.is_consensus and self.max_depth is None
        parts["settings"]["max_depth"] = AUTO if is_open else self.depth
        if "n_estimators" in parts["settings"]:
            parts["settings"]["n_estimators"] = self.n_trees
        return parts


def _plain(value: Any) -> Any:
    """The value, with pairs as an object; a scorer of another library by its name."""
    if isinstance(value, tuple):
        pairs = bool(value) and all(isinstance(part, tuple) for part in value)
        return {str(name): _plain(part) for name, part in value} if pairs else list(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return getattr(value, "__name__", None) or str(value)
