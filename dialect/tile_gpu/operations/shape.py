"""Register tiles made from scalars, relabelled, and moved between layouts."""

import math

from tilec.dialect.attributes import Int32, Integers32, Text
from tilec.dialect.fields import Mixed, Operand, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.interface import Category, Interface, Scratch
from tilec.dialect.tile_gpu.layouts import operands_agree, operands_and_results_agree
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Anything, RegisterTile, Scalar, is_register_tile
from tilec.dialect.verify import types_only
from tilec.element_types import ELEMENT_TYPES

# Polynomials can compute n of every POLYNOMIAL_PARTS elements of these functions in each thread.
FLUSHING_EXP2, EXP2 = EMULATED = ("exp2.approx.ftz", "exp2.approx")
POLYNOMIAL_PARTS = 16


def _element(value: ir.Value) -> ir.Type:
    return value.type.element_type if isinstance(value.type, ir.RankedTensorType) else value.type


@types_only
def _same_element(op: ir.OpView) -> str | None:
    source, result = _element(op.operands[0]), _element(op.results[0])
    return (
        None
        if source == result
        else f"source and result must have the same element type, but got {source} and {result}"
    )


@types_only
def _broadcast_shape(op: ir.OpView) -> str | None:
    source, result = op.operands[0].type.shape, op.results[0].type.shape
    if len(source) == len(result) and all(old in (1, new) for old, new in zip(source, result, strict=True)):
        return None
    return f"expected each source extent to be 1 or that of the result, but got {source} and {result}"


@types_only
def _reshape_shape(op: ir.OpView) -> str | None:
    source, result = op.operands[0].type.shape, op.results[0].type.shape
    if math.prod(source) == math.prod(result):
        return None
    return f"source and result must have equally many elements, but got {source} and {result}"


class SplatOp(Operation, name="splat", traits=[ext.Pure]):
    """result[i] = source."""

    interface = Interface(Category.MOVE, scratch=Scratch.NONE, is_pure=True, keeps_elements=True)
    result: Result[RegisterTile]
    source: Operand[Scalar]
    assembly = "$source attr-dict : type($source) -> type($result)"
    rules = [_same_element]


class IotaOp(Operation, name="iota", traits=[ext.Pure]):
    """result[i] = i, a tile of one dimension."""

    interface = Interface(Category.MOVE, scratch=Scratch.NONE, is_pure=True, keeps_elements=True)
    result: Result[RegisterTile]
    assembly = "attr-dict : type($result)"

    def check(self) -> str | None:
        type = self.result.type
        if len(type.shape) == 1 and isinstance(type.element_type, ir.IntegerType):
            return None
        return f"expected a tile of one dimension with integer elements, but got {type}"


class BroadcastOp(Operation, name="broadcast", traits=[ext.Pure]):
    """Repeats extents of one; the source layout is the result layout with the repeated dimensions projected."""

    interface = Interface(Category.MOVE, scratch=Scratch.NONE, is_pure=True, keeps_elements=True)
    result: Result[RegisterTile]
    source: Operand[RegisterTile]
    assembly = "$source attr-dict : type($source) -> type($result)"
    rules = [_same_element, _broadcast_shape]


class ReshapeOp(Operation, name="reshape", traits=[ext.Pure]):
    """The same elements in row-major order under another shape; no register moves."""

    interface = Interface(Category.MOVE, scratch=Scratch.NONE, is_pure=True, keeps_elements=True)
    result: Result[RegisterTile]
    source: Operand[RegisterTile]
    assembly = "$source attr-dict : type($source) -> type($result)"
    rules = [_same_element, _reshape_shape]


