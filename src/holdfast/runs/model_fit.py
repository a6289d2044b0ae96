"""The models of a run besides the stable tree."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from holdfast.arrays import LongArray
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.ensembles.bagging import grow_bagging
from holdfast.ensembles.bags import Sampling
from holdfast.ensembles.boosting import boost
from holdfast.ensembles.boosting_settings import BoostingSettings
from holdfast.ensembles.out_of_bag import out_of_bag
from holdfast.errors import DataError, ParameterError
from holdfast.estimators.base import make_seed
from holdfast.evidence.leaf_evidence import with_evidence
from holdfast.growth.grow import grow
from holdfast.growth.size.search import SizeSearch, choose_size_and_leaf
from holdfast.growth.size.table import SizeTable
from holdfast.runs.growth_rules import constraints, decision_rule, growth_rules
from holdfast.runs.roles import RowRoles
from holdfast.runs.settings import RunSettings
from holdfast.runs.stable_fit import scorer_errors
from holdfast.scoring.metric import Metric, Score, make_metric
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

FOREST_LEAF = 5  # rows, of a forest that predicts numbers: as in ForestRegressor


@dataclass(frozen=True, eq=False)
class GrownModel:
    """A model, and what was learnt of it without the test rows."""

    model: Tree | Ensemble
    expected: Score | None = None  # on new rows
    source: str = ""  # of what is expected
    sizes: SizeTable | None = None  # where a size was chosen
    min_samples_leaf: int | None = None  # where that was chosen too


@dataclass(frozen=True, eq=False)
class ModelFit:
    """A model, and all that is known of it."""

    roles: RowRoles
    settings: RunSettings
    metric: Metric
    grown: GrownModel
    test: Score | None  # None without test rows
    earlier_test: Score | None = None  # on random rows of earlier stages, if the test rows are later ones

    @property
    def model(self) -> Tree | Ensemble:
        """The fitted model."""
        return self.grown.model


@dataclass(frozen=True, eq=False)
class ModelTask:
    """What a model is grown from."""

    table: Table
    groups: LongArray | None
    settings: RunSettings
    metric: Metric
    verbose: bool = False

    @property
    def target(self) -> Target:
        """What is to be predicted."""
        return self.table.schema.target

    def progress(self, title: str) -> str:
        """The title of the progress bar, or nothing if there is to be none."""
        return title if self.verbose else ""


def fit_model(roles: RowRoles, settings: RunSettings, *, verbose: bool = False) -> ModelFit:
    """The model on the training rows, and what the test rows say of it."""
    with scorer_errors():
        target = roles.training.schema.target
        metric = make_metric(settings.scoring or _own_scoring(settings, target), target)
        task = ModelTask(roles.training, roles.training_groups, settings, metric, verbose)
        grown = _decided(task, MODELS[settings.model](task))
        scores = roles.test_scores(grown.model, metric)
    return ModelFit(roles, settings, metric, grown, *scores)


def _own_scoring(settings: RunSettings, target: Target) -> str | None:
    """What leaves that say a quantile are scored by; None: as usual."""
    rules = growth_rules(settings, target)
    return rules.criterion_name if rules.says_quantiles else None


def _decided(task: ModelTask, grown: GrownModel) -> GrownModel:
    """The model with the threshold that the settings ask for; folds may choose it by models made alike."""
    rule = decision_rule(task.settings, task.target)
    if rule is None:
        return grown

    def fit(table: Table, groups: LongArray | None) -> Tree | Ensemble:
        return MODELS[task.settings.model](replace(task, table=table, groups=groups, verbose=False)).model

    return replace(grown, model=rule.decision(task.table, task.groups, fit).of(grown.model))


def fit_smallest(settings: RunSettings, target: Target) -> None:
    """One call of every kernel that the model needs for such a target."""
    rows = [[float(number), "a" if number % 3 else "b"] for number in range(12)]
    labels = ["no", "yes"] * 6 if target.is_classes else [number + 0.5 for number in range(12)]
    # By a score that even one row has.
    scoring = "accuracy" if target.is_classes else "squared_error"
    small = replace(settings, n_estimators=2, scoring=scoring, class_weight=None)
    small = replace(small, monotonic_cst=None, monotonic_class=None, loss=None, priors=None, threshold=None)
    table = Table.from_arrays(rows, labels)
    grown = MODELS[settings.model](ModelTask(table, None, small, make_metric(scoring, table.schema.target)))
    grown.model.values(rows)


# -- one function per model -------------------------------------------------------------------------------


def _tree(task: ModelTask) -> GrownModel:
    tree = grow(task.table, growth_rules(task.settings, task.target))
    return GrownModel(with_evidence(tree, task.table, task.groups))


def _pruned(task: ModelTask) -> GrownModel:
    settings = task.settings
    seed = make_seed(settings.random_state)
    # The score that the run tells of is the one that the size is chosen by, losses or not.
    scoring = settings.scoring or task.metric.name
    search = SizeSearch(scoring=scoring, random_state=seed, n_jobs=settings.n_jobs)
    rules = growth_rules(settings, task.target)
    found = choose_size_and_leaf(task.table, rules, search=search, groups=task.groups)
    sizes = found.sizes
    expected = Score(float(sizes.score[sizes.chosen]), float(sizes.error[sizes.chosen]))
    source = f"the mean over {sizes.scores.shape[1]} folds"
    tree = with_evidence(found.tree, task.table, task.groups)
    return GrownModel(tree, expected, source, sizes, found.min_samples_leaf)


def _forest(task: ModelTask) -> GrownModel:
    settings = task.settings
    defaults = {"max_features": "sqrt"} if task.target.is_classes else _OF_NUMBERS
    bagging = grow_bagging(
        task.table,
        growth_rules(settings, task.target, **defaults),
        settings.n_trees,
        sampling=Sampling(make_seed(settings.random_state), groups=task.groups),
        n_jobs=settings.n_jobs,
        progress=task.progress("Growing trees"),
    )
    try:
        expected = out_of_bag(bagging, task.table, task.metric, n_jobs=settings.n_jobs).score
    except DataError:  # of so few rows or trees that no row is out of a bag
        return GrownModel(bagging.ensemble)
    return GrownModel(bagging.ensemble, expected, "from the rows that each tree was not grown on")


def _boosting(task: ModelTask) -> GrownModel:
    settings = task.settings
    growth = settings.growth_given
    if task.target.is_classes and settings.criterion is not None:
        raise ParameterError(
            f"--criterion {settings.criterion} is not for boosting classes, which lowers the log loss: "
            "leave it out."
        )
    loss: Any = growth.pop("criterion", "log_loss" if task.target.is_classes else "squared_error")
    classes = growth_rules(settings, task.target)
    rules = BoostingSettings(
        loss,
        n_estimators=settings.n_trees,
        class_weight=classes.class_weight,
        priors=classes.priors,
        loss_matrix=classes.loss_matrix,
        **constraints(settings, task.target),
        **growth,
    )
    grown = boost(
        task.table, rules, groups=task.groups, n_jobs=settings.n_jobs, progress=task.progress("Boosting")
    )
    return GrownModel(grown.ensemble)


_OF_NUMBERS = {"max_features": "third", "min_samples_leaf": FOREST_LEAF}
MODELS: dict[str, Callable[[ModelTask], GrownModel]] = {
    "tree": _tree,
    "pruned": _pruned,
    "forest": _forest,
    "boosting": _boosting,
}
