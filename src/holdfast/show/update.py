"""An update: a few sentences, then the steps from the deployed tree to a fresh one."""

from math import isnan

from holdfast.distance.diff.tree_diff import TreeDiff, tree_diff
from holdfast.governance.verdict import MARKS, PolicyVerdict, figure_and_limit
from holdfast.scoring.calibration import ObservedExpected
from holdfast.show.diff_phrases import split_texts
from holdfast.stability.update.judged import NO_TREE_ALIKE
from holdfast.stability.update.path import CANDIDATE, CHANGE, FRESH, KEEP, REFIT, RETRAIN, SLACK
from holdfast.stability.update.update import LAST_DIGITS, TreeUpdate, UpdateStep, is_no_worse
from holdfast.text.numbers import counted, decimals_of_errors, fixed_text, loss_text, percent_text
from holdfast.text.table import Table
from holdfast.text.view import Section, View, legend

WORDS = {
    KEEP: "nothing: the tree as it is",
    REFIT: "the values of the leaves",
    FRESH: "all: a fresh tree",
    RETRAIN: "all: a stable tree, retrained",
    CANDIDATE: "all: the nearest of bootstrap trees",
}
SENTENCES = {
    KEEP: "keeps the tree as it is",
    FRESH: "is a fresh tree",
    RETRAIN: "is a stable tree, retrained",
    CANDIDATE: "is the nearest of the bootstrap trees",
}


def update_view(update: TreeUpdate) -> View:
    """A few sentences, the steps as a table, what each changes, and the verdict."""
    verdict = [] if update.verdict is None else [update.verdict.summary, verdict_table(update.verdict)]
    return View(update_summary(update), *path_parts(update), *verdict)


def path_parts(update: TreeUpdate) -> list[str | Table | Section]:
    """The steps as a table, what each changes, and a legend."""
    lines = []
    for number in range(len(update.steps)):
        first, *changes = step_sentences(update, number)
        lines += [first, *(f"  {change}" for change in changes)]
    without = [i for i, step in enumerate(update.steps) if step.alike is None]
    if without:
        verb = "has" if len(without) == 1 else "have"
        lines.append(f"{_steps_text(without)} {verb} no score: {NO_TREE_ALIKE}.")
    table = path_table(update)
    return [table, Section("What each step changes", lines), legend(table.headings)]


def verdict_table(verdict: PolicyVerdict, *, words: bool = False) -> Table | str:
    """The lines of a policy with figure, limit and verdict, and more on those that did not pass."""
    if not verdict.lines:
        return ""
    rows = [
        [each.name, each.subject, *figure_and_limit(each), MARKS[each.status], each.words if words else ""]
        for each in verdict.lines
    ]
    notes = [f"{each.name}: {each.words}." for each in verdict.lines if each.status != "passed"]
    return Table(
        ["line", "of", "figure", "limit", "verdict", "meaning"],
        rows,
        title="Change policy",
        note="" if words else "\n".join(notes),
        sides="<<><<<",
        tones={"pass": "good", "FAIL": "bad", "not judged": "warn"},
    )


def update_summary(update: TreeUpdate) -> str:
    """What is taken and why, and what keeping the tree would cost."""
    taken, keep = update.steps[update.taken], update.steps[0]
    sentences = [taken_sentence(update)]
    if not update.is_taken:
        sentences = [
            "The policy forbids the update: the tree stays as it is. The proposed update:",
            *sentences,
        ]
    elif update.is_forced:
        sentences = ["The update is taken by force, against the policy.", *sentences]
    if taken is not keep:
        sentences.append(_score_sentence(update))
    if calibrated := calibration_sentence(update):
        sentences.append(calibrated)
    if update.verdict is not None and update.n_scored:
        sentences.append(f"Scores and calibration are judged by the {update.n_scored:,} rows held out.")
    return " ".join(sentences)


def _score_sentence(update: TreeUpdate) -> str:
    """What the step that is taken brings."""
    taken, decimals = update.steps[update.taken], _decimals(update)
    what = f"{update.metric.title} of {_scored_text(update)}"
    if taken.alike is None:
        return f"The {update.metric.title} is unknown: {NO_TREE_ALIKE}."
    if isnan(taken.difference):
        return f"The {what} is unknown: all rows have the same target value."
    if taken.difference == 0.0 and taken.error == 0.0:
        return f"The {what}, stays as it is."
    gain = fixed_text(update.metric.shown(taken.difference), decimals, "+")
    less = " (less is better)" if update.metric.is_loss else ""
    error = fixed_text(taken.error, decimals)
    return f"Against keeping the tree as it is, {gain} ± {error} of the {what}{less}."


