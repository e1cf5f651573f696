"""Several blocks on one SM: the memory of each, as the hint `occupancy` asks for, and how many use the bandwidth."""

from __future__ import annotations

from collections import defaultdict

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import GLOBAL_LOADS
from tilec.dialect.tile_gpu.operations.kernel import KernelOp, RolesOp
from tilec.dialect.tile_gpu.operations.matrix import MmaSyncOp, Tcgen05MmaOp, WgmmaOp
from tilec.dialect.tile_gpu.operations.memory import LoadTensorMemoryOp, StoreTensorMemoryOp
from tilec.dialect.tile_gpu.operations.reduce import ScanOp
from tilec.dialect.tile_gpu.operations.tma import TmaLoadOp
from tilec.dialect.tile_gpu.registers import REGISTER_FILE, registers_per_thread
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.walk import operations_inside
from tilec.lowering.gpu.ir.tile_size import thread_elements, tile_bytes
from tilec.lowering.gpu.memory.live_tiles import tile_peak
from tilec.lowering.kernel_hints import OCCUPANCY, blocks_of_hint, columns_refusal, kernel_hint, unfollowed_occupancy
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.launch import bytes_in_flight_for
from tilec.lowering.target import LANES, RESERVED_SHARED_BYTES, Target, share_of_block
from tilec.remarks import Remark

# With roles, loads run ahead by rings; multiplies need registers more than blocks.
# ptxas 13.0 uses 221 registers for a scan of 4096 elements of f16 by 128 threads, and spills 836 bytes if it has 72.
_OTHER_KERNELS = tuple(op.OPERATION_NAME for op in (RolesOp, MmaSyncOp, WgmmaOp, Tcgen05MmaOp, TmaLoadOp, ScanOp))
_FULL_BANDWIDTH = 0.99
_LEAST_BLOCKS = 2
# Registers of the accumulator of the widest wgmma, and of the widest tcgen05.ld and .st that the compiler makes.
_LARGEST_ACCUMULATOR, _LARGEST_TRANSFER = 128, 64
# ptxas 13.0 refuses (C7602) a wgmma with less than 154 registers at launch, and a tcgen05.st with less than 82.
_BESIDE_VECTOR = 26
_TRANSFERS = (LoadTensorMemoryOp.OPERATION_NAME, StoreTensorMemoryOp.OPERATION_NAME)


def blocks_together(kernel: KernelOp, target: Target, shared_bytes: int, tensor_columns: int) -> int:
    """The number of blocks of a kernel, with this memory each, that share an SM; at least one."""
    by_memory = blocks_in_memory(target, shared_bytes, tensor_columns)
    return max(1, min(by_memory, _blocks_in_registers(kernel))) if by_memory > 1 else 1


