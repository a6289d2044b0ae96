"""Consensus trees: what a teacher knows, in the tree that lies amid the trees of other samples.

A teacher, the mean of several models, says how likely every class is in every row. A student, a tree of few
leaves, is grown on what it says, and so are the references, on bootstrap samples. The student then moves to
the midst of the references, as far as it goes on fitting the teacher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, round_last_digits
from holdfast._choices import LEAF_VALUES, MOST_LEAVES, THRESHOLDS
from holdfast._random import Branch
from holdfast.data.folds import draw_folds, subset_groups
from holdfast.data.resampling import Units
from holdfast.data.table import Table
from holdfast.distance.costs import DistanceSettings, check_outcome, fraction_of_range
from holdfast.errors import ParameterError
from holdfast.growth.class_costs import read_loss_matrix
from holdfast.growth.leaf_values import count_rows_by_class, refit_all_leaf_values, refit_leaf_values
from holdfast.growth.rounding import round_exactly
from holdfast.growth.rules import GrowthRules, resolve_min_rows
from holdfast.growth.sample import fixed_point_sample, scale_weights
from holdfast.growth.shrinkage import shared_strength, shrink_tree
from holdfast.scoring.metric import Metric, TrueValues, predict_for_metric
from holdfast.stable.candidates import Method, Scores, Sizes, TrainedCandidates, TreeCollection
from holdfast.stable.consensus.distil import (
    DistillationTask,
    Student,
    quantize_predictions,
    set_posterior_values,
)
from holdfast.stable.consensus.prior import Prior
from holdfast.stable.consensus.search import STARTS, ConsensusSearch, SearchResult, TeacherFit
from holdfast.stable.consensus.shape import ReferenceSplits, explained_at, undo_weak_splits
from holdfast.stable.consensus.size import SIZES, SizeChoice, choose_size
from holdfast.stable.consensus.teacher import (
    SEED,
    HeldOutPredictions,
    TeacherData,
    average_predictions,
    check_teacher,
    choose_part_weights,
    part_predictions,
    part_weights,
    teacher_predictions,
)
from holdfast.stable.rows import (
    CLEAR_AT_ONCE,
    FOLDS,
    FRACTION_HELD_OUT,
    MOST_CROSS_FITTED,
    OPEN,
    REPEATS,
    BaselineTest,
    RowMetadata,
    RowSplit,
    TrainingSet,
    baseline_test,
    split_rows,
)
from holdfast.stable.settings import DEFAULT_TEACHER, TEACHER_TOLERANCE, StabilitySettings
from holdfast.tree.monotone import set_losses
from holdfast.tree.prune import prune_at
from holdfast.tree.stats import set_class_counts
from holdfast.tree.tree import LEAF, Tree

SMALLER = (12, 8, 4)  # leaves of further candidates, as far as they are fewer than a tree may have
LEAST_ROWS, LEAST_FRACTION = 14, 0.01  # in a leaf of a student: more than the search asks for
LEAST_ROWS_FOUND = 10  # in a leaf of a consensus tree
TOLERANCES = (0.0, 0.06, 0.12)  # of the candidates of the most leaves, if these are few
MOST_SEARCHED = 50  # references that trees of more than 24 leaves are moved towards: a search takes seconds


def split_rows_for_consensus(table: Table, settings: StabilitySettings, info: RowMetadata) -> RowSplit:
    """A third of the rows to score by, unless `settings.validation` says otherwise; all rows are early.

    The rows held out serve the scores alone: the trees that are handed out have seen all rows. None holds
    nothing out: the scores are then those on the rows that were learnt from, and too good.
    """
    everything = np.ones(table.n_rows, np.bool_)
    if settings.validation is None:
        if info.holdout is None:
            return RowSplit(everything, (everything,))
        settings = replace(settings, validation="auto")  # which is refused below
    if settings.validation == "auto":
        settings = replace(settings, validation=FRACTION_HELD_OUT)
    if info.stage is not None and len(np.unique(info.stage)) == 1:  # none is early, which nobody asks
        info = info._replace(stage=None)
    # Whatever the seed, the same rows: those held out choose the size.
    division = split_rows(table, replace(settings, seed=SEED), info)
    return replace(division, early=everything)


def consensus_candidates(rows: TrainingSet, settings: StabilitySettings, metric: Metric) -> TrainedCandidates:
    """The central trees for several sizes and tolerances, those of the most leaves first, and their scores.

    The scores are those of trees made alike without the rows held out. The references are bootstrap students
    of all rows, for every size those of as many leaves.
    """
    _check(settings)
    settings = replace(settings, shrinkage=None)  # held-out rows choose it again
    settings, taught = _teach_divisions(rows, settings)
    settings, choice = _with_size(rows, settings, taught)
    whole, depth = train_consensus_trees(rows.table, rows.groups, settings), settings.rules.max_depth
    sizes = Sizes(
        max_leaf_nodes=whole.limits,
        student_loss=whole.student_losses,
        smaller_references={each.max_leaf_nodes: each.reference_collection(depth) for each in whole.smaller},
        choice=choice,
        teacher=settings.teacher if isinstance(settings.teacher, Mapping) else None,
    )
    learnt, strength = _learnt(rows, settings, whole, taught), None
    if settings.leaf_values == "shrunk":
        strength = _strength(rows, learnt)
        whole, learnt = whole.shrunk(strength), [each.shrunk(strength) for each in learnt]
    grown = TrainedCandidates(
        whole.reference_collection(depth),
        whole.candidates,
        _scores(rows, metric, [each.all_trees for each in learnt]),
        whole.teacher_losses,
        sizes,
        strength,
        _baseline(rows, metric, settings, learnt),
    )
    if grown.baseline is None or grown.baseline.is_better or settings.rules.first_splits is not None:
        return grown
    return _with_one_leaf(grown, rows, settings, metric)


def _teach_divisions(
    rows: TrainingSet, settings: StabilitySettings
) -> tuple[StabilitySettings, list[Taught | None]]:
    """Fit a teacher to the training rows of each division; None where a division holds nothing out.

    Its predictions of the rows held out choose the weights of its parts, if the default teacher is asked for.
    """
    usual, table = part_weights(settings.teacher), rows.table
    weights, divisions = np.array(list(usual.values())), []
    for training in rows.division.training:
        parts = None
        if not training.all():
            parts = part_predictions(_teacher_data(table, rows.groups, settings, training), usual)
        divisions.append(parts)
    pairs = [(flags, each) for flags, each in zip(rows.division.validation, divisions, strict=True) if each]
    if settings.teacher == DEFAULT_TEACHER and pairs:
        weights = choose_part_weights([_held_out_predictions(table, *each) for each in pairs], weights)
        if weights.tolist() != list(usual.values()):
            chosen = dict(zip(usual, weights.tolist(), strict=True))
            settings = replace(settings, teacher={part: share for part, share in chosen.items() if share})
            weights = weights / weights.sum()
    taught = [
        None
        if parts is None
        else make_task(
            table.subset(training), average_predictions(parts, weights.tolist())[training], settings
        )
        for training, parts in zip(rows.division.training, divisions, strict=True)
    ]
    return settings, taught


def _held_out_predictions(table: Table, flags: BoolArray, parts: Sequence[FloatArray]) -> HeldOutPredictions:
    target = table.schema.target
    if target.is_classes:
        truth = np.eye(len(target.classes))[table.target[flags]]
    else:
        truth = fraction_of_range(table.target[flags], target.low, target.low, target.high)[:, None]
    weight = None if table.weight is None else table.weight[flags]
    return HeldOutPredictions([each[flags] for each in parts], truth, weight)


def _with_size(
    rows: TrainingSet, settings: StabilitySettings, taught: Sequence[Taught | None]
) -> tuple[StabilitySettings, SizeChoice | None]:
    """The settings with the number of leaves that rows held out choose, if it is left open."""
    if not settings.is_size_open:
        return settings, None
    held_out = [
        (flags, [_student_of_size(each, settings.with_size(size)) for size in SIZES])
        for flags, each in zip(rows.division.validation, taught, strict=True)
        if each is not None
    ]
    choice = choose_size(rows, held_out) if held_out else None
    return settings.with_size(MOST_LEAVES if choice is None else choice.max_leaf_nodes), choice


def _student_of_size(rows: Taught, settings: StabilitySettings) -> Tree:
    rows = rows.limited(settings)
    return _with_leaf_values([rows.lesson.student(rows.repeats).tree], rows, settings)[0]


def _baseline(
    rows: TrainingSet, metric: Metric, settings: StabilitySettings, learnt: Sequence[ConsensusTrees]
) -> BaselineTest | None:
    """The test against a constant: on the rows held out or, where these leave it open, on all rows by folds.

    Students stand for the consensus trees of the folds: to search for these would take far longer.
    """
    trees = [each.all_trees for each in learnt]
    found = baseline_test(rows, metric, zip(rows.division.validation, trees, strict=True))
    if found is None or rows.division.is_cross_fitted or rows.table.n_rows > MOST_CROSS_FITTED:
        return found
    limit, parts = most_leaves(settings), []
    sizes = [limit, *(size for size in SMALLER if size < limit)]
    for repeat in range(REPEATS):
        if found.ratio >= CLEAR_AT_ONCE or (repeat and found.ratio < OPEN):
            break
        stream = (SEED, Branch.BASELINE_TEST_FOLDS, repeat)
        for fold in draw_folds(rows.table, rows.groups, FOLDS, stream):
            training, groups = rows.table.subset(fold.training), subset_groups(rows.groups, fold.training)
            parts.append((fold.held_out, train_students(settings, sizes, training, groups)))
        found = baseline_test(rows, metric, parts) or found
    return found


def _with_one_leaf(
    grown: TrainedCandidates, rows: TrainingSet, settings: StabilitySettings, metric: Metric
) -> TrainedCandidates:
    """The same with one candidate more: the constant, amid references of one leaf."""
    assert grown.sizes is not None
    assert grown.teacher_loss is not None
    candidates, sizes, tree = grown.candidates, grown.sizes, grown.candidates.trees[0]
    constants = [[_constant(tree, rows.table.subset(each), settings)] for each in rows.division.training]
    own = _scores(rows, metric, constants)
    names = ("value", "error", "measured", "measured_error")
    scores = {name: np.append(getattr(grown.scores, name), getattr(own, name)) for name in names}
    roots = tuple(prune_at(each, np.ones(each.n_nodes, np.bool_)) for each in grown.references.trees)
    return grown._replace(
        candidates=TreeCollection(
            (*candidates.trees, _constant(tree, rows.table, settings)),
            (*candidates.combinations, {"tolerance": 0.0, "max_leaf_nodes": 1}),
            np.arange(len(candidates) + 1),
            np.zeros(len(candidates) + 1, np.int64),
        ),
        scores=Scores(**scores, reliability=1.0),
        teacher_loss=np.append(grown.teacher_loss, 1.0),
        sizes=sizes._replace(
            max_leaf_nodes=np.append(sizes.max_leaf_nodes, 1),
            student_loss=np.append(sizes.student_loss, 0.0),
            smaller_references={**sizes.smaller_references, 1: replace(grown.references, trees=roots)},
        ),
    )


def _constant(tree: Tree, table: Table, settings: StabilitySettings) -> Tree:
    """A tree of one leaf, with the base rate, the mean or the quantile of the rows."""
    root = prune_at(tree, np.ones(tree.n_nodes, np.bool_))
    rules = settings.rules
    if not rules.predicts_quantiles:
        rules = replace(rules, criterion=_criterion(table))
    return refit_leaf_values(root, table, rules)


# -- one set of rows ------------------------------------------------------------------------------------


class Taught(NamedTuple):
    """What the teacher of some rows has to say, and how often each row counts."""

    lesson: DistillationTask
    repeats: IntArray
    exponent: int  # weights of the lesson are the given ones times 2 ** -exponent

    def limited(self, settings: StabilitySettings) -> Taught:
        """The same for students of the size and the depth of the settings."""
        rules = make_student_rules(settings, int(self.repeats.sum()))
        return self._replace(lesson=self.lesson.limited(rules))


def taught_by(table: Table, groups: LongArray | None, settings: StabilitySettings) -> Taught:
    """The lesson of the rows: the teacher learns from them, and says what it thinks of each."""
    return make_task(table, predict_teacher(table, groups, settings), settings)


def predict_teacher(table: Table, groups: LongArray | None, settings: StabilitySettings) -> FloatArray:
    """What a teacher that has learnt from the rows says of each."""
    return teacher_predictions(_teacher_data(table, groups, settings), settings.teacher)


def _teacher_data(
    table: Table, groups: LongArray | None, settings: StabilitySettings, training: BoolArray | None = None
) -> TeacherData:
    repeats, importance, _ = scale_weights(table, settings.rules)
    return TeacherData.of(table, repeats * importance, groups, settings, training)


def make_task(
    table: Table, answers: FloatArray, settings: StabilitySettings, prior: Prior | None = None
) -> Taught:
    """The lesson of what a teacher says, weighed against what was known before."""
    repeats, importance, exponent = scale_weights(table, settings.rules)
    if prior is not None and prior.n_rows > 0:
        answers, importance = prior.blend(answers, table, repeats, importance)
    answers = quantize_predictions(answers)
    rules = make_student_rules(settings, int(repeats.sum()))
    lesson = DistillationTask.of(table, answers, repeats, importance, rules, settings.thresholds)
    return Taught(lesson, repeats, exponent)


def train_consensus_trees(
    table: Table, groups: LongArray | None, settings: StabilitySettings
) -> ConsensusTrees:
    """Teacher, student, references and the trees in their midst; and the same of fewer leaves.

    Smaller students are the same ones, as they were when they had so many leaves.
    """
    return search_consensus_trees(taught_by(table, groups, settings), groups, settings, SMALLER)


def search_consensus_trees(
    rows: Taught, groups: LongArray | None, settings: StabilitySettings, sizes: Sequence[int] = ()
) -> ConsensusTrees:
    """The same of rows whose teacher has said what it thinks, and of these sizes as far as they are fewer."""
    students = _students(rows, groups, settings)
    distances = distance_settings(settings, [each.tree for each in students])
    most, grown = most_leaves(settings), max(each.tree.n_leaves for each in students)
    whole = _central(rows, students, most, distances, settings)
    smaller = [
        # Where no student has grown beyond a size, its trees are those of the most leaves.
        _central(rows, students, size, distances, settings)
        if size < grown
        else whole.within(chosen_tolerance(settings), size)
        for size in sizes
        if size < most
    ]
    return replace(whole, smaller=tuple(smaller))


def _students(rows: Taught, groups: LongArray | None, settings: StabilitySettings) -> list[Student]:
    """The student of all rows, then those of the bootstrap samples."""
    lesson, repeats = rows.lesson, rows.repeats
    lesson = replace(lesson, coarse=replace(lesson.coarse))  # whose codes are forgotten with it
    sampled = lesson.students(
        repeats,
        Units.of(lesson.table, groups),
        (SEED, Branch.STUDENTS),
        settings.n_trees,
        settings.n_jobs,
        "Students" if settings.verbose else "",
    )
    return [lesson.student(repeats), *sampled]


def _central(
    rows: Taught,
    students: Sequence[Student],
    size: int,
    distances: DistanceSettings,
    settings: StabilitySettings,
) -> ConsensusTrees:
    """Consensus trees with at most `size` leaves, among references of that size."""
    lesson, chosen = rows.lesson, chosen_tolerance(settings)
    is_small = size <= MOST_LEAVES
    has_all = is_small and size == most_leaves(settings)
    tolerances = tuple(sorted({*TOLERANCES, chosen})) if has_all else (chosen,)
    n_starts = STARTS if has_all else 2 if is_small else 1
    student, *references = [each.cut_to(size) for each in students]
    near = references if size <= SIZES[1] else references[:MOST_SEARCHED]
    search = ConsensusSearch.of(lesson, student, near, rows.repeats, distances)
    is_given = settings.rules.min_samples_leaf != 1  # which is kept to
    least_rows = float(lesson.least_rows) if is_given else max(search.least_rows, LEAST_ROWS_FOUND)
    search = replace(search, least_rows=least_rows)
    found = _found(search, tolerances, chosen, n_starts, settings.n_jobs)
    shapes = [
        lesson.ask_if_recorded(search.problem.questions.tree_of(each.nodes, each.n_leaves)) for each in found
    ]
    if settings.thresholds == "exact":
        shapes = [round_exactly(tree, lesson.table, search.prescribed) for tree in shapes]
    splits = ReferenceSplits.of(references, lesson.table, lesson.weight)
    trees = [
        undo_weak_splits(tree, splits, lesson, search.fit, tolerance, set(search.problem.held.tolist()))
        for tree, tolerance in zip(fit_leaf_values(shapes, rows, settings), tolerances, strict=True)
    ]
    explained = [float(explained_at(tree, lesson)[tree.feature == LEAF].sum()) for tree in trees]
    references = _with_weights(references, rows.exponent)
    return ConsensusTrees(size, tolerances, tuple(trees), tuple(explained), search.fit, tuple(references))


def train_students(
    settings: StabilitySettings, sizes: Sequence[int], table: Table, groups: LongArray | None
) -> list[Tree]:
    """The student of the rows at each of the sizes; one teacher serves them all."""
    rules = replace(settings.rules, max_leaf_nodes=max(sizes))
    rows = taught_by(table, groups, replace(settings, rules=rules))
    student = rows.lesson.student(rows.repeats)
    return _with_leaf_values([student.cut_to(size) for size in sizes], rows, settings)


def fit_leaf_values(trees: list[Tree], rows: Taught, settings: StabilitySettings) -> list[Tree]:
    """The trees with the leaf values that the settings ask for, and the weights that the rows were given."""
    return _with_leaf_values(rows.lesson.refit(trees), rows, settings)


def _with_leaf_values(trees: list[Tree], rows: Taught, settings: StabilitySettings) -> list[Tree]:
    """The same of trees that have the teacher's answers in their leaves."""
    table = rows.lesson.table
    if not settings.is_taught:
        rules = settings.rules
        if not rules.predicts_quantiles:
            rules = replace(rules, criterion=_criterion(table))
        sample = fixed_point_sample(table, rules)
        labelled = refit_all_leaf_values(trees, table, [sample] * len(trees))
        strength = settings.shrinkage
        return labelled if strength is None else [shrink_tree(tree, strength) for tree in labelled]
    trees = [_with_observed(tree, rows) for tree in _with_weights(trees, rows.exponent)]
    losses = read_loss_matrix(settings.rules.loss_matrix, table.schema.target.classes)
    if losses is not None:
        trees = [set_losses(tree, losses) for tree in trees]
    if settings.leaf_values == "posterior":
        weight = rows.lesson.weight
        trees = [set_posterior_values(tree, table, rows.repeats, weight) for tree in trees]
    return trees


