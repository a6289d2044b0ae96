"""What `fit` prints of a single tree or an ensemble."""

from rich.console import Console

from holdfast._text import pluralize
from holdfast.cli.forward import both_legend
from holdfast.cli.grids import show_grid
from holdfast.cli.overview import ensemble_text
from holdfast.cli.sections import disappointment, score_texts, show_drawing
from holdfast.cli.words import heading, paragraph, verbatim
from holdfast.runs.fit import Fit, disagreement, scores_disagree
from holdfast.tree.tree import Tree

MOST_FEATURES = 8
TITLES = {
    "tree": "The tree",
    "pruned": "The pruned tree",
    "forest": "The forest",
    "boosting": "The boosted trees",
}


def show_model(fit: Fit, console: Console) -> None:
    """The sections of `holdfast fit`, apart from the data and the files."""
    heading(console, TITLES[fit.settings.model])
    if isinstance(fit.model, Tree):
        _show_tree(fit, fit.model, console)
    else:
        verbatim(console, ensemble_text(fit.model, most=MOST_FEATURES, whole="importances.csv"))
    if fit.roles.test is not None or fit.expected is not None:
        heading(console, "How good it is")
        _show_scores(fit, console)


def _show_tree(fit: Fit, tree: Tree, console: Console) -> None:
    if hasattr(fit.estimator, "min_samples_leaf_"):
        least = pluralize(fit.estimator.min_samples_leaf_, "row")
        paragraph(console, f"{fit.estimator.size_table_.reason} Leaves of at least {least} did best.\n")
    show_drawing(tree, console)


def _show_scores(fit: Fit, console: Console) -> None:
    """What is expected on new rows, and what the test rows say."""
    expected, metric = fit.expected, fit.metric
    kind = "test" if fit.earlier_test is None else "later"
    found = {
        "expected": expected,
        f"on {fit.roles.n_test:,} {kind} rows": fit.test,
        f"on {fit.roles.n_earlier_test:,} earlier rows": fit.earlier_test,
    }
    known = {name: score for name, score in found.items() if score is not None}
    texts = score_texts(list(known.values()), metric)
    show_grid(console, ["", metric.title], list(zip(known, texts, strict=True)))
    source = f"Expected on new rows: {fit.source}. " if expected is not None else ""
    paragraph(console, f"\n{source}± one standard error.", style="dim")
    if fit.earlier_test is not None:
        paragraph(console, both_legend(fit.roles), style="dim")
    # That later rows are others says why they give less than was expected.
    less = ""
    if expected is not None and not scores_disagree(fit):
        less = disappointment(metric, fit.test, expected.value)
    for text in filter(None, [less, *disagreement(fit)]):
        paragraph(console, f"\n{text}")