class TransposeOp(Operation, name="transpose", traits=[ext.Pure]):
    """Result dimension i is source dimension permutation[i]; no register moves."""

    interface = Interface(Category.MOVE, scratch=Scratch.NONE, is_pure=True, keeps_elements=True)
    result: Result[RegisterTile]
    source: Operand[RegisterTile]
    permutation: Integers32
    assembly = "$source [$permutation] attr-dict : type($source) -> type($result)"
    rules = [_same_element]

    def check(self) -> str | None:
        source, result, permutation = self.source.type.shape, self.result.type.shape, list(self.permutation)
        if sorted(permutation) != list(range(len(source))):
            return f"expected a permutation of {len(source)} dimensions, but got {permutation}"
        if [source[dimension] for dimension in permutation] != list(result):
            return f"permutation {permutation} of {source} does not give {result}"
        return None


class ConvertLayoutOp(Operation, name="convert_layout", traits=[ext.Pure]):
    """The same tile in another layout: by registers, by shuffles, or through shared memory."""

    interface = Interface(Category.MOVE, scratch=Scratch.OF_MOVED, is_pure=True)
    result: Result[RegisterTile]
    source: Operand[RegisterTile]
    assembly = "$source attr-dict : type($source) -> type($result)"
    rules = [_same_element]

    def check(self) -> str | None:
        source, result = self.operands[0].type.shape, self.results[0].type.shape
        return (
            None if source == result else f"source and result must have the same shape, but got {source} and {result}"
        )


def _grid_problem(whole: ir.Type, part: ir.Type, indices: int) -> str | None:
    """The problem with a grid of parts in a whole tile; a scalar is a part of one element."""
    if indices != len(whole.shape):
        return f"expected {len(whole.shape)} indices, but got {indices}"
    if not isinstance(part, ir.RankedTensorType):
        return None
    if len(part.shape) != len(whole.shape) or any(a % b for a, b in zip(whole.shape, part.shape, strict=True)):
        return f"expected extents of the part that divide those of the whole, but got {part.shape} of {whole.shape}"
    return None


class ExtractOp(Operation, name="extract", traits=[ext.Pure]):
    """The sub-tile at [indices] in the grid of result-sized sub-tiles of the source; indices are inside the grid."""

    interface = Interface(Category.MOVE, scratch=Scratch.OF_MOVED, is_pure=True, keeps_elements=True)
    result: Result[Anything]
    source: Operand[RegisterTile]
    indices: Mixed[Operand[Scalar], 32]
    assembly = "$source[$indices] attr-dict : type($source) -> type($result)"
    rules = [_same_element]

    def check(self) -> str | None:
        return _grid_problem(self.source.type, self.result.type, len(self.indices))


class InsertOp(Operation, name="insert", traits=[ext.Pure]):
    """The destination with the sub-tile at [indices] of its grid replaced by source; indices are inside the grid."""

    interface = Interface(Category.MOVE, scratch=Scratch.OF_MOVED, is_pure=True)
    result: Result[RegisterTile]
    source: Operand[RegisterTile]
    destination: Operand[RegisterTile]
    indices: Mixed[Operand[Scalar], 32]
    assembly = "$source, $destination[$indices] attr-dict : type($source), type($destination) -> type($result)"
    rules = [_same_element]

    def check(self) -> str | None:
        destination, result = self.destination.type, self.result.type
        if destination != result:
            return f"destination and result must have the same type, but got {destination} and {result}"
        return _grid_problem(destination, self.source.type, len(self.indices))


class CatOp(Operation, name="cat", traits=[ext.Pure]):
    """The concatenation of lhs and rhs along `dimension`."""

    interface = Interface(Category.MOVE, scratch=Scratch.OF_MOVED, is_pure=True)
    result: Result[RegisterTile]
    lhs: Operand[RegisterTile]
    rhs: Operand[RegisterTile]
    dimension: Int32
    assembly = "$lhs, $rhs dimension $dimension attr-dict : type($lhs), type($rhs) -> type($result)"
    rules = [_same_element, operands_agree]

    def check(self) -> str | None:
        lhs, rhs, result = (value.type.shape for value in (self.lhs, self.rhs, self.result))
        if not 0 <= self.dimension < len(lhs):
            return f"expected a dimension below {len(lhs)}, but got {self.dimension}"
        expected = [extent * 2 if axis == self.dimension else extent for axis, extent in enumerate(lhs)]
        if lhs != rhs or list(result) != expected:
            return f"expected two tiles of {lhs} and a result of {expected}, but got {rhs} and {result}"
        return None