def _with_observed(tree: Tree, rows: Taught) -> Tree:
    """The tree with the rows of each class at its nodes, which the teacher's answers do not tell."""
    table = rows.lesson.table
    if not table.schema.target.is_classes:
        return tree
    n_classes = len(table.schema.target.classes)
    counts = count_rows_by_class(tree, tree.apply(table), table.target, rows.repeats, n_classes)
    # Of three classes or more, the lesson counts a row only for the classes that the teacher allows.
    return set_class_counts(tree.replace(count=counts.sum(axis=1)), counts)


def _with_weights(trees: list[Tree], exponent: int) -> list[Tree]:
    """The trees with the weights that the rows were given, which were learnt from as shares."""
    return [tree.replace(weight=np.ldexp(tree.weight, exponent)) for tree in trees]


def most_leaves(settings: StabilitySettings) -> int:
    """The leaves that a tree may have: as the rules say, or twelve."""
    return settings.rules.max_leaf_nodes or MOST_LEAVES


def make_student_rules(settings: StabilitySettings, n_rows: int) -> GrowthRules:
    """How students grow: the best splits first, up to so many leaves."""
    rules = settings.rules
    given = resolve_min_rows(rules.min_samples_leaf, n_rows)
    share = LEAST_FRACTION * min(1.0, MOST_LEAVES / most_leaves(settings))
    # Of less than 280 rows, 14 are too many.
    fewest = min(LEAST_ROWS, max(LEAST_ROWS_FOUND, round(n_rows / 20)))
    least = given if given > 1 else max(fewest, round(share * n_rows))
    return GrowthRules(
        max_depth=rules.max_depth,
        max_leaf_nodes=most_leaves(settings),
        min_samples_leaf=least,
        min_impurity_decrease=rules.min_impurity_decrease,
        categories=rules.categories,
        custom_features_only=rules.custom_features_only,
        monotonic_cst=rules.monotonic_cst,
        monotonic_class=rules.monotonic_class,
        interaction_cst=rules.interaction_cst,
        excluded_features=rules.excluded_features,
        first_splits=rules.first_splits,
        feature_costs=rules.feature_costs,
    )


