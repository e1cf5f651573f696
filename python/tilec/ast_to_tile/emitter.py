"""Builds `cuda_tile` operations for the op groups, with their source locations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tilec.ast_to_tile.values.constant_value import replacement, stored
from tilec.ast_to_tile.values.values import KernelValue, Shape, Tile, TypedConstant, describe
from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import PointerType, TileType
from tilec.dialect.fields import MANY_RUNS, run_lengths
from tilec.dialect.mlir import ir
from tilec.errors import ConstantWarning, TileTypeError, TileValueError
from tilec.language import datatypes
from tilec.language.datatypes import DType
from tilec.lowering.kernel_hints import EACH_WARP

# The values of one operand field and the types of one result field, and the Python value of an attribute.
OperandGroup: TypeAlias = ir.Value | Sequence[ir.Value] | None
ResultGroup: TypeAlias = ir.Type | Sequence[ir.Type]
AttributeValue: TypeAlias = ir.Attribute | bool | int | str | Sequence[bool] | Sequence[int]

_FLOATS = {
    datatypes.float16: ir.F16Type,
    datatypes.bfloat16: ir.BF16Type,
    datatypes.float32: ir.F32Type,
    datatypes.float64: ir.F64Type,
    datatypes.tfloat32: ir.FloatTF32Type,
    datatypes.float8_e4m3fn: ir.Float8E4M3FNType,
    datatypes.float8_e5m2: ir.Float8E5M2Type,
    datatypes.float8_e8m0fnu: ir.Float8E8M0FNUType,
    datatypes.float8_e5m3fnu: ir.Float8E5M3FNUType,
    datatypes.float6_e2m3fn: ir.Float6E2M3FNType,
    datatypes.float6_e3m2fn: ir.Float6E3M2FNType,
    datatypes.float4_e2m1fn: ir.Float4E2M1FNType,
}


# Operations of control flow may get a counter and memory-order tokens, each a group of its own.
_FORWARDED_GROUPS = MANY_RUNS - 2


def check_groups(types: Sequence[ir.Type], subject: str, most: int = _FORWARDED_GROUPS) -> None:
    """Raises TileTypeError for values in more groups than an operation can have."""
    groups = len(run_lengths(types))
    if groups > most:
        raise TileTypeError(
            f"{subject} at most {most} groups of consecutive values of one type, got {groups}: "
            "use fewer values, or one type"
        )


def element_type(dtype: DType) -> ir.Type:
    """The MLIR type of an element; integers are signless."""
    chosen = _FLOATS.get(dtype)
    return ir.IntegerType.get_signless(_width(dtype)) if chosen is None else chosen.get()


def _width(dtype: DType) -> int:
    return 1 if dtype == datatypes.bool_ else dtype.bitwidth


def tile_type(dtype: DType, shape: Shape = ()) -> ir.Type:
    """The type of a tile; raises CompileError for an invalid shape."""
    try:
        return TileType.get(shape, element_type(dtype))
    except ValueError as problem:
        raise TileTypeError(str(problem)) from problem


def pointer_type(dtype: DType, shape: Shape = ()) -> ir.Type:
    return TileType.get(shape, PointerType.get(element_type(dtype)))


class Emitter:
    """Builds operations at the current insertion point, with the location that `locate` returns.

    `warn` gives a Python warning of a category at the line of the program.
    """

    def __init__(
        self,
        locate: Callable[[], ir.Location],
        warn: Callable[[str, type[Warning]], None],
        call: Callable[[KernelValue, Sequence[KernelValue]], KernelValue],
        checks: bool = False,
    ) -> None:
        self.locate = locate
        self.warn = warn
        # Calls a user function, for operations such as ct.reduce that take a function.
        self.call = call
        # Whether the promises of a kernel that Tile IR does not express are asserted.
        self.checks = checks
        # "reduce" or "scan" while the function of one is traced.
        self.reduction: str | None = None

    def build(
        self,
        name: str,
        operands: Sequence[OperandGroup] = (),
        results: Sequence[ResultGroup] = (),
        attributes: Mapping[str, AttributeValue] | None = None,
    ) -> ir.Operation:
        """Builds a `cuda_tile` operation (see tilec.dialect.build)."""
        return build(name, operands, results, attributes, loc=self.locate())

    def tile(
        self, name: str, operands: Sequence[Tile], dtype: DType, shape: Shape, **attributes: AttributeValue
    ) -> Tile:
        """Builds an operation on tiles with one result, a tile."""
        values = [operand.value for operand in operands]
        made = self.build(name, values, [tile_type(dtype, shape)], attributes)
        return Tile(made.results[0], dtype, shape)

    def check(self, condition: Tile, message: str) -> None:
        """Asserts a condition in a checked build."""
        if self.checks:
            self.build("assert", [condition.value], [], {"message": message, EACH_WARP: ir.UnitAttr.get()})

    def constant(self, value: bool | int | float, dtype: DType, shape: Shape = ()) -> Tile:
        """A splat of `value` converted to `dtype`; raises CompileError if the value is out of range."""
        if dtype in datatypes.SIX_BIT_FLOATS:
            # Tile IR has no constants of them; float32 has all of their values.
            return self.tile(
                "tilex.ftof", [self.constant(stored(value, dtype), datatypes.float32, shape)], dtype, shape
            )
        type = tile_type(dtype, shape)
        tensor = ir.RankedTensorType.get(shape, element_type(dtype))
        splat = ir.DenseElementsAttr.get_splat(tensor, element_attribute(value, dtype))
        made = self.build("constant", [], [type], {"value": splat})
        return Tile(made.results[0], dtype, shape)

    def elements(self, values: Sequence[bool | int | float], dtype: DType, shape: Shape) -> Tile:
        """A constant tile of these elements in row-major order; raises CompileError if one is out of range."""
        if dtype in datatypes.SIX_BIT_FLOATS:
            wide = self.elements([stored(value, dtype) for value in values], datatypes.float32, shape)
            return self.tile("tilex.ftof", [wide], dtype, shape)
        tensor = ir.RankedTensorType.get(shape, element_type(dtype))
        dense = ir.DenseElementsAttr.get([element_attribute(value, dtype) for value in values], tensor)
        made = self.build("constant", [], [tile_type(dtype, shape)], {"value": dense})
        return Tile(made.results[0], dtype, shape)

    def warn_if_replaced(self, number: bool | int | float, dtype: DType) -> None:
        """Gives a warning if a constant of the program is out of range of the element type that it gets."""
        value = replacement(number, dtype)
        if value is not None:
            written = repr(number) if math.isfinite(number) else f"float('{number}')"
            change = f"the constant {number} is out of range of {dtype} and becomes {value}"
            self.warn(f"{change}: write ct.astype({written}, ct.{dtype}) if this is intended", ConstantWarning)

    def as_tile(self, value: KernelValue, dtype: DType | None = None) -> Tile:
        """The value as a tile; a Python number takes `dtype`, or its default element type."""
        if isinstance(value, Tile):
            return value
        if isinstance(value, TypedConstant):
            return self.constant(value.value, value.dtype)
        if isinstance(value, bool | int | float):
            return self.constant(value, dtype or datatypes.of_literal(value))
        raise TileTypeError(f"expected a tile or a number, got {describe(value)}")


def element_attribute(value: bool | int | float, dtype: DType) -> ir.Attribute:
    """An element as an attribute; raises CompileError if the value is out of range."""
    element = element_type(dtype)
    if dtype.is_float:
        return ir.FloatAttr.get(element, float(stored(value, dtype)))
    if dtype.is_boolean:
        return ir.IntegerAttr.get(element, int(bool(value)))
    integer = int(value)
    least, greatest = dtype.range
    if not least <= integer <= greatest:
        raise TileValueError(f"the constant {integer} is out of range of {dtype} ({least} to {greatest})")
    # MLIR integers are signless: the upper half of the unsigned range is encoded as negative numbers.
    return ir.IntegerAttr.get(
        element, integer - (1 << dtype.bitwidth) if integer > _greatest_signed(dtype) else integer
    )


def _greatest_signed(dtype: DType) -> int:
    return (1 << dtype.bitwidth - 1) - 1
