"""What `fit` and `demo` print of the data: what was read, and which rows have which role."""

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from holdfast.cli.forward import forward_text, known_text, stages_text
from holdfast.cli.study import Study
from holdfast.cli.summary import data_facts
from holdfast.text.lines import printable
from holdfast.text.lists import joined
from holdfast.text.numbers import counted, number_text, percent_text

KINDS = {"numeric": "numeric", "ordered": "ordered", "nominal": "categorical", "question": "asked for"}


def show_data(study: Study, console: Console, *, early: bool = True) -> None:
    """What was read, and which rows have which role: for a stable tree, which are early and held out, too."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    texts = {"data": _data_text(study), "target": _target_text(study), "test": _test_text(study)}
    if early:
        texts |= {"early": _early_text(study), "held out": _held_out_text(study)}
    for title, text in texts.items():
        grid.add_row(title, Text(text))
    console.print(grid)


def _data_text(study: Study) -> str:
    facts = data_facts(study)
    kinds = [f"{count} {KINDS[kind]}" for kind, count in facts["columns"].items()]
    features = counted(study.whole.n_features, "feature")
    text = f"{counted(facts['rows'], 'row')}, {features} ({', '.join(kinds)})"
    if not facts["missing"]:
        return f"{text}, no cell missing"
    worst = sorted(facts["missing"], key=lambda name: -facts["missing"][name])
    where = joined([f"{printable(name)} {facts['missing'][name]:,}" for name in worst], 3)
    return f"{text}; {counted(sum(facts['missing'].values()), 'cell')} missing: {where}"


def _target_text(study: Study) -> str:
    facts = data_facts(study)["target"]
    name = printable(facts["name"])
    if "classes" not in facts:
        low, mean, high = (number_text(facts[key], 4) for key in ("low", "mean", "high"))
        return f"{name}: a number from {low} to {high}, mean {mean}"
    shares = [
        f"{label} {percent_text(count / study.whole.n_rows)}" for label, count in facts["classes"].items()
    ]
    return f"{name}: {joined(shares, 8)}"


def _test_text(study: Study) -> str:
    if study.test is None:
        return "no rows: nothing says how good the tree is on rows that had no part in choosing it"
    purpose = "set aside before any tree is grown, to test the model by"
    if study.test_stages:
        return f"{forward_text(study)}, {purpose}{known_text(study)}"
    groups = " (whole groups)" if study.test.true_values.groups is not None else ""
    return f"{counted(study.n_test, 'row')}{groups}, {purpose}"


def _early_text(study: Study) -> str:
    which = "drawn at random"
    if study.early_stages:
        which = f"stage {stages_text(study.early_stages)}"
    elif len(study.training_stages) == 1:
        which = f"drawn at random from stage {stages_text(study.training_stages)}, the only one left"
    rows = counted(study.n_training, "row")
    others = f"the other {rows}" if study.test is not None else rows
    return (
        f"{study.n_early:,} of {others}, {which}: reference trees learn from these, candidate trees from all"
    )


def _held_out_text(study: Study) -> str:
    rows = f"{study.n_held_out:,} of the {study.n_training:,}"
    if study.division.is_cross_fitted:
        rows = f"about {rows} at a time, in {len(study.division.validation)} ways"
    return f"{rows}: a tree is scored on rows that it was not grown on"
