"""The page of a fitted model: the tree and its predictions, and the evidence behind it."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from math import isnan
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import numpy as np
from markupsafe import Markup

from holdfast._arrays import FloatArray, IntArray, round_last_digits
from holdfast._text import (
    estimate_text,
    estimate_texts,
    fixed_text,
    label_text,
    list_text,
    number_text,
    number_word,
    percent_range,
    percent_text,
    plural,
    pluralize,
    printable,
    probability_text,
    rounded_percent,
    shorten,
)
from holdfast._version import __version__
from holdfast._view import TextTable
from holdfast.data.schema import Feature, Label, Schema, Target
from holdfast.data.survival import (
    name_survival,
    survival_function,
    survive_horizon,
    time_text,
)
from holdfast.data.table import Table as Rows
from holdfast.distance.diff import tree_diff
from holdfast.distance.diff_rows import prepare_table
from holdfast.distance.diff_text import points_text, split_sections
from holdfast.errors import ParameterError
from holdfast.explain.feature_use import FeatureUses, feature_table, feature_use
from holdfast.explain.firmness import ReferenceTrees
from holdfast.explain.split_support import SplitSupport, split_support, split_support_view
from holdfast.governance.register import model_hash
from holdfast.plots.display import LATER
from holdfast.plots.frontier import FrontierDisplay, SplitSupportDisplay
from holdfast.plots.importance import ImportanceDisplay
from holdfast.plots.performance import CalibrationDisplay, RocDisplay, SpreadDisplay
from holdfast.plots.survival import SurvivalDisplay
from holdfast.report.figures import NOTHING, Drawing, Figure, Hover, chart, drawing, outline
from holdfast.report.firmness import firmness_section
from holdfast.report.page import KeyFigure, Page, PageSection, Part, ReportOptions
from holdfast.report.rules import fit_case_section, rule_facts, rules_section
from holdfast.runs.run import Run
from holdfast.scoring.calibration import calibration
from holdfast.scoring.metric import Metric, TrueValues, describe_too_few, make_metric, predict_for_metric
from holdfast.stable.frontier import Frontier
from holdfast.stable.selection import unbeaten_places
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.monotone import decision_threshold
from holdfast.tree.rules import WARNING, format_class_names, list_notes, list_warnings
from holdfast.tree.stats import positive_class
from holdfast.tree.survival import describe_observed, node_survival, risk_text, shown_values
from holdfast.tree.svg import layout
from holdfast.tree.text import NodeTexts
from holdfast.tree.tree import LEAF, Tree, drop_copies, make_tree_key

if TYPE_CHECKING:
    from holdfast.evaluate.replications import Replications

EVIDENCE = "data scientist"
FIRM = 0.5  # split support of a firm split
MOST_CURVES, MOST_PICTURES = 20, 12  # leaves with curves in one picture, or with a picture each
MOST_NAMED = 5  # columns in the headline
TOO_MANY_CURVES = "The tree has too many leaves: SurvivalDisplay.from_estimator in Python draws their curves."
MOST_CATEGORIES, MOST_CLASSES = 12, 20  # in tables
MOST_TREES = 12  # efficient trees with rules and drawing
MOST_DRAWN = 100_000  # bytes of all their drawings
MOST_SPREAD = 100  # trees of the section on their spread
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals")


def fit_page(subject: Any, options: ReportOptions) -> Page:
    """Return the page of a run, an estimator, a tree or an ensemble."""
    fitted = _of_run(subject, options) if isinstance(subject, Run) else _of_model(subject, options)
    warnings = (f"{WARNING}{warning}" for warning in fitted.record.get("warnings", ()))
    what = fitted.outcome if fitted.positive is not None else _name(fitted.target.name)
    title = f"Risk of {what}" if fitted.positive is not None else f"Predicting {what}"
    title = f"Survival (event: {what})" if fitted.target.is_survival else title
    tree = fitted.model if isinstance(fitted.model, Tree) else None
    summary = _ensemble_sentence(fitted) if tree is None else _tree_sentence(fitted, tree)
    sections = [
        None if tree is None else _tree_section(fitted, tree),
        None if tree is None or tree.n_leaves == 1 else fit_case_section(fitted),
        None if tree is None else rules_section(fitted),
        None if tree is None else _curves_section(tree),
        firmness_section(fitted),
        _support_section(fitted),
        _scores_section(fitted),
        _frontier_section(fitted),
        _sizes_section(fitted),
        _features_section(fitted),
        _calibration_section(fitted),
        _spread_section(fitted),
        _replications_section(fitted),
        _schema_section(fitted),
        _settings_section(fitted),
    ]
    return Page(
        kind="fit",
        title=options.title or title,
        subtitle=_subtitle(fitted),
        warnings=list(dict.fromkeys([*warnings, *list_warnings(fitted.model)])),
        headline=[*filter(None, [summary, _score_sentence(fitted), _support_sentence(fitted)])],
        key_figures=list(_key_figures(fitted)),
        sections=[section for section in sections if section is not None],
    )


def _name(text: str) -> str:
    return shorten(printable(text), 40)


def _tree_sentence(fitted: Fitted, tree: Tree) -> str:
    if tree.n_leaves == 1:
        return f"The tree has no split: it predicts the same for every {fitted.noun}."
    used = list(dict.fromkeys(tree.schema.names[index] for index in tree.feature.tolist() if index != LEAF))
    columns = list_text(map(_name, used))
    if len(used) > MOST_NAMED:
        columns = f"{number_word(len(used))} of {len(tree.schema.features)} columns, first {_name(used[0])}"
    groups = f"The tree sorts {plural(fitted.noun)} into {number_word(tree.n_leaves)} groups by {columns}."
    low, high = _value_range(fitted, tree)
    if tree.schema.target.hazard is not None:
        name = name_survival(tree.schema.target.hazard)
        ends = f"{rounded_percent(low)} in the group of the highest risk to {rounded_percent(high)}"
        return f"{groups} Predicted {name} ranges from {ends} in that of the lowest."
    if not tree.schema.target.is_classes:
        ends = f"{number_text(low, 3)} in the lowest group to {number_text(high, 3)} in the highest"
        return f"{groups} The predicted {fitted.outcome} ranges from {ends}."
    if fitted.positive is None:
        return f"{groups} {_classes_sentence(tree)}"
    ends = f"{rounded_percent(low)} in the lowest group to {rounded_percent(high)} in the highest"
    return f"{groups} The risk of {fitted.outcome} ranges from {ends}."


def _classes_sentence(tree: Tree) -> str:
    """Name the classes that the leaves predict, and count those that are never predicted."""
    names = format_class_names(tree.schema.target)
    predicted = sorted(set(tree.outcome[tree.feature == LEAF].tolist()))
    shown = f"{len(predicted)} classes"
    if len(predicted) <= MOST_NAMED:
        shown = list_text(_name(names[place]) for place in predicted)
    never = len(names) - len(predicted)
    is_are = "is" if never == 1 else "are"
    rest = f"; {number_word(never)} of {number_word(len(names))} classes {is_are} never predicted"
    return f"They predict {shown}{rest if never else ''}."


def _value_range(fitted: Fitted, tree: Tree) -> tuple[float, float]:
    values = shown_values(tree)[:, 0] if fitted.target.is_survival else tree.value[:, fitted.positive or 0]
    values = values[tree.feature == LEAF]
    return float(values.min()), float(values.max())


def _ensemble_sentence(fitted: Fitted) -> str:
    first = [_name(each.name) for each in fitted.uses if each.anywhere > 0][:3]
    most = f", mainly by {list_text(first)}" if first else ""
    return f"{pluralize(len(fitted.trees), 'tree')} together predict {fitted.outcome}{most}."


def _support_sentence(fitted: Fitted) -> str:
    """Count the splits that most trees of other samples share."""
    supports = fitted.supports
    if not supports:
        return ""
    n_firm, first, n_trees = (
        sum(each.references >= FIRM for each in supports),
        supports[0],
        len(fitted.references),
    )
    firm = "all" if n_firm == len(supports) else f"{number_word(n_firm) if n_firm else 'none'} of the"
    return (
        f"Of {n_trees} trees grown on other samples of the rows, {rounded_percent(first.references)} have "
        f"{_name(first.feature)} as their first split, as this tree does; {firm} "
        f"{number_word(len(supports))} {'split' if len(supports) == 1 else 'splits'} of this tree "
        f"{'is' if 1 in (n_firm, len(supports)) else 'are'} found in at least "
        f"{rounded_percent(FIRM)} of them."
    )


def _key_figures(fitted: Fitted) -> Iterator[KeyFigure]:
    """Return the numbers that a reader looks for first."""
    if (score := _test_score(fitted)) is not None:
        value, _, error = estimate_texts([score[0]], [score[1]])[0].partition(" ± ")
        name, kind = "new rows", "test rows"
        if fitted.test is not None and not fitted.test.are_new:
            name, kind = "rows given", "rows given"
        yield KeyFigure(
            value, f"{fitted.metric.title} on {kind}", f"± {error}, {fitted.n_test_rows:,} {name}"
        )
    model = fitted.model
    if isinstance(model, Tree):
        if fitted.positive is not None and model.n_leaves > 1:
            yield KeyFigure(percent_range(*_value_range(fitted, model)), "Risk by group", fitted.outcome)
        if fitted.target.hazard is not None and model.n_leaves > 1:
            ends, name = percent_range(*_value_range(fitted, model)), name_survival(fitted.target.hazard)
            yield KeyFigure(ends, f"{name[0].upper()}{name[1:]}", "predicted, by group")
        if fitted.supports:
            share = rounded_percent(fitted.supports[0].references)
            yield KeyFigure(
                share, "Support of the first split", "of the trees of other samples make this split"
            )
        yield KeyFigure(str(model.n_leaves), "Rules", f"at most {pluralize(model.depth, 'condition')} each")
    else:
        yield KeyFigure(str(len(fitted.trees)), "Trees")
    n_rows = fitted.record.get("division", {}).get("training_rows")
    n_rows = n_rows or (model.count[0] if isinstance(model, Tree) else 0)
    if n_rows:
        columns = pluralize(len(fitted.schema.columns), "column")
        if fitted.target.is_survival and isinstance(model, Tree):
            columns = f"{pluralize(node_survival(model, 0).n_events, 'event')}, {columns}"
        yield KeyFigure(f"{n_rows:,.0f}", "Training rows", columns)


def _subtitle(fitted: Fitted) -> str:
    """Return the kind of the model and the name of the data file."""
    kinds = {
        "stable": "Stable decision tree",
        "tree": "Decision tree",
        "pruned": "Pruned decision tree",
        "forest": "Random forest",
        "boosting": "Boosted trees",
    }
    model = fitted.record.get("settings", {}).get("model", "")
    kind = kinds.get(model, "Decision tree" if isinstance(fitted.model, Tree) else "Ensemble of trees")
    name = _file_name(fitted)
    return " · ".join(filter(None, ["Stable decision tree" if fitted.supports else kind, printable(name)]))


def _file_name(fitted: Fitted) -> str:
    """Return the name of the data file without its folder."""
    source: str = fitted.record.get("data", {}).get("source", "")
    return source.replace("\\", "/").rsplit("/", 1)[-1]


# -- any fitted model -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with true values, on which a model is evaluated."""

    X: Any  # a frame or an array
    true_values: TrueValues
    are_new: bool  # True if the model was certainly not trained on them
    table: Rows | None = None  # the same rows

    @property
    def name(self) -> str:
        """Name of the rows in sentences."""
        return "test rows" if self.are_new else "rows given to this report"

    def __len__(self) -> int:
        return len(self.true_values.values)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A run, an estimator, a tree or an ensemble as the page needs it; unknown parts are None or empty."""

    model: Tree | Ensemble
    positive: int | None  # index of the class whose probability is shown, if there are two
    metric: Metric
    frontier: Frontier | None = None
    chosen: int | None = None  # index of the tree among the candidates
    reason: str = ""  # of the choice
    candidates: Sequence[Tree] = ()
    references: Sequence[Tree] = ()
    resampled: ReferenceTrees | None = None  # the same with leaf values of their samples, for firmness
    sampled_candidates: Sequence[Tree] = ()  # candidates grown on samples of the rows
    supports: Sequence[SplitSupport] = ()
    uses: FeatureUses = field(default_factory=FeatureUses)
    test: ScoredRows | None = None
    training: Rows | None = None
    record: Mapping[str, Any] = field(default_factory=dict)  # settings and other facts, as plain data
    replications: Replications | None = None
    noun: str = "case"  # for a row

    @property
    def schema(self) -> Schema:
        """The schema of the model."""
        return self.model.schema

    @property
    def target(self) -> Target:
        """The target of the model."""
        return self.model.schema.target

    @property
    def positive_label(self) -> Label | None:
        """Label of the positive class."""
        return None if self.positive is None else self.target.classes[self.positive]

    @property
    def trees(self) -> Sequence[Tree]:
        """The trees of the model."""
        return [self.model] if isinstance(self.model, Tree) else self.model.trees

    @property
    def outcome(self) -> str:
        """The target with the positive class: stroke = yes."""
        if self.target.is_survival:
            return f"survival (event: {_name(self.target.name)})"
        if self.positive is None:
            return _name(self.target.name)
        return f"{_name(self.target.name)} = {_name(format_class_names(self.target)[self.positive])}"

    @property
    def described_rows(self) -> tuple[Rows | None, Any, str]:
        """The rows that firmness is described by, as a table and as the model reads them, and their name."""
        if self.training is not None:
            return self.training, self.training, "training rows"
        return (None, None, "") if self.test is None else (self.test.table, self.test.X, self.test.name)

    @property
    def n_test_rows(self) -> int:
        """Number of test rows."""
        recorded: int = self.record.get("division", {}).get("test_rows") or 0
        return recorded or (0 if self.test is None else len(self.test))

    @cached_property
    def predicted(self) -> Any:
        """Predictions for the test rows: class probabilities, or numbers."""
        assert self.test is not None
        return self.model.values(self.test.X)

    @cached_property
    def decided(self) -> IntArray:
        """Index of the predicted class of each test row."""
        assert self.test is not None
        if isinstance(self.model, Tree):
            return self.model.outcome[self.model.apply(self.test.X)]
        return self.model.predict_indices(self.predicted)

    @property
    def drawn_trees(self) -> list[Tree]:
        """All trees that are drawn on the page, with the same colours for the same values."""
        if self.frontier is None or self.chosen is None:
            return []
        return [self.candidates[place] for place in _shown_candidates(self.frontier, self.chosen)]


def _of_run(run: Run, options: ReportOptions) -> Fitted:
    details, model = run.details, run.model
    sampled = () if run.facts["settings"].get("method") == "consensus" else run.candidates
    stable = details if details is not None and details.is_stable else None
    test = None if details is None else details.roles.test
    own = None if test is None else ScoredRows(test.frame, test.true_values, are_new=True)
    return Fitted(
        model=model,
        positive=positive_class(model, options.positive),
        metric=details.metric if details is not None else _metric(run.facts["metric"]["name"], model),
        frontier=run.frontier,
        chosen=run.facts["choice"]["candidate"] if run.references else None,
        reason=run.reason,
        candidates=run.candidates,
        references=run.references,
        resampled=getattr(run.fitted, "references_", None),
        sampled_candidates=sampled,
        supports=_supports(model, run.references, sampled) if stable is None else stable.split_support,
        uses=_uses(model, [*run.references, *sampled]) if stable is None else stable.uses,
        test=_given_rows(model, options) or own,
        training=None if details is None else details.roles.training,
        record=run.facts,
        replications=options.replications,
        noun=options.model_card.get("case", "case"),
    )


def _of_model(subject: Any, options: ReportOptions) -> Fitted:
    model = subject if isinstance(subject, Tree | Ensemble) else None
    for name in ("tree_", "ensemble_"):
        model = getattr(subject, name, None) if model is None else model
    if model is None:
        raise ParameterError(
            f"This {type(subject).__name__} is not fitted: call fit before you write a report."
        )
    references = getattr(subject, "reference_trees_", ())
    candidates = getattr(subject, "candidate_trees_", ())  # none after loading
    trained, choice = (getattr(subject, name, None) for name in ("trained_", "choice_"))
    sampled = () if trained is None else trained.sampled_candidates
    settings = subject.get_params(deep=False) if hasattr(subject, "get_params") else {}
    plain = {name: _plain(each) for name, each in settings.items()}
    return Fitted(
        model=model,
        positive=positive_class(model, options.positive),
        metric=trained.metric if trained is not None else make_metric(None, model.schema.target),
        frontier=getattr(subject, "frontier_", None) if candidates else None,
        chosen=None if choice is None else choice.candidate,
        reason="" if choice is None else choice.reason,
        candidates=candidates,
        references=references,
        resampled=getattr(subject, "references_", None),
        sampled_candidates=sampled,
        supports=_supports(model, references, sampled),
        uses=_uses(model, [*references, *sampled]),
        test=_given_rows(model, options),
        record={"holdfast": __version__, "settings": {"model": type(subject).__name__, **plain}},
        replications=options.replications,
        noun=options.model_card.get("case", "case"),
    )


def _metric(name: str, model: Tree | Ensemble) -> Metric:
    try:
        return make_metric(name, model.schema.target)
    except ParameterError:  # of another library
        return make_metric(None, model.schema.target)


def _supports(
    model: Tree | Ensemble, references: Sequence[Tree], candidates: Sequence[Tree]
) -> Sequence[SplitSupport]:
    return split_support(model, references, candidates) if isinstance(model, Tree) and references else ()


def _uses(model: Tree | Ensemble, others: Sequence[Tree]) -> FeatureUses:
    """Return the use of features in trees of other samples, or else in those of the model."""
    return feature_use(list(others) or [model] if isinstance(model, Tree) else list(model.trees))


def _given_rows(model: Tree | Ensemble, options: ReportOptions) -> ScoredRows | None:
    if options.X is None or options.y is None:
        return None
    tree = model if isinstance(model, Tree) else model.trees[0].replace(schema=model.schema)
    table = prepare_table(tree, tree, options.X, options.y)
    return ScoredRows(options.X, TrueValues.of(table), are_new=False, table=table)


def _plain(value: Any) -> Any:
    """Convert a parameter to plain data for JSON."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else repr(value)


