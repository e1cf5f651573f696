"""The scratch memory by which threads exchange elements, and the warpgroups that exchange none."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod

from tilec.dialect.cache import cached
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.interface import Scratch, interface_of
from tilec.dialect.tile_gpu.operations.channel import GetOp, ReleaseOp, SkipOp
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE_ROLES, KernelOp, RolesOp
from tilec.dialect.tile_gpu.operations.matrix import WgmmaOp, WgmmaWaitOp
from tilec.dialect.tile_gpu.operations.memory import OrderSignalOp, OrderWaitOp, ViewBufferOp
from tilec.dialect.tile_gpu.operations.reduce import ReduceOp, ScanOp, YieldOp
from tilec.dialect.tile_gpu.operations.shape import (
    BroadcastOp,
    CatOp,
    ConvertLayoutOp,
    ExtractOp,
    InsertOp,
    IotaOp,
    MathOp,
    ReshapeOp,
    SplatOp,
)
from tilec.dialect.walk import operations_inside
from tilec.element_types import element_type
from tilec.lowering.gpu.ir.commutative import is_commutative
from tilec.lowering.gpu.ir.operation_role import compute_role
from tilec.lowering.gpu.ir.tile_size import layout_of
from tilec.lowering.layout.blocked import for_scan
from tilec.lowering.layout.blocks import extracted_registers, inserted_registers
from tilec.lowering.layout.conversion import ThroughShared, chunks, conversion
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.reduction_plan import ReductionPlan, in_order, ordered_plan, reduction_plan
from tilec.lowering.matrix_unit import WARPS_OF_A_GROUP

# Operations by which warps may exchange elements in scratch memory, with barriers.
_EXCHANGES = tuple(op.OPERATION_NAME for op in (CatOp, ConvertLayoutOp, ExtractOp, InsertOp, ReduceOp))
# Operations of which each thread, or each warpgroup, executes its part alone.
_ALONE = (
    *("arith.", "math.", "scf.if", "scf.yield", MathOp.OPERATION_NAME),
    *(BroadcastOp.OPERATION_NAME, GetOp.OPERATION_NAME, IotaOp.OPERATION_NAME, ReleaseOp.OPERATION_NAME),
    # These order warpgroups, each of which continues while the others compute.
    *(OrderSignalOp.OPERATION_NAME, OrderWaitOp.OPERATION_NAME),
    *(op.OPERATION_NAME for op in (ReshapeOp, SkipOp, SplatOp, ViewBufferOp, YieldOp, WgmmaOp, WgmmaWaitOp)),
)
# Reserved for the scratch of reductions and layout conversions, which divide larger tiles.
SCRATCH_RESERVE_BYTES = 16384
# Small requests (partial results of reductions) alternate between two slots: the barrier between the writes and the
# reads of one slot also ends the reads of the other. Larger requests occupy both slots.
SLOT_BYTES = 4096
SLOTS = 2


def scratch_bytes(kernel: KernelOp) -> int:
    """The reserve, or the largest parts of tiles that go through scratch memory; 0 if nothing goes through it.

    The sum over the roles that compute, each of which has scratch memory of its own: both slots, if no part is larger.
    """
    operations = operations_inside(kernel)
    needed = max(map(scratch_of_operation, operations), default=0)
    if not needed:
        return 0
    roles = {compute_role(op) for op in operations}
    roles |= {name for op in operations if op.name == RolesOp.OPERATION_NAME for name in op.opview.bodies}
    count = len(roles.intersection(COMPUTE_ROLES))
    # Without roles, threads that have all registers in use would issue the copies of the slots in that memory.
    if needed <= SLOT_BYTES and kernel.roles is not None:
        return min(SCRATCH_RESERVE_BYTES, count * SLOTS * SLOT_BYTES)
    return max(SCRATCH_RESERVE_BYTES, count * needed)


def scratch_of_operation(operation: ir.Operation) -> int:
    """The bytes of scratch memory that an operation needs at least; 0 if its threads exchange nothing through it."""
    name = operation.name
    if interface_of(name).scratch is Scratch.NONE:
        return 0
    needed = _RULES[name](operation) if name in _RULES else SCRATCH_RESERVE_BYTES
    return needed


@cached
def _bytes_between(tile: ir.Type, converted: ir.Type) -> int:
    """The bytes of the parts in which a tile goes through scratch memory; 0 if elements stay in their warps."""
    return _exchanged_bytes(layout_of(tile), layout_of(converted), _element_bytes(converted))


@lru_cache(maxsize=4096)
def _exchanged_bytes(source: LinearLayout, target: LinearLayout, element_bytes: int) -> int:
    if not isinstance(conversion(source, target), ThroughShared):
        return 0
    return source.size // chunks(source, target, SCRATCH_RESERVE_BYTES // element_bytes).count * element_bytes


def _reduction_bytes(operation: ir.Operation) -> int:
    """The bytes of the parts of all rows, of each warp; 0 if a warp has each row as a whole.

    If the order of elements counts, they are brought into it before.
    """
    layout, dimension = layout_of(operation.operands[0].type), operation.opview.dimension
    sizes = [_element_bytes(tile.type) for tile in operation.operands]
    if is_commutative(operation):
        return _parts_bytes(reduction_plan(layout, dimension), sum(sizes))
    ordered = in_order(layout, dimension)
    parts = _parts_bytes(ordered_plan(ordered, dimension), sum(sizes))
    return max(parts, *(_exchanged_bytes(layout, ordered, size) for size in sizes))


def _scan_bytes(operation: ir.Operation) -> int:
    """The bytes of the parts of all rows, of each warp, or of the elements that are brought into their order."""
    own, dimension = layout_of(operation.operands[0].type), operation.opview.dimension
    layout = for_scan(own.shape, own.warps, dimension)
    sizes = [_element_bytes(tile.type) for tile in operation.operands]
    warps = sum(basis[dimension] != 0 for basis in layout.warp)
    parts = (layout.size // layout.shape[dimension] << warps) * sum(sizes)
    exchanged = (_exchanged_bytes(*pair, size) for pair in ((own, layout), (layout, own)) for size in sizes)
    return max(SCRATCH_RESERVE_BYTES, parts, *exchanged)


def _parts_bytes(plan: ReductionPlan, element_bytes: int) -> int:
    return prod(plan.written.shape) * element_bytes if plan.warp_parts > 1 else 0


def _whole_tile_bytes(operation: ir.Operation) -> int:
    """The bytes of the tile of which an operation takes, replaces or joins parts, if elements move between threads."""
    whole, part = operation.results[0].type, operation.operands[0].type
    if operation.name == ExtractOp.OPERATION_NAME:
        whole, part = part, whole
    return _moved_bytes(operation.name, whole, part)


@cached
def _moved_bytes(name: str, whole: ir.Type, part: ir.Type) -> int:
    """Those of `_whole_tile_bytes`: all threads have the only element of a tile."""
    layout = layout_of(whole)
    if layout.size == 1:
        return 0
    block = layout_of(part) if isinstance(part, ir.RankedTensorType) else None
    if block is not None and _stays_in_threads(name, layout, block):
        return 0
    return layout.size * _element_bytes(whole)


def _element_bytes(tile: ir.Type) -> int:
    return max(8, element_type(spell(ir.RankedTensorType(tile).element_type)).storage_bits) // 8


@lru_cache(maxsize=4096)
def _stays_in_threads(name: str, whole: LinearLayout, part: LinearLayout) -> bool:
    if name == ExtractOp.OPERATION_NAME:
        return extracted_registers(whole, part, (0,) * len(whole.shape)) is not None
    return inserted_registers(whole, part) is not None


# The bytes that operations need: most need some only if elements move between warps.
_RULES: dict[str, Callable[[ir.Operation], int]] = {
    ConvertLayoutOp.OPERATION_NAME: lambda op: _bytes_between(op.operands[0].type, op.results[0].type),
    ReduceOp.OPERATION_NAME: _reduction_bytes,
    ScanOp.OPERATION_NAME: _scan_bytes,
    **dict.fromkeys((ExtractOp.OPERATION_NAME, InsertOp.OPERATION_NAME, CatOp.OPERATION_NAME), _whole_tile_bytes),
}


def independent_warpgroups(loop: ir.OpView, warps: int) -> int:
    """The number of warpgroups that multiply their own rows in a loop, with no barrier between them; else 1."""
    operations = operations_inside(loop)
    is_multiplied = any(op.name == WgmmaOp.OPERATION_NAME for op in operations)
    return warps // WARPS_OF_A_GROUP if is_multiplied and all(map(_is_alone, operations)) else 1


def _is_alone(op: ir.Operation) -> bool:
    return op.name.startswith((*_ALONE, *_EXCHANGES)) and not scratch_of_operation(op)
