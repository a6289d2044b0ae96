"""How firm the answers of a stable tree are: the section of a page, and what the form for one case needs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast._arrays import BoolArray
from holdfast._text import (
    label_text,
    number_text,
    percent_text,
    plural,
    pluralize,
    printable,
    rounded_percent,
)
from holdfast._view import TextTable
from holdfast.data.survival import name_survival, survive_horizon
from holdfast.data.table import Table
from holdfast.explain.firmness import FIRM, Firmness, ReferenceTrees
from holdfast.growth.editing import grow_summary_tree
from holdfast.report.page import PageSection, Part
from holdfast.tree.rules_text import leaf_conditions
from holdfast.tree.stats import positive_class
from holdfast.tree.tree import LEAF, Tree

if TYPE_CHECKING:
    from holdfast.report.fit import Fitted

MOST_CONDITIONS = 6  # categories of a condition
DIGITS = 4  # of estimates in the form


def firmness_section(fitted: "Fitted") -> PageSection | None:
    """Return the section on rows whose answer is not firm; None without reference trees or rows."""
    references, tree = fitted.resampled, fitted.model
    table, X, of_rows = fitted.described_rows
    if references is None or not isinstance(tree, Tree) or table is None or not table.n_rows:
        return None
    found = references.firmness(tree, X)
    is_classes = found.share is not None
    title = f"For whom the {'answer is not firm' if is_classes else 'estimate is least firm'}"
    parts: list[Part] = [*_sentences(fitted, found, of_rows), *_tables(found, table)]
    return PageSection("firmness", title, "clinician", parts, facts={"firmness": _figures(found)})


def _figures(found: Firmness) -> dict[str, Any]:
    if found.share is None:
        return {"rows": len(found), "median_width": float(np.median(found.spread))}
    return {"rows": len(found), "not_firm": int((~found.is_firm()).sum()), "least": FIRM}


def _sentences(fitted: "Fitted", found: Firmness, of_rows: str) -> Iterator[str]:
    """Describe how many answers are firm, the rule of referral, and how often firm answers are right."""
    trees = f"{found.n_trees} trees trained on resampled data"
    rows = f"{len(found):,} {of_rows}"
    if found.share is None:
        yield (
            f"The interval holds nine of ten of the predictions of {trees}: what the tree might have "
            f"predicted. A narrow interval is a firm estimate. For half of the {rows} it is at most "
            f"{_width(found, float(np.median(found.spread)))} wide."
        )
        return
    n_other = int((~found.is_firm()).sum())
    yield (
        f"An answer is firm if at least {rounded_percent(FIRM)} of {trees} agree with it. Of the {rows}, "
        f"{rounded_percent(1 - n_other / len(found))} have a firm answer."
    )
    if n_other:
        yield (
            f"Not firm: a person looks. This rule refers {n_other:,} of {len(found):,} {plural(fitted.noun)} "
            f"({rounded_percent(n_other / len(found))}); the tree decides for the others."
        )
    if fitted.test is None or fitted.resampled is None or not isinstance(fitted.model, Tree):
        return
    is_firm = fitted.resampled.firmness(fitted.model, fitted.test.X).is_firm()
    right = fitted.decided == fitted.test.true_values.values
    if is_firm.any() and not is_firm.all():
        yield (
            f"Of {pluralize(int(is_firm.sum()), 'firm answer')} for the {fitted.test.name}, "
            f"{rounded_percent(float(right[is_firm].mean()))} are right; of the other "
            f"{int((~is_firm).sum()):,}, {rounded_percent(float(right[~is_firm].mean()))}."
        )


def _tables(found: Firmness, table: Table) -> Iterator[TextTable]:
    """Tabulate the groups of a small tree that describes the rows, and the rows by level of firmness."""
    is_classes = found.share is not None
    values = (~found.is_firm()).astype(np.float64) if is_classes else found.spread
    if np.ptp(values):
        tree = grow_summary_tree(table, values)
        conditions = leaf_conditions(tree, most=MOST_CONDITIONS)
        ordered = sorted(((float(tree.value[leaf, 0]), leaf) for leaf in conditions), reverse=True)
        rows = [
            [
                " and ".join(map(printable, conditions[leaf])) or "all rows",
                f"{tree.count[leaf]:,.0f}",
                percent_text(value) if is_classes else _width(found, value),
            ]
            for value, leaf in ordered
        ]
        yield TextTable(["group", "rows", "not firm" if is_classes else "mean width"], rows, sides="<>>")
    levels = next(part for part in found._view().parts if isinstance(part, TextTable))
    yield levels


def _width(found: Firmness, width: float) -> str:
    return f"{100 * width:.0f} points" if found.is_survival else number_text(float(width), 3)


# -- the form for one case --------------------------------------------------------------------------------


def pack_trees(references: ReferenceTrees, tree: Tree) -> dict[str, Any]:
    """Return all reference trees as flat lists for the script, node after node in preorder.

    `cut` is the threshold of a split, its set as hexadecimal digits, or of a leaf the class, the number, or
    survival to the horizon; `probability` has an entry for each leaf, of the positive class of two.
    """
    trees, target = references.decide_as(tree), tree.schema.target
    positive, hazard = positive_class(tree), target.hazard
    title = "" if positive is None else f"p({label_text(target.classes[positive])})"
    cut: list[Any] = []
    for each in trees:
        for node, feature in enumerate(each.feature.tolist()):
            if feature == LEAF:
                value = float(each.value[node, 0])
                value = value if hazard is None else survive_horizon(hazard, value)
                cut.append(int(each.outcome[node]) if target.is_classes else float(f"{value:.{DIGITS}g}"))
            elif each.set_start[node] >= 0:
                cut.append(pack_flags(each.left_categories(node)))
            else:
                cut.append(float(each.threshold[node]))
    of_leaves = np.concatenate([each.value[each.feature == LEAF] for each in trees])
    own = np.flatnonzero(tree.feature == LEAF).tolist()
    return {
        "feature": [number for each in trees for number in each.feature.tolist()],
        "cut": cut,
        "missing_left": "".join(str(int(flag)) for each in trees for flag in each.missing_left.tolist()),
        "probability": of_leaves[:, positive].round(DIGITS).tolist() if positive is not None else [],
        "n_nodes": [each.n_nodes for each in trees],
        "outcome": {str(leaf): int(tree.outcome[leaf]) for leaf in own} if target.is_classes else {},
        "least": FIRM,
        "title": title if hazard is None else name_survival(hazard),
    }


def pack_flags(flags: BoolArray) -> str:
    """Encode flags as hexadecimal digits, four to a digit, the first in the lowest bit.

    >>> pack_flags(np.array([True, False, False, True, True]))
    '91'
    """
    fours = np.pad(flags, (0, -len(flags) % 4)).reshape(-1, 4)
    return "".join(f"{digit:x}" for digit in (fours * [1, 2, 4, 8]).sum(axis=1).tolist())
