"""Compiling inner functions as parts of the kernels that call them, and not by themselves.

numba optimises every function together with all that it calls, and makes machine code of it. An inner function is
never called by itself: what it needs is its place in the code of a kernel, where everything is optimised once.
That took more than half of the time.
"""

from collections.abc import Callable
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_LIBRARY: Any = JITCodeLibrary  # numba is not annotated
_COMPILER: Any = Compiler


class LinkedLibrary(_LIBRARY):  # type: ignore[misc]
    """The code of one function and those it calls, before optimisation, ready to be linked into a kernel."""

    def finalize(self) -> None:
        """Link what the function calls."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return _NoEnvironment()


class _NoEnvironment:
    """Instead of numba's engine, which knows no address in code that is not there."""

    def set_env(self, env_name: str, env: Any) -> None:
        """Nothing: kernels that are loaded from disk have no environments of inner functions either."""


class LinkedCompiler(_COMPILER):  # type: ignore[misc]
    """The usual steps of the compiler, into such a library."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """The function, typed and lowered."""
        self.state.library = LinkedLibrary(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(function)
