"""Which unit does each matrix multiply, and how its operands reach shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.errors import UnsupportedError
from tilec.lowering.ptx.place import error_place
from tilec.lowering.target import Target
from tilec.lowering.tile.terminators import may_be_left
from tilec.lowering.tile_to_gpu.accumulator import Accumulator, accumulator_of
from tilec.lowering.tile_to_gpu.memory_order import MemoryOrder
from tilec.lowering.tile_to_gpu.operand_source import ABSORBED, OperandSource, operand_source
from tilec.lowering.tile_to_gpu.tensor_maps import TensorMap, tensor_map_for

TCGEN05, WGMMA, DOT = "tcgen05", "wgmma", "dot"
TENSOR_CORE_INPUTS = {"f16": 2, "bf16": 2, "tf32": 4}
DOT_INPUTS = ("f16", "bf16", "tf32", "f32", "f64")
# One instruction reads 32 bytes of each row (PTX ISA 9.7.16.2.1 and 9.7.15.2).
STEP_BYTES = 32
MAXIMUM_COLUMNS = 256
ATOM_32B_ROW_BYTES = 128


@dataclass(frozen=True)
class Operand:
    """One side of a multiply: `contiguous` is its dimension that is innermost in shared memory."""

    value: ir.Value
    contiguous: int
    source: OperandSource | None = None
    map: TensorMap | None = None


@dataclass(frozen=True)
class Multiply:
    """A multiply with the decisions about it."""

    op: Any
    unit: str
    lhs: Operand
    rhs: Operand
    accumulator: Accumulator | None


@dataclass
class MatrixPlan:
    """All multiplies of an entry, and what they make unnecessary in registers."""

    multiplies: dict[ir.Value, Multiply] = field(default_factory=dict)
    # TMA loads by the tile they give, with the multiplies that read them from shared memory.
    loads: dict[ir.Value, list[Multiply]] = field(default_factory=dict)
    maps: dict[ir.Value, TensorMap] = field(default_factory=dict)
    # Tiles that nothing reads from registers.
    absorbed: set[ir.Value] = field(default_factory=set)
    # Loops by the carried values that live in tensor memory: (first operation's identity is the loop itself).
    carried: dict[Any, dict[int, Multiply]] = field(default_factory=dict)


def matrix_plan(entry: Any, target: Target, warps: int, order: MemoryOrder | None) -> MatrixPlan:
    """Decides for every multiply of an entry, without TMA where `order` is None.

    UnsupportedError names the first that no unit can do.
    """
    plan = MatrixPlan()
    for op in operations_below(entry):
        name = op.operation.name
        if name == "cuda_tile.mmaf":
            _add(plan, _decide(op, target, warps, order, plan))
        elif name in ("cuda_tile.mmai", "cuda_tile.mmaf_scaled"):
            raise UnsupportedError(f"'{name}' cannot be compiled for {target.name}", error_place(op.operation.location))
    _absorb(plan)
    return plan


def operations_below(op: Any) -> Iterator[Any]:
    """All operations inside an operation, in program order, outer before inner."""
    for region in op.operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner
                yield from operations_below(inner)


def _add(plan: MatrixPlan, multiply: Multiply) -> None:
    plan.multiplies[multiply.op.operation.results[0]] = multiply
    for operand in (multiply.lhs, multiply.rhs):
        if operand.map is not None and operand.source is not None:
            tile = operand.source.load.operation.results[0]
            plan.loads.setdefault(tile, []).append(multiply)
            plan.maps[tile] = operand.map
    accumulator = multiply.accumulator
    if accumulator is not None and accumulator.loop is not None:
        plan.carried.setdefault(accumulator.loop.operation, {})[accumulator.index] = multiply


def _decide(op: Any, target: Target, warps: int, order: MemoryOrder | None, plan: MatrixPlan) -> Multiply:
    unit = _unit(op, target, warps)
    maps = dict(plan.maps)
    lhs = _operand(op.lhs, 1, unit, order, maps)
    rhs = _operand(op.rhs, 0, unit, order, maps)
    return Multiply(op, unit, lhs, rhs, accumulator_of(op) if unit == TCGEN05 else None)


def _unit(op: Any, target: Target, warps: int) -> str:
    element = spell(op.lhs.type.element)
    if op.lhs.type.rank != 2:
        raise UnsupportedError(
            "a batched 'mmaf' cannot be compiled: multiply tiles of two dimensions", error_place(op.operation.location)
        )
    if element not in DOT_INPUTS:
        raise UnsupportedError(
            f"'mmaf' of {element} cannot be compiled for {target.name}", error_place(op.operation.location)
        )
    rows, columns = op.acc.type.shape
    depth_bytes = op.lhs.type.shape[1] * TENSOR_CORE_INPUTS.get(element, 0)
    if not depth_bytes or depth_bytes % STEP_BYTES:
        return DOT
    if target.matrix_unit == TCGEN05:
        fits = rows % 128 == 0 and columns >= 16 or rows == 64 and columns >= 8 * (warps // 4)
        fits = fits and columns * max(1, rows // 128) <= target.tensor_memory_columns
    else:
        fits = rows % (16 * warps) == 0 and columns >= 8
    return target.matrix_unit if fits and columns <= MAXIMUM_COLUMNS else DOT


def _operand(
    value: ir.Value, depth: int, unit: str, order: MemoryOrder | None, maps: dict[ir.Value, TensorMap]
) -> Operand:
    """`depth` is the operand's dimension along K; `maps` gets the map of a tile that TMA loads for the operand."""
    source = operand_source(value)
    if order is not None and source is not None and _runs_any_time(source.load, order):
        found = _contiguous_by_tma(value, source, depth, unit)
        # A tile lies in shared memory once, in one swizzle; an operand that needs another goes through registers.
        if found is not None and maps.setdefault(source.load.operation.results[0], found[1]) == found[1]:
            return Operand(value, found[0], source, found[1])
    # The K-major form is legal for every type and unit.
    return Operand(value, depth)


