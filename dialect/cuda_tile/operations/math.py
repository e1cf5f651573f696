"""Elementary functions."""

from tilec.dialect.attributes import Flag
from tilec.dialect.cuda_tile.enums import ApproximateRounding, RootRounding
from tilec.dialect.cuda_tile.operation import Operation
from tilec.dialect.cuda_tile.rules import approximate_only_for_f32, only_for_f32, same_shape
from tilec.dialect.cuda_tile.sets import Float, SmallIntegerTile
from tilec.dialect.fields import Operand, Result, since
from tilec.dialect.mlir import ext

_PLAIN = "$source attr-dict : type($result)"


class SqrtOp(Operation, name="sqrt", opcode=0x64, traits=[ext.Pure]):
    """The square root, rounded once; approx is a fast form."""

    result: Result[Float]
    source: Operand[Float]
    rounding_mode: RootRounding = "nearest_even"
    flush_to_zero: Flag
    rules = [only_for_f32("flush_to_zero"), approximate_only_for_f32("approx")]
    assembly = "$source {rounding<$rounding_mode>}{ $flush_to_zero} attr-dict : type($result)"


class RsqrtOp(Operation, name="rsqrt", opcode=0x5D, traits=[ext.Pure]):
    """1 / sqrt(source)."""

    result: Result[Float]
    source: Operand[Float]
    flush_to_zero: Flag
    rules = [only_for_f32("flush_to_zero")]
    assembly = "$source{ $flush_to_zero} attr-dict : type($result)"


class ExpOp(Operation, name="exp", opcode=0x17, traits=[ext.Pure]):
    """e^source; approx is a fast form."""

    result: Result[Float]
    source: Operand[Float]
    rounding_mode: ApproximateRounding = since("13.3", default="full")
    rules = [approximate_only_for_f32("approx")]
    assembly = "$source {rounding<$rounding_mode>} attr-dict : type($result)"


class Exp2Op(Operation, name="exp2", opcode=0x18, traits=[ext.Pure]):
    """2^source."""

    result: Result[Float]
    source: Operand[Float]
    flush_to_zero: Flag
    rules = [only_for_f32("flush_to_zero")]
    assembly = "$source{ $flush_to_zero} attr-dict : type($result)"


class LogOp(Operation, name="log", opcode=0x3F, traits=[ext.Pure]):
    """The natural logarithm."""

    result: Result[Float]
    source: Operand[Float]
    assembly = _PLAIN


class Log2Op(Operation, name="log2", opcode=0x40, traits=[ext.Pure]):
    """The logarithm to base 2."""

    result: Result[Float]
    source: Operand[Float]
    assembly = _PLAIN


class SinOp(Operation, name="sin", opcode=0x62, traits=[ext.Pure]):
    """The sine of an angle in radians."""

    result: Result[Float]
    source: Operand[Float]
    assembly = _PLAIN


class CosOp(Operation, name="cos", opcode=0x12, traits=[ext.Pure]):
    """The cosine of an angle in radians."""

    result: Result[Float]
    source: Operand[Float]
    assembly = _PLAIN


class TanOp(Operation, name="tan", opcode=0x69, traits=[ext.Pure]):
    """The tangent of an angle in radians."""

    result: Result[Float]
    source: Operand[Float]
    assembly = _PLAIN


class SinhOp(Operation, name="sinh", opcode=0x63, traits=[ext.Pure]):
    """The hyperbolic sine."""

    result: Result[Float]
    source: Operand[Float]
    assembly = _PLAIN


class CoshOp(Operation, name="cosh", opcode=0x13, traits=[ext.Pure]):
    """The hyperbolic cosine."""

    result: Result[Float]
    source: Operand[Float]
    assembly = _PLAIN


class TanhOp(Operation, name="tanh", opcode=0x6A, traits=[ext.Pure]):
    """The hyperbolic tangent; approx is a fast form."""

    result: Result[Float]
    source: Operand[Float]
    rounding_mode: ApproximateRounding = since("13.2", default="full")
    rules = [approximate_only_for_f32("approx")]
    assembly = "$source {rounding<$rounding_mode>} attr-dict : type($result)"


class Atan2Op(Operation, name="atan2", opcode=0x6E, since="13.2", traits=[ext.Pure]):
    """The angle of the point (y, x): the arc tangent of x / y with the quadrant, x being the first operand."""

    result: Result[Float]
    x: Operand[Float]
    y: Operand[Float]
    assembly = "$x, $y attr-dict : type($result)"


class FPowFOp(Operation, name="fpowf", formerly="pow", opcode=0x54, traits=[ext.Pure]):
    """source to the power exponent."""

    result: Result[Float]
    source: Operand[Float]
    exponent: Operand[Float]
    assembly = "$source, $exponent attr-dict : type($result)"


class FPowIOp(Operation, name="fpowi", opcode=0x79, since="13.4", traits=[ext.Pure]):
    """source to an integer power by repeated squaring, each product rounded; negative powers are reciprocals."""

    result: Result[Float]
    source: Operand[Float]
    exponent: Operand[SmallIntegerTile]
    rules = [same_shape("source", "exponent")]
    assembly = "$source, $exponent attr-dict : type($result), type($exponent)"
