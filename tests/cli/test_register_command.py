"""`holdfast register` from the terminal."""

from pathlib import Path

import pytest
from command_line import holdfast, refusal

from holdfast import ChangePolicy, Table, grow, save
from holdfast.governance import append_record, change_record, model_hash, read_register

TABLE = Table.from_arrays([[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
TREE = grow(TABLE)
MOVED = TREE.replace(threshold=TREE.threshold + 0.25)


@pytest.fixture
def register(tmp_path: Path) -> Path:
    """Three changes: there, back by force, and one that was not taken."""
    path = tmp_path / "register.jsonl"
    failed = ChangePolicy(thresholds="never").check(MOVED, TREE, TABLE)
    append_record(path, change_record(TREE, MOVED, TABLE, seed=1))
    forced = change_record(
        MOVED, TREE, TABLE, verdict=failed, forced=True, who="Ann", why="The old one was better."
    )
    append_record(path, forced)
    append_record(path, change_record(TREE, MOVED, verdict=failed, taken=False))
    return path


def test_a_sound_register_says_its_last_hash(register: Path) -> None:
    result = holdfast("register", "check", register)
    last = read_register(register)[-1].hash
    assert (result.exit_code, result.stdout) == (0, f"{register}: 3 records are sound, the last is {last}.\n")
    assert holdfast("register", "check", register, "--head", last).exit_code == 0
    to_file = holdfast("register", "check", register, "-o", register.with_name("check.txt"))
    assert (to_file.exit_code, to_file.stdout) == (0, "")
    assert register.with_name("check.txt").read_text() == result.stdout


def test_a_broken_register_ends_with_exit_code_3_and_names_the_record(register: Path) -> None:
    register.write_bytes(register.read_bytes().replace(b"Ann", b"Bob"))
    result = holdfast("register", "check", register)
    assert result.exit_code == 3
    reason = "it was changed: its content does not match its hash."
    assert result.stdout == f"{register}: record 2 is broken: {reason} 1 record is sound before it.\n"
    shown = holdfast("register", "show", register)
    assert shown.exit_code == 3
    assert len(shown.stdout.splitlines()) == 2
    assert "record 2 is broken" in shown.stderr


def test_the_records_in_words(register: Path, tmp_path: Path) -> None:
    result = holdfast("register", "show", register)
    assert result.exit_code == 0
    old, new = (model_hash(tree)[7:19] for tree in (TREE, MOVED))
    words = [line.split() for line in result.stdout.splitlines()]
    assert words[1][2:] == [old, new, "4", "none", "taken"]
    assert words[2][2:] == [new, old, "4", "failed", "forced"]
    assert words[3] == ["Ann:", "The", "old", "one", "was", "better."]
    assert words[4][2:] == [old, new, "failed", "not", "taken"]
    assert len(holdfast("register", "show", register, "--last", 1).stdout.splitlines()) == 2
    assert holdfast("register", "show", register, "-o", tmp_path / "out.txt").stdout == ""
    assert (tmp_path / "out.txt").read_text() == result.stdout


def test_a_model_that_a_record_names_is_found(register: Path, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    save(MOVED, tmp_path / "models" / "june.json")
    new_model = read_register(register)[0].new_model
    result = holdfast("register", "find", new_model[7:19], tmp_path)
    assert (result.exit_code, result.stdout) == (0, f"{tmp_path / 'models' / 'june.json'}\n")
    assert "No file in" in refusal(holdfast("register", "find", "0" * 64, tmp_path))


def test_bad_input_is_one_line(register: Path, tmp_path: Path) -> None:
    assert "No such file" in refusal(holdfast("register", "check", tmp_path / "none.jsonl"))
    assert "folder" in refusal(holdfast("register", "check", tmp_path))
    assert "'xyz' is not a hash" in refusal(holdfast("register", "check", register, "--head", "xyz"))
    assert "it is what is read" in refusal(holdfast("register", "show", register, "-o", register))
