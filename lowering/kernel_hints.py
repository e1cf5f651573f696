"""Hints that a tile_gpu.kernel carries as attributes, from the Tile IR entry to the later stages."""

from __future__ import annotations

from typing import Any

from tilec.dialect.mlir import ir

# Blocks of an SM that registers and shared memory leave room for; the most slots of a ring.
OCCUPANCY, STAGES = "tilec.occupancy", "tilec.stages"
# 1 if a hint excludes clusters.
NUM_CTAS = "tilec.num_ctas"
# Why a cluster computes each tile block although no hint asks for it, as text.
CLUSTER_CHOICE = "tilec.cluster_choice"
# On an assertion of Tile IR: no warp passes it, so that the operation after it is not executed by any thread.
EACH_WARP = "tilec.each_warp"


def kernel_hint(kernel: Any, name: str) -> int | None:
    """The hint of that name, None where the kernel has none."""
    attributes = kernel.operation.attributes
    return ir.IntegerAttr(attributes[name]).value if name in attributes else None
