"""Floating-point arithmetic on f16, bf16, f32 and f64."""

from tilec.dialect.attributes import Flag
from tilec.dialect.cuda_tile.enums import DivisionRounding, IeeeRounding, Ordering, Predicate
from tilec.dialect.cuda_tile.operation import Operation
from tilec.dialect.cuda_tile.rules import approximate_only_for_f32, only_for_f32, same_shape
from tilec.dialect.cuda_tile.sets import BoolTile, Float
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ext

_MODIFIERS = "{rounding<$rounding_mode>}{ $flush_to_zero} attr-dict : type($result)"
_FLUSH_RULE = only_for_f32("flush_to_zero")


class AddFOp(Operation, name="addf", opcode=0x02, traits=[ext.Pure]):
    """lhs + rhs, rounded once."""

    result: Result[Float]
    lhs: Operand[Float]
    rhs: Operand[Float]
    rounding_mode: IeeeRounding = "nearest_even"
    flush_to_zero: Flag
    rules = [_FLUSH_RULE]
    assembly = f"$lhs, $rhs {_MODIFIERS}"


class SubFOp(Operation, name="subf", opcode=0x67, traits=[ext.Pure]):
    """lhs - rhs, rounded once."""

    result: Result[Float]
    lhs: Operand[Float]
    rhs: Operand[Float]
    rounding_mode: IeeeRounding = "nearest_even"
    flush_to_zero: Flag
    rules = [_FLUSH_RULE]
    assembly = f"$lhs, $rhs {_MODIFIERS}"


class MulFOp(Operation, name="mulf", opcode=0x4C, traits=[ext.Pure]):
    """lhs * rhs, rounded once."""

    result: Result[Float]
    lhs: Operand[Float]
    rhs: Operand[Float]
    rounding_mode: IeeeRounding = "nearest_even"
    flush_to_zero: Flag
    rules = [_FLUSH_RULE]
    assembly = f"$lhs, $rhs {_MODIFIERS}"


class DivFOp(Operation, name="divf", opcode=0x14, traits=[ext.Pure]):
    """lhs / rhs, rounded once; approx and full are fast forms within two units in the last place."""

    result: Result[Float]
    lhs: Operand[Float]
    rhs: Operand[Float]
    rounding_mode: DivisionRounding = "nearest_even"
    flush_to_zero: Flag
    rules = [_FLUSH_RULE, approximate_only_for_f32("approx", "full")]
    assembly = f"$lhs, $rhs {_MODIFIERS}"


class FmaOp(Operation, name="fma", opcode=0x28, traits=[ext.Pure]):
    """lhs * rhs + acc, rounded once."""

    result: Result[Float]
    lhs: Operand[Float]
    rhs: Operand[Float]
    acc: Operand[Float]
    rounding_mode: IeeeRounding = "nearest_even"
    flush_to_zero: Flag
    rules = [_FLUSH_RULE]
    assembly = f"$lhs, $rhs, $acc {_MODIFIERS}"


class RemFOp(Operation, name="remf", opcode=0x59, traits=[ext.Pure]):
    """The remainder of truncating division, with the sign of lhs."""

    result: Result[Float]
    lhs: Operand[Float]
    rhs: Operand[Float]
    assembly = "$lhs, $rhs attr-dict : type($result)"


class MaxFOp(Operation, name="maxf", opcode=0x45, traits=[ext.Pure]):
    """max(lhs, rhs) with +0 > -0; a single NaN is ignored unless `propagate_nan`."""

    result: Result[Float]
    lhs: Operand[Float]
    rhs: Operand[Float]
    propagate_nan: Flag
    flush_to_zero: Flag
    rules = [_FLUSH_RULE]
    assembly = "$lhs, $rhs{ $flush_to_zero}{ $propagate_nan} attr-dict : type($result)"


class MinFOp(Operation, name="minf", opcode=0x47, traits=[ext.Pure]):
    """min(lhs, rhs) with -0 < +0; a single NaN is ignored unless `propagate_nan`."""

    result: Result[Float]
    lhs: Operand[Float]
    rhs: Operand[Float]
    propagate_nan: Flag
    flush_to_zero: Flag
    rules = [_FLUSH_RULE]
    assembly = "$lhs, $rhs{ $flush_to_zero}{ $propagate_nan} attr-dict : type($result)"


class CmpFOp(Operation, name="cmpf", opcode=0x0E, traits=[ext.Pure]):
    """lhs <predicate> rhs; with a NaN, `ordered` gives false and `unordered` true."""

    result: Result[BoolTile]
    lhs: Operand[Float]
    rhs: Operand[Float]
    comparison_predicate: Predicate
    comparison_ordering: Ordering
    rules = [same_shape("lhs", "result")]
    assembly = "$comparison_predicate $comparison_ordering $lhs, $rhs attr-dict : type($lhs) -> type($result)"


class AbsFOp(Operation, name="absf", opcode=0x00, traits=[ext.Pure]):
    """|source|."""

    result: Result[Float]
    source: Operand[Float]
    assembly = "$source attr-dict : type($result)"


class NegFOp(Operation, name="negf", opcode=0x4F, traits=[ext.Pure]):
    """-source: the sign flipped, also of zero and NaN."""

    result: Result[Float]
    source: Operand[Float]
    assembly = "$source attr-dict : type($result)"


class CeilOp(Operation, name="ceil", opcode=0x0D, traits=[ext.Pure]):
    """The least integral value not below source."""

    result: Result[Float]
    source: Operand[Float]
    assembly = "$source attr-dict : type($result)"


class FloorOp(Operation, name="floor", opcode=0x27, traits=[ext.Pure]):
    """The greatest integral value not above source."""

    result: Result[Float]
    source: Operand[Float]
    assembly = "$source attr-dict : type($result)"
