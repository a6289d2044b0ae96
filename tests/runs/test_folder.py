"""The folder of a run is whole, or not there at all."""

from pathlib import Path

import pytest

from holdfast.runs import folder as run_folder
from holdfast.runs.folder import new_run


def written(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def earlier_run(folder: Path) -> None:
    folder.mkdir()
    for name in ("model.json", "summary.json", "frontier.csv", "tree.svg"):
        (folder / name).write_text("old")
    (folder / "collections").mkdir()
    (folder / "collections" / "references.json").write_text("old")


def interrupt(folder: Path, error: type[BaseException]) -> None:
    with new_run(folder) as draft:
        (draft / "model.json").write_text("half")
        raise error


class Broken(BaseException):
    """Stands for anything that ends a run, Ctrl-C included."""


# -- the place of a run -----------------------------------------------------------------------------------


def test_a_run_appears_as_a_whole(tmp_path: Path) -> None:
    with new_run(tmp_path / "deep" / "run") as draft:
        (draft / "model.json").write_text("new")
        assert not (tmp_path / "deep" / "run").exists()
    assert written(tmp_path) == {"deep/run/model.json": b"new"}


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt, OSError])
def test_after_a_failure_nothing_is_left_and_an_earlier_run_is_intact(
    error: type[BaseException], tmp_path: Path
) -> None:
    earlier_run(tmp_path / "run")
    before = written(tmp_path)
    for name in ("run", "new", "deep/er/new"):
        with pytest.raises(error):
            interrupt(tmp_path / name, error)
    assert written(tmp_path) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def test_an_earlier_run_is_replaced_and_what_others_put_there_stays(tmp_path: Path) -> None:
    earlier_run(tmp_path / "run")
    (tmp_path / "run" / "notes.txt").write_text("mine")
    with new_run(tmp_path / "run") as draft:
        (draft / "model.json").write_text("new")
    assert written(tmp_path) == {"run/model.json": b"new", "run/notes.txt": b"mine"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def test_an_earlier_run_comes_back_if_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier_run(tmp_path / "run")
    before = written(tmp_path)
    rename = Path.rename

    def fail_once(self: Path, target: Path) -> Path:
        if self.name == "ready" and target.name == "run":
            raise OSError("no")
        return rename(self, target)

    monkeypatch.setattr(run_folder, "exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", fail_once)
    with pytest.raises(OSError, match="no"), new_run(tmp_path / "run") as draft:
        (draft / "model.json").write_text("new")
    assert written(tmp_path) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def test_an_empty_folder_and_a_link_to_one_can_be_filled(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    with new_run(tmp_path / "link") as draft:
        (draft / "model.json").write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "empty" / "model.json").read_text() == "new"
