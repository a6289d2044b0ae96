"""The estimator of a run, fitted on the training rows, and its scores on the test rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import hypot
from typing import Any

from holdfast._text import estimate_texts, join_parts, printable, rounded_percent
from holdfast.errors import DataError, ParameterError
from holdfast.explain.feature_use import FeatureUses
from holdfast.explain.split_support import SplitSupports
from holdfast.runs.dataset import RowRoles
from holdfast.runs.settings import RunSettings, make_run_estimator
from holdfast.scoring.metric import MIN_EVENTS, MIN_ROWS, Metric, Score, make_metric
from holdfast.stable.selection import Choice, SelectionRule, choose
from holdfast.stable.train import StableTrees
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.stats import format_quantile_name, parse_quantile
from holdfast.tree.tree import Tree

CHOSEN = "chosen"
ENDS = ("most-stable", "best-score")  # the ends of the frontier, between which the choice lies


@dataclass(frozen=True, eq=False)
class ChosenTree:
    """A tree of the frontier that a selection rule chooses, with its scores."""

    names: tuple[str, ...]  # "chosen", or the rule that chooses it, or several of these
    candidate: int
    tree: Tree
    instability: float
    test: Score | None  # None without test rows
    earlier_test: Score | None = None  # on random rows of earlier stages, if the test rows are later ones


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted estimator with its scores.

    Attributes
    ----------
    estimator
        Fitted on the training rows.
    metric : Metric
        What the scores are scores of.
    test, earlier_test : Score or None
        On the test rows; if these are later ones, also on random rows of earlier stages.
    expected : Score or None
        The score on new rows that forests (out of bag) and pruned trees (folds) have without test rows;
        `source` names its origin.
    chosen_trees : tuple of ChosenTree
        Of a stable tree: the chosen tree first, then the ends of the frontier.
    """

    roles: RowRoles
    settings: RunSettings
    estimator: Any
    metric: Metric
    test: Score | None
    earlier_test: Score | None = None
    expected: Score | None = None
    source: str = ""
    chosen_trees: tuple[ChosenTree, ...] = ()

    @property
    def model(self) -> Tree | Ensemble:
        """The tree or the ensemble of the estimator."""
        return model_of(self.estimator)

    @property
    def is_stable(self) -> bool:
        """True if the model is a stable tree, which the properties below are for."""
        return self.settings.is_stable

    @property
    def trained(self) -> StableTrees:
        """Both collections, and the frontier."""
        trained: StableTrees = self.estimator.trained_
        return trained

    @property
    def choice(self) -> Choice:
        """Why the tree was chosen."""
        choice: Choice = self.estimator.choice_
        return choice

    @property
    def chosen(self) -> ChosenTree:
        """The chosen tree."""
        return self.chosen_trees[0]

    def named(self, name: str) -> ChosenTree:
        """The chosen tree, or the one that the rule takes."""
        return next(each for each in self.chosen_trees if name in each.names)

    @cached_property
    def split_support(self) -> SplitSupports:
        """The support of each split of the chosen tree."""
        supports: SplitSupports = self.estimator.split_support()
        return supports

    @cached_property
    def uses(self) -> FeatureUses:
        """How the trees of both collections use each feature."""
        uses: FeatureUses = self.estimator.feature_use()
        return uses


def model_of(estimator: Any) -> Tree | Ensemble:
    """The tree or the ensemble of a fitted estimator; a tree or an ensemble as it is."""
    for name in ("tree_", "ensemble_"):
        if hasattr(estimator, name):
            model: Tree | Ensemble = getattr(estimator, name)
            return model
    assert isinstance(estimator, Tree | Ensemble)
    return estimator


