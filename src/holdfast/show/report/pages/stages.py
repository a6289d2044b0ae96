"""The page of a sequence of stages: what became of the tree from one to the next."""

from collections.abc import Iterator
from math import isnan

from holdfast.show.report.figures import inline_svg
from holdfast.show.report.given import Given
from holdfast.show.report.page import KeyFigure, Page, Section
from holdfast.show.report.sections.tables import tables_section
from holdfast.show.stages import CURVE, curve_rows, stage_moves, stage_rows
from holdfast.stability.stages.sequence import StageSequence
from holdfast.text.numbers import counted, fixed_text


def page_of(sequence: StageSequence, given: Given) -> Page:
    """The page of one tree after another."""
    name = given.model_card.get("name") or sequence.trees[0].schema.target.name
    return Page(
        kind="stages",
        title=given.title or f"{name}: one tree after another",
        subtitle=f"{counted(len(sequence), 'stage')}, {sequence.labels[0]} to {sequence.labels[-1]}",
        headline=(sequence.summary,),
        key_figures=tuple(_key_figures(sequence)),
        sections=tuple(_sections(sequence)),
        facts={"stages": sequence.to_dict()},
    )


def _sections(sequence: StageSequence) -> Iterator[Section]:
    picture = {
        "stages": inline_svg(sequence.to_svg(), "stages", "What is asked at each place, stage by stage")
    }
    yield tables_section("stages", "Stage by stage", [("", stage_rows(sequence))], figures=picture)
    if moves := list(stage_moves(sequence)):
        yield tables_section("moves", "Which rule moved when", lists=moves)
    if sequence.curve:
        yield tables_section("curve", CURVE, [("", curve_rows(sequence))])
    last = inline_svg(sequence.trees[-1].to_svg(), "last-tree", f"The tree of {sequence.labels[-1]}")
    yield tables_section("last", f"The tree of {sequence.labels[-1]}", figures={"tree": last})


def _key_figures(sequence: StageSequence) -> Iterator[KeyFigure]:
    yield KeyFigure(str(len(sequence)), "Stages", f"{sequence.labels[0]} to {sequence.labels[-1]}")
    yield KeyFigure(fixed_text(sequence.total_distance, 2), "Moved in all", "sum of the distances")
    if not isnan(sequence.mean_churn):
        yield KeyFigure(fixed_text(sequence.mean_churn, 3), "Mean churn", "from one stage to the next")
    if not isnan(sequence.mean_forward_score):
        score = fixed_text(sequence.metric.shown(sequence.mean_forward_score), 3)
        yield KeyFigure(score, f"{sequence.metric.title} on the next stage", "mean")
