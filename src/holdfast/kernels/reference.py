"""A named tuple of arrays, passed on as one pointer.

The compiler passes every field of a tuple, and every part of an array, as an argument of its own: hundreds in
each call, which take long to compile and to run.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import extending
from numba.core import cgutils, config, imputils, types
from numba.core.typing.templates import AttributeTemplate

_T = TypeVar("_T")
# numba is not annotated
_api: Any = extending
_cgutils: Any = cgutils
_imputils: Any = imputils
_config: Any = config
_TYPE: Any = types.Type
_FIELDS: Any = AttributeTemplate
_MODEL: Any = extending.models.PrimitiveModel


class Reference(_TYPE):  # type: ignore[misc]
    """The type of a reference to a named tuple."""

    def __init__(self, target: Any) -> None:
        self.target = target
        super().__init__(name=f"Reference({target})")

    def place(self, name: str) -> int:
        """The place of the field among those of the tuple."""
        return int(self.target.fields.index(name))

    def field(self, name: str) -> Any:
        """The type of what a reference gives for this name; for a tuple, that is again a reference."""
        member = self.target[self.place(name)]
        return Reference(member) if isinstance(member, types.BaseNamedTuple) else member


class _Model(_MODEL):  # type: ignore[misc]
    """In memory: a pointer to the tuple."""

    def __init__(self, manager: Any, reference: Reference) -> None:
        super().__init__(manager, reference, manager.lookup(reference.target).get_value_type().as_pointer())


class _Fields(_FIELDS):  # type: ignore[misc]
    """What `reference.name` may be."""

    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        """Its type; None if there is no such field."""
        return reference.field(name) if name in reference.target.fields else None


def _load_field(context: Any, builder: Any, reference: Reference, pointer: Any, name: str) -> Any:
    at = _cgutils.gep_inbounds(builder, pointer, 0, reference.place(name))
    field = reference.field(name)
    if isinstance(field, Reference):
        return at
    return _imputils.impl_ret_borrowed(context, builder, field, builder.load(at))


def _refer(typing_context: Any, target: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _cgutils.alloca_once_value(builder, values[0])

    return Reference(target)(target), code


def _nothing(typing_context: Any, target: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return context.get_dummy_value()

    return types.void(target), code


def _itself(target: Any) -> Any:
    return target


_api.register_model(Reference)(_Model)
_api.infer_getattr(_Fields)
_api.lower_getattr_generic(Reference)(_load_field)

# What a kernel calls once for each of its tuples. A reference keeps nothing alive: arrays that the kernel
# itself has made are freed where their tuple is last named. So it is named once more, by `keep`, at the end.
by_reference: Callable[[_T], _T]
keep: Callable[[Any], None]
if _config.DISABLE_JIT:
    by_reference = keep = _itself
else:
    by_reference, keep = _api.intrinsic(_refer), _api.intrinsic(_nothing)
