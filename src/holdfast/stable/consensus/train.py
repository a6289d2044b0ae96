"""Consensus trees: a teacher, trees distilled from it, and the tree of least mean distance to these.

`train_consensus_candidates` runs the steps in order: fit the teacher (`teacher`), choose the size on held-out
rows (`size`), distil a student, and bootstrap students as references (`distil`), search for the tree nearest
to the references that still fits the teacher (`search`), undo weakly supported splits (`weak_splits`), and
score trees made the same way without the rows held out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, round_last_digits
from holdfast._choices import LEAF_VALUES, MOST_LEAVES, THRESHOLDS
from holdfast._random import Branch
from holdfast.data.folds import draw_folds, subset_groups
from holdfast.data.resampling import Units, draw_all_counts
from holdfast.data.table import Table
from holdfast.distance.costs import DistanceSettings, check_outcome
from holdfast.errors import ParameterError
from holdfast.growth.class_costs import read_loss_matrix
from holdfast.growth.leaf_values import count_rows_by_class, refit_all_leaf_values, refit_leaf_values
from holdfast.growth.rounding import round_exactly
from holdfast.growth.rules import GrowthRules, default_criterion, resolve_min_rows
from holdfast.growth.sample import fixed_point_sample, scale_weights
from holdfast.growth.shrinkage import shared_strength, shrink_tree
from holdfast.parallel.tasks import ROWS_PER_TASK, make_batches, run_all
from holdfast.scoring.metric import Metric, TrueValues, predict_for_metric
from holdfast.stable.candidates import Method, Scores, TrainedCandidates, TreeCollection
from holdfast.stable.consensus.distil import (
    DistillationTask,
    Student,
    quantize_predictions,
    set_posterior_risks,
    set_posterior_values,
    set_teacher_risks,
)
from holdfast.stable.consensus.prior import Prior
from holdfast.stable.consensus.search import STARTS, ConsensusSearch, SearchResult, TeacherFit
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
from holdfast.stable.consensus.weak_splits import ReferenceSplits, explained_at, undo_weak_splits
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

SMALLER_SIZES = (12, 8, 4)  # leaves of further candidates, if they are fewer than a tree may have
MIN_ROWS, MIN_FRACTION = 14, 0.01  # in a leaf of a student: more than the search requires
MIN_ROWS_FOUND = 10  # in a leaf of a consensus tree
TOLERANCES = (0.0, 0.06, 0.12)  # of the candidates of the greatest size, if it is at most 12 leaves
MAX_SEARCHED = 50  # references that trees of more than 24 leaves are moved towards: a search takes seconds


def train_consensus_candidates(
    rows: TrainingSet, settings: StabilitySettings, metric: Metric
) -> TrainedCandidates:
    """Train consensus trees of several sizes and tolerances, the greatest size first, and score them.

    The scores are those of trees made the same way without the rows held out. The references are bootstrap
    students of all rows, pruned to each size.
    """
    _check(settings)
    settings = replace(settings, shrinkage=None)  # chosen again on held-out rows
    settings, tasks = _fit_teachers(rows, settings)
    choice = None
    if settings.is_size_open:
        choice = _choose_size(rows, settings, tasks)
        settings = settings.with_size(MOST_LEAVES if choice is None else choice.max_leaf_nodes)
    task = make_task(rows.table, predict_teacher(rows.table, rows.groups, settings), settings)
    trees = search_consensus_trees(task, rows.groups, settings, SMALLER_SIZES)
    judged = _fit_without_holdout(rows, settings, trees, tasks)
    shrinkage = None
    if settings.leaf_values == "shrunk":
        shrinkage = _choose_shrinkage(rows, judged)
        trees, judged = trees.shrink(shrinkage), [each.shrink(shrinkage) for each in judged]
    depth = settings.rules.max_depth
    trained = TrainedCandidates(
        references=trees.make_references(depth),
        candidates=trees.make_candidates(),
        scores=_score(rows, metric, [each.all_trees for each in judged]),
        baseline=_test_against_constant(rows, metric, settings, judged),
        shrinkage=shrinkage,
        teacher_loss=trees.teacher_losses,
        student_loss=trees.student_losses,
        max_leaf_nodes=trees.limits,
        smaller_references={each.max_leaf_nodes: each.make_references(depth) for each in trees.smaller},
        size_choice=choice,
        teacher_weights=settings.teacher if isinstance(settings.teacher, Mapping) else None,
        sample_values=estimate_sample_values(trees.references, task, rows.groups, settings, shrinkage),
    )
    if trained.baseline is None or trained.baseline.is_better or settings.rules.first_splits is not None:
        return trained
    return _add_constant(trained, rows, settings, metric)


def split_rows_for_consensus(table: Table, settings: StabilitySettings, info: RowMetadata) -> RowSplit:
    """Hold out a third of the rows to score by, unless `settings.validation` differs; all rows are early.

    The rows held out serve the scores alone: the final trees are trained on all rows. With validation=None
    nothing is held out, and the scores are the optimistic ones on the training rows.
    """
    all_rows = np.ones(table.n_rows, np.bool_)
    if settings.validation is None:
        if info.holdout is None:
            return RowSplit(all_rows, (all_rows,))
        settings = replace(settings, validation="auto")  # which is refused below
    if settings.validation == "auto":
        settings = replace(settings, validation=FRACTION_HELD_OUT)
    if info.stage is not None and len(np.unique(info.stage)) == 1:  # no early rows are needed
        info = info._replace(stage=None)
    # The rows held out choose the size: they are the same for every random state.
    return replace(split_rows(table, replace(settings, seed=SEED), info), early=all_rows)


# -- Teacher and size, chosen on held-out rows ---------------------------------------------------------------


def _fit_teachers(
    rows: TrainingSet, settings: StabilitySettings
) -> tuple[StabilitySettings, list[DistillationTask | None]]:
    """Fit a teacher to the training rows of each division; None where a division holds nothing out.

    The weights of the parts of the default teacher are chosen by their predictions of the rows held out.
    """
    usual, table = part_weights(settings.teacher), rows.table
    weights, predictions = np.array(list(usual.values())), []
    for training in rows.division.training:
        parts = None
        if not training.all():
            parts = part_predictions(_make_teacher_data(table, rows.groups, settings, training), usual)
        predictions.append(parts)
    if settings.teacher == DEFAULT_TEACHER and any(predictions):
        held_out = [
            HeldOutPredictions.of(table, flags, parts)
            for flags, parts in zip(rows.division.validation, predictions, strict=True)
            if parts
        ]
        weights = choose_part_weights(held_out, weights)
        if weights.tolist() != list(usual.values()):
            chosen = dict(zip(usual, weights.tolist(), strict=True))
            settings = replace(settings, teacher={part: share for part, share in chosen.items() if share})
            weights = weights / weights.sum()
    tasks = [
        None
        if parts is None
        else make_task(
            table.subset(training), average_predictions(parts, weights.tolist())[training], settings
        )
        for training, parts in zip(rows.division.training, predictions, strict=True)
    ]
    return settings, tasks


def _choose_size(
    rows: TrainingSet, settings: StabilitySettings, tasks: Sequence[DistillationTask | None]
) -> SizeChoice | None:
    """Choose the number of leaves on held-out rows; None where there are none."""
    held_out = []
    for flags, task in zip(rows.division.validation, tasks, strict=True):
        if task is None:
            continue
        trees = []
        for size in SIZES:
            own = settings.with_size(size)
            limited = _limit_students(task, own)
            trees += _set_leaf_values([limited.grow_student().tree], limited, own)
        held_out.append((flags, trees))
    return choose_size(rows, held_out) if held_out else None


# -- The trees of one set of rows ----------------------------------------------------------------------------


def estimate_sample_values(
    references: Sequence[Tree],
    task: DistillationTask,
    groups: LongArray | None,
    settings: StabilitySettings,
    shrinkage: float | None = None,
) -> tuple[FloatArray, ...]:
    """Estimate the node values of each reference tree from its own sample, as the settings prescribe.

    The references themselves have the teacher's mean predictions for all rows, which differ less from tree to
    tree than leaf values of another sample would.
    """
    units, numbers = Units.of(task.table, groups), range(len(references))
    estimate = partial(_estimate_sample_values, references, task, units, settings, shrinkage)
    batches = make_batches(numbers, max(1, ROWS_PER_TASK // task.table.n_rows))
    parts = run_all(estimate, batches, settings.n_jobs)
    return tuple(value for part in parts for value in part)


def _estimate_sample_values(
    references: Sequence[Tree],
    task: DistillationTask,
    units: Units,
    settings: StabilitySettings,
    shrinkage: float | None,
    numbers: Sequence[int],
) -> list[FloatArray]:
    """Draw the samples that the references were grown on again, and estimate the values of each."""
    table = task.table
    trees = [references[number] for number in numbers]
    streams = [(SEED, Branch.STUDENTS, number) for number in numbers]
    samples = draw_all_counts(task.repeats, units, streams)
    is_posterior, is_survival = settings.leaf_values == "posterior", table.survival is not None
    if not settings.has_teacher_values or (is_posterior and is_survival):
        trees = _fit_labels(trees, table, settings, shrinkage, samples)
    if is_posterior:
        losses = read_loss_matrix(settings.rules.loss_matrix, table.schema.target.classes)
        trees = trees if losses is None else [set_losses(tree, losses) for tree in trees]
        importance = np.zeros(table.n_rows)
        np.divide(task.weight, task.repeats, out=importance, where=task.repeats > 0)
        set_values = set_posterior_risks if is_survival else set_posterior_values
        trees = [
            set_values(tree, table, counts, np.asarray(counts * importance, np.float64))
            for tree, counts in zip(trees, samples, strict=True)
        ]
    return [tree.value for tree in trees]


def predict_teacher(table: Table, groups: LongArray | None, settings: StabilitySettings) -> FloatArray:
    """Fit the teacher to the rows, and predict each of them."""
    return teacher_predictions(_make_teacher_data(table, groups, settings), settings.teacher)


def make_task(
    table: Table, predictions: FloatArray, settings: StabilitySettings, prior: Prior | None = None
) -> DistillationTask:
    """Make the task of distilling a teacher's predictions, averaged with those of a prior tree."""
    repeats, importance, exponent = scale_weights(table, settings.rules, by_exposure=False)
    if prior is not None and prior.n_rows > 0:
        predictions, importance = prior.blend(predictions, table, repeats, importance)
    rules = make_student_rules(settings, int(repeats.sum()))
    return DistillationTask.of(
        table, quantize_predictions(predictions), repeats, importance, rules, settings.thresholds, exponent
    )


