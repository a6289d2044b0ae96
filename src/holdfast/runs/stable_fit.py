"""One stable tree, and all that is known of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from holdfast.arrays import LongArray
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.estimators.base import Decision
from holdfast.evidence.feature_use import FeatureUse, feature_use
from holdfast.evidence.split_support import SplitSupport, split_support
from holdfast.evidence.stable_leaves import with_leaf_evidence
from holdfast.runs.growth_rules import decision_rule, selection_rule, stable_settings
from holdfast.runs.roles import RowRoles
from holdfast.runs.settings import RunSettings
from holdfast.scoring.metric import Metric, Score
from holdfast.stability.choice import Choice, SelectionRule, choose
from holdfast.stability.rows import PreparedRows
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.training import StableTrees, train, train_divided
from holdfast.tree.tree import Tree

CHOSEN = "chosen"
ENDS = ("most-stable", "best-score")  # the ends of the frontier, between which the choice lies


@dataclass(frozen=True, eq=False)
class ChosenTree:
    """A tree of the frontier that a selection rule takes, and how good it is."""

    names: tuple[str, ...]  # "chosen", or the rule that takes it, or several of these
    candidate: int
    tree: Tree
    instability: float
    test: Score | None  # None without test rows
    earlier_test: Score | None = None  # on random rows of earlier stages, if the test rows are later ones


@dataclass(frozen=True, eq=False)
class StableFit:
    """One stable tree, and all that is known of it."""

    roles: RowRoles
    settings: RunSettings
    trained: StableTrees
    choice: Choice
    chosen_trees: tuple[ChosenTree, ...]  # the chosen tree first, then the ends of the frontier
    split_support: tuple[SplitSupport, ...]
    uses: tuple[FeatureUse, ...]

    @property
    def chosen(self) -> ChosenTree:
        """The chosen tree."""
        return self.chosen_trees[0]

    @property
    def model(self) -> Tree:
        """The chosen tree, with leaf values from all training rows."""
        return self.chosen.tree

    @property
    def metric(self) -> Metric:
        """What the scores are scores of."""
        return self.trained.metric

    @property
    def test(self) -> Score | None:
        """What the test rows give the chosen tree."""
        return self.chosen.test

    @property
    def earlier_test(self) -> Score | None:
        """What the test rows of earlier stages give it."""
        return self.chosen.earlier_test

    def named(self, name: str) -> ChosenTree:
        """The chosen tree, or the one that the rule takes."""
        return next(each for each in self.chosen_trees if name in each.names)


def fit_stable(roles: RowRoles, settings: RunSettings, *, verbose: bool = False) -> StableFit:
    """Both collections, the frontier, the choice, and what the test rows say of it."""
    rows = roles.divided
    training = stable_settings(settings, rows.table.schema.target, verbose=verbose)
    with scorer_errors():
        trained = train_divided(rows.table, rows.division, training, groups=rows.groups)
        trained = with_leaf_evidence(trained, roles.training, roles.training_groups, training)
        choice = choose(trained.frontier, trained.metric, selection_rule(settings))
        ends = {
            rule: choose(trained.frontier, trained.metric, SelectionRule(rule)).candidate for rule in ENDS
        }
        decision = _decision(rows, settings, training)
        chosen_trees = _chosen_trees(roles, trained, {CHOSEN: choice.candidate, **ends}, decision)
    references = trained.references_of(choice.candidate).trees
    candidates = trained.sampled_candidates
    return StableFit(
        roles=roles,
        settings=settings,
        trained=trained,
        choice=choice,
        chosen_trees=chosen_trees,
        split_support=tuple(split_support(chosen_trees[0].tree, references, candidates)),
        uses=tuple(feature_use([*references, *candidates])),
    )


def _decision(rows: PreparedRows, settings: RunSettings, training: StabilitySettings) -> Decision | None:
    """The threshold that the settings ask for, by stable trees of folds if they are to choose it."""
    rule = decision_rule(settings, rows.table.schema.target)

    def fit(table: Table, groups: LongArray | None) -> Tree:
        trained = train(table, replace(training, verbose=False), groups=groups)
        choice = choose(trained.frontier, trained.metric, selection_rule(settings))
        return trained.candidates.trees[choice.candidate]

    return None if rule is None else rule.decision(rows.table, rows.groups, fit)


def _chosen_trees(
    roles: RowRoles, trained: StableTrees, candidates: dict[str, int], decision: Decision | None
) -> tuple[ChosenTree, ...]:
    """One entry for each different candidate of those with a name."""
    chosen = []
    for candidate in dict.fromkeys(candidates.values()):
        tree = trained.candidates.trees[candidate]
        tree = tree if decision is None else decision.of(tree)
        test, earlier_test = roles.test_scores(tree, trained.metric)
        names = tuple(name for name, other in candidates.items() if other == candidate)
        instability = float(trained.frontier.instability[candidate])
        chosen.append(ChosenTree(names, candidate, tree, instability, test, earlier_test))
    return tuple(chosen)


@contextmanager
def scorer_errors() -> Iterator[None]:
    """Within it, what a scorer of another library raises is a ParameterError."""
    try:
        yield
    except Exception as error:
        notes = [note for note in getattr(error, "__notes__", ()) if note.startswith("The scorer ")]
        if not notes:
            raise
        raise ParameterError(f"{notes[0]} It says: {error}") from error