# -- the tree ---------------------------------------------------------------------------------------------


def _tree_section(fitted: Fitted, tree: Tree) -> PageSection:
    positive = fitted.positive_label
    svg = drawing(tree, "tree", positive=positive, beside=fitted.drawn_trees)
    parts: list[Part] = [
        "The drawing is too large for this page: holdfast show MODEL --format svg, or tree.to_svg() in "
        "Python, draws the tree."
    ]
    if svg is not None:
        _, is_sideways = layout(NodeTexts.of(tree, positive=positive))
        hint = f"Read from {'left to right' if is_sideways else 'the top down'}. Point at a box to see its "
        hint += "whole rule. A wider line means more rows."
        parts = [Drawing(svg, outline(tree, positive), "drawing-0", caption=hint)]
    facts = {"leaves": tree.n_leaves, "depth": tree.depth}
    return PageSection("tree", "The tree", "clinician", parts, facts=facts)


def _curves_section(tree: Tree) -> PageSection | None:
    """Show the curves of survival of all leaves, together and one by one; None for another tree."""
    hazard = tree.schema.target.hazard
    if hazard is None:
        return None
    text = (
        "How to read the curves: a solid line is the fraction of the training rows of a group that is still "
        "without the event (Kaplan-Meier), a dashed line the prediction of the tree. Rows at risk are those "
        "under observation and without the event at a time. Where few rows are left, the solid line is "
        "uncertain, as its band shows."
    )
    parts: list[Part] = [text]
    if tree.n_leaves > MOST_CURVES:
        return PageSection("curves", "Survival curves", "clinician", [TOO_MANY_CURVES])
    for kind in ("all", "leaves") if 1 < tree.n_leaves <= MOST_PICTURES else ("all",):
        display = SurvivalDisplay.from_estimator(tree, kind=kind, ax=LATER)
        # On a narrow screen it scrolls, so that its text stays legible.
        svg = chart(display, f"curves-{kind}").replace("max-width:100%", "min-width:36rem", 1)
        parts.append(Figure(Markup(svg)))
    if tree.curves is None:
        parts[0] = "The model file has no observed curves: dashed lines are the predictions of the tree."
    return PageSection("curves", "Survival curves", "clinician", parts)


