"""Compiling inner functions as parts of the kernels that call them, and not by themselves.

numba optimises every function together with all that it calls, and makes machine code of it. An inner function is
never called by itself: all it needs is a place in the kernel, where everything is optimised once. That took more
than half of the time of compiling.
"""

from collections.abc import Callable, Iterator
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_LIBRARY: Any = JITCodeLibrary  # numba is not annotated
_COMPILER: Any = Compiler


class KernelLibrary(_LIBRARY):  # type: ignore[misc]
    """The code of a kernel and of all inner functions that it leads to."""

    def finalize(self) -> None:
        """Link, optimise, and make machine code."""
        self._linking_libraries = list(dict.fromkeys(_all_linked(self)))
        super().finalize()


class InnerLibrary(_LIBRARY):  # type: ignore[misc]
    """The code of one inner function, ready to be linked."""

    def finalize(self) -> None:
        """Nothing is linked or optimised here."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """Who is told where the function's environment is, which is nowhere.

        Only Python's objects need one; in kernels that are loaded from disk inner functions have none either.
        """
        return _NoEnvironment()


class _NoEnvironment:
    def set_env(self, env_name: str, env: Any) -> None:
        """Nothing."""


def _all_linked(library: Any) -> Iterator[Any]:
    for each in library._linking_libraries:
        yield each
        if isinstance(each, InnerLibrary):
            yield from _all_linked(each)


class KernelCompiler(_COMPILER):  # type: ignore[misc]
    """The usual steps of the compiler, into a library of this kind."""

    library = KernelLibrary

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """The function, compiled."""
        self.state.library = self.library(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(function)


class InnerCompiler(KernelCompiler):
    """The same for an inner function."""

    library = InnerLibrary
