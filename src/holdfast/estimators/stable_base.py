"""What the stable classifier and regressor share: settings, training, the choice, and what stands firm."""

import warnings
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from holdfast.data.input.frame import Frame
from holdfast.data.input.target import Task
from holdfast.data.table import Table
from holdfast.errors import DataWarning, ParameterError
from holdfast.estimators.base import drawn_seed
from holdfast.estimators.stable_rows import TrainingRows, training_rows
from holdfast.estimators.staging import StagingEstimator
from holdfast.estimators.updating import OF_HELD_OUT, OF_UPDATE
from holdfast.evidence.feature_use import FeatureUses, feature_use
from holdfast.evidence.split_support import SplitSupports, split_support
from holdfast.evidence.stable_leaves import with_leaf_evidence
from holdfast.growth.constraint_forms import is_guided
from holdfast.growth.rules import GrowthRules
from holdfast.scoring.enough import describe_few_to_learn
from holdfast.stability.centring.size_choice import SizeChoice
from holdfast.stability.choice import Choice, SelectionRule, choose
from holdfast.stability.frontier import Frontier
from holdfast.stability.settings import DEPTH_5, StabilitySettings
from holdfast.stability.training import StableTrees, train
from holdfast.text.lists import listed
from holdfast.tree.tree import Tree
from holdfast.tree.wording import WARNING, warnings_of

if TYPE_CHECKING:
    from holdfast.evaluate.replications import Replications


