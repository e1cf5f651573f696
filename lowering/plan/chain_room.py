"""Chains of multiplies whose tiles exceed a CTA: the rows and columns that the CTAs of a cluster divide among them.

    mmaf : 128x512, 512x64 -> 128x64;  mmaf : 128x64, 64x512 -> 128x512   ->   2 CTAs: 128x64 and 128x256 in each

If the columns of the last multiplies of a chain are divided, all CTAs compute the first ones. The memories of a CTA
have to hold the tiles of a division; the division with the fewest cycles of all CTAs is taken. A ring of one slot adds
the latency of its loads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from tilec.compile_options import CompileOptions
from tilec.dialect.build import copied
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below, operations_named
from tilec.lowering.matrix_unit import MAXIMUM_COLUMNS, accumulates_in_registers
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.step import Multiply, pipe_use
from tilec.lowering.plan.cluster_shape import LEAST_COLUMNS, MOST_REGISTERS, ClusterShape
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan, matrix_plans
from tilec.lowering.plan.matrix.pairs import NARROW_ROWS
from tilec.lowering.plan.matrix.sharing import LADDER
from tilec.lowering.plan.matrix.tensor_operand import place_operands, used_columns
from tilec.lowering.plan.ring_tiles import shared_room
from tilec.lowering.plan.warp_choice import WARP_COUNTS, choose_warps, registers_available, registers_needed
from tilec.lowering.plan.wide_multiplies import divide_wide_multiplies
from tilec.lowering.target import TENSOR_LANES, Target
from tilec.lowering.tile.analysis.tile_operations import PLAIN_MULTIPLIES
from tilec.lowering.tile.divide.divide_rows import divide_rows
from tilec.lowering.tile.divide.divide_stores import SLICE_BYTES
from tilec.lowering.tile.divide.divided_dimensions import COLUMNS, ROWS, Divided, NotDivisibleError, is_chained
from tilec.lowering.tile.divide.parts_in_turn import compute_in_turn
from tilec.lowering.tile_to_gpu.access.alignment import element_bits
from tilec.lowering.tile_to_gpu.access.memory_order import MemoryOrder

# For barriers, and for the exchange of few elements between threads.
_RESERVED_BYTES = 2048
# A slice of 16-bit elements is staged once; its elements of 32 bits may be exchanged between threads before that.
_SLICE_SHARES = 3
# A row of a slice, of the widest swizzle (PTX ISA 5.5.7).
_ROW_BYTES = 128
_SLOTS = 2
# The attribute of an entry with its ChainRoom: the CTAs along rows and columns, and the bytes of a slice.
_ROOM = "tilec.chain_room"
_BITS_PER_BYTE, _REGISTER_BITS = 8, 32

CheckOrder = Callable[[ir.OpView, Divided], None]
_Divide = Callable[[ir.OpView], None]


@dataclass(frozen=True)
class ChainRoom:
    """The shape of the cluster that divides an entry, and the bytes of the slices in which it stores tiles."""

    shape: ClusterShape = ClusterShape(1)
    slice_bytes: int = SLICE_BYTES


@dataclass(frozen=True)
class _Use:
    """The use of one CTA.

    Attributes:
        slow: the multiplies without the fastest unit.
        ring_bytes: the shared memory of one slot of each ring.
        free_bytes: the shared memory beside these, barriers, and the smallest slice of a stored tile.
        has_memory: whether shared memory holds these, and what threads that multiply for themselves exchange.
        has_accumulators: whether registers or tensor memory hold the accumulators.
        cycles: the cycles of an iteration.
    """

    slow: int
    ring_bytes: int
    free_bytes: int
    has_memory: bool
    has_accumulators: bool
    cycles: float

    @property
    def fits(self) -> bool:
        return self.has_accumulators and self.free_bytes >= 0

    @property
    def has_slots(self) -> bool:
        """Whether shared memory holds two slots of each ring."""
        return self.ring_bytes <= self.free_bytes

    @property
    def slice_bytes(self) -> int:
        left = self.free_bytes - self.has_slots * self.ring_bytes
        return SLICE_BYTES if left >= _SLICE_SHARES * SLICE_BYTES else SLICE_BYTES // 2


def chain_room(
    entry: ir.OpView, target: Target, options: CompileOptions, counts: Sequence[int], check: CheckOrder
) -> ChainRoom:
    """The cluster, of one of `counts` CTAs, in which the tiles of a chain fit; one CTA if they fit one, or no cluster.

    The result becomes an attribute of the entry, which later stages read.

    `check` raises NotDivisibleError if the order of accesses forbids a division. Parts of the rows in turn come first.
    """
    multiplies = operations_named(entry, PLAIN_MULTIPLIES)
    if not options.tma or not any(map(is_chained, multiplies)) or _fits_surely(multiplies, target):
        return ChainRoom()
    known = known_room(entry)
    if known is not None and known.shape.ctas in (1, *counts) and _is_divisible(entry, known.shape, check):
        return known
    room = _best(entry, target, counts, check)
    numbers = [room.shape.rows, room.shape.columns, room.slice_bytes]
    entry.operation.attributes[_ROOM] = ir.DenseI64ArrayAttr.get(numbers)
    return room


def known_room(entry: ir.OpView) -> ChainRoom | None:
    """The division that an earlier stage, or the same one, has computed for an entry; None if none has."""
    attributes = entry.operation.attributes
    if _ROOM not in attributes:
        return None
    rows, columns, slice_bytes = attributes[_ROOM]
    return ChainRoom(ClusterShape(rows, columns), slice_bytes)


def _best(entry: ir.OpView, target: Target, counts: Sequence[int], check: CheckOrder) -> ChainRoom:
    whole = ClusterShape(1)
    uses = {whole: _use(entry, target, lambda copy: None)}
    if uses[whole].fits and not uses[whole].slow or _fits_in_turn(entry, target, check):
        return ChainRoom()
    for ctas in counts:
        # More CTAs load more: rings of two slots are enough.
        if any(use.fits and not use.slow and use.has_slots for use in uses.values()):
            break
        for shape in (ClusterShape(ctas >> shift, 1 << shift) for shift in range(ctas.bit_length())):
            try:
                uses[shape] = _use(entry, target, partial(divide_chain, shape=shape, check=check))
            except NotDivisibleError:
                continue
    fitting = [shape for shape in uses if uses[shape].fits]
    if not fitting and not uses[whole].has_memory:
        # Values may spill, while a tile without shared memory has no place.
        fitting = [shape for shape in uses if uses[shape].has_memory]
    fitting = fitting or [whole]
    slow = min(uses[shape].slow for shape in fitting)
    fitting = [shape for shape in fitting if uses[shape].slow == slow]
    best = whole if whole in fitting else min(fitting, key=lambda shape: shape.ctas * uses[shape].cycles)
    return ChainRoom(best, uses[best].slice_bytes)


def divide_chain(entry: ir.OpView, shape: ClusterShape, check: CheckOrder) -> None:
    """Divides columns and then rows of an entry in place, each with the number of the CTA as one more argument."""
    if shape.columns > 1:
        divide_rows(entry, shape.columns, LEAST_COLUMNS, check, COLUMNS)
    if shape.rows > 1:
        divide_rows(entry, shape.rows, NARROW_ROWS, check, ROWS)


def _is_divisible(entry: ir.OpView, shape: ClusterShape, check: CheckOrder) -> bool:
    """Whether an entry can still be divided: passes may have changed it since its division was chosen."""
    if shape.ctas == 1:
        return True
    try:
        _module, copy = copied_entry(entry)
        divide_chain(copy, shape, check)
    except NotDivisibleError:
        return False
    return True


def _fits_surely(multiplies: list[ir.OpView], target: Target) -> bool:
    """Whether accumulators and operands fit a CTA even if all of them are in use at once."""
    operands = {value: None for op in multiplies for value in (op.lhs, op.rhs)}
    size_bits = sum(prod(value.type.shape) * element_bits(value.type.element) for value in operands)
    shapes = [tuple(op.acc.type.shape) for op in multiplies]
    if size_bits > target.shared_bytes * _BITS_PER_BYTE or any(columns > MAXIMUM_COLUMNS for *_, columns in shapes):
        return False
    if accumulates_in_registers(target):
        sums = sum(prod(op.acc.type.shape) * element_bits(op.acc.type.element) for op in multiplies)
        return sums <= MOST_REGISTERS * _REGISTER_BITS
    columns = sum(shape[-1] * max(1, prod(shape[:-1]) // TENSOR_LANES) for shape in shapes)
    return columns <= target.tensor_memory_columns


def _fits_in_turn(entry: ir.OpView, target: Target, check: CheckOrder) -> bool:
    """Whether the rows fit a CTA that computes parts of them in turn (accumulator_room.py)."""
    try:
        use = _use(entry, target, lambda copy: compute_in_turn(copy, _SLOTS, ROWS, target.multiplied_rows, check))
    except NotDivisibleError:
        return False
    # Half of the rows have half of the accumulators.
    return use.free_bytes >= 0 and not use.slow


def _use(entry: ir.OpView, target: Target, divide: _Divide) -> _Use:
    """The use of a CTA by a copy of an entry that is divided; raises NotDivisibleError."""
    module, copy = copied_entry(entry)
    divide(copy)
    divide_wide_multiplies(module, target, ClusterShape(1))
    plans = matrix_plans(copy, target, WARP_COUNTS, MemoryOrder(list(operations_below(copy))))
    warps = choose_warps(copy, plans).value
    plan = plans[warps]
    place_operands(plan, target, warps, LADDER[0])
    room = shared_room(plan, copy, target, 1)
    if accumulates_in_registers(target):
        fits = registers_needed(copy, plan, warps) <= registers_available(plan, warps)
    else:
        fits = used_columns(plan, shares=True).total() <= target.tensor_memory_columns
    slow = sum(bool(multiply.refusals) for multiply in plan.multiplies.values())
    rows = max(multiply.op.acc.type.shape[0] for multiply in plan.multiplies.values())
    free_bytes = room.free - room.rings - _RESERVED_BYTES - min(SLICE_BYTES, rows * _ROW_BYTES)
    has_memory = free_bytes >= 0 and (not slow or room.free - room.rings >= room.reserved)
    use = _Use(slow, room.rings, free_bytes, has_memory, fits, 0.0)
    return replace(use, cycles=_cycles(plan, target, room.rings, use.has_slots))


def copied_entry(entry: ir.OpView) -> tuple[ir.Module, ir.OpView]:
    """A copy of the module of an entry, which owns its operations, and the entry in it."""
    module, name = copied(entry.operation.parent.opview), entry.operation.attributes["sym_name"]
    entries = operations_named(module, (entry.operation.name,))
    return module, next(each for each in entries if each.operation.attributes["sym_name"] == name)


def _cycles(plan: MatrixPlan, target: Target, ring_bytes: int, has_slots: bool) -> float:
    """The cycles of an iteration: the larger of multiplies and loads, or the sum of both if a ring has one slot."""
    device = device_of(target.name)
    pipe = port = 0.0
    for multiply in plan.multiplies.values():
        rows, columns = multiply.op.acc.type.shape
        depth, bits = multiply.op.lhs.type.shape[1], element_bits(multiply.op.rhs.type.element)
        in_shared = multiply.lhs.register_layout is None and multiply.lhs.tensor_layout is None
        product = Multiply(rows=rows, columns=columns, depth=depth, element_bits=bits, left_in_shared=in_shared)
        use = pipe_use(product, device)
        pipe, port = pipe + use.cycles, port + use.shared_bytes / device.shared_bytes_per_cycle
    loads = ring_bytes / device.l2_bytes_per_cycle
    return max(pipe, port, loads) if has_slots else max(pipe, port) + loads + device.tma_l2_latency_cycles
