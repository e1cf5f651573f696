"""The work of one operation of tile_gpu on the units of an SM.

Each kind of operation has a function, and `_RULES` is the table of them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, prod

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import COPIES_OF_THREADS, GLOBAL_LOADS, GLOBAL_STORES
from tilec.dialect.tile_gpu.operations.cluster import GatherPartsOp
from tilec.dialect.tile_gpu.operations.kernel import RolesOp
from tilec.dialect.tile_gpu.operations.matrix import DotOp, MmaSyncOp, Tcgen05MmaOp, Tcgen05MmaSparseOp, WgmmaOp
from tilec.dialect.tile_gpu.operations.memory import (
    LoadSharedOp,
    LoadSharedRowsOp,
    LoadTensorMemoryOp,
    StoreSharedOp,
    StoreTensorMemoryOp,
)
from tilec.dialect.tile_gpu.operations.reduce import ReduceOp, ScanOp
from tilec.dialect.tile_gpu.operations.scaled import Tcgen05MmaScaledOp
from tilec.dialect.tile_gpu.operations.shape import CatOp, ConvertLayoutOp, ExtractOp, InsertOp
from tilec.dialect.tile_gpu.operations.shifted_rows import LANE_GROUPS, LHS_ROWS, Tcgen05CopyRowsOp, Tcgen05ShiftRowsOp
from tilec.dialect.tile_gpu.operations.tensor_map import MakeTensorMapOp
from tilec.dialect.tile_gpu.operations.tma import TmaGatherOp, TmaLoadOp, TmaPrefetchOp, TmaStoreOp, loaded_parts
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.types import TENSOR, BufferType
from tilec.lowering.gpu.cost.computed_elements import ELEMENTWISE, VisitedTiles, executed_elements
from tilec.lowering.gpu.cost.elementwise_work import elementwise_work, function_of, work_of_function
from tilec.lowering.gpu.ir.multiplies_of_one_lhs import multiplies_of_one_lhs
from tilec.lowering.gpu.ir.scratch_use import scratch_of_operation
from tilec.lowering.gpu.ir.tile_size import element_bits, layout_of, tile_bytes
from tilec.lowering.layout.conversion import RegisterMove, Shuffle, conversion
from tilec.lowering.matrix_unit import STEP_BYTES
from tilec.lowering.model.constants import Device
from tilec.lowering.model.step import NO_WORK, Multiply, Step, pipe_use
from tilec.lowering.target import TENSOR_LANES
from tilec.lowering.tma.tensor_map import ELEMENTS

_LANES = 32
_BITS_PER_BYTE = 8
# A column of tensor memory is 32 bits wide.
_CELL_BYTES = 4
# The widest vector of a load from shared memory, and the bytes of a cycle of its port.
_VECTOR_BYTES, _LEAST_BYTES = 16, 128
_COMPARISONS = ("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf")
_FREE = ("arith.constant", "scf.yield", "scf.for", "scf.if", "scf.while", "scf.condition", RolesOp.OPERATION_NAME)
MULTIPLIES = tuple(op.OPERATION_NAME for op in (Tcgen05MmaOp, Tcgen05MmaScaledOp, Tcgen05MmaSparseOp, WgmmaOp))


def multiply_of(op: ir.OpView) -> Multiply | None:
    """The multiply of an operation of the tensor pipe; None for other operations."""
    if op.operation.name not in MULTIPLIES:
        return None
    # The lhs of a multiply with `shifted` is a run of pixels, with more rows than the product.
    rows, depth, columns = op.operands[0].type.shape[0], op.lhs.type.shape[1], op.rhs.type.shape[-1]
    if "depth" in op.operation.attributes:
        depth = op.depth
    if op.operation.name == Tcgen05MmaOp.OPERATION_NAME and op.accumulator.type.is_transposed:
        # All lanes have products, of the rows of each group. No source has the cycles of tcgen05.mma.ws.
        rows, columns = TENSOR_LANES, op.accumulator.type.shape[0] * columns // TENSOR_LANES
    # Each CTA of a pair has its rows of lhs, and half of the columns of rhs.
    pair = "pair" in op.operation.attributes
    ctas = 2 if pair else 1
    return Multiply(
        rows=ctas * rows,
        columns=ctas * columns,
        depth=depth,
        element_bits=element_bits(op.rhs.type.element),
        pair=pair,
        left_in_shared=isinstance(op.lhs.type, BufferType) and op.lhs.type.memory != TENSOR,
        left_is_kept=multiplies_of_one_lhs(op.operation)[0] != op.operation,
    )


def factor_work(op: ir.OpView) -> Step:
    """The work of threads that multiply the product of a multiply by factors, and add it to the accumulator."""
    if not isinstance(op, WgmmaOp) or not len(op.factors):
        return NO_WORK
    return Step(fma=float(len(op.factors) * executed_elements(op.result.type)))


def work_of(op: ir.OpView, warps: int, device: Device, known: VisitedTiles) -> Step:
    """The work of an operation, without operations inside of it, in a role of `warps` warps.

    `known` has the elements of operands, if their operations were visited before, and gets those of the results.
    """
    name = op.operation.name
    if name in _FREE:
        return NO_WORK
    if name in _RULES:
        return _RULES[name](op, device)
    if (multiply := multiply_of(op)) is not None:
        use = pipe_use(multiply, device)
        step = Step(tensor_cycles=use.cycles, shared_bytes=use.shared_bytes, other_instructions=use.instructions)
        return step + factor_work(op)
    results = [result for result in op.operation.results if is_register_tile(result.type)]
    if results and name.startswith(ELEMENTWISE):
        return elementwise_work(op, device, known)
    # Tiles that are renamed, repeated or numbered cost nothing.
    return NO_WORK if results else Step(other_instructions=warps)


def l2_bytes_of_load(op: ir.OpView) -> float:
    """The bytes that a CTA reads from L2 for a load; with multicast only its part, other CTAs read the other parts."""
    return tile_bytes(op.buffer.type) / loaded_parts(op)


def _tma_load(op: ir.OpView, device: Device) -> Step:
    shared = device.shared_write_share * tile_bytes(op.buffer.type)
    moved = l2_bytes_of_load(op)
    copies = _boxes(op.map.owner, moved)
    return _global_bytes(moved) + Step(shared_bytes=shared, copies=copies, other_instructions=copies)


def _tma_store(op: ir.OpView, _device: Device) -> Step:
    moved = tile_bytes(op.buffer.type)
    copies = _boxes(op.map.owner, moved)
    return _global_bytes(moved) + Step(shared_bytes=moved, copies=copies, other_instructions=copies)


def _tma_gather(op: ir.OpView, device: Device) -> Step:
    moved = tile_bytes(op.buffer.type)
    # PTX ISA: tile::gather4 copies four rows.
    copies = max(1, op.buffer.type.shape[0] // 4)
    shared = device.shared_write_share * moved
    return _global_bytes(moved) + Step(shared_bytes=shared, copies=copies, other_instructions=2 * copies)


def _boxes(map: MakeTensorMapOp, moved: float) -> int:
    """The copies of some bytes by a map, whose elements may be several of the buffer."""
    return max(1, round(moved * _BITS_PER_BYTE / (prod(map.box) * ELEMENTS[map.element].bits)))


def _global_bytes(moved: float) -> Step:
    """Bytes between an SM and global memory."""
    return Step(l2_bytes=moved, dram_bytes=moved)


def _global_access(op: ir.OpView, _device: Device) -> Step:
    """Accesses, their addresses and the comparisons with the extents."""
    tile = op.operation.results[0].type if op.operation.results else op.value.type
    vector = ir.IntegerAttr(op.attributes["vector"]).value if "vector" in op.attributes else 1
    accesses = prod(tile.shape) / vector
    return _global_bytes(tile_bytes(tile)) + Step(alu=2 * accesses, other_instructions=accesses / _LANES)


def _copy(op: ir.OpView, device: Device) -> Step:
    """Copies, their addresses, and the bytes in their sources."""
    moved, copies = tile_bytes(op.buffer.type), prod(op.buffer.type.shape) / op.vector
    shared = device.shared_write_share * moved
    return _global_bytes(moved) + Step(shared_bytes=shared, alu=3 * copies, other_instructions=copies / _LANES)


def _shared_access(op: ir.OpView, _device: Device) -> Step:
    values = [*op.operation.operands, *op.operation.results]
    (buffer,) = (value.type for value in values if isinstance(value.type, BufferType))
    return _through_shared(tile_bytes(buffer), vector_bytes=16)


def _through_shared(moved: float, vector_bytes: int = 4) -> Step:
    """Bytes that threads load and store in shared memory, by instructions for this number of bytes per thread."""
    return Step(shared_bytes=moved, other_instructions=moved / (vector_bytes * _LANES))


def _exchange(op: ir.OpView, _device: Device) -> Step:
    """A change of layout: elements stay in their threads, are shuffled in their warps, or go through shared memory."""
    source, result = op.operation.operands[0].type, op.operation.results[0].type
    strategy = conversion(layout_of(source), layout_of(result))
    if isinstance(strategy, RegisterMove):
        return NO_WORK
    if isinstance(strategy, Shuffle):
        return Step(shuffles=executed_elements(result))
    return _through_shared(2 * tile_bytes(source))


def _parts_of_tile(op: ir.OpView, _device: Device) -> Step:
    """A part of a tile, or a tile of parts: through shared memory, if elements move between threads."""
    if not scratch_of_operation(op.operation):
        return NO_WORK
    return _through_shared(2 * max(tile_bytes(value.type) for value in (*op.operation.operands, *op.operation.results)))


def _reduction(op: ir.OpView, device: Device) -> Step:
    """Each thread reduces its elements; threads of a warp that hold the rest of a result exchange theirs."""
    source = op.operation.operands[0].type
    elements = prod(source.shape)
    layout, dimension = layout_of(source), op.dimension
    bits = sum(1 for basis in layout.lane if basis[dimension])
    # After the elements of a thread, each warp holds the elements of its rows once per lane.
    in_registers = 2 ** sum(1 for basis in layout.register if basis[dimension])
    shuffled = bits * elements / in_registers
    body = next(iter(op.operation.regions[0].blocks[0].operations))
    name, element = function_of(body), source.element_type
    if name in _COMPARISONS and isinstance(element, ir.F32Type):
        elements /= device.comparisons_per_instruction
    return work_of_function(name, elements, element, device) + Step(shuffles=shuffled, fma=shuffled)


def _matrix_by_warps(op: ir.OpView, device: Device) -> Step:
    (rows, depth), columns = op.lhs.type.shape[-2:], op.rhs.type.shape[-1]
    cycles = rows * columns * depth / device.mma_sync_multiply_adds_per_cycle
    cycles *= element_bits(op.lhs.type.element) / 16
    read = tile_bytes(op.lhs.type) + tile_bytes(op.rhs.type)
    return Step(tensor_cycles=cycles, shared_bytes=read, other_instructions=rows * columns * depth / 2048)


def _dot(op: ir.OpView, device: Device) -> Step:
    """Each thread loads its rows and columns by vectors; lanes that load the same ones share an access."""
    accumulator, depth = op.accumulator.type, op.lhs.type.shape[-1]
    layout, multiply_adds = layout_of(accumulator), executed_elements(accumulator) * depth
    vectors = depth * element_bits(op.lhs.type.element) / (_BITS_PER_BYTE * _VECTOR_BYTES) * layout.warps
    loads = shared = 0.0
    for dimension in range(2):
        own, lanes = (2 ** sum(1 for basis in bases if basis[dimension]) for bases in (layout.register, layout.lane))
        loads += own * vectors
        shared += own * vectors * max(_LEAST_BYTES, lanes * _VECTOR_BYTES)
    is_packed = isinstance(accumulator.element_type, ir.F32Type)
    joined = multiply_adds * (1 - 1 / device.floats_per_instruction) if is_packed else 0.0
    return Step(fma=multiply_adds, joined=joined, shared_bytes=shared, other_instructions=loads)


def _copied_rows(op: ir.OpView, device: Device) -> Step:
    """The copy of a run to tensor memory, and the rows that move there, with the new ones of each group of 32."""
    steps = ceil(tile_bytes(op.rows.type) / LHS_ROWS / STEP_BYTES)
    if op.operation.name == Tcgen05CopyRowsOp.OPERATION_NAME:
        copied, cycles, instructions = LHS_ROWS, steps * device.tensor_copy_cycles, steps
    else:
        shifts = 1 if op.after_ashift else steps
        copied, cycles = LANE_GROUPS, shifts * device.tensor_shift_cycles + steps * device.tensor_row_copy_cycles
        instructions = shifts + steps
    return Step(tensor_copy_cycles=cycles, shared_bytes=steps * copied * STEP_BYTES, other_instructions=instructions)


_RULES: dict[str, Callable[[ir.OpView, Device], Step]] = {
    TmaLoadOp.OPERATION_NAME: _tma_load,
    TmaGatherOp.OPERATION_NAME: _tma_gather,
    TmaStoreOp.OPERATION_NAME: _tma_store,
    # The load that follows has the bytes.
    TmaPrefetchOp.OPERATION_NAME: lambda op, device: Step(copies=1, other_instructions=1),
    **dict.fromkeys((*GLOBAL_LOADS, *GLOBAL_STORES), _global_access),
    **dict.fromkeys(COPIES_OF_THREADS, _copy),
    LoadSharedOp.OPERATION_NAME: _shared_access,
    # Loads of rows have vectors of the tile's layout, in registers of 4 bytes at least.
    LoadSharedRowsOp.OPERATION_NAME: lambda op, device: _through_shared(tile_bytes(op.result.type)),
    StoreSharedOp.OPERATION_NAME: _shared_access,
    LoadTensorMemoryOp.OPERATION_NAME: lambda op, device: Step(
        tensor_memory_read_bytes=prod(op.result.type.shape) * _CELL_BYTES, other_instructions=16
    ),
    **dict.fromkeys((Tcgen05CopyRowsOp.OPERATION_NAME, Tcgen05ShiftRowsOp.OPERATION_NAME), _copied_rows),
    StoreTensorMemoryOp.OPERATION_NAME: lambda op, device: Step(
        tensor_memory_written_bytes=tile_bytes(op.value.type), other_instructions=16
    ),
    ConvertLayoutOp.OPERATION_NAME: _exchange,
    **dict.fromkeys((CatOp.OPERATION_NAME, ExtractOp.OPERATION_NAME, InsertOp.OPERATION_NAME), _parts_of_tile),
    # Each CTA stores its tile in all of them, and loads the tiles of all.
    GatherPartsOp.OPERATION_NAME: lambda op, device: _through_shared(2 * tile_bytes(op.operation.results[0].type)),
    ReduceOp.OPERATION_NAME: _reduction,
    ScanOp.OPERATION_NAME: _reduction,
    MmaSyncOp.OPERATION_NAME: _matrix_by_warps,
    DotOp.OPERATION_NAME: _dot,
}
