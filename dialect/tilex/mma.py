"""Matrix multiply-accumulate of narrow floats of different element types."""

from tilec.dialect.attributes import Flag
from tilec.dialect.cuda_tile.element import EXTENSION_FLOATS
from tilec.dialect.cuda_tile.operations.mma import scaled_shape_problem, shape_problem
from tilec.dialect.cuda_tile.rules import same_rank
from tilec.dialect.cuda_tile.sets import Float32Tile, tile_of
from tilec.dialect.fields import Operand, Result, TypeVariable
from tilec.dialect.mlir import ext
from tilec.dialect.tilex.namespace import Operation
from tilec.dialect.tilex.sets import of_tilex

# PTX ISA 9.7.16.2.1: the elements that kind::f8f6f4 multiplies by each other.
NARROW_FLOATS = ("f8E4M3FN", "f8E5M2", *EXTENSION_FLOATS, "f4E2M1FN")
NarrowTile = of_tilex(tile_of("NarrowTile", NARROW_FLOATS))
# The elements that share a factor of kind::mxf8f6f4 (PTX ISA 9.7.16.10.7).
SCALED_ELEMENTS = (32,)
FactorTile = of_tilex(tile_of("FactorTile", ("f8E8M0FNU",)))
Accumulator = TypeVariable("Accumulator", of_tilex(tile_of("NarrowAccumulator", ("f16", "f32"))))
ScaledAccumulator = TypeVariable("Accumulator", of_tilex(Float32Tile))


class MmaFOp(Operation, name="mmaf", traits=[ext.Pure]):
    """lhs @ rhs + acc for [B]MxK, [B]KxN and [B]MxN, where lhs and rhs have any of the narrow element types."""

    result: Result[Accumulator]
    lhs: Operand[NarrowTile]
    rhs: Operand[NarrowTile]
    acc: Operand[Accumulator]
    fast_acc: Flag
    rules = [same_rank("lhs", "rhs", "acc")]
    assembly = "$lhs, $rhs, $acc{ $fast_acc} attr-dict : type($lhs), type($rhs), type($acc)"

    def check_types(self) -> str | None:
        return shape_problem(self.lhs.type, self.rhs.type, self.acc.type)


class MmaFScaledOp(Operation, name="mmaf_scaled", traits=[ext.Pure]):
    """(lhs * lhs_scale) @ (rhs * rhs_scale) + acc for any of the narrow element types; 32 elements share a scale."""

    result: Result[ScaledAccumulator]
    lhs: Operand[NarrowTile]
    rhs: Operand[NarrowTile]
    acc: Operand[ScaledAccumulator]
    lhs_scale: Operand[FactorTile]
    rhs_scale: Operand[FactorTile]
    rules = [same_rank("lhs", "rhs", "acc", "lhs_scale", "rhs_scale")]
    assembly = (
        "$lhs, $rhs, $acc, $lhs_scale, $rhs_scale attr-dict"
        " : type($lhs), type($rhs), type($acc), type($lhs_scale), type($rhs_scale)"
    )

    def check_types(self) -> str | None:
        scales = self.lhs_scale.type, self.rhs_scale.type
        return scaled_shape_problem(self.lhs.type, self.rhs.type, self.acc.type, *scales, SCALED_ELEMENTS)