def observed_expected_text(found: ObservedExpected) -> str:
    """The ratio with its interval: 0.98 (0.94 to 1.11)."""
    return f"{fixed_text(found.ratio, 2)} ({fixed_text(found.low, 2)} to {fixed_text(found.high, 2)})"


def calibration_sentence(update: TreeUpdate) -> str:
    """Observed over expected with its interval, and what to do where it is off; nothing if it is unknown."""
    taken, keep = (update.steps[place].observed_expected for place in (update.taken, 0))
    if taken is None or keep is None or isnan(taken.low) or not update.n_scored:
        return ""
    was = "" if update.taken == 0 else f"; the tree as it is: {observed_expected_text(keep)}"
    told = f"Observed over expected on {_scored_text(update)}: {observed_expected_text(taken)}{was}."
    if not taken.is_off:
        return told
    much = "little" if taken.ratio > 1 else "much"
    refit = next((i for i, step in enumerate(update.steps) if step.kind == REFIT), None)
    way_out = (
        f"step {refit} of the path gives the leaves new values"
        if update.taken == 0 and refit is not None
        else "a prior of 0 lets the new rows alone decide"
    )
    return f"{told} The tree predicts too {much}: {way_out}."


def taken_sentence(update: TreeUpdate) -> str:
    """What is taken, why that is enough, and why nearer steps that fit are passed over."""
    return " ".join([_taken_words(update), *_passed_over(update)])


def _taken_words(update: TreeUpdate) -> str:
    taken, limit = update.steps[update.taken], percent_text(update.settings.tolerance)
    within = f"within {limit} of a fresh tree"
    if taken.kind == KEEP:
        if update.settings.strategy == "keep":
            return "The tree is kept as it is, as requested."
        if not _fits(update) and not update.is_asked:
            return "The tree is kept: no change was found that is as good on the rows held out."
        return "Keeping the tree is as good: nothing changed."
    if taken.kind == REFIT:
        if update.settings.strategy == "refit":
            return "As requested, only the values of the leaves change: every split stays."
        if not _fits(update):
            return "No split changes, only the values of the leaves."
        fit = "as well as it fitted the earlier rows" if taken.loss > update.settings.tolerance else within
        return f"No split changes, only the values of the leaves: with them the tree fits {fit}."
    if taken.kind == CHANGE:
        n_kept = tree_diff(update.deployed, update.tree).split_counts.kept
        kept = f"{n_kept} of {update.deployed.n_leaves - 1} splits stay as they were"
        if not _fits(update):
            return f"The tree changes as far as it goes; {kept}, and it does not fit {within}."
        if update.is_asked:
            return f"The tree changes as requested: {kept}, and it fits {within}."
        return f"The tree changes as little as possible: {kept}, and it fits {within}."
    return {
        FRESH: "A fresh tree is taken, as requested." if update.is_asked else "A fresh tree is taken.",
        RETRAIN: "The tree is retrained, as requested.",
        CANDIDATE: "The nearest of the bootstrap trees that score well enough is taken, as requested.",
    }[taken.kind]


def _passed_over(update: TreeUpdate) -> list[str]:
    """Why each nearer step that fits is not taken, and that none fits if so."""
    taken = update.steps[update.taken]
    if update.settings.strategy != "nearest" or taken.kind == KEEP:
        return []
    nearer = [i for i, step in enumerate(update.steps[: update.taken]) if _fits(update, step)]
    if update.is_asked:
        if not nearer:
            return []
        verb, side = ("fits", "is nearer") if len(nearer) == 1 else ("fit", "are nearer")
        return [f"{_steps_text(nearer)} {verb} too, and {side} to the tree as it is."]
    told = [f"Step {i} fits too, but {_drawback(update, i)}." for i in nearer]
    return told or (["No nearer step fits as well."] if taken.kind == FRESH else [])


def _steps_text(numbers: list[int]) -> str:
    word = "Step" if len(numbers) == 1 else "Steps"
    return f"{word} {' and '.join(filter(None, [', '.join(map(str, numbers[:-1])), str(numbers[-1])]))}"


