"""The launch record of a kernel: the fields of `.launch.json` that the lowering determines."""

from __future__ import annotations

import json

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.matrix_rules import is_transposed
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.matrix import Tcgen05MmaOp, WgmmaOp
from tilec.dialect.tile_gpu.operations.tensor_map import ListWordOp, MakeTensorMapOp, words_of
from tilec.dialect.tile_gpu.operations.tma import TmaLoadOp
from tilec.dialect.walk import operations_named
from tilec.element_types import CODED_FLOATS, element_type
from tilec.errors import UnsupportedError
from tilec.lowering.emitter import constant_of
from tilec.lowering.tma.tensor_map import ELEMENTS

_OPERATIONS = {
    "arith.addi": "add",
    "arith.subi": "sub",
    "arith.muli": "mul",
    "arith.divui": "floordiv",
    "arith.divsi": "floordiv",
    "arith.ceildivui": "ceildiv",
    "arith.minsi": "min",
    "arith.maxsi": "max",
}
_CASTS = ("arith.extsi", "arith.extui", "arith.trunci")


def launch_record(kernel: KernelOp, maps: list[MakeTensorMapOp], threads: int, shared_bytes: int) -> dict[str, object]:
    """The record without the schema and the fields that depend on the PTX text (versions, checksum)."""
    operation = kernel.operation
    record = {
        "entry": ir.StringAttr(operation.attributes["sym_name"]).value,
        "target": ir.StringAttr(operation.attributes["target"]).value,
        "parameters": _parameters(kernel, maps),
        "tensor_maps": [_map(op) for op in maps],
        "block": [threads, 1, 1],
        "cluster": [kernel.cluster_ctas, 1, 1],
        "shared_bytes": shared_bytes,
        # NVIDIA publishes neither the bits of the NaN nor the order of the rows after each 32 pixels, nor the addresses
        # of a matrix descriptor that starts at any row.
        "allow_unconfirmed": any(op.fill == "nan" for op in maps) or _loads_halos(kernel) or _starts_at_any_row(kernel),
    }
    if kernel.ctas > 1:
        record["grid_counts_clusters"] = True
    if kernel.joined_programs is not None:
        record["cluster_if_divisible"] = True
    if "tilec.signature" in operation.attributes:
        record["arguments"] = json.loads(ir.StringAttr(operation.attributes["tilec.signature"]).value)["arguments"]
    return record


def _loads_halos(kernel: KernelOp) -> bool:
    """Whether a load adds pixels after each 32."""
    loads = operations_named(kernel, (TmaLoadOp.OPERATION_NAME,))
    return any(op.halo and op.map.owner.opview.kind == "im2col_w128" for op in loads)


def _starts_at_any_row(kernel: KernelOp) -> bool:
    """Whether a multiply reads rows inside of lhs by the start of its descriptor."""
    multiplies = operations_named(kernel, (Tcgen05MmaOp.OPERATION_NAME, WgmmaOp.OPERATION_NAME))
    return any(op.shifted is not None and not is_transposed(op.accumulator) for op in multiplies)


def parameter_type(type: ir.Type) -> str:
    """The PTX type of a parameter."""
    name = spell(type)
    if name.startswith("i"):
        return f"u{max(8, int(name[1:]))}"
    return name if name in ("f32", "f64") else f"b{element_type(name).storage_bits}"


# Floats whose PTX type has their bits alone -> the type from which the launcher encodes a number.
_ENCODED = {name: name for name in ("f16", "bf16", *CODED_FLOATS)} | {"tf32": "f32"}


def _parameters(kernel: KernelOp, maps: list[MakeTensorMapOp]) -> list[dict[str, object]]:
    arguments = kernel.operation.regions[0].blocks[0].arguments
    types = [_ENCODED.get(spell(argument.type)) or parameter_type(argument.type) for argument in arguments]
    values: list[dict[str, object]] = [
        {"kind": "value", "type": type, "name": f"argument{number}"} for number, type in enumerate(types)
    ]
    kinds = ["tensor_map" if words_of(map) is None else "tensor_map_table" for map in maps]
    return values + [{"kind": kind, "index": index} for index, kind in enumerate(kinds)]


def _map(op: MakeTensorMapOp) -> dict[str, object]:
    # Strides of elements that share bytes are in bytes.
    size = max(1, ELEMENTS[op.element].bits // 8)
    location, words = source_location(op.operation.location), words_of(op)
    return {
        **({} if words is None else {"list": ir.BlockArgument(words.table).arg_number}),
        "base": _expression(op.base),
        "element": op.element,
        "extents": [_expression(value) for value in op.extents],
        "strides": [_scaled(_expression(value), size) for value in op.strides],
        **(_box(op) if op.kind is None else _column(op)),
        "swizzle": op.swizzle,
        "interleave": "none",
        "fill": op.fill,
        "l2_promotion": "256B",
        "location": str(location) if location is not None else "",
    }


def _box(op: MakeTensorMapOp) -> dict[str, object]:
    return {"box": list(op.box), "element_strides": [1] * len(op.box)}


def _column(op: MakeTensorMapOp) -> dict[str, object]:
    """The fields of a map with a kind: a column of pixels in place of a box."""
    channels, pixels = op.box
    return {
        "kind": op.kind,
        "lower": list(op.lower or []),
        "upper": list(op.upper or []),
        "element_strides": list(op.element_strides or []),
        "channels_per_pixel": channels,
        "pixels_per_column": pixels,
    }


def _scaled(expression: object, factor: int) -> object:
    if isinstance(expression, int):
        return expression * factor
    return {"op": "mul", "arguments": [expression, factor]} if factor != 1 else expression


def _expression(value: ir.Value) -> object:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return {"parameter": ir.BlockArgument(value).arg_number}
    if isinstance(owner, ListWordOp):
        return {"parameter": owner.word}
    operation, known = owner.operation, constant_of(value)
    if known is not None:
        return known
    if operation.name in _CASTS:
        return _expression(operation.operands[0])
    if operation.name in _OPERATIONS:
        return {
            "op": _OPERATIONS[operation.name],
            "arguments": [_expression(operand) for operand in operation.operands],
        }
    raise UnsupportedError(
        f"the launcher cannot compute '{operation.name}' for a tensor map", source_location(operation.location)
    )