def distance_settings(settings: StabilitySettings, trees: list[Tree]) -> DistanceSettings:
    """How distances between the trees are measured, the depth being the greatest that is allowed or there."""
    depth = max(1, settings.rules.max_depth or 1, *(tree.depth for tree in trees))
    target = trees[0].schema.target
    outcome = check_outcome(target, settings.matching, settings.label_weight, settings.outcome)
    return DistanceSettings.of_depth(depth, settings.matching, outcome, settings.label_weight)


def _found(
    search: ConsensusSearch, tolerances: tuple[float, ...], chosen: float, n_starts: int, n_jobs: int | None
) -> list[SearchResult]:
    """The central tree for each tolerance; a greater one never gives a tree that is farther away.

    The one that will be chosen is looked for from several starts, the others from the one before.
    """
    found: list[SearchResult] = []
    for tolerance in tolerances:
        starts = found[-1:] or [search.student]
        if tolerance == chosen:
            starts = [*search.starts(tolerance, n_starts), *found[-1:]]
        found.append(search.nearest(tolerance, starts, n_jobs=n_jobs))
    return found


def chosen_tolerance(settings: StabilitySettings) -> float:
    """The tolerance of the tree that is taken unless another is asked for."""
    return TEACHER_TOLERANCE if settings.tolerance is None else float(settings.tolerance)


