"""Register tiles made from scalars, relabelled, and moved between layouts."""

from tilec.dialect.attributes import Int32, Integers32, Text
from tilec.dialect.fields import Mixed, Operand, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.tile_gpu.layouts import operands_agree, operands_and_results_agree
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Anything, RegisterTile, Scalar


def _element(value: ir.Value) -> ir.Type:
    return value.type.element_type if isinstance(value.type, ir.RankedTensorType) else value.type


def _same_element(op: ir.OpView) -> str | None:
    source, result = _element(op.operands[0]), _element(op.results[0])
    return (
        None
        if source == result
        else f"source and result must have the same element type, but got {source} and {result}"
    )


class SplatOp(Operation, name="splat", traits=[ext.Pure]):
    """result[i] = source."""

    result: Result[RegisterTile]
    source: Operand[Scalar]
    assembly = "$source attr-dict : type($source) -> type($result)"
    rules = [_same_element]


class IotaOp(Operation, name="iota", traits=[ext.Pure]):
    """result[i] = i, a tile of one dimension."""

    result: Result[RegisterTile]
    assembly = "attr-dict : type($result)"


class BroadcastOp(Operation, name="broadcast", traits=[ext.Pure]):
    """Stretches extents of one; the source layout is the result layout with the stretched dimensions projected."""

    result: Result[RegisterTile]
    source: Operand[RegisterTile]
    assembly = "$source attr-dict : type($source) -> type($result)"
    rules = [_same_element]


class ReshapeOp(Operation, name="reshape", traits=[ext.Pure]):
    """The same elements in row-major order under another shape; registers keep their place."""

    result: Result[RegisterTile]
    source: Operand[RegisterTile]
    assembly = "$source attr-dict : type($source) -> type($result)"
    rules = [_same_element]


class TransposeOp(Operation, name="transpose", traits=[ext.Pure]):
    """Result dimension i is source dimension permutation[i]; registers keep their place."""

    result: Result[RegisterTile]
    source: Operand[RegisterTile]
    permutation: Integers32
    assembly = "$source [$permutation] attr-dict : type($source) -> type($result)"
    rules = [_same_element]


class ConvertLayoutOp(Operation, name="convert_layout", traits=[ext.Pure]):
    """The same tile in another layout: by registers, by shuffles, or through shared memory."""

    result: Result[RegisterTile]
    source: Operand[RegisterTile]
    assembly = "$source attr-dict : type($source) -> type($result)"
    rules = [_same_element]

    def check(self) -> str | None:
        source, result = self.operands[0].type.shape, self.results[0].type.shape
        return (
            None if source == result else f"source and result must have the same shape, but got {source} and {result}"
        )


class ExtractOp(Operation, name="extract", traits=[ext.Pure]):
    """Sub-tile number [indices] of the grid of result-sized sub-tiles of the source."""

    result: Result[Anything]
    source: Operand[RegisterTile]
    indices: Mixed[Operand[Scalar], 32]
    assembly = "$source[$indices] attr-dict : type($source) -> type($result)"


class CatOp(Operation, name="cat", traits=[ext.Pure]):
    """lhs and rhs one after the other along `dimension`."""

    result: Result[RegisterTile]
    lhs: Operand[RegisterTile]
    rhs: Operand[RegisterTile]
    dimension: Int32
    assembly = "$lhs, $rhs dimension $dimension attr-dict : type($lhs), type($rhs) -> type($result)"
    rules = [_same_element, operands_agree]


class MathOp(Operation, name="math", traits=[ext.Pure]):
    """An element-wise function that upstream has no word for: another rounding, flush to zero, an approximate form.

    `function` is "name.modifier...", for example "add.rz", "div.full", "exp2.approx.ftz".
    """

    result: Result[Anything]
    arguments: Mixed[Operand[Anything], 32]
    function: Text
    assembly = "$function $arguments attr-dict : type($arguments) -> type($result)"
    rules = [operands_and_results_agree]
