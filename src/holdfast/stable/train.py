"""Stable trees, step by step: rows in their roles, candidates with scores, distances, and the frontier."""

from dataclasses import dataclass, replace

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
from holdfast.explain.leaf_evidence import add_evidence
from holdfast.growth.leaf_values import draw_structure_rows, set_honest_values
from holdfast.scoring.metric import Metric, make_metric
from holdfast.stable.bootstrap import BOOTSTRAP, PRUNED
from holdfast.stable.candidates import Method, Sizes, TrainedCandidates, TreeCollection
from holdfast.stable.consensus.train import CONSENSUS
from holdfast.stable.frontier import Frontier, make_frontier
from holdfast.stable.paper import PAPER
from holdfast.stable.rows import RowMetadata, RowSplit, TrainingSet
from holdfast.stable.settings import StabilitySettings
from holdfast.tree.tree import Tree

NOT_JUDGED = "No rows were held out to judge the tree by: its scores are those on its own training rows."
SHRINKING = ("consensus", "bootstrap")  # methods that can shrink leaf values

_METHODS = dict(zip(METHODS, (CONSENSUS, BOOTSTRAP, PRUNED, PAPER), strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class StableTrees:
    """Both collections, and what is known of every candidate. The candidates are as they are delivered."""

    references: TreeCollection
    candidates: TreeCollection
    frontier: Frontier
    metric: Metric
    distance_settings: DistanceSettings
    reliability: float  # of differences in score between candidates grown alike; 1 if none of them is chance
    sizes: Sizes | None = None  # for "consensus": the references of fewer leaves, and the choice of the size
    strength: float | None = None  # of the shrinkage of leaf values, in rows; None if they are not shrunk

    def settle(self, settings: StabilitySettings) -> StabilitySettings:
        """The settings with the size and the teacher that held-out rows have chosen."""
        if self.sizes is not None and self.sizes.teacher is not None:
            settings = replace(settings, teacher=self.sizes.teacher)
        if not settings.is_size_open:
            return settings
        choice = None if self.sizes is None else self.sizes.choice
        return settings.with_size(MOST_LEAVES if choice is None else choice.max_leaf_nodes)

    @property
    def sampled_candidates(self) -> tuple[Tree, ...]:
        """The candidates as far as each has a sample of its own: none of method="consensus"."""
        return () if self.frontier.has_teacher else self.candidates.trees

    def references_of(self, candidate: int) -> TreeCollection:
        """The reference trees that a candidate is measured to: of consensus trees, those of its own size."""
        return self.references if self.sizes is None else self.sizes.references_of(candidate, self.references)

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
    """Reference trees on the early rows, candidate trees on all, and the frontier of the candidates.

    The order of the rows does not matter, a row with the weight 2 is the same as two rows, and copies of a
    row are never divided. `holdout` flags the rows that the user holds out to score on, for method="paper".
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
    """The rows in one order, copies of a row as one, and divided as the method does it."""
    method = get_method(settings.method)
    flags = None if holdout is None else holdout.astype(np.int64)
    given = {"stage": stage, "groups": groups, "holdout": flags}
    known = {name: values for name, values in given.items() if values is not None}
    table, in_order, copies = canonicalize_rows(table, list(known.values()))
    known = dict(zip(known, in_order, strict=True))
    groups = known["groups"] if "groups" in known else group_copies(table, copies)
    stage, flags = known.get("stage"), known.get("holdout")
    info = RowMetadata(stage, groups, None if flags is None else flags == 1)
    return TrainingSet(table, method.split_rows(table, settings, info), groups, stage)


def train_on_split(
    table: Table, division: RowSplit, settings: StabilitySettings, *, groups: LongArray | None = None
) -> StableTrees:
    """Stable trees on rows whose roles are given."""
    target = table.schema.target
    method, metric = get_method(settings.method), make_metric(settings.scoring, target)
    # Before the work: what is out of range should not show after minutes of growing.
    outcome = check_outcome(target, settings.matching, settings.label_weight, settings.outcome)
    _check_leaf_values(settings)
    rows = TrainingSet(table, division, groups)
    honest = settings.leaf_values == "honest"
    grown = _grown_honestly(rows, settings, metric) if honest else method.grow(rows, settings, metric)
    distance_settings = DistanceSettings.of_depth(
        _greatest_depth(grown), settings.matching, outcome, settings.label_weight
    )
    note = NOT_JUDGED if settings.validation is None else grown.baseline.warning if grown.baseline else ""
    if note:
        noted = [tree.replace(notes=(*tree.notes, note)) for tree in grown.candidates.trees]
        grown = grown._replace(candidates=replace(grown.candidates, trees=tuple(noted)))
    distances = _distances(grown, distance_settings, settings)
    frontier = make_frontier(grown, distances, distance_settings, metric)
    reliability = grown.scores.reliability
    return StableTrees(
        grown.references,
        grown.candidates,
        frontier,
        metric,
        distance_settings,
        reliability,
        grown.sizes,
        grown.strength,
    )


def _grown_honestly(rows: TrainingSet, settings: StabilitySettings, metric: Metric) -> TrainedCandidates:
    """All of it on half of the rows; then the leaves of the candidates say what the other half was."""
    asked = draw_structure_rows(rows.table, rows.groups, settings.seed)
    division = RowSplit(rows.division.early[asked], tuple(each[asked] for each in rows.division.validation))
    half = TrainingSet(rows.table.subset(asked), division, subset_groups(rows.groups, asked))
    grown = get_method(settings.method).grow(half, replace(settings, leaf_values="labels"), metric)
    others = rows.table.subset(~asked)
    rules = settings.rules
    if not rules.predicts_quantiles:
        rules = rules.replace(criterion="gini" if others.schema.target.is_classes else "squared_error")
    trees = [set_honest_values(tree, others, rules) for tree in grown.candidates.trees]
    return grown._replace(candidates=replace(grown.candidates, trees=tuple(trees)))


def _check_leaf_values(settings: StabilitySettings) -> None:
    if settings.leaf_values == "shrunk" and settings.rules.predicts_quantiles:
        raise ParameterError(
            f"leaf_values='shrunk' is about probabilities and means, and "
            f"criterion={settings.rules.criterion!r} asks for quantiles: use 'labels' or 'honest'."
        )
    if settings.leaf_values == "shrunk" and settings.method not in SHRINKING:
        raise ParameterError(
            f"leaf_values='shrunk' is for method={' or '.join(map(repr, SHRINKING))}, and the method is "
            f"{settings.method!r}."
        )


def _distances(
    grown: TrainedCandidates, distance_settings: DistanceSettings, settings: StabilitySettings
) -> FloatArray:
    """The distance of every candidate to each of its references, (candidates, references)."""
    distances = np.empty((len(grown.candidates), len(grown.references)))
    for references, places in grown.by_references():
        trees = [grown.candidates.trees[place] for place in places.tolist()]
        distances[places] = distances_between(
            trees,
            references.trees,
            distance_settings,
            n_jobs=settings.n_jobs,
            progress=settings.verbose,
        )
    return distances


def _greatest_depth(grown: TrainedCandidates) -> int:
    """The greatest depth that the grid allows, or that of the deepest tree where the grid does not say."""
    trees = (*grown.references.trees, *grown.candidates.trees)
    deepest = max(1, *(tree.depth for tree in trees))
    allowed = [combination.get("max_depth") for combination in grown.references.combinations]
    return max([deepest, *(int(depth) for depth in allowed if depth is not None)])


def get_method(name: str) -> Method:
    """The method of that name; a ParameterError with the names there are if there is none."""
    if name not in _METHODS:
        raise ParameterError(f"method={name!r} is unknown: choose one of {', '.join(map(repr, METHODS))}.")
    return _METHODS[name]


# -- What the leaves of stable trees rest on -----------------------------------------------------------------


def add_leaf_evidence(
    trained: StableTrees, table: Table, groups: LongArray | None, settings: StabilitySettings
) -> StableTrees:
    """The same, every candidate with what its leaves rest on, where it does not tell by itself.

    The groups are those that were given: copies of a row, which stable trees keep together, are none.
    """
    is_taught = settings.is_taught
    grown = trained.candidates
    trees = tuple(add_evidence(tree, table, groups, is_distilled=is_taught) for tree in grown.trees)
    return replace(trained, candidates=replace(grown, trees=trees))