def _criterion(table: Table) -> str:
    return "gini" if table.schema.target.is_classes else "squared_error"


def _check(settings: StabilitySettings) -> None:
    check_teacher(settings.teacher)
    if settings.learner is not None or settings.grid is not None:
        raise ParameterError(
            "method='consensus' grows its own students: leave learner=None and grid=None; the teacher can "
            "be another."
        )
    if settings.matching == "cover":
        raise ParameterError(
            "matching='cover' is not for method='consensus', which looks for the midst of trees by the "
            "matching 'paper' or 'metric'."
        )
    if settings.rules.predicts_quantiles and settings.is_taught:
        raise ParameterError(
            f"criterion={settings.rules.criterion!r} asks for quantiles, and the teacher of a consensus tree "
            "predicts means: set leaf_values='labels', and the leaves say quantiles of the labels; or use "
            "method='bootstrap'."
        )
    if settings.thresholds not in THRESHOLDS:
        raise ParameterError(
            f"thresholds={settings.thresholds!r} is unknown: choose 'round', few round numbers for every "
            "feature, or 'exact', all numbers between two values."
        )
    if settings.leaf_values not in LEAF_VALUES:
        raise ParameterError(
            f"leaf_values={settings.leaf_values!r} is unknown: choose 'posterior' (the rows of a leaf and "
            "the teacher together), 'teacher' (the mean of the teacher's predictions), 'labels' (the rows "
            "alone), 'shrunk' (the rows, drawn towards the nodes above) or 'honest' (rows that chose no "
            "split)."
        )
    if settings.leaf_values == "shrunk" and settings.validation is None:
        raise ParameterError(
            "leaf_values='shrunk' shrinks as much as rows held out speak for, and validation=None holds out "
            "none: leave validation='auto'."
        )