def _support_section(fitted: Fitted) -> PageSection | None:
    if not fitted.supports:
        return None
    text = (
        f"{len(fitted.references)} reference trees were grown on other samples of the rows. A split that "
        "many of them share is likely to be found in new data, too."
    )
    display = SplitSupportDisplay.from_result(fitted.supports, ax=LATER)
    parts = [text, Figure(chart(display, "support")), *split_support_view(fitted.supports).parts]
    return PageSection("support", "Support of the splits", "clinician", parts)  # type: ignore[arg-type]


# -- scores -----------------------------------------------------------------------------------------------


def _scores_section(fitted: Fitted) -> PageSection | None:
    """Compare the scores expected in training with those on test rows; None without any score."""
    scores = [each for each in _score_rows(fitted) if each[2] is not None or each[3] is not None]
    if not scores:
        return None
    title, is_new = fitted.metric.title, fitted.test is None or fitted.test.are_new
    division = fitted.record.get("division", {})
    name = "test rows" if fitted.test is None else f"{len(fitted.test):,} {fitted.test.name}"
    earlier = division.get("earlier_test_rows") or 0
    headings = ["tree", "leaves", f"{title} expected", f"on {name}", "difference"]
    headings += [f"on {earlier:,} earlier rows"] if earlier else []
    rows = []
    for row_name, leaves, expected, test, early in scores:
        against = _against_text(expected, test, fitted.metric.is_loss)
        cells = [
            row_name,
            "" if leaves is None else str(leaves),
            _score_text(expected),
            _score_text(test),
            against,
        ]
        rows.append([*cells, *([_score_text(early)] if earlier else [])])
    note = "Expected: the score on rows held out in training, which was used to choose the tree. "
    if is_new:
        note += "The test rows were set aside at the start and had no influence on the tree."
        if stages := division.get("test_stages"):
            note += (
                f" They are the rows of the last stages, {', '.join(map(str, stages))}; the earlier rows are "
                "a random sample."
            )
    else:
        note += "If the model was trained on the rows given to this report, the scores are too optimistic."
    note += " ± is one standard error."
    return PageSection(
        "scores",
        "Expected and test scores",
        EVIDENCE,
        [TextTable(headings, rows, note=note), *fitted.record.get("disagreement", [])],
    )


