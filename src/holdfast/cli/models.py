"""The models of `holdfast fit` besides the stable tree."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.arrays import LongArray
from holdfast.cli.fitted import scoring_refused
from holdfast.cli.growing import rules_for
from holdfast.cli.study import Job, Study
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.ensembles.bagging import grow_bagging
from holdfast.ensembles.bags import Sampling
from holdfast.ensembles.boosting import boost
from holdfast.ensembles.boosting_rules import BoostingRules
from holdfast.ensembles.out_of_bag import out_of_bag
from holdfast.errors import DataError
from holdfast.estimators.base import drawn_seed
from holdfast.growth.grow import grow
from holdfast.growth.size.search import SizeSearch, choose_size
from holdfast.growth.size.table import SizeTable
from holdfast.scoring.metric import Metric, Score, metric_of
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

FOREST_LEAF = 5  # rows, of a forest that predicts numbers: as in ForestRegressor


@dataclass(frozen=True, eq=False)
class Grown:
    """A model, and what was learnt of it without the test rows."""

    model: Tree | Ensemble
    expected: Score | None = None  # on new rows
    source: str = ""  # of what is expected
    sizes: SizeTable | None = None  # where a size was chosen


@dataclass(frozen=True, eq=False)
class ModelFit:
    """A model, and all that is known of it."""

    study: Study
    job: Job
    metric: Metric
    grown: Grown
    test: Score | None  # None without test rows
    earlier_test: Score | None = None  # on random rows of earlier stages, if the test rows are later ones

    @property
    def model(self) -> Tree | Ensemble:
        """The fitted model."""
        return self.grown.model


def fitted_model(study: Study, job: Job) -> ModelFit:
    """The model of the job on the training rows, and what the test rows say of it."""
    with scoring_refused():
        metric = metric_of(job.settings.scoring, study.own.schema.target)
        grown = MODELS[job.model](study.own, study.own_groups, job, metric)
        held_out = (study.test, study.earlier_test)
        scores = [None if rows is None else rows.score(grown.model, metric) for rows in held_out]
    return ModelFit(study, job, metric, grown, *scores)


def fit_smallest(job: Job, target: Target) -> None:
    """One call of every kernel that the model needs for such a target."""
    rows = [[float(number), "a" if number % 3 else "b"] for number in range(12)]
    labels = ["no", "yes"] * 6 if target.is_classes else [number + 0.5 for number in range(12)]
    # By a score that even one row has.
    scoring = "accuracy" if target.is_classes else "squared_error"
    settings = replace(job.settings, n_estimators=2, scoring=scoring, progress=False)
    table = Table.from_arrays(rows, labels)
    metric = metric_of(scoring, table.schema.target)
    grown = MODELS[job.model](table, None, replace(job, settings=settings, class_weight=None), metric)
    grown.model.values(rows)


# -- one function per model -------------------------------------------------------------------------------


def _tree(table: Table, groups: LongArray | None, job: Job, metric: Metric) -> Grown:
    return Grown(grow(table, rules_for(job, table.schema.target)))


def _pruned(table: Table, groups: LongArray | None, job: Job, metric: Metric) -> Grown:
    settings = job.settings
    search = SizeSearch(scoring=settings.scoring, seed=drawn_seed(settings.seed), n_jobs=settings.n_jobs)
    tree, sizes = choose_size(table, rules_for(job, table.schema.target), search=search, groups=groups)
    expected = Score(float(sizes.score[sizes.chosen]), float(sizes.error[sizes.chosen]))
    return Grown(tree, expected, f"the mean over {sizes.scores.shape[1]} folds", sizes)


def _forest(table: Table, groups: LongArray | None, job: Job, metric: Metric) -> Grown:
    settings, target = job.settings, table.schema.target
    defaults = {"max_features": "sqrt"} if target.is_classes else _OF_NUMBERS
    bagging = grow_bagging(
        table,
        rules_for(job, target, **defaults),
        settings.n_estimators,
        sampling=Sampling(drawn_seed(settings.seed), groups=groups),
        n_jobs=settings.n_jobs,
        progress="Growing trees" if settings.progress else "",
    )
    try:
        expected = out_of_bag(bagging, table, metric, n_jobs=settings.n_jobs).score
    except DataError:  # of so few rows or trees that no row is out of a bag
        return Grown(bagging.ensemble)
    return Grown(bagging.ensemble, expected, "from the rows that each tree was not grown on")


def _boosting(table: Table, groups: LongArray | None, job: Job, metric: Metric) -> Grown:
    settings, target = job.settings, table.schema.target
    rules = BoostingRules(
        "log_loss" if target.is_classes else "squared_error",
        n_rounds=settings.n_estimators,
        class_weight=rules_for(job, target).class_weight,
        **job.said,
    )
    progress = "Boosting" if settings.progress else ""
    return Grown(boost(table, rules, groups=groups, n_jobs=settings.n_jobs, progress=progress).ensemble)


_OF_NUMBERS = {"max_features": "third", "min_samples_leaf": FOREST_LEAF}
MODELS: dict[str, Callable[[Table, LongArray | None, Job, Metric], Grown]] = {
    "tree": _tree,
    "pruned": _pruned,
    "forest": _forest,
    "boosting": _boosting,
}
