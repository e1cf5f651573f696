"""The tensor map with which TMA loads an operand for a unit, and the dimension that is contiguous then."""

from __future__ import annotations

from dataclasses import replace

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.channel import MMA
from tilec.element_types import element_type
from tilec.lowering.matrix_unit import MatrixUnit
from tilec.lowering.plan.matrix.operand_source import OperandSource, is_only_multiplied
from tilec.lowering.target import Target
from tilec.lowering.tile_to_gpu.access.alignment import per_byte
from tilec.lowering.tile_to_gpu.access.packed_maps import packed_map_for
from tilec.lowering.tile_to_gpu.access.tensor_maps import TensorMap
from tilec.lowering.tile_to_gpu.access.tensor_modes import load_map_for

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
