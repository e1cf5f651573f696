"""Mangled names of exported kernels: `<function>_K<calling convention>`, then `_` and the code of each parameter.

Codes: `S` scalar, `A` array, `L` list, `T` tuple, `B` `I` `F` constants. The properties of the dimensions of an array
are grouped by the mask of the dimensions that have them: s extent, i its divisor, t stride, v its divisor, l its least
value. Then follow p (divisor of the address), g (alias group), i (aliases internally), u and w (uint32, int64 indices).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tilec.errors import ArgumentValueError
from tilec.kernel_export.calling_convention import CallingConvention
from tilec.kernel_export.constraints import (
    ArrayConstraint,
    ConstantConstraint,
    ConstantValue,
    ListConstraint,
    ParameterConstraint,
    ScalarConstraint,
    TupleConstraint,
    alias_groups_of,
)
from tilec.language import datatypes
from tilec.language.datatypes import DType, int64, uint32

# The letters of the properties of dimensions, in the order in which symbols contain them, and their defaults.
DIMENSION_PROPERTIES: tuple[tuple[str, str, int | None], ...] = (
    ("s", "shape_constant", None),
    ("i", "shape_divisible_by", 1),
    ("t", "stride_constant", None),
    ("v", "stride_divisible_by", 1),
    ("l", "stride_lower_bound_incl", None),
)
DTYPES = {
    datatypes.bool_: "b8",
    **{getattr(datatypes, f"uint{bits}"): f"u{bits}" for bits in (8, 16, 32, 64)},
    **{getattr(datatypes, f"int{bits}"): f"i{bits}" for bits in (8, 16, 32, 64)},
    **{getattr(datatypes, f"float{bits}"): f"f{bits}" for bits in (16, 32, 64)},
    datatypes.bfloat16: "bf16",
    datatypes.tfloat32: "tf32",
    datatypes.float8_e4m3fn: "f8m3fn",
    datatypes.float8_e5m2: "f8m2",
    datatypes.float8_e8m0fnu: "f8m0fnu",
}
SEPARATOR = "_K"


def mangled_name(function_name: str, parameters: Sequence[ParameterConstraint], convention: CallingConvention) -> str:
    """The symbol of a kernel; raises ArgumentValueError for an element type without a mangled name."""
    groups: dict[str, int] = {}
    for _, names in alias_groups_of(parameters):
        for name in names:
            groups.setdefault(name, len(groups))
    codes = (f"_{_code(parameter, groups)}" for parameter in parameters)
    return f"{function_name}{SEPARATOR}{convention.code}{''.join(codes)}"


def _code(parameter: ParameterConstraint, groups: dict[str, int]) -> str:
    if isinstance(parameter, ScalarConstraint):
        return f"S{_dtype(parameter.dtype)}"
    if isinstance(parameter, ConstantConstraint):
        return _constant(parameter.value)
    if isinstance(parameter, TupleConstraint):
        return f"T{len(parameter.items)}{''.join(_code(item, groups) for item in parameter.items)}"
    if isinstance(parameter, ListConstraint):
        aliases = "i" if parameter.elements_may_alias else ""
        return f"L{_groups(parameter.alias_groups, groups)}{aliases}{_code(parameter.element, groups)}"
    return f"A{parameter.ndim}{_dtype(parameter.dtype)}{_dimensions(parameter)}{_rest(parameter, groups)}"


def _constant(value: ConstantValue) -> str:
    if isinstance(value, bool):
        return f"B{int(value)}"
    return f"I{_integer(value)}" if isinstance(value, int) else f"F{struct.pack('>d', value).hex()}"


def _dimensions(array: ArrayConstraint) -> str:
    """The properties of the dimensions, grouped by the mask of the dimensions that have them."""
    masks: dict[str, int] = {}
    for letter, name, default in DIMENSION_PROPERTIES:
        for axis, value in enumerate(getattr(array, name)):
            if value != default:
                code = f"{letter}{_integer(value)}"
                masks[code] = masks.get(code, 0) | 1 << axis
    by_mask: dict[int, str] = {}
    for code, mask in masks.items():
        by_mask[mask] = by_mask.get(mask, "") + code
    return "".join(f"_{mask:x}{by_mask[mask]}" for mask in sorted(by_mask))


def _rest(array: ArrayConstraint, groups: dict[str, int]) -> str:
    address = f"p{array.base_addr_divisible_by}" if array.base_addr_divisible_by != 1 else ""
    internal = "i" if array.may_alias_internally else ""
    index = {uint32: "u", int64: "w"}.get(array.index_dtype, "")
    found = f"{address}{_groups(array.alias_groups, groups)}{internal}{index}"
    return f"_{found}" if found else ""


def _groups(names: Sequence[str], groups: dict[str, int]) -> str:
    return "".join(f"g{number:x}" for number in sorted(groups[name] for name in names))


def _integer(value: int) -> str:
    return f"_{-value}" if value < 0 else str(value)


def _dtype(dtype: DType) -> str:
    if dtype not in DTYPES:
        raise ArgumentValueError(f"element type {dtype} has no mangled name: give the signature a symbol")
    return DTYPES[dtype]
