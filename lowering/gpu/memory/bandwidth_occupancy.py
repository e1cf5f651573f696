"""The blocks of an SM whose loads use the bandwidth of memory, for kernels whose threads load what they compute on.

ptxas does not know how many blocks hide the latency of memory: it takes the registers that save most instructions.
"""

from __future__ import annotations

from collections import defaultdict

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import GLOBAL_LOADS
from tilec.dialect.tile_gpu.kernel import KernelOp, RolesOp
from tilec.dialect.tile_gpu.matrix import MmaSyncOp, Tcgen05MmaOp, WgmmaOp
from tilec.dialect.tile_gpu.reduce import ScanOp
from tilec.dialect.tile_gpu.tma import TmaLoadOp
from tilec.dialect.walk import operations_inside
from tilec.lowering.gpu.ir.tile_size import tile_bytes
from tilec.lowering.gpu.memory.occupancy import blocks_together
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.launch import bytes_in_flight_for
from tilec.lowering.target import Target

# With roles, loads run ahead by rings; multiplies need registers more than blocks.
# ptxas 13.0 uses 221 registers for a scan of 4096 elements of f16 by 128 threads, and spills 836 bytes if it has 72.
_OTHER_KERNELS = tuple(
    op.OPERATION_NAME
    for op in (
        RolesOp, MmaSyncOp, WgmmaOp, Tcgen05MmaOp, TmaLoadOp, ScanOp,
    )
)  # fmt: skip
_FULL_BANDWIDTH = 0.99


def blocks_for_bandwidth(kernel: KernelOp, target: Target, shared_bytes: int) -> int | None:
    """The blocks for which ptxas should save registers; None if loads of threads do not bound the kernel.

    At most as many as fit by registers without spills, and by shared memory.
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
