"""A named tuple of arrays passed on as one pointer.

The compiler passes every field of a tuple, and every part of an array, as an argument of its own: hundreds in each
call, which take long to compile and to run.
"""

from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model

_T = TypeVar("_T")
_TYPE: Any = types.Type  # numba is not annotated
_ATTRIBUTE: Any = AttributeTemplate


class Reference(_TYPE):  # type: ignore[misc]
    """The type of a reference to a named tuple."""

    def __init__(self, target: Any) -> None:
        self.target = target
        super().__init__(name=f"Reference({target})")

    def field(self, name: str) -> Any:
        """The type of what a reference gives for this name; a tuple inside is again a reference."""
        member = self.target[self.target.fields.index(name)]
        return Reference(member) if isinstance(member, types.BaseNamedTuple) else member


@register_model(Reference)
class _ReferenceModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, reference: Reference) -> None:
        super().__init__(manager, reference, manager.lookup(reference.target).get_value_type().as_pointer())


@infer_getattr
class _ReferenceFields(_ATTRIBUTE):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        return reference.field(name) if name in reference.target.fields else None


@lower_getattr_generic(Reference)
def _load_field(context: Any, builder: Any, reference: Reference, pointer: Any, name: str) -> Any:
    at = cgutils.gep_inbounds(builder, pointer, 0, reference.target.fields.index(name))
    field = reference.field(name)
    if isinstance(field, Reference):
        return at
    return impl_ret_borrowed(context, builder, field, builder.load(at))


@intrinsic
def _refer(typing_context: Any, target: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> ir.Value:
        return cgutils.alloca_once_value(builder, values[0])

    return Reference(target)(target), code


def _same(target: Any) -> Any:
    return target


# What a kernel calls once for each of its tuples; the tuple must live as long as the reference. Without the compiler
# it is the tuple itself.
by_reference = cast("Any", _same if numba.config.DISABLE_JIT else _refer)
