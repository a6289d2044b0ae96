"""Wheels with machine code: `HOLDFAST_KERNELS=1 python -m pip wheel . --no-deps`.

Without the variable the wheel is pure Python, and compiles its kernels at the first fit. With it the kernels
are compiled for every level of processors of this machine (HOLDFAST_LEVELS names some of them), and the wheel
is for this Python and this platform.
"""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LEVELS = os.environ.get("HOLDFAST_LEVELS", "").split()
IS_WANTED = os.environ.get("HOLDFAST_KERNELS", "0") not in ("", "0")


class KernelHook(BuildHookInterface[Any]):
    """Compile the kernels into the wheel."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return what compiling needs."""
        if not IS_WANTED:
            return []
        names = ("numpy", "numba", "filelock")
        return [
            each for each in self.build_config.builder.metadata.core.dependencies if each.startswith(names)
        ]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and add the code and the tags to the wheel."""
        if not IS_WANTED or version == "editable":
            return
        folder = Path(self.root, "build", f"kernels-{sys.implementation.cache_tag}")
        shutil.rmtree(folder, ignore_errors=True)  # code of earlier sources, or of other levels
        source = str(Path(self.root, "src"))
        subprocess.run(
            [sys.executable, "-m", "holdfast.kernels.build", "--folder", str(folder), "--levels", *LEVELS],
            env={**os.environ, "PYTHONPATH": source},
            check=True,
        )
        build_data["force_include"][str(folder)] = "holdfast/kernels/built"
        build_data["pure_python"] = False
        build_data["tag"] = f"{_python_tag()}-{_python_tag()}-{_platform_tag()}"


def _python_tag() -> str:
    return f"cp{sys.version_info.major}{sys.version_info.minor}"


def _platform_tag() -> str:
    """The platform; on Linux any with a glibc that numba runs on, for the code calls no library."""
    if sys.platform == "linux":
        return f"manylinux_2_17_{platform.machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
