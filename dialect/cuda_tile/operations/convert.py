"""Conversions between element types."""

from tilec.dialect.attributes import Flag
from tilec.dialect.cuda_tile.conversions import ftof_problem
from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.cuda_tile.enums import (
    FloatConversionRounding,
    FromIntegerRounding,
    Overflow,
    Signedness,
    ToIntegerRounding,
)
from tilec.dialect.cuda_tile.operation import Operation
from tilec.dialect.cuda_tile.rules import same_shape
from tilec.dialect.cuda_tile.sets import (
    AnyFloatTile,
    Int64Tile,
    IntegerTile,
    NarrowIntegerTile,
    NumberTile,
    PointerTile,
)
from tilec.dialect.fields import Operand, Result, since
from tilec.dialect.mlir import ext, ir
from tilec.dialect.spelling import spell


def _bits(value: ir.Value) -> int:
    return ELEMENT_BITS[spell(value.type.element)]


class BitcastOp(Operation, name="bitcast", opcode=0x09, traits=[ext.Pure]):
    """The same bits as another number type of equal width."""

    result: Result[NumberTile]
    source: Operand[NumberTile]
    rules = [same_shape("source", "result")]
    assembly = "$source attr-dict : type($source) -> type($result)"

    def check_types(self) -> str | None:
        if _bits(self.source) != _bits(self.result):
            return f"types must be equal width, but got {_bits(self.source)} and {_bits(self.result)} bits"
        return None


class ExtIOp(Operation, name="exti", opcode=0x25, traits=[ext.Pure]):
    """A wider integer, extended by the sign or by zeros."""

    to: Result[NarrowIntegerTile]
    from_: Operand[NarrowIntegerTile]
    signedness: Signedness
    rules = [same_shape("from_", "to")]
    assembly = "$from $signedness attr-dict : type($from) -> type($to)"

    def check_types(self) -> str | None:
        if _bits(self.to) <= _bits(self.from_):
            return f"extending to smaller or identical integer: {spell(self.from_.type)} to {spell(self.to.type)}"
        return None


class TruncIOp(Operation, name="trunci", opcode=0x6B, traits=[ext.Pure]):
    """The low bits of an integer; `overflow` asserts that the value is preserved."""

    to: Result[NarrowIntegerTile]
    from_: Operand[NarrowIntegerTile]
    overflow: Overflow = "none"
    rules = [same_shape("from_", "to")]
    assembly = "$from{ overflow<$overflow>} attr-dict : type($from) -> type($to)"

    def check_types(self) -> str | None:
        if _bits(self.to) >= _bits(self.from_):
            return f"truncating to larger or identical integer: {spell(self.from_.type)} to {spell(self.to.type)}"
        return None


class FToFOp(Operation, name="ftof", opcode=0x2A, traits=[ext.Pure]):
    """Conversion to another float type, rounded once; the legal rounding modes depend on the pair of types."""

    to: Result[AnyFloatTile]
    from_: Operand[AnyFloatTile]
    rounding_mode: FloatConversionRounding = "nearest_even"
    rules = [same_shape("from_", "to")]
    assembly = "$from {rounding<$rounding_mode>} attr-dict : type($from) -> type($to)"

    def check(self) -> str | None:
        return ftof_problem(spell(self.from_.type.element), spell(self.to.type.element), self.rounding_mode)


class FToIOp(Operation, name="ftoi", opcode=0x2B, traits=[ext.Pure]):
    """Truncation to an integer; out of range is undefined unless `saturating`. To i1: from != 0, so NaN is true."""

    to: Result[IntegerTile]
    from_: Operand[AnyFloatTile]
    signedness: Signedness
    rounding_mode: ToIntegerRounding = "nearest_int_to_zero"
    saturating: Flag = since("13.4")
    rules = [same_shape("from_", "to")]
    assembly = "$from $signedness {rounding<$rounding_mode>}{ $saturating} attr-dict : type($from) -> type($to)"


class IToFOp(Operation, name="itof", opcode=0x3B, traits=[ext.Pure]):
    """The float nearest to an integer, ties to even."""

    to: Result[AnyFloatTile]
    from_: Operand[IntegerTile]
    signedness: Signedness
    rounding_mode: FromIntegerRounding = "nearest_even"
    rules = [same_shape("from_", "to")]
    assembly = "$from $signedness {rounding<$rounding_mode>} attr-dict : type($from) -> type($to)"

    def check_types(self) -> str | None:
        if spell(self.to.type.element) == "f8E8M0FNU":
            return "conversion of integers to f8E8M0FNU is not supported"
        return None


class IntToPtrOp(Operation, name="int_to_ptr", opcode=0x33, traits=[ext.Pure]):
    """Pointers from unsigned addresses."""

    result: Result[PointerTile]
    source: Operand[Int64Tile]
    rules = [same_shape("source", "result")]
    assembly = "$source attr-dict : type($source) -> type($result)"


class PtrToIntOp(Operation, name="ptr_to_int", opcode=0x56, traits=[ext.Pure]):
    """The addresses of pointers."""

    result: Result[Int64Tile]
    source: Operand[PointerTile]
    rules = [same_shape("source", "result")]
    assembly = "$source attr-dict : type($source) -> type($result)"


class PtrToPtrOp(Operation, name="ptr_to_ptr", opcode=0x57, traits=[ext.Pure]):
    """The same addresses, seen as pointers to another type."""

    result: Result[PointerTile]
    source: Operand[PointerTile]
    rules = [same_shape("source", "result")]
    assembly = "$source attr-dict : type($source) -> type($result)"
