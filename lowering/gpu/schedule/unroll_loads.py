"""Loops whose threads load few bytes per iteration run in rounds: the loads of several iterations are in flight.

The iterations of a round follow each other; only loads that may run early, with the operations that compute their
addresses, are ahead, at the start of the round.
"""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import STEPS
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_in, operations_inside
from tilec.lowering.gpu.ir.early_loads import early_loads, with_addresses
from tilec.lowering.gpu.ir.operation_role import is_rematerializable
from tilec.lowering.gpu.ir.tile_size import tile_bytes
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.schedule.legal_schedules import operations_of_body, write_schedules
from tilec.lowering.target import LANES

# Four loads of 16 bytes per thread: 8 KB per block of 128 threads, and 64 KB per SM with 8 blocks, at which HBM
# reaches its bandwidth (model/constants.py, BANDWIDTH_BY_KILOBYTES_IN_FLIGHT).
BYTES_PER_THREAD = 64
MAXIMUM_ROUND = 4
# Longer bodies have other work to do while a load is in flight.
MAXIMUM_OPERATIONS = 64


def unroll_loads(kernel: KernelOp, context: Context) -> None:
    """Gives the innermost loops of a tile_gpu.kernel that wait for loads schedules with rounds."""
    for loop in [op for op in operations_inside(kernel) if op.name == "scf.for"]:
        operations = operations_of_body(loop)
        loads = _loads(loop)
        count = _iterations_of_a_round(loads, kernel.warps)
        if count > 1:
            body = loop.regions[0].blocks[0]
            first = {op for load in loads for op in with_addresses(load, body)}
            scheduled = [op for op in operations if not is_rematerializable(op)]
            order = [(op, count - 1) for op in scheduled if op in first]
            order += [(op, 0) for op in scheduled if op not in first]
            write_schedules(kernel, {loop: order}, context, rounds=count)


def _loads(loop: ir.Operation) -> list[ir.Operation]:
    """The loads of a loop that may run early, if it is innermost, short and without channels."""
    body = loop.regions[0].blocks[0]
    operations = operations_in(body)
    is_simple = all(not len(op.regions) and op.name not in STEPS for op in operations)
    return early_loads(operations, body) if is_simple and len(operations) <= MAXIMUM_OPERATIONS else []


def _iterations_of_a_round(loads: list[ir.Operation], warps: int) -> int:
    bytes_per_thread = sum(tile_bytes(op.results[0].type) for op in loads) / (warps * LANES)
    count = MAXIMUM_ROUND if loads else 1
    while count > 1 and count * bytes_per_thread > BYTES_PER_THREAD:
        count //= 2
    return count