def search_consensus_trees(
    task: DistillationTask, groups: LongArray | None, settings: StabilitySettings, sizes: Sequence[int] = ()
) -> ConsensusTrees:
    """Distil student and references, and search for consensus trees, also of smaller `sizes`.

    Students are grown once, and pruned to the smaller sizes.
    """
    copy = replace(task, coarse=replace(task.coarse))  # whose codes are released with it
    units, progress = Units.of(task.table, groups), "Students" if settings.verbose else ""
    sampled = copy.grow_students(units, (SEED, Branch.STUDENTS), settings.n_trees, settings.n_jobs, progress)
    students = [copy.grow_student(), *sampled]
    distances = distance_settings(settings, [each.tree for each in students])
    max_leaves, grown = most_leaves(settings), max(each.tree.n_leaves for each in students)
    largest = _search_size(task, students, max_leaves, distances, settings)
    smaller = [
        # Where no student has more leaves than a size, its trees are those of the greatest size.
        _search_size(task, students, size, distances, settings)
        if size < grown
        else largest.select(chosen_tolerance(settings), size)
        for size in sizes
        if size < max_leaves
    ]
    return replace(largest, smaller=tuple(smaller))


def _search_size(
    task: DistillationTask,
    students: Sequence[Student],
    size: int,
    distances: DistanceSettings,
    settings: StabilitySettings,
) -> ConsensusTrees:
    """Search for consensus trees with at most `size` leaves, relative to students pruned to that size."""
    chosen, is_small = chosen_tolerance(settings), size <= MOST_LEAVES
    has_all = is_small and size == most_leaves(settings)
    tolerances = tuple(sorted({*TOLERANCES, chosen})) if has_all else (chosen,)
    n_starts = STARTS if has_all else 2 if is_small else 1
    student, *references = [each.prune_to_leaves(size) for each in students]
    near = references if size <= SIZES[1] else references[:MAX_SEARCHED]
    search = ConsensusSearch.of(task, student, near, distances)
    is_explicit = settings.rules.min_samples_leaf != 1  # the user's own minimum holds
    min_rows = float(task.min_rows) if is_explicit else max(search.min_rows, MIN_ROWS_FOUND)
    search = replace(search, min_rows=min_rows)
    results = _search_tolerances(search, tolerances, chosen, n_starts, settings.n_jobs)
    trees = [
        task.add_recorded_splits(search.problem.splits.build_tree(each.nodes, each.n_leaves))
        for each in results
    ]
    if settings.thresholds == "exact":
        trees = [round_exactly(tree, task.table, search.first_splits) for tree in trees]
    splits = ReferenceSplits.of(references, task.table, task.weight)
    fixed_paths = set(search.problem.fixed_paths.tolist())
    trees = [
        undo_weak_splits(tree, splits, task, search.fit, tolerance, fixed_paths)
        for tree, tolerance in zip(fit_leaf_values(trees, task, settings), tolerances, strict=True)
    ]
    explained = [float(explained_at(tree, task)[tree.feature == LEAF].sum()) for tree in trees]
    references = _restore_weights(references, task.exponent)
    return ConsensusTrees(size, tolerances, tuple(trees), tuple(explained), search.fit, tuple(references))


