"""Integer and bitwise arithmetic."""

from tilec.dialect.cuda_tile.enums import IntegerRounding, Overflow, Predicate, Signedness
from tilec.dialect.cuda_tile.operation import NoMemoryEffect, Operation
from tilec.dialect.cuda_tile.rules import same_shape
from tilec.dialect.cuda_tile.sets import BoolTile, Int
from tilec.dialect.fields import Operand, Result, since
from tilec.dialect.mlir import ext

_OVERFLOW = "{ overflow<$overflow>}"


class AbsIOp(Operation, name="absi", opcode=0x01, traits=[ext.Pure]):
    """|source|: the operand is signed, the result unsigned."""

    result: Result[Int]
    source: Operand[Int]
    assembly = "$source attr-dict : type($result)"


class AddIOp(Operation, name="addi", opcode=0x03, traits=[ext.Pure]):
    """lhs + rhs modulo 2^width; `overflow` asserts that it does not wrap."""

    result: Result[Int]
    lhs: Operand[Int]
    rhs: Operand[Int]
    overflow: Overflow = "none"
    assembly = f"$lhs, $rhs{_OVERFLOW} attr-dict : type($result)"


class SubIOp(Operation, name="subi", opcode=0x68, traits=[ext.Pure]):
    """lhs - rhs modulo 2^width; `overflow` asserts that it does not wrap."""

    result: Result[Int]
    lhs: Operand[Int]
    rhs: Operand[Int]
    overflow: Overflow = "none"
    assembly = f"$lhs, $rhs{_OVERFLOW} attr-dict : type($result)"


class MulIOp(Operation, name="muli", opcode=0x4E, traits=[ext.Pure]):
    """The low half of lhs * rhs; `overflow` asserts that the high half is not needed."""

    result: Result[Int]
    lhs: Operand[Int]
    rhs: Operand[Int]
    overflow: Overflow = "none"
    assembly = f"$lhs, $rhs{_OVERFLOW} attr-dict : type($result)"


class MulhiIOp(Operation, name="mulhii", opcode=0x4D, traits=[ext.Pure]):
    """The high half of the unsigned product x * y."""

    result: Result[Int]
    x: Operand[Int]
    y: Operand[Int]
    assembly = "$x, $y attr-dict : type($result)"


class NegIOp(Operation, name="negi", opcode=0x50, traits=[ext.Pure]):
    """-source modulo 2^width, signed; `overflow` asserts that source is not the least integer."""

    result: Result[Int]
    source: Operand[Int]
    overflow: Overflow = since("13.2", default="none")
    assembly = f"$source{_OVERFLOW} attr-dict : type($result)"

    def check(self) -> str | None:
        if self.overflow == "no_unsigned_wrap":
            return "overflow must be one of: none, no_signed_wrap, no_wrap, but got: no_unsigned_wrap"
        return None


class DivIOp(Operation, name="divi", opcode=0x15, traits=[NoMemoryEffect]):
    """lhs / rhs rounded to an integer; division by zero and the least integer by -1 are undefined."""

    result: Result[Int]
    lhs: Operand[Int]
    rhs: Operand[Int]
    signedness: Signedness
    rounding: IntegerRounding = "zero"
    assembly = "$lhs, $rhs $signedness{ rounding<$rounding>} attr-dict : type($result)"

    def check(self) -> str | None:
        if self.rounding == "negative_inf" and self.signedness == "unsigned":
            return "rounding mode negative_inf is not allowed with unsigned"
        return None


class RemIOp(Operation, name="remi", opcode=0x5A, traits=[NoMemoryEffect]):
    """The remainder of truncating division, with the sign of lhs; rhs 0 is undefined."""

    result: Result[Int]
    lhs: Operand[Int]
    rhs: Operand[Int]
    signedness: Signedness
    assembly = "$lhs, $rhs $signedness attr-dict : type($result)"


class MaxIOp(Operation, name="maxi", opcode=0x46, traits=[ext.Pure]):
    """max(lhs, rhs)."""

    result: Result[Int]
    lhs: Operand[Int]
    rhs: Operand[Int]
    signedness: Signedness
    assembly = "$lhs, $rhs $signedness attr-dict : type($result)"


class MinIOp(Operation, name="mini", opcode=0x48, traits=[ext.Pure]):
    """min(lhs, rhs)."""

    result: Result[Int]
    lhs: Operand[Int]
    rhs: Operand[Int]
    signedness: Signedness
    assembly = "$lhs, $rhs $signedness attr-dict : type($result)"


class CmpIOp(Operation, name="cmpi", opcode=0x0F, traits=[ext.Pure]):
    """lhs <predicate> rhs, elementwise."""

    result: Result[BoolTile]
    lhs: Operand[Int]
    rhs: Operand[Int]
    comparison_predicate: Predicate
    signedness: Signedness
    rules = [same_shape("lhs", "result")]
    assembly = "$comparison_predicate $lhs, $rhs, $signedness attr-dict : type($lhs) -> type($result)"


class ShlIOp(Operation, name="shli", opcode=0x60, traits=[ext.Pure]):
    """lhs << rhs, filled with zeros; the amount is unsigned."""

    result: Result[Int]
    lhs: Operand[Int]
    rhs: Operand[Int]
    overflow: Overflow = "none"
    assembly = f"$lhs, $rhs{_OVERFLOW} attr-dict : type($result)"


class ShrIOp(Operation, name="shri", opcode=0x61, traits=[ext.Pure]):
    """lhs >> rhs: `signed` fills with the sign, `unsigned` with zeros."""

    result: Result[Int]
    lhs: Operand[Int]
    rhs: Operand[Int]
    signedness: Signedness
    assembly = "$lhs, $rhs $signedness attr-dict : type($result)"


class AndIOp(Operation, name="andi", opcode=0x04, traits=[ext.Pure]):
    """lhs & rhs, bitwise."""

    result: Result[Int]
    lhs: Operand[Int]
    rhs: Operand[Int]
    assembly = "$lhs, $rhs attr-dict : type($result)"


class OrIOp(Operation, name="ori", opcode=0x52, traits=[ext.Pure]):
    """lhs | rhs, bitwise."""

    result: Result[Int]
    lhs: Operand[Int]
    rhs: Operand[Int]
    assembly = "$lhs, $rhs attr-dict : type($result)"


class XOrIOp(Operation, name="xori", opcode=0x6C, traits=[ext.Pure]):
    """lhs ^ rhs, bitwise."""

    result: Result[Int]
    lhs: Operand[Int]
    rhs: Operand[Int]
    assembly = "$lhs, $rhs attr-dict : type($result)"