def _runs_any_time(load: Any, order: MemoryOrder) -> bool:
    """A slot that is filled is always read: control does not leave between the two."""
    return load.memory_ordering_semantics == "weak" and order.is_unordered(load) and not may_be_left(load)


def _contiguous_by_tma(value: ir.Value, source: OperandSource, depth: int, unit: str) -> tuple[int, TensorMap] | None:
    map = tensor_map_for(source.load.view, rounds_to_tf32=source.rounds_to_tf32)
    if isinstance(map, str) or map.contiguous not in source.dimensions:
        return None
    contiguous = source.dimensions.index(map.contiguous)
    element = spell(value.type.element)
    if unit == DOT:
        return contiguous, map
    row_bytes = value.type.shape[contiguous] * TENSOR_CORE_INPUTS[element]
    if row_bytes < STEP_BYTES:
        return None
    if element == "tf32" and contiguous != depth:
        # PTX ISA 9.7.16.4: MN-major tf32 exists with 32-byte atoms only; wgmma has none.
        if unit != TCGEN05 or row_bytes < ATOM_32B_ROW_BYTES:
            return None
        map = replace(map, swizzle="128B_atom_32B")
    return contiguous, map


def _absorb(plan: MatrixPlan) -> None:
    """Loads and relabellings that only multiplies use, from the operands backwards."""
    for multiply in plan.multiplies.values():
        for operand in (multiply.lhs, multiply.rhs):
            if operand.map is not None:
                _absorb_value(plan, operand.value)


def _absorb_value(plan: MatrixPlan, value: ir.Value) -> None:
    if not all(_reads_shared_memory(plan, use) for use in value.uses):
        return
    plan.absorbed.add(value)
    if value.owner.operation.name in ABSORBED:
        _absorb_value(plan, value.owner.operands[0])


def _reads_shared_memory(plan: MatrixPlan, use: Any) -> bool:
    op = use.owner.operation
    if op.name in ABSORBED:
        return op.results[0] in plan.absorbed
    if op.name != "cuda_tile.mmaf" or use.operand_number > 1:
        return False
    multiply = plan.multiplies[op.results[0]]
    return (multiply.lhs, multiply.rhs)[use.operand_number].map is not None