class StableTreeEstimator(StagingEstimator):
    """An estimator whose tree is chosen from many.

    Its parameters are the fields of `StabilitySettings` and of `SelectionRule` by name, and those of other
    trees.
    """

    _task: ClassVar[Task]

    # The parameters that the methods here read.
    method: str
    max_leaf_nodes: Any
    max_depth: Any
    growth_rules: Any

    # What fit leaves behind.
    trained_: StableTrees
    frontier_: Frontier
    choice_: Choice
    instability_: float
    reference_trees_: list[Tree]
    candidate_trees_: list[Tree]
    size_choice_: SizeChoice  # these two with max_leaf_nodes="auto"
    max_leaf_nodes_: int
    teacher_weights_: dict[str, float]  # where rows held out chose them
    shrinkage_: float  # with leaf_values="shrunk": its strength, in rows

    # -- fitting --------------------------------------------------------------------------------------

    def _trained(self, table: Table, rows: TrainingRows) -> StableTrees:
        self._remember_rows(table)
        if few := describe_few_to_learn(table.schema.target, table.target):
            warnings.warn(few, DataWarning, stacklevel=4)
        settings, groups = self._settings(), rows.groups
        trained = train(table, settings, stage=rows.stage, groups=groups, holdout=rows.holdout)
        return with_leaf_evidence(trained, table, groups, settings)

    def _model_on(self, table: Table, groups: Any) -> Tree:
        """The tree that the parameters make of the rows, without a threshold."""
        trained = train(table, self._settings(), groups=groups)
        choice = choose(trained.frontier, trained.metric, self._selection_rule())
        return trained.candidates.trees[choice.candidate]

    def _settings(self) -> StabilitySettings:
        """The settings that the parameters spell out; a ParameterError names one that is out of range."""
        rules = self._rules()
        self._selection_rule()
        parameters = self.get_params(deep=False)
        if parameters["learner"] is not None and is_guided(rules):
            raise ParameterError(
                "learner grows trees of its own, which know nothing of monotonic_cst, interaction_cst, "
                "forbidden, first_splits or feature_costs: leave these out, or the learner."
            )
        said = {
            each.name: parameters[each.name] for each in fields(StabilitySettings) if each.name in parameters
        }
        if self.tolerance_unit not in (None, "teacher"):  # of the score: no tree is looked for with it
            said["tolerance"] = None
        is_consensus, size = self.method == "centred", rules.max_leaf_nodes
        settings = StabilitySettings(
            **said,
            rules=rules,
            is_size_open=is_consensus and size is None,
            is_depth_open=is_consensus and self.max_depth == "auto" and rules.max_depth == DEPTH_5.max_depth,
            seed=drawn_seed(self.random_state),
        )
        return settings.with_size(size) if is_consensus and size is not None else settings

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

    def _selection_rule(self, **changes: Any) -> SelectionRule:
        names = [each.name for each in fields(SelectionRule) if each.name != "candidate"]
        said: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.method != "centred" or isinstance(self.max_leaf_nodes, str):  # it says nothing of the choice
            said["max_leaf_nodes"] = None
        return SelectionRule(**{**said, **changes})

    def _taken(self, X: Frame, trained: StableTrees) -> Self:
        """Take the collections and the tree that the parameters ask for as the fitted ones."""
        for name in ("size_choice_", *OF_HELD_OUT, "shrinkage_"):  # of an earlier tree
            self.__dict__.pop(name, None)
        self.trained_ = trained
        if trained.sizes is not None and trained.sizes.choice is not None:
            self.size_choice_ = trained.sizes.choice
            self.max_leaf_nodes_ = self.size_choice_.max_leaf_nodes
        if trained.sizes is not None and trained.sizes.teacher is not None:
            self.teacher_weights_ = dict(trained.sizes.teacher)
        if trained.strength is not None:
            self.shrinkage_ = trained.strength
        self.candidate_trees_ = list(trained.candidates.trees)
        self._choose(self._selection_rule())
        for warning in warnings_of(self.tree_):
            text = warning.removeprefix(WARNING)
            warnings.warn(text[:1].upper() + text[1:], DataWarning, stacklevel=4)
        return self._remember(X, self.tree_)

    def __str__(self) -> str:
        first = warnings_of(self.tree_) if "tree_" in vars(self) else ()
        return "\n".join([*first, repr(self)])

    # -- the choice -----------------------------------------------------------------------------------

    def choose(
        self,
        selection_rule: str | None = None,
        *,
        tolerance: float | None = None,
        tolerance_unit: str | None = None,
        gamma: float | None = None,
        max_leaf_nodes: int | None = None,
        candidate: int | None = None,
    ) -> Self:
        """Move to another tree of the frontier, without fitting again.

        What is left out is as the parameters say, whatever was chosen before: `choose()` returns to the tree
        that `fit` chose. The parameters themselves stay as they are.

        Parameters
        ----------
        selection_rule, tolerance, tolerance_unit, gamma
            As the parameters of the model. A tolerance without a rule asks for "within-tolerance", and gamma
            for "weighted".
        max_leaf_nodes
            One of the limits of leaves of centred trees: candidates with a larger limit are left out.
        candidate
            The number of a candidate, as the frontier lists it. No rule goes with it.
        """
        check_is_fitted(self)
        said = {
            "selection_rule": selection_rule,
            "tolerance": tolerance,
            "tolerance_unit": tolerance_unit,
            "gamma": gamma,
            "max_leaf_nodes": max_leaf_nodes,
        }
        changes: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
        if candidate is not None and changes:
            raise ParameterError(
                f"candidate={candidate!r} is the choice itself: leave out {listed(tuple(changes))}."
            )
        if "gamma" in changes:
            changes.setdefault("selection_rule", "weighted")
        elif changes.keys() & {"tolerance", "tolerance_unit"}:
            changes.setdefault("selection_rule", "within-tolerance")
        self._choose(self._selection_rule(**changes, candidate=candidate))
        return self

    def _choose(self, selection_rule: SelectionRule) -> None:
        choice = choose(self.trained_.frontier, self.trained_.metric, selection_rule)
        assert choice.frontier is not None
        for name in OF_UPDATE:  # of another tree
            self.__dict__.pop(name, None)
        self.choice_, self.frontier_ = choice, choice.frontier
        self.tree_ = self._with_threshold(self.trained_.candidates.trees[choice.candidate])
        self.reference_trees_ = list(self.trained_.references_of(choice.candidate).trees)
        self.instability_ = float(self.frontier_.instability[choice.candidate])
        if self.frontier_.teacher_loss is not None:
            self.teacher_loss_ = float(self.frontier_.teacher_loss[choice.candidate])

    # -- again and again ------------------------------------------------------------------------------

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
        """Train and test these parameters on other rows in every replication, next to two baselines.

        Each time other rows are held out for the test, and nothing else sees them. The result prints itself
        as a table of means and standard deviations: for the best score, the most stable and the chosen tree,
        for CART chosen by cross-validation, and for a random forest. The model itself is not fitted.
        With method="paper" the test rows are those that the tree was chosen by, as in the paper.
        """
        from holdfast.evaluate.replications import replicate

        rows = training_rows((X, y), sample_weight, stage=stage, groups=groups)
        return replicate(
            self._table(rows.X, rows.y, rows.weight, self._task),
            self._settings(),
            selection_rule=self._selection_rule(),
            stage=rows.stage,
            groups=rows.groups,
            n_replications=n_replications,
            test_fraction=test_fraction,
        )

    # -- what stands firm -----------------------------------------------------------------------------

    def split_support(self) -> SplitSupports:
        """For every split of the chosen tree, how often the trees of both collections ask the same there.

        With method="centred" the references alone are asked: its candidates are no samples.
        """
        check_is_fitted(self)
        return split_support(self.tree_, self.reference_trees_, self.trained_.sampled_candidates)

    def feature_use(self) -> FeatureUses:
        """How the trees of both collections use each feature, the most important first.

        With method="centred" the references alone are asked: its candidates are no samples.
        """
        check_is_fitted(self)
        return feature_use([*self.reference_trees_, *self.trained_.sampled_candidates])
