"""A sequence of stages in words."""

from functools import cache

import numpy as np
import pytest

from holdfast import StableTreeClassifier, Table, grow
from holdfast.tree.tree import Tree
from holdfast.update.sequence import StageSequence, classify_change
from reference.staged_rows import QUICK, split, years
from snapshots import check_snapshot


@cache
def sequence(strategy: str = "shortest-path", n_years: int = 4) -> StageSequence:
    data = years(n_years)
    model = StableTreeClassifier(**QUICK)
    return model.fit_stages(*split(data), stage=data["year"], strategy=strategy, compare=True).stages_


def stump(threshold: float = 40.0, column: int = 0) -> Tree:
    values = np.array([[0.0, 0.0], [100.0, 100.0], [35.0, 35.0], [45.0, 45.0]])
    tree = grow(Table.from_arrays(values, ["no", "yes", "no", "yes"]))
    return tree.replace(
        threshold=tree.threshold + threshold - 40.0, feature=np.where(tree.feature < 0, -1, column)
    )


def test_kinds_say_how_far_a_tree_changed() -> None:
    tree = stump()
    assert classify_change(tree, tree) == "same"
    assert classify_change(tree, tree.replace(value=tree.value[::-1])) == "refit"
    assert classify_change(tree, stump(50.0)) == "moved"
    assert classify_change(tree, stump(column=1)) == "new root"


def test_the_table_has_a_line_for_every_stage_and_the_text_every_split_that_moved() -> None:
    found = sequence()
    lines = str(found).splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("stage  "))
    assert [line.split()[0] for line in lines[head + 1 : head + 5]] == list(found.labels)
    words = " ".join(str(found).split())
    for stage, diff in zip(found.stages[1:], found.diffs, strict=True):
        line_of_stage = next(line for line in lines if line.startswith(f"  {stage.label}: "))
        assert stage.kind != "moved" or "threshold" in line_of_stage
        for split_change in diff.splits:
            name = (split_change.new or split_change.old).name
            assert f"{name} " in words
    assert "-> 0.02" in str(found)
    assert max(map(len, found.summary.splitlines())) > 0


@pytest.mark.parametrize("how", ["update", "shortest-path"])
def test_figures_come_as_a_frame_and_as_plain_data(how: str) -> None:
    import json

    found = sequence(how)
    frame = found.to_frame("pandas")
    assert frame["label"].tolist() == list(found.labels)
    assert np.isnan(frame["distance"][0])
    assert ("distance_then" in frame) == (how == "shortest-path")
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["stages"]["distance"][0] is None
    assert plain["total_distance"] == found.total_distance
    assert len(plain["curve"]) == len(found.curve)


def test_a_sequence_is_told() -> None:
    check_snapshot("stages", str(sequence()))
    html = sequence()._repr_html_()
    assert html.count("<table>") == 3
    assert "<svg" in html
    assert "movement weight" not in sequence("update")._repr_html_()


def test_one_stage_is_told_in_one_sentence() -> None:
    assert sequence("update", 1).summary == "One stage, 2001: the tree of an ordinary fit."
