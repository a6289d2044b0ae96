"""What `fit` and `demo` print of the data: what was read, and which rows have which role."""

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from holdfast._text import join_parts, number_text, percent_text, pluralize, printable
from holdfast.cli.forward import forward_text, known_text
from holdfast.runs.dataset import RowRoles
from holdfast.runs.facts import data_facts
from holdfast.runs.fit import stages_text

KINDS = {"numeric": "numeric", "ordered": "ordered", "nominal": "categorical", "question": "asked for"}


def show_data(roles: RowRoles, console: Console) -> None:
    """What was read, and which rows have which role: for a stable tree, which are early and held out, too."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    texts = {"data": _data_text(roles), "target": _target_text(roles), "test": _test_text(roles)}
    if roles.prepared is not None:
        texts |= {"early": _early_text(roles)} if roles.has_early else {}
        texts |= {"held out": _held_out_text(roles)}
    for title, text in texts.items():
        grid.add_row(title, Text(text))
    console.print(grid)


def _data_text(roles: RowRoles) -> str:
    facts = data_facts(roles)
    kinds = [f"{count} {KINDS[kind]}" for kind, count in facts["columns"].items()]
    features = pluralize(roles.whole.n_features, "feature")
    text = f"{pluralize(facts['rows'], 'row')}, {features} ({', '.join(kinds)})"
    if not facts["missing"]:
        return f"{text}, no cell missing"
    worst = sorted(facts["missing"], key=lambda name: -facts["missing"][name])
    where = join_parts([f"{printable(name)} {facts['missing'][name]:,}" for name in worst], 3)
    return f"{text}; {pluralize(sum(facts['missing'].values()), 'cell')} missing: {where}"


def _target_text(roles: RowRoles) -> str:
    facts = data_facts(roles)["target"]
    name = printable(facts["name"])
    if "classes" not in facts:
        low, mean, high = (number_text(facts[key], 4) for key in ("low", "mean", "high"))
        return f"{name}: a number from {low} to {high}, mean {mean}"
    shares = [
        f"{label} {percent_text(count / roles.whole.n_rows)}" for label, count in facts["classes"].items()
    ]
    return f"{name}: {join_parts(shares, 8)}"


def _test_text(roles: RowRoles) -> str:
    if roles.test is None:
        return "no rows: nothing says how good the tree is on rows that had no part in choosing it"
    purpose = "set aside before any tree is grown, to test the model by"
    if roles.test_stages:
        return f"{forward_text(roles)}, {purpose}{known_text(roles)}"
    groups = " (whole groups)" if roles.test.true_values.groups is not None else ""
    return f"{pluralize(roles.n_test, 'row')}{groups}, {purpose}"


def _early_text(roles: RowRoles) -> str:
    which = "drawn at random"
    if roles.early_stages:
        which = f"stage {stages_text(roles.early_stages)}"
    elif len(roles.training_stages) == 1:
        which = f"drawn at random from stage {stages_text(roles.training_stages)}, the only one left"
    rows = pluralize(roles.n_training, "row")
    others = f"the other {rows}" if roles.test is not None else rows
    return (
        f"{roles.n_early:,} of {others}, {which}: reference trees learn from these, candidate trees from all"
    )


def _held_out_text(roles: RowRoles) -> str:
    rows = f"{roles.n_held_out:,} of the {roles.n_training:,}"
    if roles.divided.division.is_cross_fitted:
        rows = f"about {rows} at a time, in {len(roles.divided.division.validation)} ways"
    if roles.has_early:
        return f"{rows}: a tree is scored on rows that it was not grown on"
    return f"{rows}: they score trees made without them; the trees to choose from learn from all of these"
