"""Matrix multiply-accumulate."""

from tilec.dialect.attributes import Flag
from tilec.dialect.cuda_tile.enums import Signedness
from tilec.dialect.cuda_tile.operation import Operation
from tilec.dialect.cuda_tile.rules import same_element, same_rank
from tilec.dialect.cuda_tile.sets import (
    ByteTile,
    Float32Tile,
    Int32Tile,
    MatrixAccumulator,
    MatrixInput,
    ScaledInput,
    ScaleTile,
)
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.fields import Operand, Result, TypeVariable, since
from tilec.dialect.mlir import ext
from tilec.dialect.spelling import spell

Accumulator = TypeVariable("Accumulator", MatrixAccumulator)
IntegerAccumulator = TypeVariable("Accumulator", Int32Tile)
FloatAccumulator = TypeVariable("Accumulator", Float32Tile)

# The legal accumulator types of each input element type.
ACCUMULATORS = {
    "f8E4M3FN": ("f16", "f32"),
    "f8E5M2": ("f16", "f32"),
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "f32": ("f32",),
    "f64": ("f64",),
}

# The number of elements per scale, by element types of inputs and scales.
SCALED_ELEMENTS = {
    ("f8E4M3FN", "f8E8M0FNU"): (32,),
    ("f8E5M2", "f8E8M0FNU"): (32,),
    ("f4E2M1FN", "f8E4M3FN"): (16,),
    ("f4E2M1FN", "f8E8M0FNU"): (16, 32),
    ("f4E2M1FN", "fnv8E5M3FNU"): (16, 32),
}


def shape_problem(lhs: TileType, rhs: TileType, acc: TileType) -> str | None:
    """The problem with the shapes of a multiply, [B]MxK, [B]KxN and [B]MxN, or None."""
    if lhs.rank not in (2, 3):
        return f"expects tiles of rank 2 or 3, but got {spell(lhs)}"
    if lhs.rank == 3 and not lhs.shape[0] == rhs.shape[0] == acc.shape[0]:
        return f"expects equal batch dimensions, but got {spell(lhs)}, {spell(rhs)} and {spell(acc)}"
    for (name, tile, axis), (other_name, other, other_axis) in (
        (("lhs", lhs, -1), ("rhs", rhs, -2)),
        (("lhs", lhs, -2), ("acc", acc, -2)),
        (("rhs", rhs, -1), ("acc", acc, -1)),
    ):
        extent, expected = tile.shape[axis], other.shape[other_axis]
        if extent != expected:
            return (
                f"expects dim {tile.rank + axis} of {name} ({extent})"
                f" to equal dim {other.rank + other_axis} of {other_name} ({expected})"
            )
    return None


def scaled_shape_problem(
    lhs: TileType, rhs: TileType, acc: TileType, left: TileType, right: TileType, elements: tuple[int, ...]
) -> str | None:
    """The problem with the shapes of a multiply with the scales `left` and `right`, or None.

    `elements` lists the numbers of elements along K that may share a scale.
    """
    problem = shape_problem(lhs, rhs, acc)
    if problem is not None:
        return problem
    shared, rest = divmod(lhs.shape[-1], left.shape[-1])
    if rest or shared not in elements:
        wanted = " or ".join(map(str, elements))
        return f"expects {wanted} elements of lhs to share a scale, but got {spell(lhs)} with {spell(left)}"
    if left.shape[:-1] != lhs.shape[:-1]:
        return f"expects lhs_scale to have the rows of lhs, but got {spell(left)} for {spell(lhs)}"
    if right.shape[:-2] != rhs.shape[:-2] or right.shape[-2:] != (left.shape[-1], rhs.shape[-1]):
        return f"expects rhs_scale to end in {left.shape[-1]}x{rhs.shape[-1]} for {spell(rhs)}, but got {spell(right)}"
    return None


class MmaFOp(Operation, name="mmaf", opcode=0x49, traits=[ext.Pure]):
    """lhs @ rhs + acc for [B]MxK, [B]KxN and [B]MxN floats; fast_acc allows Hopper's short f8 accumulation."""

    result: Result[Accumulator]
    lhs: Operand[MatrixInput]
    rhs: Operand[MatrixInput]
    acc: Operand[Accumulator]
    fast_acc: Flag = since("13.3")
    rules = [same_element("lhs", "rhs"), same_rank("lhs", "rhs", "acc")]
    assembly = "$lhs, $rhs, $acc{ $fast_acc} attr-dict : type($lhs), type($rhs), type($acc)"

    def check_types(self) -> str | None:
        lhs, rhs, acc = self.lhs.type, self.rhs.type, self.acc.type
        allowed = ACCUMULATORS[spell(lhs.element)]
        if spell(acc.element) not in allowed:
            wanted = f"an accumulator of {' or '.join(allowed)} for inputs of {spell(lhs.element)}"
            return f"expects {wanted}, but got {spell(acc.element)}"
        return shape_problem(lhs, rhs, acc)


class MmaIOp(Operation, name="mmai", opcode=0x4A, traits=[ext.Pure]):
    """lhs @ rhs + acc for bytes, each side signed or not; accumulator and result are signed."""

    result: Result[IntegerAccumulator]
    lhs: Operand[ByteTile]
    rhs: Operand[ByteTile]
    acc: Operand[IntegerAccumulator]
    signedness_lhs: Signedness
    signedness_rhs: Signedness
    rules = [same_rank("lhs", "rhs", "acc")]
    assembly = "$lhs, $rhs, $acc $signedness_lhs $signedness_rhs attr-dict : type($lhs), type($rhs), type($acc)"

    def check_types(self) -> str | None:
        return shape_problem(self.lhs.type, self.rhs.type, self.acc.type)


class MmaFScaledOp(Operation, name="mmaf_scaled", opcode=0x72, since="13.3", traits=[ext.Pure]):
    """(lhs * lhs_scale) @ (rhs * rhs_scale) + acc, with one scale per V elements along K."""

    result: Result[FloatAccumulator]
    lhs: Operand[ScaledInput]
    rhs: Operand[ScaledInput]
    acc: Operand[FloatAccumulator]
    lhs_scale: Operand[ScaleTile]
    rhs_scale: Operand[ScaleTile]
    rules = [
        same_element("lhs", "rhs"),
        same_element("lhs_scale", "rhs_scale"),
        same_rank("lhs", "rhs", "acc", "lhs_scale", "rhs_scale"),
    ]
    assembly = (
        "$lhs, $rhs, $acc, $lhs_scale, $rhs_scale attr-dict"
        " : type($lhs), type($rhs), type($acc), type($lhs_scale), type($rhs_scale)"
    )

    def check_types(self) -> str | None:
        lhs, left = self.lhs.type, self.lhs_scale.type
        elements = SCALED_ELEMENTS.get((spell(lhs.element), spell(left.element)))
        if elements is None:
            return f"scales of {spell(left.element)} do not go with inputs of {spell(lhs.element)}"
        return scaled_shape_problem(lhs, self.rhs.type, self.acc.type, left, self.rhs_scale.type, elements)