def _bytes_along(op: ir.OpView, elements: ir.Value, stored: ir.Value) -> str | None:
    """The problem unless `stored` has the bytes of `elements` along the dimension of the operation."""
    dimension, shape, found = op.dimension, list(elements.type.shape), list(stored.type.shape)
    if not 0 <= dimension < len(shape):
        return f"expected a dimension below {len(shape)}, but got {dimension}"
    if str(_element(stored)) != "i8":
        return f"expected bytes, elements of i8, but got {_element(stored)}"
    row = ELEMENT_TYPES.get(spell(_element(elements)))
    if row is None:
        return f"elements must be of {', '.join(ELEMENT_TYPES)}, but got {spell(_element(elements))}"
    bits = shape[dimension] * row.packed_bits
    expected = [bits // 8 if axis == dimension else extent for axis, extent in enumerate(shape)]
    if bits % 8 or found != expected:
        return f"expected {bits} bits along dimension {dimension} to be the bytes of {expected}, but got {found}"
    return None


class PackOp(Operation, name="pack", traits=[ext.Pure]):
    """The bytes of a tile along `dimension`, little-endian; the first of the elements in a byte has the low bits.

    Elements of i1 have one bit. A thread holds all elements of its bytes, or all bytes of its elements.
    """

    interface = Interface(Category.MOVE, is_pure=True)
    result: Result[RegisterTile]
    source: Operand[RegisterTile]
    dimension: Int32
    assembly = "$source dimension $dimension attr-dict : type($source) -> type($result)"

    def check(self) -> str | None:
        return _bytes_along(self, self.source, self.result)


class UnpackOp(Operation, name="unpack", traits=[ext.Pure]):
    """The tile whose bytes along `dimension` are the source: the inverse of pack."""

    interface = Interface(Category.MOVE, is_pure=True)
    result: Result[RegisterTile]
    source: Operand[RegisterTile]
    dimension: Int32
    assembly = "$source dimension $dimension attr-dict : type($source) -> type($result)"

    def check(self) -> str | None:
        return _bytes_along(self, self.result, self.source)


def _polynomials(op: ir.OpView) -> str | None:
    """The problem with the share of polynomials, or None."""
    if op.polynomials is None:
        return None
    if (
        op.function not in EMULATED
        or not is_register_tile(op.result.type)
        or not isinstance(_element(op.result), ir.F32Type)
    ):
        expected = " or ".join(f"'{function}'" for function in EMULATED)
        return f"polynomials: expected {expected} of a tile of f32, but got '{op.function}' of {op.result.type}"
    if not 0 < op.polynomials < POLYNOMIAL_PARTS:
        return f"expected 1 to {POLYNOMIAL_PARTS - 1} of {POLYNOMIAL_PARTS} polynomials, but got {op.polynomials}"
    return None


class MathOp(Operation, name="math", traits=[ext.Pure]):
    """An elementwise function that upstream lacks: another rounding, flush to zero, an approximate form.

    `function` is "name.modifier...", for example "add.rz", "div.full", "exp2.approx.ftz". With `polynomials n`,
    instructions of other units compute n of 16 elements of each thread.
    """

    interface = Interface(Category.ARITHMETIC, scratch=Scratch.NONE, is_pure=True, is_elementwise=True)
    result: Result[Anything]
    arguments: Mixed[Operand[Anything], 32]
    function: Text
    polynomials: Int32 | None
    assembly = "$function{ polynomials $polynomials} $arguments attr-dict : type($arguments) -> type($result)"
    rules = [operands_and_results_agree, _polynomials]
