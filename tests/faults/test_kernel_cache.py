"""Kernels compile and run whatever is wrong with the place where they are kept."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import warnings
from ast import literal_eval
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import numba
import pytest

from holdfast.kernels import _numba as cache
from holdfast.kernels import shipped
from holdfast.kernels.shipped import hash_sources
from reference.small_disks import small_disk_at

# A kernel of one line, which compiles in no time, in a file and a folder of its own.
KERNEL = """
from holdfast.kernels.jit import kernel

@kernel
def twice(number) -> float:
    return 2 * number
"""
PROGRAM = """
import warnings
from small_kernel import twice

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    results = [twice(21), twice(2.5), twice(21)]
print(results, sum(twice.compiled.stats.cache_hits.values()), [str(each.message) for each in caught])
"""
NO_JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"

pytestmark = pytest.mark.skipif(NO_JIT, reason="nothing is compiled")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    path = tmp_path / "source" / "small_kernel.py"
    path.parent.mkdir()
    path.write_text(KERNEL)
    return path


def used(source: Path) -> tuple[int, list[str]]:
    """The number of kernels that a program finds on disk, and the warnings, as if it had started just now."""
    cache._problems.clear()
    hash_sources.cache_clear()
    twice = runpy.run_path(str(source))["twice"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [twice(21), twice(2.5), twice(21)] == [42, 5.0, 42]
    return sum(twice.compiled.stats.cache_hits.values()), [str(each.message) for each in caught]


def started(source: Path, program: str = PROGRAM, **environment: str) -> "subprocess.Popen[str]":
    """The same in a process of its own."""
    left_out = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    inherited = {name: value for name, value in os.environ.items() if name not in left_out}
    return subprocess.Popen(
        [sys.executable, "-B", "-c", program],
        env={**inherited, **environment},
        cwd=source.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said_by(process: "subprocess.Popen[str]") -> tuple[int, list[str]]:
    output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    results, hits, texts = re.fullmatch(r"(\[.*?\]) (\d+) (\[.*\])\n", output).groups()
    assert results == "[42, 5.0, 42]"
    return int(hits), literal_eval(texts)


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.kernel"))


def no_place_at_all(source: Path) -> dict[str, str]:
    """Nothing can be made below a file, not even by root."""
    (source.parent / "__pycache__").write_text("")
    below_a_file = str(source / "cache")
    return {"NUMBA_CACHE_DIR": below_a_file, "HOME": below_a_file}


def test_a_kernel_is_compiled_once_and_found_again(source: Path) -> None:
    assert used(source) == (0, [])
    assert len(kept(source.parent)) == 2  # for integers, and for others
    assert used(source) == (2, [])


def test_a_folder_with_blanks_and_letters_of_several_scripts_is_a_place_like_any_other(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "a pläce 目 'x'" / "small_kernel.py"
    elsewhere.parent.mkdir()
    source.rename(elsewhere)
    assert [used(elsewhere), used(elsewhere)] == [(0, []), (2, [])]
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "кэш of ours"))
    assert [used(elsewhere), used(elsewhere)] == [(0, []), (2, [])]
    assert len(kept(elsewhere.parent)) == len(kept(tmp_path / "кэш of ours")) == 2


def test_without_a_place_kernels_are_compiled_in_memory_with_one_warning(source: Path) -> None:
    hits, texts = said_by(started(source, **no_place_at_all(source)))
    assert (hits, len(texts)) == (0, 1)
    assert texts[0].startswith("Compiled kernels cannot be kept on disk (")
    assert "NUMBA_CACHE_DIR" in texts[0]
    assert sorted(path.name for path in source.parent.iterdir()) == ["__pycache__", "small_kernel.py"]


@pytest.mark.skipif(os.name == "nt", reason="names of users")
def test_without_a_home_no_folder_is_called_by_its_sign(source: Path) -> None:
    """Python leaves the ~ as it is for a user whom nobody knows."""
    program = "import os.path\nos.path.expanduser = lambda path: path\n" + PROGRAM
    _, texts = said_by(started(source, program, **no_place_at_all(source)))
    assert len(texts) == 1
    assert not (source.parent / "~").exists()


def test_the_folder_that_the_user_gives_comes_first(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "given"))
    assert used(source) == (0, [])
    assert len(kept(tmp_path / "given")) == 2
    assert kept(source.parent) == []
    assert used(source) == (2, [])


@pytest.mark.parametrize("given", ["", "given"])
def test_a_cache_that_can_only_be_read_is_read(
    given: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an image that was made by root and runs as somebody else."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", given and str(tmp_path / given))
    assert used(source) == (0, [])

    def refuse(**_: object) -> NoReturn:
        raise PermissionError("no")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)  # by which numba looks whether it may write
    assert used(source) == (2, [])


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk_at(tmp_path / "disk", "8k") as place:
        yield place


def test_a_full_disk_is_one_warning(source: Path, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(disk))
    hits, texts = used(source)
    assert (hits, len(texts)) == (0, 1)
    assert "No space left on device" in texts[0]
    assert [path for path in disk.rglob("*") if path.is_file()] == kept(disk)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def fill_with_noise(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 10)


def turn_into_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [truncate, flip_a_byte, empty, fill_with_noise])
def test_a_broken_file_is_compiled_anew_and_replaced(damage: Callable[[Path], None], source: Path) -> None:
    used(source)
    for path in kept(source.parent):
        damage(path)
    assert used(source) == (0, [])
    assert used(source) == (2, [])


def test_a_file_that_cannot_be_replaced_is_one_warning(source: Path) -> None:
    used(source)
    for path in kept(source.parent):
        turn_into_a_folder(path)
    hits, texts = used(source)
    assert (hits, len(texts)) == (0, 1)


def test_one_files_code_is_not_taken_for_anothers(source: Path) -> None:
    used(source)
    first, second = kept(source.parent)
    first.write_bytes(second.read_bytes())
    assert used(source) == (1, [])


def test_a_change_of_the_source_makes_the_file_stale(source: Path) -> None:
    used(source)
    source.write_text(KERNEL + "\n# changed\n")
    assert used(source) == (0, [])
    assert used(source) == (2, [])
    assert len(kept(source.parent)) == 2


def test_a_change_makes_the_kernels_stale_that_depend_on_it_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "kernels"
    shutil.copytree(shipped.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "built"))
    monkeypatch.setattr(shipped, "PACKAGE", copy)
    modules = ["growth.grow", "consensus.search", "boosting.grow", "distance.distances"]

    def hashes() -> list[str]:
        return [hash_sources.__wrapped__(f"holdfast.kernels.{module}") for module in modules]

    for changed, stale in {
        "boosting/search.py": [False, False, True, False],
        "distance/rules.py": [False, False, False, True],
        "growth/criteria.py": [True, True, True, False],
        "_numba.py": [True, True, True, True],
    }.items():
        before = hashes()
        with (copy / changed).open("a") as file:
            file.write("\n# changed\n")
        assert [one != other for one, other in zip(before, hashes(), strict=True)] == stale


def test_four_processes_that_start_at_once_with_an_empty_cache_all_work(source: Path) -> None:
    processes = [started(source) for _ in range(4)]
    assert [said_by(process)[1] for process in processes] == [[]] * 4
    assert sorted(path.suffix for path in (source.parent / "__pycache__").iterdir()) == [".kernel"] * 2
    assert said_by(started(source)) == (2, [])


# -- code that a wheel carries -----------------------------------------------------------------------------

SHIPPED = """
import sys
import numpy as np
from holdfast.kernels.growth.leaf_values import weakest_links

