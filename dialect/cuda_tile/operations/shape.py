"""Creation of tiles, and movement of elements."""

from collections.abc import Sequence
from math import prod

from tilec.dialect.attributes import Elements, Int64, Integers32
from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.cuda_tile.operation import Operation
from tilec.dialect.cuda_tile.rules import same_element, same_rank, same_shape
from tilec.dialect.cuda_tile.sets import (
    AnyNumberTile,
    AnyTile,
    BoolTile,
    ByteTile,
    Int,
    IntegerTile,
    NumberTile,
    Pointer,
    ScalarInt32,
    T,
)
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.spelling import quote, spell


class ConstantOp(Operation, name="constant", opcode=0x10, traits=[ext.Pure]):
    """A constant tile."""

    result: Result[NumberTile]
    value: Elements
    assembly = "elements($value) attr-dict"

    def check(self) -> str | None:
        stored, tile = ir.RankedTensorType(self.value.type), self.result.type
        if tuple(stored.shape) != tile.shape or stored.element_type != tile.element:
            found = "".join(f"{extent}x" for extent in stored.shape) + spell(stored.element_type)
            return f"value must have the type of the result {quote(tile)}, but has 'tile<{found}>'"
        return None


class IotaOp(Operation, name="iota", opcode=0x3A, traits=[ext.Pure]):
    """0, 1, .., n-1, unsigned."""

    result: Result[IntegerTile]
    assembly = "attr-dict : type($result)"

    def check_types(self) -> str | None:
        tile = self.result.type
        if tile.rank != 1:
            return f"expects result type to be 1-d tile, but got {quote(tile)}"
        if tile.shape[0] > 1 << ELEMENT_BITS[spell(tile.element)]:
            limit = f"the maximum value of element type {spell(tile.element)}"
            return f"the number of elements {tile.shape[0]} exceeds {limit}"
        return None


class BroadcastOp(Operation, name="broadcast", opcode=0x0B, traits=[ext.Pure]):
    """Repeats elements along dimensions of extent one."""

    result: Result[AnyTile]
    source: Operand[AnyTile]
    rules = [same_element("source", "result"), same_rank("source", "result")]
    assembly = "$source attr-dict : type($source) -> type($result)"

    def check_types(self) -> str | None:
        source, result = self.source.type, self.result.type
        if any(a not in (b, 1) for a, b in zip(source.shape, result.shape, strict=True)):
            problem = "expects the shape of source tile to be compatible with that of the result tile"
            return f"{problem}: {spell(source)} to {spell(result)}"
        return None


class ReshapeOp(Operation, name="reshape", opcode=0x5B, traits=[ext.Pure]):
    """The same elements in row-major order with another shape."""

    result: Result[AnyTile]
    source: Operand[AnyTile]
    rules = [same_element("source", "result")]
    assembly = "$source attr-dict : type($source) -> type($result)"

    def check_types(self) -> str | None:
        source, result = self.source.type, self.result.type
        if prod(source.shape) != prod(result.shape):
            problem = "expected source tile and result tile to have the same number of elements"
            return f"{problem}: {spell(source)} to {spell(result)}"
        return None


class PermuteOp(Operation, name="permute", opcode=0x53, traits=[ext.Pure]):
    """Dimensions reordered: dim i of the result is dim permutation[i] of the source."""

    result: Result[AnyTile]
    source: Operand[AnyTile]
    permutation: Integers32
    rules = [same_element("source", "result"), same_rank("source", "result")]
    assembly = "$source [$permutation] attr-dict : type($source) -> type($result)"

    def check(self) -> str | None:
        source, result, order = self.source.type, self.result.type, self.permutation
        if source.rank < 2:
            return f"expects at least rank 2, but got: {source.rank}"
        if len(order) != source.rank:
            return f"expect permutation size to equal the rank of source ({source.rank}), but got {len(order)}"
        if sorted(order) != list(range(source.rank)):
            return f"permutation must name each dimension once, but got [{', '.join(map(str, order))}]"
        expected = tuple(source.shape[axis] for axis in order)
        if result.shape != expected:
            return f"expects result shape to be [{', '.join(map(str, expected))}], but got {quote(result)}"
        return None