def _search_tolerances(
    search: ConsensusSearch, tolerances: tuple[float, ...], chosen: float, n_starts: int, n_jobs: int | None
) -> list[SearchResult]:
    """Search for the consensus tree of each tolerance; a greater one never gives a tree farther away.

    The search with the chosen tolerance has several starts, the others start from the one before.
    """
    results: list[SearchResult] = []
    for tolerance in tolerances:
        starts = results[-1:] or [search.student]
        if tolerance == chosen:
            starts = [*search.starts(tolerance, n_starts), *results[-1:]]
        results.append(search.find_nearest(tolerance, starts, n_jobs=n_jobs))
    return results


def train_students(
    settings: StabilitySettings, sizes: Sequence[int], table: Table, groups: LongArray | None
) -> list[Tree]:
    """Distil a student of the rows, pruned to each of the sizes."""
    settings_of_largest = replace(settings, rules=replace(settings.rules, max_leaf_nodes=max(sizes)))
    task = make_task(table, predict_teacher(table, groups, settings_of_largest), settings_of_largest)
    student = task.grow_student()
    return _set_leaf_values([student.prune_to_leaves(size) for size in sizes], task, settings)


def fit_leaf_values(trees: list[Tree], task: DistillationTask, settings: StabilitySettings) -> list[Tree]:
    """Give trees the leaf values that the settings prescribe."""
    return _set_leaf_values(task.refit(trees), task, settings)