_Score = Mapping[str, float | None] | None


def _score_rows(fitted: Fitted) -> list[tuple[str, int | None, _Score, _Score, _Score]]:
    """Return name, leaves, expected, test and earlier test score of the chosen tree and the extremes."""
    facts, frontier, metric = fitted.record, fitted.frontier, fitted.metric

    def expected_of(candidate: int) -> _Score:
        assert frontier is not None
        score = metric.shown(float(frontier.score[candidate]))
        return {"score": score, "standard_error": float(frontier.score_error[candidate])}

    if "trees" in facts and frontier is not None:
        names = {
            "chosen": "chosen tree",
            "most-stable": "most stable tree",
            "best-score": "tree of the best score",
        }
        ordered = sorted(facts["trees"].items(), key=lambda item: item[0] != "chosen")
        return [
            (names[name], each["leaves"], expected_of(each["candidate"]), each["test"], each["earlier_test"])
            for name, each in ordered
        ]
    model = facts.get("model", {})
    expected, test = model.get("expected"), model.get("test")
    if frontier is not None and fitted.chosen is not None:
        expected = expected_of(fitted.chosen)
    if test is None and fitted.test is not None and not describe_too_few(fitted.test.true_values):
        score = metric.score(predict_for_metric(metric, fitted.model, fitted.test.X), fitted.test.true_values)
        test = {"score": metric.shown(score.value), "standard_error": score.error}
    return [("the model", None, expected, test, model.get("earlier_test"))]


