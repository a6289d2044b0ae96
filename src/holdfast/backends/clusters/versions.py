"""What has to be the same everywhere for results to be the same to the last bit."""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from holdfast._version import __version__

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


@cache
def list_versions() -> dict[str, str]:
    """List the versions of everything that results depend on."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, "holdfast": __version__} | {name: _version(name) for name in PACKAGES}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def compare_versions(theirs: dict[str, str], ours: dict[str, str]) -> str:
    """Describe differences between versions; empty if there are none.

    >>> compare_versions({"python": "3.11", "numpy": "2.1.0"}, {"python": "3.11", "numpy": "2.2.0"})
    'numpy 2.2.0, not 2.1.0'
    """
    return ", ".join(
        f"{name} {ours.get(name, 'none')}, not {wanted}"
        for name, wanted in theirs.items()
        if ours.get(name, "none") != wanted
    )
