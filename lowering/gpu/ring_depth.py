"""How many slots a ring of TMA loads should have, from the bytes in flight with which an SM reaches its bandwidth."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.channel import THREADS, MakeChannelOp
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.shared_plan import SharedPlan
from tilec.lowering.model.constants import BANDWIDTH_BY_KILOBYTES_IN_FLIGHT

DEFAULT_STAGES, MAXIMUM_STAGES = 4, 16
# The least bytes in flight per SM at which HBM reaches nearly all of its bandwidth.
_NEARLY_ALL = 0.95
BYTES_IN_FLIGHT = min(
    int(1024 * kilobytes) for kilobytes, share in BANDWIDTH_BY_KILOBYTES_IN_FLIGHT if share > _NEARLY_ALL
)


def wanted_stages(kernel: KernelOp, plan: SharedPlan, channels: Sequence[MakeChannelOp]) -> int:
    """The slots of the rings of a kernel, if memory has room for them.

    A persistent kernel that streams rows has one block per SM, whose slots are all that is in flight. In other kernels
    several blocks share an SM, or the multiplies of a step take longer than its loads.
    """
    slot = sum(plan.channels[op.operation.results[0]].slot_bytes for op in channels)
    if not slot or not all(map(_is_read_by_threads, channels)) or not _is_persistent(kernel):
        return DEFAULT_STAGES
    return min(MAXIMUM_STAGES, max(DEFAULT_STAGES, -(-BYTES_IN_FLIGHT // slot)))


def _is_read_by_threads(channel: MakeChannelOp) -> bool:
    return [ir.StringAttr(name).value for name in channel.operation.attributes["consumers"]] == [THREADS]


def _is_persistent(kernel: KernelOp) -> bool:
    """Whether a block computes several tiles: the number of blocks is then the step of a loop."""
    return bool(operations_named(kernel, ("tile_gpu.num_programs",)))
