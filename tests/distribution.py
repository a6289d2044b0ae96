"""Build the wheel and the sdist, install each, and use what was installed: `python tests/distribution.py`.

What is installed stands alone in a folder whose name has blanks and letters of several scripts; other
libraries are those of the Python that runs this. Nothing is compiled: that other tests do.
"""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
NEEDED = ("holdfast/py.typed",)
FIT = """
import sys, holdfast
assert sys.argv[1] in holdfast.__file__, holdfast.__file__
model = holdfast.TreeClassifier(max_depth=1).fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
assert list(model.predict([[0.5], [2.5]])) == ["no", "yes"]
"""


def main() -> None:
    """Build, look inside, install and use."""
    with TemporaryDirectory() as folder:
        out = Path(folder, "dist")
        run(sys.executable, "-m", "hatchling", "build", "-d", str(out), folder=ROOT)
        (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
        check_wheel(wheel)
        for number, archive in enumerate((wheel, unpacked(sdist, Path(folder)))):
            use(archive, Path(folder, f"a pläce 目 {number}"))
    print("The wheel and the sdist install and work.")


def check_wheel(wheel: Path) -> None:
    """It has every file of the package that is no Python, and nothing else but the package."""
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "holdfast"
    data = {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert data.union(NEEDED) <= names, f"the wheel lacks {sorted(data - names)}"
    others = {name for name in names if not name.startswith(("holdfast/", "holdfast_trees-"))}
    assert not others, f"the wheel should not have {sorted(others)}"


def unpacked(sdist: Path, folder: Path) -> Path:
    """The folder that the sdist holds."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return folder / sdist.name.removesuffix(".tar.gz")


def use(archive: Path, place: Path) -> None:
    """Install it at the place, and fit a tree from there."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-deps")
    site = place / "site"
    run(*pip, "--no-build-isolation", "--target", str(site), str(archive), folder=archive.parent)
    environment = {key: value for key, value in os.environ.items() if key not in ("HOME", "PYTHONPATH")}
    environment |= {"PYTHONPATH": str(site), "NUMBA_DISABLE_JIT": "1"}
    version = [sys.executable, "-c", "from holdfast.cli.start import run; run()", "--version"]
    run(*version, folder=place, environment=environment)
    run(sys.executable, "-c", FIT, str(site), folder=place, environment=environment)


def run(*command: str, folder: Path, environment: dict[str, str] | None = None) -> None:
    """Run the command in the folder; an error ends all."""
    subprocess.run(command, cwd=folder, env=environment, check=True)


if __name__ == "__main__":
    main()