def _set_leaf_values(trees: list[Tree], task: DistillationTask, settings: StabilitySettings) -> list[Tree]:
    """Give trees whose leaves have the teacher's mean predictions the values that the settings prescribe."""
    table = task.table
    if not settings.has_teacher_values or table.survival is not None:
        trees = _fit_labels(trees, table, settings, settings.shrinkage)
        if settings.has_teacher_values and settings.leaf_values == "posterior":
            trees = [set_posterior_risks(tree, table, task.repeats, task.weight) for tree in trees]
        return trees
    trees = _restore_weights(trees, task.exponent)
    if table.schema.target.is_classes:
        trees = [_set_counts(tree, task) for tree in trees]
    losses = read_loss_matrix(settings.rules.loss_matrix, table.schema.target.classes)
    if losses is not None:
        trees = [set_losses(tree, losses) for tree in trees]
    if settings.leaf_values == "posterior":
        trees = [set_posterior_values(tree, table, task.repeats, task.weight) for tree in trees]
    return trees


def _label_rules(table: Table, settings: StabilitySettings) -> GrowthRules:
    """The rules for leaf values from the labels: means or class fractions, unless these are quantiles."""
    rules, criterion = settings.rules, default_criterion(table.schema.target)
    return rules if rules.predicts_quantiles else replace(rules, criterion=criterion)


