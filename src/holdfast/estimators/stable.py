"""One tree that is both accurate and stable: trained, chosen, fitted by stages, and updated."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from holdfast._choices import MIN_STAGE_ROWS, MOST_LEAVES, UPDATE_TOLERANCE
from holdfast._text import quoted
from holdfast.adapters import as_tree
from holdfast.data.folds import list_stage_labels, rank_stages, read_stage
from holdfast.data.frame import make_frame
from holdfast.data.row_keys import find_unique_hashes, make_sketch
from holdfast.data.schema import TASK_OUTCOMES, Label
from holdfast.data.table import Table
from holdfast.data.target import find_weighted_rows, read_weight
from holdfast.errors import DataWarning, ModelError, ParameterError
from holdfast.estimators.base import ClassifierBase, RegressorBase, TreeEstimator, all_or_nothing, make_seed
from holdfast.estimators.updating import TrainingRows, find_update, is_wider, training_rows
from holdfast.explain.feature_use import FeatureUses, feature_use
from holdfast.explain.firmness import Firmness, ReferenceTrees
from holdfast.explain.split_support import SplitSupports, split_support
from holdfast.governance.policy import ChangePolicy
from holdfast.growth.class_costs import LossMatrix
from holdfast.growth.rules import Column, GrowthRules, is_guided
from holdfast.scoring.metric import describe_few_to_learn
from holdfast.stable.consensus.size import SizeChoice
from holdfast.stable.frontier import Frontier
from holdfast.stable.selection import Choice, SelectionRule, choose, make_selection_rule
from holdfast.stable.settings import DEPTH_5, StabilityRules, StabilitySettings
from holdfast.stable.train import StableTrees, add_leaf_evidence, train
from holdfast.tree.rules import WARNING, list_warnings
from holdfast.tree.stats import set_positive
from holdfast.tree.tree import Tree, label_array
from holdfast.update.path import CANDIDATE, KEEP, RETRAIN
from holdfast.update.sequence import StageRows, StageSequence, StageSettings
from holdfast.update.sequence_fit import fit_sequence
from holdfast.update.update import TreeUpdate

if TYPE_CHECKING:
    from holdfast.evaluate.replications import Replications

# Attributes of an update, and those of a training, which an updated tree does not have.
OF_UPDATE = (
    *("n_rows_effective_", "teacher_loss_", "update_", "previous_tree_", "stages_"),
    *("_before_update", "_update_hashes"),
)
OF_TRAINING = (
    *("trained_", "frontier_", "choice_", "instability_", "reference_trees_", "candidate_trees_"),
    *("size_choice_", "stages_", "_references", "_candidates"),
)
OF_HELD_OUT = ("max_leaf_nodes_", "teacher_weights_")  # chosen on held-out rows, for updates too


@dataclass(eq=False, repr=False, kw_only=True)
class StableTreeParameters:
    """The parameters of `StableTreeClassifier` and `StableTreeRegressor`."""

    max_leaf_nodes: int | Literal["auto"] | None = "auto"
    min_samples_leaf: int | float = 1
    tolerance: float | None = None
    leaf_values: str = "posterior"
    monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None
    method: str = "consensus"
    max_depth: int | Literal["auto"] | None = "auto"
    criterion: str = "gini"
    growth_rules: GrowthRules | None = None
    teacher: Any = "blend"
    n_estimators: int | None = None
    grid: Mapping[str, Sequence[Any]] | None = None
    learner: Any = None
    validation: float | str | None = "auto"
    scoring: Any = None
    selection_rule: str = "within-tolerance"
    stability_rules: StabilityRules | None = None
    custom_features: Sequence[str] | None = None
    categorical_features: Any = "from_dtype"
    handle_unknown: str = "missing"
    handle_missing: str = "learned"
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: bool = False


class StableTreeEstimator(StableTreeParameters, TreeEstimator):
    """An estimator whose tree is chosen from many, and can be updated with new rows."""

    # Fitted attributes: of fit, ...
    trained_: StableTrees
    frontier_: Frontier
    choice_: Choice
    instability_: float
    reference_trees_: list[Tree]
    candidate_trees_: list[Tree]
    size_choice_: SizeChoice  # these two with max_leaf_nodes="auto"
    max_leaf_nodes_: int
    teacher_weights_: dict[str, float]  # where held-out rows chose them
    shrinkage_: float  # with leaf_values="shrunk": its strength, in rows
    # ... of fit_stages, and of update.
    stages_: StageSequence
    previous_tree_: Tree
    update_: TreeUpdate
    n_rows_effective_: float  # rows that the tree stands for, those of earlier updates included
    teacher_loss_: float  # of the tree on the rows that it learned from: what a student explains more

    # -- fitting --------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        stage: Any = None,
        groups: Any = None,
        X_early: Any = None,
        y_early: Any = None,
        X_holdout: Any = None,
        y_holdout: Any = None,
    ) -> Self:
        """Grow the reference trees and the candidate trees, and choose a tree.

        Weights, stages and groups have one entry for each row of X_early, X and X_holdout, in this order, as
        far as these are given. The range of a column is that over all of these rows.

        Parameters
        ----------
        X : array or frame
            Rows; a frame of any library.
        y : array
            Classes, or numbers.
        sample_weight : array, optional
            Weight of every row; 0 leaves a row out.
        stage : array, optional
            A year, cohort or site for every row. The first stages that hold `early_fraction` of the rows, but
            never the last stage, are the early data.
        groups : array, optional
            Rows of one group, such as a patient, are never on both sides of a random split.
        X_early, y_early : optional
            Early data, in addition to X and y. Without these and without stages, a random fraction of the
            rows is early.
        X_holdout, y_holdout : optional
            With method="paper": rows to score on, instead of a random part of X.

        Returns
        -------
        self
        """
        early, holdout = (X_early, self._read_y(y_early)), (X_holdout, self._read_y(y_holdout))
        rows = training_rows(
            (X, self._read_y(y)), sample_weight, stage=stage, groups=groups, early=early, holdout=holdout
        )
        table = self._table(rows.X, rows.y, rows.weight)
        self._row_hashes = make_sketch(find_unique_hashes(table))
        if few := describe_few_to_learn(table.schema.target, table.target):
            warnings.warn(few, DataWarning, stacklevel=3)
        settings = self._settings()
        trained = train(table, settings, stage=rows.stage, groups=rows.groups, holdout=rows.holdout)
        return self._set_trained(rows, table, add_leaf_evidence(trained, table, rows.groups, settings))

    def _set_trained(self, rows: TrainingRows, table: Table, trained: StableTrees) -> Self:
        """Set the collections, and the tree that the parameters choose."""
        self._choose_threshold(table, rows.groups)
        self._set_classes(rows.y, table)
        for name in ("size_choice_", *OF_HELD_OUT, "shrinkage_"):  # of an earlier tree
            self.__dict__.pop(name, None)
        self.trained_ = trained
        if trained.size_choice is not None:
            self.size_choice_ = trained.size_choice
            self.max_leaf_nodes_ = self.size_choice_.max_leaf_nodes
        if trained.teacher_weights is not None:
            self.teacher_weights_ = dict(trained.teacher_weights)
        if trained.shrinkage is not None:
            self.shrinkage_ = trained.shrinkage
        self.candidate_trees_ = list(trained.candidates.trees)
        self._references = trained.make_references()
        self.__dict__.pop("_candidates", None)
        self._set_choice(self._selection_rule())
        for warning in list_warnings(self.tree_):
            text = warning.removeprefix(WARNING)
            warnings.warn(text[:1].upper() + text[1:], DataWarning, stacklevel=4)
        self._set_columns(rows.X.is_named, self.tree_.schema)
        return self

    def _fit_model(self, table: Table, groups: Any) -> Tree:
        """The tree that the parameters make of the rows, without a threshold."""
        trained = train(table, self._settings(), groups=groups)
        choice = choose(trained.frontier, trained.metric, self._selection_rule())
        return trained.candidates.trees[choice.candidate]

    # -- parameters -----------------------------------------------------------------------------------

    def _settings(self) -> StabilitySettings:
        """Collect the settings; a ParameterError names one that is out of range."""
        rules = self._rules()
        self._selection_rule()
        parameters = {**self._stability_rules(), **self.get_params(deep=False)}
        if self.learner is not None and is_guided(rules):
            raise ParameterError(
                "learner grows trees of its own, which know nothing of monotonic_cst, interaction_cst, "
                "excluded_features, first_splits or feature_costs: leave these out, or the learner."
            )
        names = [each.name for each in fields(StabilitySettings) if each.name in parameters]
        explicit = {name: parameters[name] for name in names}
        if parameters["tolerance_unit"] not in (None, "teacher"):  # of the score: no tree is searched with it
            explicit["tolerance"] = None
        is_consensus, size = self.method == "consensus", rules.max_leaf_nodes
        settings = StabilitySettings(
            **explicit,
            rules=rules,
            is_size_open=is_consensus and size is None,
            is_depth_open=is_consensus and self.max_depth == "auto" and rules.max_depth == DEPTH_5.max_depth,
            seed=make_seed(self.random_state),
        )
        return settings.with_size(size) if is_consensus and size is not None else settings

    def _update_settings(self) -> StabilitySettings:
        """The settings, with what held-out rows have chosen: size, teacher, strength of shrinkage."""
        settings, chosen = self._settings(), vars(self)
        if settings.leaf_values == "shrunk":
            settings = replace(settings, shrinkage=chosen.get("shrinkage_"))
        settings = replace(settings, teacher=chosen.get("teacher_weights_", settings.teacher))
        if not settings.is_size_open:
            return settings
        return settings.with_size(chosen.get("max_leaf_nodes_", MOST_LEAVES))

    def _rules(self, **changes: Any) -> GrowthRules:
        """The growth rules of the parameters; a size that is left open is None."""
        for name, usual in {"max_leaf_nodes": None, "max_depth": DEPTH_5.max_depth}.items():
            value = getattr(self, name)
            if isinstance(value, str) and value != "auto":
                raise ParameterError(f"{name}={value!r} is unknown: give an integer, None, or 'auto'.")
            if value == "auto":
                given = getattr(self.growth_rules, name, None)
                changes.setdefault(name, usual if given is None else given)
        return super()._rules(**changes)

    def _stability_rules(self) -> dict[str, Any]:
        """All stability rules, by name."""
        return {
            **{each.name: each.default for each in fields(StabilityRules)},
            **self._explicit("stability_rules"),
        }

    def _selection_rule(self, **changes: Any) -> SelectionRule:
        parameters = {**self._stability_rules(), **self.get_params(deep=False)}
        return make_selection_rule(parameters, **changes)

    def __str__(self) -> str:
        first = list_warnings(self.tree_) if "tree_" in vars(self) else ()
        return "\n".join([*first, repr(self)])

    # -- the choice -----------------------------------------------------------------------------------

    def choose(
        self,
        selection_rule: str | None = None,
        *,
        tolerance: float | None = None,
        tolerance_unit: str | None = None,
        instability_weight: float | None = None,
        max_leaf_nodes: int | None = None,
        candidate: int | None = None,
    ) -> Self:
        """Select another tree of the frontier, without fitting again.

        Arguments that are left out have the values of the parameters, not of an earlier choice: `choose()`
        returns to the tree that `fit` chose. The parameters themselves do not change.

        Parameters
        ----------
        selection_rule, tolerance
            As the parameters of the model. A tolerance without a rule implies "within-tolerance".
        tolerance_unit, instability_weight
            As in `StabilityRules`. An instability weight without a rule implies "weighted".
        max_leaf_nodes : int, optional
            One of the limits on the leaves of consensus trees; candidates with a larger limit are left out.
        candidate : int, optional
            Number of a candidate in the frontier; it excludes all other arguments.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        given = {
            "selection_rule": selection_rule,
            "tolerance": tolerance,
            "tolerance_unit": tolerance_unit,
            "instability_weight": instability_weight,
            "max_leaf_nodes": max_leaf_nodes,
        }
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if candidate is not None and changes:
            raise ParameterError(
                f"candidate={candidate!r} is the choice itself: leave out {quoted(tuple(changes))}."
            )
        if "instability_weight" in changes:
            changes.setdefault("selection_rule", "weighted")
        elif changes.keys() & {"tolerance", "tolerance_unit"}:
            changes.setdefault("selection_rule", "within-tolerance")
        self._set_choice(self._selection_rule(**changes, candidate=candidate))
        return self

    def _set_choice(self, selection_rule: SelectionRule) -> None:
        saved: Mapping[int, Tree] | None = vars(self).get("_candidates")  # of a file, in place of trained_
        frontier = self.trained_.frontier if saved is None else self.frontier_
        metric = self.trained_.metric if saved is None else self.frontier_.metric
        assert metric is not None
        choice = choose(frontier, metric, selection_rule)
        assert choice.frontier is not None
        trees = dict(enumerate(self.trained_.candidates.trees)) if saved is None else saved
        if choice.candidate not in trees:
            raise ModelError(
                f"Candidate {choice.candidate} is not in the model file, which has the efficient candidates: "
                f"choose one of {quoted(sorted(trees))}, or fit the model."
            )
        for name in OF_UPDATE:  # of another tree
            self.__dict__.pop(name, None)
        self.choice_, self.frontier_ = choice, choice.frontier
        self.tree_ = self._with_threshold(trees[choice.candidate])
        own = self.references_ if saved is not None else self.trained_.references_of(choice.candidate)
        self.reference_trees_ = list(own.trees) if own is not None else []
        self.instability_ = float(self.frontier_.instability[choice.candidate])
        if self.frontier_.teacher_loss is not None:
            self.teacher_loss_ = float(self.frontier_.teacher_loss[choice.candidate])

    # -- firmness -------------------------------------------------------------------------------------

    @property
    def references_(self) -> ReferenceTrees | None:
        """The reference trees of the size of `tree_`, which measure firmness; None if there are none."""
        references: ReferenceTrees | None = vars(self).get("_references")
        if references is None or "frontier_" not in vars(self):
            return references
        sizes = self.frontier_.max_leaf_nodes
        return references.of_size(None if sizes is None else int(sizes[self.choice_.candidate]))

    def predict_firmness(self, X: Any) -> Firmness:
        """Find how firm the predictions are: how many reference trees agree with each of them.

        A reference tree is trained on resampled data. The share that agrees with the decision foretells whose
        decision would change if the model were trained again; the interval is what the tree might have
        predicted.

        Parameters
        ----------
        X : array or frame
            Rows, with the columns of `fit`.

        Returns
        -------
        Firmness
            The share of reference trees that agree, and the interval of their estimates, for every row.
        """
        check_is_fitted(self)
        if (references := self.references_) is None:
            raise ModelError(
                f"This {type(self).__name__} has no reference trees to measure firmness by: its file was "
                "saved without them (references=False, or an older holdfast), its tree was not fitted here, "
                "or is that of a shortest path or of an update that trained it again. Fit the model to have "
                "them."
            )
        return references.firmness(
            self.tree_,
            self._matched(X),
            handle_unknown=self.handle_unknown,
            handle_missing=self.handle_missing,
            n_jobs=vars(self).get("n_jobs"),
        )

    def replicate(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        stage: Any = None,
        groups: Any = None,
        n_replications: int = 10,
        test_fraction: float = 1 / 3,
    ) -> "Replications":
        """Evaluate these parameters on random splits of the data, next to two baselines.

        Each replication holds out other rows, which are used for the test only. The model itself is not
        fitted. With method="paper", the tree is chosen by its score on the test rows, as in the paper.

        Parameters
        ----------
        X, y, sample_weight, stage, groups
            As in `fit`.
        n_replications : int
            Number of random splits.
        test_fraction : float
            Fraction of the rows that is held out for the test.

        Returns
        -------
        Replications
            Prints itself as a table of means and standard deviations: for the best score, the most stable and
            the chosen tree, for CART chosen by cross-validation, and for a random forest.
        """
        rows = training_rows((X, self._read_y(y)), sample_weight, stage=stage, groups=groups)
        from holdfast.evaluate.replications import replicate

        return replicate(
            self._table(rows.X, rows.y, rows.weight),
            self._settings(),
            selection_rule=self._selection_rule(),
            stage=rows.stage,
            groups=rows.groups,
            n_replications=n_replications,
            test_fraction=test_fraction,
        )

    def split_support(self) -> SplitSupports:
        """Count for every split of the chosen tree how often the trees of both collections make it there.

        For consensus trees only the reference trees are counted, because the candidates are not trees of
        other samples; so they are after loading, because a file has the efficient candidates alone.
        """
        check_is_fitted(self)
        references, is_loaded = self.reference_trees_, "_candidates" in vars(self)
        return split_support(self.tree_, references, () if is_loaded else self.trained_.sampled_candidates)

    def feature_use(self) -> FeatureUses:
        """Summarise how the trees of both collections use each feature, the most important first.

        For consensus trees only the reference trees are counted, because the candidates are not trees of
        other samples.
        """
        check_is_fitted(self)
        references = self.reference_trees_
        sampled = self.trained_.sampled_candidates  # a file has no gains of splits, and no trained_
        return feature_use([*references, *sampled])

    # -- stages ---------------------------------------------------------------------------------------

    @all_or_nothing
    def fit_stages(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        stage: Any,
        stage_order: Sequence[Any] | None = None,
        groups: Any = None,
        strategy: str = "update",
        memory: str = "all",
        half_life: float | None = None,
        tolerance: float | None = None,
        prior_rows: float | None = None,
        movement_weight: float | None = None,
        hindsight: bool = False,
        compare: bool = False,
        min_rows: int = MIN_STAGE_ROWS,
        strict_groups: bool = False,
    ) -> Self:
        """Fit one tree for each stage, each close to the one before; `tree_` is the tree of the last stage.

        `stages_` has the sequence. Its text has the distance from stage to stage, the rules that change, and
        the score of each tree on the next stage.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        stage : array
            A year, cohort or site for every row: numbers, dates, text or ordered categories.
        stage_order : list, optional
            Order of stages that are words, if it is not alphabetical.
        groups : array, optional
            As in `fit`.
        strategy : str
            "update": a stable tree for the first stage, which each later stage changes as little as its rows
            require, as `update` does. "shortest-path": one of the candidate structures for each stage, such
            that the sum of the losses of the trees and of `movement_weight` times their distances is least
            (Bertsimas, Digalakis, Ma and Paschalidis, arXiv 2403.19871). This choice needs the data of all
            stages; the score on the next stage is therefore that of the last tree of the shortest path up to
            each stage.
        memory : str
            Training rows of a stage: those of "all" stages so far, or of the "stage" alone.
        half_life : float, optional
            Age, in stages, at which the weight of a row is halved.
        tolerance : float, optional
            Fraction of the fit of a fresh student to the teacher that may be lost. None: 0.02 for "update",
            no limit for "shortest-path".
        prior_rows : float, optional
            For "update": effective number of rows behind the tree before, in addition to the training
            rows of the stage. None: its training rows, less those given again, and at least a third of them.
            0: only the training rows of the stage count.
        movement_weight : float, optional
            For "shortest-path": loss of fit, in this unit, that one unit of distance is worth. None: 0.02.
        hindsight : bool
            For "shortest-path": also consider structures from later stages. Such a sequence shows what would
            have been best in hindsight; it was not available at the time.
        compare : bool
            Also train a tree from scratch at each stage, for comparison.
        min_rows : int
            A stage with fewer rows is joined with the next one.
        strict_groups : bool
            Score a tree only on rows of the next stage whose group is in no earlier stage.

        Returns
        -------
        self
        """
        settings = StageSettings(
            strategy,
            memory,
            half_life,
            tolerance,
            prior_rows,
            movement_weight,
            hindsight,
            compare,
            min_rows,
            strict_groups,
        )
        numbers = read_stage(
            stage if stage_order is None else rank_stages(stage, stage_order), make_frame(X).n_rows
        )
        labels = np.array(list_stage_labels(stage, numbers), object)
        rows = training_rows((X, self._read_y(y)), sample_weight, stage=numbers, groups=groups)
        counted = find_weighted_rows(read_weight(sample_weight, len(numbers)))
        labels = labels[np.unique(numbers if counted is None else numbers[counted])]
        table = self._table(rows.X, rows.y, rows.weight)
        assert rows.stage is not None
        staged = StageRows.of(table, rows.stage, rows.groups, tuple(labels.tolist()), settings)
        found = fit_sequence(staged, self._settings(), settings, self._selection_rule())
        self._set_trained(rows, table, found.trained)
        if len(found.sequence) > 1:  # of one stage all that an ordinary fit leaves stays
            self._forget_training()
            if found.references is not None:
                self._references = found.references
            last = found.sequence.stages[-1]
            self.tree_ = self._with_threshold(last.tree)
            self.teacher_loss_, self.n_rows_effective_ = last.loss, found.n_behind
        self._row_hashes = make_sketch(find_unique_hashes(table))
        self.stages_ = found.sequence
        return self

    # -- updates --------------------------------------------------------------------------------------

    def from_tree(self, model: Any) -> Self:
        """Use an existing tree as the fitted tree of this estimator.

        The estimator then predicts with this tree, and `update` can change it.

        Parameters
        ----------
        model : Tree, estimator, or model of another library
            Anything that `as_tree` reads.

        Returns
        -------
        self
        """
        tree = as_tree(model)
        own = tree.schema.target.task
        if own != self._task:
            raise ParameterError(
                f"The tree predicts {TASK_OUTCOMES[own]}, and a {type(self).__name__} "
                f"{TASK_OUTCOMES[self._task]}: take the other estimator."
            )
        self._forget_training()
        for name in (*OF_UPDATE, "_row_hashes", "decision_threshold_", "positive_class_", *OF_HELD_OUT):
            self.__dict__.pop(name, None)
        columns = tree.schema.columns
        self._set_tree(tree, any(each.name != f"x{i}" for i, each in enumerate(columns)))
        return self

    @all_or_nothing
    def update(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        strategy: str = "nearest",
        tolerance: float = UPDATE_TOLERANCE,
        frozen: int | str | Sequence[int] = (),
        groups: Any = None,
        X_old: Any = None,
        y_old: Any = None,
        age: Any = None,
        half_life: float | None = None,
        prior_rows: float | None = None,
        allow_new_values: bool = False,
        validation: float | None = 1 / 3,
        policy: ChangePolicy | None = None,
        force: bool = False,
    ) -> Self:
        """Change the tree as little as new rows require, or keep it.

        A teacher is fitted to the rows, and its predictions are averaged with those of the deployed tree,
        weighted by the number of rows behind each. If the tree with new leaf values fits these targets within
        the tolerance of a fresh tree, or as well as it fitted its own rows, only the leaf values change.
        Otherwise the tree changes step by step, each time by the move with the greatest gain in fit per added
        distance; the nearest tree found that fits well enough is taken. `update_` has the whole path,
        `select_step` takes another step of it, and `previous_tree_` is the tree before.

        Parameters
        ----------
        X, y, sample_weight
            New rows, as in `fit`.
        strategy : str
            "nearest": as above. "keep": the tree as it is. "refit": new leaf values only. "retrain": a tree
            that is trained without the deployed one. "candidate": the nearest of the bootstrap trees whose
            score is within the tolerance of the best, as in the paper on stable trees.
        tolerance : float
            Fraction of the fit of a fresh student to the teacher that may be lost.
        frozen : int, list of int or "edited"
            Nodes of the tree that must stay as they are: the splits of inner nodes, the values of leaves; or
            "edited" for those that were edited by hand.
        groups : array, optional
            As in `fit`.
        X_old, y_old : optional
            Earlier rows, if they are still available, to train on as well. Weights, groups and ages then have
            one entry for each earlier row, followed by one for each new row.
        age : array, optional
            Age of each row. Default: 1 for earlier rows, 0 for new ones.
        half_life : float, optional
            Age at which the weight of a row is halved.
        prior_rows : float, optional
            Effective number of rows behind the deployed tree, in addition to the rows that are given. None:
            its training rows, less those given again (which a model loaded from a file cannot recognise), and
            at least a third of them. 0: only the rows that are given count.
        allow_new_values : bool
            Accept new columns, categories and classes; otherwise they are an error that lists them.
        validation : float, optional
            Fraction of the new rows that are held out to score the path, with trees made in the same way
            without them. None: the scores are those on training rows, and optimistic.
        policy : ChangePolicy, optional
            Limits on the update. If a line fails, the tree stays as it is, and `update_.verdict` has the
            reason.
        force : bool
            Accept the update even if the policy forbids it, which `update_` records, or if the new rows have
            one class, fewer than 20 rows, or fewer than 5 events.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        found, hashes = find_update(
            self,
            (X, self._read_y(y), sample_weight),
            old=(X_old, self._read_y(y_old)),
            strategy=strategy,
            tolerance=tolerance,
            frozen=frozen,
            groups=groups,
            age=age,
            half_life=half_life,
            prior_rows=prior_rows,
            allow_new_values=allow_new_values,
            validation=validation,
            policy=policy,
            force=force,
        )
        self._before_update = {name: each for name, each in vars(self).items() if name != "_before_update"}
        self._update_hashes = hashes
        return self._set_step(found)

    def select_step(self, step: int, *, force: bool = False) -> Self:
        """Take another step of the path of the last update, without a new search.

        If the policy of the update forbids the step, the deployed tree stays in use, unless `force` is True.

        Parameters
        ----------
        step : int
            Number of the step in `update_`.
        force : bool
            Accept a step that the policy forbids.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if "_before_update" not in vars(self):
            raise ParameterError("There is no path to take a step of: call update first.")
        return self._set_step(self.update_.select_step(step, force=force))

    def _set_step(self, update: TreeUpdate) -> Self:
        """Set the tree of an update. If it is kept, or a policy forbids the step, all is as it was."""
        before, hashes = self._before_update, self._update_hashes
        self.__dict__ = {**before, "update_": update, "_before_update": before, "_update_hashes": hashes}
        step = update.steps[update.taken]
        is_same = step.kind == KEEP and not is_wider(update.deployed.schema, self.tree_.schema)
        if is_same or not update.is_taken:
            return self
        self.previous_tree_ = self.tree_
        self._forget_training()
        is_fresh = step.kind in (RETRAIN, CANDIDATE)  # without the rows before
        self.n_rows_effective_ = float(update.tree.count[0]) if is_fresh else update.n_behind
        self.teacher_loss_ = step.loss
        if update.references is not None:
            self._references = update.references
        self._row_hashes = make_sketch(np.append(vars(self).get("_row_hashes", hashes), hashes))
        self._set_tree(update.tree, hasattr(self, "feature_names_in_"))
        return self

    def _set_tree(self, tree: Tree, is_named: bool) -> None:
        """Set a tree with its columns and classes, and its positive class or that of the parameters."""
        self.tree_ = set_positive(tree, getattr(self, "positive", None))
        self._set_columns(is_named, self.tree_.schema)
        if isinstance(self, ClassifierBase):
            classes = self.tree_.schema.target.classes
            known = vars(self).get("classes_", label_array(classes))
            self.classes_ = known if tuple(known.tolist()) == classes else label_array(classes)
            self.n_classes_ = len(classes)

    @property
    def _n_rows_effective(self) -> float:
        """How many rows the tree stands for: those that it was trained on, and those that updated it."""
        return float(vars(self).get("n_rows_effective_", self.tree_.count[0]))

    def _forget_training(self) -> None:
        for name in OF_TRAINING:
            self.__dict__.pop(name, None)
        self._left_out = tuple(OF_TRAINING)

    def __getstate__(self) -> Any:
        state = super().__getstate__()  # a pickle goes on from the tree that is in use
        return {
            name: each for name, each in state.items() if name not in ("_before_update", "_update_hashes")
        }