# -- scores ---------------------------------------------------------------------------------------------


def _learnt(
    rows: TrainingSet, settings: StabilitySettings, whole: ConsensusTrees, taught: Sequence[Taught | None]
) -> list[ConsensusTrees]:
    """Trees made the same way without the rows that each division holds out."""
    return [
        whole
        if each is None
        else search_consensus_trees(
            each.limited(settings), subset_groups(rows.groups, training), settings, SMALLER
        )
        for training, each in zip(rows.division.training, taught, strict=True)
    ]


def _strength(rows: TrainingSet, learnt: Sequence[ConsensusTrees]) -> float:
    """The strength of shrinkage that rows held out speak for, of all trees together."""
    pairs = [
        (tree, held_out)
        for each, held_out in zip(learnt, rows.division.validation, strict=True)
        for tree in each.all_trees
    ]
    return shared_strength(rows.table, pairs)


def _scores(rows: TrainingSet, metric: Metric, made: Sequence[Sequence[Tree]]) -> Scores:
    """For each candidate the score of a tree made the same way without the rows that it is scored on."""
    values, errors = [], []
    for learnt, held_out in zip(made, rows.division.validation, strict=True):
        part = rows.table.subset(held_out)
        true_values = TrueValues.of(part, subset_groups(rows.groups, held_out))
        scored = [metric.score(predict_for_metric(metric, tree, part), true_values) for tree in learnt]
        values.append([each.value for each in scored])
        errors.append([each.error for each in scored])
    value = round_last_digits(np.mean(values, axis=0))
    error = np.mean(errors, axis=0)
    if rows.division.is_cross_fitted:
        # The same rows are held out several times over: only folds of one division are independent.
        n_folds = 1 / float(np.mean([held_out.mean() for held_out in rows.division.validation]))
        error = np.std(values, axis=0, ddof=1) / np.sqrt(n_folds)
    return Scores(value, error, value, error, reliability=1.0)


