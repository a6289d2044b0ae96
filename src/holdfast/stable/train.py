"""Train stable trees: split the rows, train candidates with scores, measure distances, make the frontier."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, LongArray
from holdfast._choices import METHODS, MOST_LEAVES
from holdfast._text import pluralize
from holdfast.data.folds import subset_groups
from holdfast.data.row_keys import group_copies
from holdfast.data.row_order import canonicalize_rows
from holdfast.data.table import Table
from holdfast.distance.costs import DistanceSettings, check_outcome
from holdfast.distance.distance import distances_between
from holdfast.errors import ParameterError
from holdfast.explain.firmness import ReferenceTrees
from holdfast.growth.leaf_values import draw_structure_rows, set_honest_values
from holdfast.growth.rules import default_criterion
from holdfast.scoring.metric import Metric, make_metric
from holdfast.stable.bootstrap import BOOTSTRAP, PRUNED
from holdfast.stable.candidates import Method, TrainedCandidates, TreeCollection
from holdfast.stable.consensus.size import SizeChoice
from holdfast.stable.consensus.train import CONSENSUS
from holdfast.stable.frontier import Frontier, make_frontier
from holdfast.stable.paper import PAPER
from holdfast.stable.rows import RowMetadata, RowSplit, TrainingSet
from holdfast.stable.settings import StabilitySettings
from holdfast.tree.leaf_evidence import add_evidence
from holdfast.tree.tree import Tree

NOT_JUDGED = "No rows were held out to judge the tree by: its scores are those on its own training rows."
SHRINKING = ("consensus", "bootstrap")  # methods that can shrink leaf values

_METHODS = dict(zip(METHODS, (CONSENSUS, BOOTSTRAP, PRUNED, PAPER), strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class StableTrees:
    """Reference trees and candidate trees, as they are delivered, and the frontier of the candidates."""

    references: TreeCollection
    candidates: TreeCollection
    frontier: Frontier
    metric: Metric
    distance_settings: DistanceSettings
    reliability: float  # of differences in score between candidates with the same parameters, 0 to 1
    shrinkage: float | None = None  # of leaf values, in rows; None if they are not shrunk
    # For "consensus": the references of smaller sizes, and what held-out rows chose, None if nothing
    smaller_references: Mapping[int, TreeCollection] = field(default_factory=dict)
    size_choice: SizeChoice | None = None
    teacher_weights: Mapping[str, float] | None = None
    sample_values: tuple[FloatArray, ...] | None = None  # see `TrainedCandidates`

    def settle(self, settings: StabilitySettings) -> StabilitySettings:
        """The settings with the size and the teacher that held-out rows have chosen."""
        if self.teacher_weights is not None:
            settings = replace(settings, teacher=self.teacher_weights)
        if not settings.is_size_open:
            return settings
        choice = self.size_choice
        return settings.with_size(MOST_LEAVES if choice is None else choice.max_leaf_nodes)

    def make_references(self) -> ReferenceTrees:
        """The reference trees of all sizes, by which the firmness of a prediction is measured."""
        smaller = {size: each.trees for size, each in self.smaller_references.items()}
        return ReferenceTrees.of(self.references.trees, self.sample_values, smaller)

    @property
    def sampled_candidates(self) -> tuple[Tree, ...]:
        """The candidates that were grown on a sample of their own: none for method="consensus"."""
        return () if self.frontier.has_teacher else self.candidates.trees

    def references_of(self, candidate: int) -> TreeCollection:
        """The reference trees that a candidate is measured to: for consensus trees, those of its own size."""
        sizes = self.frontier.max_leaf_nodes
        size = 0 if sizes is None else int(sizes[candidate])
        return self.smaller_references.get(size, self.references)

    def __repr__(self) -> str:
        trees = f"{len(self.references)} reference trees, {pluralize(len(self.candidates), 'candidate')}"
        return f"<StableTrees: {trees}, {self.frontier.efficient.sum()} efficient, {self.metric.title}>"


def train(
    table: Table,
    settings: StabilitySettings,
    *,
    stage: LongArray | None = None,
    groups: LongArray | None = None,
    holdout: BoolArray | None = None,
) -> StableTrees:
    """Train reference trees on the early rows and candidate trees on all, and make their frontier.

    The order of the rows does not matter, a row with the weight 2 is the same as two rows, and copies of a
    row stay together. `holdout` flags the rows that the user holds out to score on, for method="paper".
    """
    rows = prepare_training_set(table, settings, stage=stage, groups=groups, holdout=holdout)
    return train_on_split(rows.table, rows.division, settings, groups=rows.groups)


def prepare_training_set(
    table: Table,
    settings: StabilitySettings,
    *,
    stage: LongArray | None = None,
    groups: LongArray | None = None,
    holdout: BoolArray | None = None,
) -> TrainingSet:
    """Put the rows in canonical order, group the copies of a row, and split the rows as the method does."""
    method = get_method(settings.method)
    flags = None if holdout is None else holdout.astype(np.int64)
    metadata = {"stage": stage, "groups": groups, "holdout": flags}
    known = {name: values for name, values in metadata.items() if values is not None}
    table, in_order, copies = canonicalize_rows(table, list(known.values()))
    known = dict(zip(known, in_order, strict=True))
    groups = known["groups"] if "groups" in known else group_copies(table, copies)
    stage, flags = known.get("stage"), known.get("holdout")
    info = RowMetadata(stage, groups, None if flags is None else flags == 1)
    return TrainingSet(table, method.split_rows(table, settings, info), groups, stage)


def train_on_split(
    table: Table, division: RowSplit, settings: StabilitySettings, *, groups: LongArray | None = None
) -> StableTrees:
    """Train stable trees on canonically ordered rows with a given split."""
    target = table.schema.target
    method, metric = get_method(settings.method), make_metric(settings.scoring, target)
    # Checked first: an error should not show after minutes of growing.
    outcome = check_outcome(target, settings.matching, settings.label_weight, settings.outcome)
    _check_leaf_values(settings)
    rows = TrainingSet(table, division, groups)
    if settings.leaf_values == "honest":
        trained = _train_honestly(rows, settings, metric)
    else:
        trained = method.train(rows, settings, metric)
    note = NOT_JUDGED if settings.validation is None else trained.baseline.warning if trained.baseline else ""
    if note:
        noted = [tree.replace(notes=(*tree.notes, note)) for tree in trained.candidates.trees]
        trained = trained._replace(candidates=replace(trained.candidates, trees=tuple(noted)))
    distance_settings = DistanceSettings.of_depth(
        _greatest_depth(trained), settings.matching, outcome, settings.label_weight
    )
    distances = _measure_distances(trained, distance_settings, settings)
    return StableTrees(
        references=trained.references,
        candidates=trained.candidates,
        frontier=make_frontier(trained, distances, distance_settings, metric),
        metric=metric,
        distance_settings=distance_settings,
        reliability=trained.scores.reliability,
        shrinkage=trained.shrinkage,
        smaller_references=trained.smaller_references,
        size_choice=trained.size_choice,
        teacher_weights=trained.teacher_weights,
        sample_values=trained.sample_values,
    )


def _train_honestly(rows: TrainingSet, settings: StabilitySettings, metric: Metric) -> TrainedCandidates:
    """Train on half of the rows, and estimate the leaf values of the candidates on the other half."""
    chosen = draw_structure_rows(rows.table, rows.groups, settings.seed)
    division = RowSplit(rows.division.early[chosen], tuple(each[chosen] for each in rows.division.validation))
    half = TrainingSet(rows.table.subset(chosen), division, subset_groups(rows.groups, chosen))
    method = get_method(settings.method)
    trained = method.train(half, replace(settings, leaf_values="labels"), metric)
    others = rows.table.subset(~chosen)
    rules = settings.rules
    if not rules.predicts_quantiles:
        rules = rules.replace(criterion=default_criterion(others.schema.target))
    trees = [set_honest_values(tree, others, rules) for tree in trained.candidates.trees]
    return trained._replace(candidates=replace(trained.candidates, trees=tuple(trees)))


def _check_leaf_values(settings: StabilitySettings) -> None:
    if settings.leaf_values == "shrunk" and settings.rules.predicts_quantiles:
        raise ParameterError(
            f"leaf_values='shrunk' shrinks probabilities and means, and "
            f"criterion={settings.rules.criterion!r} predicts quantiles: use 'labels' or 'honest'."
        )
    if settings.leaf_values == "shrunk" and settings.method not in SHRINKING:
        raise ParameterError(
            f"leaf_values='shrunk' is for method={' or '.join(map(repr, SHRINKING))}, and the method is "
            f"{settings.method!r}."
        )


def _measure_distances(
    trained: TrainedCandidates, distance_settings: DistanceSettings, settings: StabilitySettings
) -> FloatArray:
    """Measure the distance of every candidate to each of its references, (candidates, references)."""
    distances = np.empty((len(trained.candidates), len(trained.references)))
    for references, places in trained.by_references():
        trees = [trained.candidates.trees[place] for place in places.tolist()]
        distances[places] = distances_between(
            trees,
            references.trees,
            distance_settings,
            n_jobs=settings.n_jobs,
            progress=settings.verbose,
        )
    return distances


def _greatest_depth(trained: TrainedCandidates) -> int:
    """The greatest depth that the grid allows, or that of the deepest tree if that is greater."""
    trees = (*trained.references.trees, *trained.candidates.trees)
    deepest = max(1, *(tree.depth for tree in trees))
    allowed = [combination.get("max_depth") for combination in trained.references.combinations]
    return max([deepest, *(int(depth) for depth in allowed if depth is not None)])


def get_method(name: str) -> Method:
    """Look up a method by its name."""
    if name not in _METHODS:
        raise ParameterError(f"method={name!r} is unknown: choose one of {', '.join(map(repr, METHODS))}.")
    return _METHODS[name]


def add_leaf_evidence(
    trained: StableTrees, table: Table, groups: LongArray | None, settings: StabilitySettings
) -> StableTrees:
    """Note at the leaves of every candidate the rows and groups that support them.

    The groups are those of the user: copies of a row, which stable trees keep together, are not groups.
    """
    has_teacher = settings.has_teacher_values
    candidates = trained.candidates
    trees = tuple(add_evidence(tree, table, groups, is_distilled=has_teacher) for tree in candidates.trees)
    return replace(trained, candidates=replace(candidates, trees=trees))