def _against_text(expected: _Score, test: _Score, is_loss: bool) -> str:
    """Describe the difference of the test score from the expected one."""
    if expected is None or test is None or expected["score"] is None or test["score"] is None:
        return ""
    optimism = expected["score"] - test["score"]
    size = fixed_text(abs(optimism), 3)
    return (
        "as expected" if not float(size) else f"{size} {'worse' if (optimism > 0) != is_loss else 'better'}"
    )


def _score_text(score: _Score) -> str:
    if score is None or score["score"] is None:
        return ""
    return estimate_texts([score["score"]], [score["standard_error"] or 0.0])[0]


def _test_score(fitted: Fitted) -> tuple[float, float] | None:
    """Return the score on test rows and its standard error; None without test rows."""
    found = next((test for *_, test, _ in _score_rows(fitted) if test is not None), None)
    if found is None or found["score"] is None:
        return None
    return found["score"], found["standard_error"] or 0.0


def _score_sentence(fitted: Fitted) -> str:
    """Describe the score on test rows in plain words; empty without test rows."""
    found = _test_score(fitted)
    if found is None:
        return ""
    name = "new rows" if fitted.test is None or fitted.test.are_new else fitted.test.name
    on, stated = (
        f"On {fitted.n_test_rows:,} {name}",
        f"{fitted.metric.title} {estimate_texts([found[0]], [found[1]])[0]}",
    )
    share = rounded_percent(max(found[0], 0.0))
    if fitted.metric.name == "auc" and fitted.positive is not None:
        return (
            f"{on}: of two {plural(fitted.noun)}, one with {fitted.outcome} and one without, the former has "
            f"the higher predicted risk in {share} of all pairs ({stated}); chance alone gives 50 %."
        )
    if fitted.metric.name in ("concordance", "uno"):
        return (
            f"{on}: of two {plural(fitted.noun)}, the one with the earlier event has the higher predicted "
            f"risk in {share} of the pairs that can be compared ({stated}); chance alone gives 50 %."
        )
    if fitted.metric.name == "r2":
        return f"{on}, the model explains {share} of the variance ({stated})."
    if fitted.metric.name == "accuracy":
        return f"{on}, {share} of the predictions are right ({stated})."
    return f"{on}: {stated}."


# -- the frontier -----------------------------------------------------------------------------------------


def _frontier_section(fitted: Fitted) -> PageSection | None:
    """Show all candidates as a chart, and some of the efficient trees with rules and diff."""
    frontier, chosen = fitted.frontier, fitted.chosen
    if frontier is None or chosen is None:
        return None
    shown, unbeaten, title = (
        _shown_candidates(frontier, chosen),
        unbeaten_places(frontier),
        fitted.metric.title,
    )
    score = [fitted.metric.shown(value) for value in frontier.score.tolist()]
    hovers = []
    for place in [*(place for place in range(len(frontier)) if place not in shown), *shown]:
        attributes = f' data-candidate="{place}"'
        if place in shown:
            attributes += (
                f' data-shown="" tabindex="{0 if place == chosen else -1}" role="button" '
                f"aria-label={quoteattr(_candidate_text(fitted, place))}"
            )
        radius = 8.0 if place in shown else 4.0
        hovers.append(Hover(float(frontier.instability[place]), score[place], "", radius, attributes))
    display = FrontierDisplay.from_result(frontier, chosen=chosen, ax=LATER)
    figures, room = {"frontier": chart(display, "frontier", hovers, role="group")}, MOST_DRAWN
    for place in sorted((place for place in shown if place != chosen), key=lambda place: abs(place - chosen)):
        options = {"positive": fitted.positive_label, "beside": fitted.drawn_trees}
        if svg := drawing(fitted.candidates[place], f"tree{place}", room, **options):
            figures[f"tree-{place}"] = svg
            room -= len(svg.encode())
    facts = {
        "metric": title,
        "is_loss": fitted.metric.is_loss,
        "reason": fitted.reason,
        "chosen": chosen,
        "candidates": {
            "instability": _six_digits(frontier.instability.tolist()),
            "score": _six_digits(score),
            "score_error": _six_digits(frontier.score_error.tolist()),
            "leaves": frontier.n_leaves.tolist(),
            "depth": frontier.depth.tolist(),
            "efficient": [int(place in unbeaten) for place in range(len(frontier))],
        },
        "trees": [_tree_facts(fitted, candidate) for candidate in shown],
    }
    return PageSection(
        "frontier",
        "Stability against score",
        EVIDENCE,
        template="frontier.html",
        facts=facts,
        figures=figures,
        script="frontier.js",
    )


