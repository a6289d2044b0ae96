"""A few kills of a command that goes on; `python -m tests.faults.resumed_runs` does more of them."""

import os
from pathlib import Path

import pytest
import resumed_runs

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")


def test_a_fit_that_is_killed_ends_with_the_same_bits(tmp_path: Path) -> None:
    # With this seed both kills come early enough: after one that is late, all begins again.
    assert resumed_runs.killed("fit", 2, seed=0, home=tmp_path, n_rows=600).faults == []
