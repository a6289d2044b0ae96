"""Results of every kind are what they were, on this processor and in this version."""

import pytest

from golden.kept import changes, entry_of, read
from golden.marks import Marks
from golden.results import RESULTS, marks_of

KEPT = read()
WAY_OUT = (
    "If that is meant, run `make golden`. A golden that changes is a changelog entry: say in CHANGELOG.md "
    "what users will see."
)


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_what_it_was(name: str) -> None:
    if name not in KEPT:
        pytest.fail(f"{name!r} is not in golden.json: run `make golden`.")
    what = changes(marks_of(name), KEPT[name])
    if what:
        said = "\n  ".join([f"The golden {name!r} changed:", *what])
        pytest.fail(f"{said}\n{WAY_OUT}")


def test_every_golden_still_has_its_result() -> None:
    assert [name for name in KEPT if name not in RESULTS] == [], "run `make golden`"


def test_a_change_is_seen_and_a_rounding_is_not() -> None:
    values = [0.1, 0.2, 0.7]
    kept = entry_of(Marks(["age", 1], {"value": values}))
    assert changes(Marks(["age", 1], {"value": [0.1, 0.1 + 0.1, 0.7 + 1e-15]}), kept) == []
    assert changes(Marks(["age", 2], {"value": values}), kept) != []
    assert changes(Marks(["age", 1], {"value": [0.1, 0.2, 0.7 + 1e-5]}), kept) != []
    assert changes(Marks(["age", 1], {"value": [0.2, 0.1, 0.7]}), kept) != []
    assert changes(Marks(["age", 1], {"value": values, "weight": [1.0]}), kept) != []
    assert changes(Marks(["age", 1], {"value": values[:2]}), kept) != []