def _shown_candidates(frontier: Frontier, chosen: int) -> list[int]:
    """Return the efficient trees, or an evenly spread part of them, and the chosen one, most stable first."""
    order = frontier.unbeaten
    if len(order) > MOST_TREES:
        order = order[np.unique(np.linspace(0, len(order) - 1, MOST_TREES).round().astype(np.int64))]
    return sorted({*order.tolist(), chosen}, key=lambda place: (frontier.instability[place], place))


def _six_digits(numbers: list[float]) -> list[float]:
    """Round to six significant digits, which halves the size of the data."""
    return [float(f"{number:.6g}") for number in numbers]


def _tree_facts(fitted: Fitted, candidate: int) -> dict[str, Any]:
    tree = fitted.candidates[candidate]
    diff = None if candidate == fitted.chosen else tree_diff(fitted.model, tree)
    splits = () if diff is None else split_sections(diff)
    facts = {
        "candidate": candidate,
        "title": _candidate_text(fitted, candidate),
        "diff": "" if diff is None else diff.summary,
        "changes": [line for section in splits for line in section.lines],
        "distance": None if diff is None else diff.distance.total,
    }
    if diff is None:  # its rules are shown above
        return {**facts, "rules": []}
    names = ("prediction", "class", "decision", "conditions", "sentence")
    rules = rule_facts(tree, fitted.positive, fitted.noun, fitted.training)[:MOST_TREES]
    return {**facts, "rules": [{name: rule[name] for name in names if name in rule} for rule in rules]}


def _candidate_text(fitted: Fitted, candidate: int) -> str:
    """Return the figures of a candidate on one line."""
    frontier = fitted.frontier
    assert frontier is not None
    score = fitted.metric.shown(float(frontier.score[candidate]))
    kinds = ["chosen"] * (candidate == fitted.chosen) + ["efficient"] * (
        candidate in unbeaten_places(frontier)
    )
    kind = f" ({', '.join(kinds)})" if kinds else ""
    return (
        f"Candidate {candidate}{kind}: "
        f"{fitted.metric.title} {estimate_text(score, float(frontier.score_error[candidate]))}, instability "
        f"{number_text(float(frontier.instability[candidate]), 4)}, "
        f"{pluralize(int(frontier.n_leaves[candidate]), 'leaf', 'leaves')}"
    )


def _sizes_section(fitted: Fitted) -> PageSection | None:
    """Tabulate instability by the number of leaves."""
    frontier, chosen = fitted.frontier, fitted.chosen
    if frontier is None or chosen is None:
        return None
    rows, n_alike = [], 1
    for size in np.unique(frontier.n_leaves).tolist():
        own = frontier.n_leaves == size
        n_trees = len(drop_copies(fitted.candidates[place] for place in np.flatnonzero(own).tolist()))
        n_alike = n_trees if size == frontier.n_leaves[chosen] else n_alike
        least, mean = (
            number_text(float(each), 4)
            for each in (frontier.instability[own].min(), frontier.instability[own].mean())
        )
        rows.append([str(size), str(n_trees), least, mean])
    text = "Larger trees are further apart, because distances grow with the number of rules."
    if n_alike > 1:  # of a single tree it is 1 by definition
        text += (
            f" The instability of the chosen tree is "
            f"{fixed_text(float(frontier.size_adjusted[chosen]), 2)} times "
            "the usual instability of candidates with the same number of leaves."
        )
    table = TextTable(["leaves", "trees", "least instability", "mean instability"], rows, sides=">>>>")
    return PageSection("sizes", "Size against instability", EVIDENCE, [text, table])


# -- features, calibration, spread ------------------------------------------------------------------------


def _features_section(fitted: Fitted) -> PageSection | None:
    if not any(each.anywhere > 0 for each in fitted.uses):
        return None
    others = len(fitted.references) + len(fitted.sampled_candidates)
    n_trees = f"{others} trees of other samples" if others else pluralize(len(fitted.trees), "tree")
    text = (
        f"Importance is the share of a feature in the total decrease of impurity, in {n_trees}. Root, 2 "
        "levels, "
        "3 levels and anywhere: the fraction of these trees that split on the feature there."
    )
    display = ImportanceDisplay.from_result(fitted.uses, max_features=15, ax=LATER)
    parts: list[Part] = [text, Figure(chart(display, "importance")), feature_table(fitted.uses, None)]
    return PageSection("features", "Importance of the features", EVIDENCE, parts)