def _drawback(update: TreeUpdate, number: int) -> str:
    """Why the rule passes over a step that fits."""
    step = update.steps[number]
    if step.kind == KEEP:  # it would be kept otherwise
        return "the rates of some leaves have clearly changed"
    if step.alike is None:
        return NO_TREE_ALIKE
    if not update.n_scored or is_no_worse(step, update.deployed):
        return "it changes splits"
    if update.deployed.n_leaves == 1:
        return f"its {update.metric.title} is not clearly better than that of one leaf"
    if step.difference < -LAST_DIGITS:
        what, value, error = update.metric.title, update.metric.shown(step.difference), step.error
    else:
        what = "log likelihood" if update.deployed.schema.target.is_classes else "squared error, negated,"
        value, error = step.likelihood
    decimals = max(3, decimals_of_errors([error]) or 3)
    figures = f"{fixed_text(value, decimals, '+')} ± {fixed_text(error, decimals)}"
    return f"its {what} on the rows held out is worse than that of the tree as it is ({figures})"


def _fits(update: TreeUpdate, step: UpdateStep | None = None) -> bool:
    """True if the step, by default the one that is taken, fits well enough."""
    step = step or update.steps[update.taken]
    least = update.own_loss if step.kind in (KEEP, REFIT) else 0.0
    return step.loss <= max(update.settings.tolerance, least) + SLACK


def _scored_text(update: TreeUpdate) -> str:
    if update.n_scored:
        return f"{update.n_scored:,} new rows, by trees made alike without them"
    return "the training rows, which flatter it"


def _decimals(update: TreeUpdate) -> int:
    known = decimals_of_errors([step.error for step in update.steps])
    return 3 if known is None else max(3, known)


def path_table(update: TreeUpdate, *, changes: bool = False) -> Table:
    """The figures of the steps; an arrow marks the one that is taken. With `changes`, what each changes."""
    decimals = _decimals(update)
    rows = []
    for number, step in enumerate(update.steps):
        against = ""
        if number and not isnan(step.difference):
            difference = update.metric.shown(step.difference)
            against = f"{fixed_text(difference, decimals, '+')} ± {fixed_text(step.error, decimals)}"
        rows.append(
            [
                f"{'-> ' if number == update.taken else ''}{number}",
                changes_text(update, number) if changes else "",
                f"{step.distance:.2f}",
                loss_text(step.loss),
                "" if isnan(step.score) else fixed_text(update.metric.shown(step.score), decimals),
                against,
            ]
        )
    headings = ["step", "what changes", "distance", "fit lost", update.metric.title, "against keeping"]
    return Table(headings, rows, sides="><>>>>", marked=[update.taken])


def changes_text(update: TreeUpdate, number: int) -> str:
    """What a step changes, compared with the step before it."""
    step = update.steps[number]
    if step.kind == KEEP or step.kind not in (CHANGE, REFIT):
        return WORDS[step.kind]
    diff = tree_diff(update.steps[number - 1].tree, step.tree)
    told = [split_texts(diff, split)[1] for split in diff.splits] or [WORDS[REFIT]]
    return "; ".join([*told, *_class_texts(update, diff)])


def step_sentences(update: TreeUpdate, number: int) -> list[str]:
    """What a step does, in a sentence; for changed splits, and leaves of another class, one more for each."""
    step, name = update.steps[number], f"Step {number}"
    if step.kind in SENTENCES:
        return [f"{name} {SENTENCES[step.kind]}."]
    diff = tree_diff(update.steps[number - 1].tree, step.tree)
    told = []
    for split in diff.splits:
        where, what, size = split_texts(diff, split)
        told.append(f"{where}: {what}" + (f" ({size})" if size else ""))
    told += _class_texts(update, diff)
    if not diff.splits:
        return [f"{name} changes the values of the leaves{''.join(f'; {each}' for each in told)}."]
    before = "" if number == 1 else f", compared with step {number - 1}"
    return [f"{name} changes {counted(len(diff.splits), 'split')}{before}:", *told]


def _class_texts(update: TreeUpdate, diff: TreeDiff) -> list[str]:
    """How many leaves change their class, and what that adds to the distance."""
    n_leaves = len(diff.of_kind("outcome"))
    if not n_leaves:
        return []
    verb = "changes its" if n_leaves == 1 else "change their"
    times = "" if n_leaves == 1 else f"{n_leaves} times "
    weight = f"{times}the label weight of {update.distances.label_weight:g}"
    added = f", which adds {weight} to the distance" if update.distances.outcome == "label" else ""
    return [f"{counted(n_leaves, 'leaf', 'leaves')} {verb} class{added}"]
