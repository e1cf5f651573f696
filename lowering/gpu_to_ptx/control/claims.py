"""Requests for tile blocks that have not started, and their responses (PTX ISA 9.7.13.17 and 9.7.13.18)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.claims import ClaimedBlockOp, TryCancelOp
from tilec.lowering.gpu.memory.shared_plan import PRODUCER
from tilec.lowering.gpu_to_ptx.memory.channel_position import barrier_address
from tilec.lowering.gpu_to_ptx.registers.guards import conjunction
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers

_REQUEST = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{}.b128"
_QUERY = "clusterlaunchcontrol.query_cancel"


@lowers(TryCancelOp)
def _try_cancel(lowering: Lowering, operation: ir.Operation) -> None:
    channel = lowering.plan.channels[operation.opview.channel]
    barrier = barrier_address(lowering, channel, channel.full, PRODUCER)
    response, is_first = lowering.scalar(operation.opview.buffer), None
    multicast = ".multicast::cluster::all" if channel.across else ""
    if channel.across:
        is_first = lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", lowering.cluster_rank)
    with lowering.issuing() as elected:
        issues = conjunction(lowering, elected, is_first)
        lowering.b.execute(f"@$0 {_REQUEST.format(multicast)} [$1], [$2];", (), issues, response, barrier)


@lowers(ClaimedBlockOp)
def _claimed_block(lowering: Lowering, operation: ir.Operation) -> None:
    b, op = lowering.b, operation.opview
    response = b.execute("ld.shared::cta.b128 $0, [$1];", b.i128, lowering.scalar(op.buffer))
    claimed = b.compute(f"{_QUERY}.is_canceled.pred.b128 $0, $1;", b.i1, response)
    lowering.set(op.claimed, [claimed])
    for axis, result in zip("xyz", op.position, strict=True):
        # PTX ISA 9.7.13.18: a response without a cluster has no index.
        zero = b.compute("mov.b32 $0, 0;", b.i32)
        text = f"@$2 {_QUERY}.get_first_ctaid::{axis}.b32.b128 $0, $3;"
        number = b.compute(text, b.i32, zero, claimed, response, tied=[0])
        if axis == "x" and lowering.ctas > 1:
            # The index of the first CTA of the cluster that is a tile block.
            number = lowering.compute(f"shr.u32 $0, $1, {lowering.ctas.bit_length() - 1};", "i32", number)
        lowering.set(result, [number])
