"""The change register: what was written stays, and what was changed is found at the right record."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast._files import hold_lock, make_hidden_path
from holdfast.errors import RegisterError
from holdfast.governance import append_record, check_register, read_register, register
from holdfast.governance.register import ChangeRecord


def hash_like(number: int) -> str:
    return f"sha256:{number:064x}"


def record(number: int = 1, **more: object) -> ChangeRecord:
    known = {"old_model": hash_like(number), "new_model": hash_like(number + 1), "data": hash_like(99)}
    return ChangeRecord(**{**known, "n_rows": 10, "seed": 7, "time": "2030-01-01T00:00:00+00:00", **more})  # type: ignore[arg-type]


def written(path: Path, n_records: int = 4) -> Path:
    for number in range(1, n_records + 1):
        append_record(path, record(number, who="Änne", why="a new year\nof data"))
    return path


# -- what is written --------------------------------------------------------------------------------------


def test_a_record_comes_back_as_it_was_given(tmp_path: Path) -> None:
    policy = {"max_churn": 0.05, "threshold_intervals": {"age": [40.0, 55.0]}}
    verdict = {"passed": True, "lines": [{"name": "max_churn", "figure": 0.01}]}
    given = record(policy=policy, verdict=verdict, forced=True, who="Ann", why="Äußerung <script>")
    added = append_record(tmp_path / "register.jsonl", given)
    assert read_register(tmp_path / "register.jsonl") == (added,)
    assert replace(added, software={}, number=None, hash=None) == given
    assert added.passed
    assert list(added.software) == ["holdfast", "python", "numpy", "scikit-learn", "numba"]


def test_each_line_has_the_hash_of_the_rest_of_it_and_of_the_line_before(tmp_path: Path) -> None:
    lines = written(tmp_path / "register.jsonl").read_bytes().splitlines()
    before = None
    for line in lines:
        content = json.loads(line)
        rest = b"{" + line.split(b",", 1)[1]
        assert content["hash"] == "sha256:" + sha256(rest).hexdigest()
        assert content["previous"] == before
        before = content["hash"]


def test_a_time_is_given_where_there_is_none(tmp_path: Path) -> None:
    added = append_record(tmp_path / "register.jsonl", record(time=None))
    assert added.time is not None
    assert added.time.endswith("+00:00")


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"new_model": "model.json"}, "new_model"),
        ({"seed": "seven"}, "seed"),
        ({"who": 5}, "who"),
        ({"verdict": {"figure": float("nan")}}, "JSON"),
        ({"verdict": {"figure": object()}}, "JSON"),
        ({"forced": True, "taken": False}, "forced"),
        ({"verdict": {"passed": False}}, "set forced=True, or taken=False"),
        ({"n_rows": -1}, "n_rows"),
    ],
)
def test_what_no_register_takes_leaves_nothing_on_the_disk(
    wrong: dict[str, object], word: str, tmp_path: Path
) -> None:
    with pytest.raises(RegisterError, match=word):
        append_record(tmp_path / "register.jsonl", record(**wrong))
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_file_is_one_clear_error(tmp_path: Path) -> None:
    for work in (lambda path: append_record(path, record()), check_register, read_register):
        with pytest.raises(RegisterError, match="folder"):
            work(tmp_path)
    with pytest.raises(RegisterError, match="no folder"):
        append_record(tmp_path / "none" / "register.jsonl", record())
    with pytest.raises(FileNotFoundError):
        check_register(tmp_path / "none.jsonl")


def test_an_empty_file_is_a_register_without_records(tmp_path: Path) -> None:
    path = tmp_path / "register.jsonl"
    path.touch()
    assert check_register(path).is_sound
    assert append_record(path, record()).number == 1


# -- what is broken ---------------------------------------------------------------------------------------


def number_of_line(content: bytes, place: int) -> int:
    return content.count(b"\n", 0, place) + 1


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(tmp_path_factory.mktemp("register") / "register.jsonl").read_bytes()


@given(st.data())
def test_any_byte_of_any_record_that_is_changed_is_found_at_that_record(
    content: bytes, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[place]))
    changed = content[:place] + bytes([byte]) + content[place + 1 :]
    check = checked(changed)
    expected = number_of_line(content, place)
    assert (check.broken, len(check.records)) == (expected, expected - 1), check.reason


@given(st.data())
def test_a_register_that_is_cut_off_within_a_record_is_broken_there(
    content: bytes, data: st.DataObject
) -> None:
    ends = {place + 1 for place, byte in enumerate(content) if byte == 10}
    place = data.draw(st.integers(1, len(content) - 1).filter(lambda place: place not in ends))
    check = checked(content[:place])
    assert check.broken == number_of_line(content, place)
    assert "cut off" in check.reason


@given(st.permutations(range(4)).filter(lambda order: order != sorted(order)))
def test_records_in_another_order_are_found_at_the_first_that_moved(content: bytes, order: list[int]) -> None:
    lines = content.splitlines(keepends=True)
    first = next(place for place, number in enumerate(order) if place != number)
    assert checked(b"".join(lines[number] for number in order)).broken == first + 1


@pytest.mark.parametrize("removed", [0, 1, 2])
def test_a_record_that_was_removed_is_missed_at_its_place(content: bytes, removed: int) -> None:
    lines = content.splitlines(keepends=True)
    check = checked(b"".join(lines[:removed] + lines[removed + 1 :]))
    assert check.broken == removed + 1
    assert f"record {removed + 2} stands in its place" in check.reason


def test_a_record_that_was_written_anew_is_found_by_the_one_after_it(content: bytes) -> None:
    lines = content.splitlines(keepends=True)
    rest = b"{" + lines[1].split(b",", 1)[1].replace(b'"seed":7', b'"seed":8').rstrip()
    lines[1] = b'{"hash":"sha256:%b",%b\n' % (sha256(rest).hexdigest().encode(), rest[1:])
    check = checked(b"".join(lines))
    assert check.broken == 3
    assert "rewritten" in check.reason


def test_only_a_hash_from_elsewhere_tells_that_the_end_was_removed(content: bytes) -> None:
    last = json.loads(content.splitlines()[-1])["hash"]
    shorter = b"".join(content.splitlines(keepends=True)[:-1])
    assert checked(content, head=last).is_sound
    assert checked(content, head=last[7:17]).is_sound
    assert checked(shorter).is_sound
    assert checked(shorter, head=last).broken == 4
    with pytest.raises(RegisterError, match="'xyz' is not a hash"):
        checked(content, head="xyz")


def test_other_line_ends_blank_lines_and_other_files_are_broken(content: bytes) -> None:
    assert checked(content.replace(b"\n", b"\r\n")).broken == 1
    assert checked(content + b"\n").broken == 5
    assert checked(b'{"format": "holdfast-model"}\n').broken == 1
    assert checked(bytes(range(256))).broken == 1


def test_a_broken_register_takes_no_record_and_is_not_read(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "register.jsonl"
    path.write_bytes(content.replace(b'"seed":7', b'"seed":9', 1))
    before = path.read_bytes()
    with pytest.raises(RegisterError, match=r"record 1 is broken: it was changed.*begin another register"):
        append_record(path, record())
    with pytest.raises(RegisterError, match="record 1 is broken"):
        read_register(path)
    assert path.read_bytes() == before


def test_a_record_of_a_newer_version_says_so(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.governance.register.FORMAT", 0)
    assert "newer holdfast" in checked(content).reason


def checked(content: bytes, head: str | None = None) -> register.RegisterCheck:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "register.jsonl"
        path.write_bytes(content)
        return check_register(path, head=head)


# -- processes --------------------------------------------------------------------------------------------

APPENDING = """
import sys
from test_register import record
from holdfast.governance.register import append_record
for number in range(50):
    append_record(sys.argv[1], record(number, who=sys.argv[2]))
