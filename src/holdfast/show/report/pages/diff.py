"""The page of a diff: both trees, rule by rule what changed, and who gets another answer."""

from collections.abc import Iterator
from dataclasses import replace

from holdfast.distance.diff.rows import RowChanges
from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.show.diff import row_sections
from holdfast.show.diff_words import rules_sentence, score_figures
from holdfast.show.report.given import Given
from holdfast.show.report.page import KeyFigure, Page, Section
from holdfast.show.report.sections.both_trees import CHANGE, both_trees_section
from holdfast.show.report.sections.case import case_section, tree_data
from holdfast.show.report.sections.rule_changes import rule_changes_section
from holdfast.show.report.sections.tables import tables_section
from holdfast.text.numbers import counted, fixed_text, percent_text
from holdfast.tree.positive import positive_class


def page_of(diff: TreeDiff, given: Given) -> Page:
    """The page of what changed between two trees."""
    name = given.model_card.get("name") or diff.new.schema.target.name
    place, rules = diff_place(diff, given), rules_sentence(diff)
    return Page(
        kind="diff",
        title=given.title or f"{name}: what changed",
        subtitle="Two trees compared",
        headline=tuple(filter(None, [rules, diff.summary.removeprefix(rules).strip()])),
        key_figures=tuple(_key_figures(diff)),
        sections=tuple(_sections(diff, place, given.model_card.get("case", "case"))),
    )


def diff_place(diff: TreeDiff, given: Given) -> int | None:
    """The class that matters: the one asked for, the one that swap-ins come to, or that of the old tree."""
    asked = given.positive
    if asked is None and diff.rows is not None:
        asked = diff.rows.positive
    return positive_class(diff.old, asked)


def _sections(diff: TreeDiff, place: int | None, noun: str) -> Iterator[Section]:
    positive = None if place is None else diff.old.schema.target.classes[place]
    yield both_trees_section(diff, positive)
    yield rule_changes_section(diff, place)
    if max(diff.old.n_leaves, diff.new.n_leaves) > 1:
        trees = diff.old, diff.new
        data = [
            tree_data(name, tree, place, noun) for name, tree in zip(("Before", "After"), trees, strict=True)
        ]
        yield replace(case_section(data, trees, place, noun, in_use=1), audience=CHANGE)
    if diff.rows is not None:
        found = list(row_sections(diff))
        tables = [(each.title, each.grid) for each in found if each.grid]
        lists = [(each.title, each.lines) for each in found if not each.grid]
        lines = [
            f"{each.title} {line[:1].upper()}{line[1:]}" for each in found if each.grid for line in each.lines
        ]
        section = tables_section("rows", "Who gets another answer", tables, lists=lists, paragraphs=lines)
        yield replace(section, audience=CHANGE)


def _key_figures(diff: TreeDiff) -> Iterator[KeyFigure]:
    same = len(diff.same)
    yield KeyFigure(str(len(diff.changes)), "Rules that changed", f"{counted(same, 'rule')} the same")
    first = "the first question stays" if diff.same_root else "another first question"
    yield KeyFigure(str(diff.split_counts.changed), "Splits that changed", first)
    yield KeyFigure(fixed_text(diff.distance.total, 2), "Distance", f"matching {diff.distance.matching!r}")
    if diff.rows is not None:
        yield from _row_figures(diff.rows)


def _row_figures(rows: RowChanges) -> Iterator[KeyFigure]:
    of = f"of {counted(rows.n_rows, 'row')}"
    if rows.flips == rows.flips:  # of classes
        yield KeyFigure(percent_text(rows.flips), "Another class", of)
    yield KeyFigure(fixed_text(rows.churn, 3), "Churn", f"mean change of the answers {of}")
    if rows.metric is not None and rows.verdict != "unknown":
        old, new, difference, low, high = score_figures(rows)
        tone = "" if rows.new_learned else {"better": "good", "worse": "bad"}.get(rows.verdict, "")
        where = "; rows learned from" if rows.new_learned else ""
        yield KeyFigure(new, rows.metric.title, f"was {old}; {difference} ({low} to {high}){where}", tone)
