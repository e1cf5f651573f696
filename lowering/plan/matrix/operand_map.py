"""The dimension of an operand that is contiguous in shared memory, and the tensor map with which TMA loads it."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.operations.channel import MMA
from tilec.element_types import element_type
from tilec.lowering.matrix_unit import MatrixUnit
from tilec.lowering.plan.matrix.operand_source import OperandSource, is_only_multiplied
from tilec.lowering.target import Target
from tilec.lowering.tile.analysis.tile_operations import is_elementwise
from tilec.lowering.tile.analysis.tile_parts import same_dimension
from tilec.lowering.tile_to_gpu.access.alignment import access_vector, per_byte
from tilec.lowering.tile_to_gpu.access.packed_maps import packed_map_for
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap
from tilec.lowering.tile_to_gpu.access.tensor_modes import load_map_for

_LOAD, _PERMUTE, _RESHAPE, _CAT = (f"cuda_tile.{name}" for name in ("load_view_tko", "permute", "reshape", "cat"))
_HALF_BITS = 16
_NAN_ADVICE = ": hint allow_unconfirmed lets it fill with a NaN whose bits NVIDIA does not publish"


def contiguous_by_tma(
    value: ir.Value, source: OperandSource, depth: int, unit: MatrixUnit, target: Target
) -> tuple[int, TensorMap] | str:
    """The contiguous dimension of the operand and its map, or the reason why TMA cannot load it for the unit."""
    map = _load_map(source, target)
    if isinstance(map, str):
        would_fill = isinstance(_load_map(source, replace(target, fills_nan=True)), TensorMap)
        return f"{map}{_NAN_ADVICE}" if would_fill else map
    loaded = source.load.view.type
    contiguous = source.dimensions.index(map.contiguous)
    if per_byte(value.type.element) > per_byte(loaded.element) and map.contiguous != loaded.rank - 1:
        return "the bytes of the operand are not contiguous in memory along the elements that share them"
    if contiguous == depth:
        return contiguous, map
    element = spell(value.type.element)
    rule = unit.mn_major.get(element)
    if rule is None:
        return f"{unit.name} reads {element} only where K is contiguous in memory"
    row_bytes = value.type.shape[contiguous] * element_type(element).storage_bits // 8
    if row_bytes < rule.least_row_bytes:
        return f"{unit.name} needs rows of {rule.least_row_bytes} bytes, the tile has {row_bytes}"
    if rule.swizzle is None:
        return contiguous, map
    if hasattr(loaded, "sparse_dim"):
        return f"{unit.name} needs {element} in swizzle {rule.swizzle}, in which TMA does not gather rows"
    if getattr(loaded, "interleave", None) is not None:
        return f"{unit.name} needs {element} in swizzle {rule.swizzle}, which is wider than a slice of channels"
    return contiguous, replace(map, swizzle=rule.swizzle)


def _load_map(source: OperandSource, target: Target) -> TensorMap | str:
    """The map of a load, or the reason why TMA does not load the tile or must not."""
    map = load_map_for(source.load, target, rounds_to_tf32=source.rounds_to_tf32)
    if not isinstance(map, str) and map.fill == "nan" and not is_only_multiplied(source.load.operation.results[0]):
        return "threads read the tile too, and NVIDIA does not publish the bits of the NaN that TMA fills"
    return map


def unpacked_by_tma(
    value: ir.Value, source: OperandSource, depth: int, unit: MatrixUnit, target: Target
) -> tuple[int, TensorMap] | str:
    """As `contiguous_by_tma`, for an operand of less than 8 bits, of which 16 elements have 16 bytes.

    Only tcgen05 reads such operands.
    """
    element = spell(value.type.element)
    if unit.consumer != MMA:
        return f"{unit.name} has no {element} operands"
    map = packed_map_for(source.load, element_type(element).value_bits, target)
    if isinstance(map, str):
        return map
    contiguous = source.dimensions.index(map.contiguous)
    # PTX ISA 9.7.16.2.1: operands of less than 8 bits are K-major.
    return (contiguous, map) if contiguous == depth else f"{unit.name} reads {element} only where K is contiguous"


def contiguous_of_stored(value: ir.Value, depth: int, unit: MatrixUnit) -> int:
    """The contiguous dimension of an operand that threads store: K, or the other one if threads store more along it.

    Only elements of 16 bits lie along both dimensions in all units. A thread has the elements of its load along the
    contiguous dimension of the array, and along K those that it takes out of each loaded element.
    """
    other, element = 1 - depth, spell(value.type.element)
    rule, bits = unit.mn_major.get(element), element_type(element).storage_bits
    row_bytes = value.type.shape[other] * bits // 8
    if bits != _HALF_BITS or rule is None or rule.swizzle is not None or row_bytes < rule.least_row_bytes:
        return depth
    loaded = _loaded_dimension(value, other)
    if loaded is None:
        return depth
    load, dimension = loaded
    contiguous, vector = access_vector(load)
    parts = prod(value.type.shape) // prod(load.operation.results[0].type.shape)
    return other if dimension == contiguous and vector > parts else depth


def _loaded_dimension(value: ir.Value, dimension: int) -> tuple[ir.OpView, int] | None:
    """The load from which a tile is computed, and the dimension of its tile along a dimension of the tile; or None."""
    op = value.owner
    if isinstance(op, ir.Block):
        return None
    name = op.operation.name
    if name == _LOAD:
        return op.operation.opview, dimension
    if name == _PERMUTE:
        return _loaded_dimension(op.operation.operands[0], list(op.operation.opview.permutation)[dimension])
    if name == _RESHAPE:
        source = op.operation.operands[0]
        moved = same_dimension(value.type.shape, source.type.shape, dimension)
        return None if moved is None else _loaded_dimension(source, moved)
    if op.operation.opview.dim == dimension if name == _CAT else not is_elementwise(op.operation.opview):
        return None
    tiles = (each for each in op.operation.operands if isinstance(each.type, TileType))
    return next(filter(None, (_loaded_dimension(tile, dimension) for tile in tiles)), None)