def blocks_in_memory(target: Target, shared_bytes: int, tensor_columns: int) -> int:
    """The number of blocks for which an SM has shared memory and tensor memory."""
    by_shared = (target.shared_bytes + RESERVED_SHARED_BYTES) // (shared_bytes + RESERVED_SHARED_BYTES)
    return min(by_shared, target.tensor_memory_columns // tensor_columns) if tensor_columns else by_shared


def _blocks_in_registers(kernel: KernelOp) -> int:
    roles = kernel.roles
    if roles is None:
        return REGISTER_FILE // (kernel.warps * LANES * tile_peak(kernel.body.blocks[0]).needed)
    if roles.registers is not None:
        # The budgets divide all registers of an SM, or the part of one of the blocks of the hint.
        return blocks_of_hint(kernel)
    needed = max(tile_peak(region.blocks[0]).needed for region in roles.bodies.values())
    return REGISTER_FILE // (sum(roles.warps) * LANES * needed)


def followed_occupancy(
    kernel: KernelOp, target: Target, shared_bytes: int, tensor_columns: int, remarks: list[Remark]
) -> int | None:
    """The hint `occupancy` of a kernel whose blocks need this memory; None, with a remark, if it leaves no room.

    Several blocks also need the registers at launch without which ptxas refuses an instruction.
    """
    blocks = kernel_hint(kernel, OCCUPANCY)
    if blocks is None:
        return None
    refusal = _refusal(target, blocks, shared_bytes, tensor_columns)
    if refusal is None and blocks > 1:
        warps = kernel.warps if kernel.roles is None else sum(kernel.roles.warps)
        refusal = registers_refusal(least_registers(kernel), warps, blocks)
    if refusal is None:
        return blocks
    remarks.append(unfollowed_occupancy(blocks, refusal, kernel.operation))
    return None


def _refusal(target: Target, blocks: int, shared_bytes: int, tensor_columns: int) -> str | None:
    share = share_of_block(target, blocks)
    if shared_bytes > share.shared_bytes:
        return f"a block needs {shared_bytes} bytes of shared memory, {blocks} blocks have {share.shared_bytes} each"
    return columns_refusal(tensor_columns, blocks, target)


def registers_refusal(needed: int, warps: int, blocks: int) -> str | None:
    """The reason for which blocks of these warps leave a thread fewer registers than needed; None if they do not."""
    if registers_per_thread(warps * blocks) >= needed:
        return None
    return f"a role needs {needed} registers per thread, {blocks} blocks of {warps} warps leave fewer"


def least_registers(kernel: KernelOp) -> int:
    """The registers per thread without which ptxas refuses an instruction of the kernel."""
    vectors = [0]
    for op in operations_inside(kernel):
        if op.name == WgmmaOp.OPERATION_NAME:
            vectors.append(min(_LARGEST_ACCUMULATOR, thread_elements(op.results[0].type)))
        elif op.name in _TRANSFERS:
            tiles = (value.type for value in (*op.operands, *op.results) if is_register_tile(value.type))
            vectors += (min(_LARGEST_TRANSFER, thread_elements(type)) for type in tiles)
    return max(vectors) + _BESIDE_VECTOR


def blocks_for_bandwidth(kernel: KernelOp, target: Target, shared_bytes: int) -> int | None:
    """The blocks for which ptxas should save registers; None if loads of threads do not bound the kernel.

    ptxas does not know how many blocks hide the latency of memory: it takes the registers that save most
    instructions. At most as many as fit by registers without spills, and by shared memory.
    """
    in_flight: defaultdict[ir.Block, float] = defaultdict(float)
    for op in operations_inside(kernel):
        if op.name in _OTHER_KERNELS:
            return None
        if op.name in GLOBAL_LOADS:
            in_flight[op.block] += tile_bytes(op.results[0].type)
    if not in_flight:
        return None
    wanted = bytes_in_flight_for(_FULL_BANDWIDTH, device_of(target.name)) / max(in_flight.values())
    return max(1, min(round(wanted), blocks_together(kernel, target, shared_bytes, 0)))


def blocks_that_convert(kernel: KernelOp, target: Target, shared_bytes: int) -> int:
    """The blocks for which ptxas should save registers, where threads load tiles beside the multiplies of a loop.

    While the warps of one block wait for the tile that they have stored, those of another block compute. By the model
    the only block of W8A16 (16x128x128 of bf16, B200) has 61 % of the bandwidth, with 212 registers of each thread.
    """
    loops = [op for op in operations_inside(kernel) if op.name == "scf.for"]
    names = [{op.name for op in operations_inside(loop)} for loop in loops]
    converting = [each for each in names if MmaSyncOp.OPERATION_NAME in each and not each.isdisjoint(GLOBAL_LOADS)]
    # With f32 on the way to 16 bits, ptxas 13.5 spills 44 bytes of W4A16 with the 168 registers of two blocks.
    if not converting or any("arith.truncf" in each for each in converting):
        return 1
    return min(_LEAST_BLOCKS, blocks_together(kernel, target, shared_bytes, 0))
