"""How many functions and files of holdfast one row passes on its way through a fit, a prediction and a run.

    python -m benchmarks.walk [--list]

A measure of how much a newcomer has to read to follow a row: functions of the package called at least once.
"""

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import holdfast

HOME = str(Path(holdfast.__file__).parent)
NOT_FUNCTIONS = ("<module>", "<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")


def passed(work: Callable[[], Any]) -> set[CodeType]:
    """The functions of holdfast that are called during the work, in whatever thread."""
    found: set[CodeType] = set()

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(HOME) and code.co_name not in NOT_FUNCTIONS:
            found.add(code)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def fit_file(folder: Path) -> None:
    """As `holdfast fit` in a terminal."""
    import pandas as pd
    from sklearn.datasets import load_breast_cancer

    from holdfast.cli.main import main

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    pd.concat([X, y], axis=1).to_csv(folder / "data.csv", index=False)
    arguments = ["fit", str(folder / "data.csv"), "--target", "target", "-o", str(folder / "run"), "--force"]
    main(arguments, standalone_mode=False)


def update_file(folder: Path) -> None:
    """As `holdfast update` in a terminal, after `fit_file`."""
    from holdfast.cli.main import main

    run, data = str(folder / "run"), str(folder / "data.csv")
    main(["update", run, data, "-o", tempfile.mkdtemp(dir=folder)], standalone_mode=False)


def main() -> None:
    """Print the counts; with --list, the functions too."""
    from sklearn.datasets import load_breast_cancer

    from holdfast import StableTreeClassifier

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = StableTreeClassifier(method="bootstrap", random_state=0, n_estimators=20)
    ways: dict[str, Callable[[], Any]] = {
        "StableTreeClassifier.fit": lambda: model.fit(X, y),
        "StableTreeClassifier.predict": lambda: model.predict(X[:1]),
    }
    with tempfile.TemporaryDirectory() as folder:
        ways["holdfast fit"] = lambda: fit_file(Path(folder))
        ways["holdfast update"] = lambda: update_file(Path(folder))
        for work in ways.values():
            work()  # what happens once, such as importing and compiling, is no part of the way
        walked = {name: passed(work) for name, work in ways.items()}
    for name, codes in walked.items():
        files = {code.co_filename for code in codes}
        print(f"{name}: {len(codes)} functions in {len(files)} files", file=sys.stderr)
        if options.list:
            for code in sorted(codes, key=lambda code: (code.co_filename, code.co_firstlineno)):
                print(f"  {Path(code.co_filename).relative_to(HOME)}: {code.co_qualname}", file=sys.stderr)


if __name__ == "__main__":
    main()
