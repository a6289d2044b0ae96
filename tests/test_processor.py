"""The second processor is a real one: it ends sums in other bits, and leaves ties in another order."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from processor import is_x86, numpy_features, turned_down

SCRIPT = "import json, processor; print(json.dumps(processor.last_bits()))"


def last_bits(settings: dict[str, str]) -> dict[str, str]:
    """Those of a new process with these settings and none of ours."""
    inherited = {name: value for name, value in os.environ.items() if name not in turned_down()}
    place = {"PYTHONPATH": str(Path(__file__).parent), "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-c", SCRIPT]
    run = subprocess.run(command, env={**inherited, **place, **settings}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    return json.loads(run.stdout)


@pytest.mark.skipif(not (is_x86() and sys.platform == "linux"), reason="only there is it known what changes")
def test_the_second_processor_ends_in_other_bits() -> None:
    if not numpy_features():
        pytest.skip("the processor of this machine is as old as the second one, or turned down already")
    here, there = last_bits({}), last_bits(turned_down())
    assert {name for name in here if here[name] != there[name]} != set()


def test_nothing_complains_about_what_is_turned_down() -> None:
    assert last_bits(turned_down()).keys() == last_bits({}).keys()