def fit(roles: RowRoles, settings: RunSettings, *, verbose: bool = False) -> Fit:
    """Fit the estimator on the training rows, and score it on the test rows."""
    target, rows = roles.training.schema.target, roles.rows
    estimator = make_run_estimator(settings, target, verbose=verbose)
    metric = make_metric(settings.scoring or _usual_scoring(estimator), target)
    given: dict[str, Any] = {"sample_weight": rows.sample_weight, "groups": rows.groups}
    if settings.is_stable:
        given["stage"] = roles.stage
    is_bagged = "oob_score" in estimator.get_params() and not estimator.oob_score
    if is_bagged:
        estimator.set_params(oob_score=settings.scoring or metric.name)
    with scorer_errors():
        try:
            estimator.fit(rows.features, rows.y, **given)
        except DataError:
            if not is_bagged:
                raise
            # So few rows or trees that no row is outside of a bag.
            estimator.set_params(oob_score=False).fit(rows.features, rows.y, **given)
        if settings.candidate is not None:
            estimator.choose(candidate=settings.candidate)
        # Neither of them decides about the model: its file is the same for any.
        estimator.set_params(**{name: type(estimator)().get_params()[name] for name in _not_kept(estimator)})
        return _scored(roles, settings, estimator, metric)


def _not_kept(estimator: Any) -> list[str]:
    return [name for name in ("n_jobs", "verbose") if name in estimator.get_params()]


def _usual_scoring(estimator: Any) -> str | None:
    """What leaves that predict a quantile are scored by; None: as usual."""
    if hasattr(estimator, "loss"):
        name = estimator.loss
        if name == "quantile":
            name = format_quantile_name(estimator.alpha if estimator.quantile is None else estimator.quantile)
    else:
        name = estimator._rules().criterion_name
    return name if parse_quantile(name) is not None else None


def _scored(roles: RowRoles, settings: RunSettings, estimator: Any, metric: Metric) -> Fit:
    """The scores of the estimator, by the metric that it has chosen its model by, if it has one."""
    expected, source = None, ""
    chosen: tuple[ChosenTree, ...] = ()
    if settings.is_stable:
        metric = estimator.trained_.metric
        chosen = _chosen_trees(roles, estimator)
    elif (sizes := getattr(estimator, "size_table_", None)) is not None and (
        # The size of a survival tree is chosen by its deviance; test rows are scored by the concordance.
        settings.scoring is not None or not roles.whole.schema.target.is_survival or roles.test is None
    ):
        metric, source = sizes.metric, f"the mean over {sizes.scores.shape[1]} folds"
        expected = Score(float(sizes.score[sizes.chosen]), float(sizes.error[sizes.chosen]))
    elif hasattr(estimator, "oob_score_"):
        expected = Score(estimator.oob_score_, estimator.oob_score_error_)
        source = "from the rows that each tree was not grown on"
    test, earlier = (
        (chosen[0].test, chosen[0].earlier_test) if chosen else roles.test_scores(model_of(estimator), metric)
    )
    return Fit(roles, settings, estimator, metric, test, earlier, expected, source, chosen)


def _chosen_trees(roles: RowRoles, estimator: Any) -> tuple[ChosenTree, ...]:
    """The chosen tree and the ends of the frontier, one entry for each different candidate."""
    trained = estimator.trained_
    candidates = {CHOSEN: estimator.choice_.candidate}
    for rule in ENDS:
        candidates[rule] = choose(trained.frontier, trained.metric, SelectionRule(rule)).candidate
    chosen = []
    for candidate in dict.fromkeys(candidates.values()):
        tree = estimator._with_threshold(trained.candidates.trees[candidate])
        tree = estimator.tree_ if candidate == estimator.choice_.candidate else tree
        names = tuple(name for name, other in candidates.items() if other == candidate)
        instability = float(trained.frontier.instability[candidate])
        scores = roles.test_scores(tree, trained.metric)
        chosen.append(ChosenTree(names, candidate, tree, instability, *scores))
    return tuple(chosen)


def frontier_columns(fit: Fit) -> Mapping[str, list[Any]]:
    """One entry per candidate: what is known of it, and what it was grown with."""
    candidates = fit.trained.candidates
    grown_with = [candidates.combinations[place] for place in candidates.combination.tolist()]
    names = candidates.combinations[0]
    return {
        **fit.trained.frontier.columns(),
        **{name: [combination[name] for combination in grown_with] for name in names},
    }