def _calibration_section(fitted: Fitted) -> PageSection | None:
    """Compare predictions with observations; None without enough rows with known values."""
    if fitted.test is None or describe_too_few(fitted.test.true_values):
        return None
    if fitted.target.is_classes and fitted.positive is None:
        return _confusion_section(fitted, fitted.test)
    if fitted.target.is_survival:
        return _survival_calibration(fitted, fitted.test)
    place, values = fitted.positive or 0, fitted.test.true_values.values
    predicted = np.asarray(fitted.predicted[:, place], float)
    truth = (values == place).astype(float) if fitted.target.is_classes else np.asarray(values, float)
    name = label_text(fitted.positive_label) if fitted.positive is not None else ""
    display = CalibrationDisplay.from_predictions(
        predicted, truth, positive=name, target=fitted.target.name, ax=LATER
    )
    text = str if not fitted.target.is_classes else rounded_percent
    hovers = [
        Hover(
            each.predicted,
            each.observed,
            f"predicted {text(each.predicted)}, observed {text(each.observed)}, {each.n_rows} rows",
        )
        for each in display.points
    ]
    parts: list[Part] = [Figure(chart(display, "calibration", hovers))]
    title = "Calibration"
    if fitted.target.is_classes and 0 < truth.sum() < len(truth):
        roc = RocDisplay.from_predictions(
            predicted, truth, positive=name, by_leaf=isinstance(fitted.model, Tree), ax=LATER
        )
        parts.append(Figure(chart(roc, "roc")))
        title = "Calibration and ROC curve"
    found = calibration(fitted.predicted, fitted.test.true_values, fitted.positive)
    if fitted.target.is_classes:
        both = f"observed frequency {percent_text(found.observed)}, expected {percent_text(found.expected)}"
    else:
        both = f"observed mean {number_text(found.observed, 4)}, expected {number_text(found.expected, 4)}"
    slope = "there are too few rows for a calibration slope"
    if not found.is_vague:
        slope = (
            f"calibration slope {fixed_text(found.slope, 2)} ± {fixed_text(found.slope_error, 2)}, intercept "
            f"{fixed_text(found.intercept, 2)} ± {fixed_text(found.intercept_error, 2)} (ideal: 1 and 0; a "
            "slope "
            "below 1 means that predictions are too extreme; ± is one standard error)"
        )
    ratio = "" if isnan(found.ratio) else f" (ratio {fixed_text(found.ratio, 2)})"
    parts.append(f"{fitted.outcome} in {len(truth):,} {fitted.test.name}: {both}{ratio}; {slope}.")
    return PageSection("calibration", title, EVIDENCE, parts)


def _survival_calibration(fitted: Fitted, rows: ScoredRows) -> PageSection | None:
    """Compare predicted with observed survival to the horizon, group by group."""
    hazard, times = fitted.target.hazard, rows.true_values.survival
    if hazard is None or times is None:
        return None
    risks = np.asarray(fitted.predicted[:, 0], float)
    name, cells = name_survival(hazard), []
    levels = np.unique(round_last_digits(risks))
    if len(levels) > MOST_CLASSES:
        levels = np.quantile(levels, np.linspace(0.05, 0.95, 10))
    nearest = np.abs(risks[:, None] - levels).argmin(axis=1)
    for place, risk in enumerate(levels.tolist()):
        own, weight = times.subset(nearest == place), rows.true_values.weight
        observed = describe_observed(own, None if weight is None else weight[nearest == place], hazard)
        predicted = rounded_percent(survive_horizon(hazard, risk))
        cells.append([risk_text(risk), f"{len(own.time):,}", f"{own.event.sum():,}", predicted, observed])
    found = calibration(fitted.predicted, rows.true_values)
    text = (
        f"{name[0].upper()}{name[1:]} of {len(risks):,} {rows.name}, by predicted risk: the prediction, and "
        "the observed survival (Kaplan-Meier) with its 95 % interval."
    )
    both = ""
    if not isnan(found.observed):
        both = (
            f"In all, {percent_text(found.observed)} had the event by then (Kaplan-Meier); expected "
            f"{percent_text(found.expected)}."
        )
    headings = ["risk", "rows", "events", f"predicted {name}", f"observed {name}"]
    table = TextTable(headings, cells, sides=">>>>>")
    return PageSection("calibration", "Calibration", EVIDENCE, [text, table, *([both] if both else [])])


def _confusion_section(fitted: Fitted, rows: ScoredRows) -> PageSection:
    """Show the confusion matrix of more than two classes."""
    names, n = format_class_names(fitted.target), len(fitted.target.classes)
    matrix = np.zeros((n, n), np.int64)
    np.add.at(matrix, (rows.true_values.values, fitted.decided), 1)
    seen = matrix.sum(axis=1)
    order = np.argsort(-seen, kind="stable")[:MOST_CLASSES].tolist()
    recalls = [rounded_percent(matrix[k, k] / seen[k]) if seen[k] else "" for k in range(n)]
    cells = [[names[true], *(f"{matrix[true, other]:,}" for other in order), recalls[true]] for true in order]
    left_out = f"{n - len(order)} rarer classes are left out." if n > len(order) else ""
    text = f"{len(rows):,} {rows.name}: one row of the table per true class, one column per predicted class."
    table = TextTable(["true class", *(names[place] for place in order), "recall"], cells, note=left_out)
    return PageSection("calibration", "Confusion matrix", EVIDENCE, [text, table])


def _spread_section(fitted: Fitted) -> PageSection | None:
    """Compare predictions with near-best trees and trees of other samples; None without rows or frontier."""
    if (
        fitted.test is None
        or fitted.frontier is None
        or (fitted.target.is_classes and fitted.positive is None)
    ):
        return None
    assert isinstance(fitted.model, Tree)
    limit = decision_threshold(fitted.model, fitted.positive) if fitted.positive is not None else None
    own = _predictions([fitted.model], fitted)[0]
    groups = {
        "near-best": _predictions(_near_best(fitted), fitted),
        "reference": _predictions(_sample_trees(fitted.references), fitted),
    }
    known = {name: each for name, each in groups.items() if len(each)}
    texts = {
        "near-best": "Predictions of the {} within one standard error of the best score differ by",
        "reference": "Predictions of the {} of other samples differ by",
    }
    sentences = [
        f"{texts[name].format(pluralize(len(each), 'tree'))} "
        f"{_spread_text(own, each, limit, fitted.target.is_survival)}"
        for name, each in known.items()
    ]
    display = SpreadDisplay.from_predictions(
        own, known, target=fitted.outcome, is_risk=limit is not None, ax=LATER
    )
    parts: list[Part] = [Figure(chart(display, "spread")), f"{len(own):,} {fitted.test.name}.", *sentences]
    return PageSection("spread", "How much other trees disagree, row by row", EVIDENCE, parts)