@dataclass(eq=False, repr=False, kw_only=True)
class StableTreeClassifier(StableTreeEstimator, ClassifierBase):
    """A decision tree that predicts classes and stays recognisable when the data change.

    The default is a consensus tree. A teacher, the weighted mean of several models, is fitted to the rows.
    Students, trees with few leaves, are distilled from its predictions: one on all rows, and reference trees
    on bootstrap samples. The student of all rows is then changed to minimise its mean distance to the
    reference trees while it still fits the teacher. Other methods choose one of many trees (Bertsimas and
    Digalakis, arXiv 2305.17299). The instability of a candidate is its mean distance to the reference trees;
    its score is measured on held-out rows. `choose` selects another candidate of the frontier of instability
    and score without fitting again.

    The same data and seed give the same tree, in any order of rows. Consensus trees do not depend on the seed
    (see `random_state`).

    Parameters
    ----------
    max_leaf_nodes : int, "auto" or None
        *Matters most.* The most leaves. "auto" is 12 leaves for consensus trees, or 24 or 48 where held-out
        rows clearly support more: the smallest of these sizes that reaches 97 % of the best R² is taken if it
        is better than 12 leaves by more than four standard errors. With `validation=None` it is always 12.
        For other methods "auto" is no limit. None is the same as "auto".
    min_samples_leaf : int or float
        *Matters most.* Fewest rows in a leaf, or their fraction of all rows. The default, 1, is automatic:
        for consensus trees 10, or 0.7 % of the rows if that is more; for other methods the grid decides.
    tolerance : float, optional
        *Matters most.* Loss that is accepted for stability: for consensus trees, the fraction of the fit to
        the teacher (None: 0.06); otherwise a loss of score, in the `tolerance_unit` of `stability_rules`
        (None: 0.01, relative for losses, else absolute, or one standard error of the best score if that is
        more).
    leaf_values : str
        *Matters most.* How leaf values are estimated. For consensus trees: "posterior", from the rows of a
        leaf and the teacher's predictions for them, with the weight of 40 rows for the teacher; "teacher",
        the mean of these predictions; or "labels", from the rows alone, as in other methods. For consensus
        trees and "bootstrap": "shrunk", class frequencies shrunk towards the parent nodes, with a strength
        chosen on held-out rows, so that no probability is 0 or 1. For all methods: "honest", from the labels
        of half of the rows, which are used for nothing else.
    monotonic_cst : mapping or sequence, optional
        *Matters most.* Directions along columns, as in `TreeClassifier`.
    method : str
        *Matters most.* "consensus": a consensus tree, as above. There is one candidate for each of several
        tolerances and numbers of leaves, compared with reference trees of its size; its score is that of a
        tree made in the same way without the held-out rows. "bootstrap": reference trees on bootstrap samples
        of the early rows and candidate trees on bootstrap samples of all rows, for every combination of a
        grid, with cross-fitted scores. "pruned": the candidates are the subtrees on the pruning path of one
        tree of depth `max_depth` grown on all rows, at most `n_estimators`; sizes are scored on held-out
        rows, and the grid is for the reference trees. "paper": exactly as in the paper, scored on one random
        hold-out, a third of the rows or the fraction `validation`, or on your own `X_holdout`; leaves are not
        refitted, and scores are not shrunk.
    max_depth : int, "auto" or None
        Most splits on a path. "auto" is 5, but no limit for consensus trees with more than 12 leaves. For
        other methods, the grid combines the depths from 3 to `max_depth` (12 if None) with at least 3, 5, 10,
        30 and 50 rows in a leaf.
    criterion : str
        As in `TreeClassifier`, for our own growth rules.
    growth_rules : GrowthRules, optional
        Growth rules such as `C45`, and details that few people set. Parameters that are not at their
        defaults, and the grid, take precedence.
    teacher : str, estimator, list or mapping
        For consensus trees: "blend", or one of its parts, "forest", "extra-trees", "boosting", "linear",
        "kernel"; an estimator, which is fitted to the columns as numbers; a list of these, which are
        averaged; or a mapping of these to weights. In "blend", "linear" and "kernel" have twice the weight of
        the others, unless stacking weights (`teacher_weights_`) reduce the squared error on held-out rows by
        a tenth or more, and by three standard errors. The weights of a list or a mapping do not change.
    n_estimators : int, optional
        Trees in each collection. None: 100 reference trees of consensus trees, otherwise 300.
    grid : mapping, optional
        Parameter values to combine, instead of the grid above: a list for each growth rule, or for each
        parameter of the learner.
    learner : estimator or callable, optional
        Estimator of scikit-learn or pystreed that grows the trees, or a function
        `learner(X, y, seed, **combination)` that returns a tree or a model with one tree. The grid also sets
        depth and leaf size of an estimator; `grid={}` leaves its parameters as they are.
    validation : float, int, "auto" or None
        Rows held out to score candidates: a fraction, or a number of folds. "auto" is a third of the rows for
        consensus trees; for other methods, five folds with up to 5,000 rows, else a third. None (consensus
        trees only) holds out no rows, and the scores are then optimistic. method="paper" takes no folds.
    scoring : str or scorer, optional
        "auc" (the default), "accuracy", "balanced_accuracy", "log_loss", "brier", or any scorer of
        scikit-learn.
    selection_rule : str
        "within-tolerance" takes the most stable candidate within `tolerance` of the best score; "best-score",
        "most-stable", "knee", or "weighted", which maximises score - instability_weight * instability.
    stability_rules : StabilityRules, optional
        Details that few people set: round thresholds, early rows, the unit of the tolerance, how distances
        are measured, how scores and leaves of bootstrap trees are estimated.
    custom_features, categorical_features, handle_unknown, handle_missing
        As in `TreeClassifier`.
    n_jobs : int, optional
        Number of threads, which does not change the result; -1 for all cores.
    random_state : int, generator or None
        Consensus trees, their candidates and their scores are the same for every seed, because all random
        draws, held-out rows included, are keyed by the content of the rows. The seed still determines the
        half of the rows for leaf_values="honest", the folds of threshold="cost", and the rows that an update
        holds out.
    verbose : bool
        Show progress bars.
    class_weight, positive
        As in `TreeClassifier`.
    loss_matrix, threshold
        As in `TreeClassifier`, for our own growth rules. In a consensus tree, which is grown on the teacher's
        probabilities, a loss matrix changes the predicted classes and not the splits. "cost" trains once more
        for each of 5 folds.

    Attributes
    ----------
    tree_ : Tree
        The chosen tree.
    frontier_ : Frontier
        Instability, score and size of every candidate, and which are efficient.
    choice_ : Choice
        The candidate that was chosen, the rule, and the reason in words.
    instability_ : float
        Mean distance of `tree_` to the reference trees.
    reference_trees_, candidate_trees_ : list of Tree
        The two collections. For consensus trees, the reference trees have the size of `tree_`.
    size_choice_ : SizeChoice
        For consensus trees with max_leaf_nodes="auto", if rows are held out: the R² of 12, 24 and 48 leaves
        on held-out rows, the size that was taken, and the reason.
    max_leaf_nodes_ : int
        With `size_choice_`: the most leaves, 12, 24 or 48.
    teacher_weights_ : dict of str to float
        Weights of the parts of the teacher, if stacking has replaced the usual weights of "blend" (parts of
        weight 0 are left out), or if `teacher` is a mapping. Otherwise the attribute does not exist.
    trained_ : StableTrees
        The whole result: the collections with their grid, the settings of the distances, and `reliability`,
        the fraction of the variance of scores among candidates with the same parameters that is not chance.
    stages_ : StageSequence
        After `fit_stages`: one tree for each stage, and the rules that change.
    update_, previous_tree_, n_rows_effective_
        After `update`: the path, the tree before, and the effective number of rows behind the tree.
    schema_, classes_, n_classes_, n_features_in_, feature_names_in_, feature_importances_, n_outputs_
        As in `TreeClassifier`.

    Examples
    --------
    >>> X = [[age + shift] for age in range(20, 80) for shift in (0.0, 0.5)]
    >>> y = ["no" if row[0] < 50 else "yes" for row in X]
    >>> model = StableTreeClassifier(max_leaf_nodes=2, teacher="linear").fit(X, y)
    >>> print(model.predict([[35.0], [65.0]]))
    ['no' 'yes']
    """

    class_weight: Mapping[Label, float] | Literal["balanced"] | None = None
    loss_matrix: LossMatrix = None
    threshold: float | Literal["cost"] | None = None
    positive: Label | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class StableTreeRegressor(StableTreeEstimator, RegressorBase):
    """A decision tree that predicts numbers and stays recognisable when the data change.

    Parameters
    ----------
    criterion : str
        "squared_error", "poisson", or, without a teacher (another method than consensus trees, or
        leaf_values="labels"), "absolute_error" and quantiles, as in `TreeRegressor`.
    scoring : str or scorer, optional
        "r2" (the default), "squared_error", "absolute_error", "poisson", "quantile 0.9", or any scorer of
        scikit-learn.
    others
        As in `StableTreeClassifier`, without those about classes.

    Attributes
    ----------
    tree_, frontier_, choice_ and others
        As in `StableTreeClassifier`, without those about classes.

    Examples
    --------
    >>> X = [[age + shift] for age in range(20, 80) for shift in (0.0, 0.5)]
    >>> y = [1.0 if row[0] < 50 else 7.0 for row in X]
    >>> model = StableTreeRegressor(
    ...     max_leaf_nodes=2, leaf_values="labels", stability_rules=StabilityRules(thresholds="exact")
    ... )
    >>> print(model.fit(X, y).predict([[35.0], [65.0]]))
    [1. 7.]
    """

    criterion: str = "squared_error"