def _fit_labels(
    trees: list[Tree],
    table: Table,
    settings: StabilitySettings,
    shrinkage: float | None,
    samples: Sequence[IntArray] | None = None,
) -> list[Tree]:
    """Fit leaf values to the labels of all rows, or of a sample for each tree.

    A survival tree with the values of a teacher keeps these, and gets the events of the rows.
    """
    sample = fixed_point_sample(table, _label_rules(table, settings))
    own = [sample] * len(trees) if samples is None else [replace(sample, repeats=each) for each in samples]
    fitted = refit_all_leaf_values(trees, table, own)
    if settings.has_teacher_values:
        return [set_teacher_risks(one, tree) for one, tree in zip(fitted, trees, strict=True)]
    return fitted if shrinkage is None else [shrink_tree(tree, shrinkage) for tree in fitted]


def _set_counts(tree: Tree, task: DistillationTask) -> Tree:
    """Set the rows of each class at every node: the teacher's predictions do not determine them."""
    table = task.table
    n_classes = len(table.schema.target.classes)
    counts = count_rows_by_class(tree, tree.apply(table), table.target, task.repeats, n_classes)
    # The trees of a task of three classes or more have no such counts.
    return set_class_counts(tree.replace(count=counts.sum(axis=1)), counts)


def _restore_weights(trees: list[Tree], exponent: int) -> list[Tree]:
    """Scale the weights of the nodes back to the given ones, of which the task has shares."""
    return [tree.replace(weight=np.ldexp(tree.weight, exponent)) for tree in trees]


def _limit_students(task: DistillationTask, settings: StabilitySettings) -> DistillationTask:
    """The task for students of the size and the depth of the settings."""
    return task.with_limits(make_student_rules(settings, int(task.repeats.sum())))