CONSENSUS = Method(consensus_candidates, split_rows_for_consensus)

# -- What a search for central trees comes to ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ConsensusTrees:
    """The central tree for each tolerance, the references amid which it lies, and trees of fewer leaves."""

    max_leaf_nodes: int
    tolerances: tuple[float, ...]
    trees: tuple[Tree, ...]
    explained: tuple[float, ...]  # by each of the trees, of the sum of the teacher's squared answers
    fit: TeacherFit  # the search itself holds all rows, and is not kept
    references: tuple[Tree, ...]  # of at most as many leaves
    smaller: tuple[ConsensusTrees, ...] = ()

    def shrunk(self, strength: float) -> ConsensusTrees:
        """The same with leaf values drawn towards the nodes above; the references stay as they are."""
        trees = tuple(shrink_tree(tree, strength) for tree in self.trees)
        return replace(self, trees=trees, smaller=tuple(each.shrunk(strength) for each in self.smaller))

    def within(self, tolerance: float, max_leaf_nodes: int) -> ConsensusTrees:
        """The tree of one tolerance, where no tree has more leaves than a smaller size allows."""
        place = self.tolerances.index(tolerance)
        return replace(
            self,
            max_leaf_nodes=max_leaf_nodes,
            tolerances=(tolerance,),
            trees=(self.trees[place],),
            explained=(self.explained[place],),
        )

    @property
    def sizes(self) -> tuple[ConsensusTrees, ...]:
        """The trees of every size, those of the most leaves first."""
        return (self, *self.smaller)

    @property
    def all_trees(self) -> tuple[Tree, ...]:
        """The trees of every size, one for each tolerance."""
        return tuple(tree for each in self.sizes for tree in each.trees)

    @property
    def teacher_losses(self) -> FloatArray:
        """Of all trees: what they lose, as a fraction, of what the student of the most leaves explains."""
        return np.array([self.fit.loss(explained) for each in self.sizes for explained in each.explained])

    @property
    def student_losses(self) -> FloatArray:
        """Of all trees: the same of the student of as many leaves, which the tolerance bounds."""
        return np.array([each.fit.loss(explained) for each in self.sizes for explained in each.explained])

    @property
    def limits(self) -> LongArray:
        """Of all trees: the most leaves that they may have."""
        return np.repeat(
            [each.max_leaf_nodes for each in self.sizes], [len(each.trees) for each in self.sizes]
        )

    @property
    def candidates(self) -> TreeCollection:
        """All trees, each with what it was looked for with."""
        combinations = tuple(
            {"tolerance": tolerance, "max_leaf_nodes": each.max_leaf_nodes}
            for each in self.sizes
            for tolerance in each.tolerances
        )
        n_trees = len(combinations)
        return TreeCollection(self.all_trees, combinations, np.arange(n_trees), np.zeros(n_trees, np.int64))

    def reference_collection(self, max_depth: int | None) -> TreeCollection:
        """The references, students that had at most this depth."""
        combination = {"max_leaf_nodes": self.max_leaf_nodes, "max_depth": max_depth}
        zeros = np.zeros(len(self.references), np.int64)
        return TreeCollection(self.references, (combination,), zeros, zeros)