def _near_best(fitted: Fitted) -> Sequence[Tree]:
    """Return the candidates within one standard error of the best score, but for copies and the chosen."""
    frontier = fitted.frontier
    assert frontier is not None
    best = int(frontier.score.argmax())
    is_near = frontier.score >= frontier.score[best] - frontier.score_error[best]
    others = drop_copies(fitted.candidates[place] for place in np.flatnonzero(is_near).tolist())
    if fitted.chosen is not None:
        others.pop(make_tree_key(fitted.candidates[fitted.chosen]), None)
    return _sample_trees(list(others.values()))


def _sample_trees(trees: Sequence[Tree]) -> Sequence[Tree]:
    if len(trees) <= MOST_SPREAD:
        return trees
    return [
        trees[place] for place in np.linspace(0, len(trees) - 1, MOST_SPREAD).round().astype(int).tolist()
    ]


def _predictions(trees: Sequence[Tree], fitted: Fitted) -> FloatArray:
    """Return the prediction of each tree for each row, of shape (trees, rows)."""
    assert fitted.test is not None
    place, shape = fitted.positive or 0, (len(trees), len(fitted.test))
    values = np.array([tree.values(fitted.test.X)[:, place] for tree in trees]).reshape(shape)
    if (hazard := fitted.target.hazard) is not None:
        values = survival_function(hazard, values, [hazard.horizon])[..., 0]
    return values


def _spread_text(own: FloatArray, others: FloatArray, limit: float | None, is_survival: bool = False) -> str:
    """Describe the mean difference, and the fraction of the rows on the other side of the threshold."""
    apart = float(np.abs(others - own).mean())
    if limit is None:
        amount = points_text(apart) if is_survival else number_text(apart, 3)
        return f"{amount} on average from those of the chosen tree."
    is_other = (others >= limit) != (own >= limit)
    n_unsure = float((is_other.mean(axis=0) >= 0.2).mean())
    return (
        f"{100 * apart:.1f} percentage points on average from those of the chosen tree. For a threshold of "
        f"{probability_text(limit)}, the decision of such a tree differs for "
        f"{percent_text(float(is_other.mean()))} of the rows on average; for {percent_text(n_unsure)} of the "
        f"rows, at least one tree in five differs."
    )


# -- records ----------------------------------------------------------------------------------------------


def _replications_section(fitted: Fitted) -> PageSection | None:
    found = fitted.replications
    if found is None:
        return None
    ((title, (headings, *rows)),) = found.tables()
    text = (
        f"The whole procedure was repeated {found.n_replications} times with other training and test rows: "
        "means ± standard deviations."
    )
    return PageSection("replications", title, EVIDENCE, [text, TextTable(headings, rows), *found.sentences])


def _schema_section(fitted: Fitted) -> PageSection:
    """Describe the target, and every column, those in the model first."""
    data, target = fitted.record.get("data", {}), fitted.target
    n_rows, missing = data.get("rows"), data.get("missing", {})
    used = {index for tree in fitted.trees for index in set(tree.feature.tolist()) if index >= 0}
    order = sorted(range(len(fitted.schema.features)), key=lambda index: index not in used)
    rows = [
        [
            printable(each.name),
            "yes" if index in used else "",
            each.kind,
            _values_text(each),
            percent_text(missing.get(each.name, 0) / n_rows) if n_rows else "",
        ]
        for index, each in ((index, fitted.schema.features[index]) for index in order)
    ]
    name, size = _file_name(fitted), f"{pluralize(n_rows, 'row')}, " if n_rows else ""
    if target.is_classes:
        counts = data.get("target", {}).get("classes", {})
        classes = [
            f"{label_text(label)} {counts[label_text(label)]:,}"
            if label_text(label) in counts
            else label_text(label)
            for label in target.classes
        ]
        values = f" ({', '.join(classes)})"
    else:
        values = f", from {number_text(target.low, 4)} to {number_text(target.high, 4)}"
    if target.hazard is not None:
        last = time_text(target.hazard.times[-1], target.hazard.unit)
        until = time_text(target.hazard.horizon, target.hazard.unit)
        values = f" (time: {printable(target.hazard.time)}; events up to {last}; horizon {until})"
    text = (
        f"{f'{name}: ' if name else ''}{size}{pluralize(len(rows), 'column')} to predict "
        f"{printable(target.name)}{values}."
    )
    table = TextTable(["column", "in the model", "kind", "range or categories", "missing"], rows)
    return PageSection("schema", "Data", EVIDENCE, [text, table])


def _values_text(feature: Feature) -> str:
    if feature.kind == "numeric":
        return f"{number_text(feature.low, 4)} to {number_text(feature.high, 4)}"
    if feature.kind == "custom":
        return "yes or no"
    labels = [label_text(label) for label in feature.categories[:MOST_CATEGORIES]]
    more = len(feature.categories) - len(labels)
    joined = (" < " if feature.kind == "ordered" else ", ").join(labels)
    return f"{joined} and {more} more" if more else joined


def _settings_section(fitted: Fitted) -> PageSection:
    """List settings, hash of the model and versions, with which the fit can be repeated."""
    record = fitted.record
    titles = {
        "settings": "Settings",
        "columns": "Columns",
        "reading": "Reading the data",
        "division": "Training and test rows",
        "distance": "Distance between trees",
    }
    versions = {
        "holdfast": record.get("holdfast", ""),
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
    }
    parts: list[Part] = [f"Model {model_hash(fitted.model)}"]
    for title, entries in [*((titles[name], record.get(name)) for name in titles), ("Versions", versions)]:
        if entries:
            rows = [[name, _setting_text(value) or NOTHING] for name, value in entries.items()]
            parts.append(TextTable(["name", "value"], rows, title=title, sides="<<"))
    shown = record.get("warnings", ())  # at the top of the page
    notes = [*list_notes(fitted.model), *(note for note in record.get("notes", []) if note not in shown)]
    return PageSection("settings", "Settings, seed and versions", EVIDENCE, [*parts, *notes])


def _setting_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {each}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