def make_student_rules(settings: StabilitySettings, n_rows: int) -> GrowthRules:
    """Make the rules by which students grow: best split first, up to the greatest number of leaves."""
    rules = settings.rules
    explicit = resolve_min_rows(rules.min_samples_leaf, n_rows)
    share = MIN_FRACTION * min(1.0, MOST_LEAVES / most_leaves(settings))
    # Of less than 280 rows, 14 are too many.
    fewest = min(MIN_ROWS, max(MIN_ROWS_FOUND, round(n_rows / 20)))
    return GrowthRules(
        max_depth=rules.max_depth,
        max_leaf_nodes=most_leaves(settings),
        min_samples_leaf=explicit if explicit > 1 else max(fewest, round(share * n_rows)),
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


def most_leaves(settings: StabilitySettings) -> int:
    """The greatest number of leaves: that of the rules, or twelve."""
    return settings.rules.max_leaf_nodes or MOST_LEAVES


def chosen_tolerance(settings: StabilitySettings) -> float:
    """The tolerance of the tree that is chosen by default."""
    return TEACHER_TOLERANCE if settings.tolerance is None else float(settings.tolerance)


def distance_settings(settings: StabilitySettings, trees: list[Tree]) -> DistanceSettings:
    """How distances between the trees are measured; the depth is the greatest that is allowed or occurs."""
    depth = max(1, settings.rules.max_depth or 1, *(tree.depth for tree in trees))
    target = trees[0].schema.target
    outcome = check_outcome(target, settings.matching, settings.label_weight, settings.outcome)
    return DistanceSettings.of_depth(depth, settings.matching, outcome, settings.label_weight)


def _make_teacher_data(
    table: Table, groups: LongArray | None, settings: StabilitySettings, training: BoolArray | None = None
) -> TeacherData:
    repeats, importance, _ = scale_weights(table, settings.rules, by_exposure=False)
    return TeacherData.of(table, repeats * importance, groups, settings, training)


# -- Scores, shrinkage and the test against a constant, on held-out rows -------------------------------------


def _fit_without_holdout(
    rows: TrainingSet,
    settings: StabilitySettings,
    trees: ConsensusTrees,
    tasks: Sequence[DistillationTask | None],
) -> list[ConsensusTrees]:
    """Train trees the same way without the rows that each division holds out."""
    return [
        trees
        if task is None
        else search_consensus_trees(
            _limit_students(task, settings), subset_groups(rows.groups, training), settings, SMALLER_SIZES
        )
        for training, task in zip(rows.division.training, tasks, strict=True)
    ]


def _choose_shrinkage(rows: TrainingSet, judged: Sequence[ConsensusTrees]) -> float:
    """Choose the strength of shrinkage on the rows held out, for all trees together."""
    pairs = [
        (tree, held_out)
        for trees, held_out in zip(judged, rows.division.validation, strict=True)
        for tree in trees.all_trees
    ]
    return shared_strength(rows.table, pairs)


def _score(rows: TrainingSet, metric: Metric, judged: Sequence[Sequence[Tree]]) -> Scores:
    """Score each candidate by a tree made the same way without the rows that it is scored on."""
    values, errors = [], []
    for trees, held_out in zip(judged, rows.division.validation, strict=True):
        part = rows.table.subset(held_out)
        true_values = TrueValues.of(part, subset_groups(rows.groups, held_out))
        scores = [metric.score(predict_for_metric(metric, tree, part), true_values) for tree in trees]
        values.append([each.value for each in scores])
        errors.append([each.error for each in scores])
    value = round_last_digits(np.mean(values, axis=0))
    error = np.mean(errors, axis=0)
    if rows.division.is_cross_fitted:
        # Only folds of one division are independent.
        error = np.std(values, axis=0, ddof=1) / np.sqrt(rows.division.n_folds)
    return Scores(value, error, value, error, reliability=1.0)


def _test_against_constant(
    rows: TrainingSet, metric: Metric, settings: StabilitySettings, judged: Sequence[ConsensusTrees]
) -> BaselineTest | None:
    """Test the trees against a constant on the rows held out, and by cross-validation where that is unclear.

    Students stand in for the consensus trees of the folds, whose search would take far longer.
    """
    trees = [each.all_trees for each in judged]
    test = baseline_test(rows, metric, zip(rows.division.validation, trees, strict=True))
    if test is None or rows.division.is_cross_fitted or rows.table.n_rows > MOST_CROSS_FITTED:
        return test
    limit, parts = most_leaves(settings), []
    sizes = [limit, *(size for size in SMALLER_SIZES if size < limit)]
    for repeat in range(REPEATS):
        if test.ratio >= CLEAR_AT_ONCE or (repeat and test.ratio < OPEN):
            break
        stream = (SEED, Branch.BASELINE_TEST_FOLDS, repeat)
        for fold in draw_folds(rows.table, rows.groups, FOLDS, stream):
            training, groups = rows.table.subset(fold.training), subset_groups(rows.groups, fold.training)
            parts.append((fold.held_out, train_students(settings, sizes, training, groups)))
        test = baseline_test(rows, metric, parts) or test
    return test


def _add_constant(
    trained: TrainedCandidates, rows: TrainingSet, settings: StabilitySettings, metric: Metric
) -> TrainedCandidates:
    """Add the constant as a candidate, with references of one leaf."""
    assert trained.teacher_loss is not None
    assert trained.student_loss is not None
    assert trained.max_leaf_nodes is not None
    candidates, tree = trained.candidates, trained.candidates.trees[0]
    constants = [[_make_constant(tree, rows.table.subset(each), settings)] for each in rows.division.training]
    own = _score(rows, metric, constants)
    names = ("value", "error", "measured", "measured_error")
    scores = {name: np.append(getattr(trained.scores, name), getattr(own, name)) for name in names}
    roots = tuple(prune_at(each, np.ones(each.n_nodes, np.bool_)) for each in trained.references.trees)
    return trained._replace(
        candidates=TreeCollection(
            (*candidates.trees, _make_constant(tree, rows.table, settings)),
            (*candidates.combinations, {"tolerance": 0.0, "max_leaf_nodes": 1}),
            np.arange(len(candidates) + 1),
            np.zeros(len(candidates) + 1, np.int64),
        ),
        scores=Scores(**scores, reliability=1.0),
        teacher_loss=np.append(trained.teacher_loss, 1.0),
        student_loss=np.append(trained.student_loss, 0.0),
        max_leaf_nodes=np.append(trained.max_leaf_nodes, 1),
        smaller_references={**trained.smaller_references, 1: replace(trained.references, trees=roots)},
    )


def _make_constant(tree: Tree, table: Table, settings: StabilitySettings) -> Tree:
    """Make a tree of one leaf, with the base rate, the mean or the quantile of the rows."""
    root = prune_at(tree, np.ones(tree.n_nodes, np.bool_))
    return refit_leaf_values(root, table, _label_rules(table, settings))


def _check(settings: StabilitySettings) -> None:
    check_teacher(settings.teacher)
    if settings.learner is not None or settings.grid is not None:
        raise ParameterError(
            "method='consensus' grows its own students: leave learner=None and grid=None; the teacher can "
            "be another."
        )
    if settings.matching == "cover":
        raise ParameterError(
            "matching='cover' is not for method='consensus', whose search has the "
            "matchings 'paper' and 'metric'."
        )
    if settings.rules.predicts_quantiles and settings.has_teacher_values:
        raise ParameterError(
            f"criterion={settings.rules.criterion!r} predicts quantiles, and the teacher of a consensus tree "
            "predicts means: set leaf_values='labels' for quantiles of the labels, or use method='bootstrap'."
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
            "alone), 'shrunk' (the rows, shrunk towards the parent nodes) or 'honest' (rows that chose no "
            "split)."
        )
    if settings.leaf_values == "shrunk" and settings.validation is None:
        raise ParameterError(
            "leaf_values='shrunk' chooses its strength on rows held out, and validation=None holds out "
            "none: leave validation='auto'."
        )


CONSENSUS = Method(train_consensus_candidates, split_rows_for_consensus)

# -- The consensus trees of one set of rows ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ConsensusTrees:
    """The consensus tree of each tolerance, its references, and the same for smaller sizes."""

    max_leaf_nodes: int
    tolerances: tuple[float, ...]
    trees: tuple[Tree, ...]
    explained: tuple[float, ...]  # by each of the trees, of the sum of the teacher's squared predictions
    fit: TeacherFit  # the search itself holds all rows, and is not kept
    references: tuple[Tree, ...]  # of at most as many leaves
    smaller: tuple[ConsensusTrees, ...] = ()

    def shrink(self, strength: float) -> ConsensusTrees:
        """Shrink the leaf values towards those of the parent nodes; the references stay as they are."""
        trees = tuple(shrink_tree(tree, strength) for tree in self.trees)
        return replace(self, trees=trees, smaller=tuple(each.shrink(strength) for each in self.smaller))

    def select(self, tolerance: float, max_leaf_nodes: int) -> ConsensusTrees:
        """The tree of one tolerance under a smaller limit of leaves, which all trees keep to already."""
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
        """The trees of every size, those of the greatest first."""
        return (self, *self.smaller)

    @property
    def all_trees(self) -> tuple[Tree, ...]:
        """The trees of every size and tolerance."""
        return tuple(tree for each in self.sizes for tree in each.trees)

    @property
    def teacher_losses(self) -> FloatArray:
        """The loss of every tree, as a fraction of what the student of the greatest size explains."""
        return np.array([self.fit.loss(explained) for each in self.sizes for explained in each.explained])

    @property
    def student_losses(self) -> FloatArray:
        """The same for the student of the same size, which the tolerance bounds."""
        return np.array([each.fit.loss(explained) for each in self.sizes for explained in each.explained])

    @property
    def limits(self) -> LongArray:
        """The greatest number of leaves that each of all trees may have."""
        return np.repeat(
            [each.max_leaf_nodes for each in self.sizes], [len(each.trees) for each in self.sizes]
        )

    def make_candidates(self) -> TreeCollection:
        """All trees, each with its tolerance and its limit of leaves."""
        combinations = tuple(
            {"tolerance": tolerance, "max_leaf_nodes": each.max_leaf_nodes}
            for each in self.sizes
            for tolerance in each.tolerances
        )
        n_trees = len(combinations)
        return TreeCollection(self.all_trees, combinations, np.arange(n_trees), np.zeros(n_trees, np.int64))

    def make_references(self, max_depth: int | None) -> TreeCollection:
        """The references, which were grown to at most this depth."""
        combination = {"max_leaf_nodes": self.max_leaf_nodes, "max_depth": max_depth}
        zeros = np.zeros(len(self.references), np.int64)
        return TreeCollection(self.references, (combination,), zeros, zeros)
