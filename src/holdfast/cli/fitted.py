"""One stable tree, and all that is known of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from holdfast.cli.growing import rules_for
from holdfast.cli.study import Job, Study
from holdfast.errors import RulesError
from holdfast.evidence.feature_use import FeatureUse, feature_use
from holdfast.evidence.split_support import SplitSupport, split_support
from holdfast.scoring.metric import Score
from holdfast.stability.choice import Choice, SelectionRule, choose
from holdfast.stability.training import StableTrees, train_divided
from holdfast.tree.tree import Tree

CHOSEN = "chosen"
LANDMARKS = ("most-stable", "best-score")  # the ends of the frontier, between which the choice lies


@dataclass(frozen=True, eq=False)
class Delivered:
    """A tree of the frontier, its leaf values from all training rows, and how good it is."""

    names: tuple[str, ...]  # "chosen", or the rule that takes it, or several of these
    candidate: int
    tree: Tree
    instability: float
    test: Score | None  # None without test rows
    earlier_test: Score | None = None  # on random rows of earlier stages, if the test rows are later ones


@dataclass(frozen=True, eq=False)
class Fit:
    """One stable tree, and all that is known of it."""

    study: Study
    job: Job
    trained: StableTrees
    choice: Choice
    delivered: tuple[Delivered, ...]  # the chosen tree first, then the ends of the frontier
    split_support: tuple[SplitSupport, ...]
    uses: tuple[FeatureUse, ...]

    @property
    def chosen(self) -> Delivered:
        """The chosen tree."""
        return self.delivered[0]

    def named(self, name: str) -> Delivered:
        """The chosen tree, or the one that the rule takes."""
        return next(each for each in self.delivered if name in each.names)


def fitted(study: Study, job: Job) -> Fit:
    """Both collections, the frontier, the choice, and what the test rows say of it."""
    settings = replace(job.settings, rules=rules_for(job, study.table.schema.target))
    with scoring_refused():
        trained = train_divided(study.table, study.division, settings, groups=study.groups)
        choice = choose(trained.frontier, trained.metric, job.selection_rule)
        ends = {
            rule: choose(trained.frontier, trained.metric, SelectionRule(rule)).candidate
            for rule in LANDMARKS
        }
        delivered = _delivered(study, trained, {CHOSEN: choice.candidate, **ends})
    references, candidates = trained.references.trees, trained.candidates.trees
    return Fit(
        study=study,
        job=job,
        trained=trained,
        choice=choice,
        delivered=delivered,
        split_support=tuple(split_support(delivered[0].tree, references, candidates)),
        uses=tuple(feature_use([*references, *candidates])),
    )


def _delivered(study: Study, trained: StableTrees, places: dict[str, int]) -> tuple[Delivered, ...]:
    different = list(dict.fromkeys(places.values()))
    trees = [trained.candidates.trees[place] for place in different]
    return tuple(
        Delivered(
            names=tuple(name for name, other in places.items() if other == place),
            candidate=place,
            tree=tree,
            instability=float(trained.frontier.instability[place]),
            test=None if study.test is None else study.test.score(tree, trained.metric),
            earlier_test=(
                None if study.earlier_test is None else study.earlier_test.score(tree, trained.metric)
            ),
        )
        for place, tree in zip(different, trees, strict=True)
    )


@contextmanager
def scoring_refused() -> Iterator[None]:
    """Within it, what a scorer of another library raises is a RulesError."""
    try:
        yield
    except Exception as error:
        notes = [note for note in getattr(error, "__notes__", ()) if note.startswith("The scorer ")]
        if not notes:
            raise
        raise RulesError(f"{notes[0]} It says: {error}") from error
