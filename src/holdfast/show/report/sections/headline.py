"""The first screen: what the model says, how good it is, and how firmly it stands."""

from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import KeyFigure
from holdfast.show.report.sections.schema import file_name
from holdfast.show.report.sections.scores import score_sentence, test_score
from holdfast.show.report.sentences import interval_text, listing, plural
from holdfast.text.lines import printable, shortened
from holdfast.text.numbers import counted, in_words, number_text, rounded_percent, with_errors
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import format_class_names

FIRM = 0.5  # of the trees of other samples ask the same
MOST_NAMED = 5  # columns in the headline
LONGEST = 40  # letters of a name


def headline(fitted: Fitted) -> tuple[str, ...]:
    """What the model says; how good it is; how firmly it stands."""
    says = _tree_says(fitted, fitted.model) if isinstance(fitted.model, Tree) else _trees_say(fitted)
    return tuple(filter(None, [says, score_sentence(fitted), _stands(fitted)]))


def _name(text: str) -> str:
    return shortened(printable(text), LONGEST)


def _outcome(fitted: Fitted) -> str:
    target = fitted.target
    if fitted.positive is None:
        return _name(target.name)
    return f"{_name(target.name)} = {_name(format_class_names(target)[fitted.positive])}"


def _tree_says(fitted: Fitted, tree: Tree) -> str:
    noun = fitted.noun
    if tree.n_leaves == 1:
        return f"The tree asks nothing: it says the same of every {noun}."
    asked = list(dict.fromkeys(tree.schema.names[index] for index in tree.feature.tolist() if index != LEAF))
    columns = (
        listing(map(_name, asked))
        if len(asked) <= MOST_NAMED
        else (f"{in_words(len(asked))} of {len(tree.schema.features)} columns, first {_name(asked[0])}")
    )
    groups = f"The tree sorts {plural(noun)} into {in_words(tree.n_leaves)} groups by {columns}."
    if tree.schema.target.is_classes and fitted.positive is None:
        return f"{groups} {_classes_said(tree)}"
    low, high = _ends(fitted, tree)
    if not tree.schema.target.is_classes:
        ends = f"{number_text(low, 3)} in the lowest group to {number_text(high, 3)} in the highest"
        return f"{groups} The {_outcome(fitted)} that it says goes from {ends}."
    return (
        f"{groups} The risk of {_outcome(fitted)} goes from {rounded_percent(low)} in the lowest group "
        f"to {rounded_percent(high)} in the highest."
    )


def _classes_said(tree: Tree) -> str:
    """Which classes the leaves say, and how many are never said."""
    names = format_class_names(tree.schema.target)
    said = sorted(set(tree.outcome[tree.feature == LEAF].tolist()))
    told = (
        listing(_name(names[place]) for place in said) if len(said) <= MOST_NAMED else f"{len(said)} classes"
    )
    never = len(names) - len(said)
    verb = "is" if never == 1 else "are"
    return f"They say {told}" + (
        f"; {in_words(never)} of {in_words(len(names))} classes {verb} never said." if never else "."
    )


def _ends(fitted: Fitted, tree: Tree) -> tuple[float, float]:
    values = tree.value[tree.feature == LEAF, fitted.positive or 0]
    return float(values.min()), float(values.max())


def _trees_say(fitted: Fitted) -> str:
    first = [_name(each.name) for each in fitted.uses if each.anywhere > 0][:3]
    most = f", most of all {listing(first)}" if first else ""
    return f"The mean or sum of {len(fitted.trees)} trees predicts {_outcome(fitted)}{most}."


def _stands(fitted: Fitted) -> str:
    """How many of the splits another sample would probably have led to."""
    supports = fitted.supports
    if not supports:
        return ""
    firm, first = sum(each.references >= FIRM for each in supports), supports[0]
    return (
        f"Grown again on {len(fitted.references)} other samples, {rounded_percent(first.references)} of the "
        f"trees ask about {_name(first.feature)} first, as this one does; {in_words(firm)} of its "
        f"{in_words(len(supports))} splits {'is' if firm == 1 else 'are'} asked at the same place by at "
        "least half of them."
    )


# -- key figures ------------------------------------------------------------------------------------------


def key_figures(fitted: Fitted) -> tuple[KeyFigure, ...]:
    """The numbers that a reader looks for first."""
    return tuple(_figures(fitted))


def _figures(fitted: Fitted) -> list[KeyFigure]:
    found = []
    score = test_score(fitted)
    if score is not None:
        value, _, error = with_errors([score[0]], [score[1]])[0].partition(" ± ")
        rows = fitted.record.get("division", {}).get("test_rows")
        name = "rows it has not seen" if fitted.test is None or fitted.test.are_new else "rows given"
        rows = rows or (len(fitted.test.true_values.values) if fitted.test is not None else 0)
        found.append(KeyFigure(value, f"{fitted.metric.title} on test rows", f"± {error}, {rows:,} {name}"))
    model = fitted.model
    if isinstance(model, Tree):
        if fitted.positive is not None and model.n_leaves > 1:
            low, high = _ends(fitted, model)
            found.append(KeyFigure(interval_text(low, high), "Risk by group", _outcome(fitted)))
        if fitted.supports:
            first = fitted.supports[0]
            found.append(
                KeyFigure(
                    rounded_percent(first.references),
                    "First question stands",
                    "of trees of other samples ask it first",
                )
            )
        found.append(
            KeyFigure(str(model.n_leaves), "Rules", f"at most {counted(model.depth, 'question')} each")
        )
    else:
        found.append(KeyFigure(str(len(fitted.trees)), "Trees", ""))
    rows = fitted.record.get("division", {}).get("training_rows") or (
        model.count[0] if isinstance(model, Tree) else 0
    )
    if rows:
        found.append(
            KeyFigure(f"{rows:,.0f}", "Training rows", f"{counted(len(fitted.schema.columns), 'column')}")
        )
    return found


def subtitle(fitted: Fitted) -> str:
    """What kind of model it is, and of which data."""
    name = file_name(fitted.record.get("data", {}).get("source", ""))
    kinds = {
        "stable": "Stable decision tree",
        "tree": "Decision tree",
        "pruned": "Pruned decision tree",
        "forest": "Random forest",
        "boosting": "Boosted trees",
    }
    model = fitted.record.get("settings", {}).get("model", "")
    kind = kinds.get(model, "Decision tree" if isinstance(fitted.model, Tree) else "Ensemble of trees")
    if fitted.supports:
        kind = "Stable decision tree"
    return f"{kind} · {printable(name)}" if name else kind


def title(fitted: Fitted) -> str:
    """What the page is called, unless the user says otherwise."""
    if fitted.positive is None:
        return f"Predicting {_name(fitted.target.name)}"
    return f"Risk of {_outcome(fitted)}"
