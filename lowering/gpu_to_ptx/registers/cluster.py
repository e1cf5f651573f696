"""The CTAs of a cluster: ranks, addresses of their barriers, masks, and the barrier of all their threads."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering

_RANKS_OF_A_PAIR = 0b11


def pair_leader(lowering: Lowering) -> ir.Value:
    """The rank of the CTA that leads the pair of this CTA: PTX ISA 9.7.16.5, their ranks differ in the last bit."""
    return lowering.compute("and.b32 $0, $1, 14;", "i32", lowering.cluster_rank)


def address_in_cta(lowering: Lowering, address: ir.Value, rank: ir.Value | int) -> ir.Value:
    """The same address of shared memory in another CTA, in the shared memory of the cluster."""
    return lowering.compute("mapa.shared::cluster.u32 $0, $1, $2;", "i32", address, rank)


def mask_of_pair(lowering: Lowering) -> ir.Value:
    """The mask of the ranks of both CTAs of the pair (i16)."""
    return _mask(lowering, lowering.compute("shl.b32 $0, $1, $2;", "i32", _RANKS_OF_A_PAIR, pair_leader(lowering)))


def mask_of_itself(lowering: Lowering) -> ir.Value:
    """The mask of the rank of this CTA (i16)."""
    return _mask(lowering, lowering.compute("shl.b32 $0, 1, $1;", "i32", lowering.cluster_rank))


def _mask(lowering: Lowering, ranks: ir.Value) -> ir.Value:
    return lowering.compute("cvt.u16.u32 $0, $1;", "i16", ranks)


def mask_of_cluster(lowering: Lowering) -> ir.Value:
    """The mask of the ranks of all CTAs of the cluster (i16)."""
    if lowering.joins_programs:
        above = lowering.compute("shl.b32 $0, 1, $1;", "i32", lowering.cluster_size)
        return _mask(lowering, lowering.compute("sub.s32 $0, $1, 1;", "i32", above))
    return lowering.compute(f"mov.b16 $0, {(1 << lowering.ctas) - 1};", "i16")


def cluster_barrier(lowering: Lowering) -> None:
    """Waits for all threads of the cluster; their writes are then visible to each other."""
    lowering.b.execute("barrier.cluster.arrive.aligned;")
    lowering.b.execute("barrier.cluster.wait.aligned;")
    lowering.scratch_slots.after_barrier()