"""


def test_two_processes_that_write_at_the_same_time_both_get_their_records_in(tmp_path: Path) -> None:
    path = tmp_path / "register.jsonl"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])}
    both = [
        subprocess.Popen([sys.executable, "-c", APPENDING, path, who], env=environment)
        for who in ("Ann", "Bob")
    ]
    assert [process.wait(120) for process in both] == [0, 0]
    records = read_register(path)
    assert len(records) == 100
    for who in ("Ann", "Bob"):
        assert [each.old_model for each in records if each.who == who] == [hash_like(n) for n in range(50)]
    assert [entry.name for entry in tmp_path.iterdir()] == ["register.jsonl"]


def test_a_register_that_another_process_holds_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "register.jsonl", 1)
    before = path.read_bytes()
    monkeypatch.setattr(register, "SECONDS", 0.05)
    with (
        hold_lock(make_hidden_path(path.resolve(), ".lock"), "No"),
        pytest.raises(RegisterError, match=rf"'{path}': process {os.getpid()} on .* try again\."),
    ):
        append_record(path, record())
    assert path.read_bytes() == before
    append_record(path, record())


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("n_records", [0, 2])
def test_a_line_that_does_not_reach_the_disk_leaves_the_register_as_it_was(
    error: BaseException, n_records: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "register.jsonl", n_records)
    before = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}

    def full(_: int) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(type(error)) as caught:
            append_record(path, record())
    if isinstance(caught.value, OSError):
        assert caught.value.filename == str(path.resolve())
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == before
    append_record(path, record())
    assert check_register(path).is_sound
