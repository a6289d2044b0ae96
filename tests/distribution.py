"""Build the wheel and the sdist, install each, and use what was installed: `python tests/distribution.py`.

What is installed stands alone in a folder whose name has blanks and letters of several scripts; other
libraries are those of the Python that runs this. Then a wheel with machine code, for the best level of
processors that this machine can run, must fit without compiling.
"""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from llvmlite import binding

from holdfast.kernels.shipped import LEVELS, machine
from holdfast.kernels.signatures import recorded_signatures

ROOT = Path(__file__).parents[1]
MOST_BYTES = 4_000_000  # of a wheel
FEATURES = dict(binding.get_host_cpu_features())
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
        check_machine_code(Path(folder, "with machine code"))
    print("The wheels and the sdist install and work.")


def check_machine_code(place: Path) -> None:
    """A wheel with machine code is small; its first fits compile nothing, and predict the same bits."""
    level = next(
        each for each, needed in LEVELS[machine()].items() if all(FEATURES.get(name) for name in needed)
    )
    settings = {"HOLDFAST_KERNELS": "1", "HOLDFAST_LEVELS": level}
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "PYTHONPATH"))
    }
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place))
    run(*build, folder=ROOT, environment={**environment, **settings})
    (wheel,) = place.glob("*.whl")
    assert not wheel.name.endswith("none-any.whl"), wheel.name
    assert wheel.stat().st_size <= MOST_BYTES, wheel.stat().st_size
    code = [Path(name) for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".kernel")]
    assert {path.parent.name for path in code} == {level}
    assert len(code) == sum(map(len, recorded_signatures().values()))
    site, cache = place / "site", place / "cache"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-deps")
    run(*pip, "--target", str(site), str(wheel), folder=place)
    cache.mkdir()
    first_fit = (sys.executable, str(ROOT / "tests" / "first_fit.py"))
    shipped = run(
        *first_fit,
        folder=place,
        environment={**environment, "PYTHONPATH": str(site), "NUMBA_CACHE_DIR": str(cache)},
    )
    assert not [path for path in cache.rglob("*") if path.is_file()]
    own = {**environment, "PYTHONPATH": str(ROOT / "src")}
    run(sys.executable, "-m", "holdfast.kernels.build", folder=place, environment=own)
    native = run(*first_fit, folder=place, environment=own)
    assert shipped.splitlines()[-1] == native.splitlines()[-1]
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB with code for {level}\n{shipped}")


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


def run(*command: str, folder: Path, environment: dict[str, str] | None = None) -> str:
    """Run the command in the folder, and return its output; an error ends all."""
    done = subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


if __name__ == "__main__":
    main()