@contextmanager
def scorer_errors() -> Iterator[None]:
    """Turn errors of a scorer of another library into a ParameterError."""
    try:
        yield
    except Exception as error:
        notes = [note for note in getattr(error, "__notes__", ()) if note.startswith("The scorer ")]
        if not notes:
            raise
        raise ParameterError(f"{notes[0]} Its message: {error}") from error


# -- whether early and late data agree --------------------------------------------------------------------

CHANCE = 2.0  # standard errors of a difference between two scores
RARELY, OFTEN = 0.05, 0.25  # fractions of the trees with the same root split
MOST_STAGES = 4


def disagreement(fit: Fit) -> list[str]:
    """Return sentences on disagreement of early and late data, or on too few rows; empty without any."""
    root = _root_text(fit) if fit.is_stable else ""
    return [text for text in (_too_few_text(fit), _scores_text(fit), root) if text]


def scores_disagree(fit: Fit) -> bool:
    """True if later rows give the model another score than earlier ones, by more than chance."""
    later, earlier = fit.test, fit.earlier_test
    if later is None or earlier is None:
        return False
    return abs(later.value - earlier.value) > CHANCE * hypot(later.error, earlier.error)


def stages_text(stages: tuple[str, ...]) -> str:
    """List the stages; of many, the first and the last."""
    names = [printable(stage) for stage in stages]
    return (
        join_parts(names) if len(names) <= MOST_STAGES else f"{names[0]} to {names[-1]}, {len(names)} of them"
    )


def _too_few_text(fit: Fit) -> str:
    """A sentence if the test rows are too few for a score."""
    roles = fit.roles
    named = {
        "test rows" if not roles.test_stages else "later rows": roles.test,
        "earlier rows": roles.earlier_test,
    }
    few = [f"{name} ({rows.too_few})" for name, rows in named.items() if rows is not None and rows.too_few]
    if not few:
        return ""
    needed = f"and, of classes, {MIN_EVENTS} rows in each of two"
    if roles.whole.schema.target.is_survival:
        needed = f"with {MIN_EVENTS} events"
    if any("group" in text for text in few):
        needed = f"of at least {MIN_ROWS // 2} groups, {needed.removeprefix('and, ')}"
    return (
        f"Too few to judge the {fit.metric.title} by: {' and '.join(few)}. A score needs {MIN_ROWS} rows "
        f"{needed}: hold out more of them by a greater test."
    )


def _scores_text(fit: Fit) -> str:
    """A sentence if later rows give another score than earlier ones."""
    metric, later, earlier = fit.metric, fit.test, fit.earlier_test
    if not scores_disagree(fit) or later is None or earlier is None:
        return ""
    values, errors = zip(*((metric.shown(each.value), each.error) for each in (later, earlier)), strict=True)
    on_later, on_earlier = estimate_texts(values, errors)
    expect = (
        "Expect at best the score of the later rows."
        if later.value < earlier.value
        else "The later rows are easier: do not count on it."
    )
    return (
        f"Early and late data disagree: {metric.title} {on_later} on rows of stage "
        f"{stages_text(fit.roles.test_stages)}, and {on_earlier} on random rows of the stages before. "
        f"{expect}"
    )


def _root_text(fit: Fit) -> str:
    """A sentence if early trees do not have the root split of the chosen tree, and later ones do."""
    if not fit.roles.early_stages or not fit.split_support:
        return ""
    root = fit.split_support[0]
    if root.candidates is None or root.references > RARELY or root.candidates < OFTEN:
        return ""
    return (
        f"Early and late data disagree on the root split: {rounded_percent(root.references)} of the "
        f"reference trees, of stage {stages_text(fit.roles.early_stages)}, split on "
        f"{printable(root.feature)} at the root, and {rounded_percent(root.candidates)} of the candidate "
        "trees, of all training rows."
    )