left, right = (np.array(each, np.int32) for each in ([1, -1, -1], [2, -1, -1]))
for each in (left, right):
    each.flags.writeable = False
alpha = np.empty(3)
weakest_links(left, right, np.array([1.0, 0.25, 0.25]), alpha)
print(alpha[0], sum(weakest_links.compiled.stats.cache_hits.values()))
"""


def test_shipped_code_is_used_unless_it_is_damaged_or_numba_has_other_settings(tmp_path: Path) -> None:
    package = tmp_path / "site" / "holdfast"
    ignored = shutil.ignore_patterns("__pycache__", "built")
    shutil.copytree(shipped.PACKAGE.parent, package, ignore=ignored)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}

    def run(*command: str, is_new: bool = True, **settings: str) -> list[str]:
        environment = {**plain, "PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        if is_new:
            shutil.rmtree(tmp_path / "cache", ignore_errors=True)
            (tmp_path / "cache").mkdir()
        done = subprocess.run(
            [sys.executable, *command], env={**environment, **settings}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    level = list(shipped.LEVELS[shipped.machine()])[-1]  # that every processor has
    folder = package / "kernels" / "built" / level
    folder.mkdir(parents=True)
    names = ("--only", "growth.leaf_values.weakest_links")
    build = ("-m", "holdfast.kernels.build", "--worker", "--into", str(folder), *names)
    run(*build, NUMBA_CPU_NAME=level, NUMBA_CPU_FEATURES="")
    assert run("-c", SHIPPED) == ["0.5", "1"]
    assert run("-c", SHIPPED, NUMBA_OPT="3") == ["0.5", "0"]  # as warmup --native compiles for this processor
    (own,) = (tmp_path / "cache").rglob("*.kernel")
    own_code = own.read_bytes()
    flip_a_byte(own)
    assert run("-c", SHIPPED, is_new=False) == ["0.5", "1"]
    for path in kept(folder):
        flip_a_byte(path)
    assert run("-c", SHIPPED) == ["0.5", "0"]
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_bytes(own_code)
    assert run("-c", SHIPPED, is_new=False) == ["0.5", "1"]