class CatOp(Operation, name="cat", opcode=0x0C, traits=[ext.Pure]):
    """lhs, then rhs, along dim."""

    result: Result[AnyTile]
    lhs: Operand[AnyTile]
    rhs: Operand[AnyTile]
    dim: Int64
    rules = [same_rank("lhs", "rhs", "result"), same_element("lhs", "rhs", "result")]
    assembly = "$lhs, $rhs dim = $dim attr-dict : type($lhs), type($rhs) -> type($result)"

    def check(self) -> str | None:
        lhs, rhs, result, dim = self.lhs.type, self.rhs.type, self.result.type, self.dim
        if not 0 <= dim < lhs.rank:
            return f"expect dim to be [0, {lhs.rank}), but got: {dim}"
        for axis, (a, b, c) in enumerate(zip(lhs.shape, rhs.shape, result.shape, strict=True)):
            if axis == dim and a + b != c:
                return f"invalid concat at position {axis}, expected: {a + b} but got: {c}"
            if axis != dim and not a == b == c:
                return f"expect same shape for lhs, rhs and result at position {axis}, but got: {a}, {b} and {c}"
        return None


class ExtractOp(Operation, name="extract", opcode=0x26, traits=[ext.Pure]):
    """The sub-tile at [indices] in the grid of result-sized sub-tiles; undefined outside the grid."""

    result: Result[AnyTile]
    source: Operand[AnyTile]
    indices: Sequence[Operand[ScalarInt32]]
    rules = [same_rank("source", "result"), same_element("source", "result")]
    assembly = "$source[$indices] attr-dict : type($source) -> type($result)"

    def check_types(self) -> str | None:
        return _grid_problem(self.source.type, self.result.type, len(self.indices))


class InsertOp(Operation, name="insert", opcode=0x76, since="13.4", traits=[ext.Pure]):
    """destination with the sub-tile at [indices] replaced by source."""

    result: Result[T]
    source: Operand[AnyTile]
    destination: Operand[T]
    indices: Sequence[Operand[ScalarInt32]]
    rules = [same_rank("source", "destination"), same_element("source", "destination")]
    assembly = "$source, $destination[$indices] attr-dict : type($source), type($destination)"

    def check_types(self) -> str | None:
        return _grid_problem(self.destination.type, self.source.type, len(self.indices))


def _grid_problem(whole: TileType, part: TileType, indices: int) -> str | None:
    for axis, (a, b) in enumerate(zip(whole.shape, part.shape, strict=True)):
        if a % b:
            return f"dimension {axis} of {spell(whole)} must be divisible by that of {spell(part)}"
    if indices != whole.rank:
        return f"incorrect number of indices, expected {whole.rank}, but found {indices}"
    return None


class SelectOp(Operation, name="select", opcode=0x5F, traits=[ext.Pure]):
    """val_if_true where cond holds, val_if_false elsewhere."""

    result: Result[T]
    cond: Operand[BoolTile]
    val_if_true: Operand[T]
    val_if_false: Operand[T]
    rules = [same_shape("cond", "val_if_true")]
    assembly = "$cond, $val_if_true, $val_if_false attr-dict : type($cond), type($result)"

    def check_types(self) -> str | None:
        if spell(self.result.type.element) == "f4E2M1FN":
            return "select of f4E2M1FN is not supported"
        return None


class PackOp(Operation, name="pack", opcode=0x6F, since="13.3", traits=[ext.Pure]):
    """The bytes of a tile, little-endian; the first of several elements in a byte has the low bits."""

    result: Result[ByteTile]
    source: Operand[AnyNumberTile]
    rules = [same_rank("source", "result")]
    assembly = "$source attr-dict : type($source) -> type($result)"

    def check_types(self) -> str | None:
        return _bytes_problem(self.source.type, self.result.type)


class UnpackOp(Operation, name="unpack", opcode=0x70, since="13.3", traits=[ext.Pure]):
    """A tile from its bytes: the inverse of pack."""

    result: Result[AnyNumberTile]
    source: Operand[ByteTile]
    rules = [same_rank("source", "result")]
    assembly = "$source attr-dict : type($source) -> type($result)"

    def check_types(self) -> str | None:
        return _bytes_problem(self.result.type, self.source.type)


def _bytes_problem(tile: TileType, stored: TileType) -> str | None:
    if tile.rank != 1:
        return f"expects rank-1 tiles, but got {quote(tile)}"
    # tf32 occupies four bytes here, although it has 19 bits.
    width = 32 if spell(tile.element) == "tf32" else ELEMENT_BITS[spell(tile.element)]
    if width == 8:
        return f"expects elements of other than 8 bits beside the bytes, but got {quote(tile)}"
    if tile.shape[0] * width != stored.shape[0] * 8:
        return f"expects {quote(tile)} to fill whole bytes and as many as {quote(stored)} has"
    return None


class OffsetOp(Operation, name="offset", opcode=0x51, traits=[ext.Pure]):
    """Each pointer advanced by a signed number of elements."""

    result: Result[Pointer]
    ptr: Operand[Pointer]
    offset: Operand[Int]
    rules = [same_shape("ptr", "offset")]
    assembly = "$ptr, $offset attr-dict : type($ptr), type($offset) -> type($result)"
