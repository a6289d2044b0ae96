"""Model files that were edited: each is refused, or holds a model that predicts every row."""

from edited_files import run


def test_edited_files_are_refused_or_give_sound_models() -> None:
    counts, faults = run(240)
    assert faults == []
    assert counts["refused"] + counts["loaded"] == 240
    assert counts["raw, loaded"] > 10
    assert counts["structural, loaded"] > 20
    assert counts["structural, refused"] > 40
