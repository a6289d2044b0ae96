"""Compiling inner functions as parts of the kernels that call them, and not by themselves.

numba optimises every function together with all that it calls, and makes machine code of it. An inner one
is never called by itself: all that it needs is a place in the kernel, where everything is optimised once.
"""

from collections.abc import Callable
from typing import Any

from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.typed_passes import PreLowerStripPhis

from holdfast.kernels.indices import UnsignedIndices

_LIBRARY: Any = JITCodeLibrary  # numba is not annotated
_COMPILER: Any = Compiler


class KernelLibrary(_LIBRARY):  # type: ignore[misc]
    """The code of a kernel and of all inner functions that it leads to."""

    def finalize(self) -> None:
        """Link, optimise, and make machine code."""
        found: dict[Any, None] = {}
        _gather(self, found)
        self._linking_libraries = list(found)
        super().finalize()

    def _optimize_final_module(self) -> None:
        # What no other code can call may be written out where it is called, or lose arguments. And kernels
        # that were compiled apart cannot come to call each other's copy of a function.
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()


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


def _gather(library: Any, found: dict[Any, None]) -> None:
    """Add all libraries that the library leads to, each once."""
    for each in library._linking_libraries:
        if each not in found:
            found[each] = None
            if isinstance(each, InnerLibrary):
                _gather(each, found)


class KernelCompiler(_COMPILER):  # type: ignore[misc]
    """The usual steps of the compiler, into a library of this kind."""

    library = KernelLibrary

    def define_pipelines(self) -> list[Any]:
        """The usual steps, and indices without a sign."""
        (steps,) = super().define_pipelines()
        steps.add_pass_after(UnsignedIndices, PreLowerStripPhis)
        steps.finalize()
        return [steps]

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """The function, compiled."""
        self.state.library = self.library(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(function)


class InnerCompiler(KernelCompiler):
    """The same for an inner function."""

    library = InnerLibrary
